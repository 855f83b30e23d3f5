// Cases from public reports: changes of configuration, precedence, namespaces (cases.md).
#include <gtest/gtest.h>

#include "tests/limiter/support.h"

namespace stint::test {
namespace {

class ConfigCases : public LimiterTest {
 protected:
  void set(const LimitList& limits) { limiter->set_limits(kUser, kApi, limits).value(); }
};
STINT_ON_EVERY_STORE(ConfigCases);

TEST_P(ConfigCases, P76_ASessionQuotasChangeIsHeededAtOnceAndUsedStaysUsed) {
  bool shared = is_shared(GetParam());
  set({Limit::session("s", 100, 5h)});
  ASSERT_TRUE(admits({{"s", 50}}));
  clock.advance(1h);
  set({Limit::session("s", 10, 5h)});
  LimitStatus lowered = status("s");
  EXPECT_EQ(lowered.capacity, MilliTokens(10'000));
  // On a shared table the balance is cut, and a raise adds nothing to it.
  EXPECT_EQ(lowered.remaining, MilliTokens(shared ? 10'000 : -40'000));
  EXPECT_EQ(show(lowered.resets_at), "2027-03-10T17:00Z");
  EXPECT_EQ(admits({{"s", 0}}), shared);
  set({Limit::session("s", 100, 5h)});
  EXPECT_EQ(left("s"), shared ? 10 : 50);
  EXPECT_EQ(show(status("s").resets_at), "2027-03-10T17:00Z");
}

TEST_P(ConfigCases, P76_ACalendarQuotasChangeIsHeededAtOnceAndUsedStaysUsed) {
  bool shared = is_shared(GetParam());
  set({Limit::calendar("c", 10, "0 0 * * *")});
  ASSERT_TRUE(admits({{"c", 10}}));
  clock.advance(1h);
  set({Limit::calendar("c", 100, "0 0 * * *")});
  EXPECT_EQ(left("c"), shared ? 0 : 90);
  EXPECT_EQ(show(status("c").resets_at), "2027-03-11T00:00Z");
  EXPECT_EQ(admits({{"c", 90}}), !shared);
  EXPECT_FALSE(admits({{"c", 1}}));
}

TEST_P(ConfigCases, P76_ChangesAtTheResourceLevelReachABucketWithinTheCachesAge) {
  bool shared = is_shared(GetParam());
  limiter->set_limits(Scope::resource(kApi), {Limit::session("s", 100, 5h)}).value();
  Limiter other = another_limiter();
  ASSERT_TRUE(admits({{"s", 50}}));
  other.set_limits(Scope::resource(kApi), {Limit::session("s", 10, 5h)}).value();
  clock.advance(61s);
  EXPECT_EQ(admits({{"s", 1}}), shared);
  EXPECT_EQ(left("s"), shared ? 9 : -40);
  other.set_limits(Scope::resource(kApi), {Limit::session("s", 100, 5h)}).value();
  clock.advance(61s);
  EXPECT_TRUE(admits({{"s", 1}}));
  EXPECT_EQ(left("s"), shared ? 8 : 49);
  EXPECT_EQ(show(status("s").resets_at), "2027-03-10T17:00Z");
}

TEST_P(ConfigCases, P77_OldTimeIsPricedAtTheOldRate) {
  set({Limit::rate("r", 1000, 1, 1s)});
  ASSERT_TRUE(admits({{"r", 1000}}));
  clock.advance(10s);
  set({Limit::rate("r", 1000, 100, 1s)});
  EXPECT_EQ(left("r"), 10);
  EXPECT_EQ(admitted(20, {{"r", 1}}), 10);
  clock.advance(1s);
  EXPECT_EQ(left("r"), 100);
}

TEST_P(ConfigCases, P77_OldTimeIsPricedAtTheOldRateAlsoWhenTheChangeIsFoundLater) {
  limiter->set_limits(Scope::system(), {Limit::rate("r", 1000, 100, 1s)}).value();
  ASSERT_TRUE(admits({{"r", 1000}}));
  clock.advance(2s);
  limiter->set_limits(Scope::system(), {Limit::rate("r", 1000, 1, 1s)}).value();
  // Until the bucket is touched the change is not stamped on it: the time up to there is old.
  EXPECT_EQ(admitted(300, {{"r", 1}}), 200);
  clock.advance(5s);
  EXPECT_EQ(admitted(10, {{"r", 1}}), 5);
}

TEST_P(ConfigCases, P79_NamespacesAreConfiguredApart) {
  LimiterOptions elsewhere = options();
  elsewhere.name_space = "elsewhere";
  Limiter other = another_limiter(elsewhere);
  set({Limit::session("s", 10, 5h)});
  AcquireRequest request{.entity = kUser, .resource = kApi, .consume = {{"s", 1}}};
  Result<Decision> unconfigured = other.acquire(request);
  ASSERT_FALSE(unconfigured);
  EXPECT_EQ(unconfigured.error().code(), ErrorCode::kInvalidArgument);
  other.set_limits(kUser, kApi, {Limit::session("s", 3, 1h)}).value();
  EXPECT_TRUE(admits({{"s", 10}}));
  EXPECT_EQ(other.acquire(request).value().limits().at(0).remaining, MilliTokens(2'000));
  EXPECT_EQ(
      limiter->get_limits(Scope::entity_resource(kUser, kApi)).value().limits.at(0).capacity(),
      Tokens(10));
}

TEST_P(ConfigCases, P80_TheMostSpecificLevelHoldsWhetherLargerOrSmaller) {
  limiter->set_limits(Scope::system(), {Limit::per_minute("r", 10)}).value();
  EXPECT_EQ(left("r"), 10);
  limiter->set_limits(Scope::resource(kApi), {Limit::per_minute("r", 20)}).value();
  EXPECT_EQ(left("r"), 20);
  limiter->set_limits(Scope::entity(kUser), {Limit::per_minute("r", 5)}).value();
  EXPECT_EQ(left("r"), 5);
  limiter->set_limits(kUser, kApi, {Limit::per_minute("r", 100)}).value();
  EXPECT_EQ(left("r"), 100);
  EXPECT_EQ(limiter->resolve_limits(kUser, kApi).value().level, ConfigLevel::kEntityResource);
  EXPECT_TRUE(admits({{"r", 100}}));
  EXPECT_EQ(left("r", "someone_else"), 20);
  EXPECT_EQ(limiter->resolve_limits("someone_else", kApi).value().level, ConfigLevel::kResource);
}

}  // namespace
}  // namespace stint::test
