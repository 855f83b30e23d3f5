// What audit events say about what was done (rules 1.5): the same for all programs of a table.
#ifndef STINT_SCHEMA_AUDIT_DETAILS_H_
#define STINT_SCHEMA_AUDIT_DETAILS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/entity_item.h"
#include "stint/config.h"
#include "stint/limit.h"
#include "store/value.h"

namespace stint::schema {

inline constexpr std::string_view kEntityCreated = "entity_created";
inline constexpr std::string_view kEntityDeleted = "entity_deleted";
inline constexpr std::string_view kLimitsSet = "limits_set";
inline constexpr std::string_view kLimitsDeleted = "limits_deleted";

/// Whom an event about a scope is filed under: its entity, "$RESOURCE:{name}" or "$SYSTEM".
std::string audit_subject(const Scope& scope);
/// What an event about a scope names as its resource; "_default_" stands for all of an entity's.
std::optional<std::string> audit_resource(const Scope& scope);

store::Value::Map entity_created_details(const EntityRecord& entity);
/// `complete`: false when the deletion stopped half-way.
store::Value::Map entity_deleted_details(std::int64_t records_deleted, bool complete);

/// What one call set. Absent: it said nothing of that.
struct LimitsSet {
  std::optional<std::vector<Limit>> limits;
  /// Of the system, as it is after the call.
  std::optional<OnUnavailable> on_unavailable;
  std::optional<AccessPolicy> access;
  std::optional<bool> cascade;
  /// Shown beside a policy only.
  std::int64_t buckets_stamped = 0;
};
store::Value::Map limits_set_details(const Scope& scope, const LimitsSet& set);
/// `before`: what the scope held. Only of the system's limits is anything told.
store::Value::Map limits_deleted_details(const Scope& scope, const ScopeConfig& before);

}  // namespace stint::schema

#endif  // STINT_SCHEMA_AUDIT_DETAILS_H_
