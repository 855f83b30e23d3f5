// Observation takes no memory: a program of its own, because it replaces the global `new`.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>

#include "stint/counters.h"
#include "stint/stint.h"
#include "testing/fake_clock.h"

namespace {

std::atomic<std::uint64_t> allocations{0};

void* allocate(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace stint::test {
namespace {

using namespace std::chrono_literals;

std::uint64_t allocations_of(const std::function<void()>& work) {
  std::uint64_t before = allocations.load();
  work();
  return allocations.load() - before;
}

/// What a thousand warm requests allocate, of which half are rejected.
std::uint64_t allocations_of_requests(Observer* observer) {
  FakeClock clock;
  LimiterOptions options;
  options.clock = &clock;
  options.observer = observer;
  Limiter limiter(open_memory().value(), options);
  limiter.set_limits("user", "api", {Limit::per_hour("rph", 1'000'000), Limit::per_day("few", 1)})
      .value();
  AcquireRequest fits{.entity = "user", .resource = "api", .consume = {{"rph", 1}}};
  AcquireRequest short_of{.entity = "user", .resource = "api", .consume = {{"few", 5}}};
  auto decide = [&](int calls) {
    for (int i = 0; i < calls; ++i) {
      EXPECT_TRUE(limiter.acquire(fits).value());
      EXPECT_FALSE(limiter.acquire(short_of).value());
    }
  };
  decide(10);
  return allocations_of([&] { decide(500); });
}

TEST(ObserverMemory, RequestsTakeNoMoreWithCountersThanWithout) {
  std::uint64_t unobserved = allocations_of_requests(nullptr);
  ASSERT_GT(unobserved, 0u) << "nothing is counted";
  Counters counters({.time_store = true});
  EXPECT_EQ(allocations_of_requests(&counters), unobserved);
  EXPECT_EQ(counters.snapshot().admitted, 510u);
  EXPECT_EQ(counters.snapshot().rejected_from_memory, 510u);
}

TEST(ObserverMemory, CountersTakeMemoryForNewNamesOnly) {
  Counters counters;
  Error error(ErrorCode::kUnavailable, "nobody answers");
  RequestStats asked{.requests = 1, .read_units = 0.5, .write_units = 1, .index_write_units = 1};
  // Too long to be held in the string itself.
  const std::string name = "a-limit-whose-name-is-rather-long";
  auto report_all = [&] {
    for (int kind = 0; to_string(static_cast<EventKind>(kind)) != "unknown"; ++kind) {
      counters.on_event({.kind = static_cast<EventKind>(kind),
                         .entity = "user",
                         .resource = "api",
                         .limit = name,
                         .error = &error,
                         .store = &asked,
                         .duration = 5us});
    }
  };
  EXPECT_GT(allocations_of(report_all), 0u);
  EXPECT_EQ(allocations_of(report_all), 0u);
  EXPECT_EQ(counters.snapshot().admitted, 2u);
}

}  // namespace
}  // namespace stint::test
