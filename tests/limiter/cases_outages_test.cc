// Cases from public reports: expiry, clocks, outages (cases.md).
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "limiter/store_handle.h"
#include "store/memory/memory_engine.h"
#include "testing/faulty_store.h"
#include "tests/limiter/support.h"

namespace stint::test {
namespace {

class OutageCases : public LimiterTest {
 protected:
  void set(const LimitList& limits) { limiter->set_limits(kUser, kApi, limits).value(); }
};
STINT_ON_EVERY_STORE(OutageCases);

TEST_P(OutageCases, P91_ExpiryIsInWholeSeconds) {
  limiter->set_limits(Scope::system(), {Limit::session("s", 10, 1h)}).value();
  ASSERT_TRUE(admits({{"s", 1}}));
  std::int64_t now_s = clock.now().time_since_epoch().count() / 1000;
  std::int64_t expires = bucket()->number(store::intern("ttl")).value();
  EXPECT_GE(expires, now_s + 3600);
  EXPECT_LE(expires, now_s + 8 * 3600);
}

TEST_P(OutageCases, P92_AnExpiredItemThatIsStillThereIsDead) {
  limiter->set_limits(Scope::system(), {Limit::session("s", 10, 1h), Limit::per_minute("r", 10)})
      .value();
  ASSERT_TRUE(admits({{"s", 10}, {"r", 10}}));
  clock.advance(std::chrono::hours(24 * 30));
  ASSERT_TRUE(bucket());
  EXPECT_EQ(status("s").window, WindowState::kNotStarted);
  EXPECT_EQ(left("s"), 10);
  ASSERT_TRUE(admits({{"s", 1}, {"r", 1}}));
  EXPECT_EQ(left("s"), 9);
  EXPECT_EQ(left("r"), 9);
  EXPECT_EQ(show(status("s").resets_at), "2027-04-09T13:00Z");
  EXPECT_GT(bucket()->number(store::intern("ttl")).value() * 1000,
            clock.now().time_since_epoch().count());
}

TEST_P(OutageCases, P94_SkewedClocksMintNoMoreThanTheirSpread) {
  set({Limit::rate("r", 100, 1, 1s)});
  LimiterOptions behind = options();
  FakeClock slow;
  behind.clock = &slow;
  Limiter other = another_limiter(behind);
  TimePoint start = clock.now();
  int admitted_in_all = 0;
  for (int step = 0; step <= 600; ++step) {
    TimePoint truth = start + step * 100ms;
    clock.set(truth + 10s);
    slow.set(truth - 10s);
    Limiter& node = step % 2 == 0 ? *limiter : other;
    for (int call = 0; call < 3; ++call) {
      admitted_in_all +=
          node.acquire({.entity = kUser, .resource = kApi, .consume = {{"r", 1}}}).value() ? 1 : 0;
    }
  }
  EXPECT_LE(admitted_in_all, 100 + 60 + 20);
  EXPECT_GE(admitted_in_all, 100 + 60);
}

TEST_P(OutageCases, P95_AClockJustBehindTheStartOfAWindowGetsANormalAnswer) {
  set({Limit::session("s", 10, 1h), Limit::per_second("r", 10)});
  ASSERT_TRUE(admits({{"s", 1}, {"r", 1}}));
  clock.advance(-5ms);
  EXPECT_EQ(left("s"), 9);
  EXPECT_EQ(left("r"), 9);
  EXPECT_TRUE(admits({{"s", 9}, {"r", 9}}));
  EXPECT_FALSE(admits({{"s", 1}}));
  EXPECT_EQ(show(status("s").resets_at), "2027-03-10T13:00Z");
}

TEST_P(OutageCases, P95_AClockFarBehindIsReported) {
  set({Limit::per_second("r", 10)});
  ASSERT_TRUE(admits({{"r", 10}}));
  clock.advance(-61s);
  Decision rejected = acquire({{"r", 1}});
  ASSERT_EQ(rejected.outcome(), Outcome::kRejected);
  EXPECT_EQ(rejected.rejection().retry_after, Millis(61s + 100ms));
  clock.advance(61s + 100ms);
  EXPECT_TRUE(admits({{"r", 1}}));
}

/// A limiter whose store fails on command.
class FailingStore : public testing::Test {
 protected:
  FailingStore()
      : faulty(std::make_shared<FaultyStore>(store::make_memory_engine())),
        limiter(limiter::open_store(faulty, {}).value(), options()) {}

  LimiterOptions options() {
    LimiterOptions made;
    made.clock = &clock;
    made.observer = &events;
    return made;
  }
  Result<Decision> acquire(std::vector<Consume> consume,
                           std::optional<OnUnavailable> policy = std::nullopt) {
    AcquireRequest request;
    request.entity = kUser;
    request.resource = kApi;
    request.consume = std::move(consume);
    request.on_unavailable = policy;
    return limiter.acquire(request);
  }
  std::int64_t left(const std::string& limit, const std::string& entity = kUser) {
    return find_status(limiter.available(entity, kApi).value().limits, limit, entity)
        .remaining.whole_tokens();
  }
  void cascade_to_parent() {
    limiter.create_entity("parent").value();
    limiter.create_entity(kUser, {.parent = "parent", .cascade = true}).value();
    limiter.set_limits(Scope::system(), {Limit::per_hour("r", 100)}).value();
    limiter.set_limits("parent", kApi, {Limit::per_hour("r", 10)}).value();
  }

  FakeClock clock{instant("2027-03-10T12:00Z")};
  Events events;
  std::shared_ptr<FaultyStore> faulty;
  Limiter limiter;
};

TEST_F(FailingStore, P47_AnEmptyParentCostsTheChildNothing) {
  cascade_to_parent();
  ASSERT_TRUE(acquire({{"r", 10}}).value());
  // Without knowledge of the parent's balance both are written, and the child is given back.
  limiter.forget_caches();
  Decision rejected = acquire({{"r", 1}}).value();
  ASSERT_EQ(rejected.outcome(), Outcome::kRejected);
  EXPECT_FALSE(find_status(rejected.limits(), "r", kUser).exceeded);
  EXPECT_TRUE(find_status(rejected.limits(), "r", "parent").exceeded);
  EXPECT_EQ(left("r"), 90);
  EXPECT_EQ(left("r", "parent"), 0);
}

TEST_F(FailingStore, P47_AFailedParentCostsTheChildNothing) {
  cascade_to_parent();
  ASSERT_TRUE(acquire({{"r", 1}}).value());
  for (const Fault& fault : {Fault::unavailable(), Fault::throttled(), Fault::request_lost()}) {
    faulty->plan(fault.on(RequestKind::kUpdate, 2));
    faulty->plan(Fault::unavailable().on(RequestKind::kGet));
    Result<Decision> result = acquire({{"r", 5}});
    EXPECT_FALSE(faulty->pending() && result.ok());
    EXPECT_FALSE(result);
    faulty->heal();
    EXPECT_EQ(left("r"), 99);
    EXPECT_EQ(left("r", "parent"), 9);
  }
}

TEST_F(FailingStore, P73_ASettleThatFailedIsReportedAndChargesWhatLanded) {
  limiter.set_limits(kUser, kApi, {Limit::session("s", 100, 1h)}).value();
  {
    Decision decision = acquire({{"s", 10}}).value();
    faulty->plan(Fault::unavailable().on(RequestKind::kUpdate));
    ASSERT_TRUE(decision.lease().adjust("s", 5).ok());
    EXPECT_EQ(decision.lease().settle().error().code(), ErrorCode::kUnavailable);
    EXPECT_EQ(left("s"), 90);
  }
  // The lease was still open, so its end tried once more.
  EXPECT_EQ(left("s"), 85);
  {
    // Landed although the reply was lost: recognised, charged once.
    Decision decision = acquire({{"s", 10}}).value();
    faulty->plan(Fault::reply_lost().on(RequestKind::kUpdate));
    ASSERT_TRUE(decision.lease().adjust("s", 5).ok());
    EXPECT_TRUE(decision.lease().settle().ok());
    EXPECT_EQ(left("s"), 70);
  }
  {
    // A destructor has nobody to tell but the observer.
    events.clear();
    Decision decision = acquire({{"s", 10}}).value();
    ASSERT_TRUE(decision.lease().release("s", 5).ok());
    faulty->plan(Fault::unavailable().on(RequestKind::kUpdate));
    { Decision ends_here = std::move(decision); }
    EXPECT_EQ(events.count(EventKind::kLeaseTrouble), 1);
    EXPECT_EQ(left("s"), 60);
  }
}

TEST_F(FailingStore, P98_FailingOpenIsMarkedAndFailingClosedIsAnError) {
  limiter.set_limits(kUser, kApi, {Limit::session("s", 10, 1h)}).value();
  ASSERT_TRUE(acquire({{"s", 1}}).value());
  faulty->plan(Fault::unavailable().onwards());
  Result<Decision> closed = acquire({{"s", 1}});
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(events.count(EventKind::kDegraded), 0);
  Result<Decision> open = acquire({{"s", 1}}, OnUnavailable::kAllow);
  ASSERT_TRUE(open.ok());
  EXPECT_TRUE(*open);
  EXPECT_TRUE(open->degraded());
  EXPECT_TRUE(open->limits().empty());
  EXPECT_EQ(events.count(EventKind::kDegraded), 1);
  EXPECT_EQ(events.count(EventKind::kStoreError), 2);
  EXPECT_EQ(events.count(EventKind::kCallFailed), 1);
  // A degraded lease does nothing, without complaint.
  EXPECT_TRUE(open->lease().adjust("s", 5).ok());
  EXPECT_TRUE(open->lease().settle().ok());
  faulty->heal();
  EXPECT_EQ(left("s"), 9);
}

TEST_F(FailingStore, P98_TheSystemsModeHoldsAlsoWhileItCannotBeRead) {
  limiter
      .set_limits(Scope::system(), {Limit::session("s", 10, 1h)},
                  {.on_unavailable = OnUnavailable::kAllow})
      .value();
  ASSERT_TRUE(acquire({{"s", 1}}).value());
  faulty->plan(Fault::unavailable().onwards());
  clock.advance(1h);
  EXPECT_TRUE(acquire({{"s", 1}}).value().degraded());
  EXPECT_EQ(acquire({{"s", 1}}, OnUnavailable::kBlock).error().code(), ErrorCode::kUnavailable);
}

TEST_F(FailingStore, P98_OnlyTheStoresTroubleOpensTheGate) {
  limiter.set_limits(kUser, kApi, {Limit::session("s", 10, 1h)}).value();
  ASSERT_TRUE(acquire({{"s", 10}}).value());
  EXPECT_FALSE(acquire({{"s", 1}}, OnUnavailable::kAllow).value());
  EXPECT_EQ(acquire({{"unknown", 1}}, OnUnavailable::kAllow).error().code(),
            ErrorCode::kInvalidArgument);
}

// To let requests pass there would switch all limits off until somebody looks.
TEST_F(FailingStore, ARefusedCallerDoesNotOpenTheGate) {
  limiter.set_limits(kUser, kApi, {Limit::session("s", 10, 1h)}).value();
  ASSERT_TRUE(acquire({{"s", 1}}).value());
  faulty->plan(Fault::denied().onwards());
  EXPECT_EQ(acquire({{"s", 1}}, OnUnavailable::kAllow).error().code(), ErrorCode::kAccessDenied);
  EXPECT_EQ(limiter.get_entity("nobody").error().code(), ErrorCode::kAccessDenied);
}

/// An engine in which calls can be made to hang.
class HangingStore final : public store::Engine {
 public:
  explicit HangingStore(std::shared_ptr<store::Engine> inner) : inner_(std::move(inner)) {}

  void hang() {
    std::lock_guard lock(mutex_);
    hanging_ = true;
  }
  void wait_until_a_call_hangs() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ > 0; });
  }
  void go_on() {
    std::lock_guard lock(mutex_);
    hanging_ = false;
    changed_.notify_all();
  }
  int calls() {
    std::lock_guard lock(mutex_);
    return calls_;
  }

  const store::Capabilities& capabilities() const noexcept override {
    return inner_->capabilities();
  }
  void execute(std::span<store::Call> calls) noexcept override {
    {
      std::unique_lock lock(mutex_);
      ++calls_;
      ++waiting_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return !hanging_; });
      --waiting_;
    }
    inner_->execute(calls);
  }

 private:
  std::shared_ptr<store::Engine> inner_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool hanging_ = false;
  int waiting_ = 0;
  int calls_ = 0;
};

TEST(HangingStoreTest, P97_NobodyWaitsForAnothersCallLongerThanItsBudget) {
  FakeClock clock{instant("2027-03-10T12:00Z")};
  auto hanging = std::make_shared<HangingStore>(store::make_memory_engine());
  LimiterOptions options;
  options.clock = &clock;
  Limiter limiter(limiter::open_store(hanging, {}).value(), options);
  limiter.set_limits(kUser, kApi, {Limit::session("s", 10, 1h)}).value();
  AcquireRequest request{.entity = kUser, .resource = kApi, .consume = {{"s", 1}}};
  ASSERT_TRUE(limiter.acquire(request).value());
  hanging->hang();
  std::thread first([&] { EXPECT_TRUE(limiter.acquire(request).value()); });
  hanging->wait_until_a_call_hangs();
  int calls_before = hanging->calls();
  // The bucket's queue is taken until the store answers; these calls end before it does.
  request.timeout = Millis(5);
  EXPECT_EQ(limiter.acquire(request).error().code(), ErrorCode::kUnavailable);
  request.on_unavailable = OnUnavailable::kAllow;
  EXPECT_TRUE(limiter.acquire(request).value().degraded());
  EXPECT_EQ(hanging->calls(), calls_before);
  hanging->go_on();
  first.join();
  Availability after = limiter.available(kUser, kApi).value();
  EXPECT_EQ(after.limits.at(0).remaining, MilliTokens(8'000));
}

}  // namespace
}  // namespace stint::test
