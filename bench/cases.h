// The measured cases, each under one name for benchmarks, comparisons and profiles.
#ifndef STINT_BENCH_CASES_H_
#define STINT_BENCH_CASES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stint/limiter.h"

namespace stint::bench {

/// A case made ready: what it needs exists and is cached.
class Scenario {
 public:
  virtual ~Scenario() = default;
  /// What the case measures, once, by one of its callers. Ends the program when the outcome is not
  /// the case's.
  virtual void step(int caller) = 0;
  virtual RequestStats stats() const = 0;
};

struct Case {
  /// Of all cases with the same number of callers only this one has it.
  std::string name;
  std::string about;
  std::function<std::unique_ptr<Scenario>()> make;
  /// Threads that step at the same time.
  int callers = 1;
  /// Whether the time of single steps is measured as well.
  bool latency = false;
  /// More than 0: a scenario has so many steps and is then used up.
  std::int64_t steps = 0;
  /// Whether steps wait for other callers or for a disk, so that only the wall's time counts.
  bool waits = false;
};

const std::vector<Case>& all_cases();
/// The case of one caller with this name; null: there is none.
const Case* find_case(std::string_view name);

}  // namespace stint::bench

#endif  // STINT_BENCH_CASES_H_
