// Counters: what they count, and that nothing is lost between threads.
#include "stint/counters.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
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

std::uint64_t rejections_of(const CounterSnapshot& counted, const std::string& limit) {
  for (const CounterSnapshot::LimitCount& count : counted.rejections_by_limit) {
    if (count.limit == limit) return count.rejections;
  }
  return 0;
}

std::uint64_t errors_of(const std::vector<CounterSnapshot::ErrorCount>& errors, ErrorCode code) {
  for (const CounterSnapshot::ErrorCount& count : errors) {
    if (count.code == code) return count.errors;
  }
  return 0;
}

/// A limiter whose events are counted from its first request on.
class Counted : public ::testing::Test {
 protected:
  Counted()
      : faulty(std::make_shared<FaultyStore>(store::make_memory_engine())),
        limiter(limiter::open_store(faulty, {}).value(), options()) {
    limiter
        .set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10), Limit::per_day("rpd", 15)})
        .value();
  }
  LimiterOptions options() {
    LimiterOptions made;
    made.clock = &clock;
    made.observer = &counters;
    return made;
  }
  Result<Decision> acquire(std::vector<Consume> consume) {
    return limiter.acquire({.entity = kUser, .resource = kApi, .consume = std::move(consume)});
  }

  FakeClock clock{instant("2027-03-10T12:00Z")};
  Counters counters;
  std::shared_ptr<FaultyStore> faulty;
  Limiter limiter;
};

TEST_F(Counted, AnswersOfEveryKind) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(acquire({{"rph", 1}}).value());
  ASSERT_FALSE(acquire({{"rph", 20}}).value());
  ASSERT_FALSE(acquire({{"rph", 20}, {"rpd", 20}}).value());
  clock.advance(2s);
  ASSERT_FALSE(acquire({{"rpd", 20}}).value());
  ASSERT_FALSE(acquire({{"none", 1}}));
  faulty->plan(Fault::throttled());
  ASSERT_FALSE(acquire({{"rph", 1}}));
  faulty->plan(Fault::unavailable());
  ASSERT_TRUE(limiter
                  .acquire({.entity = kUser,
                            .resource = kApi,
                            .consume = {{"rph", 1}},
                            .on_unavailable = OnUnavailable::kAllow})
                  .value());
  limiter
      .set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10)},
                  {.access = AccessPolicy::kDisabled})
      .value();
  ASSERT_EQ(acquire({{"rph", 1}}).value().outcome(), Outcome::kDisabled);

  CounterSnapshot counted = counters.snapshot();
  EXPECT_EQ(counted.admitted, 3u);
  EXPECT_EQ(counted.rejected, 3u);
  EXPECT_EQ(counted.rejected_from_memory, 2u);
  EXPECT_EQ(counted.disabled, 1u);
  EXPECT_EQ(counted.degraded, 1u);
  ASSERT_EQ(counted.rejections_by_limit.size(), 2u);
  EXPECT_EQ(counted.rejections_by_limit[0].limit, "rpd");
  EXPECT_EQ(counted.rejections_by_limit[0].rejections, 2u);
  EXPECT_EQ(counted.rejections_by_limit[1].limit, "rph");
  EXPECT_EQ(counted.rejections_by_limit[1].rejections, 2u);
  EXPECT_EQ(counted.rejections_by_other_limits, 0u);
  EXPECT_EQ(errors_of(counted.store_errors, ErrorCode::kThrottled), 1u);
  EXPECT_EQ(errors_of(counted.store_errors, ErrorCode::kUnavailable), 1u);
  EXPECT_EQ(errors_of(counted.failed_calls, ErrorCode::kThrottled), 1u);
  EXPECT_EQ(errors_of(counted.failed_calls, ErrorCode::kInvalidArgument), 1u);
  EXPECT_EQ(errors_of(counted.failed_calls, ErrorCode::kUnavailable), 0u);
  RequestStats asked = limiter.stats();
  EXPECT_EQ(counted.store.requests, asked.requests);
  EXPECT_EQ(counted.store.read_units, asked.read_units);
  EXPECT_EQ(counted.store.write_units, asked.write_units);
  EXPECT_EQ(counted.store.index_write_units, asked.index_write_units);
  EXPECT_GT(counted.view_hits, 0u);
  // The first request, and the one after the bucket was stamped with another policy.
  EXPECT_EQ(counted.view_misses, 2u);
  EXPECT_GE(counted.config_misses, 2u);
  EXPECT_EQ(counted.store_time.count(), 0);
}

TEST_F(Counted, LeasesAndRetries) {
  {
    Decision decision = acquire({{"rph", 2}}).value();
    ASSERT_TRUE(decision.lease().adjust("rph", 1).ok());
    faulty->plan(Fault::conflict().on(RequestKind::kUpdate));
    ASSERT_TRUE(decision.lease().settle().ok());
  }
  {
    Decision decision = acquire({{"rph", 2}}).value();
    ASSERT_TRUE(decision.lease().roll_back().ok());
  }
  {
    Decision decision = acquire({{"rph", 2}}).value();
    ASSERT_TRUE(decision.lease().adjust("rph", 1).ok());
    faulty->plan(Fault::unavailable().on(RequestKind::kUpdate));
  }
  CounterSnapshot counted = counters.snapshot();
  EXPECT_EQ(counted.settled, 1u);
  EXPECT_EQ(counted.rolled_back, 1u);
  EXPECT_EQ(counted.lease_troubles, 1u);
  EXPECT_EQ(counted.conflicts, 1u);
  EXPECT_EQ(counted.retries, 1u);
}

TEST(CountersAlone, CountWhatTheyAreTold) {
  Counters counters;
  const EventKind kinds[] = {EventKind::kGivenBack, EventKind::kClockBehind,
                             EventKind::kLimitsDisagree, EventKind::kFanoutIncomplete};
  for (std::size_t i = 0; i < std::size(kinds); ++i) {
    for (std::size_t n = 0; n <= i; ++n) counters.on_event({.kind = kinds[i]});
  }
  counters.on_event({.kind = EventKind::kConfigHit, .count = 3});
  counters.on_event({.kind = EventKind::kWaited, .duration = 5us});
  counters.on_event({.kind = EventKind::kWaited, .duration = 7us});
  // Of a later version.
  counters.on_event({.kind = static_cast<EventKind>(200)});

  CounterSnapshot counted = counters.snapshot();
  EXPECT_EQ(counted.given_back, 1u);
  EXPECT_EQ(counted.clocks_behind, 2u);
  EXPECT_EQ(counted.limits_disagreed, 3u);
  EXPECT_EQ(counted.fanouts_incomplete, 4u);
  EXPECT_EQ(counted.config_hits, 3u);
  EXPECT_EQ(counted.waits, 2u);
  EXPECT_EQ(counted.wait_time, std::chrono::nanoseconds(12us));
}

TEST(CountersAlone, LimitsBeyondTheTableAreCountedTogether) {
  Counters counters;
  const std::size_t names = Counters::kMostLimits + 5;
  for (std::size_t round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < names; ++i) {
      std::string limit = "limit-" + std::to_string(i);
      counters.on_event({.kind = EventKind::kLimitExceeded, .limit = limit});
    }
  }
  CounterSnapshot counted = counters.snapshot();
  EXPECT_EQ(counted.rejections_by_limit.size(), Counters::kMostLimits);
  for (std::size_t i = 0; i < Counters::kMostLimits; ++i) {
    EXPECT_EQ(rejections_of(counted, "limit-" + std::to_string(i)), 3u) << i;
  }
  EXPECT_EQ(counted.rejections_by_other_limits, 15u);
}

TEST(CountersAlone, TimeOfTheStoreIsMeasuredOnRequestOnly) {
  Counters timing({.time_store = true});
  Counters plain;
  MultiObserver both({&plain, &timing});
  EXPECT_TRUE(timing.times_store());
  EXPECT_FALSE(plain.times_store());
  EXPECT_TRUE(both.times_store());
  LimiterOptions options;
  options.observer = &both;
  Limiter limiter(open_memory().value(), options);
  limiter.set_limits(kUser, kApi, {Limit::per_hour("rph", 10)}).value();
  EXPECT_GT(timing.snapshot().store_time.count(), 0);
  EXPECT_EQ(plain.snapshot().store_time.count(), 0);
  EXPECT_EQ(plain.snapshot().store.requests, limiter.stats().requests);
}

TEST(CounterThreads, NothingIsLost) {
  constexpr int kThreads = 8;
  constexpr int kCalls = 200;
  Counters counters;
  LimiterOptions options;
  options.observer = &counters;
  Limiter limiter(open_memory().value(), options);
  limiter.set_limits(Scope::system(), {Limit::session("few", 100, 24h)}).value();

  std::atomic<std::uint64_t> admitted{0};
  std::atomic<std::uint64_t> rejected{0};
  std::atomic<bool> done{false};
  std::thread reader([&] {
    std::uint64_t before = 0;
    while (!done) {
      CounterSnapshot now = counters.snapshot();
      EXPECT_GE(now.admitted + now.rejected, before);
      before = now.admitted + now.rejected;
    }
  });
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const std::string entity = thread % 2 == 0 ? "one" : "two";
      for (int call = 0; call < kCalls; ++call) {
        // Names that several threads see for the first time at once.
        std::string made_up = "limit-" + std::to_string(call % 20);
        counters.on_event({.kind = EventKind::kLimitExceeded, .limit = made_up});
        Decision decision =
            limiter.acquire({.entity = entity, .resource = kApi, .consume = {{"few", 1}}}).value();
        ++(decision ? admitted : rejected);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  done = true;
  reader.join();

  CounterSnapshot counted = counters.snapshot();
  EXPECT_EQ(admitted, 200u);
  EXPECT_EQ(counted.admitted, admitted);
  EXPECT_EQ(counted.rejected, rejected);
  EXPECT_EQ(rejections_of(counted, "few"), rejected);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(rejections_of(counted, "limit-" + std::to_string(i)), 1u * kThreads * kCalls / 20);
  }
  EXPECT_EQ(counted.store.requests, limiter.stats().requests);
  EXPECT_EQ(counted.store.write_units, limiter.stats().write_units);
}

}  // namespace
}  // namespace stint::test
