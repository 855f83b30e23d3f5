// Decisions as JSON lines.
#include "cli/replay/decision_writer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/temp_directory.h"

namespace stint::cli {
namespace {

LimitStatus status_of(LimitKind kind, std::int64_t remaining_milli) {
  LimitStatus status;
  status.kind = kind;
  status.remaining = MilliTokens(remaining_milli);
  return status;
}

WrittenDecision decision_of(const std::vector<DeclaredOutcome>& limits, bool admitted) {
  return {7,
          TimePoint(Millis(1'700'158'623'979)),
          "user@1",
          "api/v1",
          admitted,
          false,
          std::nullopt,
          limits};
}

TEST(CliReplayDecisions, WritesAnAdmittedDecision) {
  const LimitStatus rate = status_of(LimitKind::kRate, 395'182'500);
  LimitStatus session = status_of(LimitKind::kSession, 10'000);
  session.resets_at = TimePoint(Millis(1'700'159'523'979));
  const LimitStatus calendar = status_of(LimitKind::kCalendar, 7);
  const std::vector<DeclaredOutcome> limits = {
      {"rate", &rate, false}, {"session", &session, false}, {"hourly", &calendar, false}};
  std::string text;
  append_decision(text, decision_of(limits, true));
  EXPECT_EQ(text, R"({"line":7,"time_ms":1700158623979,"entity":"user@1","resource":"api/v1",)"
                  R"("admitted":true,"short":[],"retry_after_ms":null,)"
                  R"("resets_at_ms":{"session":1700159523979,"hourly":null},)"
                  R"("remaining":{"rate":395182.5,"session":10,"hourly":0.007}})"
                  "\n");
}

TEST(CliReplayDecisions, WritesARejectedDecision) {
  const LimitStatus rate = status_of(LimitKind::kRate, -1);
  const LimitStatus other = status_of(LimitKind::kRate, -12'340);
  const std::vector<DeclaredOutcome> limits = {{"rate", &rate, true}, {"other", &other, true}};
  WrittenDecision decision = decision_of(limits, false);
  decision.retry_after = Millis(1234);
  std::string text;
  append_decision(text, decision);
  EXPECT_EQ(text,
            R"({"line":7,"time_ms":1700158623979,"entity":"user@1","resource":"api/v1",)"
            R"("admitted":false,"short":["rate","other"],"retry_after_ms":1234,"resets_at_ms":{},)"
            R"("remaining":{"rate":-0.001,"other":-12.34}})"
            "\n");
}

TEST(CliReplayDecisions, WritesADecisionOfPolicy) {
  const std::vector<DeclaredOutcome> limits = {{"rate", nullptr, false}};
  WrittenDecision decision = decision_of(limits, false);
  decision.disabled = true;
  std::string text;
  append_decision(text, decision);
  EXPECT_EQ(text, R"({"line":7,"time_ms":1700158623979,"entity":"user@1","resource":"api/v1",)"
                  R"("admitted":false,"disabled":true,"short":[],"retry_after_ms":null,)"
                  R"("resets_at_ms":{},"remaining":{}})"
                  "\n");
}

TEST(CliReplayDecisions, WritesTheLeastAndTheGreatestBalance) {
  const LimitStatus least = status_of(LimitKind::kRate, std::numeric_limits<std::int64_t>::min());
  const LimitStatus most = status_of(LimitKind::kRate, std::numeric_limits<std::int64_t>::max());
  const std::vector<DeclaredOutcome> limits = {{"a", &least, false}, {"b", &most, false}};
  std::string text;
  append_decision(text, decision_of(limits, true));
  EXPECT_NE(text.find(R"("remaining":{"a":-9223372036854775.808,"b":9223372036854775.807})"),
            std::string::npos)
      << text;
}

TEST(CliReplayDecisions, WritesEveryLineToItsFile) {
  const test::TempDirectory directory;
  const std::string path = directory.path() + "/decisions.jsonl";
  const std::vector<DeclaredOutcome> limits;
  std::string expected;
  {
    std::unique_ptr<DecisionWriter> writer = DecisionWriter::open(path).value();
    for (int i = 0; i < 5000; ++i) {
      writer->write(decision_of(limits, i % 2 == 0));
      append_decision(expected, decision_of(limits, i % 2 == 0));
    }
    ASSERT_TRUE(writer->finish().ok());
  }
  std::ifstream file(path);
  const std::string written((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(written, expected);
}

TEST(CliReplayDecisions, ReportsAFileThatCannotBeWritten) {
  const test::TempDirectory directory;
  const auto nowhere = DecisionWriter::open(directory.path() + "/missing/decisions.jsonl");
  ASSERT_FALSE(nowhere.ok());
  EXPECT_EQ(nowhere.error().field(), "decisions");

  auto full = DecisionWriter::open("/dev/full");
  if (!full.ok()) GTEST_SKIP() << "this machine has no /dev/full";
  (*full)->write(decision_of({}, true));
  const Status status = (*full)->finish();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().field(), "decisions");
}

}  // namespace
}  // namespace stint::cli
