// What is configured at one scope, and changes of it.
#ifndef STINT_CONFIG_H_
#define STINT_CONFIG_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "stint/limit.h"

namespace stint {

/// What one scope says. Absent fields inherit.
struct ScopeConfig {
  std::vector<Limit> limits;
  std::optional<AccessPolicy> access;
  std::optional<bool> cascade;
  /// Only at the system level.
  std::optional<OnUnavailable> on_unavailable;
};

struct SetLimitsOptions {
  /// Reports what would change, changes nothing.
  bool dry_run = false;
  /// Only at the system level; absent removes a stored one.
  std::optional<OnUnavailable> on_unavailable = std::nullopt;
  /// Not at the system level. Absent keeps what is stored.
  std::optional<AccessPolicy> access = std::nullopt;
  std::optional<bool> cascade = std::nullopt;
};

/// What a change of limits did, or would do.
struct LimitsChange {
  ScopeConfig before;
  ScopeConfig after;
  /// Buckets brought up to date at once (entity levels); others follow when next refilled.
  std::int64_t buckets = 0;
};

struct ResolvedLimits {
  std::vector<Limit> limits;
  ConfigLevel level = ConfigLevel::kNone;
};

}  // namespace stint

#endif  // STINT_CONFIG_H_
