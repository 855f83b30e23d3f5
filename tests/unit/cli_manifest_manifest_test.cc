// Policies as files: every form of rules 8.3, and every mistake with its line.
#include "cli/manifest/manifest.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "stint/limit.h"

namespace stint::cli {
namespace {

using std::chrono::seconds;

Manifest parse(const std::string& text) {
  ReadManifest read = parse_manifest(text);
  for (const ManifestProblem& problem : read.problems) {
    ADD_FAILURE() << problem.line << ": " << problem.error.message();
  }
  return read.manifest.value_or(Manifest());
}

// "2 field reason | 5 field reason"; nothing for a manifest without a mistake.
std::string problems_of(const std::string& text) {
  const ReadManifest read = parse_manifest(text);
  EXPECT_EQ(read.problems.empty(), read.manifest.has_value());
  std::string all;
  for (const ManifestProblem& problem : read.problems) {
    all += (all.empty() ? "" : " | ") + std::to_string(problem.line) + " " + problem.error.field() +
           " " + problem.error.reason();
  }
  return all;
}

// The one limit of a manifest whose limit has the given lines, each indented by six.
ReadManifest read_limit(const std::vector<std::string>& lines) {
  std::string text = "namespace: n\nsystem:\n  limits:\n    l:\n";
  for (const std::string& line : lines) text += "      " + line + "\n";
  return parse_manifest(text);
}

Limit limit_of(const std::vector<std::string>& lines) {
  ReadManifest read = read_limit(lines);
  for (const ManifestProblem& problem : read.problems) {
    ADD_FAILURE() << problem.line << ": " << problem.error.message();
  }
  if (!read.manifest) return Limit::per_second("failed", 1).value();
  return read.manifest->scopes.at(0).config.limits.at(0);
}

// "5 capacity reason": the field without the path to the limit.
std::string mistakes_of(const std::vector<std::string>& lines) {
  const ReadManifest read = read_limit(lines);
  const std::string path = "system.limits.l";
  std::string all;
  for (const ManifestProblem& problem : read.problems) {
    std::string field = problem.error.field();
    if (field.rfind(path + ".", 0) == 0) field.erase(0, path.size() + 1);
    all += (all.empty() ? "" : " | ") + std::to_string(problem.line) + " " + field + " " +
           problem.error.reason();
  }
  return all;
}

constexpr const char* kNoNumber =
    "must be a whole number, written in decimal digits without quotes";

TEST(CliManifest, ReadsEverySection) {
  const Manifest manifest = parse(R"(namespace: shop
system:
  on_unavailable: allow
  limits:
    rpm: {capacity: 60}
resources:
  api:
    limits:
      tokens: {capacity: 1000, refill_amount: 10, refill_period: 1}
    cascade: true
  batch: {}
  closed:
    disabled: true
entities:
  user-1:
    resources:
      _default_:
        disabled: bypass
      api:
        limits:
          session: {capacity: 10, reset_after_seconds: 18000}
        disabled: false
        cascade: false
      batch:
        disabled: ~
        cascade: null
  user-2:
    resources: {}
)");
  EXPECT_EQ(manifest.name_space, "shop");
  ASSERT_EQ(manifest.scopes.size(), 7u);
  const ManifestScope& system = manifest.scopes[0];
  EXPECT_EQ(system.scope, Scope::system());
  EXPECT_EQ(system.config.on_unavailable, OnUnavailable::kAllow);
  EXPECT_EQ(system.config.limits,
            std::vector<Limit>{Limit::rate("rpm", 60, 60, seconds(60)).value()});
  const ManifestScope& api = manifest.scopes[1];
  EXPECT_EQ(api.scope, Scope::resource("api"));
  EXPECT_EQ(api.line, 8);
  EXPECT_EQ(api.config.cascade, true);
  EXPECT_EQ(api.config.access, std::nullopt);
  EXPECT_EQ(api.config.limits,
            std::vector<Limit>{Limit::rate("tokens", 1000, 10, seconds(1)).value()});
  EXPECT_TRUE(manifest.scopes[2].config.limits.empty());
  EXPECT_EQ(manifest.scopes[3].config.access, AccessPolicy::kDisabled);
  EXPECT_EQ(manifest.scopes[4].scope, Scope::entity("user-1"));
  EXPECT_EQ(manifest.scopes[4].config.access, AccessPolicy::kBypass);
  EXPECT_EQ(manifest.scopes[5].scope, Scope::entity_resource("user-1", "api"));
  EXPECT_EQ(manifest.scopes[5].config.access, AccessPolicy::kEnforce);
  EXPECT_EQ(manifest.scopes[5].config.cascade, false);
  EXPECT_EQ(manifest.scopes[6].config.access, std::nullopt);
  EXPECT_EQ(manifest.scopes[6].config.cascade, std::nullopt);
}

TEST(CliManifest, NeedsOnlyANamespace) {
  EXPECT_TRUE(parse("namespace: n\n").scopes.empty());
  EXPECT_EQ(problems_of("{}"), "1 namespace is required");
  EXPECT_EQ(problems_of(""),
            "1 manifest must be a mapping with namespace, system, resources and entities");
  EXPECT_EQ(problems_of("- a\n").substr(0, 10), "1 manifest");
  EXPECT_EQ(problems_of("namespace: \n"), "1 namespace must be a text that is not empty");
  EXPECT_EQ(problems_of("namespace: ''\n"), "1 namespace must be a text that is not empty");
  EXPECT_EQ(problems_of("namespace: [n]\n"), "1 namespace must be a text that is not empty");
  EXPECT_EQ(problems_of("namespace: _\n").substr(0, 11), "1 namespace");
}

TEST(CliManifest, ReadsRates) {
  EXPECT_EQ(limit_of({"capacity: 60"}), Limit::rate("l", 60, 60, seconds(60)).value());
  EXPECT_EQ(limit_of({"capacity: 60", "refill_amount: 5", "refill_period: 3600"}),
            Limit::rate("l", 60, 5, seconds(3600)).value());
  EXPECT_EQ(limit_of({"capacity: 1000000000000000"}),
            Limit::rate("l", 1'000'000'000'000'000, 1'000'000'000'000'000, seconds(60)).value());
  EXPECT_EQ(limit_of({"capacity: 60", "soft: true"}),
            Limit::rate("l", 60, 60, seconds(60)).value().as_soft());
  EXPECT_EQ(limit_of({"capacity: 60", "soft: false"}),
            Limit::rate("l", 60, 60, seconds(60)).value());
}

TEST(CliManifest, ABurstReplacesTheCapacityAndTheRefillFollowsIt) {
  EXPECT_EQ(limit_of({"capacity: 60", "burst: 90"}), Limit::rate("l", 90, 90, seconds(60)).value());
  EXPECT_EQ(limit_of({"capacity: 60", "burst: 90", "refill_amount: 60"}),
            Limit::rate("l", 90, 60, seconds(60)).value());
  EXPECT_EQ(mistakes_of({"burst: 90"}), "4 capacity is required");
  EXPECT_EQ(mistakes_of({"capacity: 60", "burst: ~"}), std::string("6 burst ") + kNoNumber);
  EXPECT_EQ(mistakes_of({"capacity: 60", "burst: 0"}), "6 burst must be greater than 0");
  EXPECT_EQ(mistakes_of({"capacity: 0", "burst: 9"}), "5 capacity must be greater than 0");
}

TEST(CliManifest, ReadsQuotas) {
  EXPECT_EQ(limit_of({"capacity: 10", "reset_after_seconds: 18000"}),
            Limit::session("l", 10, seconds(18000)).value());
  EXPECT_EQ(limit_of({"capacity: 10", "refill_amount: 0", "refill_period: 60",
                      "reset_after_seconds: 18000"}),
            Limit::session("l", 10, seconds(18000)).value());
  EXPECT_EQ(limit_of({"capacity: 10", "reset_schedule:", "  - cron: 0 0 1 * *"}),
            Limit::calendar("l", 10, "0 0 1 * *").value());
  EXPECT_EQ(
      limit_of({"capacity: 10", "reset_schedule:", "  - {cron: \"0 0 * * MON\", tz: Europe/Berlin}",
                "  - {cron: \"0 12 * * MON\", tz: Europe/Berlin}"}),
      Limit::calendar("l", 10,
                      {Cron::parse("0 0 * * MON").value(), Cron::parse("0 12 * * MON").value()},
                      "Europe/Berlin")
          .value());
  EXPECT_EQ(
      mistakes_of({"capacity: 10", "refill_amount: 1", "reset_after_seconds: 5"}),
      "6 refill_amount a quota is restored by its resets and does not refill; leave it out or "
      "write 0");
  EXPECT_EQ(mistakes_of({"capacity: 10", "refill_period: 0", "reset_after_seconds: 5"}),
            "6 refill_period must be at least 1 second");
  EXPECT_EQ(mistakes_of({"capacity: 10", "reset_after_seconds: 5",
                         "reset_schedule:", "  - cron: 0 0 * * *"}),
            "6 reset_after_seconds a limit has a reset_schedule or reset_after_seconds, not both");
  for (const char* value : {"0", "-1", "1000000001"}) {
    EXPECT_EQ(
        mistakes_of({"capacity: 10", std::string("reset_after_seconds: ") + value}).substr(0, 21),
        "6 reset_after_seconds");
  }
}

TEST(CliManifest, ReadsLevelSchedules) {
  const Limit base = Limit::rate("l", 100, 100, seconds(60)).value();
  EXPECT_EQ(
      limit_of({"capacity: 100", "schedule:", "  - {cron: \"* 9-17 * * *\", scale: 0.5}",
                "  - {cron: \"* 0-6 * * *\", capacity: 200, refill_amount: 20, "
                "refill_period_seconds: 10}"}),
      base.with_schedule({LevelEntry::scaled("* 9-17 * * *", 0.5).value(),
                          LevelEntry::absolute("* 0-6 * * *", {200, 20, seconds(10)}).value()})
          .value());
  EXPECT_EQ(limit_of({"capacity: 100", "reset_schedule:", "  - {cron: 0 0 * * *, tz: Asia/Tokyo}",
                      "schedule:", "  - {cron: \"* * * * SUN\", scale: 2, tz: Asia/Tokyo}"}),
            Limit::calendar("l", 100, "0 0 * * *", "Asia/Tokyo")
                .value()
                .with_schedule({LevelEntry::scaled("* * * * SUN", 2).value()}, "Asia/Tokyo")
                .value());
}

TEST(CliManifest, RefusesWrongSchedules) {
  const auto schedule = [](const std::string& entry) {
    return mistakes_of({"capacity: 100", "schedule:", "  - " + entry});
  };
  EXPECT_EQ(schedule("{scale: 0.5}"), "7 schedule[0].cron is required");
  EXPECT_EQ(schedule("{cron: 61 * * * *, scale: 0.5}").substr(0, 18), "7 schedule[0].cron");
  EXPECT_NE(schedule("{cron: \"* 9 * * *\"}"), "");
  EXPECT_EQ(schedule("{cron: \"* 9 * * *\", scale: 2, capacity: 5}"),
            "7 schedule[0].scale an entry has a scale or parameters of its own, not both");
  for (const char* scale : {"\"2\"", "-1", "NaN", ".inf", "true", "0x2", "1e3", "~", "[1]", ".5"}) {
    EXPECT_EQ(schedule(std::string("{cron: \"* 9 * * *\", scale: ") + scale + "}"),
              "7 schedule[0].scale must be a decimal number such as 0.5, without quotes")
        << scale;
  }
  EXPECT_EQ(schedule("{cron: \"* 9 * * *\", scale: 0}").substr(0, 19), "7 schedule[0].scale");
  EXPECT_EQ(schedule("{cron: \"* 9 * * *\", scale: 1000001}").substr(0, 19), "7 schedule[0].scale");
  EXPECT_EQ(schedule("{cron: \"* 9 * * *\", capacity: 1.5}"),
            std::string("7 schedule[0].capacity ") + kNoNumber);
  EXPECT_EQ(schedule("{cron: \"* 9 * * *\", scale: 2, tz: Mars/Base}").substr(0, 16),
            "7 schedule[0].tz");
  EXPECT_EQ(schedule("{cron: \"* 9 * * *\", scale: 2, refill_period: 5}").substr(0, 27),
            "7 schedule[0].refill_period");
  EXPECT_EQ(mistakes_of({"capacity: 100", "schedule: []"}),
            "6 schedule must be a list with at least one entry");
  EXPECT_EQ(mistakes_of({"capacity: 100", "schedule: {cron: x}"}),
            "6 schedule must be a list with at least one entry");
  EXPECT_EQ(mistakes_of({"capacity: 100", "reset_after_seconds: 5",
                         "schedule:", "  - {cron: \"* 9 * * *\", scale: 2}",
                         "  - {cron: \"* 10 * * *\", refill_amount: 2}"}),
            "9 schedule a quota does not refill, so that no refill can be scheduled");
  EXPECT_EQ(mistakes_of({"capacity: 100", "reset_schedule:", "  - {cron: 0 0 * * *, scale: 1}"}),
            "7 reset_schedule[0].scale is not known here; known are: cron, tz");
  EXPECT_EQ(
      mistakes_of({"capacity: 100", "reset_schedule:", "  - cron: \"* * * * *\""}).substr(0, 16),
      "7 reset_schedule");
}

TEST(CliManifest, RefusesTwoZonesInOneLimitAndInOneScope) {
  EXPECT_EQ(
      mistakes_of({"capacity: 100", "reset_schedule:", "  - {cron: 0 0 * * *, tz: Asia/Tokyo}",
                   "schedule:", "  - {cron: \"* * * * SUN\", scale: 2}"}),
      "9 schedule[0].tz a limit has one zone, which line 7 says is Asia/Tokyo");
  EXPECT_EQ(
      problems_of("namespace: n\nsystem:\n  limits:\n"
                  "    a: {capacity: 1, reset_schedule: [{cron: 0 0 * * *, tz: Asia/Tokyo}]}\n"
                  "    b: {capacity: 1}\n"
                  "    c: {capacity: 1, reset_schedule: [{cron: 0 0 * * *}]}\n"),
      "6 system.limits.c limits that apply together share one zone; \"a\" is in Asia/Tokyo");
}

TEST(CliManifest, RefusesMoreThanTwelveLimits) {
  std::string text = "namespace: n\nsystem:\n  limits:\n";
  for (int i = 1; i <= 12; ++i) text += "    l" + std::to_string(i) + ": {capacity: 1}\n";
  EXPECT_EQ(problems_of(text), "");
  EXPECT_EQ(problems_of(text + "    l13: {capacity: 1}\n    l14: {capacity: 1}\n"),
            "16 system.limits.l13 at most 12 limits can apply together");
}

TEST(CliManifest, R44_TakesWholeNumbersOnly) {
  for (const char* value :
       {"1.5",   "1.0", "true",  ".nan", "NaN", ".inf", "1e3", "010",  "0x10", "1_000",
        "1,000", "+5",  "\"5\"", "'5'",  "yes", "~",    "",    "five", "[5]",  "{a: 5}"}) {
    for (const char* key :
         {"capacity", "burst", "refill_amount", "refill_period", "reset_after_seconds"}) {
      std::vector<std::string> lines;
      if (std::string(key) != "capacity") lines.push_back("capacity: 1");
      lines.push_back(std::string(key) + ": " + value);
      EXPECT_EQ(mistakes_of(lines), std::to_string(4 + lines.size()) + " " + key + " " + kNoNumber)
          << key << ": " << value;
    }
  }
  EXPECT_EQ(mistakes_of({"capacity: 99999999999999999999"}), "5 capacity is too large");
  EXPECT_EQ(mistakes_of({"capacity: 1000000000000001"}),
            "5 capacity must be at most 1000000000000000");
  EXPECT_EQ(mistakes_of({"capacity: 0"}), "5 capacity must be greater than 0");
  EXPECT_EQ(mistakes_of({"capacity: -5"}), "5 capacity must be greater than 0");
  EXPECT_EQ(mistakes_of({"capacity: 1", "refill_amount: 0"}),
            "6 refill_amount must be greater than 0");
  EXPECT_EQ(mistakes_of({"capacity: 1", "refill_period: 0"}),
            "6 refill_period must be at least 1 second");
}

TEST(CliManifest, TakesTrueAndFalseOnly) {
  for (const char* value : {"yes", "no", "on", "1", "0", "\"true\"", "True", "~", "[true]"}) {
    EXPECT_EQ(mistakes_of({"capacity: 1", std::string("soft: ") + value}),
              "6 soft must be true or false")
        << value;
  }
  EXPECT_EQ(problems_of("namespace: n\nresources:\n  a: {disabled: yes, cascade: on}\n"),
            "3 resources.a.disabled must be true, false, bypass or null | "
            "3 resources.a.cascade must be true or false");
}

TEST(CliManifest, RefusesUnknownKeysAtEveryLevel) {
  EXPECT_EQ(problems_of("namespace: n\nversion: 1\n"),
            "2 version is not known here; known are: namespace, system, resources, entities");
  EXPECT_EQ(problems_of("namespace: n\nsystem:\n  disabled: ~\n  cascade: true\n"),
            "3 system.disabled is not known here; known are: on_unavailable, limits | "
            "4 system.cascade is not known here; known are: on_unavailable, limits");
  EXPECT_EQ(problems_of("namespace: n\nresources:\n  a:\n    inherit_limits: true\n"),
            "4 resources.a.inherit_limits is not known here; known are: limits, disabled, cascade");
  EXPECT_EQ(problems_of("namespace: n\nentities:\n  e:\n    parent: p\n    resources: {}\n"),
            "4 entities.e.parent is not known here; known are: resources");
  EXPECT_EQ(mistakes_of({"capacity: 1", "refill_period_seconds: 60"}),
            "6 refill_period_seconds is not known here; known are: capacity, burst, refill_amount, "
            "refill_period, schedule, reset_schedule, reset_after_seconds, soft");
}

TEST(CliManifest, RefusesSectionsThatAreNoMappings) {
  EXPECT_EQ(problems_of("namespace: n\nsystem:\nresources: []\nentities: 1\n"),
            "2 system must be a mapping | 3 resources must be a mapping | "
            "4 entities must be a mapping");
  EXPECT_EQ(problems_of("namespace: n\nsystem:\n  limits:\nresources:\n  a:\nentities:\n  e:\n"),
            "3 system.limits must be a mapping | 5 resources.a must be a mapping | "
            "7 entities.e must be a mapping");
  EXPECT_EQ(problems_of("namespace: n\nsystem:\n  limits:\n    l: 5\n"),
            "4 system.limits.l must be a mapping");
  EXPECT_EQ(problems_of("namespace: n\nsystem:\n  on_unavailable: maybe\n"),
            "3 system.on_unavailable must be block or allow");
}

TEST(CliManifest, ChecksNames) {
  for (const char* text :
       {"namespace: n\nresources:\n  9a: {}\n", "namespace: n\nresources:\n  _default_: {}\n",
        "namespace: n\nentities:\n  a#b: {resources: {}}\n",
        "namespace: n\nsystem: {limits: {\n  wcu: {capacity: 1}}}\n"}) {
    EXPECT_EQ(problems_of(text).substr(0, 2), "3 ") << text << problems_of(text);
  }
  EXPECT_EQ(problems_of("namespace: n\nentities:\n  a: {resources: {\n    9a: {}}}\n").substr(0, 2),
            "4 ");
}

TEST(CliManifest, ReportsEveryMistakeOnceAndInOrder) {
  EXPECT_EQ(problems_of("namespace: n\n"
                        "resources:\n"
                        "  a:\n"
                        "    limits:\n"
                        "      x: {capacity: 0}\n"
                        "      y: &anchor {capacity: 1}\n"
                        "      z: *anchor\n"
                        "      x: {capacity: 5}\n"
                        "system:\n"
                        "  limits:\n"
                        "    w: {capacity: many}\n"),
            "5 resources.a.limits.x.capacity must be greater than 0 | "
            "6 manifest anchors are not accepted | "
            "7 manifest aliases are not accepted: write the value out | "
            "8 manifest the key was given in line 5 already | "
            "11 system.limits.w.capacity " +
                std::string(kNoNumber));
}

TEST(CliManifest, NamesFileAndLineInOneError) {
  const ReadManifest read =
      parse_manifest("namespace: n\nsystem: {limits: {l: {capacity: 0}}}\nx: 1\n");
  const Error error = first_problem("policy.yaml", read.problems);
  EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(error.field(), "system.limits.l.capacity");
  EXPECT_EQ(error.value(), "0");
  EXPECT_EQ(error.reason(),
            "must be greater than 0 (policy.yaml, line 2); `stint manifest check` shows all 2 "
            "mistakes");
}

TEST(CliManifest, FindsResetsThatLocalTimeSkips) {
  const Manifest manifest = parse(
      "namespace: n\nresources:\n  api:\n    limits:\n"
      "      daily: {capacity: 1, reset_schedule: [{cron: 30 2 * * *, tz: America/New_York}]}\n"
      "  safe:\n    limits:\n"
      "      daily: {capacity: 1, reset_schedule: [{cron: 0 12 * * *, tz: America/New_York}]}\n");
  // 2026-09-15T12:00:00Z
  const std::vector<ContestedResets> contested =
      contested_resets(manifest, TimePoint(Millis(1'789'473'600'000)));
  ASSERT_EQ(contested.size(), 1u);
  EXPECT_EQ(contested[0].scope, Scope::resource("api"));
  EXPECT_EQ(contested[0].limit, "daily");
  // 02:30 of 14 March 2027 does not exist there; decision 7 puts the edge at 07:00Z.
  EXPECT_NE(std::find(contested[0].edges.begin(), contested[0].edges.end(),
                      TimePoint(Millis(1'805'007'600'000))),
            contested[0].edges.end());
}

TEST(CliManifest, ReportsFilesThatCannotBeRead) {
  EXPECT_EQ(read_manifest_file("/").error().reason(), "is a directory");
  EXPECT_EQ(read_manifest_file("/nowhere/policy.yaml").error().field(), "manifest");
}

RC_GTEST_PROP(CliManifestProperty, AnyTextIsReadOrRefusedWithALine, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::element('a', 'n', ':', ' ', '\n', '-', '{', '}', '[', ']', '"', '\'', '#', '&', '*',
                       '!', '|', '1', '~', '?', ',', '%', '<'));
  const ReadManifest read = parse_manifest("namespace: n\n" + text);
  RC_ASSERT(read.manifest.has_value() == read.problems.empty());
  for (const ManifestProblem& problem : read.problems) {
    RC_ASSERT(problem.line >= 1);
    RC_ASSERT(!problem.error.reason().empty());
  }
}

}  // namespace
}  // namespace stint::cli
