// Cases from public reports: what starts a window, and where it ends (cases.md, anchors).
#include <gtest/gtest.h>

#include "tests/limiter/support.h"

namespace stint::test {
namespace {

class AnchorCases : public LimiterTest {
 protected:
  void set(const LimitList& limits) { limiter->set_limits(kUser, kApi, limits).value(); }
};
STINT_ON_EVERY_STORE(AnchorCases);

TEST_P(AnchorCases, P1_TheNextWindowBeginsAtTheNextUse) {
  set({Limit::session("s", 10, 5h)});
  clock.set(instant("2027-03-10T09:00Z"));
  ASSERT_TRUE(admits({{"s", 4}}));
  EXPECT_EQ(show(status("s").resets_at), "2027-03-10T14:00Z");
  clock.set(instant("2027-03-10T15:30Z"));
  EXPECT_EQ(left("s"), 10);
  ASSERT_TRUE(admits({{"s", 1}}));
  EXPECT_EQ(show(status("s").resets_at), "2027-03-10T20:30Z");
  EXPECT_EQ(left("s"), 9);
}

TEST_P(AnchorCases, P2_AnIdleWindowIsNotStartedAndHasNoReset) {
  set({Limit::session("s", 10, 5h)});
  ASSERT_TRUE(admits({{"s", 10}}));
  clock.advance(5h);
  LimitStatus idle = status("s");
  EXPECT_EQ(idle.window, WindowState::kNotStarted);
  EXPECT_EQ(idle.remaining, MilliTokens(10'000));
  EXPECT_FALSE(idle.resets_at);
  EXPECT_EQ(idle.retry_after, Millis(0));
}

TEST_P(AnchorCases, P2_AnEndedWindowDeclaredWithZeroIsFull) {
  set({Limit::session("s", 10, 1h), Limit::per_minute("r", 10)});
  ASSERT_TRUE(admits({{"s", 4}, {"r", 1}}));
  clock.advance(1h);
  Decision decision = acquire({{"s", 0}, {"r", 1}});
  ASSERT_TRUE(decision);
  LimitStatus seen = find_status(decision.limits(), "s");
  EXPECT_EQ(seen.remaining, MilliTokens(10'000));
  EXPECT_EQ(seen.window, WindowState::kNotStarted);
}

TEST_P(AnchorCases, P5_SteadyUseDoesNotPushTheEndAway) {
  set({Limit::session("s", 100, 24h)});
  for (int hour = 0; hour < 24; ++hour) {
    ASSERT_TRUE(admits({{"s", 1}}));
    EXPECT_EQ(show(status("s").resets_at), "2027-03-11T12:00Z");
    EXPECT_EQ(left("s"), 99 - hour);
    clock.advance(1h);
  }
  ASSERT_TRUE(admits({{"s", 1}}));
  EXPECT_EQ(left("s"), 99);
  EXPECT_EQ(show(status("s").resets_at), "2027-03-12T12:00Z");
}

TEST_P(AnchorCases, P7_StatusNamesTheKindOfAnchor) {
  set({Limit::session("first_use", 10, 1h), Limit::calendar("clock", 10, "0 * * * *")});
  clock.set(instant("2027-03-10T10:37Z"));
  ASSERT_TRUE(admits({{"first_use", 1}, {"clock", 1}}));
  EXPECT_EQ(status("first_use").kind, LimitKind::kSession);
  EXPECT_EQ(show(status("first_use").resets_at), "2027-03-10T11:37Z");
  EXPECT_EQ(status("clock").kind, LimitKind::kCalendar);
  EXPECT_EQ(show(status("clock").resets_at), "2027-03-10T11:00Z");
}

TEST_P(AnchorCases, P8_TheReportedEndIsTheStoredOne) {
  set({Limit::session("s", 10, 1h)});
  clock.set(instant("2027-03-10T10:20Z") + 250ms);
  Decision decision = acquire({{"s", 1}});
  ASSERT_TRUE(decision);
  TimePoint end = instant("2027-03-10T11:20Z") + 250ms;
  EXPECT_EQ(find_status(decision.limits(), "s").resets_at, end);
  EXPECT_EQ(status("s").resets_at, end);
  EXPECT_EQ(field("s", "ws").value() + 3'600'000, end.time_since_epoch().count());
}

TEST_P(AnchorCases, P10_AnEntityExistsBeforeItsWindow) {
  limiter->create_entity(kUser).value();
  set({Limit::session("s", 10, 5h)});
  clock.advance(72h);
  EXPECT_EQ(status("s").window, WindowState::kNotStarted);
  ASSERT_TRUE(admits({{"s", 1}}));
  EXPECT_EQ(show(status("s").resets_at), "2027-03-13T17:00Z");
}

TEST_P(AnchorCases, P11_FirstUseAndMidnightAreBothExpressible) {
  set({Limit::session("from_first_use", 10, 24h),
       Limit::calendar("from_midnight", 10, "0 0 * * *")});
  clock.set(instant("2027-03-10T15:43Z"));
  ASSERT_TRUE(admits({{"from_first_use", 1}, {"from_midnight", 1}}));
  EXPECT_EQ(show(status("from_first_use").resets_at), "2027-03-11T15:43Z");
  EXPECT_EQ(show(status("from_midnight").resets_at), "2027-03-11T00:00Z");
}

TEST_P(AnchorCases, P14_LengthsAreAddedExactly) {
  set({Limit::session("a", 10, 24h), Limit::session("b", 10, 30h), Limit::session("c", 10, 48h),
       Limit::session("d", 10, 72h), Limit::session("e", 10, 3000min),
       Limit::session("f", 10, std::chrono::seconds(31'536'000))});
  clock.set(instant("2027-03-10T10:00Z"));
  ASSERT_TRUE(admits({{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 1}, {"f", 1}}));
  EXPECT_EQ(show(status("a").resets_at), "2027-03-11T10:00Z");
  EXPECT_EQ(show(status("b").resets_at), "2027-03-11T16:00Z");
  EXPECT_EQ(show(status("c").resets_at), "2027-03-12T10:00Z");
  EXPECT_EQ(show(status("d").resets_at), "2027-03-13T10:00Z");
  EXPECT_EQ(show(status("e").resets_at), "2027-03-12T12:00Z");
  EXPECT_EQ(show(status("f").resets_at), "2028-03-09T10:00Z");
}

}  // namespace
}  // namespace stint::test
