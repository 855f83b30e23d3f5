// Cases from public reports: costs at the extremes, refunds, arithmetic (cases.md).
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "tests/limiter/support.h"

namespace stint::test {
namespace {

class CostCases : public LimiterTest {
 protected:
  void set(const LimitList& limits) { limiter->set_limits(kUser, kApi, limits).value(); }
  ErrorCode code_of(std::vector<Consume> consume) {
    Result<Decision> result = try_acquire(std::move(consume));
    EXPECT_FALSE(result.ok());
    return result.ok() ? ErrorCode::kCorrupt : result.error().code();
  }
};
STINT_ON_EVERY_STORE(CostCases);

TEST_P(CostCases, P55_ADeniedBigCallTakesNothing) {
  limiter->set_limits(Scope::system(), {Limit::per_hour("r", 10)}).value();
  ASSERT_TRUE(admits({{"r", 8}}));
  std::optional<std::int64_t> expires = bucket()->number(store::intern("ttl"));
  ASSERT_TRUE(expires);
  EXPECT_FALSE(admits({{"r", 5}}));
  EXPECT_FALSE(admits({{"r", 1'000'000}}));
  EXPECT_EQ(left("r"), 2);
  EXPECT_EQ(bucket()->number(store::intern("ttl")), expires);
  EXPECT_TRUE(admits({{"r", 2}}));
}

TEST_P(CostCases, P56_MoreThanTheCapacityNeverFits) {
  set({Limit::per_minute("r", 10), Limit::session("s", 10, 1h),
       Limit::calendar("c", 10, "0 * * * *")});
  ASSERT_TRUE(admits({{"r", 3}, {"s", 3}, {"c", 3}}));
  for (const char* name : {"r", "s", "c"}) {
    Decision decision = acquire({{name, 11}});
    ASSERT_EQ(decision.outcome(), Outcome::kRejected) << name;
    EXPECT_TRUE(decision.rejection().never_fits) << name;
    EXPECT_FALSE(decision.rejection().retry_after) << name;
    LimitStatus seen = find_status(decision.limits(), name);
    EXPECT_TRUE(seen.never_fits && seen.exceeded) << name;
    EXPECT_FALSE(seen.retry_after) << name;
    EXPECT_FALSE(seen.resets_at) << name;
    EXPECT_EQ(seen.remaining, MilliTokens(7'000)) << name;
  }
}

TEST_P(CostCases, P59_CostZeroChangesNothing) {
  set({Limit::session("s", 10, 1h), Limit::per_minute("r", 10)});
  ASSERT_TRUE(admits({{"s", 0}, {"r", 0}}));
  EXPECT_FALSE(bucket());
  EXPECT_EQ(status("s").window, WindowState::kNotStarted);
  ASSERT_TRUE(admits({{"r", 4}}));
  store::ImagePtr before = bucket();
  ASSERT_TRUE(admits({{"s", 0}, {"r", 0}}));
  EXPECT_EQ(bucket()->number(store::intern("st_n")), before->number(store::intern("st_n")));
  EXPECT_EQ(left("r"), 6);
  EXPECT_EQ(status("s").window, WindowState::kNotStarted);
}

TEST_P(CostCases, P62_NothingIsGrantedWhileInDebt) {
  set({Limit::session("s", 10, 1h)});
  Decision first = acquire({{"s", 10}});
  ASSERT_TRUE(first.lease().adjust("s", 5).ok());
  ASSERT_TRUE(first.lease().settle().ok());
  EXPECT_EQ(left("s"), -5);
  EXPECT_FALSE(admits({{"s", 1}}));
  EXPECT_EQ(left("s"), -5);
}

TEST_P(CostCases, P64_FreeCallsPassAtZeroAndWaitOutDebt) {
  set({Limit::session("s", 10, 1h)});
  Decision first = acquire({{"s", 10}});
  EXPECT_TRUE(admits({{"s", 0}}));
  ASSERT_TRUE(first.lease().adjust("s", 1).ok());
  ASSERT_TRUE(first.lease().settle().ok());
  Decision in_debt = acquire({{"s", 0}});
  ASSERT_EQ(in_debt.outcome(), Outcome::kRejected);
  EXPECT_EQ(in_debt.rejection().retry_after, Millis(1h));
  clock.advance(1h);
  EXPECT_TRUE(admits({{"s", 0}}));
}

TEST_P(CostCases, P65_LimitsOfNothingAreRefused) {
  for (const LimitList& limits :
       {LimitList{Limit::per_minute("r", 0)}, LimitList{Limit::per_minute("r", -1)},
        LimitList{Limit::rate("r", 10, 1, 0s)}, LimitList{Limit::rate("r", 10, 1, -1s)},
        LimitList{Limit::session("r", 0, 1h)}, LimitList{Limit::session("r", 10, 0s)},
        LimitList{Limit::calendar("r", 0, "0 * * * *")}}) {
    Result<LimitsChange> refused = limiter->set_limits(kUser, kApi, limits);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(limiter->get_limits(Scope::entity_resource(kUser, kApi)).error().code(),
            ErrorCode::kNotFound);
}

TEST_P(CostCases, P67_NothingWrapsAtTheExtremes) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_FALSE(limiter->set_limits(kUser, kApi, {Limit::per_second("r", kMost)}));
  set({Limit::per_second("r", kMaxConfiguredTokens),
       Limit::session("s", kMaxConfiguredTokens, 1h)});
  EXPECT_EQ(code_of({{"r", kMost}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of({{"r", std::numeric_limits<std::uint64_t>::max()}}),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of({{"r", MilliTokens(kMost)}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of({{"r", -1}}), ErrorCode::kInvalidArgument);
  EXPECT_TRUE(admits({{"r", kMaxConfiguredTokens}, {"s", kMaxConfiguredTokens}}));
  EXPECT_FALSE(admits({{"s", kMaxConfiguredTokens}}));
  Decision beyond = acquire({{"s", kMaxTokens}});
  ASSERT_EQ(beyond.outcome(), Outcome::kRejected);
  EXPECT_TRUE(beyond.rejection().never_fits);
  // A debt is bounded by what one lease may take; a counter that would wrap refuses the write.
  Decision first = acquire({{"r", 0}});
  ASSERT_TRUE(first.lease().adjust("r", 8'000'000'000'000'000).ok());
  EXPECT_EQ(first.lease().adjust("r", kMaxTokens).error().code(), ErrorCode::kInvalidArgument);
  ASSERT_TRUE(first.lease().settle().ok());
  EXPECT_EQ(left("r"), -8'000'000'000'000'000);
  EXPECT_FALSE(admits({{"r", 1}}));
  clock.advance(9s);
  EXPECT_EQ(left("r"), kMaxConfiguredTokens);
  Result<Decision> beyond_64_bits = try_acquire({{"r", kMaxConfiguredTokens}});
  // The service counts to 38 digits.
  bool counted = GetParam() == "dynamodb";
  ASSERT_EQ(beyond_64_bits.ok(), counted);
  EXPECT_EQ(left("r"), counted ? 0 : kMaxConfiguredTokens);
  clock.advance(1s);
  EXPECT_TRUE(admits({{"r", 1}}));
  EXPECT_EQ(left("r"), kMaxConfiguredTokens - 1);
}

TEST_P(CostCases, P68_TenthsAddUpExactly) {
  set({Limit::session("s", 25, 1h)});
  Decision decision = acquire({{"s", 0}});
  for (int i = 0; i < 250; ++i) {
    ASSERT_TRUE(decision.lease().adjust("s", MilliTokens(100)).ok());
  }
  EXPECT_EQ(decision.lease().consumed("s"), MilliTokens(25'000));
  ASSERT_TRUE(decision.lease().settle().ok());
  EXPECT_EQ(status("s").remaining, MilliTokens(0));
  EXPECT_TRUE(admits({{"s", 0}}));
  EXPECT_FALSE(admits({{"s", MilliTokens(1)}}));
}

TEST_P(CostCases, P68_TenthsAddUpExactlyOverManyLeases) {
  set({Limit::session("s", 25, 1h)});
  EXPECT_EQ(admitted(300, {{"s", MilliTokens(100)}}), 250);
  EXPECT_EQ(status("s").remaining, MilliTokens(0));
}

}  // namespace
}  // namespace stint::test
