// How many recorded requests a second a replay decides: CSV lines read, mapped and decided by two
// limits in memory, in order of time, without a file of decisions. All are admitted.
//
//     cmake --preset bench && cmake --build --preset bench
//     build/bench/bin/replay_bench --benchmark_repetitions=5
//
// The argument is the number of entities. An iteration replays two files with one limiter: one
// record of every entity, which creates its bucket (`first_per_s`), then a million records of
// random entities (`warm_per_s`). `whole_per_s` is the rate of both together, as of one file.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "bench/bench_main.h"
#include "bench/world.h"
#include "cli/replay/byte_source.h"
#include "cli/replay/replay.h"
#include "cli/replay/request_reader.h"
#include "stint/stint.h"

namespace stint::bench {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart{Millis(1'800'000'000'000)};
constexpr std::size_t kWarmRecords = 1'000'000;
constexpr std::size_t kMostTokens = 1000;

/// One record a millisecond from `start`.
class TrafficFile {
 public:
  TrafficFile(const std::string& path, TimePoint start) : out_(path), time_(start) {
    out_ << "time,entity,resource,tokens\n";
  }
  void add(std::size_t entity, std::size_t tokens) {
    out_ << time_.time_since_epoch().count() << ",entity-" << entity << ",api," << tokens << '\n';
    time_ += 1ms;
  }
  TimePoint finish() {
    require(static_cast<bool>(out_.flush()), "a traffic file cannot be written");
    return time_;
  }

 private:
  std::ofstream out_;
  TimePoint time_;
};

struct Traffic {
  explicit Traffic(std::size_t number)
      : entities(number),
        first(directory.path() + "/first.csv"),
        warm(directory.path() + "/warm.csv") {
    Order amounts(kMostTokens, 2);
    TrafficFile first_file(first, kStart);
    std::vector<std::size_t> each(entities);
    std::iota(each.begin(), each.end(), std::size_t{0});
    std::shuffle(each.begin(), each.end(), std::mt19937_64(1));
    for (std::size_t entity : each) first_file.add(entity, amounts.next());
    TrafficFile warm_file(warm, first_file.finish());
    Order order(entities, 1);
    for (std::size_t i = 0; i < warm_records; ++i) warm_file.add(order.next(), amounts.next());
    warm_file.finish();
  }

  TemporaryDirectory directory;
  std::size_t entities;
  std::size_t warm_records = shrunk(kWarmRecords);
  std::string first;
  std::string warm;
};

/// Seconds that the replay of a file took.
double replay_file(Limiter& limiter, cli::ReplayClock& clock, const std::string& path,
                   std::size_t records) {
  const auto start = std::chrono::steady_clock::now();
  std::unique_ptr<cli::ByteSource> source = cli::open_input(path).value();
  cli::RequestRules rules;
  rules.consume = {cli::ConsumeRule::parse("session=tokens").value(),
                   cli::ConsumeRule::parse("rpm=1").value()};
  auto reader = cli::RequestReader::open(std::move(rules), *source).value();
  cli::ReplaySettings settings;
  settings.sorted = true;
  const cli::ReplayReport report = cli::replay(limiter, clock, *reader, settings).value();
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  require(report.admitted == records, "a replayed request was not admitted");
  return spent.count();
}

void replay_csv(benchmark::State& state) {
  const Traffic traffic(shrunk(static_cast<std::size_t>(state.range(0))));
  double first = 0;
  double warm = 0;
  for (auto _ : state) {
    cli::ReplayClock clock;
    clock.set(kStart);
    LimiterOptions options;
    options.clock = &clock;
    options.config_ttl = 24h * 365;  // as the command has it
    options.seed = 1;
    Limiter limiter(open_memory().value(), options);
    limiter.set_limits(Scope::resource("api"), two_limits()).value();
    const double created = replay_file(limiter, clock, traffic.first, traffic.entities);
    const double decided = replay_file(limiter, clock, traffic.warm, traffic.warm_records);
    first += created;
    warm += decided;
    state.SetIterationTime(created + decided);
  }
  const auto rounds = static_cast<double>(state.iterations());
  const double first_records = static_cast<double>(traffic.entities) * rounds;
  const double warm_records = static_cast<double>(traffic.warm_records) * rounds;
  state.counters["first_per_s"] = first_records / first;
  state.counters["warm_per_s"] = warm_records / warm;
  state.counters["whole_per_s"] = (first_records + warm_records) / (first + warm);
}
BENCHMARK(replay_csv)->Arg(1'000)->Arg(100'000)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stint::bench

int main(int argc, char** argv) { return stint::bench::run_benchmarks(argc, argv); }
