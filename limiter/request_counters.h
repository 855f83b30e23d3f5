// Counters that threads do not share cache lines for.
#ifndef STINT_LIMITER_REQUEST_COUNTERS_H_
#define STINT_LIMITER_REQUEST_COUNTERS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "stint/observer.h"

namespace stint::limiter {

/// How many copies of a counter there are; more threads than that share some.
inline constexpr std::size_t kCounterSlots = 16;

/// The copy that this thread counts in.
std::size_t counter_slot() noexcept;

/// Counts what is asked of the store.
class RequestCounters {
 public:
  void count(const RequestStats& asked) noexcept;
  RequestStats total() const;

 private:
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> requests{0};
    // In halves of a unit, the smallest charge there is.
    std::atomic<std::uint64_t> half_reads{0};
    std::atomic<std::uint64_t> half_writes{0};
    std::atomic<std::uint64_t> half_index_writes{0};
  };
  std::array<Slot, kCounterSlots> slots_;
};

}  // namespace stint::limiter

#endif  // STINT_LIMITER_REQUEST_COUNTERS_H_
