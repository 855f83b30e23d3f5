#include "limiter/request_counters.h"

namespace stint::limiter {
namespace {

std::uint64_t halves(double units) { return static_cast<std::uint64_t>(units * 2 + 0.5); }

}  // namespace

std::size_t counter_slot() noexcept {
  static std::atomic<std::size_t> threads{0};
  thread_local std::size_t mine = threads.fetch_add(1, std::memory_order_relaxed);
  return mine % kCounterSlots;
}

void RequestCounters::count(const RequestStats& asked) noexcept {
  Slot& slot = slots_[counter_slot()];
  slot.requests.fetch_add(asked.requests, std::memory_order_relaxed);
  if (asked.read_units > 0) {
    slot.half_reads.fetch_add(halves(asked.read_units), std::memory_order_relaxed);
  }
  if (asked.write_units > 0) {
    slot.half_writes.fetch_add(halves(asked.write_units), std::memory_order_relaxed);
  }
  if (asked.index_write_units > 0) {
    slot.half_index_writes.fetch_add(halves(asked.index_write_units), std::memory_order_relaxed);
  }
}

RequestStats RequestCounters::total() const {
  RequestStats stats;
  for (const Slot& slot : slots_) {
    auto units = [](const std::atomic<std::uint64_t>& half) {
      return static_cast<double>(half.load(std::memory_order_relaxed)) / 2;
    };
    stats.requests += slot.requests.load(std::memory_order_relaxed);
    stats.read_units += units(slot.half_reads);
    stats.write_units += units(slot.half_writes);
    stats.index_write_units += units(slot.half_index_writes);
  }
  return stats;
}

}  // namespace stint::limiter
