// Real traffic with an answer that was computed independently: done-when 2.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "cli/replay/replay.h"
#include "stint/limit.h"
#include "stint/store.h"

namespace stint::cli {
namespace {

using std::chrono::seconds;

TEST(CliReplayAzure, CodeTraceGivesTheKnownAnswerToTheRequest) {
  const char* given = std::getenv("STINT_SHARED");
  const std::filesystem::path shared =
      given != nullptr ? std::filesystem::path(given)
                       : std::filesystem::path(STINT_SOURCE_DIR).parent_path() / "shared";
  const std::filesystem::path trace = shared / "data" / "azure_llm_2023_code.csv";
  if (!std::filesystem::exists(trace)) {
    GTEST_SKIP() << "the recorded traffic is not on this machine: " << trace;
  }
  for (const bool sorted : {false, true}) {
    ReplayClock clock;
    LimiterOptions options;
    options.clock = &clock;
    Limiter limiter(open_memory().value(), options);
    ASSERT_TRUE(limiter
                    .set_limits(Scope::resource("code"),
                                {Limit::rate("rate", 400'000, 400'000, seconds(60)),
                                 Limit::session("session", 4'500'000, seconds(900)),
                                 Limit::calendar("hourly", 9'000'000, "0 * * * *")})
                    .ok());
    RequestRules rules;
    rules.time_field = "TIMESTAMP";
    rules.entity = TextRule{true, "model"};
    rules.resource = TextRule{true, "code"};
    for (const char* limit : {"rate", "session", "hourly"}) {
      rules.consume.push_back(
          ConsumeRule::parse(std::string(limit) + "=ContextTokens+GeneratedTokens").value());
    }
    std::unique_ptr<ByteSource> source = open_input(trace.string()).value();
    std::unique_ptr<RequestReader> reader = RequestReader::open(rules, *source).value();
    ReplaySettings settings;
    settings.sorted = sorted;
    const Result<ReplayReport> report = replay(limiter, clock, *reader, settings);
    ASSERT_TRUE(report.ok()) << report.error().message();
    EXPECT_EQ(report->requests, 8819u);
    EXPECT_EQ(report->admitted, 5982u);
    EXPECT_EQ(report->rejected, 2837u);
    EXPECT_EQ(report->skipped.count(), 0u);
    EXPECT_EQ(report->backward_steps, 0u);
    ASSERT_EQ(report->limits.size(), 3u);
    EXPECT_EQ(report->limits[0].times_short, 1063u);
    EXPECT_EQ(report->limits[1].times_short, 232u);
    EXPECT_EQ(report->limits[2].times_short, 1542u);
    for (const ReplayReport::LimitTotals& limit : report->limits) {
      EXPECT_EQ(limit.granted, 11'337'310) << limit.name;
    }
  }
}

}  // namespace
}  // namespace stint::cli
