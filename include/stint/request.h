// What a caller asks of a limiter, and what it is told without consuming.
#ifndef STINT_REQUEST_H_
#define STINT_REQUEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stint/amount.h"
#include "stint/decision.h"
#include "stint/limit.h"
#include "stint/time.h"

namespace stint {

/// An amount of one limit.
struct Consume {
  std::string limit;
  Amount amount;
};

struct AcquireRequest {
  std::string entity;
  std::string resource;
  /// The limits that gate this request and how much to take of each; each name at most once.
  /// An amount of zero gates (the balance must not be negative) but takes nothing.
  std::vector<Consume> consume;
  /// Limits for this call: they outrank the stored ones of every level. The bucket remembers them;
  /// callers that keep passing different ones for one bucket are reported to the observer. With a
  /// parent they apply to the entity's own bucket.
  std::optional<LimitList> limits = std::nullopt;
  /// Absent: what the system configuration says, as last read; else block.
  std::optional<OnUnavailable> on_unavailable = std::nullopt;
  /// For this call, the wait for other callers of the bucket included; more than 0, at most a day.
  /// Absent: the limiter's.
  std::optional<Millis> timeout = std::nullopt;
};

/// What can be taken now, without taking it.
struct Availability {
  /// Every limit that applies to the entity and, with cascade, to its parent. Of a bucket in
  /// several shards the amounts are the sums over all of them.
  std::vector<LimitStatus> limits;
  /// Whether `need` would be admitted now.
  bool fits = true;
  /// When `need` would fit if nobody competes; absent if never, if no reset is in reach, and if it
  /// is not known, because the bucket is split: see `hindrance`, or more is needed than one shard
  /// can hold.
  std::optional<Millis> wait;
  bool never_fits = false;
  /// Why `need` would be refused whatever the limits hold, in words for people: another program has
  /// split the bucket, and has to do something there first. Empty: nothing of that kind.
  std::string hindrance;
  AccessPolicy access = AccessPolicy::kEnforce;
};

/// A limit with all that decides about it, for `explain`.
struct LimitExplanation {
  Limit limit;
  ConfigLevel level = ConfigLevel::kNone;
  LimitStatus status;
  /// Whether the bucket holds this limit yet; it is added at its next use.
  bool on_item = false;
  /// The last debit or refill of the bucket that this limit was reckoned from.
  std::optional<TimePoint> refilled_at;
  std::optional<TimePoint> window_start;
  /// Net consumption ever counted on this bucket.
  MilliTokens consumed;
  /// Index of the active line of the level schedule.
  std::optional<int> active_entry;
  /// When the parameters next change by the level schedule.
  std::optional<TimePoint> next_change;
  /// Parameters stored on the bucket differ from the configuration and will be brought up to date
  /// at the next refill.
  bool stale = false;
  /// Why a request for this limit would be refused whatever it holds, as in `Availability`; on a
  /// split bucket, by its first shard. Empty: nothing of that kind.
  std::string hindrance;
};

/// One bucket seen from outside.
struct BucketExplanation {
  std::string entity;
  std::string resource;
  ConfigLevel level = ConfigLevel::kNone;
  AccessPolicy access = AccessPolicy::kEnforce;
  bool exists = false;
  std::vector<LimitExplanation> limits;
  /// Size of the item by DynamoDB's rules, and what one write of it costs in its capacity units:
  /// the table's and its indexes' apart.
  std::int64_t item_bytes = 0;
  double write_units = 0;
  double index_write_units = 0;
  std::optional<TimePoint> expires_at;
  std::optional<TimePoint> valid_until;
};

struct Explanation {
  /// The entity's own bucket first; then its parent's, if debits cascade.
  std::vector<BucketExplanation> buckets;
};

}  // namespace stint

#endif  // STINT_REQUEST_H_
