// What one write does to a bucket: computed here as plain data, turned into a store request by
// schema/. The forms are those of decisions 15, 21, 29 and 30.
#ifndef STINT_BUCKET_PLAN_H_
#define STINT_BUCKET_PLAN_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bucket/state.h"
#include "bucket/worth.h"
#include "stint/time.h"

namespace stint::bucket {

/// Milli-tokens of the reserved limit that one write takes.
inline constexpr std::int64_t kWriteCost = 1000;

/// Where a debit landed, so that a credit can be told from one whose period is over (decision 4).
struct PeriodPin {
  std::optional<TimePoint> window_start;
  std::optional<TimePoint> window_applied;
  /// Calendar quotas: the first edge after the refill stamp that the debit was written under.
  std::optional<TimePoint> period_end;
  std::optional<std::int64_t> resets_taken;

  friend bool operator==(const PeriodPin&, const PeriodPin&) = default;
};

/// The period that a debit of `limit` landing now belongs to, given the item after the write.
PeriodPin period_of(const LimitState& limit, TimePoint refilled_at);
/// Whether that period is still the one the item is in.
bool same_period(const PeriodPin& pin, const LimitState& limit, TimePoint refilled_at);

/// What a request wants of one limit.
struct Demand {
  std::size_t limit = 0;    // index into the state's limits
  std::int64_t amount = 0;  // milli-tokens; negative: a credit
  bool gates = true;        // false: lands even where the balance does not allow it
  /// For a credit: the period it was debited in. A credit of another period is counted as
  /// consumption given back, but leaves the balance alone.
  std::optional<PeriodPin> pin;
};

/// Parameters to be brought up to date: the configured limit beside the stored one.
struct Stamp {
  std::size_t limit = 0;
  const LimitState* configured = nullptr;
};

/// A configured limit that the item lacks; it is added with a full share.
struct Seed {
  const LimitState* configured = nullptr;
  std::int64_t amount = 0;
  bool gates = true;
};

enum class BalanceChange : std::uint8_t { kKeep, kAdd, kSet };

/// What a write does to one limit, and what must hold of the stored balance for it to land.
struct LimitWrite {
  std::size_t limit = 0;
  BalanceChange change = BalanceChange::kKeep;
  std::int64_t value = 0;
  std::optional<std::int64_t> at_least;
  std::optional<std::int64_t> at_most;
  std::optional<std::int64_t> exactly;
  std::int64_t consumed = 0;            // added to the consumption counter
  std::int64_t consumed_at_fanout = 0;  // added to the counter's copy, where present
  bool named = false;                   // the request declared this limit
  bool soft_in_force = false;           // admitted by its stamp, which must still be in force
  bool pin_parameters = false;          // stored parameters must be as in the image
  bool pin_window = false;              // window start and marker must be as in the image
  bool pin_resets = false;              // operator resets must be as in the image
  bool open_window = false;             // window start and marker become the write's instant
  bool apply_window = false;            // the marker becomes the window start
  bool forget_window = false;           // an ended window stays ended under a new length
  bool set_grant = false;               // the grant becomes one of the current shard count
  bool clear_top_up = false;
  const LimitState* stamp = nullptr;  // parameters to store
};

enum class Form : std::uint8_t {
  kFast,    ///< Debits what is there; moves no refill stamp.
  kLocked,  ///< Brings every limit up to the instant under the refill stamp as a lock.
};

/// What becomes of `valid_until`.
enum class Validity : std::uint8_t { kKeep, kSet, kRemove };

struct Plan {
  Form form = Form::kFast;
  TimePoint now;
  std::vector<LimitWrite> limits;
  std::vector<Seed> seeds;

  /// Fast form: the stored refill stamp must not be older (decision 15).
  std::optional<TimePoint> refilled_since;
  /// A quota credit: the stored refill stamp must lie before this edge.
  std::optional<TimePoint> refilled_before;
  /// Fast form: `valid_until` must be as in the image instead of after `now` (decision 21), or
  /// pinned because a credit depends on it.
  bool pin_validity = false;

  // Locked form.
  TimePoint refilled_at;
  Validity validity = Validity::kKeep;
  TimePoint valid_until;
  /// Per limit of the state, after the write.
  std::vector<std::int64_t> remainders;

  /// Whether a window is opened; such a write goes after the other bucket's in a cascade.
  bool opens_window() const;
  /// Back to a plan of nothing; the lists keep their memory.
  void clear();
};

/// What a quota that is in use keeps when its capacity changes (decision 27).
enum class QuotaCarry : std::uint8_t {
  kUse,      ///< What was used stays used: the balance moves by the difference, both ways.
  kBalance,  ///< The balance, cut to a lower ceiling; a raise waits for the next reset or window.
             ///< So on a table of the other package's, which does likewise: with one of the two
             ///< rules for raising and the other for lowering, a change there and back would mint
             ///< or drain.
};

struct PlanOptions {
  /// See `store::Capabilities`.
  int burst_tolerance_divisor = 0;
  /// A fan-out leaves the item to be looked at again at its next touch.
  bool reevaluate = false;
  /// Plan the fast form although the image's refill stamp is too old: another writer is known to
  /// move it, and the write's condition tells (decision 30 a).
  bool assume_recent = false;
  QuotaCarry quota_carry = QuotaCarry::kUse;
};

/// Makes `plan` the fast form. False, with `plan` of no meaning, where that may not be used: a
/// debit of a drip longer than the tolerance after the last refill, a boundary passed, a window to
/// open, a balance that only a refill makes sufficient. `worths` are those of `state` at `now`, in
/// order.
[[nodiscard]] bool plan_fast(const BucketState& state, std::span<const Worth> worths,
                             std::span<const Demand> demands, const PlanOptions& options,
                             TimePoint now, Plan& plan);

/// Makes `plan` the locked form. Always possible; whether the demands fit is the caller's to have
/// checked.
void plan_locked(const BucketState& state, std::span<const Worth> worths,
                 std::span<const Demand> demands, std::span<const Stamp> stamps,
                 std::span<const Seed> seeds, const PlanOptions& options, TimePoint now,
                 Plan& plan);

/// A balance carried over a change of parameters at `at` (decision 27). `worth` is the stored
/// limit's, `configured` the new parameters. A quota whose period begins with the write always gets
/// what is configured then.
std::int64_t carried_balance(const LimitState& stored, const Worth& worth,
                             const LimitState& configured, std::int64_t shard_count, TimePoint at,
                             QuotaCarry carry);

/// How old the refill stamp may be for a fast debit of a drip: the tolerance's part of the shortest
/// time to full. Absent when the bucket has no drip that fills (then age does not matter).
std::optional<Millis> burst_tolerance(const BucketState& state, const PlanOptions& options,
                                      TimePoint now);

}  // namespace stint::bucket

#endif  // STINT_BUCKET_PLAN_H_
