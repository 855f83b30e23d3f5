// Acquire: take from several limits of an entity and its parent, all or none (decisions 15, 16,
// 21, 25, 30; rules W1 to W3, 5.3).
#ifndef STINT_OPS_ACQUIRE_H_
#define STINT_OPS_ACQUIRE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bucket/plan.h"
#include "ops/context.h"
#include "ops/op.h"
#include "stint/decision.h"
#include "stint/request.h"

namespace stint::ops {

/// What a lease holds of one limit on one bucket.
struct LeaseDebit {
  std::string limit;
  std::int64_t taken = 0;  // milli-tokens landed and not given back
  bucket::PeriodPin pin;   // the period it was taken in
};

/// What a lease holds of one bucket.
struct LeaseLeg {
  std::shared_ptr<const BucketNames> names;
  /// Of the lease's debits those of this bucket.
  std::size_t first_debit = 0;
  std::size_t debit_count = 0;
  /// The collected corrections were written here, or may have been: they are not sent again.
  bool corrected = false;
  /// The call's own limits, for a settle that has to create the bucket again.
  std::shared_ptr<const schema::ConfigRecord> call_limits;
};

/// A lease as data: where its debits landed, and the corrections collected since.
struct LeaseRecord {
  std::vector<LeaseLeg> legs;
  std::vector<LeaseDebit> debits;  // of all legs, in their order
  struct Correction {
    std::string limit;
    std::int64_t delta = 0;  // milli-tokens; negative gives back
  };
  std::vector<Correction> corrections;
  /// What the balance was right after the acquire, the least over the buckets, per declared limit;
  /// `Lease::consume` goes by it.
  struct Seen {
    std::string limit;
    std::int64_t requested = 0;
    std::int64_t remaining = 0;
  };
  std::vector<Seen> declared;
  bool bypassed = false;

  std::span<LeaseDebit> debits_of(const LeaseLeg& leg) {
    return std::span<LeaseDebit>(debits).subspan(leg.first_debit, leg.debit_count);
  }
  /// Back to a lease of nothing; the lists keep their memory.
  void clear();
};

struct Acquired {
  Outcome outcome = Outcome::kAdmitted;
  std::vector<LimitStatus> limits;
  /// Who is refused, and which level says so.
  struct Disabled {
    std::string entity;
    std::string level;
  };
  std::optional<Disabled> disabled;
  /// A rejection for which nothing was asked of the store.
  bool from_memory = false;
};

/// Checks everything about a request that needs no store, but the names.
Status validate_acquire(const AcquireRequest& request);
/// Checks the names in a request. `acquire` does so itself, before it asks anything of the store.
Status validate_names(const AcquireRequest& request);
Status validate_names(const std::vector<Consume>& amounts);

/// Checks a list of amounts but for the names: range, none named twice. `field` names the list in
/// errors.
Status validate_amounts(std::string_view field, const std::vector<Consume>& amounts);

/// Fills `lease` when the request is admitted; it must be empty. Errors: those of the store;
/// `kInvalidArgument` for a limit that is configured nowhere or when nothing is; `kConflict` after
/// five lost attempts; `kCorrupt`. Precondition: valid request. Requests: see decision 19.
Op<Result<Acquired>> acquire(Context& cx, const AcquireRequest& request, LeaseRecord& lease);

}  // namespace stint::ops

#endif  // STINT_OPS_ACQUIRE_H_
