// Bringing existing buckets up to date after a change of configuration (rules W10, W11).
#ifndef STINT_OPS_FANOUT_H_
#define STINT_OPS_FANOUT_H_

#include <cstdint>

#include "ops/context.h"
#include "ops/op.h"
#include "stint/limit.h"

namespace stint::ops {

/// Stamps parameters and policy on every bucket of the scope that differs from the configuration
/// in force for it; restores no balance (decision 27). Two passes, so that buckets created
/// meanwhile are caught. Returns how many were, or with `dry_run` would be, looked at.
/// Errors, after all buckets were tried: that of the first bucket which failed, or `kConflict` when
/// other writers won every attempt. May be repeated.
Op<Result<std::int64_t>> stamp_buckets(Context& cx, const Scope& scope, bool dry_run);

}  // namespace stint::ops

#endif  // STINT_OPS_FANOUT_H_
