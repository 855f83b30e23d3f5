// An observer that counts.
#ifndef STINT_COUNTERS_H_
#define STINT_COUNTERS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "stint/export.h"
#include "stint/observer.h"
#include "stint/result.h"

namespace stint {

/// What `Counters` had counted when asked. Every number only grows; docs/guide/observe.md says what
/// each of them means.
struct CounterSnapshot {
  struct LimitCount {
    std::string limit;
    std::uint64_t rejections = 0;
  };
  struct ErrorCount {
    ErrorCode code;
    std::uint64_t errors = 0;
  };

  /// Answers of `acquire`. Errors are among `failed_calls`.
  std::uint64_t admitted = 0;
  std::uint64_t rejected = 0;
  /// Of these, the ones for which the store was not asked.
  std::uint64_t rejected_from_memory = 0;
  std::uint64_t disabled = 0;
  std::uint64_t degraded = 0;

  /// How often each limit refused, in order of name. A request that several limits refuse counts
  /// for each.
  std::vector<LimitCount> rejections_by_limit;
  /// Refusals of limits that came when `Counters::kMostLimits` names were known already.
  std::uint64_t rejections_by_other_limits = 0;

  RequestStats store;
  /// Spent in the store, if `CountersOptions::time_store`.
  std::chrono::nanoseconds store_time{0};
  /// Requests that the store failed, and calls of any kind that answered an error; each code that
  /// occurred, in the order of `ErrorCode`.
  std::vector<ErrorCount> store_errors;
  std::vector<ErrorCount> failed_calls;
  std::uint64_t conflicts = 0;
  std::uint64_t retries = 0;

  /// Calls that waited for the bucket's turn, and how long all of them together.
  std::uint64_t waits = 0;
  std::chrono::nanoseconds wait_time{0};

  std::uint64_t view_hits = 0;
  std::uint64_t view_misses = 0;
  /// In levels of configuration.
  std::uint64_t config_hits = 0;
  std::uint64_t config_misses = 0;

  std::uint64_t settled = 0;
  std::uint64_t rolled_back = 0;
  std::uint64_t given_back = 0;
  std::uint64_t lease_troubles = 0;

  std::uint64_t clocks_behind = 0;
  std::uint64_t limits_disagreed = 0;
  std::uint64_t fanouts_incomplete = 0;
};

struct CountersOptions {
  /// See `Observer::times_store`.
  bool time_store = false;
};

/// Counts events, of one limiter or of several together. Thread-safe; threads do not share cache
/// lines as a rule. Takes no memory while it counts but for the name of a limit that refuses for
/// the first time. Some 50 KB.
class STINT_EXPORT Counters final : public Observer {
 public:
  /// Limits that are counted by name. Names of limits are configuration, so there are few of them;
  /// callers who pass limits with their requests may make up any number.
  static constexpr std::size_t kMostLimits = 128;

  explicit Counters(CountersOptions options = {});
  ~Counters() override;
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  void on_event(const Event& event) noexcept override;
  bool times_store() const noexcept override;

  /// Sums up. Numbers of events that are reported meanwhile may be in it in part.
  CounterSnapshot snapshot() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stint

#endif  // STINT_COUNTERS_H_
