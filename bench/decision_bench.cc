// How long one decision takes: acquire of two limits (a session quota and a rate) with everything
// cached, on each engine, and a local rejection.
//
//     cmake --preset bench && cmake --build --preset bench
//     build/bench/bin/decision_bench --benchmark_repetitions=5
//
// Entities are visited in a fixed pseudo-random order, so that at 100,000 of them the caches of the
// processor do not help. The clock is virtual and moves 1 ms a decision; reading the system clock
// adds its own cost.
#include <benchmark/benchmark.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "stint/stint.h"

namespace {

using namespace std::chrono_literals;

class SteppingClock final : public stint::Clock {
 public:
  stint::TimePoint now() override { return now_ += 1ms; }

 private:
  stint::TimePoint now_{stint::Millis(1'800'000'000'000)};
};

constexpr const char* kResource = "api";

std::vector<stint::AcquireRequest> requests(std::int64_t entities) {
  std::vector<stint::AcquireRequest> all;
  for (std::int64_t i = 0; i < entities; ++i) {
    stint::AcquireRequest request;
    request.entity = "entity-" + std::to_string(i);
    request.resource = kResource;
    request.consume = {{"session", 1}, {"rpm", 1}};
    all.push_back(std::move(request));
  }
  return all;
}

/// Visits 0 .. count-1 in an order without locality: a full-cycle linear congruence.
class Order {
 public:
  explicit Order(std::size_t count) : count_(count) {}
  std::size_t next() {
    do {
      at_ = (at_ * 1664525 + 1013904223) & 0xffffff;
    } while (at_ >= count_ * (0x1000000 / count_));
    return at_ % count_;
  }

 private:
  std::size_t count_;
  std::size_t at_ = 1;
};

void decide(benchmark::State& state, stint::Store store, std::int64_t session_tokens) {
  SteppingClock clock;
  stint::LimiterOptions options;
  options.clock = &clock;
  options.seed = 1;
  options.max_views = 400'000;
  stint::Limiter limiter(std::move(store), options);
  limiter
      .set_limits(stint::Scope::resource(kResource),
                  {stint::Limit::session("session", session_tokens, 24h * 365),
                   stint::Limit::per_second("rpm", 1'000'000)})
      .value();
  std::vector<stint::AcquireRequest> all = requests(state.range(0));
  for (const auto& request : all) limiter.acquire(request).value();
  Order order(all.size());
  std::int64_t admitted = 0;
  for (auto _ : state) {
    admitted += static_cast<bool>(limiter.acquire(all[order.next()]).value()) ? 1 : 0;
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["admitted"] =
      static_cast<double>(admitted) / static_cast<double>(state.iterations());
}

void memory_decision(benchmark::State& state) {
  decide(state, stint::open_memory().value(), 1'000'000'000'000);
}
BENCHMARK(memory_decision)->Arg(100)->Arg(100'000);

/// Every request after the first of an entity is refused from what is remembered.
void memory_local_rejection(benchmark::State& state) {
  decide(state, stint::open_memory().value(), 1);
}
BENCHMARK(memory_local_rejection)->Arg(100);

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "stint-bench-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void rocksdb_decision(benchmark::State& state) {
  TemporaryDirectory directory;
  decide(state, stint::open_embedded(directory.path()).value(), 1'000'000'000'000);
}
BENCHMARK(rocksdb_decision)->Arg(100)->Arg(100'000);

}  // namespace

BENCHMARK_MAIN();
