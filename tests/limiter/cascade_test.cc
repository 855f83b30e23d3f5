// Debits that go on to the parent: one level up, all or none, wherever the child has moved to.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "schema/entity_item.h"
#include "schema/keys.h"
#include "stint/limiter.h"
#include "tests/limiter/support.h"

namespace stint::test {
namespace {

class Cascade : public LimiterTest {
 protected:
  static constexpr const char* kChild = "child";
  static constexpr const char* kParent = "parent";

  void create_family() {
    limiter->create_entity(kParent).value();
    limiter->create_entity(kChild, {.parent = kParent, .cascade = true}).value();
  }

  /// What a program that moves an entity does: the entity's record, then its buckets.
  void move_child(const std::string& new_parent, bool cascade = true) {
    store::Key key = schema::entity_key(name_space_id(), kChild);
    schema::EntityRecord record = schema::decode_entity(*item(key)).value();
    record.parent = new_parent;
    record.parent_generation += 1;
    record.cascade = cascade;
    put_item(schema::encode_entity(name_space_id(), record));
    edit_bucket(
        [&](store::ImageBuilder& item) {
          item.set(store::intern("parent_id"), new_parent);
          item.set(store::intern("pgen"), record.parent_generation);
          item.set(store::intern("cascade"), cascade);
        },
        kChild);
  }
};
STINT_ON_EVERY_STORE(Cascade);

TEST_P(Cascade, DebitsChildAndParentOnce) {
  create_family();
  limiter->set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10)}).value();

  Decision decision = acquire({{"rph", 3}}, kChild);

  ASSERT_TRUE(decision);
  ASSERT_EQ(decision.limits().size(), 2u);
  EXPECT_EQ(decision.limits()[0].entity, kChild);
  EXPECT_EQ(decision.limits()[1].entity, kParent);
  EXPECT_EQ(left("rph", kChild), 7);
  EXPECT_EQ(left("rph", kParent), 7);
  ASSERT_TRUE(decision.lease().adjust("rph", 2).ok());
  ASSERT_TRUE(decision.lease().settle().ok());
  EXPECT_EQ(left("rph", kChild), 5);
  EXPECT_EQ(left("rph", kParent), 5);
}

TEST_P(Cascade, ShortParentRefusesAndTheChildKeepsWhatItHad) {
  create_family();
  limiter->set_limits(kChild, kApi, {Limit::per_hour("rph", 100)}).value();
  limiter->set_limits(kParent, kApi, {Limit::per_hour("rph", 5)}).value();
  ASSERT_TRUE(admits({{"rph", 5}}, kChild));

  for (int i = 0; i < 3; ++i) {
    Decision refused = acquire({{"rph", 1}}, kChild);
    ASSERT_EQ(refused.outcome(), Outcome::kRejected);
    ASSERT_EQ(refused.limits().size(), 2u);
    EXPECT_FALSE(find_status(refused.limits(), "rph", kChild).exceeded);
    EXPECT_TRUE(find_status(refused.limits(), "rph", kParent).exceeded);
    EXPECT_EQ(left("rph", kChild), 95);
    limiter->forget_caches();
  }
  EXPECT_EQ(field("rph", "tc", kChild), 5'000);
}

TEST_P(Cascade, ParentDrainedByAnotherProcessGivesTheChildBack) {
  create_family();
  limiter->set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10)}).value();
  ASSERT_TRUE(admits({{"rph", 1}}, kChild));
  Limiter other = another_limiter();
  ASSERT_TRUE(
      other.acquire({.entity = kParent, .resource = kApi, .consume = {{"rph", 9}}}).value());

  // By the images of this process both have enough: the child's debit lands, the parent's does not.
  Decision refused = acquire({{"rph", 5}}, kChild);

  ASSERT_EQ(refused.outcome(), Outcome::kRejected);
  EXPECT_EQ(left("rph", kChild), 9);
  EXPECT_EQ(left("rph", kParent), 0);
  EXPECT_EQ(field("rph", "tc", kChild), 1'000);
}

TEST_P(Cascade, R69_ChildGivenBackIsRememberedWithWhatItHasAgain) {
  create_family();
  limiter->set_limits(kChild, kApi, {Limit::rate("rph", 6, 1, 3600s)}).value();
  limiter->set_limits(kParent, kApi, {Limit::rate("rph", 10, 10, 1s)}).value();
  ASSERT_TRUE(admits({{"rph", 1}}, kChild));
  Limiter other = another_limiter();
  ASSERT_TRUE(
      other.acquire({.entity = kParent, .resource = kApi, .consume = {{"rph", 9}}}).value());
  ASSERT_FALSE(admits({{"rph", 5}}, kChild));

  clock.advance(500ms);  // refills the parent, and what is remembered is not too old to reject

  EXPECT_TRUE(admits({{"rph", 5}}, kChild));
}

TEST_P(Cascade, Decision3_CompensatedChildLeavesNoOpenedWindowBehind) {
  create_family();
  limiter->set_limits(kChild, kApi, {Limit::session("session", 10, 1h)}).value();
  limiter->set_limits(kParent, kApi, {Limit::session("session", 10, 1h)}).value();
  ASSERT_TRUE(admits({{"session", 1}}, kParent));
  Limiter other = another_limiter();
  limiter->forget_caches();
  ASSERT_FALSE(admits({{"session", 11}}, kChild));
  ASSERT_TRUE(
      other.acquire({.entity = kParent, .resource = kApi, .consume = {{"session", 9}}}).value());

  ASSERT_FALSE(admits({{"session", 1}}, kChild));

  EXPECT_EQ(status("session", kChild).window, WindowState::kNotStarted);
  // The same where the child's bucket exists and its window has ended.
  clock.advance(1h);
  ASSERT_TRUE(admits({{"session", 1}}, kChild));
  clock.advance(30min);
  ASSERT_TRUE(
      other.acquire({.entity = kParent, .resource = kApi, .consume = {{"session", 9}}}).value());
  clock.advance(25min);
  ASSERT_FALSE(admits({{"session", 2}}, kChild));
  EXPECT_EQ(left("session", kChild), 9);
}

TEST_P(Cascade, R92_Decision16_UnequalLimitSetsCostTwoWrites) {
  create_family();
  limiter
      ->set_limits(kChild, kApi, {Limit::per_hour("rpm", 100), Limit::session("session", 100, 5h)})
      .value();
  limiter->set_limits(kParent, kApi, {Limit::per_hour("rpm", 100)}).value();
  ASSERT_TRUE(admits({{"rpm", 1}, {"session", 1}}, kChild));

  for (int i = 0; i < 8; ++i) {
    Spent spent = spent_by([&] { ASSERT_TRUE(admits({{"rpm", 1}, {"session", 1}}, kChild)); });
    EXPECT_EQ(spent, (Spent{2, 0, 2}));
    if (i % 2 == 1) clock.advance(1s);
  }

  EXPECT_EQ(field("session", "tk", kParent), std::nullopt);
  EXPECT_EQ(left("session", kChild), 91);
}

TEST_P(Cascade, Decision16_LimitOfTheParentAloneGatesTheChildToo) {
  create_family();
  limiter->set_limits(kChild, kApi, {Limit::per_hour("rph", 100)}).value();
  limiter->set_limits(kParent, kApi, {Limit::per_hour("rph", 100), Limit::per_day("tokens", 50)})
      .value();

  ASSERT_TRUE(admits({{"rph", 1}, {"tokens", 50}}, kChild));
  Decision refused = acquire({{"rph", 1}, {"tokens", 1}}, kChild);

  ASSERT_EQ(refused.outcome(), Outcome::kRejected);
  EXPECT_TRUE(find_status(refused.limits(), "tokens", kParent).exceeded);
  EXPECT_EQ(left("rph", kChild), 99);
}

TEST_P(Cascade, Decision28_NameThatNeitherHasIsRefused) {
  create_family();
  limiter->set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 100)}).value();
  ASSERT_TRUE(admits({{"rph", 1}}, kChild));

  Result<Decision> failed = try_acquire({{"rph", 1}, {"typo", 1}}, kChild);

  EXPECT_EQ(failed.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(failed.error().value(), "typo");
  EXPECT_EQ(left("rph", kChild), 99);
  EXPECT_EQ(left("rph", kParent), 99);
}

TEST_P(Cascade, Decision16_LimitAddedToTheParentLaterIsLearnt) {
  create_family();
  limiter
      ->set_limits(kChild, kApi,
                   {Limit::per_hour("rph", 100), Limit::calendar("tokens", 100, "0 0 * * *")})
      .value();
  limiter->set_limits(kParent, kApi, {Limit::per_hour("rph", 100)}).value();
  ASSERT_TRUE(admits({{"rph", 1}, {"tokens", 1}}, kChild));
  Limiter admin = another_limiter();
  admin
      .set_limits(kParent, kApi,
                  {Limit::per_hour("rph", 100), Limit::calendar("tokens", 5, "0 0 * * *")})
      .value();

  clock.advance(60s + 1ms);

  EXPECT_EQ(admitted(10, {{"rph", 1}, {"tokens", 1}}, kChild), 5);
  EXPECT_EQ(left("tokens", kChild), 94);
}

TEST_P(Cascade, R24_ParentsBucketMadeByAChildKnowsItsOwnParent) {
  limiter->create_entity("grand").value();
  limiter->create_entity(kParent, {.parent = "grand", .cascade = true}).value();
  limiter->create_entity(kChild, {.parent = kParent, .cascade = true}).value();
  limiter->set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10)}).value();
  ASSERT_TRUE(admits({{"rph", 1}}, kChild));

  EXPECT_EQ(bucket(kParent)->string(store::intern("parent_id")), "grand");
  EXPECT_EQ(bucket(kParent)->boolean(store::intern("cascade")), true);
  ASSERT_TRUE(admits({{"rph", 1}}, kParent));

  EXPECT_EQ(left("rph", "grand"), 9);
  EXPECT_EQ(left("rph", kParent), 8);
}

TEST_P(Cascade, R65_GoesUpOneLevelOnly) {
  limiter->create_entity("grand").value();
  limiter->create_entity(kParent, {.parent = "grand", .cascade = true}).value();
  limiter->create_entity(kChild, {.parent = kParent, .cascade = true}).value();
  limiter->set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10)}).value();

  ASSERT_EQ(admitted(4, {{"rph", 1}}, kChild), 4);

  EXPECT_EQ(left("rph", kParent), 6);
  EXPECT_EQ(left("rph", "grand"), 10);
  EXPECT_FALSE(bucket("grand"));
}

TEST_P(Cascade, ChildThatDoesNotCascadeDebitsItselfAlone) {
  limiter->create_entity(kParent).value();
  limiter->create_entity(kChild, {.parent = kParent}).value();
  limiter->set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10)}).value();

  ASSERT_TRUE(admits({{"rph", 1}}, kChild));

  EXPECT_FALSE(bucket(kParent));
  EXPECT_EQ(bucket(kChild)->string(store::intern("parent_id")), kParent);
}

TEST_P(Cascade, ConfiguredCascadeOverridesTheEntitysOwn) {
  limiter->create_entity(kParent).value();
  limiter->create_entity(kChild, {.parent = kParent}).value();
  limiter->set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10)}, {.cascade = true})
      .value();

  ASSERT_TRUE(admits({{"rph", 1}}, kChild));

  EXPECT_EQ(left("rph", kParent), 9);
}

TEST_P(Cascade, R82_ParentInTheImageCounts) {
  create_family();
  limiter->create_entity("adoptive").value();
  limiter->set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10)}).value();
  ASSERT_EQ(admitted(4, {{"rph", 1}}, kChild), 4);
  move_child("adoptive");

  Decision decision = acquire({{"rph", 1}}, kChild);

  ASSERT_TRUE(decision);
  EXPECT_EQ(left("rph", kChild), 5);
  EXPECT_EQ(left("rph", "adoptive"), 9);
  EXPECT_EQ(left("rph", kParent), 6);
  EXPECT_EQ(find_status(decision.limits(), "rph", "adoptive").remaining, MilliTokens(9'000));
  ASSERT_TRUE(decision.lease().roll_back().ok());
  EXPECT_EQ(left("rph", "adoptive"), 10);
  EXPECT_EQ(left("rph", kParent), 6);
}

TEST_P(Cascade, R82_NewParentsShortageRefusesAndNothingIsKept) {
  create_family();
  limiter->create_entity("adoptive").value();
  limiter->set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10)}).value();
  ASSERT_TRUE(admits({{"rph", 1}}, kChild));
  ASSERT_TRUE(admits({{"rph", 10}}, "adoptive"));
  move_child("adoptive");

  Decision refused = acquire({{"rph", 1}}, kChild);

  ASSERT_EQ(refused.outcome(), Outcome::kRejected);
  EXPECT_TRUE(find_status(refused.limits(), "rph", "adoptive").exceeded);
  EXPECT_EQ(left("rph", kChild), 9);
  EXPECT_EQ(left("rph", kParent), 9);
  EXPECT_EQ(left("rph", "adoptive"), 0);
}

TEST_P(Cascade, R82_ChildThatLeftItsParentDebitsItselfAlone) {
  create_family();
  limiter->set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10)}).value();
  ASSERT_TRUE(admits({{"rph", 1}}, kChild));
  move_child(kParent, false);

  ASSERT_TRUE(admits({{"rph", 1}}, kChild));

  EXPECT_EQ(left("rph", kChild), 8);
  EXPECT_EQ(left("rph", kParent), 9);
}

TEST_P(Cascade, R82_DebitThatLandedOnTheOldParentAloneIsGivenBack) {
  create_family();
  limiter->create_entity("adoptive").value();
  limiter->set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10)}).value();
  ASSERT_TRUE(admits({{"rph", 1}}, kChild));
  move_child("adoptive");
  // The child's own write fails by what this process remembers; the old parent's does not.
  edit_bucket([](store::ImageBuilder& item) { item.set(store::intern("vu"), std::int64_t{0}); },
              kChild);

  ASSERT_TRUE(admits({{"rph", 1}}, kChild));

  EXPECT_EQ(left("rph", kChild), 8);
  EXPECT_EQ(left("rph", "adoptive"), 9);
  EXPECT_EQ(left("rph", kParent), 9);
}

TEST_P(Cascade, R82_ExhaustedOldParentDoesNotRefuseTheMovedChild) {
  create_family();
  limiter->create_entity("adoptive").value();
  limiter->set_limits(kChild, kApi, {Limit::per_hour("rph", 100)}).value();
  limiter->set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10)}).value();
  ASSERT_EQ(admitted(12, {{"rph", 1}}, kChild), 10);
  move_child("adoptive");
  clock.advance(2s);  // what this process remembers may reject by itself for a second

  EXPECT_TRUE(admits({{"rph", 1}}, kChild));

  EXPECT_EQ(left("rph", "adoptive"), 9);
}

TEST_P(Cascade, R83_DisabledOldParentDoesNotRefuseTheMovedChild) {
  create_family();
  limiter->create_entity("adoptive").value();
  limiter->set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10)}).value();
  ASSERT_TRUE(admits({{"rph", 1}}, kChild));
  limiter
      ->set_limits(Scope::entity(kParent), {Limit::per_hour("rph", 10)},
                   {.access = AccessPolicy::kDisabled})
      .value();
  ASSERT_EQ(acquire({{"rph", 1}}, kChild).outcome(), Outcome::kDisabled);
  move_child("adoptive");
  clock.advance(2s);

  EXPECT_TRUE(admits({{"rph", 1}}, kChild));
  EXPECT_EQ(left("rph", "adoptive"), 9);
}

TEST_P(Cascade, R71_RejectionByAFormerParentIsNotDrawnFromMemoryForLong) {
  create_family();
  limiter->create_entity("adoptive").value();
  limiter->set_limits(kChild, kApi, {Limit::per_hour("rph", 100)}).value();
  limiter->set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10)}).value();
  ASSERT_EQ(admitted(11, {{"rph", 1}}, kChild), 10);
  LimiterOptions options = this->options();
  options.rejection_ttl = Millis(0);
  use(options);
  ASSERT_FALSE(admits({{"rph", 1}}, kChild));
  move_child("adoptive");

  EXPECT_TRUE(admits({{"rph", 1}}, kChild));
}

TEST_P(Cascade, R84_EntityCreatedAnewOutranksWhatItsFormerLifeLeft) {
  create_family();
  limiter->create_entity("other").value();
  limiter->set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10)}).value();
  ASSERT_EQ(admitted(3, {{"rph", 1}}, kChild), 3);
  limiter->delete_entity(kChild).value();
  clock.advance(1ms);

  limiter->create_entity(kChild, {.parent = "other", .cascade = true}).value();
  ASSERT_TRUE(admits({{"rph", 1}}, kChild));

  EXPECT_EQ(left("rph", kChild), 9);
  EXPECT_EQ(left("rph", "other"), 9);
  EXPECT_EQ(left("rph", kParent), 7);
  store::ImagePtr meta = item(schema::entity_key(name_space_id(), kChild));
  EXPECT_EQ(meta->number(store::intern("pgen")), clock.now().time_since_epoch().count());
  EXPECT_EQ(bucket(kChild)->number(store::intern("pgen")), meta->number(store::intern("pgen")));
  EXPECT_EQ(bucket(kChild)->string(store::intern("pinc")), meta->string(store::intern("pinc")));
}

TEST_P(Cascade, R24_R73_R77_BucketUsedBeforeItsEntityExistsLearnsItsParent) {
  limiter->set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10)}).value();
  Limiter other = another_limiter();
  AcquireRequest one{.entity = kChild, .resource = kApi, .consume = {{"rph", 1}}};
  ASSERT_TRUE(admits({{"rph", 1}}, kChild));
  ASSERT_TRUE(other.acquire(one).value());
  create_family();

  // At once where it was created, elsewhere within the age of what is cached.
  ASSERT_TRUE(admits({{"rph", 1}}, kChild));
  EXPECT_EQ(left("rph", kChild), 7);
  EXPECT_EQ(left("rph", kParent), 9);
  EXPECT_EQ(bucket(kChild)->string(store::intern("parent_id")), kParent);
  EXPECT_EQ(bucket(kChild)->boolean(store::intern("cascade")), true);
  ASSERT_TRUE(other.acquire(one).value());

  EXPECT_EQ(left("rph", kParent), 8);
}

TEST_P(Cascade, CascadeTurnedOnAndOffByConfigurationReachesExistingBuckets) {
  limiter->create_entity(kParent).value();
  limiter->create_entity(kChild, {.parent = kParent}).value();
  limiter->set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10)}).value();
  ASSERT_TRUE(admits({{"rph", 1}}, kChild));
  ASSERT_FALSE(bucket(kParent));
  Limiter admin = another_limiter();

  admin.set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10)}, {.cascade = true}).value();
  ASSERT_TRUE(admits({{"rph", 1}}, kChild));
  EXPECT_EQ(left("rph", kParent), 9);

  admin
      .set_limits(Scope::entity_resource(kChild, kApi), {Limit::per_hour("rph", 10)},
                  {.cascade = false})
      .value();
  ASSERT_TRUE(admits({{"rph", 1}}, kChild));
  EXPECT_EQ(left("rph", kParent), 9);
  EXPECT_EQ(left("rph", kChild), 7);
}

TEST_P(Cascade, NeitherIdleNorRefusedRequestsOpenTheParentsWindow) {
  create_family();
  limiter->set_limits(Scope::resource(kApi), {Limit::session("session", 10, 1h)}).value();
  ASSERT_TRUE(admits({{"session", 0}}, kChild));
  ASSERT_FALSE(admits({{"session", 11}}, kChild));

  EXPECT_EQ(status("session", kChild).window, WindowState::kNotStarted);
  EXPECT_EQ(status("session", kParent).window, WindowState::kNotStarted);
  clock.advance(10min);
  ASSERT_TRUE(admits({{"session", 1}}, kParent));
  TimePoint parents = clock.now();
  clock.advance(10min);
  ASSERT_TRUE(admits({{"session", 1}}, kChild));
  // Windows of child and parent are independent.
  EXPECT_EQ(show(status("session", kParent).resets_at), show(parents + 1h));
  EXPECT_EQ(show(status("session", kChild).resets_at), show(clock.now() + 1h));
}

}  // namespace
}  // namespace stint::test
