// How often and how soon something is tried again.
#ifndef STINT_STORE_DYNAMODB_RETRY_H_
#define STINT_STORE_DYNAMODB_RETRY_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

#include "base/random.h"

namespace stint::store::dynamodb {

/// Longest wait before the first repetition: after trouble on the way, and after the service asked
/// to slow down. Doubles with each further one, up to `kLongestPause`.
inline constexpr std::chrono::milliseconds kTroublePause{25};
inline constexpr std::chrono::milliseconds kThrottledPause{50};
inline constexpr std::chrono::milliseconds kLongestPause{1'000};

/// The longest wait before repetition number `repeat`, counted from 1.
std::chrono::milliseconds longest_pause(std::chrono::milliseconds first, int repeat);

/// Bounds what one client adds to the load of a service in trouble: a repetition costs
/// `kRepeatCost`; a call that succeeds gives back `kSuccessGain`, or what its last repetition cost.
/// With nothing but failures there are 100 repetitions in all, and no more. Thread-safe.
class RetryBudget {
 public:
  static constexpr int kFull = 500;
  static constexpr int kRepeatCost = 5;
  static constexpr int kSuccessGain = 1;

  /// Takes the cost of a repetition. False: there is not enough, and nothing is taken.
  bool take();
  void succeeded(bool repeated);
  int left() const { return left_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int> left_{kFull};
};

/// Waits drawn evenly between nothing and the longest: whoever failed together does not come back
/// together. Thread-safe.
class Jitter {
 public:
  /// Seeded by the system.
  Jitter();
  explicit Jitter(std::uint64_t seed) : random_(seed) {}

  std::chrono::microseconds draw(std::chrono::milliseconds longest);

 private:
  std::mutex mutex_;
  Random random_;
};

}  // namespace stint::store::dynamodb

#endif  // STINT_STORE_DYNAMODB_RETRY_H_
