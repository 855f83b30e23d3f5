#include "stint/limit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace stint {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kMost = 1'000'000'000'000'000;

template <typename T>
void expect_refused(const Result<T>& result, const std::string& field, const std::string& value) {
  ASSERT_FALSE(result.ok()) << field << ' ' << value;
  EXPECT_EQ(result.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(result.error().field(), field);
  EXPECT_EQ(result.error().value(), value);
  EXPECT_FALSE(result.error().reason().empty());
}

LevelEntry scaled(const char* cron, double scale) {
  return LevelEntry::scaled(cron, scale).value();
}

TEST(Limit, RateKeepsItsParameters) {
  Limit limit = Limit::rate("rpm", 100, 20, 7s).value();
  EXPECT_EQ(limit.name(), "rpm");
  EXPECT_EQ(limit.kind(), LimitKind::kRate);
  EXPECT_FALSE(limit.is_quota());
  EXPECT_EQ(limit.capacity(), Tokens(100));
  EXPECT_EQ(limit.refill_amount(), Tokens(20));
  EXPECT_EQ(limit.refill_period(), 7s);
  EXPECT_EQ(limit.reset_after(), 0s);
  EXPECT_EQ(limit.zone(), "UTC");
  EXPECT_FALSE(limit.soft());
  // A refill may exceed the capacity.
  EXPECT_TRUE(Limit::rate("rpm", 1, kMost, 1s).ok());
}

TEST(Limit, PeriodsByName) {
  EXPECT_EQ(Limit::per_second("r", 3).value(), Limit::rate("r", 3, 3, 1s).value());
  EXPECT_EQ(Limit::per_minute("r", 3).value(), Limit::rate("r", 3, 3, 60s).value());
  EXPECT_EQ(Limit::per_hour("r", 3).value(), Limit::rate("r", 3, 3, 3600s).value());
  EXPECT_EQ(Limit::per_day("r", 3).value(), Limit::rate("r", 3, 3, 86400s).value());
  EXPECT_EQ(Limit::per_minute("r", 3, 10).value(), Limit::rate("r", 10, 3, 60s).value());
  EXPECT_EQ(Limit::per_minute("r", 3, 1).value(), Limit::rate("r", 1, 3, 60s).value());
}

TEST(Limit, CalendarKeepsItsParameters) {
  Limit limit = Limit::calendar("month", 10'000, "0 0 1 * *", "Asia/Tokyo").value();
  EXPECT_EQ(limit.kind(), LimitKind::kCalendar);
  EXPECT_TRUE(limit.is_quota());
  EXPECT_EQ(limit.refill_amount(), Tokens(0));
  EXPECT_EQ(limit.zone(), "Asia/Tokyo");
  ASSERT_EQ(limit.resets().size(), 1u);
  EXPECT_EQ(limit.resets()[0].text(), "0 0 1 * *");
  EXPECT_EQ(limit.with_stored_period(60s).refill_period(), 60s);
  EXPECT_TRUE(limit.as_soft().soft());
  EXPECT_FALSE(limit.as_soft().as_soft(false).soft());
  EXPECT_EQ(Limit::calendar("day", 1, "0 0 * * *").value().zone(), "UTC");
}

TEST(Limit, P14_SessionLengthsAreExact) {
  for (std::chrono::seconds length :
       {std::chrono::seconds(24h), std::chrono::seconds(30h), std::chrono::seconds(48h),
        std::chrono::seconds(72h), std::chrono::seconds(3000min), 31'536'000s, 1s}) {
    Limit limit = Limit::session("session", 10'000, length).value();
    EXPECT_EQ(limit.kind(), LimitKind::kSession);
    EXPECT_EQ(limit.reset_after(), length);
    EXPECT_EQ(limit.refill_amount(), Tokens(0));
  }
}

TEST(Limit, P112_LongPeriodsAreAccepted) {
  EXPECT_TRUE(Limit::session("five-hours", 1, 5h).ok());
  EXPECT_TRUE(Limit::session("week", 1, 168h).ok());
  EXPECT_TRUE(Limit::calendar("month", 1, "0 0 1 * *").ok());
  EXPECT_TRUE(Limit::calendar("year", 1, "0 0 1 1 *").ok());
  EXPECT_TRUE(Limit::rate("slow", 1, 1, 1'000'000'000s).ok());
}

TEST(Limit, RefusesBadNames) {
  for (const char* name : {"", "wcu", "1m", "a b", "a#b"}) {
    expect_refused(Limit::rate(name, 1, 1, 1s), "limit.name", name);
    expect_refused(Limit::session(name, 1, 1s), "limit.name", name);
    expect_refused(Limit::calendar(name, 1, "0 0 * * *"), "limit.name", name);
  }
}

TEST(Limit, BoundsOfAmounts) {
  for (std::int64_t bad :
       {std::int64_t{0}, std::int64_t{-1}, kMost + 1, std::numeric_limits<std::int64_t>::max(),
        std::numeric_limits<std::int64_t>::min()}) {
    const std::string shown = std::to_string(bad);
    expect_refused(Limit::rate("r", bad, 1, 1s), "limit.capacity", shown);
    expect_refused(Limit::rate("r", 1, bad, 1s), "limit.refill_amount", shown);
    expect_refused(Limit::session("s", bad, 1s), "limit.capacity", shown);
    expect_refused(Limit::calendar("c", bad, "0 0 * * *"), "limit.capacity", shown);
    expect_refused(Limit::per_minute("r", 1, bad), "limit.capacity", shown);
  }
  EXPECT_TRUE(Limit::rate("r", kMost, kMost, 1s).ok());
  EXPECT_TRUE(Limit::session("s", kMost, 1s).ok());
  EXPECT_TRUE(Limit::calendar("c", kMost, "0 0 * * *").ok());
}

TEST(Limit, BoundsOfPeriods) {
  for (std::chrono::seconds bad :
       {0s, -1s, 1'000'000'001s, std::chrono::seconds::max(), std::chrono::seconds::min()}) {
    const std::string shown = std::to_string(bad.count());
    expect_refused(Limit::rate("r", 1, 1, bad), "limit.refill_period", shown);
    expect_refused(Limit::session("s", 1, bad), "limit.reset_after", shown);
  }
  EXPECT_TRUE(Limit::session("s", 1, 1'000'000'000s).ok());
}

TEST(Limit, P65_LimitsOfNothingAreRefused) {
  EXPECT_FALSE(Limit::per_minute("r", 0).ok());
  EXPECT_FALSE(Limit::per_minute("r", -1).ok());
  EXPECT_FALSE(Limit::rate("r", 1, 1, 0s).ok());
}

TEST(Limit, P23_UnknownZonesAreRefused) {
  expect_refused(Limit::calendar("c", 1, "0 0 * * *", "Mars/Base"), "zone", "Mars/Base");
  expect_refused(Limit::calendar("c", 1, "0 0 * * *", ""), "zone", "");
  expect_refused(
      Limit::per_minute("r", 1).value().with_schedule({scaled("* 0 * * *", 2)}, "europe/berlin"),
      "zone", "europe/berlin");
}

TEST(Limit, BadExpressionsAreRefused) {
  expect_refused(Limit::calendar("c", 1, "0 0 * *"), "cron", "0 0 * *");
  expect_refused(Limit::calendar("c", 1, std::vector<Cron>{}, "UTC"), "cron", "");
}

TEST(Limit, R95_AResetWithoutAnEdgeIsRefused) {
  for (const char* cron : {"* * * * *", "*/1 * * * *", "0-59 0-23 * * *", "* * 1-31 1-12 0-7",
                           "* * 1-31 * 1", "* * 5 * 0-6", "* * * */1 *"}) {
    const std::string text = Cron::parse(cron).value().text();
    expect_refused(Limit::calendar("c", 1, cron), "cron", text);
    // Beside one that has edges, too: it would be stored as an entry that nobody can read.
    expect_refused(
        Limit::calendar(
            "c", 1, std::vector<Cron>{Cron::parse("0 0 * * *").value(), Cron::parse(cron).value()},
            "UTC"),
        "cron", text);
  }
  for (const char* cron : {"* * * * 0", "* 0-22 * * *", "1-59 * * * *", "* * 1-30 * *",
                           "* * * 1-11 *", "0 0 29 2 *", "* * */2 * *"}) {
    EXPECT_TRUE(Limit::calendar("c", 1, cron).ok()) << cron;
  }
}

TEST(LevelEntry, ScaleIsRoundedToThousandthsHalfToEven) {
  EXPECT_EQ(scaled("* * * * *", 0.5).per_mille(), 500);
  EXPECT_EQ(scaled("* * * * *", 1).per_mille(), 1000);
  EXPECT_EQ(scaled("* * * * *", 0.0005).per_mille(), 1);  // never 0
  EXPECT_EQ(scaled("* * * * *", 1e-300).per_mille(), 1);
  EXPECT_EQ(scaled("* * * * *", 0.0625).per_mille(), 62);   // 62.5
  EXPECT_EQ(scaled("* * * * *", 0.1875).per_mille(), 188);  // 187.5
  EXPECT_EQ(scaled("* * * * *", 0.3333).per_mille(), 333);
  EXPECT_EQ(scaled("* * * * *", 0.6667).per_mille(), 667);
  EXPECT_EQ(scaled("* * * * *", 1e6).per_mille(), 1'000'000'000);
}

TEST(LevelEntry, R44_ScalesOutOfBoundsAreRefused) {
  expect_refused(LevelEntry::scaled("* * * * *", 0), "scale", "0");
  expect_refused(LevelEntry::scaled("* * * * *", -0.5), "scale", "-0.5");
  expect_refused(LevelEntry::scaled("* * * * *", 1000000.5), "scale", "1000000.5");
  expect_refused(LevelEntry::scaled("* * * * *", std::nan("")), "scale", "nan");
  expect_refused(LevelEntry::scaled("* * * * *", std::numeric_limits<double>::infinity()), "scale",
                 "inf");
  expect_refused(LevelEntry::scaled("* * * * *", -std::numeric_limits<double>::infinity()), "scale",
                 "-inf");
  expect_refused(LevelEntry::scaled("* * * *", 1), "cron", "* * * *");
  Cron always = Cron::parse("* * * * *").value();
  expect_refused(LevelEntry::scaled_per_mille(always, 0), "scale", "0");
  expect_refused(LevelEntry::scaled_per_mille(always, 1'000'000'001), "scale", "1000000001");
  EXPECT_TRUE(LevelEntry::scaled_per_mille(always, 1'000'000'000).ok());
}

TEST(LevelEntry, AbsoluteParametersHaveTheBoundsOfLimits) {
  using Absolute = LevelEntry::Absolute;
  const char* night = "* 0-6 * * *";
  LevelEntry entry =
      LevelEntry::absolute(night,
                           Absolute{.capacity = 2000, .refill_amount = 1000, .refill_period = 60s})
          .value();
  EXPECT_EQ(entry.per_mille(), std::nullopt);
  EXPECT_EQ(entry.parameters().capacity, Tokens(2000));
  EXPECT_EQ(entry.parameters().refill_amount, Tokens(1000));
  EXPECT_EQ(entry.parameters().refill_period, 60s);
  expect_refused(LevelEntry::absolute(night, Absolute{}), "limit.schedule", night);
  expect_refused(LevelEntry::absolute("x", Absolute{.capacity = 1}), "cron", "x");
  for (std::int64_t bad : {std::int64_t{0}, std::int64_t{-1}, kMost + 1}) {
    const std::string shown = std::to_string(bad);
    expect_refused(LevelEntry::absolute(night, Absolute{.capacity = bad}), "limit.capacity", shown);
    expect_refused(LevelEntry::absolute(night, Absolute{.refill_amount = bad}),
                   "limit.refill_amount", shown);
  }
  expect_refused(LevelEntry::absolute(night, Absolute{.refill_period = 0s}), "limit.refill_period",
                 "0");
  expect_refused(LevelEntry::absolute(night, Absolute{.refill_period = 1'000'000'001s}),
                 "limit.refill_period", "1000000001");
}

TEST(Limit, WithSchedule) {
  Limit rate = Limit::per_minute("rpm", 60).value();
  Limit scheduled =
      rate.with_schedule({scaled("* 9-17 * * MON-FRI", 0.5)}, "America/New_York").value();
  EXPECT_EQ(scheduled.zone(), "America/New_York");
  ASSERT_EQ(scheduled.schedule().size(), 1u);
  EXPECT_TRUE(rate.schedule().empty());
  EXPECT_NE(scheduled, rate);
  expect_refused(rate.with_schedule({}), "limit.schedule", "");
}

TEST(Limit, EffectiveAmountsBeyondTheBoundAreRefused) {
  Limit largest = Limit::rate("r", kMost, 1, 1s).value();
  EXPECT_TRUE(largest.with_schedule({scaled("* 0 * * *", 9)}).ok());
  expect_refused(largest.with_schedule({scaled("* 0 * * *", 9.001)}), "limit.schedule",
                 "* 0 * * *");
  Limit refill = Limit::rate("r", 1, kMost, 1s).value();
  expect_refused(refill.with_schedule({scaled("* 1 * * *", 1), scaled("* 0 * * *", 9.001)}),
                 "limit.schedule", "* 0 * * *");
  EXPECT_TRUE(Limit::rate("r", 9'000'000'000, 1, 1s)
                  .value()
                  .with_schedule({scaled("* 0 * * *", 1e6)})
                  .ok());
  expect_refused(
      Limit::rate("r", 9'000'000'001, 1, 1s).value().with_schedule({scaled("* 0 * * *", 1e6)}),
      "limit.schedule", "* 0 * * *");
}

TEST(Limit, AQuotasScheduleHasNoRefill) {
  using Absolute = LevelEntry::Absolute;
  auto night = [](Absolute parameters) {
    return std::vector<LevelEntry>{LevelEntry::absolute("* 0-6 * * *", parameters).value()};
  };
  for (const Limit& quota :
       {Limit::calendar("c", 10, "0 0 * * *").value(), Limit::session("s", 10, 5h).value()}) {
    expect_refused(quota.with_schedule(night({.refill_amount = 1})), "limit.schedule",
                   "* 0-6 * * *");
    expect_refused(quota.with_schedule(night({.capacity = 1, .refill_period = 1s})),
                   "limit.schedule", "* 0-6 * * *");
    EXPECT_TRUE(quota.with_schedule(night({.capacity = 1})).ok());
    EXPECT_TRUE(quota.with_schedule({scaled("* 0 * * *", 0.5)}).ok());
  }
}

TEST(Limit, ALimitHasOneZone) {
  Limit quota = Limit::calendar("c", 10, "0 0 * * *", "Europe/Berlin").value();
  expect_refused(quota.with_schedule({scaled("* 0 * * *", 0.5)}), "zone", "UTC");
  EXPECT_TRUE(quota.with_schedule({scaled("* 0 * * *", 0.5)}, "Europe/Berlin").ok());
}

TEST(LimitList, CarriesTheFirstError) {
  LimitList list{Limit::per_minute("rpm", 60), Limit::per_minute("wcu", 1),
                 Limit::per_minute("tpm", 0)};
  ASSERT_TRUE(list.error().has_value());
  EXPECT_EQ(list.error()->field(), "limit.name");
  EXPECT_EQ(list.error()->value(), "wcu");
  EXPECT_TRUE(list.limits().empty());
}

TEST(LimitList, KeepsItsLimitsInOrder) {
  LimitList list{Limit::per_minute("rpm", 60), Limit::session("session", 10'000, 5h)};
  EXPECT_FALSE(list.error().has_value());
  ASSERT_EQ(list.limits().size(), 2u);
  EXPECT_EQ(list.limits()[0].name(), "rpm");
  EXPECT_EQ(list.limits()[1].name(), "session");
  EXPECT_FALSE(LimitList{}.error().has_value());
}

TEST(LimitList, RefusesOneNameTwice) {
  LimitList list{Limit::per_minute("rpm", 60), Limit::per_minute("RPM", 60),
                 Limit::per_hour("rpm", 60)};
  ASSERT_TRUE(list.error().has_value());
  EXPECT_EQ(list.error()->field(), "limit.name");
  EXPECT_EQ(list.error()->value(), "rpm");
}

TEST(LimitList, HoldsAtMostTwelve) {
  std::vector<Limit> limits;
  for (int i = 0; i < 12; ++i) {
    limits.push_back(Limit::per_minute("r" + std::to_string(i), 1).value());
  }
  EXPECT_FALSE(LimitList(limits).error().has_value());
  limits.push_back(Limit::per_minute("one-more", 1).value());
  LimitList list(limits);
  ASSERT_TRUE(list.error().has_value());
  EXPECT_EQ(list.error()->field(), "limits");
  EXPECT_EQ(list.error()->value(), "13");
}

TEST(LimitList, HasOneZone) {
  Result<Limit> berlin = Limit::calendar("day", 1, "0 0 * * *", "Europe/Berlin");
  Result<Limit> utc = Limit::calendar("month", 1, "0 0 1 * *");
  LimitList list{berlin, Limit::per_minute("rpm", 1), utc};
  ASSERT_TRUE(list.error().has_value());
  EXPECT_EQ(list.error()->field(), "zone");
  EXPECT_EQ(list.error()->value(), "UTC");
  EXPECT_NE(list.error()->reason().find("Europe/Berlin"), std::string::npos);
  // What has neither schedule nor resets has no zone.
  LimitList mixed{berlin, Limit::per_minute("rpm", 1), Limit::session("s", 1, 5h),
                  Limit::per_minute("night", 1)
                      .value()
                      .with_schedule({scaled("* 0 * * *", 2)}, "Europe/Berlin")};
  EXPECT_FALSE(mixed.error().has_value());
  LimitList scheduled{
      berlin, Limit::per_minute("night", 1).value().with_schedule({scaled("* 0 * * *", 2)})};
  ASSERT_TRUE(scheduled.error().has_value());
  EXPECT_EQ(scheduled.error()->field(), "zone");
}

TEST(Names, OfKindsAndLevels) {
  EXPECT_EQ(to_string(LimitKind::kRate), "rate");
  EXPECT_EQ(to_string(LimitKind::kCalendar), "calendar");
  EXPECT_EQ(to_string(LimitKind::kSession), "session");
  EXPECT_EQ(to_string(ConfigLevel::kCall), "call");
  EXPECT_EQ(to_string(ConfigLevel::kEntityResource), "entity_resource");
  EXPECT_EQ(to_string(ConfigLevel::kEntity), "entity");
  EXPECT_EQ(to_string(ConfigLevel::kResource), "resource");
  EXPECT_EQ(to_string(ConfigLevel::kSystem), "system");
  EXPECT_EQ(to_string(ConfigLevel::kNone), "none");
}

}  // namespace
}  // namespace stint
