// Recorded requests through the real limiter.
#include "cli/replay/replay.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "stint/limit.h"
#include "stint/store.h"
#include "tests/support/temp_directory.h"

namespace stint::cli {
namespace {

using std::chrono::seconds;

// One replay over an empty store in memory.
struct Rig {
  explicit Rig(LimitList limits, SetLimitsOptions options = {})
      : store(open_memory().value()), limiter(store, limiter_options()) {
    const Status set = [&]() -> Status {
      Result<LimitsChange> change =
          limiter.set_limits(Scope::resource("api"), std::move(limits), options);
      if (!change) return change.error();
      return {};
    }();
    EXPECT_TRUE(set.ok()) << set.error().message();
  }

  LimiterOptions limiter_options() {
    LimiterOptions options;
    options.clock = &clock;
    return options;
  }

  Result<ReplayReport> operator()(const std::string& csv,
                                  const std::vector<std::string>& consume = {"n=n"}) {
    RequestRules rules;
    for (const std::string& rule : consume) {
      rules.consume.push_back(ConsumeRule::parse(rule).value());
    }
    return decide(std::move(rules), "time,entity,resource,n\n" + csv);
  }

  Result<ReplayReport> decide(RequestRules rules, const std::string& text) {
    TextSource source(text);
    Result<std::unique_ptr<RequestReader>> reader = RequestReader::open(std::move(rules), source);
    if (!reader) return reader.error();
    const std::string path = directory.path() + "/decisions.jsonl";
    std::unique_ptr<DecisionWriter> writer = DecisionWriter::open(path).value();
    settings.decisions = writer.get();
    Result<ReplayReport> report = replay(limiter, clock, **reader, settings);
    EXPECT_TRUE(writer->finish().ok());
    std::ifstream file(path);
    decisions.clear();
    for (std::string line; std::getline(file, line);) decisions.push_back(line);
    return report;
  }

  ReplayClock clock;
  Store store;
  Limiter limiter;
  ReplaySettings settings;
  test::TempDirectory directory;
  std::vector<std::string> decisions;
};

// The lines of the input in the order decided, with + for admitted and - for rejected.
std::string order_of(const Rig& run) {
  std::string order;
  for (const std::string& decision : run.decisions) {
    const std::size_t begin = decision.find(':') + 1;
    order += (order.empty() ? "" : " ") + decision.substr(begin, decision.find(',') - begin) +
             (decision.find("\"admitted\":true") != std::string::npos ? "+" : "-");
  }
  return order;
}

const ReplayReport::LimitTotals& totals_of(const ReplayReport& report, std::size_t index) {
  return report.limits.at(index);
}

TEST(CliReplay, DecidesAtTheRecordedTimes) {
  // Ten at once, one more each second.
  Rig run({Limit::rate("n", 10, 1, seconds(1))});
  const Result<ReplayReport> report =
      run("1000,a,api,10\n1000.999,a,api,1\n1001,a,api,1\n1001,b,api,10\n1011,a,api,11\n");
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_EQ(order_of(run), "2+ 3- 4+ 5+ 6-");
  EXPECT_EQ(report->requests, 5u);
  EXPECT_EQ(report->admitted, 3u);
  EXPECT_EQ(report->rejected, 2u);
  EXPECT_EQ(report->entities, 2u);
  EXPECT_EQ(report->skipped.count(), 0u);
  EXPECT_EQ(totals_of(*report, 0).name, "n");
  EXPECT_EQ(totals_of(*report, 0).times_short, 2u);
  EXPECT_EQ(totals_of(*report, 0).granted, 21);
  EXPECT_EQ(totals_of(*report, 0).peak_use, 1.0);
  EXPECT_EQ(totals_of(*report, 0).peak_entity, "a");
  EXPECT_EQ(run.decisions[1],
            R"({"line":3,"time_ms":1000999,"entity":"a","resource":"api","admitted":false,)"
            R"("short":["n"],"retry_after_ms":1,"resets_at_ms":{},"remaining":{"n":0.999}})");
  // More than the limit can ever hold: no wait helps.
  EXPECT_NE(run.decisions[4].find(R"("short":["n"],"retry_after_ms":null)"), std::string::npos)
      << run.decisions[4];
}

TEST(CliReplay, SortsByTimeAndKeepsEqualTimesInTheirOrder) {
  Rig run({Limit::rate("n", 3, 1, seconds(3600))});
  const Result<ReplayReport> report =
      run("1002,a,api,1\n1001,a,api,1\n1001,a,api,1\n1003,a,api,1\n1000,a,api,1\n");
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(order_of(run), "6+ 3+ 4+ 2- 5-");
  EXPECT_EQ(report->backward_steps, 2u);
  EXPECT_EQ(report->first_time, TimePoint(seconds(1000)));
  EXPECT_EQ(report->last_time, TimePoint(seconds(1003)));
}

TEST(CliReplay, StreamsSortedInputAndNeverGoesBack) {
  Rig run({Limit::rate("n", 3, 1, seconds(3600))});
  run.settings.sorted = true;
  const Result<ReplayReport> report =
      run("1002,a,api,1\n1001,a,api,1\n1001.5,a,api,1\n1003,a,api,1\n1000,b,api,1\n");
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(order_of(run), "2+ 3+ 4+ 5- 6+");
  EXPECT_EQ(report->backward_steps, 2u);
  EXPECT_EQ(report->decided_late, 3u);
  EXPECT_NE(run.decisions[1].find("\"time_ms\":1002000"), std::string::npos);
  EXPECT_NE(run.decisions[4].find("\"time_ms\":1003000"), std::string::npos);
}

TEST(CliReplay, SortedAndUnsortedAgreeOnSortedInput) {
  std::string csv;
  for (int i = 0; i < 10'000; ++i) {
    csv += std::to_string(1000 + i / 7) + ",e" + std::to_string(i % 13) + ",api," +
           std::to_string(i % 5) + "\n";
  }
  std::vector<std::string> decisions[2];
  for (bool sorted : {false, true}) {
    Rig run({Limit::rate("n", 20, 1, seconds(60)), Limit::session("s", 500, seconds(600))});
    run.settings.sorted = sorted;
    const Result<ReplayReport> report = run(csv, {"n=n", "s=n+1"});
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report->requests, 10'000u);
    decisions[sorted ? 1 : 0] = run.decisions;
  }
  EXPECT_EQ(decisions[0].size(), 10'000u);
  EXPECT_EQ(decisions[0], decisions[1]);
}

TEST(CliReplay, CountsEveryLimitThatIsShort) {
  Rig run({Limit::rate("n", 5, 1, seconds(3600)), Limit::session("s", 10, seconds(60)),
           Limit::calendar("c", 100, "0 * * * *")});
  const Result<ReplayReport> report =
      run("1000,a,api,5\n1001,a,api,5\n1001,a,api,6\n", {"n=n", "s=n+n", "c=n"});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(order_of(run), "2+ 3- 4-");
  EXPECT_EQ(totals_of(*report, 0).times_short, 2u);
  EXPECT_EQ(totals_of(*report, 1).times_short, 2u);
  EXPECT_EQ(totals_of(*report, 2).times_short, 0u);
  EXPECT_EQ(totals_of(*report, 1).granted, 10);
  EXPECT_EQ(run.decisions[0],
            R"({"line":2,"time_ms":1000000,"entity":"a","resource":"api","admitted":true,)"
            R"("short":[],"retry_after_ms":null,"resets_at_ms":{"s":1060000,"c":3600000},)"
            R"("remaining":{"n":0,"s":0,"c":95}})");
}

TEST(CliReplay, SkipsRecordsThatTheLimiterRefuses) {
  Rig run({Limit::rate("n", 5, 1, seconds(1))});
  const Result<ReplayReport> report = run("1000,a,api,1\n1000,a,other,1\n1000,a,api,1\n");
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(order_of(run), "2+ 4+");
  EXPECT_EQ(report->requests, 2u);
  ASSERT_EQ(report->skipped.count(), 1u);
  EXPECT_EQ(report->skipped.first()[0].line, 3u);

  Rig unknown({Limit::rate("n", 5, 1, seconds(1))});
  const Result<ReplayReport> nothing = unknown("1000,a,api,1\n", {"n=1", "missing=1"});
  ASSERT_TRUE(nothing.ok());
  EXPECT_EQ(nothing->requests, 0u);
  ASSERT_EQ(nothing->skipped.count(), 1u);
  EXPECT_NE(nothing->skipped.first()[0].reason.find("missing"), std::string::npos);
  EXPECT_EQ(nothing->entities, 0u);
}

TEST(CliReplay, StopsAtTheFirstUnusableRecordWhenStrict) {
  for (const std::string bad : {"soon,a,api,1\n", "1000,a,other,1\n", "1000,a,api,x\n"}) {
    Rig run({Limit::rate("n", 5, 1, seconds(1))});
    run.settings.strict = true;
    const Result<ReplayReport> report = run("1000,a,api,1\n" + bad);
    ASSERT_FALSE(report.ok()) << bad;
    EXPECT_EQ(report.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(report.error().value(), "line 3");
  }
}

TEST(CliReplay, NamesTheTenEntitiesRejectedMost) {
  Rig run({Limit::rate("n", 1, 1, seconds(3600))});
  std::string csv;
  for (int entity = 1; entity <= 12; ++entity) {
    for (int i = 0; i < entity; ++i) csv += "1000,e" + std::to_string(entity) + ",api,1\n";
  }
  const Result<ReplayReport> report = run(csv);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->entities, 12u);
  ASSERT_EQ(report->most_rejected.size(), 10u);
  EXPECT_EQ(report->most_rejected[0].id, "e12");
  EXPECT_EQ(report->most_rejected[0].rejected, 11u);
  EXPECT_EQ(report->most_rejected[0].requests, 12u);
  EXPECT_EQ(report->most_rejected[9].id, "e3");
}

TEST(CliReplay, CountsAccessPolicy) {
  SetLimitsOptions options;
  options.access = AccessPolicy::kDisabled;
  Rig run({Limit::rate("n", 5, 1, seconds(1))}, options);
  const Result<ReplayReport> report = run("1000,a,api,1\n");
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_EQ(report->rejected, 1u);
  EXPECT_EQ(report->disabled, 1u);
  EXPECT_EQ(totals_of(*report, 0).times_short, 0u);
  ASSERT_EQ(run.decisions.size(), 1u);
  EXPECT_NE(run.decisions[0].find("\"disabled\":true"), std::string::npos);
}

TEST(CliReplay, TakesDifferentLimitsFromEachJsonLine) {
  Rig run({Limit::rate("a", 5, 1, seconds(3600)), Limit::rate("b", 5, 1, seconds(3600))});
  RequestRules rules;
  rules.format = TrafficFormat::kJsonLines;
  const auto line = [](const std::string& consume) {
    return "{\"time\":1000,\"entity\":\"x\",\"resource\":\"api\",\"consume\":{" + consume + "}}\n";
  };
  const Result<ReplayReport> report =
      run.decide(std::move(rules),
                 line("\"a\":5") + line("\"b\":3") + line("\"b\":3,\"a\":0") + line("\"b\":2"));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(order_of(run), "1+ 2+ 3- 4+");
  EXPECT_EQ(totals_of(*report, 0).granted, 5);
  EXPECT_EQ(totals_of(*report, 1).granted, 5);
  EXPECT_EQ(totals_of(*report, 1).times_short, 1u);
}

TEST(CliReplay, ReportsAnEmptyInput) {
  Rig run({Limit::rate("n", 5, 1, seconds(1))});
  const Result<ReplayReport> report = run("");
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->requests, 0u);
  ASSERT_EQ(report->limits.size(), 0u);
  EXPECT_FALSE(report->first_time);
}

TEST(CliReplay, TellsHowFarItIs) {
  Rig run({Limit::rate("n", 1'000'000, 1, seconds(1))});
  std::vector<ReplayProgress> seen;
  run.settings.on_progress = [&](const ReplayProgress& progress) { seen.push_back(progress); };
  std::string csv;
  for (int i = 0; i < 10'000; ++i) csv += "1000,a,api,1\n";
  ASSERT_TRUE(run(csv).ok());
  ASSERT_GT(seen.size(), 4u);
  for (std::size_t i = 1; i < seen.size(); ++i) {
    EXPECT_GE(seen[i].read, seen[i - 1].read);
    EXPECT_GE(seen[i].decided, seen[i - 1].decided);
    EXPECT_LE(seen[i].decided, seen[i].read);
  }
  EXPECT_EQ(seen.back().read, 10'000u);
}

}  // namespace
}  // namespace stint::cli
