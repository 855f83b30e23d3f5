#include "model/schedule.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "tests/support/cron_oracle.h"
#include "tests/support/instant.h"

namespace stint::model {
namespace {

using test::instant;
using test::show;
using Texts = std::vector<std::string>;
using namespace std::chrono_literals;

constexpr Millis kDay = 24h;

TimeZone find_zone(std::string_view name) { return TimeZone::find(name).value(); }

std::vector<Cron> parse_all(const Texts& texts) {
  std::vector<Cron> parsed;
  for (const std::string& text : texts) parsed.push_back(Cron::parse(text).value());
  return parsed;
}

// Lines of distinct scales, so that a test can tell which one is in force.
std::vector<LevelEntry> lines(const Texts& texts) {
  std::vector<LevelEntry> entries;
  for (const std::string& text : texts) {
    entries.push_back(LevelEntry::scaled(text, 0.5 + static_cast<double>(entries.size())).value());
  }
  return entries;
}

struct Resets : ResetSchedule {
  Resets(const Texts& texts, std::string_view zone_name, ResetRule reset_rule)
      : ResetSchedule(parse_all(texts), find_zone(zone_name), reset_rule) {}
};

struct Levels : LevelSchedule {
  Levels(const Texts& texts, std::string_view zone_name)
      : LevelSchedule(lines(texts), find_zone(zone_name)) {}
};

// All edges in [from, to], walking forward, and backward, and asking without memory.
Texts edges(const std::string& cron, std::string_view zone_name, ResetRule rule,
            const std::string& from, const std::string& to) {
  const Resets schedule({cron}, zone_name, rule);
  Texts forward;
  std::optional<TimePoint> at = schedule.next(instant(from) - Millis(1));
  for (; at && *at <= instant(to); at = schedule.next(*at)) forward.push_back(show(*at));
  Texts backward;
  at = schedule.previous(instant(to));
  for (; at && *at >= instant(from); at = schedule.previous(*at - Millis(1))) {
    backward.insert(backward.begin(), show(*at));
  }
  EXPECT_EQ(forward, backward) << cron << ' ' << zone_name;
  for (const std::string& edge : forward) {
    const Resets fresh({cron}, zone_name, rule);
    EXPECT_EQ(show(fresh.previous(instant(edge))), edge);
    EXPECT_EQ(show(fresh.next(instant(edge) - Millis(1))), edge);
  }
  return forward;
}

Texts real_edges(const std::string& cron, std::string_view zone_name, const std::string& from,
                 const std::string& to) {
  return edges(cron, zone_name, ResetRule::kCompatible, from, to);
}

Texts day_edges(const std::string& cron, std::string_view zone_name, const std::string& from,
                const std::string& to) {
  return edges(cron, zone_name, ResetRule::kLocalDay, from, to);
}

// "+" where the line becomes active, "-" where it ceases, in (from, to].
Texts changes(const std::string& cron, std::string_view zone_name, const std::string& from,
              const std::string& to) {
  const Levels schedule({cron}, zone_name);
  Texts forward;
  TimePoint at = schedule.next_change(instant(from));
  for (; at <= instant(to); at = schedule.next_change(at)) {
    forward.push_back((schedule.active_at(at) == 0 ? "+ " : "- ") + show(at));
    EXPECT_NE(schedule.active_at(at), schedule.active_at(at - Millis(1)));
  }
  Texts backward;
  std::optional<TimePoint> before = schedule.previous_change(instant(to));
  for (; before && *before > instant(from);
       before = schedule.previous_change(*before - Millis(1))) {
    backward.insert(backward.begin(),
                    (schedule.active_at(*before) == 0 ? "+ " : "- ") + show(*before));
  }
  EXPECT_EQ(forward, backward) << cron << ' ' << zone_name;
  return forward;
}

// --- The table of rules 4.6: windows ---

TEST(LevelSchedule, BusinessHoursAcrossSpringForward) {
  EXPECT_EQ(
      changes("* 9-17 * * MON-FRI", "America/New_York", "2027-03-12T05:00Z", "2027-03-16T03:00Z"),
      (Texts{"+ 2027-03-12T14:00Z", "- 2027-03-12T23:00Z", "+ 2027-03-15T13:00Z",
             "- 2027-03-15T22:00Z"}));
}

TEST(LevelSchedule, HalfHourZone) {
  EXPECT_EQ(changes("* 9-17 * * *", "Asia/Kolkata", "2026-09-15T00:00Z", "2026-09-15T23:00Z"),
            (Texts{"+ 2026-09-15T03:30Z", "- 2026-09-15T12:30Z"}));
}

TEST(LevelSchedule, Weekend) {
  EXPECT_EQ(
      changes("* * * * SAT,SUN", "America/New_York", "2026-09-10T00:00Z", "2026-09-17T00:00Z"),
      (Texts{"+ 2026-09-12T04:00Z", "- 2026-09-14T04:00Z"}));
}

TEST(LevelSchedule, R48_SundayOfTwentyThreeHours) {
  EXPECT_EQ(changes("* * * * SUN", "Atlantic/Azores", "2027-03-27T00:00Z", "2027-03-30T00:00Z"),
            (Texts{"+ 2027-03-28T01:00Z", "- 2027-03-29T00:00Z"}));
  EXPECT_EQ(
      show(Levels({"* * * * SUN"}, "Atlantic/Azores").next_change(instant("2027-03-28T00:30Z"))),
      "2027-03-28T01:00Z");
}

TEST(LevelSchedule, HalfHourShift) {
  EXPECT_EQ(changes("* 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00Z", "2026-10-04T20:00Z"),
            (Texts{"+ 2026-10-03T15:30Z", "- 2026-10-03T16:00Z", "+ 2026-10-04T15:00Z",
                   "- 2026-10-04T16:00Z"}));
  EXPECT_EQ(changes("* 1 * * *", "Australia/Lord_Howe", "2027-04-03T12:00Z", "2027-04-04T20:00Z"),
            (Texts{"+ 2027-04-03T14:00Z", "- 2027-04-03T15:30Z", "+ 2027-04-04T14:30Z",
                   "- 2027-04-04T15:30Z"}));
}

TEST(LevelSchedule, SkippedAndRepeatedHours) {
  EXPECT_EQ(changes("* 2 * * *", "America/New_York", "2027-03-13T00:00Z", "2027-03-15T12:00Z"),
            (Texts{"+ 2027-03-13T07:00Z", "- 2027-03-13T08:00Z", "+ 2027-03-15T06:00Z",
                   "- 2027-03-15T07:00Z"}));
  EXPECT_EQ(changes("* 1-3 * * *", "America/New_York", "2027-03-14T00:00Z", "2027-03-14T12:00Z"),
            (Texts{"+ 2027-03-14T06:00Z", "- 2027-03-14T08:00Z"}));
  EXPECT_EQ(changes("* 1 * * *", "America/New_York", "2026-11-01T00:00Z", "2026-11-01T12:00Z"),
            (Texts{"+ 2026-11-01T05:00Z", "- 2026-11-01T07:00Z"}));
}

TEST(LevelSchedule, DayRuleOverSeptember) {
  auto days = [](const std::string& cron) {
    std::vector<int> active;
    const Levels schedule({cron}, "UTC");
    for (int day = 1; day <= 30; ++day) {
      if (schedule.active_at(instant("2026-09-01T12:00Z") + (day - 1) * kDay) == 0) {
        active.push_back(day);
      }
    }
    return active;
  };
  EXPECT_EQ(days("* * 13 * FRI"), (std::vector<int>{4, 11, 13, 18, 25}));
  EXPECT_EQ(days("* * */2 * FRI"), (std::vector<int>{11, 25}));
  EXPECT_EQ(days("* * 13 * */2"), (std::vector<int>{13}));
}

TEST(LevelSchedule, NextChange) {
  const Levels office({"* 9-17 * * MON-FRI"}, "America/New_York");
  EXPECT_EQ(show(office.next_change(instant("2026-09-15T10:00Z"))), "2026-09-15T13:00Z");
  EXPECT_EQ(show(office.next_change(instant("2026-09-15T18:00Z"))), "2026-09-15T22:00Z");
  EXPECT_EQ(show(office.next_change(instant("2026-09-15T13:00Z"))), "2026-09-15T22:00Z");
  EXPECT_EQ(show(office.next_change(instant("2026-09-12T22:30Z"))), "2026-09-14T13:00Z");
  EXPECT_EQ(show(Levels({"*/15 * * * *"}, "UTC").next_change(instant("2026-09-15T06:07Z"))),
            "2026-09-15T06:15Z");
}

TEST(LevelSchedule, CapsWhereNoChangeIsInReach) {
  const TimePoint at = instant("2026-09-20T10:20:30Z") + Millis(456);
  struct Case {
    Texts lines;
    int days;
  };
  const Case cases[] = {
      {{"* * * * *"}, 366},
      {{"* * 29 2 *"}, 366},
      {{"* 0 29 2 *"}, 31},
      {{"0 0 29 2 *"}, 7},
      // The finest of several rules.
      {{"* * 29 2 *", "0 0 29 2 *"}, 7},
      {{"* * 29 2 *", "* 0 29 2 *"}, 31},
  };
  for (const Case& c : cases) {
    const Levels schedule(c.lines, "UTC");
    EXPECT_EQ(level_cap(schedule.entries()), c.days * kDay) << c.lines[0];
    EXPECT_EQ(schedule.next_change(at), at + c.days * kDay) << c.lines[0];
    EXPECT_EQ(schedule.previous_change(at), std::nullopt) << c.lines[0];
    // Asked later, the cap moves on.
    EXPECT_EQ(schedule.next_change(at + 5ms), at + 5ms + c.days * kDay) << c.lines[0];
  }
}

TEST(LevelSchedule, TheFirstLineThatMatchesWins) {
  const Levels schedule({"* 12 * * *", "* 9-17 * * *", "* 10-11 * * *"}, "UTC");
  EXPECT_EQ(schedule.active_at(instant("2026-09-15T08:59:59Z")), -1);
  EXPECT_EQ(schedule.active_at(instant("2026-09-15T09:00Z")), 1);
  EXPECT_EQ(schedule.active_at(instant("2026-09-15T10:00Z")), 1);
  EXPECT_EQ(schedule.active_at(instant("2026-09-15T12:00Z")), 0);
  EXPECT_EQ(schedule.active_at(instant("2026-09-15T13:00Z")), 1);
  EXPECT_EQ(schedule.active_at(instant("2026-09-15T18:00Z")), -1);
  // The third line never is in force, and its times change nothing.
  EXPECT_EQ(show(schedule.next_change(instant("2026-09-15T09:30Z"))), "2026-09-15T12:00Z");
  EXPECT_EQ(show(schedule.next_change(instant("2026-09-15T12:00Z"))), "2026-09-15T13:00Z");
  EXPECT_EQ(show(schedule.previous_change(instant("2026-09-15T11:30Z"))), "2026-09-15T09:00Z");
  EXPECT_EQ(show(schedule.previous_change(instant("2026-09-15T13:30Z"))), "2026-09-15T13:00Z");
  EXPECT_EQ(show(schedule.previous_change(instant("2026-09-15T20:00Z"))), "2026-09-15T18:00Z");
}

// --- The table of rules 4.6: resets ---

TEST(ResetSchedule, CompatibleSkipsALocalTimeInAGap) {
  EXPECT_EQ(real_edges("30 2 * * *", "America/New_York", "2027-03-13T00:00Z", "2027-03-15T12:00Z"),
            (Texts{"2027-03-13T07:30Z", "2027-03-15T06:30Z"}));
  // Cuba's zone is tested in the past: its clock changes of 2027 depend on the zone data's age.
  EXPECT_EQ(real_edges("0 0 * * *", "America/Havana", "2025-03-08T00:00Z", "2025-03-10T12:00Z"),
            (Texts{"2025-03-08T05:00Z", "2025-03-10T04:00Z"}));
}

TEST(ResetSchedule, R53_CompatibleResetsTwiceInAnOverlap) {
  EXPECT_EQ(real_edges("30 1 * * *", "America/New_York", "2026-11-01T00:00Z", "2026-11-01T12:00Z"),
            (Texts{"2026-11-01T05:30Z", "2026-11-01T06:30Z"}));
}

TEST(ResetSchedule, MidnightIsTwentyThreeHoursAway) {
  for (ResetRule rule : {ResetRule::kCompatible, ResetRule::kLocalDay}) {
    EXPECT_EQ(
        edges("0 0 * * *", "America/New_York", rule, "2027-03-14T00:00Z", "2027-03-15T12:00Z"),
        (Texts{"2027-03-14T05:00Z", "2027-03-15T04:00Z"}));
    EXPECT_EQ(edges("0 0 * * *", "Pacific/Apia", rule, "2011-12-29T00:00Z", "2011-12-31T23:00Z"),
              (Texts{"2011-12-29T10:00Z", "2011-12-30T10:00Z", "2011-12-31T10:00Z"}));
  }
}

TEST(ResetSchedule, LocalDayResetsRightAfterAGap) {
  EXPECT_EQ(day_edges("30 2 * * *", "America/New_York", "2027-03-13T00:00Z", "2027-03-15T12:00Z"),
            (Texts{"2027-03-13T07:30Z", "2027-03-14T07:00Z", "2027-03-15T06:30Z"}));
  EXPECT_EQ(day_edges("0 0 * * *", "America/Havana", "2025-03-08T00:00Z", "2025-03-10T12:00Z"),
            (Texts{"2025-03-08T05:00Z", "2025-03-09T05:00Z", "2025-03-10T04:00Z"}));
  EXPECT_EQ(day_edges("0 12 * * *", "Pacific/Apia", "2011-12-29T12:00Z", "2011-12-31T12:00Z"),
            (Texts{"2011-12-29T22:00Z", "2011-12-30T10:00Z", "2011-12-30T22:00Z"}));
  // Several of one gap are one reset.
  EXPECT_EQ(day_edges("0,30 2 * * *", "America/New_York", "2027-03-14T00:00Z", "2027-03-14T12:00Z"),
            (Texts{"2027-03-14T07:00Z"}));
}

TEST(ResetSchedule, LocalDayResetsOnceInAnOverlap) {
  EXPECT_EQ(day_edges("30 1 * * *", "America/New_York", "2026-11-01T00:00Z", "2026-11-01T12:00Z"),
            (Texts{"2026-11-01T05:30Z"}));
}

TEST(ResetSchedule, P28_EveryHourFollowsRealTime) {
  for (ResetRule rule : {ResetRule::kCompatible, ResetRule::kLocalDay}) {
    EXPECT_EQ(
        edges("*/30 * * * *", "America/New_York", rule, "2025-11-02T05:00Z", "2025-11-02T07:00Z"),
        (Texts{"2025-11-02T05:00Z", "2025-11-02T05:30Z", "2025-11-02T06:00Z", "2025-11-02T06:30Z",
               "2025-11-02T07:00Z"}));
  }
  EXPECT_EQ(day_edges("30 1 * * *", "America/New_York", "2025-11-02T00:00Z", "2025-11-03T00:00Z"),
            (Texts{"2025-11-02T05:30Z"}));
}

TEST(ResetSchedule, P29_BerlinSkippedHourOncePerLocalDay) {
  const Resets schedule({"30 2 * * *"}, "Europe/Berlin", ResetRule::kLocalDay);
  TimePoint at = instant("2026-01-15T00:00Z");
  std::int64_t last_day = 0;
  for (int i = 0; i < 800; ++i) {
    const std::optional<TimePoint> next = schedule.next(at);
    ASSERT_TRUE(next.has_value());
    ASSERT_GT(*next, at);
    const std::int64_t local_s =
        to_epoch_s(*next) + schedule.zone().period_at(*next).offset.count();
    const std::int64_t day = local_s / 86'400;
    if (i > 0) {
      ASSERT_EQ(day, last_day + 1) << show(*next);
    }
    last_day = day;
    at = *next;
  }
}

TEST(ResetSchedule, NextFromASeptemberNoon) {
  const TimePoint at = from_epoch_ms(1'789'473'600'000);
  EXPECT_EQ(show(at), "2026-09-15T12:00Z");
  struct Case {
    const char* cron;
    const char* next;
  };
  const Case cases[] = {
      {"0 */6 * * *", "2026-09-15T18:00Z"}, {"0 0 * * *", "2026-09-16T00:00Z"},
      {"0 0 * * 1", "2026-09-21T00:00Z"},   {"0 0 1 * *", "2026-10-01T00:00Z"},
      {"0 0 1 */3 *", "2026-10-01T00:00Z"}, {"0 0 1 1 *", "2027-01-01T00:00Z"},
  };
  for (ResetRule rule : {ResetRule::kCompatible, ResetRule::kLocalDay}) {
    for (const Case& c : cases) {
      EXPECT_EQ(show(Resets({c.cron}, "UTC", rule).next(at)), c.next) << c.cron;
    }
  }
  EXPECT_EQ(to_epoch_ms(*Resets({"0 0 1 * *"}, "UTC", ResetRule::kCompatible).next(at)),
            1'790'812'800'000);
}

TEST(ResetSchedule, Previous) {
  for (ResetRule rule : {ResetRule::kCompatible, ResetRule::kLocalDay}) {
    const Resets new_york({"0 0 * * *"}, "America/New_York", rule);
    EXPECT_EQ(show(new_york.previous(instant("2026-09-15T13:00Z"))), "2026-09-15T04:00Z");
    // An hour that matches throughout has one edge, at its beginning.
    const Resets hour({"* 0 * * *"}, "UTC", rule);
    EXPECT_EQ(show(hour.previous(instant("2026-09-15T00:45Z"))), "2026-09-15T00:00Z");
    EXPECT_EQ(show(hour.previous(instant("2026-09-15T05:00Z"))), "2026-09-15T00:00Z");
    EXPECT_EQ(show(hour.next(instant("2026-09-15T00:45Z"))), "2026-09-16T00:00Z");
    // On the edge it is that edge; a millisecond before it is the one before.
    EXPECT_EQ(show(hour.previous(instant("2026-09-15T00:00Z"))), "2026-09-15T00:00Z");
    EXPECT_EQ(show(hour.previous(instant("2026-09-15T00:00Z") - Millis(1))), "2026-09-14T00:00Z");
    const Resets twice({"0 0 * * *", "0 12 * * *"}, "UTC", rule);
    EXPECT_EQ(show(twice.previous(instant("2026-09-15T15:00Z"))), "2026-09-15T12:00Z");
    EXPECT_EQ(show(twice.next(instant("2026-09-15T11:00Z"))), "2026-09-15T12:00Z");
    EXPECT_EQ(show(twice.next(instant("2026-09-15T15:00Z"))), "2026-09-16T00:00Z");
    const Resets tokyo({"0 0 * * *"}, "Asia/Tokyo", rule);
    const TimePoint afternoon = instant("2026-09-15T18:00Z");
    EXPECT_EQ(show(std::max(tokyo.previous(afternoon), new_york.previous(afternoon))),
              "2026-09-15T15:00Z");
    EXPECT_EQ(show(Resets({"0 0 29 2 *", "* 0 1 * *"}, "UTC", rule)
                       .previous(instant("2026-09-20T00:00Z"))),
              "2026-09-01T00:00Z");
  }
  const TimePoint gap_morning = instant("2027-03-14T08:14Z");
  EXPECT_EQ(
      show(
          Resets({"30 2 * * *"}, "America/New_York", ResetRule::kCompatible).previous(gap_morning)),
      "2027-03-13T07:30Z");
  EXPECT_EQ(
      show(Resets({"30 2 * * *"}, "America/New_York", ResetRule::kLocalDay).previous(gap_morning)),
      "2027-03-14T07:00Z");
}

TEST(ResetSchedule, LeapDayIsInReachUnderLocalDayOnly) {
  const TimePoint at = instant("2026-09-20T00:00Z");
  const Resets compatible({"0 0 29 2 *"}, "UTC", ResetRule::kCompatible);
  EXPECT_EQ(compatible.previous(at), std::nullopt);
  EXPECT_EQ(compatible.next(at), std::nullopt);
  EXPECT_EQ(show(compatible.next(instant("2027-03-01T00:00Z"))), "2028-02-29T00:00Z");
  EXPECT_EQ(show(compatible.previous(instant("2029-02-01T00:00Z"))), "2028-02-29T00:00Z");
  const Resets local_day({"0 0 29 2 *"}, "UTC", ResetRule::kLocalDay);
  EXPECT_EQ(show(local_day.previous(at)), "2024-02-29T00:00Z");
  EXPECT_EQ(show(local_day.next(at)), "2028-02-29T00:00Z");
  // 2100 is no leap year.
  EXPECT_EQ(show(local_day.next(instant("2096-02-29T00:00Z"))), "2104-02-29T00:00Z");
  EXPECT_EQ(show(local_day.previous(instant("2104-02-28T00:00Z"))), "2096-02-29T00:00Z");
}

TEST(ResetSchedule, CompatibleReachIsEachEntrysOwn) {
  // Each entry looks as far as its own fields say, whatever its neighbour's do.
  const Resets schedule({"0 0 31 * *", "0 0 1 1 *"}, "UTC", ResetRule::kCompatible);
  EXPECT_EQ(show(schedule.next(instant("2026-02-05T00:00Z"))), "2027-01-01T00:00Z");
  EXPECT_EQ(show(schedule.next(instant("2026-03-05T00:00Z"))), "2026-03-31T00:00Z");
  // Asked again, and in another order, the answers are the same.
  EXPECT_EQ(show(schedule.next(instant("2026-02-05T00:00Z"))), "2027-01-01T00:00Z");
}

TEST(ResetSchedule, R95_WithoutAnEdgeThereIsNone) {
  for (ResetRule rule : {ResetRule::kCompatible, ResetRule::kLocalDay}) {
    const Resets always({"* * * * *"}, "America/New_York", rule);
    EXPECT_EQ(always.next(instant("2026-09-15T12:00Z")), std::nullopt);
    EXPECT_EQ(always.previous(instant("2026-09-15T12:00Z")), std::nullopt);
    const Resets both({"* * * * *", "0 0 * * *"}, "UTC", rule);
    EXPECT_EQ(show(both.next(instant("2026-09-15T12:00Z"))), "2026-09-16T00:00Z");
    EXPECT_EQ(show(both.previous(instant("2026-09-15T12:00Z"))), "2026-09-15T00:00Z");
  }
}

// --- Cycles, as the TTL table of rules 3.6 needs them ---

TEST(ResetSchedule, CycleIsThatOfTheCoarsestFieldOfTheQuickestEntry) {
  auto cycle = [](const Texts& texts) {
    return Resets(texts, "UTC", ResetRule::kCompatible).cycle();
  };
  EXPECT_EQ(cycle({"0 0 * * *"}), kDay);
  EXPECT_EQ(cycle({"0 0 1 * *"}), 31 * kDay);
  EXPECT_EQ(cycle({"* * * * *"}), 60s);
  EXPECT_EQ(cycle({"*/5 * * * *"}), 1h);
  EXPECT_EQ(cycle({"0 0 * * 1"}), 7 * kDay);
  EXPECT_EQ(cycle({"0 0 1 1 *"}), 366 * kDay);
  EXPECT_EQ(cycle({"0 0 13 * FRI"}), 31 * kDay);
  EXPECT_EQ(cycle({"0 0 1 1 *", "0 0 * * 1"}), 7 * kDay);
}

// --- Public reports of comparable systems ---

TEST(ResetSchedule, P13_MonthBeginsInTheZoneNotHoursLater) {
  for (ResetRule rule : {ResetRule::kCompatible, ResetRule::kLocalDay}) {
    const Resets tokyo({"0 0 1 * *"}, "Asia/Tokyo", rule);
    const TimePoint edge = instant("2026-07-31T15:00Z");
    EXPECT_EQ(tokyo.previous(edge), edge);
    EXPECT_EQ(show(tokyo.previous(edge - Millis(1))), "2026-06-30T15:00Z");
    EXPECT_EQ(tokyo.next(edge - Millis(1)), edge);
    EXPECT_EQ(show(tokyo.next(edge)), "2026-08-31T15:00Z");
  }
}

TEST(ResetSchedule, P16_MonthsAreCalendarMonths) {
  EXPECT_EQ(real_edges("0 0 1 * *", "UTC", "2027-01-31T10:00Z", "2027-03-31T00:00Z"),
            (Texts{"2027-02-01T00:00Z", "2027-03-01T00:00Z"}));
  EXPECT_EQ(real_edges("0 0 1 * *", "UTC", "2028-01-31T10:00Z", "2028-03-31T00:00Z"),
            (Texts{"2028-02-01T00:00Z", "2028-03-01T00:00Z"}));
}

TEST(ResetSchedule, P19_EveryDayOfAYearKnowsTheFirstOfTheNextMonth) {
  const char* firsts[] = {"2028-02-01", "2028-03-01", "2028-04-01", "2028-05-01",
                          "2028-06-01", "2028-07-01", "2028-08-01", "2028-09-01",
                          "2028-10-01", "2028-11-01", "2028-12-01", "2029-01-01"};
  const int lengths[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  for (ResetRule rule : {ResetRule::kCompatible, ResetRule::kLocalDay}) {
    const Resets schedule({"0 0 1 * *"}, "UTC", rule);
    TimePoint day = instant("2028-01-01T00:00Z");
    for (int month = 0; month < 12; ++month) {
      for (int i = 0; i < lengths[month]; ++i, day += kDay) {
        ASSERT_EQ(show(schedule.next(day)), std::string(firsts[month]) + "T00:00Z") << show(day);
        ASSERT_EQ(show(schedule.next(day + kDay - Millis(1))),
                  std::string(firsts[month]) + "T00:00Z");
      }
    }
  }
}

TEST(ResetSchedule, P20_LeapYearsHave366Days) {
  EXPECT_EQ(real_edges("0 0 1 1 *", "UTC", "2028-01-01T00:00Z", "2029-12-31T00:00Z"),
            (Texts{"2028-01-01T00:00Z", "2029-01-01T00:00Z"}));
  EXPECT_EQ(instant("2029-01-01T00:00Z") - instant("2028-01-01T00:00Z"), 366 * kDay);
}

TEST(ResetSchedule, P22_WeekdaysAreTheirNames) {
  // 2026-09-20 is a Sunday.
  for (const char* day : {"0", "7", "SUN"}) {
    EXPECT_EQ(
        real_edges(std::string("0 0 * * ") + day, "UTC", "2026-09-15T00:00Z", "2026-09-26T00:00Z"),
        (Texts{"2026-09-20T00:00Z"}));
  }
  for (const char* day : {"1", "MON"}) {
    EXPECT_EQ(
        real_edges(std::string("0 0 * * ") + day, "UTC", "2026-09-15T00:00Z", "2026-09-26T00:00Z"),
        (Texts{"2026-09-21T00:00Z"}));
  }
}

TEST(ResetSchedule, P23_TheZoneIsHeeded) {
  EXPECT_EQ(real_edges("0 0 * * *", "Asia/Shanghai", "2026-09-15T00:00Z", "2026-09-15T23:59Z"),
            (Texts{"2026-09-15T16:00Z"}));
}

TEST(ResetSchedule, P26_NoExtraResetAfterAClockChange) {
  for (ResetRule rule : {ResetRule::kCompatible, ResetRule::kLocalDay}) {
    EXPECT_EQ(
        edges("0 8 * * 1", "Europe/Amsterdam", rule, "2017-10-24T00:00Z", "2017-11-05T00:00Z"),
        (Texts{"2017-10-30T07:00Z"}));
    EXPECT_EQ(edges("0 0 1 * *", "Europe/Berlin", rule, "2024-02-10T00:00Z", "2024-04-20T00:00Z"),
              (Texts{"2024-02-29T23:00Z", "2024-03-31T22:00Z"}));
  }
}

TEST(ResetSchedule, P112_EachPeriodHasItsOwnReset) {
  const TimePoint at = instant("2026-12-30T10:00Z");
  const Resets week({"0 0 * * 1"}, "UTC", ResetRule::kLocalDay);
  const Resets month({"0 0 1 * *"}, "UTC", ResetRule::kLocalDay);
  const Resets year({"0 0 1 7 *"}, "UTC", ResetRule::kLocalDay);
  EXPECT_EQ(show(week.next(at)), "2027-01-04T00:00Z");
  EXPECT_EQ(show(month.next(at)), "2027-01-01T00:00Z");
  EXPECT_EQ(show(year.next(at)), "2027-07-01T00:00Z");
}

TEST(ResetSchedule, P119_AChosenHourOfTheDay) {
  for (ResetRule rule : {ResetRule::kCompatible, ResetRule::kLocalDay}) {
    const Resets schedule({"40 13 * * *"}, "US/Eastern", rule);
    EXPECT_EQ(show(schedule.next(instant("2026-09-15T17:21Z"))), "2026-09-15T17:40Z");
    EXPECT_EQ(show(schedule.next(instant("2026-09-15T17:41Z"))), "2026-09-16T17:40Z");
    // Across the clock change the hour stays that of the wall.
    EXPECT_EQ(show(schedule.next(instant("2026-10-31T17:41Z"))), "2026-11-01T18:40Z");
    EXPECT_EQ(show(schedule.next(instant("2027-03-13T18:41Z"))), "2027-03-14T17:40Z");
  }
}

TEST(ResetSchedule, R49_LongPeriodsAlwaysHaveANextReset) {
  for (ResetRule rule : {ResetRule::kCompatible, ResetRule::kLocalDay}) {
    for (const char* name : {"UTC", "Europe/Berlin", "America/Santiago", "Atlantic/Azores"}) {
      const Resets year({"0 0 1 1 *"}, name, rule);
      const Resets month({"0 0 1 * *"}, name, rule);
      for (TimePoint at = instant("2027-01-01T00:00Z"); at < instant("2029-01-01T00:00Z");
           at += 7h) {
        ASSERT_TRUE(year.next(at).has_value()) << name << ' ' << show(at);
        ASSERT_TRUE(month.next(at).has_value()) << name << ' ' << show(at);
        ASSERT_TRUE(year.previous(at).has_value()) << name << ' ' << show(at);
        ASSERT_TRUE(month.previous(at).has_value()) << name << ' ' << show(at);
      }
    }
  }
  // October is an hour longer than 31 days in Berlin.
  const Resets month({"0 0 1 * *"}, "Europe/Berlin", ResetRule::kCompatible);
  EXPECT_EQ(show(month.next(instant("2026-09-30T22:00Z"))), "2026-10-31T23:00Z");
  EXPECT_EQ(show(month.previous(instant("2026-10-31T22:59Z"))), "2026-09-30T22:00Z");
}

// --- Where the rules disagree ---

Texts contested(const Texts& texts, std::string_view zone_name, const std::string& at) {
  Texts shown;
  for (ResetRule rule : {ResetRule::kCompatible, ResetRule::kLocalDay}) {
    Texts found;
    for (TimePoint edge : Resets(texts, zone_name, rule).contested_edges(instant(at))) {
      found.push_back(show(edge));
    }
    if (rule == ResetRule::kLocalDay) {
      EXPECT_EQ(found, shown);  // the store's own rule does not matter
    }
    shown = found;
  }
  return shown;
}

TEST(ResetSchedule, ContestedEdgesOfTwoYears) {
  EXPECT_EQ(contested({"30 2 * * *"}, "America/New_York", "2026-11-30T00:00Z"),
            (Texts{"2027-03-14T07:00Z", "2028-03-12T07:00Z"}));
  EXPECT_EQ(contested({"30 1 * * *"}, "America/New_York", "2026-10-30T00:00Z"),
            (Texts{"2026-11-01T06:30Z", "2027-11-07T06:30Z"}));
  // Midnight itself is skipped in spring and repeated in autumn.
  EXPECT_EQ(
      contested({"0 0 * * *"}, "America/Havana", "2023-11-30T00:00Z"),
      (Texts{"2024-03-10T05:00Z", "2024-11-03T05:00Z", "2025-03-09T05:00Z", "2025-11-02T05:00Z"}));
}

TEST(ResetSchedule, NothingIsContestedWhereBothRulesAgree) {
  EXPECT_EQ(contested({"0 0 * * *"}, "UTC", "2026-11-30T00:00Z"), Texts{});
  EXPECT_EQ(contested({"0 0 * * *"}, "America/New_York", "2026-11-30T00:00Z"), Texts{});
  EXPECT_EQ(contested({"*/30 * * * *"}, "America/New_York", "2026-10-30T00:00Z"), Texts{});
  // The first instant after the gap lies in the window under either reading.
  EXPECT_EQ(contested({"* 2-3 * * *"}, "America/New_York", "2026-11-30T00:00Z"), Texts{});
  EXPECT_EQ(contested({"30 1 * * *"}, "Asia/Kolkata", "2026-10-30T00:00Z"), Texts{});
}

TEST(ResetSchedule, ContestedEdgesAreAtMostTen) {
  const Texts found = contested({"*/5 1 * * *"}, "America/New_York", "2026-10-30T00:00Z");
  ASSERT_EQ(found.size(), 10u);
  EXPECT_EQ(found.front(), "2026-11-01T06:00Z");
  EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
}

// --- Against a walk over the minutes ---

const char* const kZones[] = {"UTC",
                              "America/New_York",
                              "Europe/Berlin",
                              "Asia/Kolkata",
                              "Australia/Lord_Howe",
                              "Pacific/Apia",
                              "America/Havana",
                              "Atlantic/Azores",
                              "America/Santiago",
                              "Asia/Beirut",
                              "Africa/Cairo",
                              "Antarctica/Troll",
                              "Africa/Casablanca",
                              "Asia/Gaza",
                              "Pacific/Chatham",
                              "Asia/Pyongyang"};

// The local time of each minute around an instant.
class Minutes {
 public:
  static constexpr std::int64_t kHalf = 4 * 1440;

  Minutes(TimeZone zone, std::int64_t middle_s) : first_s_(middle_s / 60 * 60 - kHalf * 60) {
    TimeZone::Period period = zone.period_at(utc(0));
    for (std::int64_t i = 0; i <= 2 * kHalf; ++i) {
      if (utc(i) >= period.end) period = zone.period_at(utc(i));
      local_s_.push_back(utc_s(i) + period.offset.count());
    }
  }

  std::int64_t utc_s(std::int64_t i) const { return first_s_ + i * 60; }
  TimePoint utc(std::int64_t i) const { return TimePoint(std::chrono::seconds(utc_s(i))); }
  std::int64_t local_s(std::int64_t i) const { return local_s_[static_cast<std::size_t>(i)]; }
  std::int64_t size() const { return static_cast<std::int64_t>(local_s_.size()); }

 private:
  std::int64_t first_s_;
  std::vector<std::int64_t> local_s_;
};

// An instant of 1990 to 2035, mostly near a clock change of the zone.
std::int64_t any_instant_s(TimeZone zone) {
  constexpr std::int64_t kLast = 2'051'222'400;
  const std::int64_t at = test::between<std::int64_t>(631'152'000, kLast);
  const TimeZone::Period period = zone.period_at(TimePoint(std::chrono::seconds(at)));
  const std::int64_t end_s = to_epoch_s(period.end);
  if (end_s > kLast || test::between(0, 5) == 0) return at;
  return end_s + test::between<std::int64_t>(-130'000, 130'000);
}

std::vector<std::int64_t> expected_edges(const std::vector<test::Expression>& expressions,
                                         const Minutes& minutes, ResetRule rule) {
  std::vector<std::int64_t> edges;
  for (const test::Expression& expression : expressions) {
    if (rule == ResetRule::kCompatible || expression.hours.size() == 24) {
      for (std::int64_t i = 1; i < minutes.size(); ++i) {
        if (expression.matches_local(minutes.local_s(i)) &&
            !expression.matches_local(minutes.local_s(i - 1))) {
          edges.push_back(minutes.utc_s(i));
        }
      }
      continue;
    }
    std::int64_t reached = minutes.local_s(0);
    for (std::int64_t i = 1; i < minutes.size(); ++i) {
      // Local minutes seen for the first time at this instant, skipped ones among them.
      bool edge = false;
      for (std::int64_t local = reached + 60; local <= minutes.local_s(i); local += 60) {
        edge = edge || (expression.matches_local(local) && !expression.matches_local(local - 60));
        reached = local;
      }
      if (edge) edges.push_back(minutes.utc_s(i));
    }
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

RC_GTEST_PROP(ResetSchedule, EdgesAreThoseOfAWalkOverTheMinutes, ()) {
  const std::string name =
      *rc::gen::elementOf(std::vector<std::string>(std::begin(kZones), std::end(kZones)));
  const TimeZone z = find_zone(name);
  const std::int64_t middle_s = any_instant_s(z);
  std::vector<test::Expression> expressions{*test::any_expression()};
  if (test::between(0, 4) == 0) expressions.push_back(*test::any_expression());
  Texts texts;
  for (const test::Expression& expression : expressions) texts.push_back(expression.text);
  const Minutes minutes(z, middle_s);
  RC_LOG() << name << ' ' << show(TimePoint(std::chrono::seconds(middle_s))) << ' ' << texts[0];

  for (ResetRule rule : {ResetRule::kCompatible, ResetRule::kLocalDay}) {
    const std::vector<std::int64_t> expected = expected_edges(expressions, minutes, rule);
    const ResetSchedule schedule(parse_all(texts), z, rule);
    // The first day tells what was reached before; the last minute bounds the walk.
    const std::int64_t begin_s = minutes.utc_s(1440);
    const std::int64_t end_s = minutes.utc_s(minutes.size() - 1);
    for (int i = 0; i < 20; ++i) {
      const std::int64_t at_ms = test::between<std::int64_t>(begin_s * 1000, end_s * 1000);
      auto after =
          std::upper_bound(expected.begin(), expected.end(), to_epoch_s(from_epoch_ms(at_ms)));
      const std::optional<TimePoint> next = schedule.next(from_epoch_ms(at_ms));
      if (after != expected.end()) {
        RC_ASSERT(next == TimePoint(std::chrono::seconds(*after)));
      } else {
        RC_ASSERT(!next || to_epoch_s(*next) > end_s);
      }
      const std::optional<TimePoint> previous = schedule.previous(from_epoch_ms(at_ms));
      if (after != expected.begin() && *(after - 1) >= begin_s) {
        RC_ASSERT(previous == TimePoint(std::chrono::seconds(*(after - 1))));
      } else {
        RC_ASSERT(!previous || to_epoch_s(*previous) < begin_s);
      }
    }
  }
}

RC_GTEST_PROP(LevelSchedule, ChangesAreThoseOfAWalkOverTheMinutes, ()) {
  const std::string name =
      *rc::gen::elementOf(std::vector<std::string>(std::begin(kZones), std::end(kZones)));
  const TimeZone z = find_zone(name);
  const Minutes minutes(z, any_instant_s(z));
  std::vector<test::Expression> expressions;
  Texts texts;
  const int count = test::between(1, 4);
  for (int i = 0; i < count; ++i) {
    expressions.push_back(*test::any_expression());
    texts.push_back(expressions.back().text);
  }
  const LevelSchedule schedule(lines(texts), z);
  const Millis cap = level_cap(schedule.entries());

  std::vector<int> active;
  for (std::int64_t i = 0; i < minutes.size(); ++i) {
    int index = -1;
    for (int j = 0; j < count && index < 0; ++j) {
      if (expressions[static_cast<std::size_t>(j)].matches_local(minutes.local_s(i))) index = j;
    }
    active.push_back(index);
  }
  for (int i = 0; i < 20; ++i) {
    const auto at = test::between<std::int64_t>(1, minutes.size() - 1);
    const TimePoint when = minutes.utc(at) + Millis(test::between(0, 60'000));
    const int index = active[static_cast<std::size_t>(at)];
    RC_ASSERT(schedule.active_at(when) == index);
    const TimePoint second = std::chrono::floor<std::chrono::seconds>(when);
    std::int64_t next = at;
    while (next < minutes.size() && active[static_cast<std::size_t>(next)] == index) ++next;
    if (minutes.utc(next) > second + cap) {
      RC_ASSERT(schedule.next_change(when) == when + cap);
    } else if (next < minutes.size()) {
      RC_ASSERT(schedule.next_change(when) == minutes.utc(next));
    } else {
      RC_ASSERT(schedule.next_change(when) >= minutes.utc(next));
    }
    std::int64_t first = at;
    while (first > 0 && active[static_cast<std::size_t>(first - 1)] == index) --first;
    const std::optional<TimePoint> previous = schedule.previous_change(when);
    if (minutes.utc(first) < second - cap) {
      RC_ASSERT(previous == std::nullopt);
    } else if (first > 0) {
      RC_ASSERT(previous == minutes.utc(first));
    } else {
      RC_ASSERT(!previous || *previous <= minutes.utc(0));
    }
  }
}

// What is remembered must never show: each question is also put to a schedule without a past.
RC_GTEST_PROP(ResetSchedule, AnswersDoNotDependOnEarlierQuestions, ()) {
  const std::string name =
      *rc::gen::elementOf(std::vector<std::string>(std::begin(kZones), std::end(kZones)));
  Texts texts{(*test::any_expression()).text, (*test::any_expression()).text};
  const auto rule = *rc::gen::element(ResetRule::kCompatible, ResetRule::kLocalDay);
  const Resets schedule(texts, name, rule);
  const Levels levels(texts, name);
  const std::int64_t start_s = any_instant_s(find_zone(name));
  for (int i = 0; i < 30; ++i) {
    const TimePoint at = TimePoint(
        std::chrono::seconds(start_s + test::between<std::int64_t>(-5'000'000, 5'000'000)));
    const Resets fresh(texts, name, rule);
    RC_ASSERT(schedule.next(at) == fresh.next(at));
    RC_ASSERT(schedule.previous(at) == fresh.previous(at));
    const Levels fresh_levels(texts, name);
    RC_ASSERT(levels.next_change(at) == fresh_levels.next_change(at));
    RC_ASSERT(levels.active_at(at) == fresh_levels.active_at(at));
  }
}

TEST(Schedules, InstantsBeyondAnyCalendarAreAnswered) {
  for (TimePoint at : {TimePoint::min(), TimePoint::max(), instant("9999-01-01T00:00Z"),
                       instant("0001-01-01T00:00Z"), from_epoch_ms(190'000'000'000'000),
                       from_epoch_ms(-190'000'000'000'000)}) {
    for (ResetRule rule : {ResetRule::kCompatible, ResetRule::kLocalDay}) {
      const Resets resets({"30 2 * * *"}, "Europe/Berlin", rule);
      const std::optional<TimePoint> next = resets.next(at);
      EXPECT_TRUE(!next || *next > at);
      const std::optional<TimePoint> previous = resets.previous(at);
      EXPECT_TRUE(!previous || *previous <= at);
      EXPECT_LE(resets.contested_edges(at).size(), 10u);
    }
    const Levels levels({"* 2 * * *"}, "Europe/Berlin");
    EXPECT_GE(levels.next_change(at), at);
    EXPECT_LE(levels.active_at(at), 0);
    const std::optional<TimePoint> change = levels.previous_change(at);
    EXPECT_TRUE(!change || *change <= at);
  }
}

TEST(SpanMemo, RemembersTheLastSpan) {
  const SpanMemo memo;
  EXPECT_FALSE(memo.find(0).has_value());
  memo.remember({100, 200, 7});
  EXPECT_FALSE(memo.find(99).has_value());
  ASSERT_TRUE(memo.find(100).has_value());
  EXPECT_EQ(memo.find(199)->answer, 7);
  EXPECT_FALSE(memo.find(200).has_value());
  memo.remember({300, 400, 8});
  EXPECT_FALSE(memo.find(150).has_value());
  EXPECT_EQ(memo.find(350)->answer, 8);
}

TEST(SpanMemo, ReadersNeverSeeAMixOfSpans) {
  const SpanMemo memo;
  std::atomic<bool> stop{false};
  std::atomic<int> mixed{0};
  auto write = [&](std::int64_t salt) {
    for (std::int64_t i = 0; i < 200'000; ++i) memo.remember({-i - salt, i + salt + 1, i + salt});
  };
  std::thread reader([&] {
    while (!stop.load()) {
      if (auto span = memo.find(0)) {
        if (span->begin_ms != -span->answer || span->end_ms != span->answer + 1) ++mixed;
      }
    }
  });
  std::thread one(write, 0);
  std::thread two(write, 1'000'000);
  one.join();
  two.join();
  stop = true;
  reader.join();
  EXPECT_EQ(mixed.load(), 0);
}

}  // namespace
}  // namespace stint::model
