// Audit events of changes (rules 1.5, decision 31).
#ifndef STINT_OPS_AUDIT_H_
#define STINT_OPS_AUDIT_H_

#include <optional>
#include <string>
#include <string_view>

#include "ops/context.h"
#include "ops/op.h"
#include "stint/audit.h"
#include "stint/limit.h"
#include "store/value.h"

namespace stint::ops {

/// Whether changes leave events: always on a distributed store, elsewhere by option.
inline bool leaves_events(const Context& cx) {
  return cx.capabilities.shared_writers || cx.settings.audit;
}

/// Writes the event of a change that is stored, if such are left: one request, and one more when
/// the system's configuration is not cached. Errors: those of the store; their text says that the
/// change is stored nevertheless.
Op<Status> write_event(Context& cx, std::string subject, std::optional<std::string> resource,
                       std::string_view action, store::Value::Map details);

/// The events of an entity, a resource or the system that have not expired, oldest first. One
/// query. Errors: `kInvalidArgument`, also for a scope of both entity and resource.
Op<Result<AuditPage>> list_events(Context& cx, const Scope& scope,
                                  const std::optional<std::string>& from, int page_size);

}  // namespace stint::ops

#endif  // STINT_OPS_AUDIT_H_
