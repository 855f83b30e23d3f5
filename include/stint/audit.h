// Audit events: who changed which entity or limits, and when.
#ifndef STINT_AUDIT_H_
#define STINT_AUDIT_H_

#include <optional>
#include <string>
#include <vector>

#include "stint/time.h"

namespace stint {

/// One change. Events come after the change that they tell of, in a write of their own.
struct AuditEvent {
  std::string id;  ///< Sorts by time.
  /// The entity's id; "$RESOURCE:" and its name for a resource, "$SYSTEM" for the system.
  std::string subject;
  /// "entity_created", "entity_deleted", "entity_parent_changed", "limits_set", "limits_deleted",
  /// "bucket_reset", "bucket_topped_up". Those of other programs are shown as they are.
  std::string action;
  TimePoint at;  ///< To the second.
  /// Whom the limiter was told to act for; absent: nobody.
  std::optional<std::string> principal;
  /// The resource that it is about; "_default_": all of an entity's.
  std::optional<std::string> resource;
  std::string details;  ///< A JSON object; its members depend on the action.
  std::optional<TimePoint> expires_at;
};

/// One page of a listing. `next` continues it; absent on the last page. It is opaque, and does not
/// promise that the next page holds anything.
struct AuditPage {
  std::vector<AuditEvent> events;
  /// Why items of the page are left out: one sentence for each that cannot be understood.
  std::vector<std::string> unreadable;
  std::optional<std::string> next;
};

}  // namespace stint

#endif  // STINT_AUDIT_H_
