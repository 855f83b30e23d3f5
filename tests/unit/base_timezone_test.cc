#include "base/timezone.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tests/support/instant.h"

namespace stint {
namespace {

using test::instant;
using test::show;

int offset_minutes(const TimeZone& zone, const std::string& at) {
  return static_cast<int>(zone.period_at(instant(at)).offset.count() / 60);
}

TimeZone zone(std::string_view name) { return TimeZone::find(name).value(); }

TEST(TimeZone, UnknownNamesAreInvalidArguments) {
  for (const char* name : {"Mars/Base", "", "america/new_york", "utc", "America", "America/",
                           "../zoneinfo/UTC", "/usr/share/zoneinfo/UTC", "zone.tab", "tzdata.zi",
                           "right/UTC", "localtime", "America/New_York "}) {
    Result<TimeZone> found = TimeZone::find(name);
    ASSERT_FALSE(found.ok()) << name;
    EXPECT_EQ(found.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(found.error().field(), "zone");
    EXPECT_EQ(found.error().value(), name);
    EXPECT_FALSE(found.error().reason().empty());
  }
}

TEST(TimeZone, UtcIsOnePeriodOfAllTime) {
  TimeZone::Period period = zone("UTC").period_at(instant("2026-09-15T12:00Z"));
  EXPECT_EQ(period.offset, std::chrono::seconds(0));
  EXPECT_EQ(period.begin, TimePoint(TimePoint::min().time_since_epoch() / 2));
  EXPECT_EQ(period.end, TimePoint(TimePoint::max().time_since_epoch() / 2));
}

TEST(TimeZone, EqualNamesGiveEqualHandles) {
  EXPECT_EQ(zone("Europe/Berlin"), zone("Europe/Berlin"));
  EXPECT_FALSE(zone("Europe/Berlin") == zone("Europe/Paris"));
  EXPECT_EQ(zone("Europe/Berlin").name(), "Europe/Berlin");
}

TEST(TimeZone, ThreadsThatLoadOneZoneGetOneHandle) {
  std::vector<std::optional<TimeZone>> found(8);
  std::vector<std::thread> threads;
  for (auto& slot : found) {
    threads.emplace_back([&slot] { slot = TimeZone::find("America/Argentina/Ushuaia").value(); });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& slot : found) {
    ASSERT_TRUE(slot.has_value());
    EXPECT_EQ(*slot, *found[0]);
  }
}

TEST(TimeZone, PeriodsBeginAndEndAtTransitions) {
  TimeZone::Period summer = zone("America/New_York").period_at(instant("2026-07-01T00:00Z"));
  EXPECT_EQ(show(summer.begin), "2026-03-08T07:00Z");
  EXPECT_EQ(show(summer.end), "2026-11-01T06:00Z");
  EXPECT_EQ(summer.offset, std::chrono::hours(-4));
  // The first instant belongs to the period, the millisecond before it does not.
  EXPECT_EQ(zone("America/New_York").period_at(summer.begin).begin, summer.begin);
  TimeZone::Period winter = zone("America/New_York").period_at(summer.begin - Millis(1));
  EXPECT_EQ(winter.end, summer.begin);
  EXPECT_EQ(winter.offset, std::chrono::hours(-5));
}

TEST(TimeZone, HalfHourAndDayShifts) {
  EXPECT_EQ(offset_minutes(zone("Asia/Kolkata"), "2026-09-15T00:00Z"), 330);
  EXPECT_EQ(offset_minutes(zone("Australia/Lord_Howe"), "2026-10-03T15:29Z"), 630);
  EXPECT_EQ(offset_minutes(zone("Australia/Lord_Howe"), "2026-10-03T15:30Z"), 660);
  EXPECT_EQ(offset_minutes(zone("Pacific/Apia"), "2011-12-30T09:59Z"), -600);
  EXPECT_EQ(offset_minutes(zone("Pacific/Apia"), "2011-12-30T10:00Z"), 840);
}

// Zone files list changes up to 2037 and give a rule for the time after.
TEST(TimeZone, RulesGoOnAfterTheListedTransitions) {
  struct Case {
    const char* name;
    const char* summer_begin;
    const char* summer_end;
    int winter_minutes;
    int summer_minutes;
  };
  const Case cases[] = {
      {"America/New_York", "2045-03-12T07:00Z", "2045-11-05T06:00Z", -300, -240},
      {"Europe/Berlin", "2045-03-26T01:00Z", "2045-10-29T01:00Z", 60, 120},
      {"Atlantic/Azores", "2045-03-26T01:00Z", "2045-10-29T01:00Z", -60, 0},
      // Before midnight UTC of the day that the rule names: an hour of -1.
      {"America/Nuuk", "2045-03-26T01:00Z", "2045-10-29T01:00Z", -120, -60},
      // Standard time is the greater offset, in summer.
      {"Europe/Dublin", "2045-03-26T01:00Z", "2045-10-29T01:00Z", 0, 60},
      // 26 hours after the start of a Thursday.
      {"Asia/Jerusalem", "2045-03-24T00:00Z", "2045-10-28T23:00Z", 120, 180},
  };
  for (const Case& c : cases) {
    TimeZone z = zone(c.name);
    TimeZone::Period summer = z.period_at(instant("2045-07-01T00:00Z"));
    EXPECT_EQ(show(summer.begin), c.summer_begin) << c.name;
    EXPECT_EQ(show(summer.end), c.summer_end) << c.name;
    EXPECT_EQ(summer.offset, std::chrono::minutes(c.summer_minutes)) << c.name;
    EXPECT_EQ(offset_minutes(z, "2045-01-15T00:00Z"), c.winter_minutes) << c.name;
  }
  // Southern summers span the turn of the year.
  TimeZone::Period summer = zone("Australia/Lord_Howe").period_at(instant("2045-01-01T00:00Z"));
  EXPECT_EQ(show(summer.begin), "2044-10-01T15:30Z");
  EXPECT_EQ(show(summer.end), "2045-04-01T15:00Z");
  EXPECT_EQ(summer.offset, std::chrono::minutes(660));
}

TEST(TimeZone, PeriodsAreGaplessAndNeighboursDiffer) {
  for (const char* name : {"America/New_York", "Asia/Gaza", "Africa/Casablanca", "Pacific/Apia",
                           "Europe/Berlin", "America/Sao_Paulo", "Africa/Monrovia"}) {
    TimeZone z = zone(name);
    const TimePoint first = TimePoint(TimePoint::min().time_since_epoch() / 2);
    const TimePoint last = TimePoint(TimePoint::max().time_since_epoch() / 2);
    TimeZone::Period period = z.period_at(TimePoint::min());
    EXPECT_EQ(period.begin, first);
    while (period.end != last) {
      TimeZone::Period next = z.period_at(period.end);
      ASSERT_EQ(next.begin, period.end) << name;
      ASSERT_LT(next.begin, next.end) << name;
      ASSERT_NE(next.offset, period.offset) << name << ' ' << show(next.begin);
      period = next;
    }
    EXPECT_EQ(z.period_at(TimePoint::max()).begin, period.begin);
  }
}

}  // namespace
}  // namespace stint
