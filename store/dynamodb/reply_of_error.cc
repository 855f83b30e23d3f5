#include "store/dynamodb/reply_of_error.h"

#include <cstddef>
#include <utility>
#include <variant>

#include "store/apply.h"
#include "store/reply.h"

namespace stint::store::dynamodb {
namespace {

// Of a request that was not applied.
Outcome outcome_of(ServiceTrouble trouble) {
  switch (trouble) {
    case ServiceTrouble::kConditionFailed: return Outcome::kConditionFailed;
    case ServiceTrouble::kTransactionConflict:
    case ServiceTrouble::kTransactionCancelled: return Outcome::kConflict;
    case ServiceTrouble::kTransactionInProgress: return Outcome::kUnknown;
    case ServiceTrouble::kThrottledByTable:
    case ServiceTrouble::kThrottledByPartition:
    case ServiceTrouble::kThrottledByAccount: return Outcome::kThrottled;
    case ServiceTrouble::kTokenMismatch:
    case ServiceTrouble::kValidation:
    case ServiceTrouble::kTooLarge: return Outcome::kInvalid;
    case ServiceTrouble::kAccessDenied:
    case ServiceTrouble::kExpiredCredentials:
    case ServiceTrouble::kUnknownCredentials:
    case ServiceTrouble::kClockSkewed: return Outcome::kDenied;
    case ServiceTrouble::kNoSuchTable: return Outcome::kMissing;
    case ServiceTrouble::kNoSuchIndex:
    case ServiceTrouble::kTableBusy:
    case ServiceTrouble::kUnavailable:
    case ServiceTrouble::kServerFault:
    case ServiceTrouble::kNotTheService:
    case ServiceTrouble::kOther: return Outcome::kUnavailable;
  }
  return Outcome::kUnavailable;
}

std::string meaning(ServiceTrouble trouble, std::string_view place) {
  switch (trouble) {
    case ServiceTrouble::kConditionFailed: return "the condition is false";
    case ServiceTrouble::kTransactionConflict: return "another transaction is in the way";
    case ServiceTrouble::kTransactionCancelled: return "the transaction was cancelled";
    case ServiceTrouble::kTransactionInProgress:
      return "an earlier attempt at this transaction is still in progress";
    case ServiceTrouble::kTokenMismatch: return "the token was used for another transaction";
    case ServiceTrouble::kThrottledByTable: return "throttled: the table's throughput is used up";
    case ServiceTrouble::kThrottledByPartition:
      return "throttled: a partition's throughput is used up";
    case ServiceTrouble::kThrottledByAccount: return "throttled: too many requests of the account";
    case ServiceTrouble::kValidation: return "the service refuses the request";
    case ServiceTrouble::kTooLarge: return "too large for the service";
    case ServiceTrouble::kAccessDenied: return "these credentials lack a right";
    case ServiceTrouble::kExpiredCredentials: return "the credentials have expired";
    case ServiceTrouble::kUnknownCredentials: return "the service does not accept the credentials";
    case ServiceTrouble::kClockSkewed: return "this machine's clock is off";
    case ServiceTrouble::kNoSuchTable: return "there is no " + std::string(place);
    case ServiceTrouble::kNoSuchIndex:
      return std::string(place) + " lacks an index, or is still filling it";
    case ServiceTrouble::kTableBusy:
      return std::string(place) + " is being created, changed or deleted";
    case ServiceTrouble::kUnavailable: return "the service is unavailable";
    case ServiceTrouble::kServerFault: return "the service failed";
    case ServiceTrouble::kNotTheService:
      return "something else than the service answered, perhaps a proxy";
    case ServiceTrouble::kOther: return "the service answered an error that is not known";
  }
  return std::string();
}

// Precondition: the transaction was cancelled, so nothing of it was applied.
void set_reasons(const ServiceError& error, const TransactRequest& request, TransactReply& reply) {
  reply.reasons.resize(request.items().size());
  const ServiceError::Member* first = nullptr;
  for (std::size_t i = 0; i < reply.reasons.size() && i < error.reasons.size(); ++i) {
    const ServiceError::Member& member = error.reasons[i];
    if (!member.trouble) continue;
    reply.reasons[i] = CancelReason{outcome_of(*member.trouble), member.old_item};
    if (!first) first = &member;
  }
  // Cancelled, but nobody says why: to try again is all that can be done.
  if (!first) return;
  reply.outcome = outcome_of(*first->trouble);
  reply.message += ": " + meaning(*first->trouble, "");
  if (!first->message.empty()) reply.message += " (" + first->message + ")";
  if (reply.outcome != Outcome::kConditionFailed) return;
  for (const CancelReason& reason : reply.reasons) {
    reply.cost += failed_condition_cost(reason.image.get(), true);
  }
}

}  // namespace

bool may_have_applied(const ServiceError& error) {
  switch (error.trouble) {
    case ServiceTrouble::kServerFault:
    case ServiceTrouble::kTransactionInProgress: return true;
    // What stands between may have passed the request on before it answered in the service's place.
    case ServiceTrouble::kNotTheService:
    case ServiceTrouble::kOther: return error.status < 300 || error.status >= 500;
    default: return false;
  }
}

std::string in_words(const ServiceError& error, std::string_view place) {
  std::string words = meaning(error.trouble, place);
  for (const std::string* part : {&error.code, &error.message}) {
    if (part->empty()) continue;
    words += ": ";
    words += *part;
  }
  return words;
}

void answer_with(const ServiceError& error, std::string_view place, Call& call) {
  ReplyBase& reply = start_matching_reply(call);
  Outcome outcome = outcome_of(error.trouble);
  if (is_write(call.request)) {
    if (may_have_applied(error)) outcome = Outcome::kUnknown;
  } else if (outcome == Outcome::kUnknown) {
    outcome = Outcome::kUnavailable;
  }
  set_trouble(reply, outcome, in_words(error, place));
  if (error.trouble == ServiceTrouble::kTransactionCancelled) {
    if (const auto* request = std::get_if<const TransactRequest*>(&call.request)) {
      reply.message = meaning(error.trouble, place);
      set_reasons(error, **request, std::get<TransactReply>(call.reply));
    }
  } else if (error.trouble == ServiceTrouble::kConditionFailed) {
    if (auto* written = std::get_if<WriteReply>(&call.reply)) {
      written->image = error.old_item;
      written->cost = failed_condition_cost(error.old_item.get(), false);
    }
  }
}

}  // namespace stint::store::dynamodb
