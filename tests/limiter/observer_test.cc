// Every event: when it is sent, how often, and what it says (docs/guide/observe.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "limiter/store_handle.h"
#include "store/memory/memory_engine.h"
#include "testing/faulty_store.h"
#include "tests/limiter/support.h"

namespace stint::test {
namespace {

constexpr const char* kParent = "parent";

/// A limiter that is watched, on a store that fails on command.
class Observed : public ::testing::Test {
 protected:
  Observed()
      : faulty(std::make_shared<FaultyStore>(store::make_memory_engine())),
        store(limiter::open_store(faulty, {}).value()),
        limiter(store, options()) {
    limiter
        .set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10), Limit::per_day("rpd", 15)})
        .value();
    events.clear();
  }

  LimiterOptions options() {
    LimiterOptions made;
    made.clock = &clock;
    made.observer = &events;
    return made;
  }
  static AcquireRequest request(std::vector<Consume> consume) {
    return {.entity = kUser, .resource = kApi, .consume = std::move(consume)};
  }
  Result<Decision> acquire(std::vector<Consume> consume) {
    return limiter.acquire(request(std::move(consume)));
  }
  /// The bucket exists and is remembered; nothing is told of how it came to be.
  void warm_up() {
    ASSERT_TRUE(acquire({{"rph", 1}, {"rpd", 1}}).value());
    events.clear();
  }
  void cascade_to_parent() {
    limiter.create_entity(kParent).value();
    limiter.create_entity(kUser, {.parent = kParent, .cascade = true}).value();
    limiter.set_limits(kParent, kApi, {Limit::per_hour("rph", 5)}).value();
  }
  std::string story_of(const std::function<void()>& calls) {
    events.clear();
    calls();
    return events.story();
  }

  FakeClock clock{instant("2027-03-10T12:00Z")};
  Events events;
  std::shared_ptr<FaultyStore> faulty;
  Store store;
  Limiter limiter;
};

TEST_F(Observed, FirstRequestOfAnEntity) {
  EXPECT_EQ(story_of([&] {
              EXPECT_TRUE(acquire({{"rph", 1}}).value());
            }),
            "view_miss config_miss store_asked store_asked admitted");
  Events::Seen read = events.last(EventKind::kConfigMiss);
  EXPECT_EQ(read.count, 4u);
  EXPECT_EQ(read.entity, kUser);
  EXPECT_EQ(read.resource, kApi);
  Events::Seen miss = events.last(EventKind::kViewMiss);
  EXPECT_EQ(miss.entity, kUser);
  EXPECT_EQ(miss.resource, kApi);
}

TEST_F(Observed, WarmRequest) {
  warm_up();
  RequestStats before = limiter.stats();

  EXPECT_EQ(story_of([&] {
              EXPECT_TRUE(acquire({{"rph", 1}}).value());
            }),
            "view_hit store_asked admitted");

  Events::Seen asked = events.last(EventKind::kStoreAsked);
  EXPECT_EQ(asked.count, 1u);
  ASSERT_TRUE(asked.store);
  EXPECT_EQ(asked.store->requests, limiter.stats().requests - before.requests);
  EXPECT_EQ(asked.store->write_units, limiter.stats().write_units - before.write_units);
  EXPECT_EQ(asked.store->read_units, 0);
  EXPECT_EQ(asked.duration.count(), 0) << "nobody asked for the time";
  Events::Seen admitted = events.last(EventKind::kAdmitted);
  EXPECT_EQ(admitted.entity, kUser);
  EXPECT_EQ(admitted.resource, kApi);
  EXPECT_FALSE(admitted.error);
}

TEST_F(Observed, RejectionNamesEveryLimitThatRefused) {
  warm_up();

  EXPECT_EQ(story_of([&] {
              EXPECT_FALSE(acquire({{"rph", 20}, {"rpd", 30}}).value());
            }),
            "view_hit rejected limit_exceeded limit_exceeded");

  std::vector<Events::Seen> all = events.all();
  EXPECT_EQ(all[1].limit, "rph");
  EXPECT_TRUE(all[1].from_memory);
  EXPECT_EQ(all[2].limit, "rph");
  EXPECT_EQ(all[2].requested, MilliTokens(20'000));
  EXPECT_EQ(all[3].limit, "rpd");
  EXPECT_EQ(all[3].requested, MilliTokens(30'000));
  EXPECT_EQ(all[3].entity, kUser);
  EXPECT_EQ(all[3].resource, kApi);
}

TEST_F(Observed, RejectionOfOneLimitOfTwoNamesThatOne) {
  warm_up();
  EXPECT_EQ(story_of([&] {
              EXPECT_FALSE(acquire({{"rph", 1}, {"rpd", 30}}).value());
            }),
            "view_hit rejected limit_exceeded");
  EXPECT_EQ(events.last(EventKind::kRejected).limit, "rpd");
  EXPECT_EQ(events.last(EventKind::kLimitExceeded).limit, "rpd");
}

TEST_F(Observed, RejectionThatWasConfirmedIsNotFromMemory) {
  warm_up();
  clock.advance(2s);  // what is remembered may no longer reject
  EXPECT_EQ(story_of([&] {
              EXPECT_FALSE(acquire({{"rph", 20}}).value());
            }),
            "view_hit store_asked rejected limit_exceeded");
  EXPECT_FALSE(events.last(EventKind::kRejected).from_memory);
  EXPECT_GT(events.last(EventKind::kStoreAsked).store->read_units, 0);
}

TEST_F(Observed, LimitOfAParentIsNamedWithTheParent) {
  cascade_to_parent();
  ASSERT_TRUE(acquire({{"rph", 5}}).value());
  EXPECT_EQ(story_of([&] {
              EXPECT_FALSE(acquire({{"rph", 1}}).value());
            }),
            "view_hit view_hit rejected limit_exceeded");
  EXPECT_EQ(events.last(EventKind::kRejected).entity, kUser);
  EXPECT_EQ(events.last(EventKind::kLimitExceeded).entity, kParent);
}

TEST_F(Observed, RefusedByPolicy) {
  warm_up();
  limiter
      .set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10)},
                  {.access = AccessPolicy::kDisabled})
      .value();
  events.clear();
  EXPECT_EQ(acquire({{"rph", 1}}).value().outcome(), Outcome::kDisabled);
  EXPECT_EQ(events.count(EventKind::kDisabled), 1);
  EXPECT_EQ(events.all().back().kind, EventKind::kDisabled);
  EXPECT_EQ(events.count(EventKind::kRejected) + events.count(EventKind::kAdmitted), 0);
}

TEST_F(Observed, FailedStore) {
  warm_up();
  faulty->plan(Fault::throttled());
  EXPECT_EQ(story_of([&] {
              EXPECT_FALSE(acquire({{"rph", 1}}));
            }),
            "view_hit store_asked store_error call_failed");
  EXPECT_EQ(events.last(EventKind::kStoreError).error->code(), ErrorCode::kThrottled);
  EXPECT_EQ(events.last(EventKind::kCallFailed).error->code(), ErrorCode::kThrottled);
  EXPECT_EQ(events.last(EventKind::kCallFailed).entity, kUser);
}

TEST_F(Observed, DegradedAnswerStandsInForTheFailure) {
  warm_up();
  faulty->plan(Fault::unavailable());
  AcquireRequest open = request({{"rph", 1}});
  open.on_unavailable = OnUnavailable::kAllow;
  EXPECT_EQ(story_of([&] { EXPECT_TRUE(limiter.acquire(open).value()); }),
            "view_hit store_asked store_error degraded");
  EXPECT_EQ(events.last(EventKind::kDegraded).error->code(), ErrorCode::kUnavailable);
}

TEST_F(Observed, EveryCallThatAnswersAnErrorIsReportedOnce) {
  warm_up();
  const std::string bad = "no such id!";
  Scope scope = Scope::entity(bad);
  struct {
    const char* name;
    std::function<bool()> fails;
    std::string entity;
  } const calls[] = {
      {"acquire",
       [&] {
         return !limiter.acquire({.entity = bad, .resource = kApi, .consume = {{"rph", 1}}});
       },
       bad},
      {"acquire nothing", [&] { return !acquire({}); }, kUser},
      {"available", [&] { return !limiter.available(bad, kApi); }, bad},
      {"explain", [&] { return !limiter.explain(bad, kApi); }, bad},
      {"create_entity", [&] { return !limiter.create_entity(bad); }, bad},
      {"get_entity", [&] { return !limiter.get_entity(bad); }, bad},
      {"list_entities", [&] { return !limiter.list_entities(std::nullopt, 0); }, ""},
      {"list_children", [&] { return !limiter.list_children(bad); }, bad},
      {"delete_entity", [&] { return !limiter.delete_entity(bad); }, bad},
      {"set_limits", [&] { return !limiter.set_limits(scope, {Limit::per_hour("r", 1)}); }, bad},
      {"set_limits with a bad limit",
       [&] { return !limiter.set_limits(scope, {Limit::per_hour("", 1)}); }, bad},
      {"get_limits", [&] { return !limiter.get_limits(scope); }, bad},
      {"delete_limits", [&] { return !limiter.delete_limits(scope); }, bad},
      {"resolve_limits", [&] { return !limiter.resolve_limits(bad, kApi); }, bad},
  };
  for (const auto& call : calls) {
    SCOPED_TRACE(call.name);
    events.clear();
    EXPECT_TRUE(call.fails());
    EXPECT_EQ(events.count(EventKind::kCallFailed), 1);
    Events::Seen failed = events.last(EventKind::kCallFailed);
    EXPECT_EQ(failed.error->code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(failed.entity, call.entity);
    EXPECT_EQ(events.count(EventKind::kStoreAsked), 0);
  }
}

TEST_F(Observed, LostWriteIsPlannedAgain) {
  warm_up();
  faulty->plan(Fault::conflict().on(RequestKind::kUpdate));
  EXPECT_EQ(story_of([&] {
              EXPECT_TRUE(acquire({{"rph", 1}}).value());
            }),
            "view_hit store_asked conflict retry store_asked admitted");
  EXPECT_EQ(events.last(EventKind::kConflict).entity, kUser);
  EXPECT_EQ(events.last(EventKind::kRetry).resource, kApi);
}

TEST_F(Observed, WriteOfUnknownOutcomeIsLookedUp) {
  warm_up();
  faulty->plan(Fault::reply_lost().on(RequestKind::kUpdate));
  EXPECT_EQ(story_of([&] {
              EXPECT_TRUE(acquire({{"rph", 1}}).value());
            }),
            "view_hit store_asked store_error store_asked admitted");
  EXPECT_EQ(events.last(EventKind::kStoreError).error->code(), ErrorCode::kOutcomeUnknown);

  faulty->plan(Fault::request_lost().on(RequestKind::kUpdate));
  EXPECT_EQ(story_of([&] {
              EXPECT_TRUE(acquire({{"rph", 1}}).value());
            }),
            "view_hit store_asked store_error store_asked conflict retry store_asked admitted");
}

TEST_F(Observed, FiveLostAttemptsAreFourRetriesAndOneFailure) {
  warm_up();
  faulty->plan(Fault::conflict().on(RequestKind::kUpdate).onwards());
  events.clear();
  EXPECT_FALSE(acquire({{"rph", 1}}));
  EXPECT_EQ(events.count(EventKind::kConflict), 5);
  EXPECT_EQ(events.count(EventKind::kRetry), 4);
  EXPECT_EQ(events.count(EventKind::kStoreError), 0);
  EXPECT_EQ(events.count(EventKind::kCallFailed), 1);
  EXPECT_EQ(events.last(EventKind::kCallFailed).error->code(), ErrorCode::kConflict);
}

TEST_F(Observed, ScopeThatWasChangedMeanwhileIsSetAgain) {
  faulty->plan({.kind = RequestKind::kPut, .outcome = store::Outcome::kConditionFailed});
  events.clear();
  limiter.set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 11)}).value();
  EXPECT_EQ(events.count(EventKind::kConflict), 1);
  EXPECT_EQ(events.count(EventKind::kRetry), 1);
  EXPECT_EQ(events.last(EventKind::kRetry).resource, kApi);
}

TEST_F(Observed, BucketThatWasWrittenMeanwhileIsStampedAgain) {
  limiter.set_limits(kUser, kApi, {Limit::per_hour("rph", 10)}).value();
  ASSERT_TRUE(acquire({{"rph", 1}}).value());
  faulty->plan(Fault::conflict().on(RequestKind::kUpdate));
  events.clear();
  limiter.set_limits(kUser, kApi, {Limit::per_hour("rph", 20)}).value();
  EXPECT_EQ(events.count(EventKind::kConflict), 1);
  EXPECT_EQ(events.count(EventKind::kRetry), 1);
}

TEST_F(Observed, LevelsThatOthersReadSinceNeedNotBeReadAgain) {
  warm_up();
  clock.advance(50s);
  AcquireRequest other = request({{"rph", 1}});
  other.entity = "other";
  ASSERT_TRUE(limiter.acquire(other).value());
  clock.advance(11s);  // what the user's bucket brought along is now too old
  EXPECT_EQ(story_of([&] {
              EXPECT_TRUE(acquire({{"rph", 1}}).value());
            }),
            "view_hit config_miss config_hit store_asked store_asked admitted");
  EXPECT_EQ(events.last(EventKind::kConfigMiss).count, 2u);
  EXPECT_EQ(events.last(EventKind::kConfigHit).count, 2u);
  EXPECT_EQ(events.last(EventKind::kConfigHit).entity, kUser);
}

TEST_F(Observed, LookingTellsOfTheCacheToo) {
  warm_up();
  EXPECT_EQ(story_of([&] { EXPECT_TRUE(limiter.available(kUser, kApi).ok()); }),
            "view_hit store_asked");
}

TEST_F(Observed, WaitForTheBucketsTurn) {
  warm_up();
  // Looks its bucket up when it has the turn, and keeps it meanwhile.
  class Holder final : public Observer {
   public:
    explicit Holder(std::function<void()> meanwhile) : meanwhile_(std::move(meanwhile)) {}
    void on_event(const Event& event) noexcept override {
      if (event.kind == EventKind::kViewMiss && meanwhile_) std::exchange(meanwhile_, {})();
    }

   private:
    std::function<void()> meanwhile_;
  };
  Holder holder([&] {
    std::thread other([&] {
      AcquireRequest impatient = request({{"rph", 1}});
      impatient.timeout = Millis(1);
      EXPECT_FALSE(limiter.acquire(impatient));
    });
    other.join();
  });
  LimiterOptions holding = options();
  holding.observer = &holder;
  Limiter holds(store, holding);
  events.clear();

  ASSERT_TRUE(holds.acquire(request({{"rph", 1}})).value());

  EXPECT_EQ(events.count(EventKind::kWaited), 1);
  EXPECT_GT(events.last(EventKind::kWaited).duration.count(), 0);
  EXPECT_EQ(events.count(EventKind::kStoreAsked), 0);
  EXPECT_EQ(events.count(EventKind::kCallFailed), 1);
}

TEST_F(Observed, SettledAndRolledBack) {
  warm_up();
  {
    Decision decision = acquire({{"rph", 2}}).value();
    EXPECT_TRUE(decision.lease().adjust("rph", 1).ok());
    EXPECT_EQ(story_of([&] { EXPECT_TRUE(decision.lease().settle().ok()); }),
              "view_hit store_asked settled");
    EXPECT_EQ(events.last(EventKind::kSettled).entity, kUser);
    EXPECT_EQ(events.last(EventKind::kSettled).resource, kApi);
  }
  {
    Decision decision = acquire({{"rph", 2}}).value();
    EXPECT_EQ(story_of([&] { EXPECT_TRUE(decision.lease().roll_back().ok()); }),
              "view_hit store_asked rolled_back");
    EXPECT_EQ(events.last(EventKind::kRolledBack).entity, kUser);
  }
  // Without corrections nothing is written, and nothing is reported.
  Decision decision = acquire({{"rph", 2}}).value();
  EXPECT_EQ(story_of([&] { EXPECT_TRUE(decision.lease().settle().ok()); }), "");
}

TEST_F(Observed, SettleThatLostIsPlannedAgain) {
  warm_up();
  Decision decision = acquire({{"rph", 2}}).value();
  ASSERT_TRUE(decision.lease().adjust("rph", 1).ok());
  faulty->plan(Fault::conflict().on(RequestKind::kUpdate));
  EXPECT_EQ(story_of([&] { EXPECT_TRUE(decision.lease().settle().ok()); }),
            "view_hit store_asked conflict retry store_asked settled");
}

TEST_F(Observed, TroubleOfADestructor) {
  warm_up();
  EXPECT_EQ(story_of([&] {
              Decision decision = acquire({{"rph", 2}}).value();
              ASSERT_TRUE(decision.lease().adjust("rph", 1).ok());
              faulty->plan(Fault::unavailable().on(RequestKind::kUpdate));
              events.clear();
            }),
            "view_hit store_asked store_error call_failed lease_trouble");
  EXPECT_EQ(events.last(EventKind::kLeaseTrouble).entity, kUser);
  EXPECT_EQ(events.last(EventKind::kLeaseTrouble).error->code(), ErrorCode::kUnavailable);
}

TEST_F(Observed, RejectedByTheParentAfterTheChildWasDebited) {
  cascade_to_parent();
  LimiterOptions unwatched = options();
  unwatched.observer = nullptr;
  Limiter other(store, unwatched);
  // What is remembered of the parent is out of date when the next request comes.
  auto exhaust_parent = [&] {
    ASSERT_TRUE(acquire({{"rph", 1}}).value());
    AcquireRequest rest = request({{"rph", 4}});
    rest.entity = kParent;
    ASSERT_TRUE(other.acquire(rest).value());
    events.clear();
  };
  exhaust_parent();
  EXPECT_FALSE(acquire({{"rph", 1}}).value());
  EXPECT_EQ(events.count(EventKind::kGivenBack), 1);
  EXPECT_EQ(events.last(EventKind::kGivenBack).entity, kUser);
  EXPECT_EQ(events.count(EventKind::kRejected), 1);
  EXPECT_EQ(events.last(EventKind::kLimitExceeded).entity, kParent);
  EXPECT_EQ(events.count(EventKind::kRolledBack) + events.count(EventKind::kLeaseTrouble), 0);

  clock.advance(1h);
  exhaust_parent();
  faulty->plan(Fault::unavailable().on(RequestKind::kUpdate, 3).onwards());
  EXPECT_FALSE(acquire({{"rph", 1}}).value());
  EXPECT_EQ(events.count(EventKind::kGivenBack), 0);
  EXPECT_EQ(events.count(EventKind::kLeaseTrouble), 1);
  EXPECT_EQ(events.last(EventKind::kLeaseTrouble).entity, kUser);
  EXPECT_EQ(events.count(EventKind::kRejected), 1);
}

TEST_F(Observed, ClockBehindIsToldOncePerCallHoweverOftenItTries) {
  warm_up();
  clock.advance(-61s);
  faulty->plan(Fault::conflict().on(RequestKind::kUpdate));
  events.clear();
  EXPECT_TRUE(acquire({{"rph", 1}}).value());
  EXPECT_EQ(events.count(EventKind::kRetry), 1);
  EXPECT_EQ(events.count(EventKind::kClockBehind), 1);
  EXPECT_EQ(events.last(EventKind::kClockBehind).entity, kUser);
}

TEST_F(Observed, ClockBehindIsToldOfEachBucket) {
  cascade_to_parent();
  ASSERT_TRUE(acquire({{"rph", 1}}).value());
  clock.advance(-61s);
  events.clear();
  EXPECT_TRUE(acquire({{"rph", 1}}).value());
  EXPECT_EQ(events.count(EventKind::kClockBehind), 2);
  EXPECT_EQ(events.last(EventKind::kClockBehind).entity, kParent);
}

TEST_F(Observed, DisagreementIsToldOncePerCall) {
  AcquireRequest mine = request({{"rpm", 1}});
  mine.limits = LimitList{Limit::per_minute("rpm", 30)};
  AcquireRequest yours = request({{"rpm", 1}});
  yours.limits = LimitList{Limit::per_minute("rpm", 60)};
  ASSERT_TRUE(limiter.acquire(mine).value());
  events.clear();
  faulty->plan(Fault::conflict().on(RequestKind::kUpdate));
  EXPECT_TRUE(limiter.acquire(yours).value());
  EXPECT_EQ(events.count(EventKind::kLimitsDisagree), 1);
  EXPECT_EQ(events.last(EventKind::kLimitsDisagree).limit, "rpm");
}

TEST_F(Observed, FanoutThatFailed) {
  limiter.set_limits(kUser, kApi, {Limit::per_hour("rph", 10)}).value();
  ASSERT_TRUE(acquire({{"rph", 1}}).value());
  faulty->plan(Fault::unavailable().on(RequestKind::kUpdate));
  events.clear();
  EXPECT_FALSE(limiter.set_limits(kUser, kApi, {Limit::per_hour("rph", 20)}));
  EXPECT_EQ(events.count(EventKind::kFanoutIncomplete), 1);
  EXPECT_EQ(events.last(EventKind::kFanoutIncomplete).entity, kUser);
  EXPECT_EQ(events.last(EventKind::kFanoutIncomplete).error->code(), ErrorCode::kUnavailable);
  EXPECT_EQ(events.count(EventKind::kCallFailed), 1);
}

TEST_F(Observed, AChangeOfPoliciesThatIsRepeatedReachesTheBucketsThatItMissed) {
  const LimitList limits = {Limit::per_hour("rph", 10)};
  limiter.set_limits(Scope::resource(kApi), limits).value();
  ASSERT_TRUE(acquire({{"rph", 1}}).value());
  // Numbers alone are brought to no bucket, however often they are set.
  EXPECT_EQ(limiter.set_limits(Scope::resource(kApi), limits).value().buckets, 0);
  const auto disable = [&] {
    return limiter.set_limits(Scope::resource(kApi), limits, {.access = AccessPolicy::kDisabled});
  };
  faulty->plan(Fault::unavailable().on(RequestKind::kQuery));
  EXPECT_FALSE(disable());
  EXPECT_EQ(events.count(EventKind::kFanoutIncomplete), 1);
  EXPECT_EQ(disable().value().buckets, 1);
  EXPECT_EQ(acquire({{"rph", 1}}).value().outcome(), Outcome::kDisabled);
}

TEST_F(Observed, RefusedForItsDeadlineIsNoErrorOfTheStore) {
  warm_up();
  faulty->plan(Fault::unavailable().onwards());
  events.clear();
  EXPECT_FALSE(limiter.get_entity(kUser));
  EXPECT_EQ(events.count(EventKind::kStoreError), 1);
  EXPECT_EQ(events.last(EventKind::kStoreError).entity, "");
}

TEST_F(Observed, SeveralObserversHearTheSameInTheOrderGiven) {
  Events first;
  Events second;
  MultiObserver both({&first, &second});
  LimiterOptions watched = options();
  watched.observer = &both;
  Limiter other(store, watched);
  ASSERT_TRUE(other.acquire(request({{"rph", 1}})).value());
  EXPECT_EQ(first.count(EventKind::kAdmitted), 1);
  EXPECT_EQ(first.story(), second.story());
  EXPECT_FALSE(both.times_store());
}

TEST(EventKinds, HaveDifferentNames) {
  std::vector<std::string> names;
  for (int kind = 0; to_string(static_cast<EventKind>(kind)) != "unknown"; ++kind) {
    names.emplace_back(to_string(static_cast<EventKind>(kind)));
  }
  EXPECT_EQ(names.size(), 22u);
  EXPECT_EQ(names.back(), "fanout_incomplete");
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

}  // namespace
}  // namespace stint::test
