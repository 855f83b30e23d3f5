// Events that a limiter reports while it works.
#ifndef STINT_OBSERVER_H_
#define STINT_OBSERVER_H_

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include "stint/amount.h"
#include "stint/export.h"
#include "stint/result.h"

namespace stint {

/// What was asked of a store, failed requests included. Units are the capacity units of DynamoDB,
/// reckoned alike on every store: a write counts one for each 1,024 bytes begun, a read one for
/// each 4,096 bytes begun or half of that if eventually consistent, an item written in a
/// transaction twice.
struct RequestStats {
  std::uint64_t requests = 0;
  double read_units = 0;
  /// Of the table itself.
  double write_units = 0;
  /// Of its secondary indexes, which are charged beside the table.
  double index_write_units = 0;
};

/// What happened. New kinds may come with any version: have a default where you switch over them.
/// docs/guide/observe.md says of each how often a call sends it and which fields it fills in.
enum class EventKind : std::uint8_t {
  // How a call ended. Every `acquire` sends exactly one of these five.
  kAdmitted,    ///< A request was admitted and counted.
  kRejected,    ///< A request was rejected; `limit` is the first limit that refused.
  kDisabled,    ///< A request was refused by policy.
  kDegraded,    ///< The store failed, as `error` says, and the request was admitted uncounted.
  kCallFailed,  ///< A call of any kind answered `error`.

  kLimitExceeded,  ///< `limit` refused a request; follows `kRejected` for each such limit.

  kStoreAsked,  ///< Requests were handed to the store and answered; `store` says what they cost.
  kStoreError,  ///< The store answered one request with a failure; `error` says which.
  kConflict,    ///< A write, or a transaction, lost against another writer, or did not arrive.
  kRetry,       ///< A call plans its write anew, because it did not land.
  kWaited,      ///< Others had the bucket's turn; `duration` says how long the call waited for it.

  kViewHit,     ///< The bucket was remembered.
  kViewMiss,    ///< It was not.
  kConfigHit,   ///< `count` levels of the configuration were remembered, apart from any bucket.
  kConfigMiss,  ///< `count` levels of the configuration were read from the store.

  kSettled,       ///< The corrections of a lease were written.
  kRolledBack,    ///< What a lease took was given back.
  kGivenBack,     ///< A rejected or failed request gave back what it had taken of another bucket.
  kLeaseTrouble,  ///< A lease ended by its destructor could not be settled or rolled back,
                  ///< or a failed or rejected acquire could not give back what it had taken.

  kClockBehind,       ///< The bucket was refilled more than 60 s ahead of this clock.
  kLimitsDisagree,    ///< Two callers keep passing different limits for one bucket.
  kFanoutIncomplete,  ///< Limits were stored, but not every bucket could be stamped.
};

/// "admitted", "rejected", ...; "unknown" for a kind of a later version.
STINT_EXPORT std::string_view to_string(EventKind kind);

/// One event. A field that the kind does not fill in has the value shown here. Views and pointers
/// are valid during the call only. Fields may be added at the end.
struct Event {
  EventKind kind;
  /// With `kRejected`: nothing was asked of the store; what is remembered proved the rejection.
  bool from_memory = false;
  std::string_view entity = {};
  std::string_view resource = {};
  std::string_view limit = {};
  /// How many of what the kind names.
  std::uint64_t count = 1;
  /// With `kLimitExceeded`: what was requested of the limit.
  MilliTokens requested = {};
  const Error* error = nullptr;
  const RequestStats* store = nullptr;
  /// Of a wait, or of the store's work if `Observer::times_store`.
  std::chrono::nanoseconds duration{0};
};

/// Receives events on the thread of the call they belong to, outside of all locks but those of the
/// bucket's queue: be quick, do not call back into the limiter, do not throw. Must be thread-safe.
/// An observer serves any number of limiters and must outlive them and their leases.
class STINT_EXPORT Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_event(const Event& event) noexcept = 0;
  /// Whether `kStoreAsked` is to say how long the store took. That costs two readings of the steady
  /// clock for each event, which is much beside a decision in memory and nothing beside a disk or a
  /// network. Asked once, when a limiter is made.
  virtual bool times_store() const noexcept { return false; }
};

/// Passes every event on to several observers, in order. They must outlive it.
class STINT_EXPORT MultiObserver final : public Observer {
 public:
  explicit MultiObserver(std::vector<Observer*> observers);
  void on_event(const Event& event) noexcept override;
  /// Whether any of them wants it.
  bool times_store() const noexcept override;

 private:
  std::vector<Observer*> observers_;
};

}  // namespace stint

#endif  // STINT_OBSERVER_H_
