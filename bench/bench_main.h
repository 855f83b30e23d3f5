// What the benchmark programs have in common besides their cases.
#ifndef STINT_BENCH_BENCH_MAIN_H_
#define STINT_BENCH_BENCH_MAIN_H_

namespace stint::bench {

/// Runs the registered benchmarks as the command line says. The report's context tells whether
/// assertions are on ("stint_assertions") and by how much the cases were shrunk ("stint_shrink").
int run_benchmarks(int argc, char** argv);

}  // namespace stint::bench

#endif  // STINT_BENCH_BENCH_MAIN_H_
