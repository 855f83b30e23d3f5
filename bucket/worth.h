// What a bucket's limits are worth at an instant. Everything that needs to know asks `evaluate`:
// acquire, availability, explain, local rejection, reset instants.
#ifndef STINT_BUCKET_WORTH_H_
#define STINT_BUCKET_WORTH_H_

#include <cstdint>
#include <optional>

#include "bucket/state.h"
#include "stint/decision.h"
#include "stint/time.h"

namespace stint::bucket {

/// Parameters in force on one shard: level schedule applied, then divided (rules 3.3).
struct Share {
  std::int64_t capacity = 0;
  std::int64_t refill = 0;
  Millis period{1000};
  /// Line of the level schedule in force; -1: the base.
  int entry = -1;
};

/// Base parameters under line `entry` of `levels` (-1: none), divided by `divisor`.
/// The reserved limit is neither scheduled nor divided. Scaling never yields 0 from more than 0.
Share share_of(const LimitState& limit, int entry, std::int64_t divisor);
/// The same with the line in force at `at`.
Share share_at(const LimitState& limit, TimePoint at, std::int64_t divisor);
/// The largest capacity that the base or any line of the schedule gives, divided by `divisor`.
std::int64_t highest_capacity(const LimitState& limit, std::int64_t divisor);

/// The shard count that sized this shard's grant of a quota. A legacy item without one may hold
/// more than its stored count allows; the count is halved until it does not (rules 3.4, R7).
std::int64_t grant_count(const LimitState& limit, std::int64_t shard_count);

/// How the stored balance became the worth.
enum class Transition : std::uint8_t {
  kNone,    ///< As stored.
  kRefill,  ///< Dripped: whole or up to the ceiling.
  kClamp,   ///< Cut to a ceiling that sank.
  kReset,   ///< A calendar edge passed since the last refill.
  kRoll,    ///< A sibling opened a window that this shard has not applied yet.
  kOpen,    ///< No live window: the next debit opens one and finds a full share.
};

/// One limit at one instant.
struct Worth {
  Transition transition = Transition::kNone;
  /// What can be spent; below zero while in debt.
  std::int64_t balance = 0;
  /// Most that the shard can hold now, top-up included.
  std::int64_t ceiling = 0;
  /// Milli-tokens dripped since the last refill, before any cut at a ceiling.
  std::int64_t added = 0;
  /// Whether one set of parameters held all the time since the last refill: then the worth of any
  /// stored balance b is min(b + added, ceiling), and a write need not pin b. True where the stored
  /// balance does not matter: after a reset, and for a window to open or to roll.
  bool uniform = true;
  std::int64_t remainder = 0;
  Share share;
  WindowState window = WindowState::kNone;
  /// End of the live window.
  std::optional<TimePoint> window_end;
};

/// The worth of `limit`, last refilled at `refilled_at`, at `now` (or at `refilled_at` where the
/// clock is behind it). Exact: any way of cutting time into passes gives the same balance
/// (decision 12). Pure.
Worth evaluate(const LimitState& limit, TimePoint refilled_at, std::int64_t shard_count,
               TimePoint now);

/// How long until `amount` fits if nobody competes.
struct Wait {
  /// No state of the limit can hold so much, on all shards together (decision 5).
  bool never = false;
  /// Zero when it fits now; else absent when no reset is in reach or one shard can never hold it.
  std::optional<Millis> wait;
};

/// Exact and tight (decision 8): a caller who waits 1 ms less is refused, one who waits as told
/// passes. Walks at most 366 schedule changes or edges. `worth` must be that of `limit` at `now`.
Wait wait_for(const LimitState& limit, const Worth& worth, TimePoint refilled_at,
              std::int64_t shard_count, TimePoint now, std::int64_t amount);

/// The same for a limit that nobody has used yet: whenever its bucket is made, it is whole.
Wait wait_for_unused(const LimitState& limit, std::int64_t shard_count, TimePoint now,
                     std::int64_t amount);

/// When the quota is next restored whole: the next edge, or the end of the live window. Absent for
/// rates, windows not started, and without an edge in reach.
std::optional<TimePoint> resets_at(const LimitState& limit, const Worth& worth, TimePoint now);

/// The next instant after `at` at which parameters change or a calendar edge falls; a live
/// window's end is the caller's to add. Absent for limits without schedule or resets.
std::optional<TimePoint> next_boundary(const LimitState& limit, TimePoint at);

/// `status` of a limit for people and programs. `requested` in milli-tokens; `remaining` is the
/// worth, not yet reduced by the request.
LimitStatus describe(const LimitState& limit, const Worth& worth, TimePoint refilled_at,
                     std::int64_t shard_count, TimePoint now, std::int64_t requested);

/// Shortest time from empty to full among the drip limits of a bucket, shares in force at `now`;
/// absent when there is none. The basis of the burst tolerance (decision 15).
std::optional<Millis> shortest_time_to_full(const BucketState& bucket, TimePoint now);
/// Whether there is one.
bool any_drip_fills(const BucketState& bucket, TimePoint now);

/// How long an idle bucket is kept for this limit's sake: `multiplier` times the time it needs to
/// recover wholly, in whole seconds, rounded down (rules 3.6).
std::int64_t lifetime_s(const LimitState& limit, int multiplier);

}  // namespace stint::bucket

#endif  // STINT_BUCKET_WORTH_H_
