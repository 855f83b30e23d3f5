// Which programs may use a table together (decision 1, rules 5.11).
#ifndef STINT_OPS_VERSION_H_
#define STINT_OPS_VERSION_H_

#include <optional>
#include <string>
#include <vector>

#include "base/component.h"
#include "ops/context.h"
#include "ops/op.h"
#include "schema/records.h"
#include "stint/config.h"
#include "stint/limit.h"
#include "stint/result.h"

namespace stint::ops {

/// Why a program may not use a table, or not all of it, and what helps: each a clause of a
/// sentence.
struct VersionTrouble {
  std::string finding;
  std::string remedy;
};

/// What keeps this program from a table with that record altogether; nothing: it may use it. See
/// `check_version`.
STINT_COMPONENT std::optional<VersionTrouble> find_version_trouble(
    const schema::VersionRecord& record);

/// What keeps the table's features from being used because nobody knows the version of its stream
/// consumer; nothing where it is known.
STINT_COMPONENT std::optional<VersionTrouble> find_unknown_consumer(
    const schema::VersionRecord& record);

/// Whether this program, which acts as version 0.17.0 of the other package, may use a table with
/// that record. Errors: `kVersionMismatch` when the table demands a newer client, when its schema
/// is of another generation, or when its stream consumer is older than that version (one whose
/// version is not known passes).
STINT_COMPONENT Status check_version(const schema::VersionRecord& record);

/// The newest of the features that a change of limits uses; nothing: none.
std::optional<Feature> feature_of(const std::vector<Limit>& limits,
                                  const SetLimitsOptions& options = {});

/// Has to come before the first write that uses the feature. On a table that other programs share:
/// one consistent read, and one write when no use of the feature was known before. Elsewhere
/// nothing is asked. `dry_run`: the read alone. Errors: `kVersionMismatch`; `kConflict` when others
/// kept changing the record; those of the store.
Op<Status> use_feature(Context& cx, Feature feature, bool dry_run);

/// The same for limits that come with a call and are never configured: no write, and no read once
/// the answer was good.
Op<Status> prove_feature(Context& cx, Feature feature);

}  // namespace stint::ops

#endif  // STINT_OPS_VERSION_H_
