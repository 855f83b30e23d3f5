// The answer to a request: a decision, the status of every limit involved, and the lease.
#ifndef STINT_DECISION_H_
#define STINT_DECISION_H_

#include <cassert>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stint/amount.h"
#include "stint/export.h"
#include "stint/limit.h"
#include "stint/result.h"
#include "stint/time.h"

namespace stint {

/// Where a session quota's window stands.
enum class WindowState {
  kNone,        ///< The limit has no window of its own (rate, calendar).
  kNotStarted,  ///< The next debit opens a window; the full allowance waits.
  kRunning,     ///< The window ends at `resets_at`.
};

/// One limit as one call saw it. All amounts are what one write shard holds and may hold, with the
/// level schedule in force and top-ups included.
struct LimitStatus {
  std::string entity;
  std::string resource;
  std::string name;
  LimitKind kind = LimitKind::kRate;
  bool soft = false;
  /// Most that the limit can hold now.
  MilliTokens capacity;
  /// What is left after the call; below zero while in debt.
  MilliTokens remaining;
  MilliTokens requested;
  /// The rate in force; zero amount for quotas.
  MilliTokens refill_amount;
  Millis refill_period{1000};
  /// This limit refused the request.
  bool exceeded = false;
  /// No state of this limit could ever grant the request: do not retry.
  bool never_fits = false;
  /// How long until the request fits if nobody competes; zero when it fits now, absent when it
  /// never fits, when no reset is in reach, and for more than one of several shards can hold.
  std::optional<Millis> retry_after;
  /// When a quota is next restored whole. Absent for rates, for windows not started, for requests
  /// that never fit, and where no edge is in reach.
  std::optional<TimePoint> resets_at;
  WindowState window = WindowState::kNone;
  /// A soft limit whose balance is below zero.
  bool overdrawn() const { return soft && remaining.count() < 0; }
};

/// Why a request was refused.
struct Rejection {
  /// Every declared limit of the entity and, with cascade, of its parent.
  std::vector<LimitStatus> limits;
  /// The longest wait among the limits that refused; absent when one of them has none.
  std::optional<Millis> retry_after;
  bool never_fits = false;
};

namespace internal {
class LeaseState;
struct STINT_EXPORT LeaseStateDeleter {
  void operator()(LeaseState* state) const noexcept;
};
using LeaseStatePtr = std::unique_ptr<LeaseState, LeaseStateDeleter>;
}  // namespace internal

class Lease;
namespace internal {
LeaseStatePtr take_state(Lease lease);
}

/// What was taken, and the means to correct it. Movable, used by one thread at a time, and to be
/// ended before its `Limiter` is destroyed.
///
/// The debit was written when the request was admitted. Corrections are collected and written once
/// by `settle()`: one write per bucket, two for a credit that no longer fits.
/// Destroyed unsettled it settles itself, or rolls back while an exception unwinds; trouble
/// is then reported to the limiter's observer.
class STINT_EXPORT Lease {
 public:
  Lease();
  /// For the library's own use; `LeaseState` is not public.
  explicit Lease(internal::LeaseStatePtr state);
  Lease(Lease&&) noexcept;
  Lease& operator=(Lease&&) noexcept;
  ~Lease();

  /// Adds `delta` to what the lease took of a declared limit; negative gives back. May leave debt.
  /// Errors: `kInvalidArgument` for an undeclared limit, for giving back more than was taken, and
  /// after the lease has ended.
  Status adjust(std::string_view limit, Amount delta);
  /// Gives back `amount` of what was taken. Same errors as `adjust`.
  Status release(std::string_view limit, Amount amount);
  /// Takes `amount` more if the balance this lease last saw allows it. Returns whether it did.
  Result<bool> consume(std::string_view limit, Amount amount);

  /// Writes the collected corrections, bucket by bucket, and ends the lease. Errors: those of the
  /// store, `kConflict`; `kInvalidArgument` when the lease has ended. The debits and the
  /// corrections that did land stay counted. After an error the lease stays open as long as there
  /// is something to try again: then the call may be repeated, and the destructor does. What
  /// landed, and what may have landed (`kOutcomeUnknown`), is never written twice.
  Status settle();
  /// Gives back everything that was taken, drops collected corrections and ends the lease, even if
  /// it fails. What belongs to a period that is over reaches no balance. Errors as `settle`.
  Status roll_back();

  /// What the lease holds of a limit, collected corrections included; zero if undeclared, and
  /// after a `roll_back` that succeeded.
  MilliTokens consumed(std::string_view limit) const;
  /// The store failed and `OnUnavailable::kAllow` let the request pass: nothing is counted.
  bool degraded() const;
  /// Access is bypassed: consumption is counted, balances do not move.
  bool bypassed() const;
  /// False once settled or rolled back, and for a default-constructed lease.
  bool open() const;

 private:
  friend internal::LeaseStatePtr internal::take_state(Lease lease);

  internal::LeaseStatePtr state_;
  int exceptions_at_start_ = 0;
};

enum class Outcome {
  kAdmitted,
  kRejected,  ///< At least one limit is short.
  kDisabled,  ///< Access is refused by policy.
};

/// The result of an acquire. A value, never an error: true means go ahead.
class STINT_EXPORT Decision {
 public:
  Decision(Outcome outcome, std::vector<LimitStatus> limits)
      : outcome_(outcome), limits_(std::move(limits)) {}
  static Decision admitted(std::vector<LimitStatus> limits, Lease lease);
  static Decision rejected(Rejection rejection);
  static Decision disabled(std::string entity, std::string resource, std::string level);

  explicit operator bool() const { return outcome_ == Outcome::kAdmitted; }
  Outcome outcome() const { return outcome_; }
  /// Status of every declared limit of every bucket involved, the entity's own first.
  const std::vector<LimitStatus>& limits() const {
    return outcome_ == Outcome::kRejected && refusal_ ? refusal_->rejection.limits : limits_;
  }
  /// Precondition: admitted. Ownership stays with the decision; move it out to keep it longer.
  Lease& lease() { return lease_; }
  /// Precondition: rejected.
  const Rejection& rejection() const {
    assert(outcome_ == Outcome::kRejected);
    return refusal_->rejection;
  }
  /// Precondition: disabled. Who is refused, and the level that says so.
  const std::string& disabled_entity() const {
    assert(outcome_ == Outcome::kDisabled);
    return refusal_->entity;
  }
  const std::string& disabled_resource() const {
    assert(outcome_ == Outcome::kDisabled);
    return refusal_->resource;
  }
  const std::string& disabled_level() const {
    assert(outcome_ == Outcome::kDisabled);
    return refusal_->level;
  }
  bool degraded() const { return lease_.degraded(); }

 private:
  struct Refusal {
    Rejection rejection;   // rejected
    std::string entity;    // disabled
    std::string resource;  // disabled
    std::string level;     // disabled
  };

  Outcome outcome_;
  std::vector<LimitStatus> limits_;
  Lease lease_;
  std::unique_ptr<Refusal> refusal_;  // unless admitted
};

}  // namespace stint

#endif  // STINT_DECISION_H_
