// Cases from public reports: leases (cases.md).
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>

#include "tests/limiter/support.h"

namespace stint::test {
namespace {

class LeaseCases : public LimiterTest {
 protected:
  void set(const LimitList& limits) { limiter->set_limits(kUser, kApi, limits).value(); }
};
STINT_ON_EVERY_STORE(LeaseCases);

TEST_P(LeaseCases, P49_ARollbackGivesBackWhatWasTaken) {
  limiter->create_entity("parent").value();
  limiter->create_entity(kUser, {.parent = "parent", .cascade = true}).value();
  set({Limit::session("a", 10, 1h)});
  limiter->set_limits("parent", kApi, {Limit::session("a", 10, 1h), Limit::session("b", 4, 1h)})
      .value();
  ASSERT_TRUE(admits({{"a", 1}, {"b", 1}}));
  EXPECT_FALSE(admits({{"a", 5}, {"b", 4}}));
  EXPECT_EQ(left("a"), 9);
  EXPECT_EQ(left("a", "parent"), 9);
  EXPECT_EQ(left("b", "parent"), 3);
}

TEST_P(LeaseCases, P49_ARollbackNeverExceedsTheCapacity) {
  set({Limit::per_second("r", 10)});
  Decision decision = acquire({{"r", 10}});
  clock.advance(500ms);
  ASSERT_TRUE(decision.lease().roll_back().ok());
  EXPECT_EQ(left("r"), 10);
  EXPECT_EQ(admitted(20, {{"r", 1}}), 10);
}

TEST_P(LeaseCases, P49_ACreditUpToTheCapacityKeepsNoFractionOfARefill) {
  // A fifteenth of a thousandth each millisecond.
  set({Limit::rate("r", 8, 4, 60s), Limit::session("s", 10, 1h)});
  Decision decision = acquire({{"r", MilliTokens(2'001)}});
  clock.advance(1ms);
  ASSERT_TRUE(admits({{"r", 0}, {"s", 1}}));  // refills, and leaves a fraction
  ASSERT_TRUE(decision.lease().roll_back().ok());
  ASSERT_EQ(status("r").remaining, MilliTokens(8'000));
  ASSERT_TRUE(admits({{"r", MilliTokens(119)}}));
  clock.advance(1784ms);
  EXPECT_EQ(status("r").remaining, MilliTokens(7'999));
  clock.advance(1ms);
  EXPECT_EQ(status("r").remaining, MilliTokens(8'000));
}

TEST_P(LeaseCases, P70_AbandonedLeasesKeepTheirEstimatesAndNothingElse) {
  set({Limit::calendar("c", 1000, "0 0 * * *")});
  for (int client = 0; client < 100; ++client) {
    // A client that is killed: nobody ends its lease.
    Limiter client_limiter = another_limiter();
    Decision decision =
        client_limiter.acquire({.entity = kUser, .resource = kApi, .consume = {{"c", 5}}}).value();
    ASSERT_TRUE(decision);
  }
  EXPECT_EQ(left("c"), 500);
  EXPECT_TRUE(admits({{"c", 500}}));
  clock.advance(24h);
  EXPECT_EQ(left("c"), 1000);
}

TEST_P(LeaseCases, P71_ALeaseReservesWhatItAskedFor) {
  set({Limit::session("s", 10, 1h)});
  Decision without_estimate = acquire({{"s", 0}});
  ASSERT_TRUE(without_estimate);
  Decision second = acquire({{"s", 10}});
  EXPECT_TRUE(second);
  ASSERT_TRUE(without_estimate.lease().adjust("s", 3).ok());
  ASSERT_TRUE(without_estimate.lease().settle().ok());
  EXPECT_EQ(left("s"), -3);
}

TEST_P(LeaseCases, P74_ACreditOfAnEndedWindowLeavesTheNextAlone) {
  set({Limit::session("s", 10, 1h)});
  Decision first = acquire({{"s", 6}});
  clock.advance(1h);
  ASSERT_TRUE(admits({{"s", 2}}));
  ASSERT_TRUE(first.lease().release("s", 5).ok());
  ASSERT_TRUE(first.lease().settle().ok());
  EXPECT_EQ(left("s"), 8);
  EXPECT_EQ(field("s", "tc"), 3'000);
}

TEST_P(LeaseCases, P74_ACreditBetweenWindowsOpensNone) {
  set({Limit::session("s", 10, 1h), Limit::calendar("c", 10, "0 13 * * *")});
  Decision first = acquire({{"s", 6}, {"c", 6}});
  clock.advance(1h);
  ASSERT_TRUE(first.lease().release("s", 5).ok());
  ASSERT_TRUE(first.lease().release("c", 5).ok());
  ASSERT_TRUE(first.lease().settle().ok());
  EXPECT_EQ(status("s").window, WindowState::kNotStarted);
  EXPECT_EQ(left("s"), 10);
  EXPECT_EQ(left("c"), 10);
}

TEST_P(LeaseCases, P74_AFurtherDebitBelongsToTheWindowOfItsSettle) {
  set({Limit::session("s", 10, 1h)});
  Decision first = acquire({{"s", 6}});
  clock.advance(1h);
  ASSERT_TRUE(admits({{"s", 2}}));
  ASSERT_TRUE(first.lease().adjust("s", 3).ok());
  ASSERT_TRUE(first.lease().settle().ok());
  EXPECT_EQ(left("s"), 5);
}

TEST_P(LeaseCases, P52_TheDebitIsTheDecision) {
  set({Limit::session("s", 10, 1h)});
  Limiter other = another_limiter();
  EXPECT_TRUE(limiter->available(kUser, kApi, {{"s", 10}}).value().fits);
  EXPECT_TRUE(other.available(kUser, kApi, {{"s", 10}}).value().fits);
  EXPECT_TRUE(admits({{"s", 10}}));
  Decision loser =
      other.acquire({.entity = kUser, .resource = kApi, .consume = {{"s", 10}}}).value();
  EXPECT_EQ(loser.outcome(), Outcome::kRejected);
  EXPECT_EQ(left("s"), 0);
}

TEST_P(LeaseCases, P50_NamingALimitTwiceIsInvalid) {
  set({Limit::session("s", 10, 1h)});
  Result<Decision> twice = try_acquire({{"s", 1}, {"s", 1}});
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(twice.error().value(), "s");
  EXPECT_EQ(left("s"), 10);
}

TEST_P(LeaseCases, P50_AnEntityIsNotItsOwnParent) {
  Result<Entity> own_parent = limiter->create_entity("e", {.parent = "e", .cascade = true});
  ASSERT_FALSE(own_parent);
  EXPECT_EQ(own_parent.error().code(), ErrorCode::kInvalidArgument);
}

TEST_P(LeaseCases, P53_TwoNodesKeepALimitOfOne) {
  set({Limit::per_hour("r", 1)});
  Limiter other = another_limiter();
  int admitted_in_all = 0;
  for (int call = 0; call < 30; ++call) {
    Limiter& node = call % 2 == 0 ? *limiter : other;
    admitted_in_all +=
        node.acquire({.entity = kUser, .resource = kApi, .consume = {{"r", 1}}}).value() ? 1 : 0;
  }
  EXPECT_EQ(admitted_in_all, 1);
}

}  // namespace
}  // namespace stint::test
