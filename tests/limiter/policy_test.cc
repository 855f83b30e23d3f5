// Access policy and soft limits: refused, waved through, counted without refusing (decision 31).
#include <gtest/gtest.h>

#include <string>

#include "stint/limiter.h"
#include "tests/limiter/support.h"

namespace stint::test {
namespace {

class Policy : public LimiterTest {
 protected:
  static constexpr std::int64_t kToken = 1000;

  static LimitList ten_an_hour() { return {Limit::rate("rph", 10, 10, 3600s)}; }
  static LimitList soft_ten_an_hour() {
    return {Limit::rate("rph", 10, 10, 3600s).value().as_soft()};
  }
  void set_access(const Scope& scope, AccessPolicy access) {
    limiter->set_limits(scope, ten_an_hour(), {.access = access}).value();
  }
};
STINT_ON_EVERY_STORE(Policy);

TEST_P(Policy, DisabledIsADecisionOfItsOwnAndTakesNothing) {
  set_access(Scope::resource(kApi), AccessPolicy::kDisabled);

  Decision refused = acquire({{"rph", 1}});

  EXPECT_FALSE(refused);
  ASSERT_EQ(refused.outcome(), Outcome::kDisabled);
  EXPECT_EQ(refused.disabled_entity(), kUser);
  EXPECT_EQ(refused.disabled_resource(), kApi);
  EXPECT_EQ(refused.disabled_level(), "resource");
  EXPECT_FALSE(bucket());
  EXPECT_EQ(events.count(EventKind::kDisabled), 1);
}

TEST_P(Policy, R72_R78_DisablingReachesExistingBucketsOfAllProcessesAtOnce) {
  limiter->set_limits(Scope::resource(kApi), ten_an_hour()).value();
  ASSERT_TRUE(admits({{"rph", 1}}));
  Limiter admin = another_limiter();
  admin.set_limits(Scope::resource(kApi), ten_an_hour(), {.access = AccessPolicy::kDisabled})
      .value();

  EXPECT_EQ(acquire({{"rph", 1}}).outcome(), Outcome::kDisabled);
  admin.set_limits(Scope::resource(kApi), ten_an_hour(), {.access = AccessPolicy::kEnforce})
      .value();

  EXPECT_TRUE(admits({{"rph", 1}}));
  EXPECT_EQ(left("rph"), 8);
}

TEST_P(Policy, StampsOfAnotherFormAreNotPassedOver) {
  // Neither refuses access nor bypasses it, but no write of ours can tell.
  struct Stamp {
    const char* name;
    store::Value value;
  };
  const Stamp odd[] = {
      {"disabled", store::Value::boolean(false)},
      {"disabled", store::Value::string("no")},
      {"bypass", store::Value::string("soon")},
  };
  limiter->set_limits(Scope::resource(kApi), ten_an_hour()).value();
  int count = 0;
  for (const Stamp& stamp : odd) {
    std::string entity = "user-" + std::to_string(++count);
    ASSERT_TRUE(admits({{"rph", 1}}, entity));
    edit_bucket(
        [&](store::ImageBuilder& item) { item.set(store::intern(stamp.name), stamp.value); },
        entity);
    limiter->forget_caches();
    clock.advance(1s);  // the locked form

    Result<Decision> decision = try_acquire({{"rph", 1}}, entity);

    ASSERT_FALSE(decision) << stamp.name;
    EXPECT_EQ(decision.error().code(), ErrorCode::kConflict) << stamp.name;
    EXPECT_EQ(field("rph", "tc", entity), 1'000) << stamp.name;
  }
}

TEST_P(Policy, CarveOutOfAnEntityStands) {
  set_access(Scope::resource(kApi), AccessPolicy::kDisabled);
  limiter->set_limits("allowed", kApi, ten_an_hour()).value();
  EXPECT_EQ(acquire({{"rph", 1}}, "allowed").outcome(), Outcome::kDisabled);
  set_access(Scope::entity_resource("allowed", kApi), AccessPolicy::kEnforce);
  set_access(Scope::entity("free"), AccessPolicy::kBypass);

  EXPECT_TRUE(admits({{"rph", 1}}, "allowed"));
  EXPECT_EQ(admitted(20, {{"rph", 1}}, "free"), 20);
  EXPECT_EQ(acquire({{"rph", 1}}, "other").outcome(), Outcome::kDisabled);
}

TEST_P(Policy, FlagWithoutLimitsGatesBucketsOfLimitsPassedWithCalls) {
  AcquireRequest request{
      .entity = kUser, .resource = kApi, .consume = {{"rph", 1}}, .limits = ten_an_hour()};
  ASSERT_TRUE(limiter->acquire(request).value());
  limiter->set_limits(Scope::resource(kApi), {}, {.access = AccessPolicy::kDisabled}).value();
  EXPECT_EQ(limiter->acquire(request).value().outcome(), Outcome::kDisabled);

  limiter->delete_limits(Scope::resource(kApi)).value();

  EXPECT_TRUE(limiter->acquire(request).value());
  EXPECT_EQ(field("rph", "tk"), 8 * kToken);
}

TEST_P(Policy, R67_DisabledParentOutranksAShortChild) {
  limiter->create_entity("parent").value();
  limiter->create_entity("child", {.parent = "parent", .cascade = true}).value();
  limiter->set_limits(Scope::resource(kApi), ten_an_hour()).value();
  limiter->set_limits("parent", kApi, {Limit::rate("rph", 1'000, 1, 3600s)}).value();
  ASSERT_EQ(admitted(12, {{"rph", 1}}, "child"), 10);
  limiter
      ->set_limits(Scope::entity_resource("parent", kApi), {Limit::rate("rph", 1'000, 1, 3600s)},
                   {.access = AccessPolicy::kDisabled})
      .value();

  Decision refused = acquire({{"rph", 1}}, "child");

  ASSERT_EQ(refused.outcome(), Outcome::kDisabled);
  EXPECT_EQ(refused.disabled_entity(), "parent");
}

TEST_P(Policy, R68_ChangeByThisProcessIsNotAnsweredFromWhatWasRememberedBefore) {
  limiter->set_limits(kUser, kApi, ten_an_hour()).value();
  ASSERT_EQ(admitted(12, {{"rph", 1}}), 10);

  limiter->set_limits(kUser, kApi, {Limit::rate("rph", 20, 10, 3600s)}).value();
  clock.advance(6min);

  EXPECT_TRUE(admits({{"rph", 1}}));
  limiter->set_limits(kUser, kApi, soft_ten_an_hour()).value();
  EXPECT_TRUE(admits({{"rph", 5}}));
}

TEST_P(Policy, R69_OwnRefundEndsARememberedShortage) {
  limiter->set_limits(kUser, kApi, ten_an_hour()).value();
  Decision holder = acquire({{"rph", 10}});
  ASSERT_FALSE(admits({{"rph", 1}}));
  ASSERT_FALSE(admits({{"rph", 1}}));

  ASSERT_TRUE(holder.lease().release("rph", 3).ok());
  ASSERT_TRUE(holder.lease().settle().ok());

  EXPECT_EQ(admitted(5, {{"rph", 1}}), 3);
}

TEST_P(Policy, R69_RefundByAnotherProcessIsSeenAfterTheShortageGrewOld) {
  limiter->set_limits(kUser, kApi, ten_an_hour()).value();
  Limiter other = another_limiter();
  Decision holder =
      other.acquire({.entity = kUser, .resource = kApi, .consume = {{"rph", 10}}}).value();
  ASSERT_FALSE(admits({{"rph", 1}}));
  ASSERT_TRUE(holder.lease().roll_back().ok());

  clock.advance(1s);

  EXPECT_TRUE(admits({{"rph", 1}}));
}

TEST_P(Policy, R74_RefundIsCountedOnceHoweverManyRememberIt) {
  limiter->set_limits(kUser, kApi, {Limit::rate("rph", 2, 1, 3600s)}).value();
  Limiter other = another_limiter();
  AcquireRequest one{.entity = kUser, .resource = kApi, .consume = {{"rph", 1}}};
  ASSERT_TRUE(other.acquire(one).value());
  Decision second = acquire({{"rph", 1}});
  ASSERT_TRUE(second);
  ASSERT_FALSE(other.acquire(one).value());

  ASSERT_TRUE(second.lease().roll_back().ok());

  clock.advance(1s);
  int granted = admitted(2, {{"rph", 1}});
  for (int i = 0; i < 2; ++i) granted += other.acquire(one).value() ? 1 : 0;
  EXPECT_EQ(granted, 1);
}

TEST_P(Policy, R67_DisabledChildIsNotAShortChild) {
  limiter->set_limits(kUser, kApi, ten_an_hour()).value();
  ASSERT_EQ(admitted(12, {{"rph", 1}}), 10);
  Limiter admin = another_limiter();
  admin
      .set_limits(Scope::entity_resource(kUser, kApi), ten_an_hour(),
                  {.access = AccessPolicy::kDisabled})
      .value();

  clock.advance(1s);

  EXPECT_EQ(acquire({{"rph", 1}}).outcome(), Outcome::kDisabled);
}

TEST_P(Policy, BypassCountsAndMovesNoBalance) {
  limiter
      ->set_limits(kUser, kApi,
                   {Limit::rate("rph", 10, 10, 3600s), Limit::session("session", 10, 1h)})
      .value();
  ASSERT_TRUE(admits({{"rph", 4}, {"session", 0}}));
  limiter
      ->set_limits(Scope::entity_resource(kUser, kApi),
                   {Limit::rate("rph", 10, 10, 3600s), Limit::session("session", 10, 1h)},
                   {.access = AccessPolicy::kBypass})
      .value();

  Decision decision = acquire({{"rph", 500}, {"session", 500}});

  ASSERT_TRUE(decision);
  EXPECT_TRUE(decision.lease().bypassed());
  EXPECT_EQ(field("rph", "tk"), 6 * kToken);
  EXPECT_EQ(field("rph", "tc"), 504 * kToken);
  EXPECT_EQ(field("session", "ws"), std::nullopt);
  ASSERT_TRUE(decision.lease().adjust("rph", 7).ok());
  ASSERT_TRUE(decision.lease().settle().ok());
  EXPECT_EQ(field("rph", "tk"), 6 * kToken);
  EXPECT_EQ(field("rph", "tc"), 511 * kToken);

  // Clearing it leaves no debt.
  set_access(Scope::entity_resource(kUser, kApi), AccessPolicy::kEnforce);
  EXPECT_EQ(left("rph"), 6);
}

TEST_P(Policy, BucketMadeUnderBypassIsFunded) {
  set_access(Scope::entity_resource(kUser, kApi), AccessPolicy::kBypass);
  ASSERT_TRUE(admits({{"rph", 50}}));
  EXPECT_EQ(field("rph", "tk"), 10 * kToken);
  EXPECT_EQ(field("rph", "tc"), 50 * kToken);

  set_access(Scope::entity_resource(kUser, kApi), AccessPolicy::kEnforce);

  EXPECT_EQ(admitted(12, {{"rph", 1}}), 10);
}

TEST_P(Policy, R88_BypassClearedElsewhereEndsWithOneFailedWrite) {
  set_access(Scope::entity_resource(kUser, kApi), AccessPolicy::kBypass);
  ASSERT_EQ(admitted(30, {{"rph", 1}}), 30);
  Limiter admin = another_limiter();
  admin
      .set_limits(Scope::entity_resource(kUser, kApi), ten_an_hour(),
                  {.access = AccessPolicy::kEnforce})
      .value();

  EXPECT_EQ(admitted(30, {{"rph", 1}}), 10);
}

TEST_P(Policy, R88_BypassStampThatIsNotRenewedExpires) {
  limiter->set_limits(kUser, kApi, ten_an_hour()).value();
  ASSERT_TRUE(admits({{"rph", 1}}));
  // A stamp left behind by a program that did not come to clear it.
  TimePoint until = clock.now() + 30s;
  edit_bucket([&](store::ImageBuilder& item) {
    item.set(store::intern("bypass"), until.time_since_epoch().count());
  });
  limiter->forget_caches();
  EXPECT_EQ(admitted(30, {{"rph", 1}}), 30);

  clock.set(until);

  EXPECT_EQ(admitted(30, {{"rph", 1}}), 9);
}

TEST_P(Policy, BypassIsRenewedWhileTheConfigurationSaysSo) {
  set_access(Scope::entity_resource(kUser, kApi), AccessPolicy::kBypass);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(admitted(15, {{"rph", 1}}), 15);
    clock.advance(50s);
  }
}

TEST_P(Policy, R89_BypassSetElsewhereIsLearntAndLeavesNoDebt) {
  limiter->set_limits(kUser, kApi, ten_an_hour()).value();
  ASSERT_TRUE(admits({{"rph", 1}}));
  Limiter admin = another_limiter();
  admin
      .set_limits(Scope::entity_resource(kUser, kApi), ten_an_hour(),
                  {.access = AccessPolicy::kBypass})
      .value();

  // This process still enforces by what it remembers.
  EXPECT_EQ(admitted(30, {{"rph", 1}}), 30);

  EXPECT_EQ(field("rph", "tk"), 9 * kToken);
  EXPECT_EQ(field("rph", "tc"), 31 * kToken);
}

TEST_P(Policy, ChildsBypassDoesNotRelaxTheParent) {
  limiter->create_entity("parent").value();
  limiter->create_entity("child", {.parent = "parent", .cascade = true}).value();
  limiter->set_limits(Scope::resource(kApi), ten_an_hour()).value();
  set_access(Scope::entity_resource("child", kApi), AccessPolicy::kBypass);

  EXPECT_EQ(admitted(30, {{"rph", 1}}, "child"), 10);
  EXPECT_EQ(field("rph", "tc", "child"), 10 * kToken);
  EXPECT_EQ(field("rph", "tk", "child"), 10 * kToken);
}

TEST_P(Policy, SoftLimitIsCountedIntoDebtAndNeverRefuses) {
  limiter->set_limits(kUser, kApi, soft_ten_an_hour()).value();

  EXPECT_EQ(admitted(15, {{"rph", 1}}), 15);

  Decision decision = acquire({{"rph", 10}});
  ASSERT_TRUE(decision);
  LimitStatus status = find_status(decision.limits(), "rph");
  EXPECT_TRUE(status.soft);
  EXPECT_TRUE(status.overdrawn());
  EXPECT_FALSE(status.exceeded);
  EXPECT_EQ(status.remaining, MilliTokens(-15 * kToken));
  EXPECT_EQ(status.retry_after, std::optional<Millis>(0ms));
}

TEST_P(Policy, HardLimitBesideASoftOneStillGates) {
  limiter
      ->set_limits(
          kUser, kApi,
          {Limit::rate("soft", 5, 1, 3600s).value().as_soft(), Limit::rate("hard", 8, 1, 3600s)})
      .value();

  EXPECT_EQ(admitted(20, {{"soft", 1}, {"hard", 1}}), 8);

  EXPECT_EQ(left("soft"), -3);
}

TEST_P(Policy, SoftQuotasResetForgivesTheDebt) {
  limiter->set_limits(kUser, kApi, {Limit::calendar("daily", 5, "0 0 * * *").value().as_soft()})
      .value();
  ASSERT_EQ(admitted(20, {{"daily", 1}}), 20);
  EXPECT_EQ(left("daily"), -15);

  clock.advance(24h);

  EXPECT_EQ(left("daily"), 5);
}

TEST_P(Policy, R87_OnlyConfigurationReadJustNowMakesSoft) {
  limiter->set_limits(kUser, kApi, soft_ten_an_hour()).value();
  ASSERT_EQ(admitted(12, {{"rph", 1}}), 12);
  Limiter admin = another_limiter();
  admin.set_limits(kUser, kApi, ten_an_hour()).value();

  // This process still holds the old configuration; the stamp on the bucket decides.
  EXPECT_FALSE(admits({{"rph", 1}}));
  EXPECT_FALSE(bucket()->has(store::intern("b_rph_soft")));
}

TEST_P(Policy, R87_SoftnessOfAResourceReachesBucketsAtOnceBothWays) {
  limiter->set_limits(Scope::resource(kApi), ten_an_hour()).value();
  ASSERT_EQ(admitted(12, {{"rph", 1}}), 10);
  Limiter admin = another_limiter();
  admin.set_limits(Scope::resource(kApi), soft_ten_an_hour()).value();
  clock.advance(1s);
  EXPECT_TRUE(admits({{"rph", 5}}));

  admin.set_limits(Scope::resource(kApi), ten_an_hour()).value();
  clock.advance(1s);

  EXPECT_FALSE(admits({{"rph", 1}}));
}

TEST_P(Policy, SoftStampIsRenewedWhileTheConfigurationSaysSo) {
  limiter->set_limits(kUser, kApi, soft_ten_an_hour()).value();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(admitted(8, {{"rph", 1}}), 8);
    std::int64_t stamp = field("rph", "soft").value();
    std::int64_t now = clock.now().time_since_epoch().count();
    EXPECT_GT(stamp, now);
    EXPECT_LE(stamp, now + 60'000);
    clock.advance(45s);
  }
}

TEST_P(Policy, SoftStampThatIsNotRenewedExpires) {
  limiter->set_limits(kUser, kApi, ten_an_hour()).value();
  ASSERT_TRUE(admits({{"rph", 1}}));
  TimePoint until = clock.now() + 30s;
  set_field("rph", "soft", until.time_since_epoch().count());
  limiter->forget_caches();
  EXPECT_EQ(admitted(20, {{"rph", 1}}), 20);

  clock.set(until);

  EXPECT_FALSE(admits({{"rph", 1}}));
}

TEST_P(Policy, SoftByTheCallsOwnLimitsStampsNothing) {
  LimitList soft = soft_ten_an_hour();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(
        limiter
            ->acquire({.entity = kUser, .resource = kApi, .consume = {{"rph", 6}}, .limits = soft})
            .value());
  }
  EXPECT_EQ(field("rph", "soft"), std::nullopt);
  EXPECT_EQ(field("rph", "tk"), -8 * kToken);
  EXPECT_FALSE(
      limiter
          ->acquire(
              {.entity = kUser, .resource = kApi, .consume = {{"rph", 1}}, .limits = ten_an_hour()})
          .value());
}

TEST_P(Policy, AvailabilityTellsThePolicy) {
  set_access(Scope::resource(kApi), AccessPolicy::kDisabled);
  Availability refused = limiter->available(kUser, kApi, {{"rph", 1}}).value();
  EXPECT_EQ(refused.access, AccessPolicy::kDisabled);
  EXPECT_FALSE(refused.fits);
  EXPECT_EQ(refused.wait, std::nullopt);

  set_access(Scope::resource(kApi), AccessPolicy::kBypass);
  Availability passed = limiter->available(kUser, kApi, {{"rph", 100}}).value();
  EXPECT_EQ(passed.access, AccessPolicy::kBypass);
  EXPECT_TRUE(passed.fits);
}

}  // namespace
}  // namespace stint::test
