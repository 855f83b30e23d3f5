// The store's own record and its namespaces (decisions 1, 24, 26; rules 1.5).
#ifndef STINT_OPS_NAMESPACES_H_
#define STINT_OPS_NAMESPACES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "ops/op.h"
#include "schema/records.h"
#include "stint/limit.h"
#include "stint/result.h"

namespace stint::ops {

/// Reads the store's record, and writes it and the version record where there is none; where only
/// the version record of a shared store is missing, that one.
/// `demanded`: the reset rule that the caller insists on. `shared`: other programs may use the
/// store, so its version record counts, too; a table that has only that one is of the other
/// package. Errors: `kVersionMismatch` for a newer format, another reset rule, and as
/// `check_version`; without `create`, `kNotFound` without a record, and `kCorrupt` when only one of
/// the two is there that cannot be alone. One round trip to what exists.
Op<Result<schema::StoreRecord>> open_store(schema::StoreRecord fresh,
                                           std::optional<ResetRule> demanded, bool create,
                                           bool shared, TimePoint now);

struct RegisteredNamespace {
  schema::NamespaceRecord record;
  bool is_new = false;
};

/// A namespace, registered if it is new. One request when it exists, two when it is new.
/// Errors: `kInvalidArgument` for a name that may not be; `kConflict` when others are at it.
Op<Result<RegisteredNamespace>> register_namespace(std::string name, Random& random, TimePoint now);

/// What becomes of a namespace that is looked up and not there.
enum class IfUnregistered { kRegister, kFail };

/// The id of a namespace; absent where there is none and it may not be registered. Requests and
/// errors as `register_namespace`, or one request.
Op<Result<std::optional<std::string>>> resolve_namespace(std::string name,
                                                         IfUnregistered if_unregistered,
                                                         Random& random, TimePoint now);

/// `kNotFound`: there is none of that name.
Error no_namespace(std::string_view name);

/// Errors: `kNotFound`, also for one that was deleted; `kInvalidArgument`. One request.
Op<Result<schema::NamespaceRecord>> find_namespace(std::string name);

struct NamespaceListing {
  std::vector<schema::NamespaceRecord> records;
  std::vector<std::string> unreadable;  // why records are left out
};
/// All that there are or were and are not purged, in order of name. A query for each hundred.
Op<Result<NamespaceListing>> list_namespaces();

}  // namespace stint::ops

#endif  // STINT_OPS_NAMESPACES_H_
