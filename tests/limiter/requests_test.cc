// Requests and round trips of every call on a table that other processes use, too (decision 19).
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "limiter/store_handle.h"
#include "schema/entity_item.h"
#include "schema/keys.h"
#include "schema/records.h"
#include "stint/limiter.h"
#include "store/memory/memory_engine.h"
#include "tests/limiter/support.h"
#include "tests/support/seed.h"

namespace stint::test {
namespace {

/// Counts what is asked, and how often something is waited for.
class CountingEngine final : public store::Engine {
 public:
  explicit CountingEngine(std::shared_ptr<store::Engine> inner) : inner_(std::move(inner)) {}

  int requests = 0;
  int round_trips = 0;

  const store::Capabilities& capabilities() const noexcept override {
    return inner_->capabilities();
  }
  void execute(std::span<store::Call> calls) noexcept override {
    requests += static_cast<int>(calls.size());
    ++round_trips;
    inner_->execute(calls);
    // DynamoDB does not tell what a transaction made of its items.
    for (store::Call& call : calls) {
      auto* reply = std::get_if<store::TransactReply>(&call.reply);
      if (reply != nullptr) reply->images.clear();
    }
  }

 private:
  std::shared_ptr<store::Engine> inner_;
};

struct Asked {
  int requests = 0;
  int round_trips = 0;
  friend bool operator==(const Asked&, const Asked&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Asked& asked) {
    return out << asked.requests << " requests in " << asked.round_trips << " round trips";
  }
};
constexpr Asked kNothing{0, 0};
constexpr Asked kOne{1, 1};
constexpr Asked kTwoTogether{2, 1};

class Requests : public ::testing::Test {
 protected:
  static constexpr const char* kParent = "parent";
  static constexpr const char* kChild = "child";

  LimiterOptions options() {
    LimiterOptions options;
    options.clock = &clock;
    options.seed = seed() + (++seeds_given_ << 32);
    return options;
  }
  static AcquireRequest request(std::vector<Consume> consume, const std::string& entity = kUser) {
    return {.entity = entity, .resource = kApi, .consume = std::move(consume)};
  }
  bool admits(std::vector<Consume> consume, const std::string& entity = kUser) {
    return static_cast<bool>(limiter.acquire(request(std::move(consume), entity)).value());
  }
  Asked asked_by(const std::function<void()>& call) {
    engine->requests = engine->round_trips = 0;
    call();
    return {engine->requests, engine->round_trips};
  }
  Asked acquire(std::vector<Consume> consume, const std::string& entity = kUser,
                bool admitted = true) {
    return asked_by([&] { EXPECT_EQ(admits(std::move(consume), entity), admitted); });
  }
  /// What another process takes; its clock is the same.
  void other_takes(std::vector<Consume> consume, const std::string& entity = kUser) {
    ASSERT_TRUE(other.acquire(request(std::move(consume), entity)).value());
  }
  void create_family() {
    limiter.create_entity(kParent).value();
    limiter.create_entity(kChild, {.parent = kParent, .cascade = true}).value();
  }
  void set(const LimitList& limits) { limiter.set_limits(Scope::resource(kApi), limits).value(); }

  FakeClock clock{instant("2027-03-10T12:00Z")};
  std::shared_ptr<store::Engine> memory = store::make_memory_engine(shared_table());
  std::shared_ptr<CountingEngine> engine = std::make_shared<CountingEngine>(memory);
  std::uint64_t seeds_given_ = 0;
  Limiter limiter{limiter::open_store(engine, {}).value(), options()};
  Limiter other{limiter::open_store(memory, {}).value(), options()};
};

TEST_F(Requests, WhoLosesTheRefillToAnotherLeavesItToThem) {
  // A sixteenth of a minute is the tolerance; every step is longer.
  set({Limit::per_minute("rpm", 1000)});
  const auto both = [this] {
    clock.advance(4s);
    other_takes({{"rpm", 1}});
    return acquire({{"rpm", 1}});
  };
  acquire({{"rpm", 1}});
  other_takes({{"rpm", 1}});
  EXPECT_EQ(both(), (Asked{2, 2}));  // a lock that is lost, and the fast form
  for (int i = 0; i < 5; ++i) EXPECT_EQ(both(), kOne) << i;

  // The other one is gone: the stamp is found old, once.
  const auto alone = [this] {
    clock.advance(4s);
    return acquire({{"rpm", 1}});
  };
  EXPECT_EQ(alone(), (Asked{2, 2}));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(alone(), kOne) << i;
}

TEST_F(Requests, OpeningATableAndFindingTheNamespace) {
  EXPECT_EQ(asked_by([&] { limiter::open_store(engine, {}).value(); }), kTwoTogether);
  limiter.get_limits(Scope::system()).error();
  Limiter fresh(limiter::open_store(engine, {}).value(), options());
  // The namespace, then what was asked for.
  EXPECT_EQ(asked_by([&] { fresh.get_limits(Scope::system()).error(); }), (Asked{2, 2}));
  EXPECT_EQ(asked_by([&] { fresh.get_limits(Scope::system()).error(); }), kOne);
}

TEST_F(Requests, WarmAcquireIsOne) {
  set({Limit::per_minute("rpm", 600), Limit::session("session", 1'000, 5h)});
  ASSERT_TRUE(admits({{"rpm", 1}, {"session", 1}}));
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(acquire({{"rpm", 1}, {"session", 1}}), kOne) << i;
    clock.advance(300ms);
  }
  // A refill is due: the same.
  clock.advance(20s);
  EXPECT_EQ(acquire({{"rpm", 1}, {"session", 1}}), kOne);
}

TEST_F(Requests, WarmAcquireIsAtMostTwoWhereAnotherProcessMovedTheStamp) {
  set({Limit::per_minute("rpm", 600)});
  ASSERT_TRUE(admits({{"rpm", 1}}));
  for (int i = 0; i < 10; ++i) {
    clock.advance(5s);  // more than the tolerance, 3.75 s
    other_takes({{"rpm", 20}});
    Asked asked = acquire({{"rpm", 1}});
    EXPECT_LE(asked.requests, 2) << i;
    EXPECT_EQ(acquire({{"rpm", 1}}), kOne) << i;
  }
}

TEST_F(Requests, R92_WarmCascadeIsTwoTogetherForEqualAndUnequalLimitSets) {
  create_family();
  set({Limit::per_minute("rpm", 600), Limit::session("session", 1'000, 5h)});
  ASSERT_TRUE(admits({{"rpm", 1}, {"session", 1}}, kChild));
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(acquire({{"rpm", 1}, {"session", 1}}, kChild), kTwoTogether) << i;
    clock.advance(1s);
  }
  limiter.set_limits(kParent, kApi, {Limit::per_minute("rpm", 600)}).value();
  ASSERT_TRUE(admits({{"rpm", 1}, {"session", 1}}, kChild));
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(acquire({{"rpm", 1}, {"session", 1}}, kChild), kTwoTogether) << i;
    clock.advance(1s);
  }
}

TEST_F(Requests, BoundaryPassedOrWindowEndedIsOneWithTheImageAndTwoWithout) {
  set({Limit::session("session", 1'000, 30s), Limit::calendar("minute", 100, "*/2 * * * *"),
       Limit::calendar("hour", 50, "0 * * * *")});
  ASSERT_TRUE(admits({{"session", 1}, {"hour", 1}}));
  clock.advance(30s);
  EXPECT_EQ(acquire({{"session", 1}, {"hour", 1}}), kOne);
  limiter.forget_caches();
  clock.advance(30s);
  EXPECT_EQ(acquire({{"session", 1}, {"hour", 1}}), (Asked{2, 2}));
}

TEST_F(Requests, WindowsThatOpenTogetherAreOneTransactionAndWarmAfterwards) {
  create_family();
  set({Limit::session("session", 100, 30s)});
  ASSERT_TRUE(admits({{"session", 1}}, kChild));
  for (int i = 0; i < 3; ++i) {
    clock.advance(30s);
    Asked opening = acquire({{"session", 10}}, kChild);
    // Beside it once a minute the configuration of both.
    EXPECT_LE(opening.requests, 1 + (i == 2 ? 2 : 0));
    EXPECT_EQ(acquire({{"session", 10}}, kChild), kTwoTogether);
    Decision decision = limiter.acquire(request({{"session", 10}}, kChild)).value();
    ASSERT_TRUE(decision);
    EXPECT_EQ(find_status(decision.limits(), "session", kChild).remaining, MilliTokens(70'000));
    EXPECT_EQ(find_status(decision.limits(), "session", kParent).remaining, MilliTokens(70'000));
  }
}

TEST_F(Requests, KnownEntityInAColdProcess) {
  create_family();
  set({Limit::per_minute("rpm", 600), Limit::calendar("day", 100, "0 0 * * *")});
  ASSERT_TRUE(admits({{"rpm", 1}, {"day", 1}}));
  ASSERT_TRUE(admits({{"rpm", 1}, {"day", 1}}, kChild));
  limiter.forget_caches();
  Asked alone = acquire({{"rpm", 1}, {"day", 1}});
  EXPECT_LE(alone.requests, 3);
  EXPECT_GE(alone.requests, 2);
  limiter.forget_caches();
  Asked family = acquire({{"rpm", 1}, {"day", 1}}, kChild);
  EXPECT_LE(family.requests, 4);
  EXPECT_LE(family.round_trips, 3);
}

TEST_F(Requests, R96_FirstAcquireOfANewBucket) {
  set({Limit::per_minute("rpm", 600), Limit::session("session", 100, 5h)});
  create_family();
  Asked alone = acquire({{"rpm", 1}, {"session", 1}});
  EXPECT_LE(alone.requests, 5);
  EXPECT_LE(alone.round_trips, 4);
  Asked family = acquire({{"rpm", 1}, {"session", 1}}, kChild);
  EXPECT_LE(family.requests, 8);
  EXPECT_LE(family.round_trips, 5);
  EXPECT_EQ(acquire({{"rpm", 1}, {"session", 1}}), kOne);
  EXPECT_EQ(acquire({{"rpm", 1}, {"session", 1}}, kChild), kTwoTogether);
}

TEST_F(Requests, RejectionIsOneAndRepeatedNone) {
  set({Limit::per_hour("rph", 100)});
  ASSERT_TRUE(admits({{"rph", 1}}));
  // Drained by others: what this process remembers says otherwise.
  other_takes({{"rph", 99}});
  EXPECT_EQ(acquire({{"rph", 5}}, kUser, false), kOne);
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(acquire({{"rph", 5}}, kUser, false), kNothing);
    clock.advance(100ms);
  }
  clock.advance(100ms);
  EXPECT_EQ(acquire({{"rph", 5}}, kUser, false), kOne);
  EXPECT_EQ(acquire({{"rph", 5}}, kUser, false), kNothing);
}

TEST_F(Requests, AdjustReleaseAndSettleAreOneABucket) {
  create_family();
  set({Limit::per_minute("rpm", 600), Limit::calendar("day", 1'000, "0 0 * * *")});
  ASSERT_TRUE(admits({{"rpm", 1}, {"day", 1}}));
  ASSERT_TRUE(admits({{"rpm", 1}, {"day", 1}}, kChild));
  for (const char* entity : {kUser, kChild}) {
    int buckets = entity == std::string(kUser) ? 1 : 2;
    Decision more = limiter.acquire(request({{"rpm", 10}, {"day", 10}}, entity)).value();
    ASSERT_TRUE(more.lease().adjust("rpm", 5).ok());
    ASSERT_TRUE(more.lease().adjust("day", 5).ok());
    EXPECT_EQ(asked_by([&] { ASSERT_TRUE(more.lease().settle().ok()); }).requests, buckets);
    Decision less = limiter.acquire(request({{"rpm", 10}, {"day", 10}}, entity)).value();
    ASSERT_TRUE(less.lease().release("day", 3).ok());
    ASSERT_TRUE(less.lease().adjust("rpm", 3).ok());
    EXPECT_EQ(asked_by([&] { ASSERT_TRUE(less.lease().settle().ok()); }).requests, buckets);
    Decision none = limiter.acquire(request({{"rpm", 10}, {"day", 10}}, entity)).value();
    EXPECT_EQ(asked_by([&] { ASSERT_TRUE(none.lease().roll_back().ok()); }).requests, buckets);
  }
}

TEST_F(Requests, CreditAboveTheCeilingOrOfAPastPeriodIsAtMostTwo) {
  set({Limit::per_minute("rpm", 600), Limit::calendar("minute", 100, "*/2 * * * *"),
       Limit::session("session", 100, 30s)});
  ASSERT_TRUE(admits({{"rpm", 1}}));
  Decision full = limiter.acquire(request({{"rpm", 300}})).value();
  clock.advance(45s);
  EXPECT_LE(asked_by([&] { ASSERT_TRUE(full.lease().roll_back().ok()); }).requests, 2);
  Decision past = limiter.acquire(request({{"minute", 10}, {"session", 10}})).value();
  clock.advance(120s);
  EXPECT_LE(asked_by([&] { ASSERT_TRUE(past.lease().roll_back().ok()); }).requests, 2);
  // The same where another process has begun the new period.
  clock.set(instant("2027-03-10T12:05:45Z"));
  Decision overtaken = limiter.acquire(request({{"minute", 10}, {"session", 10}})).value();
  clock.advance(40s);
  other_takes({{"minute", 1}, {"session", 1}});
  EXPECT_LE(asked_by([&] { ASSERT_TRUE(overtaken.lease().roll_back().ok()); }).requests, 2);
  EXPECT_EQ(find_status(limiter.available(kUser, kApi).value().limits, "minute").remaining,
            MilliTokens(99'000));
}

TEST_F(Requests, AvailabilityIsOneWithCachedConfiguration) {
  set({Limit::per_minute("rpm", 600)});
  ASSERT_TRUE(admits({{"rpm", 1}}));
  EXPECT_EQ(asked_by([&] { limiter.available(kUser, kApi, {{"rpm", 1}}).value(); }), kOne);
}

TEST_F(Requests, ConfigurationIsReadOnceAMinute) {
  set({Limit::per_hour("rph", 10'000)});
  ASSERT_TRUE(admits({{"rph", 1}}));
  int requests = 0;
  for (int second = 0; second < 300; ++second) {
    clock.advance(1s);
    requests += acquire({{"rph", 1}}).requests;
  }
  EXPECT_LE(requests, 300 + 5);
}

/// What tables of shared writers promise about bursts, with a tolerance of 1/16.
TEST_F(Requests, R91_BurstAfterARestIsWhatTheBucketHoldsAndDrips) {
  set({Limit::rate("r", 100, 20, 1s)});
  ASSERT_TRUE(admits({{"r", 1}}));
  clock.advance(7s);
  int admitted = 0;
  for (int ms = 0; ms < 50; ++ms) {
    for (int i = 0; i < 4; ++i) admitted += admits({{"r", 10}}) ? 10 : 0;
    clock.advance(1ms);
  }
  // delta is a sixteenth of the five seconds to full: another 6 tokens at most.
  EXPECT_GE(admitted, 100);
  EXPECT_LE(admitted, 100 + 6 + 1);
}

TEST_F(Requests, R91_BoundHoldsForTwoProcesses) {
  set({Limit::rate("r", 100, 20, 1s)});
  ASSERT_TRUE(admits({{"r", 1}}));
  ASSERT_TRUE(other.acquire(request({{"r", 1}})).value());
  clock.advance(7s);
  int admitted = 0;
  for (int ms = 0; ms < 50; ++ms) {
    for (int i = 0; i < 4; ++i) {
      admitted += admits({{"r", 5}}) ? 5 : 0;
      Result<Decision> theirs = other.acquire(request({{"r", 5}}));
      if (theirs.ok() && *theirs) admitted += 5;
    }
    clock.advance(1ms);
  }
  EXPECT_GE(admitted, 100);
  EXPECT_LE(admitted, 100 + 6 + 1);
}

TEST_F(Requests, WaitingAndSettlingDoesNotCreateABurst) {
  set({Limit::rate("r", 100, 10, 1s)});
  Decision decision = limiter.acquire(request({{"r", 1}})).value();
  clock.advance(10s);
  ASSERT_TRUE(decision.lease().adjust("r", 90).ok());
  ASSERT_TRUE(decision.lease().settle().ok());
  EXPECT_EQ(find_status(limiter.available(kUser, kApi).value().limits, "r").remaining,
            MilliTokens(10'000));
}

/// The reserved limit, which stands for what a partition takes (decision 20).
class WriteCapacity : public Requests {
 protected:
  std::string ns() {
    store::Key key = schema::namespace_name_key("default");
    return schema::decode_namespace(*get(key)).value().id;
  }
  store::ImagePtr get(const store::Key& key) {
    store::GetRequest request(key, store::Consistency::kStrong);
    store::Call call;
    call.request = &request;
    memory->execute(std::span<store::Call>(&call, 1));
    return std::get<store::GetReply>(call.reply).image;
  }
  store::ImagePtr bucket() { return get(schema::bucket_key(ns(), kUser, kApi, 0)); }
  std::int64_t reserved(const char* field) {
    return bucket()->number(store::intern(std::string("b_wcu_") + field)).value();
  }
  void set_reserved(std::int64_t balance) {
    store::ImageBuilder item(*bucket());
    item.set(store::intern("b_wcu_tk"), balance);
    store::PutRequest put(item.build(), nullptr);
    store::Call call;
    call.request = &put;
    memory->execute(std::span<store::Call>(&call, 1));
    limiter.forget_caches();
  }
  static constexpr std::int64_t kFull = 1'000'000;
};

TEST_F(WriteCapacity, EveryDebitTakesOneWrite) {
  set({Limit::per_hour("rph", 10'000), Limit::session("session", 1'000, 5h)});
  ASSERT_TRUE(admits({{"rph", 1}}));
  EXPECT_EQ(reserved("tk"), kFull);
  EXPECT_EQ(reserved("cp"), kFull);
  EXPECT_EQ(reserved("tc"), 0);
  // Fast.
  ASSERT_TRUE(admits({{"rph", 1}}));
  EXPECT_EQ(reserved("tk"), kFull - 1'000);
  EXPECT_EQ(reserved("tc"), 1'000);
  // Locked at once: a window opens.
  ASSERT_TRUE(admits({{"session", 1}}));
  EXPECT_EQ(reserved("tk"), kFull - 2'000);
  EXPECT_EQ(reserved("tc"), 2'000);
  // A settle that debits, too; one that gives back does not.
  Decision decision = limiter.acquire(request({{"rph", 5}})).value();
  ASSERT_TRUE(decision.lease().adjust("rph", 5).ok());
  ASSERT_TRUE(decision.lease().settle().ok());
  EXPECT_EQ(reserved("tc"), 4'000);
  Decision given_back = limiter.acquire(request({{"rph", 5}})).value();
  ASSERT_TRUE(given_back.lease().roll_back().ok());
  EXPECT_EQ(reserved("tc"), 5'000);
  // After a second it is full again, whatever happened, but for the write that finds it so.
  clock.advance(1h);
  ASSERT_TRUE(admits({{"rph", 1}}));
  EXPECT_EQ(reserved("tk"), kFull - 1'000);
}

TEST_F(WriteCapacity, BypassGoesOnWhereItIsUsedUp) {
  limiter
      .set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10)},
                  {.access = AccessPolicy::kBypass})
      .value();
  ASSERT_TRUE(admits({{"rph", 1}}));
  ASSERT_TRUE(admits({{"rph", 1}}));
  EXPECT_EQ(reserved("tk"), kFull - 1'000);
  set_reserved(1'500);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(admits({{"rph", 100}}));
  EXPECT_EQ(reserved("tk"), 500);
  EXPECT_EQ(bucket()->number(store::intern("b_rph_tc")), 502'000);
}

TEST_F(WriteCapacity, GatesFastWritesOnlyAndIsNeverShown) {
  set({Limit::per_hour("rph", 10'000)});
  ASSERT_TRUE(admits({{"rph", 1}}));
  set_reserved(500);
  // The fast write may not; the locked one may, and refills it.
  Decision admitted = limiter.acquire(request({{"rph", 1}})).value();
  ASSERT_TRUE(admitted);
  EXPECT_EQ(admitted.limits().size(), 1u);
  EXPECT_EQ(reserved("tk"), -500);
  clock.advance(250ms);
  ASSERT_TRUE(admits({{"rph", 1}}));
  EXPECT_EQ(reserved("tk"), -500 + 250'000 - 1'000);
  EXPECT_EQ(limiter.available(kUser, kApi).value().limits.size(), 1u);
  EXPECT_EQ(limiter.acquire(request({{"wcu", 1}})).error().code(), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace stint::test
