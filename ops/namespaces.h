// The store's own record and its namespaces (decisions 1, 24, 26; rules 1.5).
#ifndef STINT_OPS_NAMESPACES_H_
#define STINT_OPS_NAMESPACES_H_

#include <optional>
#include <string>

#include "base/random.h"
#include "ops/op.h"
#include "schema/records.h"
#include "stint/limit.h"
#include "stint/result.h"

namespace stint::ops {

/// Reads the store's record, and writes it and the version record where there is none.
/// `demanded`: the reset rule that the caller insists on. Errors: `kVersionMismatch` for a newer
/// format or another reset rule; `kNotFound` without a record when `create` is false.
Op<Result<schema::StoreRecord>> open_store(schema::StoreRecord fresh,
                                           std::optional<ResetRule> demanded, bool create,
                                           TimePoint now);

/// The id of a namespace, registered if it is new. One request when it exists.
/// Errors: `kInvalidArgument` for a name that may not be.
Op<Result<std::string>> resolve_namespace(std::string name, Random& random, TimePoint now);

}  // namespace stint::ops

#endif  // STINT_OPS_NAMESPACES_H_
