// What Prometheus is shown, as its own serializer writes it.
#include "stint/prometheus.h"

#include <gtest/gtest.h>
#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "stint/stint.h"

namespace stint::test {
namespace {

std::string text_of(const prometheus::Collectable& collectable) {
  return prometheus::TextSerializer().Serialize(collectable.Collect());
}

/// The samples of a text: name and labels, and the value.
std::map<std::string, std::string> samples_of(const std::string& text) {
  std::map<std::string, std::string> samples;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::size_t blank = line.rfind(' ');
    EXPECT_TRUE(samples.emplace(line.substr(0, blank), line.substr(blank + 1)).second)
        << "twice: " << line;
  }
  return samples;
}

TEST(Prometheus, ShowsWhatALimiterDid) {
  Counters counters;
  LimiterOptions options;
  options.observer = &counters;
  Limiter limiter(open_memory().value(), options);
  limiter.set_limits("user", "api", {Limit::per_day("rpd", 3), Limit::per_day("tpd", 100)}).value();
  for (int i = 0; i < 5; ++i) {
    limiter.acquire({.entity = "user", .resource = "api", .consume = {{"rpd", 1}}}).value();
  }
  limiter.acquire({.entity = "user", .resource = "api", .consume = {{"rpd", 1}, {"tpd", 101}}})
      .value();
  ASSERT_FALSE(limiter.get_entity("nobody"));

  std::map<std::string, std::string> samples =
      samples_of(text_of(*prometheus_collectable(counters)));

  EXPECT_EQ(samples["stint_decisions_total{outcome=\"admitted\"}"], "3");
  EXPECT_EQ(samples["stint_decisions_total{outcome=\"rejected\"}"], "3");
  EXPECT_EQ(samples["stint_decisions_total{outcome=\"disabled\"}"], "0");
  EXPECT_EQ(samples["stint_decisions_total{outcome=\"degraded\"}"], "0");
  EXPECT_EQ(samples["stint_rejections_total{limit=\"rpd\"}"], "3");
  EXPECT_EQ(samples["stint_rejections_total{limit=\"tpd\"}"], "1");
  EXPECT_EQ(samples.count("stint_rejections_total{limit=\"other\"}"), 0u);
  EXPECT_EQ(samples["stint_rejections_from_memory_total"], "3");
  EXPECT_EQ(samples["stint_call_errors_total{code=\"not_found\"}"], "1");
  EXPECT_EQ(samples["stint_store_errors_total{code=\"throttled\"}"], "0");
  EXPECT_EQ(samples["stint_store_requests_total"], std::to_string(limiter.stats().requests));
  EXPECT_EQ(std::stod(samples["stint_store_units_total{kind=\"read\"}"]),
            limiter.stats().read_units);
  EXPECT_EQ(std::stod(samples["stint_store_units_total{kind=\"write\"}"]),
            limiter.stats().write_units);
  EXPECT_EQ(std::stod(samples["stint_store_units_total{kind=\"index_write\"}"]),
            limiter.stats().index_write_units);
  EXPECT_EQ(samples["stint_cache_lookups_total{cache=\"view\",result=\"miss\"}"], "1");
  EXPECT_EQ(samples["stint_cache_lookups_total{cache=\"view\",result=\"hit\"}"], "5");
  EXPECT_EQ(samples.count("stint_store_seconds_total"), 0u) << "nobody measures it";
}

TEST(Prometheus, EveryCounterHasItsMetric) {
  Counters counters({.time_store = true});
  Error error(ErrorCode::kThrottled, "too fast");
  RequestStats asked{.requests = 2, .read_units = 0.5, .write_units = 3, .index_write_units = 4};
  // Each kind a number of times of its own, so that none can be taken for another.
  for (int kind = 0; to_string(static_cast<EventKind>(kind)) != "unknown"; ++kind) {
    for (int times = 0; times < 100 + kind; ++times) {
      counters.on_event({.kind = static_cast<EventKind>(kind),
                         .from_memory = times < 7,
                         .limit = "rph",
                         .error = &error,
                         .store = &asked,
                         .duration = std::chrono::milliseconds(10)});
    }
  }
  auto times = [](EventKind kind) { return std::to_string(100 + static_cast<int>(kind)); };

  std::map<std::string, std::string> samples =
      samples_of(text_of(*prometheus_collectable(counters)));

  const std::map<std::string, std::string> expected = {
      {"stint_decisions_total{outcome=\"admitted\"}", times(EventKind::kAdmitted)},
      {"stint_decisions_total{outcome=\"rejected\"}", times(EventKind::kRejected)},
      {"stint_decisions_total{outcome=\"disabled\"}", times(EventKind::kDisabled)},
      {"stint_decisions_total{outcome=\"degraded\"}", times(EventKind::kDegraded)},
      {"stint_rejections_total{limit=\"rph\"}", times(EventKind::kLimitExceeded)},
      {"stint_rejections_from_memory_total", "7"},
      {"stint_call_errors_total{code=\"throttled\"}", times(EventKind::kCallFailed)},
      {"stint_store_requests_total", "212"},
      {"stint_store_units_total{kind=\"read\"}", "53"},
      {"stint_store_units_total{kind=\"write\"}", "318"},
      {"stint_store_units_total{kind=\"index_write\"}", "424"},
      {"stint_store_errors_total{code=\"throttled\"}", times(EventKind::kStoreError)},
      {"stint_conflicts_total", times(EventKind::kConflict)},
      {"stint_retries_total", times(EventKind::kRetry)},
      {"stint_turn_waits_total", times(EventKind::kWaited)},
      {"stint_cache_lookups_total{cache=\"view\",result=\"hit\"}", times(EventKind::kViewHit)},
      {"stint_cache_lookups_total{cache=\"view\",result=\"miss\"}", times(EventKind::kViewMiss)},
      {"stint_cache_lookups_total{cache=\"config\",result=\"hit\"}", times(EventKind::kConfigHit)},
      {"stint_cache_lookups_total{cache=\"config\",result=\"miss\"}",
       times(EventKind::kConfigMiss)},
      {"stint_lease_events_total{event=\"settled\"}", times(EventKind::kSettled)},
      {"stint_lease_events_total{event=\"rolled_back\"}", times(EventKind::kRolledBack)},
      {"stint_lease_events_total{event=\"given_back\"}", times(EventKind::kGivenBack)},
      {"stint_lease_events_total{event=\"trouble\"}", times(EventKind::kLeaseTrouble)},
      {"stint_warnings_total{warning=\"clock_behind\"}", times(EventKind::kClockBehind)},
      {"stint_warnings_total{warning=\"limits_disagree\"}", times(EventKind::kLimitsDisagree)},
      {"stint_warnings_total{warning=\"fanout_incomplete\"}", times(EventKind::kFanoutIncomplete)},
  };
  for (const auto& [name, value] : expected) EXPECT_EQ(samples[name], value) << name;
  EXPECT_NEAR(std::stod(samples["stint_store_seconds_total"]), 1.06, 1e-9);
  EXPECT_NEAR(std::stod(samples["stint_turn_wait_seconds_total"]), 1.1, 1e-9);
}

TEST(Prometheus, MetricsFollowTheConventions) {
  Counters counters({.time_store = true});
  for (const prometheus::MetricFamily& family : prometheus_collectable(counters)->Collect()) {
    EXPECT_TRUE(family.name.starts_with("stint_")) << family.name;
    EXPECT_TRUE(family.name.ends_with("_total")) << family.name;
    EXPECT_EQ(family.type, prometheus::MetricType::Counter) << family.name;
    EXPECT_TRUE(family.help.ends_with(".")) << family.name;
  }
}

TEST(Prometheus, LimitsThatWereTooManyAreOneMoreLimit) {
  Counters counters;
  counters.on_event({.kind = EventKind::kLimitExceeded, .limit = "other"});
  for (std::size_t i = 0; i < Counters::kMostLimits + 9; ++i) {
    std::string name = "limit-" + std::to_string(i);
    counters.on_event({.kind = EventKind::kLimitExceeded, .limit = name});
  }
  std::map<std::string, std::string> samples =
      samples_of(text_of(*prometheus_collectable(counters)));
  // A limit that happens to have the name is counted with them: no line may come twice.
  EXPECT_EQ(samples["stint_rejections_total{limit=\"other\"}"], "11");
}

TEST(Prometheus, SeveralCountersAreToldApartByTheirLabels) {
  Counters first;
  Counters second({.time_store = true});
  first.on_event({.kind = EventKind::kAdmitted});
  second.on_event({.kind = EventKind::kAdmitted});
  second.on_event({.kind = EventKind::kAdmitted});

  auto both =
      prometheus_collectable({{&first, {{"limiter", "front"}}}, {&second, {{"limiter", "back"}}}})
          .value();
  std::string text = text_of(*both);

  std::map<std::string, std::string> samples = samples_of(text);
  EXPECT_EQ(samples["stint_decisions_total{limiter=\"front\",outcome=\"admitted\"}"], "1");
  EXPECT_EQ(samples["stint_decisions_total{limiter=\"back\",outcome=\"admitted\"}"], "2");
  EXPECT_EQ(samples.count("stint_store_seconds_total{limiter=\"front\"}"), 0u);
  EXPECT_EQ(samples.count("stint_store_seconds_total{limiter=\"back\"}"), 1u);
  std::set<std::string> helped;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# HELP")) {
      EXPECT_TRUE(helped.insert(line).second) << line;
    }
  }
  EXPECT_GE(helped.size(), 10u);
}

TEST(Prometheus, LabelsAreChecked) {
  Counters counters;
  for (const char* bad : {"", "1st", "a-b", "__name", "limit", "code"}) {
    auto made = prometheus_collectable({{&counters, {{bad, "x"}}}});
    ASSERT_FALSE(made) << bad;
    EXPECT_EQ(made.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(made.error().field(), "label");
  }
  EXPECT_FALSE(prometheus_collectable({{&counters, {{"a", "x"}, {"a", "y"}}}}));
  EXPECT_FALSE(prometheus_collectable({{&counters, {{"a", "x"}}}, {&counters, {{"a", "x"}}}}));
  EXPECT_FALSE(prometheus_collectable({{&counters}, {&counters}}));
  EXPECT_TRUE(prometheus_collectable({{&counters, {{"a", "x"}}}, {&counters, {{"a", "y"}}}}).ok());
}

}  // namespace
}  // namespace stint::test
