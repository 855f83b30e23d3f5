#include "bench/bench_main.h"

#include <benchmark/benchmark.h>

#include <cstdlib>

namespace stint::bench {

int run_benchmarks(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
#ifdef NDEBUG
  benchmark::AddCustomContext("stint_assertions", "off");
#else
  benchmark::AddCustomContext("stint_assertions", "on");
#endif
  const char* shrink = std::getenv("STINT_BENCH_SHRINK");
  if (shrink != nullptr) benchmark::AddCustomContext("stint_shrink", shrink);
  const bool some = benchmark::RunSpecifiedBenchmarks() > 0;
  benchmark::Shutdown();
  return some ? 0 : 1;
}

}  // namespace stint::bench
