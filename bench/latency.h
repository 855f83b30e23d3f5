// The time of single steps, taken without a system call.
#ifndef STINT_BENCH_LATENCY_H_
#define STINT_BENCH_LATENCY_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace stint::bench {

/// The time-stamp counter where there is one, read so that no instruction of the step runs before
/// the first reading or after the second. What a reading costs is part of each sample.
class Ticks {
 public:
#if defined(__x86_64__)
  static std::uint64_t before() {
    _mm_lfence();
    std::uint64_t now = __rdtsc();
    _mm_lfence();
    return now;
  }
  static std::uint64_t after() {
    unsigned processor;
    std::uint64_t now = __rdtscp(&processor);
    _mm_lfence();
    return now;
  }
#else
  static std::uint64_t before() {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                      std::chrono::nanoseconds(1));
  }
  static std::uint64_t after() { return before(); }
#endif
};

/// Samples in a row of memory that is there before the first one: writing them touches one line of
/// the processor's caches in sixteen steps.
class Samples {
 public:
  explicit Samples(std::size_t most);

  void add(std::uint64_t ticks) {
    ticks_[count_++] = static_cast<std::uint32_t>(ticks < kMost ? ticks : kMost);
  }
  /// Ends the measurement, which is what one tick is reckoned from.
  void finish();
  /// Adds the samples of another caller. All processors' ticks are equally long.
  void take(const Samples& other);
  std::size_t count() const { return count_; }
  /// Nanoseconds that this part of all samples, 0 to 1, does not exceed. Reorders the samples.
  double quantile(double part);
  /// Median nanoseconds of two readings with nothing in between; contained in every sample.
  double overhead() const { return overhead_ * ns_per_tick_; }

 private:
  static constexpr std::uint64_t kMost = 0xffffffff;

  std::vector<std::uint32_t> ticks_;
  std::size_t count_ = 0;
  double overhead_ = 0;  // ticks
  double ns_per_tick_ = 0;
  std::uint64_t first_tick_;
  std::chrono::steady_clock::time_point first_time_;
};

}  // namespace stint::bench

#endif  // STINT_BENCH_LATENCY_H_
