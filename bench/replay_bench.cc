// How many recorded requests a second a replay decides: CSV lines read, mapped and decided by two
// limits in memory, in order of time.
//
//     cmake --preset bench && cmake --build --preset bench
//     build/bench/bin/replay_bench --benchmark_repetitions=5
//
// Each iteration replays one file of 500,000 records; the argument is the number of entities, each
// of which the replay has to create first.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "cli/replay/byte_source.h"
#include "cli/replay/replay.h"
#include "cli/replay/request_reader.h"
#include "stint/stint.h"

namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kRecords = 500'000;

/// A file of its own that goes with it.
class TrafficFile {
 public:
  explicit TrafficFile(std::int64_t entities) {
    std::string pattern = (std::filesystem::temp_directory_path() / "stint-bench-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    std::ofstream out(path());
    out << "time,entity,resource,tokens\n";
    std::uint64_t state = 1;
    for (std::int64_t i = 0; i < kRecords; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      std::uint64_t drawn = state >> 33;
      out << 1'800'000'000'000 + i << ",entity-" << drawn % static_cast<std::uint64_t>(entities)
          << ",api," << drawn % 1000 << '\n';
    }
  }
  ~TrafficFile() { std::filesystem::remove_all(directory_); }
  TrafficFile(const TrafficFile&) = delete;
  TrafficFile& operator=(const TrafficFile&) = delete;
  std::string path() const { return directory_ + "/traffic.csv"; }

 private:
  std::string directory_;
};

void replay_csv(benchmark::State& state) {
  TrafficFile file(state.range(0));
  for (auto _ : state) {
    stint::cli::ReplayClock clock;
    clock.set(stint::TimePoint(stint::Millis(1'800'000'000'000)));
    stint::LimiterOptions options;
    options.clock = &clock;
    options.config_ttl = 24h * 365;
    options.seed = 1;
    stint::Limiter limiter(stint::open_memory().value(), options);
    limiter
        .set_limits(stint::Scope::resource("api"), {stint::Limit::session("session", 100'000, 5h),
                                                    stint::Limit::per_minute("rpm", 600)})
        .value();
    std::unique_ptr<stint::cli::ByteSource> source = stint::cli::open_input(file.path()).value();
    stint::cli::RequestRules rules;
    rules.consume = {stint::cli::ConsumeRule::parse("session=tokens").value(),
                     stint::cli::ConsumeRule::parse("rpm=1").value()};
    auto reader = stint::cli::RequestReader::open(std::move(rules), *source).value();
    stint::cli::ReplaySettings settings;
    settings.sorted = true;
    benchmark::DoNotOptimize(stint::cli::replay(limiter, clock, *reader, settings).value());
  }
  state.SetItemsProcessed(state.iterations() * kRecords);
}
BENCHMARK(replay_csv)->Arg(1'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
