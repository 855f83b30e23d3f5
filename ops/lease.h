// Correcting and giving back what a lease took (decisions 3, 4, 6; rules W5).
#ifndef STINT_OPS_LEASE_H_
#define STINT_OPS_LEASE_H_

#include "ops/acquire.h"
#include "ops/context.h"
#include "ops/op.h"

namespace stint::ops {

/// Writes the collected corrections: further debits to the period current now, even into debt;
/// credits to the period they were taken in. One write per bucket as a rule. After a failure it may
/// be called again: buckets that were corrected, or may have been, are left alone.
/// Errors: those of the store; `kOutcomeUnknown` for a credit that may not have landed (it is
/// never repeated).
Op<Status> settle(Context& cx, LeaseRecord& lease);

/// Gives back everything that the lease took. Same errors.
Op<Status> roll_back(Context& cx, LeaseRecord& lease);

}  // namespace stint::ops

#endif  // STINT_OPS_LEASE_H_
