// Events that a limiter reports while it works.
#ifndef STINT_OBSERVER_H_
#define STINT_OBSERVER_H_

#include <cstdint>
#include <string_view>

#include "stint/export.h"
#include "stint/result.h"

namespace stint {

enum class EventKind {
  kAdmitted,          ///< A request was admitted.
  kRejected,          ///< A request was rejected; `limit` is the first limit that refused.
  kDisabled,          ///< A request was refused by policy.
  kDegraded,          ///< The store failed and the request was admitted uncounted.
  kStoreError,        ///< A call failed; `error` says how.
  kConflict,          ///< A conditional write lost against another writer and is planned again.
  kLeaseTrouble,      ///< A lease ended by its destructor could not be settled or rolled back,
                      ///< or a failed or rejected acquire could not give back what it had taken.
  kClockBehind,       ///< The bucket was refilled more than 60 s ahead of this clock.
  kLimitsDisagree,    ///< Two callers keep passing different limits for one bucket.
  kFanoutIncomplete,  ///< Limits were stored, but not every bucket could be stamped.
};

/// "admitted", "rejected", ...
STINT_EXPORT std::string_view to_string(EventKind kind);

/// One event. The views are valid during the call only.
struct Event {
  EventKind kind;
  std::string_view entity;
  std::string_view resource;
  std::string_view limit;
  const Error* error = nullptr;
};

/// Receives events on the thread of the call they belong to, outside of all locks but those of the
/// bucket's queue: be quick, do not call back into the limiter, do not throw. Must be thread-safe.
class STINT_EXPORT Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_event(const Event& event) noexcept = 0;
};

}  // namespace stint

#endif  // STINT_OBSERVER_H_
