// Leases: correcting what was taken, giving it back, and to which period it belongs.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "limiter/store_handle.h"
#include "stint/limiter.h"
#include "testing/faulty_store.h"
#include "tests/limiter/support.h"

namespace stint::test {
namespace {

class LeaseOf : public LimiterTest {
 protected:
  static constexpr std::int64_t kToken = 1000;

  std::int64_t balance(const std::string& limit) { return field(limit, "tk").value(); }
};
STINT_ON_EVERY_STORE(LeaseOf);

TEST_P(LeaseOf, Decision15_SettleAfterARestSpendsTheRefillFirst) {
  limiter->set_limits(kUser, kApi, {Limit::rate("bucket", 100, 20, 1s)}).value();
  Decision decision = acquire({{"bucket", 1}});
  ASSERT_TRUE(decision);
  clock.advance(10s);

  ASSERT_TRUE(decision.lease().adjust("bucket", 90).ok());
  ASSERT_TRUE(decision.lease().settle().ok());

  EXPECT_EQ(left("bucket"), 10);
  EXPECT_EQ(admitted(100, {{"bucket", 1}}), 10);
}

TEST_P(LeaseOf, CorrectionsOfOneLeaseAreOneWrite) {
  limiter->set_limits(kUser, kApi, {Limit::per_hour("in", 100), Limit::per_hour("out", 100)})
      .value();
  Decision decision = acquire({{"in", 10}, {"out", 20}});
  ASSERT_TRUE(decision);
  Lease& lease = decision.lease();
  Spent collected = spent_by([&] {
    ASSERT_TRUE(lease.adjust("in", 5).ok());
    ASSERT_TRUE(lease.adjust("in", -2).ok());
    ASSERT_TRUE(lease.release("out", 12).ok());
    EXPECT_TRUE(lease.consume("in", 7).value());
  });
  EXPECT_EQ(collected, kNothingAsked);
  EXPECT_EQ(lease.consumed("in"), MilliTokens(20 * kToken));
  EXPECT_EQ(lease.consumed("out"), MilliTokens(8 * kToken));

  Spent settled = spent_by([&] { ASSERT_TRUE(lease.settle().ok()); });

  EXPECT_EQ(settled, kOneWrite);
  EXPECT_EQ(left("in"), 80);
  EXPECT_EQ(left("out"), 92);
  EXPECT_EQ(field("in", "tc"), 20 * kToken);
  EXPECT_EQ(field("out", "tc"), 8 * kToken);
}

TEST_P(LeaseOf, SettlesOnceAndThenHasEnded) {
  limiter->set_limits(kUser, kApi, {Limit::per_hour("rph", 100)}).value();
  Decision decision = acquire({{"rph", 10}});
  Lease& lease = decision.lease();
  ASSERT_TRUE(lease.adjust("rph", 5).ok());
  ASSERT_TRUE(lease.settle().ok());

  EXPECT_FALSE(lease.open());
  EXPECT_EQ(lease.settle().error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(lease.roll_back().error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(lease.adjust("rph", 1).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(lease.consume("rph", 1).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(left("rph"), 85);
}

TEST_P(LeaseOf, OutOfScopeItSettlesAndUnwindingItRollsBack) {
  limiter->set_limits(kUser, kApi, {Limit::per_hour("rph", 100)}).value();
  {
    Decision decision = acquire({{"rph", 10}});
    ASSERT_TRUE(decision.lease().adjust("rph", 5).ok());
  }
  EXPECT_EQ(left("rph"), 85);
  try {
    Decision decision = acquire({{"rph", 10}});
    EXPECT_TRUE(decision.lease().adjust("rph", 5).ok());
    throw std::runtime_error("the work failed");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(left("rph"), 85);
  EXPECT_EQ(field("rph", "tc"), 15 * kToken);
}

TEST_P(LeaseOf, MovedLeaseIsSettledByItsNewOwnerOnly) {
  limiter->set_limits(kUser, kApi, {Limit::per_hour("rph", 100)}).value();
  {
    Lease kept;
    {
      Decision decision = acquire({{"rph", 10}});
      ASSERT_TRUE(decision.lease().adjust("rph", 5).ok());
      kept = std::move(decision.lease());
    }
    EXPECT_EQ(left("rph"), 90);
    EXPECT_TRUE(kept.open());
  }
  EXPECT_EQ(left("rph"), 85);
}

TEST_P(LeaseOf, Decision4_GivesBackNeverMoreThanWasTaken) {
  limiter->set_limits(kUser, kApi, {Limit::per_hour("rph", 100), Limit::per_hour("other", 9)})
      .value();
  Decision decision = acquire({{"rph", 10}});
  Lease& lease = decision.lease();

  EXPECT_EQ(lease.adjust("rph", -11).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(lease.release("rph", 11).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(lease.release("rph", -1).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(lease.adjust("other", 1).error().code(), ErrorCode::kInvalidArgument);
  ASSERT_TRUE(lease.release("rph", 4).ok());
  EXPECT_EQ(lease.release("rph", 7).error().code(), ErrorCode::kInvalidArgument);
  ASSERT_TRUE(lease.release("rph", 6).ok());
  ASSERT_TRUE(lease.settle().ok());

  EXPECT_EQ(left("rph"), 100);
  EXPECT_EQ(left("other"), 9);
  EXPECT_EQ(field("rph", "tc"), 0);
}

TEST_P(LeaseOf, R27_AdjustOfALimitDeclaredWithZeroIsCounted) {
  limiter->set_limits(kUser, kApi, {Limit::per_hour("rph", 10), Limit::per_hour("tokens", 100)})
      .value();
  // Also at the second acquire, when the bucket is known.
  for (int i = 1; i <= 2; ++i) {
    Decision decision = acquire({{"rph", 1}, {"tokens", 0}});
    ASSERT_TRUE(decision);
    ASSERT_TRUE(decision.lease().adjust("tokens", 30).ok());
    ASSERT_TRUE(decision.lease().settle().ok());
    EXPECT_EQ(left("tokens"), 100 - 30 * i);
  }
}

TEST_P(LeaseOf, Decision3_SettleOpensTheWindowOfALimitDeclaredWithZero) {
  limiter->set_limits(kUser, kApi, {Limit::per_hour("rph", 10), Limit::session("session", 100, 1h)})
      .value();
  Decision decision = acquire({{"rph", 1}, {"session", 0}});
  ASSERT_TRUE(decision);
  clock.advance(10min);
  TimePoint settled_at = clock.now();

  ASSERT_TRUE(decision.lease().adjust("session", 60).ok());
  ASSERT_TRUE(decision.lease().settle().ok());

  EXPECT_EQ(left("session"), 40);
  EXPECT_EQ(show(status("session").resets_at), show(settled_at + 1h));
}

TEST_P(LeaseOf, Decision3_SettleOfNothingButZerosCreatesTheBucketItDebits) {
  limiter->set_limits(kUser, kApi, {Limit::session("session", 100, 1h)}).value();
  Decision decision = acquire({{"session", 0}});
  ASSERT_TRUE(decision);
  ASSERT_FALSE(bucket());

  ASSERT_TRUE(decision.lease().adjust("session", 60).ok());
  ASSERT_TRUE(decision.lease().settle().ok());

  EXPECT_EQ(left("session"), 40);
  EXPECT_EQ(status("session").window, WindowState::kRunning);
}

TEST_P(LeaseOf, Decision3_OverdraftBySettlesEndsWithTheWindow) {
  limiter->set_limits(kUser, kApi, {Limit::session("session", 10, 1h)}).value();
  Decision decision = acquire({{"session", 10}});
  ASSERT_TRUE(decision.lease().adjust("session", 90).ok());
  ASSERT_TRUE(decision.lease().settle().ok());
  EXPECT_EQ(left("session"), -90);
  EXPECT_FALSE(admits({{"session", 0}}));

  clock.advance(1h);

  EXPECT_EQ(left("session"), 10);
  EXPECT_EQ(admitted(12, {{"session", 1}}), 10);
}

TEST_P(LeaseOf, Decision4_CreditOfAPastWindowLeavesTheNewOneAlone) {
  limiter->set_limits(kUser, kApi, {Limit::session("session", 100, 1h)}).value();
  Decision old = acquire({{"session", 60}});
  clock.advance(1h);
  Decision current = acquire({{"session", 30}});
  ASSERT_TRUE(current);

  ASSERT_TRUE(old.lease().release("session", 50).ok());
  ASSERT_TRUE(old.lease().settle().ok());

  EXPECT_EQ(left("session"), 70);
  EXPECT_EQ(field("session", "tc"), 40 * kToken);
  EXPECT_EQ(show(status("session").resets_at), show(clock.now() + 1h));
}

TEST_P(LeaseOf, Decision4_CreditAfterTheWindowsEndRevivesNothing) {
  limiter->set_limits(kUser, kApi, {Limit::session("session", 100, 1h)}).value();
  Decision old = acquire({{"session", 60}});
  clock.advance(2h);

  ASSERT_TRUE(old.lease().roll_back().ok());

  EXPECT_EQ(status("session").window, WindowState::kNotStarted);
  EXPECT_EQ(left("session"), 100);
  EXPECT_EQ(admitted(110, {{"session", 1}}), 100);
}

TEST_P(LeaseOf, Decision4_CreditOfAPastCalendarPeriodLeavesTheNewOneAlone) {
  limiter->set_limits(kUser, kApi, {Limit::calendar("hourly", 100, "0 * * * *")}).value();
  Decision old = acquire({{"hourly", 60}});
  clock.advance(1h);
  // Before and after the first write of the new period.
  ASSERT_TRUE(old.lease().release("hourly", 50).ok());
  ASSERT_TRUE(old.lease().settle().ok());
  EXPECT_EQ(left("hourly"), 100);
  EXPECT_EQ(field("hourly", "tc"), 10 * kToken);

  Decision second = acquire({{"hourly", 40}});
  clock.advance(1h);
  ASSERT_TRUE(admits({{"hourly", 30}}));
  ASSERT_TRUE(second.lease().roll_back().ok());

  EXPECT_EQ(left("hourly"), 70);
  EXPECT_EQ(admitted(100, {{"hourly", 1}}), 70);
}

TEST_P(LeaseOf, Decision4_FurtherDebitBelongsToThePeriodOfTheSettle) {
  limiter
      ->set_limits(
          kUser, kApi,
          {Limit::calendar("hourly", 100, "0 * * * *"), Limit::session("session", 100, 30min)})
      .value();
  Decision decision = acquire({{"hourly", 60}, {"session", 60}});
  clock.advance(1h);

  ASSERT_TRUE(decision.lease().adjust("hourly", 5).ok());
  ASSERT_TRUE(decision.lease().adjust("session", 5).ok());
  ASSERT_TRUE(decision.lease().settle().ok());

  EXPECT_EQ(left("hourly"), 95);
  EXPECT_EQ(left("session"), 95);
  EXPECT_EQ(show(status("session").resets_at), show(clock.now() + 30min));
}

TEST_P(LeaseOf, Decision4_CreditWithinThePeriodIsSpendableAgain) {
  limiter
      ->set_limits(
          kUser, kApi,
          {Limit::calendar("hourly", 10, "0 * * * *"), Limit::session("session", 10, 30min)})
      .value();
  Decision decision = acquire({{"hourly", 10}, {"session", 10}});
  clock.advance(20min);
  ASSERT_FALSE(admits({{"hourly", 1}}));

  ASSERT_TRUE(decision.lease().release("hourly", 4).ok());
  ASSERT_TRUE(decision.lease().release("session", 4).ok());
  ASSERT_TRUE(decision.lease().settle().ok());

  EXPECT_EQ(admitted(10, {{"hourly", 1}, {"session", 1}}), 4);
}

TEST_P(LeaseOf, R45_CreditNeverLiftsABalanceAboveItsCeiling) {
  limiter->set_limits(kUser, kApi, {Limit::rate("bucket", 100, 100, 60s)}).value();
  Decision decision = acquire({{"bucket", 50}});
  clock.advance(60s);  // refilled whole

  ASSERT_TRUE(decision.lease().roll_back().ok());

  EXPECT_EQ(left("bucket"), 100);
  EXPECT_EQ(admitted(300, {{"bucket", 1}}), 100);
}

TEST_P(LeaseOf, R45_CreditAfterACutOfTheCapacityIsCutAsWell) {
  limiter
      ->set_limits(kUser, kApi,
                   {Limit::rate("bucket", 100, 1, 3600s), Limit::session("session", 100, 5h)})
      .value();
  Decision decision = acquire({{"bucket", 50}, {"session", 50}});
  limiter
      ->set_limits(kUser, kApi,
                   {Limit::rate("bucket", 10, 1, 3600s), Limit::session("session", 60, 5h)})
      .value();
  ASSERT_EQ(left("bucket"), 10);
  ASSERT_EQ(left("session"), is_shared(GetParam()) ? 50 : 10);

  ASSERT_TRUE(decision.lease().roll_back().ok());

  EXPECT_EQ(left("bucket"), 10);
  EXPECT_EQ(left("session"), 60);
  EXPECT_EQ(admitted(300, {{"bucket", 1}}), 10);
  EXPECT_EQ(admitted(300, {{"session", 1}}), 60);
}

TEST_P(LeaseOf, ConsumeWithinTheLeaseGoesByWhatItLastSaw) {
  limiter->set_limits(kUser, kApi, {Limit::per_hour("tokens", 100)}).value();
  Decision decision = acquire({{"tokens", 40}});
  Lease& lease = decision.lease();

  EXPECT_TRUE(lease.consume("tokens", 50).value());
  EXPECT_FALSE(lease.consume("tokens", 11).value());
  EXPECT_TRUE(lease.consume("tokens", 10).value());
  EXPECT_EQ(lease.consumed("tokens"), MilliTokens(100 * kToken));
  ASSERT_TRUE(lease.settle().ok());

  EXPECT_EQ(left("tokens"), 0);
}

TEST_P(LeaseOf, R62_OfAPartlyFailedSettleTheLandedPartStaysAndIsNotRepeated) {
  TempDirectory directory;
  auto faulty = std::make_shared<FaultyStore>(open_engine(GetParam(), directory.path()));
  Store store = limiter::open_store(faulty, {}).value();
  Limiter own(store, options());
  own.create_entity("parent").value();
  own.create_entity(kUser, {.parent = "parent", .cascade = true}).value();
  own.set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 100)}).value();
  auto left_of = [&](const char* entity) {
    Availability seen = own.available(entity, kApi).value();
    return find_status(seen.limits, "rph", entity).remaining.whole_tokens();
  };
  Decision decision =
      own.acquire({.entity = kUser, .resource = kApi, .consume = {{"rph", 10}}}).value();
  ASSERT_TRUE(decision.lease().adjust("rph", 5).ok());

  faulty->plan(Fault::unavailable().on(RequestKind::kUpdate, 2));
  Status settled = decision.lease().settle();

  ASSERT_FALSE(settled.ok());
  EXPECT_EQ(settled.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(left_of(kUser), 85);
  EXPECT_EQ(left_of("parent"), 90);
  ASSERT_TRUE(decision.lease().settle().ok());
  EXPECT_EQ(left_of(kUser), 85);
  EXPECT_EQ(left_of("parent"), 85);
  EXPECT_EQ(decision.lease().settle().error().code(), ErrorCode::kInvalidArgument);
}

TEST_P(LeaseOf, WhatItHoldsFollowsSettlingAndRollingBack) {
  limiter->set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 100)}).value();
  Decision settled = acquire({{"rph", 10}});
  ASSERT_TRUE(settled.lease().adjust("rph", -4).ok());
  ASSERT_TRUE(settled.lease().settle().ok());
  EXPECT_EQ(settled.lease().consumed("rph"), MilliTokens(6 * kToken));

  Decision returned = acquire({{"rph", 10}});
  ASSERT_TRUE(returned.lease().roll_back().ok());
  EXPECT_EQ(returned.lease().consumed("rph"), MilliTokens(0));
  EXPECT_EQ(left("rph"), 94);
}

TEST_P(LeaseOf, TroubleOfADestructorIsReportedNotThrown) {
  TempDirectory directory;
  auto faulty = std::make_shared<FaultyStore>(open_engine(GetParam(), directory.path()));
  Store store = limiter::open_store(faulty, {}).value();
  Limiter own(store, options());
  own.set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 100)}).value();
  {
    Decision decision =
        own.acquire({.entity = kUser, .resource = kApi, .consume = {{"rph", 10}}}).value();
    ASSERT_TRUE(decision.lease().adjust("rph", 5).ok());
    faulty->plan(Fault::unavailable().onwards());
  }
  ASSERT_EQ(events.count(EventKind::kLeaseTrouble), 1);
  Events::Seen trouble = events.last(EventKind::kLeaseTrouble);
  ASSERT_TRUE(trouble.error);
  EXPECT_EQ(trouble.error->code(), ErrorCode::kUnavailable);
  EXPECT_EQ(trouble.entity, kUser);
}

TEST_P(LeaseOf, BucketThatIsGoneTakesNoCredit) {
  limiter->create_entity(kUser).value();
  limiter->set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 100)}).value();
  Decision decision = acquire({{"rph", 10}});
  limiter->delete_entity(kUser).value();

  ASSERT_TRUE(decision.lease().roll_back().ok());

  EXPECT_FALSE(bucket());
}

TEST_P(LeaseOf, DebitOfALimitThatOnlyTheItemHasLeftIsCounted) {
  // A change for a resource reaches its buckets later: until then the item holds the limit.
  Scope resource = Scope::resource(kApi);
  limiter->set_limits(resource, {Limit::per_hour("kept", 100), Limit::per_hour("gone", 100)})
      .value();
  Decision decision = acquire({{"kept", 1}, {"gone", 1}});
  ASSERT_TRUE(decision);
  another_limiter().set_limits(resource, {Limit::per_hour("kept", 50)}).value();
  clock.advance(2min);
  ASSERT_TRUE(decision.lease().adjust("kept", 2).ok());
  ASSERT_TRUE(decision.lease().adjust("gone", 3).ok());
  Status settled = decision.lease().settle();
  ASSERT_TRUE(settled) << settled.error().message();
  EXPECT_EQ(field("kept", "tc"), 3 * kToken);
  EXPECT_EQ(field("gone", "tc"), 4 * kToken);
}

TEST_P(LeaseOf, CreditOfALimitThatIsConfiguredNoLongerIsDropped) {
  limiter->set_limits(kUser, kApi, {Limit::per_hour("rph", 100), Limit::per_hour("old", 100)})
      .value();
  Decision decision = acquire({{"rph", 10}, {"old", 10}});
  limiter->set_limits(kUser, kApi, {Limit::per_hour("rph", 100)}).value();

  ASSERT_TRUE(decision.lease().roll_back().ok());

  EXPECT_EQ(left("rph"), 100);
  EXPECT_EQ(field("old", "tk"), std::nullopt);
}

}  // namespace
}  // namespace stint::test
