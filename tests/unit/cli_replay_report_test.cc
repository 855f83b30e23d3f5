// A replay's findings for people and programs.
#include "cli/replay/report.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace stint::cli {
namespace {

ReplayReport sample() {
  ReplayReport report;
  report.requests = 1500;
  report.admitted = 1000;
  report.rejected = 500;
  report.entities = 2;
  report.backward_steps = 3;
  report.first_time = TimePoint(Millis(1'700'158'620'000));
  report.last_time = TimePoint(Millis(1'700'158'680'000));
  report.limits = {{"rate", 500, 1'234'567, 1.0, report.first_time, "a"},
                   {"never", 0, 0, 0, {}, ""}};
  report.most_rejected = {{"a", 1200, 490}, {"b", 300, 10}};
  for (int i = 0; i < 1000; ++i) report.timeline.count(*report.first_time, true);
  for (int i = 0; i < 500; ++i) report.timeline.count(*report.last_time, false);
  report.skipped.add(12, "has no field \"x\"");
  return report;
}

TEST(CliReplayReport, WritesOneObject) {
  JsonWriter json;
  write_report(json, sample());
  EXPECT_EQ(
      json.text(),
      R"({"requests":1500,"admitted":1000,"rejected":500,"rejected_by":{"rate":500,"never":0},)"
      R"("disabled":0,"granted":{"rate":1234567,"never":0},)"
      R"("peak_use":{"rate":{"share":1.0,"at_ms":1700158620000,"entity":"a"},)"
      R"("never":{"share":0.0,"at_ms":null,"entity":null}},"entities":2,)"
      R"("most_rejected":[{"entity":"a","rejected":490,"requests":1200},)"
      R"({"entity":"b","rejected":10,"requests":300}],"skipped":1,)"
      R"("skipped_lines":[{"line":12,"reason":"has no field \"x\""}],"backward_steps":3,)"
      R"("decided_late":0,"first_ms":1700158620000,"last_ms":1700158680000,)"
      R"("timeline":{"span_ms":5000,"spans":[{"begin_ms":1700158620000,"admitted":1000,"rejected":0},)"
      R"({"begin_ms":1700158625000,"admitted":0,"rejected":0},)"
      R"({"begin_ms":1700158630000,"admitted":0,"rejected":0},)"
      R"({"begin_ms":1700158635000,"admitted":0,"rejected":0},)"
      R"({"begin_ms":1700158640000,"admitted":0,"rejected":0},)"
      R"({"begin_ms":1700158645000,"admitted":0,"rejected":0},)"
      R"({"begin_ms":1700158650000,"admitted":0,"rejected":0},)"
      R"({"begin_ms":1700158655000,"admitted":0,"rejected":0},)"
      R"({"begin_ms":1700158660000,"admitted":0,"rejected":0},)"
      R"({"begin_ms":1700158665000,"admitted":0,"rejected":0},)"
      R"({"begin_ms":1700158670000,"admitted":0,"rejected":0},)"
      R"({"begin_ms":1700158675000,"admitted":0,"rejected":0},)"
      R"({"begin_ms":1700158680000,"admitted":0,"rejected":500}]}})");
}

TEST(CliReplayReport, TellsWhatDecidingTookIfThatWasCounted) {
  ReplayReport report = sample();
  CounterSnapshot& stats = report.stats.emplace();
  stats.rejected = 500;
  stats.rejected_from_memory = 250;
  stats.store = {
      .requests = 1'250, .read_units = 7.5, .write_units = 1'000, .index_write_units = 0};
  stats.view_hits = 1'499;
  stats.view_misses = 1;
  stats.config_hits = 2;
  stats.config_misses = 3;
  stats.conflicts = 4;
  stats.retries = 5;
  JsonWriter json;
  write_report(json, report);
  const std::string end =
      R"(]},"stats":{"store_requests":1250,"read_units":7.5,"write_units":1000.0,)"
      R"("index_write_units":0.0,"rejected_from_memory":250,"view_hits":1499,"view_misses":1,)"
      R"("config_hits":2,"config_misses":3,"conflicts":4,"retries":5}})";
  EXPECT_TRUE(json.text().ends_with(end)) << json.text();

  std::ostringstream out;
  print_report(out, report, Terminal{}, TimeZone::find("UTC").value());
  EXPECT_NE(out.str().find("store requests         1,250"), std::string::npos) << out.str();
  EXPECT_NE(out.str().find("rejected from memory     250  50.0 %"), std::string::npos) << out.str();
  EXPECT_NE(out.str().find("buckets remembered     1,499  99.9 %"), std::string::npos) << out.str();
}

TEST(CliReplayReport, KeepsTheFirstTenSkippedRecords) {
  SkippedRecords skipped;
  for (std::uint64_t line = 1; line <= 25; ++line) skipped.add(line, "x");
  EXPECT_EQ(skipped.count(), 25u);
  ASSERT_EQ(skipped.first().size(), 10u);
  EXPECT_EQ(skipped.first().back().line, 10u);
}

TEST(CliReplayReport, ShowsPeopleTotalsLimitsEntitiesAndTime) {
  std::ostringstream out;
  print_report(out, sample(), Terminal{}, TimeZone::find("UTC").value());
  const std::string text = out.str();
  for (const char* part :
       {"1,500 requests of 2 entities", "admitted", "1,000", "66.7 %", "rejected", "33.3 %",
        "1,234,567", "100.0 %", "most rejected", "490", "each 5s", "2023-11-16 18:17:00",
        "########################################", "--------------------\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(CliReplayReport, ShowsAnEmptyReplay) {
  std::ostringstream out;
  print_report(out, ReplayReport(), Terminal{}, TimeZone::find("UTC").value());
  EXPECT_EQ(out.str().rfind("0 requests of 0 entities\n", 0), 0u);
  JsonWriter json;
  write_report(json, ReplayReport());
  EXPECT_NE(json.text().find(R"("first_ms":null)"), std::string::npos);
}

TEST(CliReplayReport, KeepsGrantsThatNoIntegerHolds) {
  ReplayReport report;
  report.limits.push_back({"soft", 0, static_cast<Int128>(1) << 100, 0, {}, ""});
  JsonWriter json;
  write_report(json, report);
  EXPECT_NE(json.text().find(R"("granted":{"soft":9223372036854775807})"), std::string::npos);
}

}  // namespace
}  // namespace stint::cli
