#include "schema/config_item.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/reference_items.h"

namespace stint::schema {
namespace {

using namespace std::chrono_literals;
using test::item_of;
using test::shown;

using ConfigPtr = std::shared_ptr<const ConfigRecord>;

// A resource's configuration item around some attributes.
store::ImagePtr resource_item(const std::string& attributes) {
  return item_of(R"({"PK": {"S": "ns/RESOURCE#api"}, "SK": {"S": "#CONFIG"},
      "GSI4PK": {"S": "ns"}, "GSI4SK": {"S": "ns/RESOURCE#api"}, "resource": {"S": "api"})" +
                 attributes + "}");
}

ConfigPtr decode(const store::ImagePtr& item) {
  Result<ConfigPtr> config = decode_config(*item, ResetRule::kLocalDay);
  EXPECT_TRUE(config) << config.error().message() << " in " << shown(item);
  return config ? *config : std::make_shared<const ConfigRecord>();
}

std::string reason_of(const std::string& attributes) {
  Result<ConfigPtr> config = decode_config(*resource_item(attributes), ResetRule::kLocalDay);
  EXPECT_FALSE(config) << attributes;
  if (config) return "";
  EXPECT_EQ(config.error().code(), ErrorCode::kCorrupt);
  const std::string where = "item ns/RESOURCE#api #CONFIG: ";
  EXPECT_TRUE(config.error().reason().starts_with(where)) << config.error().reason();
  return config.error().reason().substr(where.size());
}

const std::string kRpm = R"(, "l_rpm_cp": {"N": "90"}, "l_rpm_ra": {"N": "60"},
                            "l_rpm_rp": {"N": "60"})";
const std::string kSession = R"(, "w_session_cp": {"N": "10000"}, "w_session_ra": {"N": "0"},
                                "w_session_rp": {"N": "1"}, "w_session_rsa": {"N": "18000"})";

TEST(ConfiguredLimitTest, ARateInMilliTokensAndMilliseconds) {
  Limit limit = Limit::rate("rpm", 90, 60, 60s).value();
  auto compiled = ConfiguredLimit::compile(limit, ResetRule::kLocalDay).value();
  const bucket::LimitState& state = compiled->state();
  EXPECT_EQ(state.name, "rpm");
  EXPECT_EQ(state.kind, LimitKind::kRate);
  EXPECT_EQ(state.base, (bucket::Parameters{90'000, 60'000, 60'000ms}));
  EXPECT_EQ(state.window_length, 0ms);
  EXPECT_EQ(state.balance, 0);
  EXPECT_EQ(state.levels, nullptr);
  EXPECT_EQ(state.resets, nullptr);
  EXPECT_EQ(compiled->levels_text(), "");
  EXPECT_EQ(compiled->resets_text(), "");
  EXPECT_EQ(compiled->limit(), limit);
}

TEST(ConfiguredLimitTest, TheStateRefersToItsOwnCopyOfTheLimit) {
  std::shared_ptr<const ConfiguredLimit> compiled;
  {
    Limit limit = Limit::per_minute("a-name-too-long-for-the-small-string", 5).value();
    compiled = ConfiguredLimit::compile(limit, ResetRule::kLocalDay).value();
  }
  EXPECT_EQ(compiled->state().name.data(), compiled->limit().name().data());
  EXPECT_EQ(compiled->state().name, "a-name-too-long-for-the-small-string");
}

TEST(ConfiguredLimitTest, SchedulesAreCompiledInTheirZone) {
  Limit limit = Limit::calendar("day", 10'000, "0 0 * * *", "America/New_York").value();
  limit = limit
              .with_schedule({LevelEntry::scaled("* 9-17 * * MON-FRI", 0.5).value()},
                             "America/New_York")
              .value();
  auto compiled = ConfiguredLimit::compile(limit, ResetRule::kCompatible).value();
  const bucket::LimitState& state = compiled->state();
  EXPECT_EQ(state.kind, LimitKind::kCalendar);
  EXPECT_EQ(state.base, (bucket::Parameters{10'000'000, 0, 1'000ms}));
  ASSERT_NE(state.levels, nullptr);
  EXPECT_EQ(state.levels->entries(), limit.schedule());
  EXPECT_EQ(state.levels->zone().name(), "America/New_York");
  ASSERT_NE(state.resets, nullptr);
  EXPECT_EQ(state.resets->crons(), limit.resets());
  EXPECT_EQ(state.resets->zone().name(), "America/New_York");
  EXPECT_EQ(state.resets->rule(), ResetRule::kCompatible);
  EXPECT_EQ(compiled->levels_text(), "1h9-17w1-5s500");
  EXPECT_EQ(compiled->resets_text(), "1m0h0");
}

TEST(ConfiguredLimitTest, ASessionHasAWindowLength) {
  auto compiled =
      ConfiguredLimit::compile(Limit::session("session", 10'000, 5h).value(), ResetRule::kLocalDay)
          .value();
  EXPECT_EQ(compiled->state().kind, LimitKind::kSession);
  EXPECT_EQ(compiled->state().window_length, 5h);
  EXPECT_EQ(compiled->state().base, (bucket::Parameters{10'000'000, 0, 1'000ms}));
}

TEST(ConfiguredLimitTest, TheLargestAmountsFit) {
  Limit limit = Limit::rate("big", kMaxConfiguredTokens, kMaxConfiguredTokens,
                            std::chrono::seconds(1'000'000'000))
                    .value();
  auto compiled = ConfiguredLimit::compile(limit, ResetRule::kLocalDay).value();
  EXPECT_EQ(compiled->state().base,
            (bucket::Parameters{1'000'000'000'000'000'000, 1'000'000'000'000'000'000,
                                Millis(1'000'000'000'000)}));
}

TEST(ConfigItemTest, ReadsLimitsInOrderOfName) {
  store::ImagePtr item = resource_item(kSession + kRpm + R"(,
      "l_tok.in-put_x_cp": {"N": "40000"}, "l_tok.in-put_x_ra": {"N": "40000"},
      "l_tok.in-put_x_rp": {"N": "60"}, "config_version": {"N": "1"})");
  ConfigPtr config = decode(item);
  ASSERT_EQ(config->limits.size(), 3u);
  EXPECT_EQ(config->limits[0]->limit(), Limit::rate("rpm", 90, 60, 60s).value());
  EXPECT_EQ(config->limits[1]->limit(), Limit::session("session", 10'000, 5h).value());
  EXPECT_EQ(config->limits[2]->limit(), Limit::rate("tok.in-put_x", 40'000, 40'000, 60s).value());
  EXPECT_EQ(config->find("session"), config->limits[1].get());
  EXPECT_EQ(config->find("sessio"), nullptr);
  EXPECT_EQ(config->find("zzz"), nullptr);
  EXPECT_EQ(config->zone, "");
  EXPECT_FALSE(config->access);
  EXPECT_FALSE(config->cascade);
  EXPECT_FALSE(config->on_unavailable);
  EXPECT_EQ(shown(encode_config("ns", Scope::resource("api"), *config)), shown(item));
}

TEST(ConfigItemTest, ReadsSchedulesInTheSharedZone) {
  store::ImagePtr item = resource_item(kRpm + R"(, "sched_tz": {"S": "America/New_York"},
      "l_rpm_sched": {"S": "1h9-17w1-5s500;h0-6c2000a2000p60"}, "l_rpm_soft": {"BOOL": true},
      "l_day_cp": {"N": "10000"}, "l_day_ra": {"N": "0"}, "l_day_rp": {"N": "1"},
      "l_day_rsched": {"S": "1m0h0"}, "config_version": {"N": "1"})");
  ConfigPtr config = decode(item);
  EXPECT_EQ(config->zone, "America/New_York");
  ASSERT_NE(config->find("day"), nullptr);
  EXPECT_EQ(config->find("day")->limit(),
            Limit::calendar("day", 10'000, "0 0 * * *", "America/New_York").value());
  ASSERT_NE(config->find("rpm"), nullptr);
  const Limit& rpm = config->find("rpm")->limit();
  EXPECT_TRUE(rpm.soft());
  ASSERT_EQ(rpm.schedule().size(), 2u);
  EXPECT_EQ(rpm.schedule()[0].per_mille(), 500);
  EXPECT_EQ(rpm.schedule()[1].parameters(), (LevelEntry::Absolute{2000, 2000, 60s}));
  EXPECT_EQ(config->find("rpm")->levels_text(), "1h9-17w1-5s500;h0-6c2000a2000p60");
  EXPECT_EQ(shown(encode_config("ns", Scope::resource("api"), *config)), shown(item));
}

TEST(ConfigItemTest, SchedulesWithoutAZoneAreInUtc) {
  store::ImagePtr item = resource_item(R"(, "l_day_cp": {"N": "5"}, "l_day_ra": {"N": "0"},
      "l_day_rp": {"N": "60"}, "l_day_rsched": {"S": "1m0h0"})");
  ConfigPtr config = decode(item);
  EXPECT_EQ(config->zone, "UTC");
  EXPECT_EQ(config->find("day")->limit().zone(), "UTC");
  EXPECT_EQ(config->find("day")->limit().refill_period(), 60s) << "kept though it is inert";
  EXPECT_EQ(shown(encode_config("ns", Scope::resource("api"), *config)), shown(item));
}

TEST(ConfigItemTest, SessionLimitsOfOldWritersMoveToTheirPrefix) {
  ConfigPtr config = decode(resource_item(R"(, "l_s_cp": {"N": "7"}, "l_s_ra": {"N": "0"},
      "l_s_rp": {"N": "1"}, "l_s_rsa": {"N": "60"}, "config_version": {"N": "1"})"));
  EXPECT_EQ(config->find("s")->limit(), Limit::session("s", 7, 60s).value());
  EXPECT_EQ(shown(encode_config("ns", Scope::resource("api"), *config)),
            shown(resource_item(R"(, "w_s_cp": {"N": "7"}, "w_s_ra": {"N": "0"},
                "w_s_rp": {"N": "1"}, "w_s_rsa": {"N": "60"}, "config_version": {"N": "1"})")));
}

TEST(ConfigItemTest, TheAccessPolicyIsKeptAsStored) {
  const std::pair<const char*, std::optional<AccessPolicy>> kCases[] = {
      {"", std::nullopt},
      {R"(, "disabled": {"BOOL": true})", AccessPolicy::kDisabled},
      {R"(, "disabled": {"BOOL": false})", AccessPolicy::kEnforce},
      {R"(, "disabled": {"S": "bypass"})", AccessPolicy::kBypass},
      {R"(, "disabled": {"S": "enforce"})", AccessPolicy::kEnforce},
      {R"(, "disabled": {"N": "0"})", AccessPolicy::kEnforce},
      {R"(, "disabled": {"NULL": true})", AccessPolicy::kEnforce},
  };
  for (const auto& [attributes, access] : kCases) {
    store::ImagePtr item = resource_item(attributes);
    ConfigPtr config = decode(item);
    EXPECT_EQ(config->access, access) << attributes;
    EXPECT_TRUE(config->limits.empty());
    EXPECT_EQ(shown(encode_config("ns", Scope::resource("api"), *config)), shown(item));
  }
}

TEST(ConfigItemTest, SystemSettings) {
  store::ImagePtr item = item_of(R"({"PK": {"S": "ns/SYSTEM#"}, "SK": {"S": "#CONFIG"},
      "GSI4PK": {"S": "ns"}, "GSI4SK": {"S": "ns/SYSTEM#"}, "on_unavailable": {"S": "allow"},
      "audit_retention_days": {"N": "30"}, "config_version": {"N": "1"}})");
  ConfigPtr config = decode(item);
  EXPECT_EQ(config->on_unavailable, OnUnavailable::kAllow);
  EXPECT_EQ(config->audit_retention_days, 30);
  EXPECT_EQ(shown(encode_config("ns", Scope::system(), *config)), shown(item));

  ConfigRecord block;
  block.on_unavailable = OnUnavailable::kBlock;
  EXPECT_EQ(decode(encode_config("ns", Scope::system(), block))->on_unavailable,
            OnUnavailable::kBlock);
}

TEST(ConfigItemTest, EntityItemsOfTheLibraryAreListed) {
  store::ImagePtr item = item_of(R"({"PK": {"S": "ns/ENTITY#user-2"},
      "SK": {"S": "#CONFIG#_default_"}, "GSI3PK": {"S": "ns/ENTITY_CONFIG#_default_"},
      "GSI3SK": {"S": "user-2"}, "GSI4PK": {"S": "ns"}, "GSI4SK": {"S": "ns/ENTITY#user-2"},
      "entity_id": {"S": "user-2"}, "resource": {"S": "_default_"}, "cascade": {"BOOL": false},
      "config_version": {"N": "1"}})");
  ConfigPtr config = decode(item);
  EXPECT_TRUE(config->listed);
  EXPECT_EQ(config->cascade, false);
  EXPECT_EQ(shown(encode_config("ns", Scope::entity("user-2"), *config)), shown(item));
}

TEST(ConfigItemTest, EntityItemsOfTheProvisionerAreNot) {
  store::ImagePtr item = item_of(R"({"PK": {"S": "ns/ENTITY#user-2"}, "SK": {"S": "#CONFIG#api"},
      "GSI4PK": {"S": "ns"}, "GSI4SK": {"S": "ns/ENTITY#user-2"}, "entity_id": {"S": "user-2"},
      "resource": {"S": "api"}, "w_s_cp": {"N": "7"}, "w_s_ra": {"N": "0"}, "w_s_rp": {"N": "60"},
      "w_s_rsa": {"N": "60"}})");
  ConfigPtr config = decode(item);
  EXPECT_FALSE(config->listed);
  EXPECT_FALSE(config->config_version);
  EXPECT_EQ(shown(encode_config("ns", Scope::entity_resource("user-2", "api"), *config)),
            shown(item));
}

TEST(ConfigItemTest, UnknownAttributesAreIgnored) {
  ConfigPtr config = decode(resource_item(kRpm + R"(, "inherit_limits": {"BOOL": true},
      "p_rpm_sched": {"S": "?"}, "l_other_ra": {"N": "1"}, "lrpm_cp": {"N": "1"},
      "l_cp": {"N": "1"})"));
  ASSERT_EQ(config->limits.size(), 1u);
  EXPECT_EQ(config->limits[0]->limit().name(), "rpm");
}

TEST(ConfigItemTest, CorruptItemsSayWhy) {
  EXPECT_EQ(reason_of(kSession + R"(, "l_session_cp": {"N": "1"})"),
            "limit \"session\" stands under both prefixes, l_ and w_");
  EXPECT_EQ(reason_of(kRpm + R"(, "w_rpm_rsa": {"N": "1"})"),
            "limit \"rpm\" stands under both prefixes, l_ and w_");
  EXPECT_EQ(reason_of(R"(, "w_s_cp": {"N": "1"}, "w_s_ra": {"N": "0"}, "w_s_rp": {"N": "1"})"),
            "w_s_rsa is missing");
  EXPECT_EQ(reason_of(R"(, "w_s_rsa": {"N": "60"})"), "w_s_cp is missing");
  EXPECT_EQ(reason_of(R"(, "l_a_cp": {"N": "1"}, "l_a_rp": {"N": "1"})"), "l_a_ra is missing");
  EXPECT_EQ(reason_of(R"(, "l_a_cp": {"N": "1.5"}, "l_a_ra": {"N": "1"}, "l_a_rp": {"N": "1"})"),
            "l_a_cp is not a whole number of 64 bits");
  EXPECT_EQ(reason_of(R"(, "l_a_cp": {"N": "0"}, "l_a_ra": {"N": "1"}, "l_a_rp": {"N": "1"})"),
            "limit \"a\": limit.capacity \"0\" must be greater than 0");
  EXPECT_EQ(reason_of(R"(, "l_a_cp": {"N": "1"}, "l_a_ra": {"N": "0"}, "l_a_rp": {"N": "1"})"),
            "limit \"a\": limit.refill_amount \"0\" must be greater than 0");
  EXPECT_EQ(reason_of(R"(, "l_wcu_cp": {"N": "1"}, "l_wcu_ra": {"N": "1"},
                         "l_wcu_rp": {"N": "1"})"),
            "limit \"wcu\": limit.name \"wcu\" reserved for the write capacity of a partition");
  EXPECT_EQ(reason_of(kRpm + R"(, "l_rpm_sched": {"S": "2h1s500"})").substr(0, 31),
            "limit \"rpm\": schedule \"2h1s500\"");
  EXPECT_EQ(reason_of(kRpm + R"(, "l_rpm_rsched": {"S": "1"})").substr(0, 25),
            "limit \"rpm\": schedule \"1\"");
  EXPECT_EQ(reason_of(kRpm + R"(, "l_rpm_rsched": {"S": "1m0h0"})"),
            "limit \"rpm\": is a quota and has a refill amount");
  EXPECT_EQ(reason_of(kSession + R"(, "w_session_rsched": {"S": "1m0h0"})"),
            "limit \"session\": is both a session and a calendar quota");
  EXPECT_EQ(reason_of(R"(, "w_s_cp": {"N": "1"}, "w_s_ra": {"N": "0"}, "w_s_rp": {"N": "0"},
                         "w_s_rsa": {"N": "60"})"),
            "limit \"s\": has a refill period of 0 seconds");
  EXPECT_EQ(reason_of(kSession + R"(, "w_session_sched": {"S": "1h1a5"})").substr(0, 34),
            "limit \"session\": limit.schedule \"*");
  EXPECT_EQ(reason_of(R"(, "on_unavailable": {"S": "maybe"})"),
            "on_unavailable is neither \"allow\" nor \"block\"");
  EXPECT_EQ(reason_of(R"(, "cascade": {"S": "true"})"), "cascade is not a boolean");
  EXPECT_EQ(reason_of(R"(, "sched_tz": {"N": "1"})"), "sched_tz is not a string");
}

TEST(ConfigItemTest, AnUnknownZoneIsCorruptOnlyWhereAScheduleUsesIt) {
  const std::string zone = R"(, "sched_tz": {"S": "Mars/Olympus"})";
  EXPECT_EQ(decode(resource_item(kRpm + zone))->zone, "");
  std::string reason = reason_of(kRpm + zone + R"(, "l_rpm_sched": {"S": "1h1s500"})");
  EXPECT_TRUE(reason.starts_with("limit \"rpm\": zone \"Mars/Olympus\" ")) << reason;
}

TEST(ConfigItemTest, HoldsAtMostTwelveLimits) {
  auto attributes = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) {
      std::string stem = ", \"l_x" + std::to_string(i) + "_";
      for (const char* field : {"cp", "ra", "rp"}) text += stem + field + "\": {\"N\": \"1\"}";
    }
    return text;
  };
  EXPECT_EQ(decode(resource_item(attributes(12)))->limits.size(), 12u);
  EXPECT_EQ(reason_of(attributes(13)), "holds 13 limits; at most 12 can apply together");
}

TEST(CompileLimitsTest, SortsByNameAndKnowsTheZone) {
  ConfigPtr config =
      compile_limits({Limit::per_minute("rpm", 60).value(),
                      Limit::calendar("day", 5, "0 0 * * *", "Europe/Berlin").value()},
                     ResetRule::kCompatible)
          .value();
  ASSERT_EQ(config->limits.size(), 2u);
  EXPECT_EQ(config->limits[0]->limit().name(), "day");
  EXPECT_EQ(config->limits[1]->limit().name(), "rpm");
  EXPECT_EQ(config->zone, "Europe/Berlin");
  EXPECT_FALSE(config->zone_implied);
  EXPECT_EQ(config->config_version, 1);
  EXPECT_TRUE(compile_limits({}, ResetRule::kLocalDay).value()->limits.empty());
}

TEST(CompileLimitsTest, RefusesWhatCannotApplyTogether) {
  Limit rpm = Limit::per_minute("rpm", 60).value();
  Result<ConfigPtr> twice = compile_limits({rpm, rpm}, ResetRule::kLocalDay);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code(), ErrorCode::kInvalidArgument);

  Result<ConfigPtr> zones =
      compile_limits({Limit::calendar("a", 5, "0 0 * * *", "Europe/Berlin").value(),
                      Limit::calendar("b", 5, "0 0 * * *", "America/New_York").value()},
                     ResetRule::kLocalDay);
  ASSERT_FALSE(zones);
  EXPECT_EQ(zones.error().field(), "zone");
}

// Limits of all kinds with distinct names and one zone.
std::vector<Limit> any_limits() {
  static const std::vector<std::string> kNames = {"rpm", "tpm",   "day", "a_cp",  "a",
                                                  "w_a", "l_rsa", "x.y", "x-y_z", "soft"};
  static const std::vector<std::string> kCrons = {"0 0 * * *", "0 0 1 * *", "*/15 9-17 * * 1-5",
                                                  "0 0,12 * * *", "30 2 29 2 *"};
  const std::string zone = *rc::gen::element<std::string>("UTC", "Europe/Berlin", "Asia/Kolkata");
  auto tokens = [] { return Tokens(*rc::gen::inRange<std::int64_t>(1, kMaxConfiguredTokens + 1)); };
  auto seconds = [] {
    return std::chrono::seconds(*rc::gen::inRange<std::int64_t>(1, 1'000'000'001));
  };
  auto cron = [&] { return Cron::parse(*rc::gen::elementOf(kCrons)).value(); };
  std::vector<Limit> limits;
  for (const std::string& name : kNames) {
    if (*rc::gen::inRange(0, 3) == 0) continue;
    Result<Limit> limit = Limit::rate(name, tokens(), tokens(), seconds());
    switch (*rc::gen::inRange(0, 3)) {
      case 0: limit = Limit::session(name, tokens(), seconds()); break;
      case 1: limit = Limit::calendar(name, tokens(), {cron(), cron()}, zone); break;
      default: break;
    }
    if (limit->is_quota() && *rc::gen::arbitrary<bool>()) {
      limit = limit->with_stored_period(seconds());
    }
    if (*rc::gen::arbitrary<bool>()) {
      std::vector<LevelEntry> entries = {
          LevelEntry::scaled_per_mille(cron(), *rc::gen::inRange<std::int64_t>(1, 2000)).value()};
      LevelEntry::Absolute parameters;
      parameters.capacity = tokens();
      if (!limit->is_quota()) parameters.refill_period = seconds();
      entries.push_back(LevelEntry::absolute(cron(), parameters).value());
      limit = limit->with_schedule(entries, zone);
    }
    limits.push_back(limit->as_soft(*rc::gen::arbitrary<bool>()));
  }
  return limits;
}

RC_GTEST_PROP(ConfigItemProperty, ARecordSurvivesItsItem, ()) {
  ConfigRecord config = *compile_limits(any_limits(), ResetRule::kLocalDay).value();
  auto any_flag = [] { return *rc::gen::arbitrary<bool>(); };
  if (any_flag()) {
    config.access =
        *rc::gen::element(AccessPolicy::kEnforce, AccessPolicy::kDisabled, AccessPolicy::kBypass);
  }
  if (any_flag()) config.cascade = any_flag();
  if (any_flag()) {
    config.on_unavailable = any_flag() ? OnUnavailable::kAllow : OnUnavailable::kBlock;
  }
  if (any_flag()) config.audit_retention_days = *rc::gen::arbitrary<std::int64_t>();
  if (any_flag()) config.config_version = std::nullopt;
  const Scope scope =
      *rc::gen::element(Scope::system(), Scope::resource("api"), Scope::entity("user-1"),
                        Scope::entity_resource("user-1", "api"));
  config.listed = !scope.is_entity_level() || any_flag();

  store::ImagePtr item = encode_config("ns", scope, config);
  Result<ConfigPtr> decoded = decode_config(*item, ResetRule::kLocalDay);
  if (!decoded) RC_FAIL(decoded.error().message());
  RC_ASSERT((*decoded)->limits.size() == config.limits.size());
  for (std::size_t i = 0; i < config.limits.size(); ++i) {
    RC_ASSERT((*decoded)->limits[i]->limit() == config.limits[i]->limit());
    RC_ASSERT((*decoded)->limits[i]->levels_text() == config.limits[i]->levels_text());
    RC_ASSERT((*decoded)->limits[i]->resets_text() == config.limits[i]->resets_text());
  }
  RC_ASSERT((*decoded)->access == config.access);
  RC_ASSERT((*decoded)->cascade == config.cascade);
  RC_ASSERT((*decoded)->on_unavailable == config.on_unavailable);
  RC_ASSERT((*decoded)->audit_retention_days == config.audit_retention_days);
  RC_ASSERT((*decoded)->config_version == config.config_version);
  RC_ASSERT((*decoded)->listed == config.listed);
  RC_ASSERT((*decoded)->zone == config.zone);
  RC_ASSERT(*encode_config("ns", scope, **decoded) == *item);
}

}  // namespace
}  // namespace stint::schema
