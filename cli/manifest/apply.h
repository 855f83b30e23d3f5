// From a manifest to the configuration of a store.
#ifndef STINT_CLI_MANIFEST_APPLY_H_
#define STINT_CLI_MANIFEST_APPLY_H_

#include "cli/manifest/manifest.h"
#include "stint/limiter.h"
#include "stint/result.h"

namespace stint::cli {

/// Stores every scope that says anything. Errors: those of the store.
Status apply_manifest(Limiter& limiter, const Manifest& manifest);

}  // namespace stint::cli

#endif  // STINT_CLI_MANIFEST_APPLY_H_
