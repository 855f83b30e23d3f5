// How long one decision takes, and what else a limiter is asked: the cases of bench/cases.cc, as
// rates and, under ".../latency", as the time of single steps.
//
//     cmake --preset bench && cmake --build --preset bench
//     build/bench/bin/decision_bench --benchmark_filter=memory/decision --benchmark_repetitions=5
//
// A scenario is made once and serves all repetitions, unless its steps are limited. Rates come from
// a loop without any other clock than the limiter's; latencies from another one that reads the
// time-stamp counter around every step. Their counters are nanoseconds: median_ns, p99_ns, p999_ns,
// of the steps of all callers, and clock_ns, what the readings themselves add to each. `requests`
// counts what one step asks of the store.
//
// Cases of several callers, or of a store on disk, are timed by the wall, in chunks that all
// callers begin together and end together: an iteration is one chunk of each caller. So the rate is
// that of all of them, and does not grow when some are served before others.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bench/bench_main.h"
#include "bench/cases.h"
#include "bench/latency.h"
#include "bench/turn.h"
#include "bench/world.h"

namespace stint::bench {
namespace {

std::int64_t chunk_of(const Case& wanted) {
  constexpr std::int64_t kChunk = 1000;
  if (!wanted.waits) return 1;
  return wanted.steps > 0 ? std::min(wanted.steps, kChunk) : kChunk;
}

/// The scenario in use. It goes before `main` ends: engines do not outlive the statics of their
/// libraries.
class Stage {
 public:
  /// The scenario of a case; the one before goes. All callers of a case get the same.
  Scenario& play(const Case& wanted) {
    std::lock_guard lock(mutex_);
    if (present_ != &wanted || wanted.steps > 0) {
      scenario_.reset();
      present_ = &wanted;
      scenario_ = wanted.make();
      turn_.emplace(wanted.callers);
      samples_.assign(static_cast<std::size_t>(wanted.callers), nullptr);
    }
    return *scenario_;
  }
  /// Where the callers of the case wait for each other.
  Turn& turn() { return *turn_; }

  /// Gathers the samples of all callers in those of the first; each caller calls it once.
  void gather(int caller, Samples& samples) {
    samples_[static_cast<std::size_t>(caller)] = &samples;
    turn_->wait();
    if (caller == 0) {
      for (const Samples* other : samples_) {
        if (other != &samples) samples.take(*other);
      }
    }
    turn_->wait();  // the others' samples go with their callers
  }

 private:
  std::mutex mutex_;
  const Case* present_ = nullptr;
  std::unique_ptr<Scenario> scenario_;
  std::optional<Turn> turn_;
  std::vector<Samples*> samples_;  // of each caller
};

/// Calls `step` as often as the benchmark wants it. Returns how often that was.
template <typename Step>
std::int64_t repeat(benchmark::State& state, Stage& stage, const Case& wanted, const Step& step) {
  if (!wanted.waits) {
    for (auto _ : state) step();
    return state.iterations();
  }
  const std::int64_t chunk = chunk_of(wanted);
  for (auto _ : state) {
    const auto start = stage.turn().wait();
    for (std::int64_t i = 0; i < chunk; ++i) step();
    const std::chrono::duration<double> spent = stage.turn().wait() - start;
    state.SetIterationTime(spent.count());
  }
  return state.iterations() * chunk;
}

void measure_rate(benchmark::State& state, Stage& stage, const Case& wanted) {
  Scenario& scenario = stage.play(wanted);
  const int caller = state.thread_index();
  const std::uint64_t before = scenario.stats().requests;
  const std::int64_t steps = repeat(state, stage, wanted, [&] { scenario.step(caller); });
  state.SetItemsProcessed(steps);
  if (wanted.callers > 1) return;
  state.counters["requests"] =
      static_cast<double>(scenario.stats().requests - before) / static_cast<double>(steps);
}

void measure_latency(benchmark::State& state, Stage& stage, const Case& wanted) {
  Scenario& scenario = stage.play(wanted);
  const int caller = state.thread_index();
  Samples samples(static_cast<std::size_t>(state.max_iterations * chunk_of(wanted)));
  const std::int64_t steps = repeat(state, stage, wanted, [&] {
    const std::uint64_t begin = Ticks::before();
    scenario.step(caller);
    samples.add(Ticks::after() - begin);
  });
  samples.finish();
  stage.gather(caller, samples);
  // Counters are summed over the callers.
  if (caller != 0) return;
  require(samples.count() == static_cast<std::size_t>(steps * wanted.callers),
          "the samples of some callers are missing");
  state.counters["median_ns"] = samples.quantile(0.5);
  state.counters["p99_ns"] = samples.quantile(0.99);
  state.counters["p999_ns"] = samples.quantile(0.999);
  state.counters["clock_ns"] = samples.overhead();
}

void register_one(Stage& stage, const Case& wanted, const std::string& name,
                  void (*measure)(benchmark::State&, Stage&, const Case&)) {
  auto* made = benchmark::RegisterBenchmark(
      name.c_str(),
      [&stage, &wanted, measure](benchmark::State& state) { measure(state, stage, wanted); });
  if (wanted.steps > 0) made->Iterations(wanted.steps / chunk_of(wanted));
  if (wanted.waits) made->Threads(wanted.callers)->UseManualTime();
}

void register_cases(Stage& stage) {
  for (const Case& one : all_cases()) {
    register_one(stage, one, one.name, measure_rate);
    if (one.latency) register_one(stage, one, one.name + "/latency", measure_latency);
  }
}

}  // namespace
}  // namespace stint::bench

int main(int argc, char** argv) {
  stint::bench::Stage stage;
  stint::bench::register_cases(stage);
  return stint::bench::run_benchmarks(argc, argv);
}
