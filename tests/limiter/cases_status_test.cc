// Cases from public reports: waits, reset instants, status fields, soft limits (cases.md).
#include <gtest/gtest.h>

#include "tests/limiter/support.h"

namespace stint::test {
namespace {

class StatusCases : public LimiterTest {
 protected:
  void set(const LimitList& limits) { limiter->set_limits(kUser, kApi, limits).value(); }
};
STINT_ON_EVERY_STORE(StatusCases);

TEST_P(StatusCases, P101_WhoWaitsAsToldIsAdmittedAndNotEarlier) {
  set({Limit::rate("r", 10, 7, 3s), Limit::session("s", 13, 7s),
       Limit::calendar("c", 14, "*/2 * * * *")});
  Millis waited{0};
  for (int round = 0; round < 30; ++round) {
    while (admits({{"r", 3}, {"s", 1}, {"c", 1}})) continue;
    Decision rejected = acquire({{"r", 3}, {"s", 1}, {"c", 1}});
    ASSERT_EQ(rejected.outcome(), Outcome::kRejected);
    std::optional<Millis> wait = rejected.rejection().retry_after;
    ASSERT_TRUE(wait && *wait > Millis(0));
    clock.advance(*wait - 1ms);
    EXPECT_FALSE(admits({{"r", 3}, {"s", 1}, {"c", 1}})) << "round " << round;
    clock.advance(1ms);
    EXPECT_TRUE(admits({{"r", 3}, {"s", 1}, {"c", 1}})) << "round " << round;
    waited += *wait;
  }
  EXPECT_GT(waited, Millis(0));
}

TEST_P(StatusCases, P104_TheDenyingLimitIsNamedWithItsOwnWait) {
  set({Limit::session("hour", 5, 1h), Limit::session("minute", 100, 1min)});
  ASSERT_TRUE(admits({{"hour", 5}, {"minute", 5}}));
  clock.advance(10s);
  Decision rejected = acquire({{"hour", 1}, {"minute", 1}});
  ASSERT_EQ(rejected.outcome(), Outcome::kRejected);
  LimitStatus hour = find_status(rejected.limits(), "hour");
  LimitStatus minute = find_status(rejected.limits(), "minute");
  EXPECT_TRUE(hour.exceeded);
  EXPECT_EQ(hour.remaining, MilliTokens(0));
  EXPECT_FALSE(minute.exceeded);
  EXPECT_EQ(minute.remaining, MilliTokens(95'000));
  EXPECT_EQ(minute.retry_after, Millis(0));
  EXPECT_EQ(rejected.rejection().retry_after, Millis(1h - 10s));
  EXPECT_EQ(events.last(EventKind::kRejected).limit, "hour");
}

TEST_P(StatusCases, P104_TheLongestWaitCounts) {
  set({Limit::session("hour", 5, 1h), Limit::session("minute", 5, 1min)});
  ASSERT_TRUE(admits({{"hour", 5}, {"minute", 5}}));
  Decision rejected = acquire({{"minute", 1}, {"hour", 1}});
  ASSERT_EQ(rejected.outcome(), Outcome::kRejected);
  EXPECT_EQ(rejected.rejection().retry_after, Millis(1h));
  EXPECT_EQ(find_status(rejected.limits(), "minute").retry_after, Millis(1min));
}

TEST_P(StatusCases, P106_TheWaitIsWhatIsLeftOfTheWindow) {
  set({Limit::session("s", 1, 15s)});
  ASSERT_TRUE(admits({{"s", 1}}));
  clock.advance(10s);
  Decision rejected = acquire({{"s", 1}});
  ASSERT_EQ(rejected.outcome(), Outcome::kRejected);
  EXPECT_EQ(rejected.rejection().retry_after, Millis(5s));
}

TEST_P(StatusCases, P107_WaitsAreSpansAndResetsAreInstants) {
  set({Limit::session("s", 1, 15s)});
  ASSERT_TRUE(admits({{"s", 1}}));
  clock.advance(10s);
  LimitStatus seen = status("s");
  EXPECT_EQ(clock.now() + limiter->available(kUser, kApi, {{"s", 1}}).value().wait.value(),
            seen.resets_at);
  EXPECT_EQ(show(seen.resets_at), "2027-03-10T12:00:15.000Z");
}

TEST_P(StatusCases, P109_AnExhaustedSoftLimitSkipsNoOther) {
  set({Result<Limit>(Limit::session("soft", 2, 1h).value().as_soft()),
       Limit::session("hard", 3, 1h)});
  EXPECT_EQ(admitted(5, {{"soft", 1}, {"hard", 1}}), 3);
  Decision rejected = acquire({{"soft", 1}, {"hard", 1}});
  ASSERT_EQ(rejected.outcome(), Outcome::kRejected);
  EXPECT_TRUE(find_status(rejected.limits(), "hard").exceeded);
  LimitStatus soft = find_status(rejected.limits(), "soft");
  EXPECT_FALSE(soft.exceeded);
  EXPECT_TRUE(soft.soft);
  EXPECT_TRUE(soft.overdrawn());
  EXPECT_EQ(soft.remaining, MilliTokens(-1'000));
  EXPECT_EQ(rejected.rejection().retry_after, Millis(1h));
}

TEST_P(StatusCases, P110_EveryUseOfASoftLimitIsCounted) {
  set({Result<Limit>(Limit::session("soft", 2, 1h).value().as_soft())});
  int over = 0;
  for (int call = 0; call < 10; ++call) {
    Decision decision = acquire({{"soft", 1}});
    ASSERT_TRUE(decision);
    if (find_status(decision.limits(), "soft").overdrawn()) ++over;
    clock.advance(1s);
  }
  EXPECT_EQ(over, 8);
  EXPECT_EQ(left("soft"), -8);
  EXPECT_EQ(field("soft", "tc"), 10'000);
}

}  // namespace
}  // namespace stint::test
