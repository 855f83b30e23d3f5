// Buckets that another program has split into shards: served on the shard that was drawn, refused
// where shards would have to agree on something first, and never damaged.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "limiter/store_handle.h"
#include "schema/bucket_item.h"
#include "schema/keys.h"
#include "schema/records.h"
#include "stint/limiter.h"
#include "store/memory/memory_engine.h"
#include "testing/faulty_store.h"
#include "tests/limiter/support.h"
#include "tests/support/seed.h"

namespace stint::test {
namespace {

constexpr std::int64_t kToken = 1000;

class Shards : public ::testing::Test {
 protected:
  LimiterOptions options() {
    LimiterOptions options;
    options.clock = &clock;
    options.seed = seed() + (++seeds_given_ << 32);
    return options;
  }
  Result<Decision> try_acquire(std::vector<Consume> consume, const std::string& entity = kUser) {
    return limiter.acquire({.entity = entity, .resource = kApi, .consume = std::move(consume)});
  }
  bool admits(std::vector<Consume> consume, const std::string& entity = kUser) {
    return static_cast<bool>(try_acquire(std::move(consume), entity).value());
  }
  LimitStatus status(const std::string& limit, const std::string& entity = kUser) {
    return find_status(limiter.available(entity, kApi).value().limits, limit, entity);
  }

  store::ImagePtr get(const store::Key& key) {
    store::GetRequest request(key, store::Consistency::kStrong);
    store::Call call;
    call.request = &request;
    memory->execute(std::span<store::Call>(&call, 1));
    return std::get<store::GetReply>(call.reply).image;
  }
  void put(const store::ImagePtr& item) {
    store::PutRequest request(item, nullptr);
    store::Call call;
    call.request = &request;
    memory->execute(std::span<store::Call>(&call, 1));
  }
  std::string ns() {
    return schema::decode_namespace(*get(schema::namespace_name_key("default"))).value().id;
  }
  store::ImagePtr shard(std::int64_t index, const std::string& entity = kUser) {
    return get(schema::bucket_key(ns(), entity, kApi, index));
  }
  void edit_shard(std::int64_t index, const std::function<void(store::ImageBuilder&)>& edit,
                  const std::string& entity = kUser) {
    store::ImageBuilder item(*shard(index, entity));
    edit(item);
    put(item.build());
  }
  std::int64_t field(std::int64_t index, const std::string& limit, const std::string& name,
                     const std::string& entity = kUser) {
    return shard(index, entity)->number(store::intern("b_" + limit + "_" + name)).value();
  }
  /// What a doubling by the other package leaves (rules W7, W14): every shard has its part of the
  /// rates, and of a quota what `quota_parts` says. `count` also where some shards are missing.
  void split(std::int64_t count, const std::set<std::int64_t>& missing = {},
             const std::string& entity = kUser) {
    store::ImagePtr whole = shard(0, entity);
    for (std::int64_t i = 0; i < count; ++i) {
      if (i > 0 && missing.contains(i)) continue;
      store::ImageBuilder item(schema::bucket_key(ns(), entity, kApi, i));
      for (const store::ImageEntry& entry : *whole) {
        if (store::index_of(entry.id()) > store::index_of(store::index_sk(4))) {
          item.set(entry.id(), whole->value(entry));
        }
      }
      schema::set_bucket_index_keys(item, ns(), schema::BucketAddress{entity, kApi, i});
      item.set(store::intern("shard_count"), count);
      for (const char* limit : {"rpm", "day", "session"}) {
        auto attr = [&](const char* name) {
          return store::intern(std::string("b_") + limit + "_" + name);
        };
        std::optional<std::int64_t> capacity = whole->number(attr("cp"));
        if (!capacity) continue;
        item.set(attr("tk"), *capacity / count);
        item.set(attr("tc"), std::int64_t{0});
        if (whole->has(attr("gc"))) item.set(attr("gc"), count);
      }
      put(item.build());
    }
    limiter.forget_caches();
  }

  FakeClock clock{instant("2027-03-10T12:00Z")};
  std::shared_ptr<store::Engine> memory = store::make_memory_engine(shared_table());
  std::shared_ptr<FaultyStore> engine = std::make_shared<FaultyStore>(memory);
  std::uint64_t seeds_given_ = 0;
  Limiter limiter{limiter::open_store(engine, {}).value(), options()};
};

TEST_F(Shards, AllAreUsedAlike) {
  limiter.set_limits(Scope::resource(kApi), {Limit::per_minute("rpm", 4'000)}).value();
  ASSERT_TRUE(admits({{"rpm", 1}}));
  split(4);

  for (int i = 0; i < 400; ++i) ASSERT_TRUE(admits({{"rpm", 1}}));

  std::int64_t consumed = 0;
  for (std::int64_t i = 0; i < 4; ++i) {
    std::int64_t here = field(i, "rpm", "tc") / kToken;
    EXPECT_GT(here, 50) << i;
    EXPECT_EQ(field(i, "rpm", "tk"), (1'000 - here) * kToken);
    EXPECT_EQ(shard(i)->number(store::intern("shard_count")), 4);
    consumed += here;
  }
  EXPECT_EQ(consumed, 400);
}

TEST_F(Shards, WarmAcquireIsOneWriteWhicheverIsDrawn) {
  limiter.set_limits(Scope::resource(kApi), {Limit::per_minute("rpm", 4'000)}).value();
  ASSERT_TRUE(admits({{"rpm", 1}}));
  split(4);
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(admits({{"rpm", 1}}));
  engine->reset_counters();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(admits({{"rpm", 1}}));
  EXPECT_EQ(engine->requests(), 20);
  EXPECT_EQ(engine->requests(RequestKind::kUpdate), 20);
}

TEST_F(Shards, EachAdmitsItsPartAndNoMore) {
  limiter
      .set_limits(Scope::resource(kApi),
                  {Limit::per_hour("rpm", 100), Limit::calendar("day", 40, "0 0 * * *")})
      .value();
  ASSERT_TRUE(admits({{"rpm", 1}, {"day", 1}}));
  split(4);

  int admitted = 0;
  for (int i = 0; i < 400; ++i) admitted += admits({{"rpm", 1}, {"day", 1}}) ? 1 : 0;

  EXPECT_EQ(admitted, 40);
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(field(i, "day", "tk"), 0) << i;
  clock.set(instant("2027-03-11T00:00Z"));
  admitted = 0;
  for (int i = 0; i < 400; ++i) admitted += admits({{"rpm", 1}, {"day", 1}}) ? 1 : 0;
  EXPECT_EQ(admitted, 40);
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(field(i, "day", "gc"), 4) << i;
}

TEST_F(Shards, RatesRefillPartByPart) {
  limiter.set_limits(Scope::resource(kApi), {Limit::per_minute("rpm", 60)}).value();
  ASSERT_TRUE(admits({{"rpm", 1}}));
  split(2);
  int admitted = 0;
  for (int i = 0; i < 200; ++i) admitted += admits({{"rpm", 1}}) ? 1 : 0;
  EXPECT_EQ(admitted, 60);
  clock.advance(10s);
  admitted = 0;
  for (int i = 0; i < 200; ++i) admitted += admits({{"rpm", 1}}) ? 1 : 0;
  EXPECT_EQ(admitted, 10);
}

TEST_F(Shards, AMissingOneIsNotMadeAndTheFirstServesInstead) {
  limiter.set_limits(Scope::resource(kApi), {Limit::per_minute("rpm", 4'000)}).value();
  ASSERT_TRUE(admits({{"rpm", 1}}));
  split(4, {1, 3});

  for (int i = 0; i < 100; ++i) ASSERT_TRUE(admits({{"rpm", 1}}));

  EXPECT_FALSE(shard(1));
  EXPECT_FALSE(shard(3));
  EXPECT_GT(field(0, "rpm", "tc"), field(2, "rpm", "tc"));
  EXPECT_EQ(field(0, "rpm", "tc") + field(2, "rpm", "tc"), 100 * kToken);
}

TEST_F(Shards, OneThatHasNotHeardOfADoublingIsLeftAlone) {
  limiter
      .set_limits(Scope::resource(kApi),
                  {Limit::per_minute("rpm", 4'000), Limit::calendar("day", 400, "0 0 * * *")})
      .value();
  ASSERT_TRUE(admits({{"rpm", 1}}));
  split(4);
  edit_shard(1, [](store::ImageBuilder& item) {
    item.set(store::intern("shard_count"), std::int64_t{2});
  });
  store::ImagePtr before = shard(1);

  clock.set(instant("2027-03-11T00:00Z"));
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(admits({{"rpm", 1}, {"day", 1}}));

  EXPECT_EQ(*shard(1), *before);
}

TEST_F(Shards, ADoublingIsLearntFromTheFirstOne) {
  limiter.set_limits(Scope::resource(kApi), {Limit::per_minute("rpm", 4'000)}).value();
  ASSERT_TRUE(admits({{"rpm", 1}}));
  ASSERT_TRUE(admits({{"rpm", 1}}));
  store::ImagePtr whole = shard(0);
  split(2);
  // `split` also had the limiter forget; another one still remembers one shard.
  Limiter warm(limiter::open_store(engine, {}).value(), options());
  put(whole);
  AcquireRequest one{.entity = kUser, .resource = kApi, .consume = {{"rpm", 1}}};
  ASSERT_TRUE(warm.acquire(one).value());
  edit_shard(0, [](store::ImageBuilder& item) {
    item.set(store::intern("shard_count"), std::int64_t{2});
  });
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(warm.acquire(one).value());
  EXPECT_GT(field(1, "rpm", "tc"), 0);
  EXPECT_GT(field(0, "rpm", "tc"), 0);
}

TEST_F(Shards, AWindowThatWouldHaveToOpenIsRefusedAndNothingTouched) {
  limiter
      .set_limits(Scope::resource(kApi),
                  {Limit::session("session", 100, 1h), Limit::per_minute("rpm", 60)})
      .value();
  ASSERT_TRUE(admits({{"session", 1}, {"rpm", 1}}));
  split(2);
  // While it runs it is debited; one that has ended another program has to open anew.
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(admits({{"session", 1}}));
  clock.advance(1h);
  std::map<std::int64_t, store::ImagePtr> before{{0, shard(0)}, {1, shard(1)}};

  for (int i = 0; i < 8; ++i) {
    Result<Decision> refused = try_acquire({{"session", 1}, {"rpm", 1}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::kVersionMismatch);
    EXPECT_NE(refused.error().reason().find("split into 2 shards"), std::string::npos)
        << refused.error().reason();
    EXPECT_NE(refused.error().reason().find("open the window of session"), std::string::npos);
    Availability seen = limiter.available(kUser, kApi, {{"session", 1}, {"rpm", 1}}).value();
    EXPECT_FALSE(seen.fits);
    EXPECT_FALSE(seen.never_fits);
    EXPECT_FALSE(seen.wait);
    EXPECT_EQ(seen.hindrance, refused.error().reason());
  }
  for (const std::vector<Consume>& served :
       {std::vector<Consume>{{"rpm", 1}}, std::vector<Consume>{{"session", 0}, {"rpm", 1}}}) {
    Availability seen = limiter.available(kUser, kApi, served).value();
    EXPECT_TRUE(seen.fits);
    EXPECT_EQ(seen.hindrance, "");
  }
  Explanation explained = limiter.explain(kUser, kApi).value();
  for (const LimitExplanation& limit : explained.buckets.at(0).limits) {
    EXPECT_EQ(limit.hindrance.empty(), limit.limit.name() == "rpm") << limit.hindrance;
  }
  for (const auto& [index, image] : before) EXPECT_EQ(*shard(index), *image) << index;

  // Who does not name it, or takes nothing of it, is served.
  EXPECT_TRUE(admits({{"rpm", 1}}));
  EXPECT_TRUE(admits({{"session", 0}, {"rpm", 1}}));
  AcquireRequest at_any_price{.entity = kUser,
                              .resource = kApi,
                              .consume = {{"session", 1}},
                              .on_unavailable = OnUnavailable::kAllow};
  Result<Decision> refused = limiter.acquire(at_any_price);
  ASSERT_FALSE(refused) << "the store works: nothing passes uncounted";
  EXPECT_EQ(refused.error().code(), ErrorCode::kVersionMismatch);
}

TEST_F(Shards, AWindowThatAnotherProgramOpensIsUsedAtOnce) {
  limiter.set_limits(Scope::resource(kApi), {Limit::session("session", 100, 1h)}).value();
  ASSERT_TRUE(admits({{"session", 1}}));
  split(2);
  clock.advance(1h);
  ASSERT_FALSE(try_acquire({{"session", 1}}));
  std::int64_t now = clock.now().time_since_epoch().count();
  // The opener's own shard, then the other one (rules W3, W6).
  edit_shard(0, [&](store::ImageBuilder& item) {
    item.set(store::intern("rf"), now);
    item.set(store::intern("b_session_ws"), now);
    item.set(store::intern("b_session_wa"), now);
    item.set(store::intern("b_session_tk"), 50 * kToken);
    item.set(store::intern("vu"), now + 3'600'000);
  });
  edit_shard(1, [&](store::ImageBuilder& item) {
    item.set(store::intern("b_session_ws"), now);
    item.set(store::intern("b_session_wtc"), std::int64_t{0});
    item.set(store::intern("vu"), std::int64_t{0});
  });
  clock.advance(1s);

  int admitted = 0;
  for (int i = 0; i < 400; ++i) admitted += admits({{"session", 1}}) ? 1 : 0;

  EXPECT_EQ(admitted, 100);
  EXPECT_EQ(field(1, "session", "wa"), now);
}

TEST_F(Shards, AQuotaThatWouldHaveToBeAddedIsRefusedAndARateIsAdded) {
  limiter.set_limits(Scope::resource(kApi), {Limit::per_minute("rpm", 60)}).value();
  ASSERT_TRUE(admits({{"rpm", 1}}));
  split(2);
  limiter
      .set_limits(Scope::resource(kApi), {Limit::per_minute("rpm", 60), Limit::per_hour("rph", 100),
                                          Limit::calendar("day", 1'000, "0 0 * * *")})
      .value();
  for (int i = 0; i < 8; ++i) {
    Result<Decision> refused = try_acquire({{"rpm", 1}, {"day", 1}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::kVersionMismatch);
    EXPECT_NE(refused.error().reason().find("add the quota day"), std::string::npos);
    Availability seen = limiter.available(kUser, kApi, {{"rpm", 1}, {"day", 1}}).value();
    EXPECT_FALSE(seen.fits);
    EXPECT_EQ(seen.hindrance, refused.error().reason());
    EXPECT_TRUE(limiter.available(kUser, kApi, {{"rpm", 1}, {"rph", 1}}).value().fits);
    EXPECT_TRUE(admits({{"rpm", 1}, {"rph", 1}}));
  }
  for (std::int64_t i : {0, 1}) {
    EXPECT_FALSE(shard(i)->has(store::intern("b_day_cp"))) << i;
    EXPECT_EQ(field(i, "rph", "cp"), 100 * kToken);
    EXPECT_EQ(field(i, "rph", "tk"), 50 * kToken - field(i, "rph", "tc"));
  }
}

TEST_F(Shards, LeasesSettleOnTheShardThatTheyTookFrom) {
  limiter.set_limits(Scope::resource(kApi), {Limit::per_hour("rpm", 4'000)}).value();
  ASSERT_TRUE(admits({{"rpm", 1}}));
  split(4);
  for (int i = 0; i < 40; ++i) {
    Decision decision = try_acquire({{"rpm", 10}}).value();
    ASSERT_TRUE(decision);
    if (i % 2 == 0) {
      ASSERT_TRUE(decision.lease().adjust("rpm", 5).ok());
      ASSERT_TRUE(decision.lease().settle().ok());
    } else {
      ASSERT_TRUE(decision.lease().roll_back().ok());
    }
  }
  std::int64_t consumed = 0;
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(field(i, "rpm", "tc") % (15 * kToken), 0) << i;
    EXPECT_EQ(field(i, "rpm", "tk"), 1'000 * kToken - field(i, "rpm", "tc"));
    consumed += field(i, "rpm", "tc");
  }
  EXPECT_EQ(consumed, 20 * 15 * kToken);
}

TEST_F(Shards, ASettleThatFindsNoWindowIsCountedAndOpensNone) {
  limiter.set_limits(Scope::resource(kApi), {Limit::session("session", 100, 1h)}).value();
  ASSERT_TRUE(admits({{"session", 1}}));
  split(2);
  Decision decision = try_acquire({{"session", 10}}).value();
  ASSERT_TRUE(decision.lease().adjust("session", 5).ok());
  clock.advance(1h);
  std::int64_t window = field(0, "session", "ws");

  ASSERT_TRUE(decision.lease().settle().ok());

  EXPECT_EQ(field(0, "session", "tc") + field(1, "session", "tc"), 15 * kToken);
  for (std::int64_t i : {0, 1}) EXPECT_EQ(field(i, "session", "ws"), window) << i;
}

TEST_F(Shards, R54_R55_P100_AvailabilityIsTheSumAndOneShardHasToFit) {
  limiter
      .set_limits(Scope::resource(kApi),
                  {Limit::per_hour("rpm", 100), Limit::calendar("day", 40, "0 0 * * *")})
      .value();
  ASSERT_TRUE(admits({{"rpm", 1}}));
  split(4);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(admits({{"rpm", 2}, {"day", 1}}));

  EXPECT_EQ(status("rpm").remaining, MilliTokens(80 * kToken));
  EXPECT_EQ(status("rpm").capacity, MilliTokens(100 * kToken));
  EXPECT_EQ(status("rpm").refill_amount, MilliTokens(100 * kToken));
  EXPECT_EQ(status("day").remaining, MilliTokens(30 * kToken));
  EXPECT_EQ(status("day").capacity, MilliTokens(40 * kToken));
  EXPECT_EQ(show(status("day").resets_at), "2027-03-11T00:00Z");
  engine->reset_counters();
  EXPECT_FALSE(limiter.available(kUser, kApi, {{"rpm", 26}}).value().fits);
  EXPECT_EQ(engine->requests(), 2);
  EXPECT_TRUE(limiter.available(kUser, kApi, {{"rpm", 10}}).value().fits);
}

TEST_F(Shards, ShardsThatABatchLeavesOutAreAskedForAgain) {
  limiter.set_limits(Scope::resource(kApi), {Limit::per_hour("rpm", 100)}).value();
  ASSERT_TRUE(admits({{"rpm", 1}}));
  split(4);
  // The first batch is of the bucket and what is configured, the second of its other shards.
  engine->plan(Fault::keys_unprocessed(2).on(RequestKind::kBatchGet, 2));

  EXPECT_EQ(status("rpm").capacity, MilliTokens(100 * kToken));
}

TEST_F(Shards, NeverFitsIsSaidOfTheWholeBucketOnly) {
  limiter
      .set_limits(Scope::resource(kApi),
                  {Limit::per_hour("rpm", 100), Limit::calendar("day", 4, "0 0 * * *")})
      .value();
  ASSERT_TRUE(admits({{"rpm", 1}}));
  split(2);
  for (const auto& [limit, whole] : {std::pair("rpm", 100), std::pair("day", 4)}) {
    for (std::int64_t amount : {whole, whole + 1}) {
      Decision refused = try_acquire({{limit, amount}}).value();
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.rejection().never_fits, amount > whole) << limit << ' ' << amount;
      EXPECT_FALSE(refused.rejection().retry_after) << limit << ' ' << amount;
      Availability seen = limiter.available(kUser, kApi, {{limit, amount}}).value();
      EXPECT_FALSE(seen.fits);
      EXPECT_FALSE(seen.wait);
      EXPECT_EQ(seen.never_fits, amount > whole) << limit << ' ' << amount;
    }
  }
}

TEST_F(Shards, R30_ChangesOfLimitsReachAll) {
  limiter.set_limits(kUser, kApi, {Limit::per_hour("rpm", 100)}).value();
  ASSERT_TRUE(admits({{"rpm", 1}}));
  split(4);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(admits({{"rpm", 1}}));

  LimitsChange change = limiter.set_limits(kUser, kApi, {Limit::per_hour("rpm", 40)}).value();

  EXPECT_EQ(change.buckets, 4);
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(field(i, "rpm", "cp"), 40 * kToken) << i;
  EXPECT_LE(status("rpm").remaining, MilliTokens(40 * kToken));
  int admitted = 0;
  for (int i = 0; i < 200; ++i) admitted += admits({{"rpm", 1}}) ? 1 : 0;
  EXPECT_LE(admitted, 40);
}

TEST_F(Shards, R56_ParentAndChildAreDrawnApart) {
  limiter.create_entity("org").value();
  limiter.create_entity(kUser, {.parent = "org", .cascade = true}).value();
  limiter.set_limits(Scope::resource(kApi), {Limit::per_minute("rpm", 4'000)}).value();
  ASSERT_TRUE(admits({{"rpm", 1}}));
  split(2);
  split(4, {}, "org");
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(admits({{"rpm", 1}}));
  std::int64_t of_child = 0;
  std::int64_t of_parent = 0;
  for (std::int64_t i = 0; i < 2; ++i) {
    EXPECT_GT(field(i, "rpm", "tc"), 50 * kToken) << i;
    of_child += field(i, "rpm", "tc");
  }
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_GT(field(i, "rpm", "tc", "org"), 20 * kToken) << i;
    of_parent += field(i, "rpm", "tc", "org");
  }
  EXPECT_EQ(of_child, 200 * kToken);
  EXPECT_EQ(of_parent, 200 * kToken);
  engine->reset_counters();
  ASSERT_TRUE(admits({{"rpm", 1}}));
  EXPECT_EQ(engine->requests(), 2);
}

TEST_F(Shards, DeletingTheEntityRemovesAll) {
  limiter.create_entity(kUser).value();
  limiter.set_limits(Scope::resource(kApi), {Limit::per_minute("rpm", 60)}).value();
  ASSERT_TRUE(admits({{"rpm", 1}}));
  split(4);
  ASSERT_TRUE(admits({{"rpm", 1}}));
  limiter.delete_entity(kUser).value();
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_FALSE(shard(i)) << i;
  EXPECT_TRUE(admits({{"rpm", 1}}));
  EXPECT_EQ(shard(0)->number(store::intern("shard_count")), 1);
}

}  // namespace
}  // namespace stint::test
