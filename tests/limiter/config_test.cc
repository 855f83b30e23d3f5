// Configuration: four levels, changes that settle the past first, limits passed with a call.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "limiter/store_handle.h"
#include "schema/keys.h"
#include "stint/limiter.h"
#include "tests/limiter/support.h"

namespace stint::test {
namespace {

class Configuration : public LimiterTest {
 protected:
  static constexpr std::int64_t kToken = 1000;

  bool admits_with(LimitList limits, std::vector<Consume> consume) {
    return static_cast<bool>(limiter
                                 ->acquire({.entity = kUser,
                                            .resource = kApi,
                                            .consume = std::move(consume),
                                            .limits = std::move(limits)})
                                 .value());
  }
};
STINT_ON_EVERY_STORE(Configuration);

TEST_P(Configuration, HighestLevelWinsAsAWhole) {
  limiter->set_limits(Scope::system(), {Limit::per_hour("a", 1), Limit::per_hour("b", 1)}).value();
  EXPECT_EQ(limiter->resolve_limits(kUser, kApi).value().level, ConfigLevel::kSystem);
  limiter->set_limits(Scope::resource(kApi), {Limit::per_hour("a", 2)}).value();
  EXPECT_EQ(limiter->resolve_limits(kUser, kApi).value().level, ConfigLevel::kResource);
  limiter->set_limits(Scope::entity(kUser), {Limit::per_hour("a", 3)}).value();
  EXPECT_EQ(limiter->resolve_limits(kUser, kApi).value().level, ConfigLevel::kEntity);
  limiter->set_limits(kUser, kApi, {Limit::per_hour("a", 4)}).value();

  ResolvedLimits resolved = limiter->resolve_limits(kUser, kApi).value();
  EXPECT_EQ(resolved.level, ConfigLevel::kEntityResource);
  ASSERT_EQ(resolved.limits.size(), 1u);
  EXPECT_EQ(resolved.limits[0], Limit::per_hour("a", 4).value());
  EXPECT_EQ(admitted(6, {{"a", 1}}), 4);
  EXPECT_EQ(try_acquire({{"b", 1}}).error().code(), ErrorCode::kInvalidArgument);
}

TEST_P(Configuration, DeletingALevelLetsTheNextOneApply) {
  limiter->set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 5)}).value();
  limiter->set_limits(kUser, kApi, {Limit::per_hour("rph", 50)}).value();
  ASSERT_TRUE(admits({{"rph", 1}}));

  LimitsChange change = limiter->delete_limits(Scope::entity_resource(kUser, kApi)).value();

  EXPECT_EQ(change.before.limits.size(), 1u);
  EXPECT_TRUE(change.after.limits.empty());
  EXPECT_EQ(change.buckets, 1);
  EXPECT_EQ(admitted(10, {{"rph", 1}}), 5);
  EXPECT_EQ(limiter->get_limits(Scope::entity_resource(kUser, kApi)).error().code(),
            ErrorCode::kNotFound);
  EXPECT_EQ(limiter->delete_limits(Scope::entity_resource(kUser, kApi)).error().code(),
            ErrorCode::kNotFound);
}

TEST_P(Configuration, DryRunReportsAndChangesNothing) {
  limiter->set_limits(kUser, kApi, {Limit::per_hour("rph", 5)}).value();
  ASSERT_TRUE(admits({{"rph", 1}}));
  store::ImagePtr before = bucket();

  LimitsChange change = limiter
                            ->set_limits(Scope::entity_resource(kUser, kApi),
                                         {Limit::per_hour("rph", 9)}, {.dry_run = true})
                            .value();

  EXPECT_EQ(change.before.limits.at(0).capacity(), Tokens(5));
  EXPECT_EQ(change.after.limits.at(0).capacity(), Tokens(9));
  EXPECT_EQ(change.buckets, 1);
  EXPECT_EQ(*bucket(), *before);
  EXPECT_EQ(limiter->get_limits(Scope::entity_resource(kUser, kApi)).value().limits,
            change.before.limits);
}

/// On a store of stint's own.
class OwnConfiguration : public LimiterTest {};
STINT_ON_EVERY_ENGINE(OwnConfiguration);

TEST_P(OwnConfiguration, Decision27_WhatWasUsedStaysUsedBothWays) {
  limiter->set_limits(kUser, kApi, {Limit::session("session", 10, 5h)}).value();
  ASSERT_TRUE(admits({{"session", 10}}));
  TimePoint opened = clock.now();
  clock.advance(1h);

  limiter->set_limits(kUser, kApi, {Limit::session("session", 100, 5h)}).value();
  EXPECT_EQ(left("session"), 90);
  limiter->set_limits(kUser, kApi, {Limit::session("session", 4, 5h)}).value();
  EXPECT_EQ(left("session"), -6);
  EXPECT_FALSE(admits({{"session", 0}}));
  limiter->set_limits(kUser, kApi, {Limit::session("session", 10, 5h)}).value();

  EXPECT_EQ(left("session"), 0);
  EXPECT_EQ(show(status("session").resets_at), show(opened + 5h));
}

/// On a table that programs of the other package use, too.
class SharedConfiguration : public LimiterTest {};
INSTANTIATE_TEST_SUITE_P(Stores, SharedConfiguration, ::testing::Values("shared_table"));

TEST_P(SharedConfiguration, Decision27_RaiseAddsNothingBeforeTheNextReset) {
  limiter->set_limits(kUser, kApi, {Limit::session("session", 10, 5h)}).value();
  ASSERT_TRUE(admits({{"session", 4}}));
  clock.advance(1h);

  limiter->set_limits(kUser, kApi, {Limit::session("session", 100, 5h)}).value();
  EXPECT_EQ(left("session"), 6);
  EXPECT_FALSE(admits({{"session", 7}}));
  clock.advance(4h);
  EXPECT_TRUE(admits({{"session", 100}}));
}

TEST_P(SharedConfiguration, Decision27_RaiseOfAResourceAddsNothingEither) {
  Limiter other = another_limiter();
  ASSERT_TRUE(limiter->set_limits(Scope::resource(kApi), {Limit::session("session", 10, 5h)}));
  ASSERT_TRUE(admits({{"session", 4}}));
  ASSERT_TRUE(other.set_limits(Scope::resource(kApi), {Limit::session("session", 100, 5h)}));
  clock.advance(2min);

  EXPECT_FALSE(admits({{"session", 7}}));
  EXPECT_TRUE(admits({{"session", 6}}));
  EXPECT_EQ(left("session"), 0);
}

TEST_P(SharedConfiguration, Decision27_ARaiseTakenBackTakesNothing) {
  limiter->set_limits(kUser, kApi, {Limit::session("session", 100, 5h)}).value();
  ASSERT_TRUE(admits({{"session", 10}}));
  for (int i = 0; i < 3; ++i) {
    limiter->set_limits(kUser, kApi, {Limit::session("session", 200, 5h)}).value();
    EXPECT_EQ(left("session"), 90);
    limiter->set_limits(kUser, kApi, {Limit::session("session", 100, 5h)}).value();
    EXPECT_EQ(left("session"), 90);
  }
  // What a lower capacity cuts off does not come back before the next window.
  limiter->set_limits(kUser, kApi, {Limit::session("session", 50, 5h)}).value();
  EXPECT_EQ(left("session"), 50);
  limiter->set_limits(kUser, kApi, {Limit::session("session", 100, 5h)}).value();
  EXPECT_EQ(left("session"), 50);
  EXPECT_FALSE(admits({{"session", 51}}));
  EXPECT_TRUE(admits({{"session", 50}}));
}

TEST_P(SharedConfiguration, Decision27_ARaiseOfAResourceTakenBackTakesNothingEither) {
  Limit month = Limit::calendar("month", 100, "0 0 1 * *").value();
  ASSERT_TRUE(limiter->set_limits(Scope::resource(kApi), {month}));
  ASSERT_TRUE(admits({{"month", 10}}));
  for (bool taken_back : {false, true}) {
    Limit other = Limit::calendar("month", taken_back ? 100 : 1'000, "0 0 1 * *").value();
    ASSERT_TRUE(limiter->set_limits(Scope::resource(kApi), {other}));
    clock.advance(2min);
    EXPECT_EQ(left("month"), taken_back ? 89 : 90) << "as it is reckoned before the next write";
    EXPECT_TRUE(admits({{"month", 1}}));
  }
  EXPECT_TRUE(admits({{"month", 88}}));
  EXPECT_EQ(left("month"), 0);
}

TEST_P(Configuration, Decision27_RateIsClampedAndRestoresNothing) {
  limiter->set_limits(kUser, kApi, {Limit::rate("rate", 100, 1, 3600s)}).value();
  ASSERT_TRUE(admits({{"rate", 20}}));

  limiter->set_limits(kUser, kApi, {Limit::rate("rate", 30, 1, 3600s)}).value();
  EXPECT_EQ(left("rate"), 30);
  limiter->set_limits(kUser, kApi, {Limit::rate("rate", 100, 1, 3600s)}).value();

  EXPECT_EQ(left("rate"), 30);
}

TEST_P(Configuration, Decision27_RateThatBecomesAQuotaKeepsItsBalanceAndOpensNoWindow) {
  limiter->set_limits(kUser, kApi, {Limit::rate("limit", 100, 1, 3600s)}).value();
  ASSERT_TRUE(admits({{"limit", 70}}));

  limiter->set_limits(kUser, kApi, {Limit::calendar("limit", 50, "0 0 * * *")}).value();

  EXPECT_EQ(status("limit").kind, LimitKind::kCalendar);
  EXPECT_EQ(left("limit"), 30);
  EXPECT_EQ(show(status("limit").resets_at), "2027-03-11T00:00Z");
  limiter->set_limits(kUser, kApi, {Limit::session("limit", 50, 1h)}).value();
  EXPECT_EQ(status("limit").window, WindowState::kNotStarted);
  EXPECT_EQ(field("limit", "ws"), std::nullopt);
}

TEST_P(Configuration, R19_ChangesRestartNoRunningWindow) {
  limiter->set_limits(kUser, kApi, {Limit::session("session", 10, 5h)}).value();
  ASSERT_TRUE(admits({{"session", 4}}));
  TimePoint opened = clock.now();
  for (int i = 0; i < 3; ++i) {
    clock.advance(30min);
    limiter->set_limits(kUser, kApi, {Limit::session("session", 10, 5h)}).value();
    limiter->set_limits(kUser, kApi, {Limit::session("session", 10, 5h), Limit::per_hour("rph", 9)})
        .value();
    ASSERT_TRUE(admits({{"session", 1}}));
    EXPECT_EQ(show(status("session").resets_at), show(opened + 5h));
  }
  EXPECT_EQ(left("session"), 3);

  // Another length moves the end of the running window, not its start.
  limiter->set_limits(kUser, kApi, {Limit::session("session", 10, 2h)}).value();
  EXPECT_EQ(show(status("session").resets_at), show(opened + 2h));
  EXPECT_EQ(left("session"), 3);
}

TEST_P(Configuration, R19_LongerLengthDoesNotReviveAnEndedWindow) {
  limiter->set_limits(kUser, kApi, {Limit::session("session", 10, 1h)}).value();
  ASSERT_TRUE(admits({{"session", 10}}));
  clock.advance(2h);

  limiter->set_limits(kUser, kApi, {Limit::session("session", 10, 5h)}).value();

  EXPECT_EQ(status("session").window, WindowState::kNotStarted);
  EXPECT_TRUE(admits({{"session", 10}}));
  EXPECT_EQ(show(status("session").resets_at), show(clock.now() + 5h));
}

TEST_P(Configuration, P77_Decision29_PastTimeIsPricedAtThePastRate) {
  limiter->set_limits(kUser, kApi, {Limit::rate("rate", 1'000, 1, 1s)}).value();
  ASSERT_TRUE(admits({{"rate", 1'000}}));
  clock.advance(10s);

  limiter->set_limits(kUser, kApi, {Limit::rate("rate", 1'000, 100, 1s)}).value();

  EXPECT_EQ(left("rate"), 10);
  clock.advance(1s);
  EXPECT_EQ(left("rate"), 110);
}

TEST_P(Configuration, P77_Decision29_LazilyToo) {
  limiter->set_limits(Scope::resource(kApi), {Limit::rate("rate", 1'000, 1, 1s)}).value();
  ASSERT_TRUE(admits({{"rate", 1'000}}));
  clock.advance(10s);
  limiter->set_limits(Scope::resource(kApi), {Limit::rate("rate", 1'000, 100, 1s)}).value();

  EXPECT_EQ(left("rate"), 10);
  EXPECT_TRUE(admits({{"rate", 10}}));
  clock.advance(1s);
  EXPECT_EQ(admitted(200, {{"rate", 1}}), 100);
}

TEST_P(Configuration, R80_Decision29_ChangeOfAResourceReachesAnotherProcessWithinTheCachesAge) {
  limiter->set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 100)}).value();
  ASSERT_TRUE(admits({{"rph", 1}}));
  Limiter admin = another_limiter();
  admin.set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10)}).value();

  clock.advance(60s + 1ms);

  EXPECT_EQ(admitted(150, {{"rph", 1}}), 10);
}

TEST_P(Configuration, R76_ChangedScheduleOfAResourceReachesAnotherProcessWithinTheCachesAge) {
  limiter->set_limits(Scope::resource(kApi), {Limit::rate("rate", 4, 1, 3600s)}).value();
  ASSERT_TRUE(admits({{"rate", 1}}));
  Limiter admin = another_limiter();
  LevelEntry halved = LevelEntry::scaled("* * * * *", 0.5).value();
  admin
      .set_limits(Scope::resource(kApi),
                  {Limit::rate("rate", 4, 1, 3600s).value().with_schedule({halved})})
      .value();

  clock.advance(60s + 1ms);

  EXPECT_EQ(admitted(5, {{"rate", 1}}), 2);
}

TEST_P(Configuration, Decision29_OldCacheDoesNotStampTheChangeBack) {
  limiter->set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 100)}).value();
  ASSERT_TRUE(admits({{"rph", 1}}));
  Limiter admin = another_limiter();
  admin.set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10)}).value();
  ASSERT_TRUE(admin.acquire({.entity = kUser, .resource = kApi, .consume = {{"rph", 1}}}).value());
  ASSERT_EQ(field("rph", "cp"), 10 * kToken);

  // This process still holds the old configuration, and forces refills under it.
  for (int i = 0; i < 5; ++i) {
    clock.advance(1s);
    admits({{"rph", 1}});
    EXPECT_EQ(field("rph", "cp"), 10 * kToken);
  }
  EXPECT_LT(left("rph"), 10);
}

TEST_P(Configuration, R32_FanOutIsNotErasedByAWriteFromAnOlderImage) {
  limiter->set_limits(kUser, kApi, {Limit::per_hour("rph", 100)}).value();
  ASSERT_TRUE(admits({{"rph", 1}}));
  clock.advance(1s);
  // The other process changes the bucket; this one's image and configuration are older.
  Limiter admin = another_limiter();
  admin.set_limits(kUser, kApi, {Limit::per_hour("rph", 10)}).value();
  ASSERT_EQ(bucket()->number(store::intern("vu")), 0);

  EXPECT_EQ(admitted(150, {{"rph", 1}}), 10);
  EXPECT_EQ(field("rph", "cp"), 10 * kToken);
}

TEST_P(Configuration, R33_LastScheduleGoesInOneUpdate) {
  LevelEntry line = LevelEntry::scaled("* 8-17 * * *", 2).value();
  limiter
      ->set_limits(kUser, kApi,
                   {Limit::per_hour("rph", 10).value().with_schedule({line}, "Europe/Berlin"),
                    Limit::calendar("daily", 5, "0 0 * * *", "Europe/Berlin")})
      .value();
  ASSERT_TRUE(admits({{"rph", 20}, {"daily", 5}}));
  ASSERT_TRUE(bucket()->has(store::intern("vu")));

  limiter->set_limits(kUser, kApi, {Limit::per_hour("rph", 10), Limit::per_day("daily", 5)})
      .value();
  EXPECT_FALSE(admits({{"rph", 1}}));
  clock.advance(1h);

  EXPECT_EQ(admitted(30, {{"rph", 1}}), 10);
  EXPECT_FALSE(bucket()->has(store::intern("vu")));
}

TEST_P(Configuration, R33_LazilyToo) {
  LevelEntry line = LevelEntry::scaled("* 8-17 * * *", 2).value();
  limiter
      ->set_limits(Scope::resource(kApi),
                   {Limit::per_hour("rph", 10).value().with_schedule({line})})
      .value();
  ASSERT_TRUE(admits({{"rph", 20}}));
  limiter->set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10)}).value();
  clock.advance(1h);

  EXPECT_EQ(admitted(30, {{"rph", 1}}), 10);
  EXPECT_FALSE(bucket()->has(store::intern("vu")));
}

TEST_P(Configuration, R35_RemovedAndAddedAgainIsALimitLikeAnyOther) {
  limiter->set_limits(kUser, kApi, {Limit::per_hour("a", 10), Limit::per_hour("b", 10)}).value();
  ASSERT_TRUE(admits({{"a", 1}, {"b", 4}}));

  limiter->set_limits(kUser, kApi, {Limit::per_hour("a", 10)}).value();
  EXPECT_EQ(field("b", "tk"), std::nullopt);
  EXPECT_EQ(field("b", "cp"), std::nullopt);
  EXPECT_EQ(try_acquire({{"b", 1}}).error().code(), ErrorCode::kInvalidArgument);
  limiter->set_limits(kUser, kApi, {Limit::per_hour("a", 10), Limit::per_hour("b", 10)}).value();

  EXPECT_TRUE(admits({{"a", 1}, {"b", 10}}));
  EXPECT_EQ(left("a"), 8);
}

TEST_P(Configuration, R39_CapacityLoweredWithoutTimePassingIsNotSpentAbove) {
  for (const Scope& scope : {Scope::resource(kApi), Scope::entity(kUser)}) {
    limiter->set_limits(scope, {Limit::rate("rate", 100, 1, 3600s)}).value();
    ASSERT_TRUE(admits({{"rate", 0}}));
    ASSERT_TRUE(admits({{"rate", 1}}));
    limiter->set_limits(scope, {Limit::rate("rate", 10, 1, 3600s)}).value();

    EXPECT_EQ(admitted(150, {{"rate", 1}}), 10);
    limiter->delete_limits(scope).value();
    delete_item(bucket_key());
    limiter->forget_caches();
  }
}

TEST_P(Configuration, R39_BalanceAboveItsCeilingWrittenElsewhereIsCut) {
  limiter->set_limits(kUser, kApi, {Limit::rate("rate", 10, 1, 3600s)}).value();
  ASSERT_TRUE(admits({{"rate", 1}}));
  set_field("rate", "tk", 500 * kToken);
  limiter->forget_caches();

  EXPECT_EQ(left("rate"), 10);
  EXPECT_EQ(admitted(150, {{"rate", 1}}), 10);
}

TEST_P(Configuration, R31_DefaultsOfAnEntityReachItsBucketsOfEveryResource) {
  limiter->set_limits(Scope::entity(kUser), {Limit::per_hour("rph", 100)}).value();
  limiter->set_limits(kUser, "own", {Limit::per_hour("rph", 70)}).value();
  for (const char* resource : {"first", "second", "own"}) {
    ASSERT_TRUE(
        limiter->acquire({.entity = kUser, .resource = resource, .consume = {{"rph", 1}}}).value());
  }
  Limiter admin = another_limiter();

  LimitsChange change =
      admin.set_limits(Scope::entity(kUser), {Limit::per_hour("rph", 10)}).value();

  EXPECT_GE(change.buckets, 2);
  auto capacity = [&](const char* resource) {
    Availability seen = limiter->available(kUser, resource).value();
    return seen.limits.at(0).capacity.whole_tokens();
  };
  EXPECT_EQ(capacity("first"), 10);
  EXPECT_EQ(capacity("second"), 10);
  EXPECT_EQ(capacity("own"), 70);
  EXPECT_EQ(try_acquire({{"_default_", 1}}).error().code(), ErrorCode::kInvalidArgument);
}

TEST_P(Configuration, R66_SystemTakesNoPolicyAndOthersNoStoreFailureRule) {
  LimitList limits{Limit::per_hour("rph", 10)};
  for (AccessPolicy access : {AccessPolicy::kDisabled, AccessPolicy::kBypass}) {
    EXPECT_EQ(limiter->set_limits(Scope::system(), limits, {.access = access}).error().code(),
              ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(limiter->set_limits(Scope::system(), limits, {.cascade = true}).error().code(),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(
      limiter->set_limits(Scope::resource(kApi), limits, {.on_unavailable = OnUnavailable::kAllow})
          .error()
          .code(),
      ErrorCode::kInvalidArgument);
  EXPECT_EQ(limiter->get_limits(Scope::system()).error().code(), ErrorCode::kNotFound);
}

TEST_P(Configuration, PoliciesSurviveAChangeOfLimits) {
  limiter
      ->set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10)},
                   {.access = AccessPolicy::kDisabled, .cascade = true})
      .value();

  limiter->set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 20)}).value();

  ScopeConfig stored = limiter->get_limits(Scope::resource(kApi)).value();
  EXPECT_EQ(stored.access, AccessPolicy::kDisabled);
  EXPECT_EQ(stored.cascade, true);
  EXPECT_EQ(stored.limits.at(0).capacity(), Tokens(20));
}

TEST_P(Configuration, UnavailabilityRuleSurvivesAChangeOfLimits) {
  limiter
      ->set_limits(Scope::system(), {Limit::per_hour("rph", 10)},
                   {.on_unavailable = OnUnavailable::kAllow})
      .value();

  limiter->set_limits(Scope::system(), {Limit::per_hour("rph", 20)}).value();

  EXPECT_EQ(limiter->get_limits(Scope::system()).value().on_unavailable, OnUnavailable::kAllow);
}

TEST_P(Configuration, UndecodableScopeIsNotOverwritten) {
  Scope scope = Scope::resource(kApi);
  limiter->set_limits(scope, {Limit::per_hour("rph", 10)}).value();
  store::Key key = schema::config_key(name_space_id(), "", kApi);
  store::ImageBuilder broken(*item(key));
  broken.set(store::intern("l_rph_sched"), "9h0");
  put_item(broken.build());

  EXPECT_EQ(limiter->set_limits(scope, {Limit::per_hour("rph", 20)}).error().code(),
            ErrorCode::kCorrupt);

  limiter->delete_limits(scope).value();
  EXPECT_TRUE(limiter->set_limits(scope, {Limit::per_hour("rph", 20)}).ok());
}

TEST_P(Configuration, NamesOfKeysAreNoResources) {
  for (const char* name : {"PK", "SK", "GSI1PK", "GSI4SK"}) {
    Result<LimitsChange> refused = limiter->set_limits(kUser, name, {Limit::per_hour("rph", 10)});
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.error().field(), "resource");
  }
}

TEST_P(Configuration, OptionsOutOfRangeAreNamed) {
  auto field = [&](const std::function<void(LimiterOptions&)>& change) {
    LimiterOptions wrong = options();
    change(wrong);
    Limiter refusing = another_limiter(wrong);
    return refusing.get_entity(kUser).error().field();
  };
  EXPECT_EQ(field([](LimiterOptions& o) { o.stamp_ttl = 9s; }), "stamp_ttl");
  EXPECT_EQ(field([](LimiterOptions& o) { o.timeout = Millis::max(); }), "timeout");
  EXPECT_EQ(field([](LimiterOptions& o) { o.rejection_ttl = Millis(-1); }), "rejection_ttl");
  EXPECT_EQ(field([](LimiterOptions& o) { o.ttl_multiplier = -1; }), "ttl_multiplier");
  EXPECT_EQ(field([](LimiterOptions& o) { o.max_views = 0; }), "max_views");
  Result<Decision> refused = limiter->acquire(
      {.entity = kUser, .resource = kApi, .consume = {{"rph", 1}}, .timeout = Millis::max()});
  EXPECT_EQ(refused.error().field(), "timeout");
}

TEST_P(Configuration, BadLimitsAreRefusedAndNothingIsWritten) {
  auto code = [&](const LimitList& limits) {
    Result<LimitsChange> result = limiter->set_limits(kUser, kApi, limits);
    return result ? ErrorCode::kExists : result.error().code();
  };
  EXPECT_EQ(code({Limit::per_hour("rph", 0)}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({Limit::calendar("daily", 1, "0 0 * * *", "Mars/Base")}),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({Limit::per_hour("a", 1), Limit::per_hour("a", 2)}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(limiter->set_limits("a b", kApi, {Limit::per_hour("a", 1)}).error().code(),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(limiter->get_limits(Scope::entity_resource(kUser, kApi)).error().code(),
            ErrorCode::kNotFound);
}

TEST_P(Configuration, CorruptItemOfALevelFailsItsDecisionsAndOthersGoOn) {
  limiter->set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10)}).value();
  limiter->set_limits("broken", kApi, {Limit::session("session", 10, 1h)}).value();
  store::Key key = schema::config_key(name_space_id(), "broken", kApi);
  store::ImageBuilder damaged(*item(key));
  damaged.erase(store::intern("w_session_rsa"));
  put_item(damaged.build());

  EXPECT_EQ(try_acquire({{"session", 1}}, "broken").error().code(), ErrorCode::kCorrupt);
  EXPECT_EQ(limiter->get_limits(Scope::entity_resource("broken", kApi)).error().code(),
            ErrorCode::kCorrupt);
  EXPECT_TRUE(admits({{"rph", 1}}, "sound"));
  // Deleting it and setting the limits anew repairs it.
  limiter->delete_limits(Scope::entity_resource("broken", kApi)).value();
  limiter->set_limits("broken", kApi, {Limit::session("session", 10, 1h)}).value();
  EXPECT_TRUE(admits({{"session", 1}}, "broken"));
}

TEST_P(Configuration, R47_QuotasOfABucketAreExplainedAsQuotas) {
  limiter
      ->set_limits(kUser, kApi,
                   {Limit::session("session", 10, 1h),
                    Limit::calendar("month", 20, "0 0 1 * *", "Asia/Tokyo")})
      .value();
  ASSERT_TRUE(admits({{"session", 4}, {"month", 4}}));
  restart();

  BucketExplanation seen = limiter->explain(kUser, kApi).value().buckets.at(0);

  ASSERT_EQ(seen.limits.size(), 2u);
  EXPECT_EQ(seen.limits[0].limit, Limit::calendar("month", 20, "0 0 1 * *", "Asia/Tokyo").value());
  EXPECT_EQ(seen.limits[0].status.remaining, MilliTokens(16 * kToken));
  EXPECT_EQ(show(seen.limits[0].status.resets_at), "2027-03-31T15:00Z");
  EXPECT_EQ(seen.limits[1].limit, Limit::session("session", 10, 1h).value());
  EXPECT_EQ(seen.limits[1].window_start, std::optional(clock.now()));
  EXPECT_EQ(seen.limits[1].consumed, MilliTokens(4 * kToken));
  EXPECT_FALSE(seen.limits[0].stale || seen.limits[1].stale);
}

TEST_P(Configuration, R20_SessionLimitsAreHiddenFromReadersThatDoNotKnowThem) {
  limiter->set_limits(kUser, kApi, {Limit::session("session", 10, 1h), Limit::per_hour("rph", 5)})
      .value();

  store::ImagePtr config = item(schema::config_key(name_space_id(), kUser, kApi));

  ASSERT_TRUE(config);
  EXPECT_FALSE(config->has(store::intern("l_session_cp")));
  EXPECT_EQ(config->number(store::intern("w_session_cp")), 10);
  EXPECT_EQ(config->number(store::intern("w_session_rsa")), 3600);
  EXPECT_EQ(config->number(store::intern("l_rph_cp")), 5);
}

TEST_P(Configuration, Decision25_LimitsPassedWithACallNeedNothingStored) {
  EXPECT_TRUE(admits_with({Limit::per_minute("rpm", 3)}, {{"rpm", 1}}));
  EXPECT_TRUE(admits_with({Limit::per_minute("rpm", 3)}, {{"rpm", 2}}));
  EXPECT_FALSE(admits_with({Limit::per_minute("rpm", 3)}, {{"rpm", 1}}));
  clock.advance(20s);
  EXPECT_TRUE(admits_with({Limit::per_minute("rpm", 3)}, {{"rpm", 1}}));
}

TEST_P(Configuration, Decision25_TheyOutrankTheStoredOnesForThatCall) {
  limiter->set_limits(kUser, kApi, {Limit::rate("rate", 10, 1, 3600s)}).value();
  ASSERT_TRUE(admits({{"rate", 5}}));

  EXPECT_TRUE(admits_with({Limit::rate("rate", 3, 1, 3600s)}, {{"rate", 3}}));
  EXPECT_EQ(field("rate", "cp"), 3 * kToken);
  EXPECT_FALSE(admits_with({Limit::rate("rate", 3, 1, 3600s)}, {{"rate", 1}}));
  EXPECT_FALSE(admits({{"rate", 1}}));  // nothing was restored

  clock.advance(1h);
  EXPECT_TRUE(admits({{"rate", 1}}));
  EXPECT_EQ(field("rate", "cp"), 10 * kToken);
}

TEST_P(Configuration, Decision25_TwoCallersWhoDisagreeAreTold) {
  for (int i = 0; i < 3; ++i) {
    admits_with({Limit::per_minute("rpm", 30)}, {{"rpm", 1}});
    admits_with({Limit::per_minute("rpm", 60)}, {{"rpm", 1}});
  }
  EXPECT_GE(events.count(EventKind::kLimitsDisagree), 4);
  EXPECT_EQ(events.last(EventKind::kLimitsDisagree).limit, "rpm");
  events.clear();

  for (int i = 0; i < 3; ++i) admits_with({Limit::per_minute("rpm", 60)}, {{"rpm", 1}});

  EXPECT_EQ(events.count(EventKind::kLimitsDisagree), 0);
}

TEST_P(Configuration, Decision25_SettleGoesByTheLimitsOfItsCall) {
  Decision decision = limiter
                          ->acquire({.entity = kUser,
                                     .resource = kApi,
                                     .consume = {{"session", 0}},
                                     .limits = LimitList{Limit::session("session", 10, 1h)}})
                          .value();
  ASSERT_TRUE(decision);
  ASSERT_TRUE(decision.lease().adjust("session", 4).ok());
  ASSERT_TRUE(decision.lease().settle().ok());

  EXPECT_FALSE(admits_with({Limit::session("session", 10, 1h)}, {{"session", 7}}));
  EXPECT_TRUE(admits_with({Limit::session("session", 10, 1h)}, {{"session", 6}}));
}

TEST_P(Configuration, Decision22_TwelveLimitsAreTheMost) {
  std::vector<Limit> limits;
  std::vector<Consume> consume;
  for (char c = 'a'; c <= 'l'; ++c) {
    limits.push_back(Limit::per_hour(std::string(1, c), 10).value());
    consume.push_back({std::string(1, c), 1});
  }
  limiter->set_limits(kUser, kApi, limits).value();
  EXPECT_EQ(admitted(11, consume), 10);

  limits.push_back(Limit::per_hour("m", 10).value());
  EXPECT_EQ(limiter->set_limits(kUser, kApi, limits).error().code(), ErrorCode::kInvalidArgument);
}

TEST_P(Configuration, Decision22_BucketOfFourLimitsCostsOneWriteUnit) {
  std::string entity = "customer-of-24-bytes-xyz";
  limiter
      ->set_limits(entity, kApi,
                   {Limit::per_minute("rpm12345", 600), Limit::per_minute("tpm12345", 400'000),
                    Limit::session("sess1234", 1'000'000, 5h),
                    Limit::calendar("mont1234", 100'000'000, "0 0 1 * *", "Europe/Berlin")})
      .value();
  std::vector<Consume> consume{
      {"rpm12345", 1}, {"tpm12345", 777}, {"sess1234", 777}, {"mont1234", 777}};
  ASSERT_TRUE(admits(consume, entity));
  clock.advance(7ms);
  ASSERT_TRUE(admits(consume, entity));

  Explanation explanation = limiter->explain(entity, kApi).value();

  EXPECT_LT(explanation.buckets.at(0).item_bytes, 1024);
  EXPECT_EQ(explanation.buckets.at(0).item_bytes, bucket(entity)->size_bytes());
  EXPECT_EQ(explanation.buckets.at(0).write_units, 1);
}

TEST_P(Configuration, Decision26_StoreOfAnotherResetRuleIsRefused) {
  TempDirectory directory;
  std::shared_ptr<store::Engine> engine = open_engine(GetParam(), directory.path());
  ResetRule own = limiter::open_store(engine, {}).value().reset_rule();
  StoreOptions options;
  options.reset_rule =
      own == ResetRule::kCompatible ? ResetRule::kLocalDay : ResetRule::kCompatible;

  Result<Store> refused = limiter::open_store(engine, options);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kVersionMismatch);
}

TEST_P(Configuration, R98_NamespacePurgedAndRegisteredAnewIsResolvedAgain) {
  limiter->set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10)}).value();
  ASSERT_TRUE(admits({{"rph", 1}}));
  std::string former = name_space_id();
  store::Key former_bucket = bucket_key();
  for (const store::Key& key :
       {schema::namespace_name_key("default"), schema::namespace_id_key(former), former_bucket,
        schema::config_key(former, "", kApi), schema::resource_registry_key(former)}) {
    delete_item(key);
  }
  Limiter admin = another_limiter();
  admin.set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 5)}).value();
  ASSERT_NE(name_space_id(), former);

  EXPECT_EQ(admitted(10, {{"rph", 1}}), 5);

  EXPECT_FALSE(item(former_bucket));
  EXPECT_EQ(field("rph", "tk"), 0);
}

TEST_P(Configuration, NamespacesAreIsolated) {
  LimiterOptions options = this->options();
  options.name_space = "tenant-2";
  Limiter tenant = another_limiter(options);
  limiter->set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 1)}).value();
  tenant.set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 2)}).value();

  EXPECT_EQ(admitted(3, {{"rph", 1}}), 1);
  AcquireRequest two{.entity = kUser, .resource = kApi, .consume = {{"rph", 2}}};
  EXPECT_TRUE(tenant.acquire(two).value());
  EXPECT_FALSE(tenant.acquire(two).value());
}

}  // namespace
}  // namespace stint::test
