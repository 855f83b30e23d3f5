// A bucket as plain state: what one stored item says about its limits, without any attribute name.
#ifndef STINT_BUCKET_STATE_H_
#define STINT_BUCKET_STATE_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "model/schedule.h"
#include "stint/limit.h"
#include "stint/time.h"

namespace stint::bucket {

/// Parameters as stored: undivided by shards, unscheduled, in milli-tokens.
struct Parameters {
  std::int64_t capacity = 0;
  std::int64_t refill = 0;  // per period; 0 for quotas
  Millis period{1000};

  friend bool operator==(const Parameters&, const Parameters&) = default;
};

/// One limit on one bucket. Views and pointers refer to the layout or configuration that the state
/// was read with; whoever holds a state holds that too.
struct LimitState {
  std::string_view name;
  LimitKind kind = LimitKind::kRate;
  /// The reserved write-capacity limit: never divided, scheduled or shown.
  bool reserved = false;

  Parameters base;
  std::int64_t balance = 0;
  std::int64_t consumed = 0;
  /// Fraction of a milli-token gained but not yet credited, in milli-tokens times milliseconds;
  /// 0 <= remainder < effective period (decision 12).
  std::int64_t remainder = 0;

  const model::LevelSchedule* levels = nullptr;
  const model::ResetSchedule* resets = nullptr;  // calendar quotas only

  // Session quotas only.
  std::optional<TimePoint> window_start;
  std::optional<TimePoint> window_applied;  // the window start that `balance` already reflects
  Millis window_length{0};
  std::optional<std::int64_t> consumed_at_fanout;

  // Quotas only.
  std::optional<std::int64_t> grant_count;  // the shard count that sized this shard's grant
  std::int64_t top_up = 0;
  std::optional<std::int64_t> resets_taken;

  std::optional<TimePoint> soft_until;

  bool is_quota() const { return kind != LimitKind::kRate; }
};

/// A bucket item. `limits` is in the order of the item's layout.
struct BucketState {
  TimePoint refilled_at;
  /// Absent: for ever. The epoch: to be re-evaluated at the next touch.
  std::optional<TimePoint> valid_until;
  std::int64_t shard_count = 1;
  std::optional<std::int64_t> expires_at_s;
  bool disabled = false;
  std::optional<TimePoint> bypass_until;
  std::vector<LimitState> limits;
};

}  // namespace stint::bucket

#endif  // STINT_BUCKET_STATE_H_
