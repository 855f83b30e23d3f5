// Acquire: take from several limits of an entity and its parent, all or none (decisions 15, 16,
// 21, 25, 30; rules W1 to W3, 5.3).
#ifndef STINT_OPS_ACQUIRE_H_
#define STINT_OPS_ACQUIRE_H_

#include <cstdint>
#include <memory>
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
  std::vector<LeaseDebit> debits;
  /// The collected corrections were written here, or may have been: they are not sent again.
  bool corrected = false;
  /// The call's own limits, for a settle that has to create the bucket again.
  std::shared_ptr<const schema::ConfigRecord> call_limits;
};

/// A lease as data: where its debits landed, and the corrections collected since.
struct LeaseRecord {
  std::vector<LeaseLeg> legs;
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
};

struct Acquired {
  Outcome outcome = Outcome::kAdmitted;
  std::vector<LimitStatus> limits;
  LeaseRecord lease;            // admitted
  std::string disabled_entity;  // disabled
  std::string disabled_level;
};

/// Checks everything about a request that needs no store.
Status validate_acquire(const AcquireRequest& request);

/// Checks a list of amounts: names, range, no name twice. `field` names the list in errors.
Status validate_amounts(std::string_view field, const std::vector<Consume>& amounts);

/// Errors: those of the store; `kInvalidArgument` for a limit that is configured nowhere or when
/// nothing is; `kConflict` after five lost attempts; `kCorrupt`. Precondition: valid request.
/// Requests: see decision 19.
Op<Result<Acquired>> acquire(Context& cx, const AcquireRequest& request);

}  // namespace stint::ops

#endif  // STINT_OPS_ACQUIRE_H_
