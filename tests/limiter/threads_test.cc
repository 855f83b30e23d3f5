// Many threads on few entities: totals are exact, whatever the order.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"
#include "limiter/store_handle.h"
#include "store/memory/memory_engine.h"
#include "tests/limiter/support.h"
#include "tests/support/seed.h"

namespace stint::test {
namespace {

constexpr int kThreads = 8;

/// Runs `work(thread)` on all threads and waits for them.
void on_all_threads(const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
}

Result<Decision> ask(Limiter& limiter, const std::string& entity, std::vector<Consume> consume) {
  return limiter.acquire({.entity = entity, .resource = kApi, .consume = std::move(consume)});
}

class ThreadCases : public LimiterTest {};
STINT_ON_EVERY_ENGINE(ThreadCases);

TEST_P(ThreadCases, P44_ParallelCallsAdmitExactlyWhatIsThere) {
  limiter
      ->set_limits(kUser, kApi,
                   {Limit::session("s", 100, 1h), Limit::per_hour("r", 100),
                    Limit::calendar("c", 100, "0 0 * * *")})
      .value();
  std::atomic<int> admitted_in_all{0};
  on_all_threads([&](int) {
    for (int call = 0; call < 50; ++call) {
      Decision decision = ask(*limiter, kUser, {{"s", 10}, {"r", 10}, {"c", 10}}).value();
      if (decision) ++admitted_in_all;
    }
  });
  EXPECT_EQ(admitted_in_all, 10);
  for (const char* limit : {"s", "r", "c"}) EXPECT_EQ(left(limit), 0) << limit;
}

TEST_P(ThreadCases, P34_P44_SeveralLimitersOnOneStoreCountTogether) {
  limiter->set_limits(kUser, kApi, {Limit::session("s", 100, 1h), Limit::per_hour("r", 100)})
      .value();
  std::vector<Limiter> limiters;
  for (int i = 0; i < kThreads; ++i) limiters.push_back(another_limiter());
  std::atomic<int> admitted_in_all{0};
  on_all_threads([&](int thread) {
    for (int call = 0; call < 50; ++call) {
      // All of them rebuild what they remember at once, again and again.
      if (call % 10 == 0) limiters[static_cast<std::size_t>(thread)].forget_caches();
      Decision decision =
          ask(limiters[static_cast<std::size_t>(thread)], kUser, {{"s", 1}, {"r", 1}}).value();
      if (decision) ++admitted_in_all;
    }
  });
  EXPECT_EQ(admitted_in_all, 100);
  EXPECT_EQ(left("s"), 0);
  EXPECT_EQ(left("r"), 0);
  EXPECT_EQ(field("s", "tc"), 100'000);
}

TEST_P(ThreadCases, P46_ChildrenOfOneParentAreNotDeniedForCompeting) {
  constexpr int kChildren = 200;
  limiter->set_limits(Scope::system(), {Limit::session("s", 5, 1h)}).value();
  limiter->set_limits("parent", kApi, {Limit::session("s", 1000, 1h)}).value();
  limiter->create_entity("parent").value();
  for (int i = 0; i < kChildren; ++i) {
    limiter->create_entity("child" + std::to_string(i), {.parent = "parent", .cascade = true})
        .value();
  }
  std::atomic<int> denied{0};
  on_all_threads([&](int thread) {
    for (int i = thread; i < kChildren; i += kThreads) {
      for (int call = 0; call < 2; ++call) {
        if (!ask(*limiter, "child" + std::to_string(i), {{"s", 2}}).value()) ++denied;
      }
    }
  });
  EXPECT_EQ(denied, 0);
  EXPECT_EQ(left("s", "parent"), 1000 - kChildren * 4);
  for (int i = 0; i < kChildren; i += 17) EXPECT_EQ(left("s", "child" + std::to_string(i)), 1);
}

TEST_P(ThreadCases, P121_TotalsAreExactOverSettlesAndRollbacks) {
  constexpr int kEntities = 3;
  constexpr std::int64_t kCapacity = 1'000'000;
  limiter
      ->set_limits(Scope::system(), {Limit::session("s", kCapacity, 10h),
                                     Limit::calendar("c", kCapacity, "0 0 1 * *")})
      .value();
  limiter->create_entity("parent").value();
  for (int i = 0; i < kEntities; ++i) {
    limiter->create_entity("e" + std::to_string(i), {.parent = "parent", .cascade = true}).value();
  }
  std::array<std::atomic<std::int64_t>, kEntities> used{};
  on_all_threads([&](int thread) {
    Random random(seed() + static_cast<std::uint64_t>(thread));
    for (int call = 0; call < 120; ++call) {
      std::size_t entity = random.below(kEntities);
      auto amount = static_cast<std::int64_t>(random.below(20)) + 1;
      Decision decision =
          ask(*limiter, "e" + std::to_string(entity), {{"s", amount}, {"c", amount}}).value();
      ASSERT_TRUE(decision);
      std::int64_t delta = 0;
      switch (random.below(4)) {
        case 0:
          ASSERT_TRUE(decision.lease().roll_back().ok());
          amount = 0;
          break;
        case 1: delta = static_cast<std::int64_t>(random.below(30)); break;
        case 2:
          delta = -static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(amount) + 1));
          break;
        default: break;
      }
      if (delta != 0) {
        ASSERT_TRUE(decision.lease().adjust("s", delta).ok());
        ASSERT_TRUE(decision.lease().adjust("c", delta).ok());
        ASSERT_TRUE(decision.lease().settle().ok());
      }
      used[entity] += amount + delta;
    }
  });
  std::int64_t in_all = 0;
  for (std::size_t i = 0; i < kEntities; ++i) {
    in_all += used[i];
    EXPECT_EQ(left("s", "e" + std::to_string(i)), kCapacity - used[i]);
    EXPECT_EQ(left("c", "e" + std::to_string(i)), kCapacity - used[i]);
  }
  EXPECT_EQ(left("s", "parent"), kCapacity - in_all);
  EXPECT_EQ(left("c", "parent"), kCapacity - in_all);
}

TEST_P(ThreadCases, P76_LimitsChangedUnderTrafficLoseNothing) {
  limiter->set_limits(kUser, kApi, {Limit::session("s", 1'000, 1h)}).value();
  std::atomic<std::int64_t> used{0};
  on_all_threads([&](int thread) {
    for (int call = 0; call < 60; ++call) {
      if (thread == 0) {
        std::int64_t capacity = call % 2 == 0 ? 2'000 : 1'000;
        ASSERT_TRUE(limiter->set_limits(kUser, kApi, {Limit::session("s", capacity, 1h)}).ok());
      } else if (ask(*limiter, kUser, {{"s", 1}}).value()) {
        ++used;
      }
    }
  });
  EXPECT_EQ(used, (kThreads - 1) * 60);
  EXPECT_EQ(left("s"), 1'000 - used);
  EXPECT_EQ(show(status("s").resets_at), "2027-03-10T13:00Z");
}

/// Processes on one shared table: nothing but conditions keeps them apart.
TEST(SharedTableThreads, P44_P46_WritersThatShareNoQueueAdmitExactlyWhatIsThere) {
  std::shared_ptr<store::Engine> engine = store::make_memory_engine(lean_table());
  FakeClock clock{instant("2027-03-10T12:00Z")};
  std::vector<Limiter> limiters;
  for (int i = 0; i <= kThreads; ++i) {
    LimiterOptions options;
    options.clock = &clock;
    options.seed = seed() + (static_cast<std::uint64_t>(i) << 32);
    limiters.emplace_back(limiter::open_store(engine, {}).value(), options);
  }
  Limiter& observer = limiters.back();
  observer.set_limits(Scope::system(), {Limit::session("s", 400, 1h), Limit::per_hour("r", 400)})
      .value();
  observer.create_entity("parent").value();
  observer.create_entity("a", {.parent = "parent", .cascade = true}).value();
  observer.create_entity("b", {.parent = "parent", .cascade = true}).value();
  std::array<std::atomic<std::int64_t>, 2> used{};
  std::atomic<int> busy{0};
  on_all_threads([&](int thread) {
    Random random(seed() + static_cast<std::uint64_t>(thread));
    for (int call = 0; call < 60; ++call) {
      std::size_t entity = random.below(2);
      Result<Decision> decision = ask(limiters[static_cast<std::size_t>(thread)],
                                      entity == 0 ? "a" : "b", {{"s", 1}, {"r", 1}});
      if (!decision) {
        // Said to be busy, never guessed at; what landed on one side has been given back.
        ASSERT_EQ(decision.error().code(), ErrorCode::kConflict);
        ++busy;
        continue;
      }
      if (*decision) ++used[entity];
    }
  });
  auto left = [&](const std::string& entity, const std::string& limit) {
    observer.forget_caches();
    return find_status(observer.available(entity, kApi).value().limits, limit, entity)
        .remaining.whole_tokens();
  };
  for (const char* limit : {"s", "r"}) {
    EXPECT_EQ(left("a", limit), 400 - used[0]);
    EXPECT_EQ(left("b", limit), 400 - used[1]);
    EXPECT_EQ(left("parent", limit), 400 - used[0] - used[1]);
  }
  EXPECT_LE(used[0] + used[1], 400);
  if (busy == 0) {
    EXPECT_EQ(used[0] + used[1], 400);
  }
}

}  // namespace
}  // namespace stint::test
