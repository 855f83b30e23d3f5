// Writers that are not in this process, between a limiter's look and its write: the conditions of
// decision 30 on an engine whose items others write too.
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "limiter/store_handle.h"
#include "schema/bucket_fields.h"
#include "schema/entity_item.h"
#include "schema/keys.h"
#include "schema/records.h"
#include "stint/limiter.h"
#include "store/memory/memory_engine.h"
#include "testing/faulty_store.h"
#include "tests/limiter/support.h"

namespace stint::test {
namespace {

/// Runs what a test has prepared right before a write reaches the store.
class Interleaver final : public store::Engine {
 public:
  explicit Interleaver(std::shared_ptr<store::Engine> inner) : inner_(std::move(inner)) {}

  void before_next_write(std::function<void()> intrusion) {
    intrusions_.push_back(std::move(intrusion));
  }

  const store::Capabilities& capabilities() const noexcept override {
    return inner_->capabilities();
  }
  void execute(std::span<store::Call> calls) noexcept override {
    bool writes = false;
    for (const store::Call& call : calls) {
      RequestKind kind = kind_of(call);
      writes = writes || kind == RequestKind::kUpdate || kind == RequestKind::kTransact ||
               kind == RequestKind::kPut;
    }
    if (writes && !intrusions_.empty()) {
      // Taken out first: an intrusion may write through this engine itself.
      std::function<void()> intrusion = std::move(intrusions_.front());
      intrusions_.pop_front();
      intrusion();
    }
    inner_->execute(calls);
  }

 private:
  std::shared_ptr<store::Engine> inner_;
  std::deque<std::function<void()>> intrusions_;
};

class Contention : public ::testing::Test {
 protected:
  static constexpr std::int64_t kToken = 1000;

  Contention()
      : memory(store::make_memory_engine(lean_table())),
        engine(std::make_shared<Interleaver>(memory)),
        limiter(limiter::open_store(engine, {}).value(), options()),
        other(limiter::open_store(memory, {}).value(), options()) {}

  LimiterOptions options() {
    LimiterOptions options;
    options.clock = &clock;
    options.observer = &events;
    return options;
  }
  static AcquireRequest request(std::vector<Consume> consume) {
    return {.entity = kUser, .resource = kApi, .consume = std::move(consume)};
  }
  std::int64_t left(const std::string& limit) {
    return find_status(other.available(kUser, kApi).value().limits, limit).remaining.whole_tokens();
  }
  /// A request of another process that is admitted.
  std::function<void()> other_takes(const std::string& limit, std::int64_t amount) {
    return [this, limit, amount] {
      EXPECT_TRUE(other.acquire(request({{limit, amount}})).value());
    };
  }
  std::string name_space_id() {
    store::Key name = schema::namespace_name_key("default");
    return schema::decode_namespace(*get(name)).value().id;
  }
  store::ImagePtr bucket() { return get(schema::bucket_key(name_space_id(), kUser, kApi, 0)); }
  void edit_bucket(const std::function<void(store::ImageBuilder&)>& edit) {
    store::ImageBuilder item(*bucket());
    edit(item);
    store::PutRequest put(item.build(), nullptr);
    store::Call call;
    call.request = &put;
    memory->execute(std::span<store::Call>(&call, 1));
  }

  store::ImagePtr get(const store::Key& key) {
    store::GetRequest request(key, store::Consistency::kStrong);
    store::Call call;
    call.request = &request;
    memory->execute(std::span<store::Call>(&call, 1));
    return std::get<store::GetReply>(call.reply).image;
  }

  FakeClock clock{instant("2027-03-10T12:00Z")};
  Events events;
  std::shared_ptr<store::Engine> memory;
  std::shared_ptr<Interleaver> engine;
  Limiter limiter;
  Limiter other;
};

TEST_F(Contention, PolicySetBetweenTheLookAndTheWriteOfNewLimitsStays) {
  Scope scope = Scope::resource(kApi);
  limiter.set_limits(scope, {Limit::per_hour("rph", 10)}).value();
  engine->before_next_write([&] {
    other.set_limits(scope, {Limit::per_hour("rph", 10)}, {.access = AccessPolicy::kDisabled})
        .value();
  });

  limiter.set_limits(scope, {Limit::per_hour("rph", 20)}).value();

  ScopeConfig stored = other.get_limits(scope).value();
  EXPECT_EQ(stored.access, AccessPolicy::kDisabled);
  EXPECT_EQ(stored.limits.at(0).capacity(), Tokens(20));
}

TEST_F(Contention, ScopeDeletedBetweenTheLookAndTheWriteIsCountedAgain) {
  Scope scope = Scope::entity(kUser);
  limiter.set_limits(scope, {Limit::per_hour("rph", 10)}).value();
  engine->before_next_write([&] { other.delete_limits(scope).value(); });

  limiter.set_limits(scope, {Limit::per_hour("rph", 20)}).value();

  EXPECT_EQ(other.get_limits(scope).value().limits.at(0).capacity(), Tokens(20));
  store::Key registry = schema::entity_config_registry_key(name_space_id());
  EXPECT_EQ(get(registry)->number(store::intern("_default_")), 1);
}

TEST_F(Contention, R64_RejectionAfterALostLockIsDrawnFromTheImageThatItGot) {
  limiter.set_limits(kUser, kApi, {Limit::rate("rate", 100, 1, 10s)}).value();
  ASSERT_TRUE(limiter.acquire(request({{"rate", 1}})).value());
  clock.advance(300s);
  engine->before_next_write(other_takes("rate", 100));

  Decision refused = limiter.acquire(request({{"rate", 5}})).value();

  ASSERT_EQ(refused.outcome(), Outcome::kRejected);
  EXPECT_EQ(find_status(refused.limits(), "rate").remaining, MilliTokens(0));
  EXPECT_EQ(refused.rejection().retry_after, std::optional<Millis>(50s));
  EXPECT_EQ(events.count(EventKind::kConflict), 1);
  EXPECT_EQ(left("rate"), 0);
}

TEST_F(Contention, R64_LostLockIsRetriedWhereThereIsEnough) {
  limiter.set_limits(kUser, kApi, {Limit::rate("rate", 100, 1, 10s)}).value();
  ASSERT_TRUE(limiter.acquire(request({{"rate", 50}})).value());
  clock.advance(300s);
  engine->before_next_write(other_takes("rate", 10));

  EXPECT_TRUE(limiter.acquire(request({{"rate", 5}})).value());

  EXPECT_EQ(left("rate"), 65);
}

TEST_F(Contention, Decision30_FastWritesOfOthersDoNotDisturbALockedOne) {
  limiter.set_limits(kUser, kApi, {Limit::rate("rate", 1'600, 1, 1s)}).value();
  ASSERT_TRUE(limiter.acquire(request({{"rate", 1'000}})).value());
  clock.advance(101s);  // older than the tolerance of 100 s
  engine->before_next_write([&] {
    // A debit that does not move the refill stamp, as one by a process with an older clock.
    edit_bucket([](store::ImageBuilder& item) {
      item.set(store::intern("b_rate_tk"), 600 * kToken - 20 * kToken);
      item.set(store::intern("b_rate_tc"), 1'020 * kToken);
      item.set(store::intern("st_n"), std::int64_t{4711});
    });
  });

  ASSERT_TRUE(limiter.acquire(request({{"rate", 5}})).value());

  EXPECT_EQ(events.count(EventKind::kConflict), 0);
  EXPECT_EQ(left("rate"), 600 + 101 - 20 - 5);
}

TEST_F(Contention, Decision30_FiveLostAttemptsAreAConflictAndNeverADecision) {
  limiter.set_limits(kUser, kApi, {Limit::rate("rate", 100, 1, 10s)}).value();
  ASSERT_TRUE(limiter.acquire(request({{"rate", 50}})).value());
  clock.advance(300s);
  std::int64_t shift = 0;
  for (int i = 0; i < 5; ++i) {
    engine->before_next_write([&] {
      edit_bucket([&](store::ImageBuilder& item) {
        item.set(store::intern("rf"), clock.now().time_since_epoch().count() - 200'000 + ++shift);
      });
    });
  }

  Result<Decision> result = limiter.acquire(request({{"rate", 5}}));

  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::kConflict);
  EXPECT_TRUE(limiter.acquire(request({{"rate", 5}})).value());
}

TEST_F(Contention, Decision30_SettleIsNotLostToOtherWriters) {
  limiter.set_limits(kUser, kApi, {Limit::rate("rate", 100, 1, 10s)}).value();
  Decision decision = limiter.acquire(request({{"rate", 10}})).value();
  ASSERT_TRUE(decision.lease().adjust("rate", 30).ok());
  clock.advance(300s);
  std::int64_t shift = 0;
  for (int i = 0; i < 5; ++i) {
    engine->before_next_write([&] {
      edit_bucket([&](store::ImageBuilder& item) {
        item.set(store::intern("rf"), clock.now().time_since_epoch().count() - 200'000 + ++shift);
      });
    });
  }

  ASSERT_TRUE(decision.lease().settle().ok());

  EXPECT_EQ(bucket()->number(store::intern("b_rate_tc")), 40 * kToken);
  EXPECT_LE(left("rate"), 80);
}

TEST_F(Contention, R32_FanOutBetweenLookAndWriteIsHeeded) {
  limiter.set_limits(kUser, kApi, {Limit::rate("rate", 100, 1, 10s)}).value();
  ASSERT_TRUE(limiter.acquire(request({{"rate", 1}})).value());
  for (Millis rest : {Millis(300s), Millis(0)}) {
    other.set_limits(kUser, kApi, {Limit::rate("rate", 100, 1, 10s)}).value();
    clock.advance(1'000s);
    ASSERT_TRUE(limiter.acquire(request({{"rate", 1}})).value());
    clock.advance(rest);
    engine->before_next_write(
        [&] { other.set_limits(kUser, kApi, {Limit::rate("rate", 10, 1, 10s)}).value(); });

    EXPECT_FALSE(limiter.acquire(request({{"rate", 11}})).value());
    EXPECT_EQ(bucket()->number(store::intern("b_rate_cp")), 10 * kToken);
  }
}

TEST_F(Contention, R22_SeedIsPinnedToTheShardCount) {
  limiter.set_limits(Scope::resource(kApi), {Limit::rate("rate", 100, 1, 10s)}).value();
  ASSERT_TRUE(limiter.acquire(request({{"rate", 1}})).value());
  limiter
      .set_limits(Scope::resource(kApi),
                  {Limit::rate("rate", 100, 1, 10s), Limit::calendar("daily", 1'000, "0 0 * * *")})
      .value();
  engine->before_next_write([&] {
    edit_bucket(
        [](store::ImageBuilder& item) { item.set(store::intern("shard_count"), std::int64_t{2}); });
  });

  Result<Decision> refused = limiter.acquire(request({{"daily", 1}}));

  // What one of two shards may grant is to be agreed upon with the other.
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kVersionMismatch);
  EXPECT_FALSE(bucket()->has(store::intern("b_daily_cp")));
  EXPECT_TRUE(limiter.acquire(request({{"rate", 1}})).value());
}

TEST_F(Contention, P44_WindowOpenedByAnotherFirstIsJoined) {
  limiter.set_limits(kUser, kApi, {Limit::session("session", 10, 1h)}).value();
  ASSERT_TRUE(limiter.acquire(request({{"session", 10}})).value());
  clock.advance(2h);
  engine->before_next_write(other_takes("session", 8));

  EXPECT_FALSE(limiter.acquire(request({{"session", 3}})).value());
  EXPECT_TRUE(limiter.acquire(request({{"session", 2}})).value());

  EXPECT_EQ(left("session"), 0);
}

TEST_F(Contention, P44_BucketCreatedByAnotherFirstIsUsed) {
  limiter.set_limits(Scope::resource(kApi), {Limit::session("session", 10, 1h)}).value();
  engine->before_next_write(other_takes("session", 8));

  EXPECT_FALSE(limiter.acquire(request({{"session", 3}})).value());
  EXPECT_TRUE(limiter.acquire(request({{"session", 2}})).value());
}

TEST_F(Contention, OwnerReplacedBetweenLookAndCreationIsReadAgain) {
  limiter.set_limits(Scope::resource(kApi), {Limit::rate("rate", 100, 1, 10s)}).value();
  engine->before_next_write([&] {
    other.create_entity("parent").value();
    other.create_entity(kUser, {.parent = "parent", .cascade = true}).value();
  });

  ASSERT_TRUE(limiter.acquire(request({{"rate", 10}})).value());

  EXPECT_EQ(bucket()->string(store::intern("parent_id")), "parent");
  EXPECT_EQ(left("rate"), 90);
  Availability parent = other.available("parent", kApi).value();
  EXPECT_EQ(find_status(parent.limits, "rate", "parent").remaining, MilliTokens(90 * kToken));
}

TEST_F(Contention, Decision27_ChangePinsWhatItMoves) {
  limiter.set_limits(kUser, kApi, {Limit::session("session", 10, 1h)}).value();
  ASSERT_TRUE(limiter.acquire(request({{"session", 4}})).value());
  engine->before_next_write([&] {});  // the configuration itself
  engine->before_next_write(other_takes("session", 3));

  limiter.set_limits(kUser, kApi, {Limit::session("session", 20, 1h)}).value();

  EXPECT_EQ(left("session"), 13);
}

TEST_F(Contention, R63_TransactionInTheWayIsRetried) {
  auto faulty = std::make_shared<FaultyStore>(store::make_memory_engine(lean_table()));
  Limiter own(limiter::open_store(faulty, {}).value(), options());
  own.set_limits(Scope::resource(kApi), {Limit::rate("rate", 100, 1, 10s)}).value();
  ASSERT_TRUE(own.acquire(request({{"rate", 1}})).value());
  for (int times = 1; times <= 3; ++times) {
    for (int i = 1; i <= times; ++i) faulty->plan(Fault::conflict().on(RequestKind::kUpdate, i));
    EXPECT_TRUE(own.acquire(request({{"rate", 1}})).value()) << times;
    EXPECT_FALSE(faulty->pending());
  }
  Availability seen = own.available(kUser, kApi).value();
  EXPECT_EQ(find_status(seen.limits, "rate").remaining, MilliTokens(96 * kToken));
}

TEST_F(Contention, WhatHasLandedIsNotSentAgainWhenTheParentsLimitIsGone) {
  constexpr const char* kTeam = "team";
  limiter.create_entity(kTeam).value();
  limiter.create_entity(kUser, {.parent = kTeam, .cascade = true}).value();
  limiter.set_limits(kTeam, kApi, {Limit::per_hour("rph", 100)}).value();
  limiter.set_limits(kUser, kApi, {Limit::per_hour("rph", 10)}).value();
  ASSERT_TRUE(limiter.acquire(request({{"rph", 1}})).value());

  // The pair of writes: the child's lands, the parent's finds its limit gone.
  engine->before_next_write(
      [&] { other.set_limits(kTeam, kApi, {Limit::per_hour("other", 5)}).value(); });
  // Would another write come, it would find that somebody has written in between.
  engine->before_next_write([&] {
    edit_bucket(
        [](store::ImageBuilder& item) { item.set(store::intern("st_n"), std::int64_t{42}); });
  });
  ASSERT_TRUE(limiter.acquire(request({{"rph", 1}})).value());

  EXPECT_EQ(left("rph"), 8);
  EXPECT_EQ(bucket()->number(schema::field_attr("rph", schema::Field::kConsumed)), 2 * kToken);
}

/// A child that another program moves while this one remembers its bucket under the old parent.
class MovedElsewhere : public Contention {
 protected:
  static constexpr const char* kOld = "old";
  static constexpr const char* kNew = "new";

  MovedElsewhere() {
    limiter.create_entity(kOld).value();
    limiter.create_entity(kNew).value();
    limiter.create_entity(kUser, {.parent = kOld, .cascade = true}).value();
    limiter.set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10)}).value();
    EXPECT_TRUE(limiter.acquire(request({{"rph", 1}})).value());
  }
  std::int64_t left_of(const std::string& entity) {
    return find_status(other.available(entity, kApi).value().limits, "rph", entity)
        .remaining.whole_tokens();
  }
  void put(const store::ImagePtr& item) {
    store::PutRequest request(item, nullptr);
    store::Call call;
    call.request = &request;
    memory->execute(std::span<store::Call>(&call, 1));
  }
  /// Rules W12: the entity's record first, its buckets afterwards. No parent: it has none any more.
  void move(const std::optional<std::string>& parent) {
    schema::EntityRecord record =
        schema::decode_entity(*get(schema::entity_key(name_space_id(), kUser))).value();
    record.parent = parent;
    record.parent_generation += 1;
    put(schema::encode_entity(name_space_id(), record));
    edit_bucket([&](store::ImageBuilder& item) {
      item.set(store::intern("cascade"), record.cascade && parent.has_value());
      if (parent) {
        item.set(store::intern("parent_id"), *parent);
      } else {
        item.erase(store::intern("parent_id"));
      }
      item.set(store::intern("pgen"), record.parent_generation);
      item.set(store::intern("pinc"), record.incarnation());
    });
  }
};

TEST_F(MovedElsewhere, R82_ImageOfALandedWriteTeachesTheParent) {
  engine->before_next_write([&] { move(kNew); });

  Decision decision = limiter.acquire(request({{"rph", 1}})).value();

  ASSERT_TRUE(decision);
  EXPECT_EQ(find_status(decision.limits(), "rph", kNew).remaining, MilliTokens(9 * kToken));
  EXPECT_EQ(left("rph"), 8);
  EXPECT_EQ(left_of(kOld), 9);
  EXPECT_EQ(left_of(kNew), 9);
  ASSERT_TRUE(limiter.acquire(request({{"rph", 1}})).value());
  EXPECT_EQ(left_of(kOld), 9);
  EXPECT_EQ(left_of(kNew), 8);
}

TEST_F(MovedElsewhere, R82_ImageOfAFailedWriteTeachesItToo) {
  engine->before_next_write([&] {
    move(kNew);
    edit_bucket([](store::ImageBuilder& item) { item.set(store::intern("vu"), std::int64_t{0}); });
  });

  ASSERT_TRUE(limiter.acquire(request({{"rph", 1}})).value());

  EXPECT_EQ(left("rph"), 8);
  EXPECT_EQ(left_of(kOld), 9);
  EXPECT_EQ(left_of(kNew), 9);
}

TEST_F(MovedElsewhere, R82_ShortNewParentRefusesAndNothingIsKept) {
  ASSERT_TRUE(other.acquire({.entity = kNew, .resource = kApi, .consume = {{"rph", 10}}}).value());
  engine->before_next_write([&] { move(kNew); });

  Decision refused = limiter.acquire(request({{"rph", 1}})).value();

  ASSERT_EQ(refused.outcome(), Outcome::kRejected);
  EXPECT_TRUE(find_status(refused.limits(), "rph", kNew).exceeded);
  EXPECT_EQ(left("rph"), 9);
  EXPECT_EQ(left_of(kOld), 9);
  EXPECT_EQ(left_of(kNew), 0);
}

TEST_F(MovedElsewhere, R82_ChildWithoutAParentDebitsItselfAlone) {
  engine->before_next_write([&] { move(std::nullopt); });

  Decision decision = limiter.acquire(request({{"rph", 1}})).value();

  ASSERT_TRUE(decision);
  EXPECT_EQ(decision.limits().size(), 1u);
  EXPECT_EQ(left("rph"), 8);
  EXPECT_EQ(left_of(kOld), 9);
}

TEST_F(MovedElsewhere, R83_DisabledOldParentDoesNotRefuse) {
  engine->before_next_write([&] {
    other
        .set_limits(Scope::entity(kOld), {Limit::per_hour("rph", 10)},
                    {.access = AccessPolicy::kDisabled})
        .value();
    move(kNew);
  });

  ASSERT_TRUE(limiter.acquire(request({{"rph", 1}})).value());

  EXPECT_EQ(left("rph"), 8);
  EXPECT_EQ(left_of(kNew), 9);
}

TEST_F(MovedElsewhere, R83_DisabledNewParentRefusesAndNothingIsKept) {
  other
      .set_limits(Scope::entity(kNew), {Limit::per_hour("rph", 10)},
                  {.access = AccessPolicy::kDisabled})
      .value();
  engine->before_next_write([&] { move(kNew); });

  Decision refused = limiter.acquire(request({{"rph", 1}})).value();

  ASSERT_EQ(refused.outcome(), Outcome::kDisabled);
  EXPECT_EQ(refused.disabled_entity(), kNew);
  EXPECT_EQ(left("rph"), 9);
  EXPECT_EQ(left_of(kOld), 9);
}

TEST_F(MovedElsewhere, R84_EntityDeletedAndCreatedAnewElsewhereHasItsNewParent) {
  engine->before_next_write([&] {
    other.delete_entity(kUser).value();
    clock.advance(1ms);
    other.create_entity(kUser, {.parent = kNew, .cascade = true}).value();
  });

  ASSERT_TRUE(limiter.acquire(request({{"rph", 1}})).value());

  EXPECT_EQ(left("rph"), 9);
  EXPECT_EQ(left_of(kOld), 9);
  EXPECT_EQ(left_of(kNew), 9);
  EXPECT_EQ(bucket()->string(store::intern("parent_id")), kNew);
}

TEST_F(MovedElsewhere, LeaseOfBeforeSettlesWithTheParentThatItTookFrom) {
  Decision decision = limiter.acquire(request({{"rph", 2}})).value();
  move(kNew);
  ASSERT_TRUE(decision.lease().adjust("rph", 1).ok());
  ASSERT_TRUE(decision.lease().settle().ok());

  EXPECT_EQ(left("rph"), 6);
  EXPECT_EQ(left_of(kOld), 6);
  EXPECT_EQ(left_of(kNew), 10);
}

}  // namespace
}  // namespace stint::test
