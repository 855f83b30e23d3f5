// What an entity takes of memory: its bucket of two limits in the memory store and what the limiter
// remembers of it, together.
//
//     cmake --preset bench && cmake --build --preset bench
//     build/bench/bin/heap_bench
//
// The counters are bytes an entity: `heap` is what the allocator has handed out, its own headers
// included, after every entity has decided three times; `view` the part of it that goes when the
// limiter forgets; `resident` the growth of the process, which contains what lies idle between
// blocks. The time is that of the first decisions. Tables double when they are full, so that the
// figure depends on where the number of entities lies between two doublings.
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "bench/bench_main.h"
#include "bench/world.h"

namespace stint::bench {
namespace {

double heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks) + static_cast<double>(info.hblkhd);
}

double resident_bytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  require(file != nullptr, "/proc/self/statm cannot be read");
  long pages = 0;
  const int read = std::fscanf(file, "%*s %ld", &pages);
  std::fclose(file);
  require(read == 1, "/proc/self/statm is not understood");
  return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

void heap(benchmark::State& state) {
  WorldOptions options;
  options.entities = shrunk(static_cast<std::size_t>(state.range(0)));
  const auto entities = static_cast<double>(options.entities);
  for (auto _ : state) {
    state.PauseTiming();
    // What an earlier run freed would otherwise be taken again without growth.
    malloc_trim(0);
    auto world = std::make_unique<World>(options);
    const double heap_before = heap_bytes();
    const double resident_before = resident_bytes();
    state.ResumeTiming();
    world->fill();
    state.PauseTiming();
    // Every bucket has its lasting form after it was replaced.
    world->fill();
    world->fill();
    const double heap_after = heap_bytes();
    state.counters["heap"] = (heap_after - heap_before) / entities;
    state.counters["resident"] = (resident_bytes() - resident_before) / entities;
    world->limiter.forget_caches();
    state.counters["view"] = (heap_after - heap_bytes()) / entities;
    world.reset();
    state.ResumeTiming();
  }
}
BENCHMARK(heap)->Arg(100'000)->Arg(1'000'000)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stint::bench

int main(int argc, char** argv) { return stint::bench::run_benchmarks(argc, argv); }
