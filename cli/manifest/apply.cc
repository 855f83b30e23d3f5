#include "cli/manifest/apply.h"

#include "stint/limit.h"

namespace stint::cli {
namespace {

bool says_anything(const ScopeConfig& config) {
  return !config.limits.empty() || config.access || config.cascade || config.on_unavailable;
}

}  // namespace

Status apply_manifest(Limiter& limiter, const Manifest& manifest) {
  for (const ManifestScope& scope : manifest.scopes) {
    if (!says_anything(scope.config)) continue;
    SetLimitsOptions options;
    options.on_unavailable = scope.config.on_unavailable;
    options.access = scope.config.access;
    options.cascade = scope.config.cascade;
    Result<LimitsChange> change =
        limiter.set_limits(scope.scope, LimitList(scope.config.limits), options);
    if (!change) return change.error();
  }
  return {};
}

}  // namespace stint::cli
