#include "stint/counters.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "limiter/request_counters.h"

namespace stint {
namespace {

constexpr std::size_t kKinds = static_cast<std::size_t>(EventKind::kFanoutIncomplete) + 1;
constexpr std::size_t kCodes = static_cast<std::size_t>(ErrorCode::kCancelled) + 1;

using Count = std::atomic<std::uint64_t>;

void add(Count& count, std::uint64_t amount) noexcept {
  count.fetch_add(amount, std::memory_order_relaxed);
}

/// Names that are given a number when they are first seen. Lookups take no lock.
class NameTable {
 public:
  /// Twice as many places as names, so that a search ends soon.
  static constexpr std::size_t kPlaces = 2 * Counters::kMostLimits;
  /// The number of every name that came too late.
  static constexpr std::size_t kOther = kPlaces;

  NameTable() = default;
  NameTable(const NameTable&) = delete;
  NameTable& operator=(const NameTable&) = delete;
  ~NameTable() {
    for (std::atomic<const std::string*>& place : places_) delete place.load();
  }

  std::size_t number_of(std::string_view name) noexcept {
    std::size_t place = hash_bytes(name) % kPlaces;
    for (;; place = (place + 1) % kPlaces) {
      const std::string* held = places_[place].load(std::memory_order_acquire);
      if (held == nullptr) return add_name(name, place);
      if (*held == name) return place;
    }
  }
  /// The name with a number; null: none has it.
  const std::string* name(std::size_t number) const {
    return places_[number].load(std::memory_order_acquire);
  }

 private:
  std::size_t add_name(std::string_view name, std::size_t place) noexcept {
    if (full_.load(std::memory_order_relaxed)) return kOther;
    std::lock_guard lock(adding_);
    for (; const std::string* held = places_[place].load(std::memory_order_relaxed);
         place = (place + 1) % kPlaces) {
      if (*held == name) return place;
    }
    if (names_ == Counters::kMostLimits) {
      full_.store(true, std::memory_order_relaxed);
      return kOther;
    }
    try {
      places_[place].store(new std::string(name), std::memory_order_release);
    } catch (...) {
      // Without memory for the name it is counted all the same.
      return kOther;
    }
    ++names_;
    return place;
  }

  std::array<std::atomic<const std::string*>, kPlaces> places_{};
  std::atomic<bool> full_{false};
  std::mutex adding_;
  std::size_t names_ = 0;  // guarded by `adding_`
};

std::vector<CounterSnapshot::ErrorCount> by_code(const std::array<std::uint64_t, kCodes>& counts) {
  std::vector<CounterSnapshot::ErrorCount> errors;
  for (std::size_t code = 0; code < kCodes; ++code) {
    if (counts[code] > 0) errors.push_back({static_cast<ErrorCode>(code), counts[code]});
  }
  return errors;
}

}  // namespace

class Counters::Impl {
 public:
  explicit Impl(CountersOptions options) : options_(options) {}

  bool times_store() const { return options_.time_store; }

  void count(const Event& event) noexcept {
    auto kind = static_cast<std::size_t>(event.kind);
    // A core of a later version may know more of them.
    if (kind >= kKinds) return;
    Slot& slot = slots_[limiter::counter_slot()];
    add(slot.kinds[kind], event.count);
    switch (event.kind) {
      case EventKind::kRejected:
        if (event.from_memory) add(slot.rejected_from_memory, 1);
        break;
      case EventKind::kLimitExceeded: add(slot.limits[names_.number_of(event.limit)], 1); break;
      case EventKind::kStoreAsked:
        store_.count(*event.store);
        if (options_.time_store) add_duration(slot.store_ns, event.duration);
        break;
      case EventKind::kStoreError: add_error(slot.store_errors, event); break;
      case EventKind::kCallFailed: add_error(slot.failed_calls, event); break;
      case EventKind::kWaited: add_duration(slot.wait_ns, event.duration); break;
      default: break;
    }
  }

  CounterSnapshot snapshot() const {
    std::array<std::uint64_t, kKinds> kinds{};
    std::array<std::uint64_t, kCodes> store_errors{};
    std::array<std::uint64_t, kCodes> failed_calls{};
    std::array<std::uint64_t, NameTable::kPlaces + 1> limits{};
    CounterSnapshot sum;
    for (const Slot& slot : slots_) {
      add_all(slot.kinds, kinds);
      add_all(slot.store_errors, store_errors);
      add_all(slot.failed_calls, failed_calls);
      add_all(slot.limits, limits);
      sum.rejected_from_memory += slot.rejected_from_memory.load(std::memory_order_relaxed);
      sum.store_time += nanoseconds(slot.store_ns);
      sum.wait_time += nanoseconds(slot.wait_ns);
    }
    auto of = [&](EventKind kind) { return kinds[static_cast<std::size_t>(kind)]; };
    sum.admitted = of(EventKind::kAdmitted);
    sum.rejected = of(EventKind::kRejected);
    sum.disabled = of(EventKind::kDisabled);
    sum.degraded = of(EventKind::kDegraded);
    sum.store = store_.total();
    sum.store_errors = by_code(store_errors);
    sum.failed_calls = by_code(failed_calls);
    sum.conflicts = of(EventKind::kConflict);
    sum.retries = of(EventKind::kRetry);
    sum.waits = of(EventKind::kWaited);
    sum.view_hits = of(EventKind::kViewHit);
    sum.view_misses = of(EventKind::kViewMiss);
    sum.config_hits = of(EventKind::kConfigHit);
    sum.config_misses = of(EventKind::kConfigMiss);
    sum.settled = of(EventKind::kSettled);
    sum.rolled_back = of(EventKind::kRolledBack);
    sum.given_back = of(EventKind::kGivenBack);
    sum.lease_troubles = of(EventKind::kLeaseTrouble);
    sum.clocks_behind = of(EventKind::kClockBehind);
    sum.limits_disagreed = of(EventKind::kLimitsDisagree);
    sum.fanouts_incomplete = of(EventKind::kFanoutIncomplete);
    sum.rejections_by_other_limits = limits[NameTable::kOther];
    for (std::size_t number = 0; number < NameTable::kPlaces; ++number) {
      const std::string* name = names_.name(number);
      if (name != nullptr) sum.rejections_by_limit.push_back({*name, limits[number]});
    }
    std::sort(sum.rejections_by_limit.begin(), sum.rejections_by_limit.end(),
              [](const auto& a, const auto& b) { return a.limit < b.limit; });
    return sum;
  }

 private:
  struct alignas(64) Slot {
    std::array<Count, kKinds> kinds{};
    Count rejected_from_memory{0};
    Count store_ns{0};
    Count wait_ns{0};
    std::array<Count, kCodes> store_errors{};
    std::array<Count, kCodes> failed_calls{};
    std::array<Count, NameTable::kPlaces + 1> limits{};
  };

  static void add_error(std::array<Count, kCodes>& counts, const Event& event) noexcept {
    if (event.error != nullptr) add(counts[static_cast<std::size_t>(event.error->code())], 1);
  }
  static void add_duration(Count& count, std::chrono::nanoseconds duration) noexcept {
    add(count, static_cast<std::uint64_t>(duration.count()));
  }
  template <std::size_t kSize>
  static void add_all(const std::array<Count, kSize>& counts,
                      std::array<std::uint64_t, kSize>& sums) {
    for (std::size_t i = 0; i < kSize; ++i) sums[i] += counts[i].load(std::memory_order_relaxed);
  }
  static std::chrono::nanoseconds nanoseconds(const Count& count) {
    return std::chrono::nanoseconds(
        static_cast<std::chrono::nanoseconds::rep>(count.load(std::memory_order_relaxed)));
  }

  CountersOptions options_;
  NameTable names_;
  limiter::RequestCounters store_;
  std::array<Slot, limiter::kCounterSlots> slots_;
};

Counters::Counters(CountersOptions options) : impl_(std::make_unique<Impl>(options)) {}
Counters::~Counters() = default;

void Counters::on_event(const Event& event) noexcept { impl_->count(event); }
bool Counters::times_store() const noexcept { return impl_->times_store(); }
CounterSnapshot Counters::snapshot() const { return impl_->snapshot(); }

}  // namespace stint
