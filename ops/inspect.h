// Looking without taking: availability and explanations.
#ifndef STINT_OPS_INSPECT_H_
#define STINT_OPS_INSPECT_H_

#include <string_view>
#include <vector>

#include "ops/context.h"
#include "ops/op.h"
#include "stint/request.h"

namespace stint::ops {

/// Status of every limit that applies, and when `need` would fit. Of a bucket in several shards the
/// sums over those that exist; the need has to fit on one. Reads only; one request with cached
/// configuration, one more for the other shards. Errors: `kInvalidArgument` for a needed limit that
/// is configured nowhere.
Op<Result<Availability>> available(Context& cx, std::string_view entity, std::string_view resource,
                                   const std::vector<Consume>& need);

/// Everything that decides about the entity and resource; of a bucket in several shards the first.
/// Reads only.
Op<Result<Explanation>> explain(Context& cx, std::string_view entity, std::string_view resource);

}  // namespace stint::ops

#endif  // STINT_OPS_INSPECT_H_
