#include "store/dynamodb/retry.h"

#include <algorithm>
#include <random>

namespace stint::store::dynamodb {

std::chrono::milliseconds longest_pause(std::chrono::milliseconds first, int repeat) {
  std::chrono::milliseconds pause = first;
  for (int i = 1; i < repeat && pause < kLongestPause; ++i) pause *= 2;
  return std::min(pause, kLongestPause);
}

bool RetryBudget::take() {
  int left = left_.load(std::memory_order_relaxed);
  while (left >= kRepeatCost) {
    if (left_.compare_exchange_weak(left, left - kRepeatCost, std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

void RetryBudget::succeeded(bool repeated) {
  int left = left_.load(std::memory_order_relaxed);
  // The common case writes nothing that all threads share.
  while (left < kFull) {
    const int more = std::min(kFull, left + (repeated ? kRepeatCost : kSuccessGain));
    if (left_.compare_exchange_weak(left, more, std::memory_order_relaxed)) return;
  }
}

Jitter::Jitter() : Jitter(std::random_device()()) {}

std::chrono::microseconds Jitter::draw(std::chrono::milliseconds longest) {
  const std::chrono::microseconds most = longest;
  std::lock_guard lock(mutex_);
  return std::chrono::microseconds(random_.below(static_cast<std::uint64_t>(most.count()) + 1));
}

}  // namespace stint::store::dynamodb
