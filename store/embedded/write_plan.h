// What a write does to the item that it finds. Shared by the embedded engines.
#ifndef STINT_STORE_EMBEDDED_WRITE_PLAN_H_
#define STINT_STORE_EMBEDDED_WRITE_PLAN_H_

#include <span>
#include <string>
#include <variant>

#include "base/component.h"
#include "store/engine.h"
#include "store/request.h"

namespace stint::store {

struct WritePlan {
  Outcome outcome = Outcome::kOk;
  /// The item afterwards, empty: none. Of no meaning unless the outcome is `kOk`.
  ImagePtr after;
  /// Whether a change of index keys is possible at all.
  bool may_move_in_indexes = false;
  Cost cost;
  std::string message;
};

/// Each evaluates the condition on `before` (empty: no such item) and computes the rest. Request
/// and keys have been validated.
STINT_COMPONENT WritePlan plan_put(const PutRequest& request, const ImagePtr& before,
                                   IndexLayout layout, bool transactional);
STINT_COMPONENT WritePlan plan_update(const UpdateRequest& request, const ImagePtr& before,
                                      IndexLayout layout, bool transactional);
STINT_COMPONENT WritePlan plan_delete(const DeleteRequest& request, const ImagePtr& before,
                                      IndexLayout layout, bool transactional);
/// A check leaves the item as it is and costs what a write of it would (rules 3.10).
STINT_COMPONENT WritePlan plan_check(const CheckRequest& request, const ImagePtr& before);
/// Any of them, as part of a transaction.
STINT_COMPONENT WritePlan plan_transact_item(const TransactItem& item, const ImagePtr& before,
                                             IndexLayout layout);

/// Whether the item can be changed by the transaction.
inline bool is_check(const TransactItem& item) {
  return std::holds_alternative<CheckRequest>(item);
}

/// Fills the reply of a transaction from its plans when any of them failed: reasons, old images,
/// the outcome of the first that failed, and the cost of having tried. Answers whether any failed.
STINT_COMPONENT bool reply_if_cancelled(std::span<const TransactItem> items,
                                        std::span<const WritePlan> plans,
                                        std::span<const ImagePtr> before, TransactReply& reply);

/// The reply to a repetition of an applied transaction: read units of the items, nothing more.
STINT_COMPONENT void reply_to_repetition(std::span<const ImagePtr> current, TransactReply& reply);

/// The key of any item of a transaction.
STINT_COMPONENT Key transact_key(const TransactItem& item);

/// The message of a false condition. Short enough to need no allocation: it is part of every
/// rejection.
inline constexpr const char* kConditionFalse = "condition false";
inline constexpr const char* kTokenReused = "the token belongs to another transaction";

}  // namespace stint::store

#endif  // STINT_STORE_EMBEDDED_WRITE_PLAN_H_
