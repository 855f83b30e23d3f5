// The namespaces of a store, which separate tenants. Limiters register theirs by themselves; these
// functions are for looking at them and for registering them beforehand.
#ifndef STINT_NAMESPACES_H_
#define STINT_NAMESPACES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stint/export.h"
#include "stint/result.h"
#include "stint/store.h"
#include "stint/time.h"

namespace stint {

enum class NamespaceStatus {
  kActive,
  kDeleted,  ///< By another program, and recoverable there: its items are kept.
  kPurging,  ///< By another program: its items are being removed.
};

/// "active", "deleted" or "purging".
STINT_EXPORT std::string_view to_string(NamespaceStatus status);

struct NamespaceInfo {
  std::string name;
  /// What all keys of its items begin with.
  std::string id;
  NamespaceStatus status = NamespaceStatus::kActive;
  TimePoint created_at;  ///< To the second.
  std::optional<TimePoint> deleted_at;
};

struct NamespaceList {
  /// In order of name.
  std::vector<NamespaceInfo> namespaces;
  /// Why others are left out: one sentence for each record that cannot be understood.
  std::vector<std::string> unreadable;
};

struct NamespaceRegistration {
  NamespaceInfo info;
  /// False: it was registered before, and is as it was.
  bool is_new = false;
};

/// Registers a namespace; one that exists is answered as it is, so that repetition does no harm.
/// `at`: the instant of its creation; absent: the system's clock. Thread-safe. Up to two requests.
/// Errors: `kInvalidArgument` for a name that is "_", empty, too long, or holds control characters;
/// `kConflict` when other programs are registering the same name; `kCorrupt` for a record that
/// cannot be understood; those of every store: `kUnavailable`, also after ten seconds,
/// `kThrottled`, `kAccessDenied`, and `kNotFound` for a table that is gone.
STINT_EXPORT Result<NamespaceRegistration> register_namespace(
    const Store& store, std::string_view name, std::optional<TimePoint> at = std::nullopt);

/// Errors: `kNotFound`, also for one that was deleted; `kInvalidArgument` and `kCorrupt` as above;
/// those of every store. Thread-safe. One request.
STINT_EXPORT Result<NamespaceInfo> find_namespace(const Store& store, std::string_view name);

/// All namespaces, also those that were deleted and can be recovered; several may have had one
/// name. Thread-safe. One query for each hundred. Errors: those of every store; ten seconds are for
/// all queries together.
STINT_EXPORT Result<NamespaceList> list_namespaces(const Store& store);

}  // namespace stint

#endif  // STINT_NAMESPACES_H_
