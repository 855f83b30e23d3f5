// The service's JSON protocol: requests of the store as bodies, replies of the service as replies
// of the store. Pure functions: no connection, no clock.
#ifndef STINT_STORE_DYNAMODB_WIRE_H_
#define STINT_STORE_DYNAMODB_WIRE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stint/result.h"
#include "store/engine.h"
#include "store/request.h"

namespace stint::store::dynamodb {

/// A request as it goes over the wire.
struct WireRequest {
  /// "GetItem", "UpdateItem", ...: the last part of the header x-amz-target.
  std::string_view operation;
  std::string body;
  /// Whether the service may change anything because of it.
  bool writes = false;
};

/// Whether a query or scan may go on at `start`, which is then the position of an earlier reply. To
/// be asked before `write_request`, since positions come from callers.
bool is_position(std::string_view start);

/// The body of a call's request. Names stand behind placeholders by position; consumed capacity is
/// asked for of table and indexes, the old item where a condition may fail, the new one of updates.
/// `unprocessed`: of a batch read, only the keys at these places (all when empty).
///
/// A query of GSI3 or GSI4, and of GSI1 or GSI2 where the layout keeps keys only, answers keys: the
/// engine fetches whole items where the store's rules promise them.
///
/// Preconditions: valid (`store::validate`); a start is a position, and the service refuses
/// everything else. Where there is no item, the service does not make one for an update that only
/// removes, nor for one without actions in a transaction; engines of this process do.
WireRequest write_request(const RequestRef& request, std::string_view table,
                          const std::vector<std::size_t>& unprocessed = {});

/// What the service said instead of a result.
enum class ServiceTrouble : std::uint8_t {
  kConditionFailed,  ///< Nothing was applied; `old_item` where it exists.
  kTransactionConflict,
  kTransactionCancelled,  ///< `reasons`, one a member.
  kTransactionInProgress,
  kTokenMismatch,  ///< The token was used for another transaction.
  kThrottledByTable,
  kThrottledByPartition,
  kThrottledByAccount,  ///< Too many requests of the account, or of control operations.
  kValidation,
  kAccessDenied,
  kExpiredCredentials,
  kUnknownCredentials,  ///< Key id or signature not known to the service, its time apart.
  kClockSkewed,  ///< The signature's time is off; the reply's date header says the right one.
  kNoSuchTable,
  kNoSuchIndex,    ///< The table lacks a secondary index, or fills it at present.
  kTableBusy,      ///< Being created, changed or deleted.
  kTooLarge,       ///< An item, an item collection or a request beyond the service's bounds.
  kUnavailable,    ///< The service's own word for it: nothing was done.
  kServerFault,    ///< 500 and the like: of a write nobody knows whether it was applied.
  kNotTheService,  ///< A reply that the service cannot have sent: a page of a proxy, a redirect.
  kOther,
};

constexpr bool is_throttling(ServiceTrouble trouble) {
  return trouble == ServiceTrouble::kThrottledByTable ||
         trouble == ServiceTrouble::kThrottledByPartition ||
         trouble == ServiceTrouble::kThrottledByAccount;
}

struct ServiceError {
  ServiceTrouble trouble = ServiceTrouble::kOther;
  int status = 0;
  /// The service's own name ("ProvisionedThroughputExceededException"); empty if it gave none.
  std::string code;
  std::string message;
  ImagePtr old_item;
  struct Member {
    /// Nothing: this member would have succeeded.
    std::optional<ServiceTrouble> trouble;
    std::string message;
    ImagePtr old_item;
  };
  std::vector<Member> reasons;
};

/// Reads the body of a reply with a status other than 200.
ServiceError read_error(int status, std::string_view body);

/// Reads the body of a reply with status 200 into `reply`, which is of the type that belongs to the
/// request. For a batch read, `asked` are the places that were asked for (all when empty): images
/// are filled in at theirs, and `unprocessed` afterwards are the places to ask for again. Consumed
/// capacity is added to the cost that `reply` has already: that of the table and what is read of
/// indexes, and what is written to indexes.
/// Errors: `kCorrupt`, saying what is wrong: not JSON, too deep, a member of another type, a number
/// that is none. Unknown members are ignored. Nothing in `reply` counts after an error.
Status read_reply(const RequestRef& request, std::string_view body, Reply& reply,
                  const std::vector<std::size_t>& asked = {});

/// The checksum that the header x-amz-crc32 is compared with.
std::uint32_t crc32(std::string_view body);

/// Longest reply that is read at all.
inline constexpr std::size_t kMaxReplyBytes = std::size_t{24} << 20;

}  // namespace stint::store::dynamodb

#endif  // STINT_STORE_DYNAMODB_WIRE_H_
