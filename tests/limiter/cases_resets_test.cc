// Cases from public reports: calendar edges, and resets missing, doubled or carried over
// (cases.md).
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "tests/limiter/support.h"

namespace stint::test {
namespace {

class ResetCases : public LimiterTest {
 protected:
  void set(const LimitList& limits) { limiter->set_limits(kUser, kApi, limits).value(); }
};
STINT_ON_EVERY_STORE(ResetCases);

TEST_P(ResetCases, P13_AMonthBeginsInItsZone) {
  set({Limit::calendar("c", 10, "0 0 1 * *", "Asia/Tokyo")});
  clock.set(instant("2026-07-31T14:59:59Z") + 999ms);
  ASSERT_TRUE(admits({{"c", 10}}));
  EXPECT_FALSE(admits({{"c", 1}}));
  EXPECT_EQ(status("c").resets_at, instant("2026-07-31T15:00Z"));
  clock.set(instant("2026-07-31T15:00Z"));
  EXPECT_EQ(left("c"), 10);
  EXPECT_TRUE(admits({{"c", 1}}));
  EXPECT_EQ(show(status("c").resets_at), "2026-08-31T15:00Z");
}

TEST_P(ResetCases, P16_AMonthIsACalendarMonth) {
  struct Step {
    const char* at;
    const char* next;
  };
  set({Limit::calendar("c", 10, "0 0 1 * *")});
  for (Step step : {Step{"2027-01-31T12:00Z", "2027-02-01T00:00Z"},
                    Step{"2027-02-01T00:00Z", "2027-03-01T00:00Z"},
                    Step{"2028-01-31T12:00Z", "2028-02-01T00:00Z"},
                    Step{"2028-02-29T23:59Z", "2028-03-01T00:00Z"}}) {
    clock.set(instant(step.at));
    EXPECT_TRUE(admits({{"c", 10}})) << step.at;
    EXPECT_FALSE(admits({{"c", 1}})) << step.at;
    EXPECT_EQ(show(status("c").resets_at), step.next);
  }
}

TEST_P(ResetCases, P17_UsageOfTheFirstIsIntactOnTheThirtyFirst) {
  limiter->set_limits(Scope::system(), {Limit::calendar("c", 10, "0 0 1 * *")}).value();
  clock.set(instant("2027-03-01T00:00Z"));
  ASSERT_TRUE(admits({{"c", 7}}));
  clock.set(instant("2027-03-31T23:59Z"));
  EXPECT_EQ(left("c"), 3);
  EXPECT_FALSE(admits({{"c", 4}}));
  EXPECT_TRUE(admits({{"c", 3}}));
}

TEST_P(ResetCases, P19_P20_FirstOfTheMonthAndOfTheYear) {
  set({Limit::calendar("month", 10, "0 0 1 * *", "Europe/Berlin"),
       Limit::calendar("year", 10, "0 0 1 1 *", "Europe/Berlin")});
  clock.set(instant("2028-07-15T10:00Z"));
  ASSERT_TRUE(admits({{"month", 1}, {"year", 1}}));
  EXPECT_EQ(show(status("month").resets_at), "2028-07-31T22:00Z");
  EXPECT_EQ(show(status("year").resets_at), "2028-12-31T23:00Z");
}

TEST_P(ResetCases, P23_TheDayEndsInItsZoneAndUnknownZonesAreRefused) {
  set({Limit::calendar("c", 10, "0 0 * * *", "Asia/Shanghai")});
  EXPECT_EQ(show(status("c").resets_at), "2027-03-10T16:00Z");
  Result<LimitsChange> refused =
      limiter->set_limits(kUser, kApi, {Limit::calendar("c", 10, "0 0 * * *", "Mars/Base")});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused.error().value(), "Mars/Base");
  EXPECT_EQ(show(status("c").resets_at), "2027-03-10T16:00Z");
}

TEST_P(ResetCases, P28_ARepeatedHourResetsADayOnce) {
  set({Limit::calendar("c", 10, "30 1 * * *", "America/New_York")});
  clock.set(instant("2025-11-02T05:30Z"));
  ASSERT_TRUE(admits({{"c", 10}}));
  clock.set(instant("2025-11-02T06:30Z"));
  // Tables that other programs share reset as those do: twice.
  bool repeats = on_shared_table();
  EXPECT_EQ(admits({{"c", 1}}), repeats);
  EXPECT_EQ(show(status("c").resets_at), "2025-11-03T06:30Z");
}

TEST_P(ResetCases, P31_LookingAtALimitResetsNothing) {
  set({Limit::calendar("c", 10, "0 0 1 * *")});
  ASSERT_TRUE(admits({{"c", 7}}));
  for (int sweep = 0; sweep < 3; ++sweep) {
    clock.advance(5min);
    EXPECT_EQ(left("c"), 3);
    EXPECT_TRUE(limiter->explain(kUser, kApi).ok());
    EXPECT_FALSE(admits({{"c", 4}}));
  }
  EXPECT_EQ(field("c", "tc"), 7'000);
}

TEST_P(ResetCases, P32_LimitsOfEveryLevelResetWithoutABackgroundJob) {
  LimitList daily{Limit::calendar("c", 10, "0 0 * * *")};
  limiter->set_limits(Scope::system(), daily).value();
  limiter->set_limits(Scope::resource("by_resource"), daily).value();
  limiter->set_limits(Scope::entity("by_entity"), daily).value();
  limiter->set_limits("by_both", kApi, daily).value();
  limiter->create_entity("parent").value();
  limiter->create_entity("child", {.parent = "parent", .cascade = true}).value();
  struct User {
    const char* entity;
    const char* resource;
  };
  for (int day = 0; day < 3; ++day) {
    for (User user : {User{"by_system", "other"}, User{"by_resource", "by_resource"},
                      User{"by_entity", kApi}, User{"by_both", kApi}, User{"child", kApi}}) {
      AcquireRequest request{
          .entity = user.entity, .resource = user.resource, .consume = {{"c", 10}}};
      EXPECT_TRUE(limiter->acquire(request).value()) << user.entity << " on day " << day;
      EXPECT_FALSE(limiter->acquire(request).value()) << user.entity << " on day " << day;
    }
    EXPECT_EQ(left("c", "parent"), 0);
    clock.advance(24h);
    EXPECT_EQ(left("c", "parent"), 10);
  }
}

TEST_P(ResetCases, P34_LostCachesAddNothing) {
  set({Limit::calendar("c", 100, "0 0 1 * *"), Limit::per_hour("r", 100)});
  ASSERT_TRUE(admits({{"c", 40}, {"r", 40}}));
  for (int process = 0; process < 8; ++process) {
    Limiter fresh = another_limiter();
    Decision decision =
        fresh.acquire({.entity = kUser, .resource = kApi, .consume = {{"c", 1}, {"r", 1}}}).value();
    EXPECT_EQ(find_status(decision.limits(), "c").remaining, MilliTokens((59 - process) * 1000));
    EXPECT_TRUE(decision.lease().settle().ok());
  }
  EXPECT_EQ(left("c"), 52);
  EXPECT_EQ(left("r"), 52);
  EXPECT_EQ(field("c", "tc"), 48'000);
}

TEST_P(ResetCases, P35_LimitsThatNobodyNamesRollWithTheOthers) {
  set({Limit::calendar("a", 10, "0 0 * * *"), Limit::calendar("b", 10, "0 0 * * *")});
  ASSERT_TRUE(admits({{"a", 10}, {"b", 10}}));
  clock.set(instant("2027-03-11T00:00Z"));
  ASSERT_TRUE(admits({{"a", 1}}));
  EXPECT_EQ(left("a"), 9);
  EXPECT_EQ(left("b"), 10);
  EXPECT_TRUE(admits({{"b", 10}}));
}

TEST_P(ResetCases, P37_TwoNodesNeverMoveTheEnd) {
  set({Limit::session("s", 100, 1h)});
  Limiter other = another_limiter();
  for (int call = 0; call < 100; ++call) {
    Limiter& node = call % 2 == 0 ? *limiter : other;
    Decision decision =
        node.acquire({.entity = kUser, .resource = kApi, .consume = {{"s", 1}}}).value();
    ASSERT_TRUE(decision) << call;
    LimitStatus seen = find_status(decision.limits(), "s");
    EXPECT_EQ(show(seen.resets_at), "2027-03-10T13:00Z");
    EXPECT_EQ(seen.remaining, MilliTokens((99 - call) * 1000));
    EXPECT_TRUE(decision.lease().settle().ok());
    clock.advance(30s);
  }
  EXPECT_FALSE(admits({{"s", 1}}));
  clock.set(instant("2027-03-10T13:00Z"));
  EXPECT_EQ(left("s"), 100);
}

TEST_P(ResetCases, P38_ARateIsNotRestoredWholeEachPeriod) {
  set({Limit::per_second("r", 3)});
  int admitted_in_all = 0;
  for (int call = 0; call <= 600; ++call) {
    admitted_in_all += admits({{"r", 1}}) ? 1 : 0;
    clock.advance(100ms);
  }
  EXPECT_EQ(admitted_in_all, 3 + 180);
}

TEST_P(ResetCases, P40_AFullBucketSavesNothingUp) {
  set({Limit::per_second("r", 10)});
  ASSERT_TRUE(admits({{"r", 1}}));
  clock.advance(1h);
  EXPECT_EQ(admitted(30, {{"r", 1}}), 10);
  clock.advance(50ms);
  EXPECT_FALSE(admits({{"r", 1}}));
  clock.advance(50ms);
  EXPECT_TRUE(admits({{"r", 1}}));
}

TEST_P(ResetCases, P41_TenIdleYearsOfALargeBucket) {
  set({Limit::per_second("r", 1'000'000'000'000)});
  ASSERT_TRUE(admits({{"r", 1'000'000'000'000}}));
  clock.advance(std::chrono::hours(24 * 3653));
  EXPECT_EQ(left("r"), 1'000'000'000'000);
  EXPECT_TRUE(admits({{"r", 1'000'000'000'000}}));
  EXPECT_EQ(left("r"), 0);
}

TEST_P(ResetCases, P103_TheMachinesZoneDoesNotMatter) {
  set({Limit::calendar("c", 1, "0 0 * * *"), Limit::per_minute("r", 1)});
  ASSERT_TRUE(admits({{"c", 1}, {"r", 1}}));
  Decision in_utc = acquire({{"c", 1}, {"r", 1}});
  setenv("TZ", "Europe/Vienna", 1);
  tzset();
  limiter->forget_caches();
  Decision in_vienna = acquire({{"c", 1}, {"r", 1}});
  unsetenv("TZ");
  tzset();
  ASSERT_EQ(in_utc.outcome(), Outcome::kRejected);
  ASSERT_EQ(in_vienna.outcome(), Outcome::kRejected);
  EXPECT_EQ(in_vienna.rejection().retry_after, in_utc.rejection().retry_after);
  EXPECT_EQ(in_utc.rejection().retry_after, Millis(12h));
  EXPECT_EQ(find_status(in_vienna.limits(), "c").resets_at,
            find_status(in_utc.limits(), "c").resets_at);
}

}  // namespace
}  // namespace stint::test
