// Steps of one case and nothing else, for tools that look at a running program.
//
//     build/bench/bin/profile_loop memory/decision/100 10000
//
// scripts/profile runs it under valgrind and counts what happens inside `profiled_steps`, so that
// what makes the case ready is left out.
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "bench/cases.h"

/// Not inlined, and without a mangled name: tools look for it.
extern "C" [[gnu::noinline]] void profiled_steps(stint::bench::Scenario& scenario,
                                                 std::int64_t steps) {
  for (std::int64_t i = 0; i < steps; ++i) scenario.step(0);
}

namespace {

constexpr const char* kUsage =
    "usage: profile_loop CASE STEPS   makes the case ready, then does its step so many times\n"
    "       profile_loop --list       the cases, one a line, with what they are about\n";

/// Steps before those that are looked at, so that these find everything allocated.
constexpr std::int64_t kWarmUp = 200;

int list() {
  for (const stint::bench::Case& one : stint::bench::all_cases()) {
    if (one.callers == 1) std::printf("%s\t%s\n", one.name.c_str(), one.about.c_str());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) return list();
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  if (argc != 3) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  const stint::bench::Case* wanted = stint::bench::find_case(argv[1]);
  if (wanted == nullptr) {
    std::fprintf(stderr, "profile_loop: no case \"%s\"; --list names them\n", argv[1]);
    return 2;
  }
  std::int64_t steps = 0;
  const char* end = argv[2] + std::strlen(argv[2]);
  if (std::from_chars(argv[2], end, steps).ptr != end || steps < 1) {
    std::fprintf(stderr, "profile_loop: \"%s\" is not a number of steps\n", argv[2]);
    return 2;
  }
  if (wanted->steps > 0 && steps + kWarmUp > wanted->steps) {
    std::fprintf(stderr, "profile_loop: %s has at most %lld steps\n", argv[1],
                 static_cast<long long>(wanted->steps - kWarmUp));
    return 2;
  }
  auto scenario = wanted->make();
  for (std::int64_t i = 0; i < kWarmUp; ++i) scenario->step(0);
  profiled_steps(*scenario, steps);
  return 0;
}
