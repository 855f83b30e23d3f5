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

/// What else `set_limits` changes. What is absent keeps what is stored.
struct SetLimitsOptions {
  /// Reports what would change, changes nothing.
  bool dry_run = false;
  /// Only at the system level.
  std::optional<OnUnavailable> on_unavailable = std::nullopt;
  /// Not at the system level.
  std::optional<AccessPolicy> access = std::nullopt;
  /// Not at the system level. Whether debits reach the parent, over what the entity itself says.
  std::optional<bool> cascade = std::nullopt;
};

/// What a change of limits did, or would do.
struct LimitsChange {
  ScopeConfig before;
  ScopeConfig after;
  /// Buckets looked at by the call and now as configured; others follow when next refilled. With
  /// `dry_run` how many it would look at.
  std::int64_t buckets = 0;
};

/// The limits that apply somewhere, and the one level that they all come from.
struct ResolvedLimits {
  std::vector<Limit> limits;
  ConfigLevel level = ConfigLevel::kNone;
};

}  // namespace stint

#endif  // STINT_CONFIG_H_
