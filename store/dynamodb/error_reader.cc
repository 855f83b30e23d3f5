// What the service said instead of a result.
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/dynamodb/json_reader.h"
#include "store/dynamodb/wire.h"

namespace stint::store::dynamodb {
namespace {

namespace dom = simdjson::dom;
using enum ServiceTrouble;

constexpr std::size_t kMostMessageBytes = 1024;

struct Named {
  std::string_view code;
  ServiceTrouble trouble;
};

// Codes of the service, of the common layer before it, and of the servers that stand in for it;
// without "Exception" or "Error" at their ends, which not all of them have.
constexpr Named kCodes[] = {
    {"ConditionalCheckFailed", kConditionFailed},
    {"TransactionConflict", kTransactionConflict},
    {"ReplicatedWriteConflict", kTransactionConflict},
    {"TransactionCanceled", kTransactionCancelled},
    {"TransactionInProgress", kTransactionInProgress},
    {"IdempotentParameterMismatch", kTokenMismatch},
    {"ProvisionedThroughputExceeded", kThrottledByTable},
    {"Throttling", kThrottledByAccount},
    {"Throttled", kThrottledByAccount},
    {"RequestThrottled", kThrottledByAccount},
    {"TooManyRequests", kThrottledByAccount},
    {"SlowDown", kThrottledByAccount},
    {"RequestLimitExceeded", kThrottledByAccount},
    {"LimitExceeded", kThrottledByAccount},
    {"Validation", kValidation},
    {"Serialization", kValidation},
    {"UnknownOperation", kValidation},
    {"DuplicateItem", kValidation},
    {"ItemCollectionSizeLimitExceeded", kTooLarge},
    {"RequestEntityTooLarge", kTooLarge},
    {"AccessDenied", kAccessDenied},
    {"NotAuthorized", kAccessDenied},
    {"UnauthorizedOperation", kAccessDenied},
    {"OptInRequired", kAccessDenied},
    {"ExpiredToken", kExpiredCredentials},
    {"UnrecognizedClient", kUnknownCredentials},
    {"InvalidClientTokenId", kUnknownCredentials},
    {"InvalidAccessKeyId", kUnknownCredentials},
    {"AuthFailure", kUnknownCredentials},
    {"MissingAuthenticationToken", kUnknownCredentials},
    {"IncompleteSignature", kUnknownCredentials},
    {"InvalidSignature", kUnknownCredentials},
    {"SignatureDoesNotMatch", kUnknownCredentials},
    {"RequestTimeTooSkewed", kClockSkewed},
    {"RequestExpired", kClockSkewed},
    {"RequestInTheFuture", kClockSkewed},
    {"ResourceNotFound", kNoSuchTable},
    {"TableNotFound", kNoSuchTable},
    {"ResourceInUse", kTableBusy},
    {"TableInUse", kTableBusy},
    {"InternalServer", kServerFault},
    {"InternalFailure", kServerFault},
    {"Internal", kServerFault},
    {"ServiceUnavailable", kUnavailable},
};

void drop_end(std::string_view& text, std::string_view end) {
  if (text.ends_with(end)) text.remove_suffix(end.size());
}

std::optional<ServiceTrouble> trouble_of_code(std::string_view code) {
  drop_end(code, "Exception");
  drop_end(code, "Error");
  for (const Named& named : kCodes) {
    if (named.code == code) return named.trouble;
  }
  return std::nullopt;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool mentions(std::string_view text, std::string_view lower_case_word) {
  return std::search(text.begin(), text.end(), lower_case_word.begin(), lower_case_word.end(),
                     [](char a, char b) { return lower(a) == b; }) != text.end();
}

// "TableWriteKeyRangeThroughputExceeded" and the like.
std::optional<ServiceTrouble> throttle_of_reason(std::string_view reason) {
  if (mentions(reason, "keyrange")) return kThrottledByPartition;
  if (mentions(reason, "accountlimit")) return kThrottledByAccount;
  if (mentions(reason, "provisionedthroughput") || mentions(reason, "ondemand")) {
    return kThrottledByTable;
  }
  return std::nullopt;
}

// What throttled, by the text, else as the code has it.
ServiceTrouble throttle_of_text(ServiceTrouble by_code, std::string_view text) {
  if (mentions(text, "partition") || mentions(text, "key range") || mentions(text, "hot key")) {
    return kThrottledByPartition;
  }
  if (mentions(text, "account") || mentions(text, "rate of requests")) return kThrottledByAccount;
  if (mentions(text, "table") || mentions(text, "index")) return kThrottledByTable;
  return by_code;
}

// The finer reading of a code by its text.
ServiceTrouble refined(ServiceTrouble trouble, std::string_view text) {
  switch (trouble) {
    case kThrottledByTable:
    case kThrottledByAccount: return throttle_of_text(trouble, text);
    case kUnknownCredentials:
      if (mentions(text, "signature expired") || mentions(text, "not yet current")) {
        return kClockSkewed;
      }
      return trouble;
    case kValidation:
      if (mentions(text, "does not have the specified index") ||
          mentions(text, "backfilling global secondary index")) {
        return kNoSuchIndex;
      }
      if (mentions(text, "item size has exceeded") || mentions(text, "item size to update has") ||
          mentions(text, "aggregated size of all range keys") ||
          mentions(text, "transaction request cannot") || mentions(text, "request size exceeded") ||
          mentions(text, "size limit")) {
        return kTooLarge;
      }
      return trouble;
    default: return trouble;
  }
}

// Printable, and no longer than people read.
std::string shown(std::string_view text) {
  std::string out(text.substr(0, kMostMessageBytes));
  for (char& c : out) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = ' ';
  }
  // Not in the middle of a character of several bytes.
  if (text.size() > out.size()) {
    while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xc0) == 0x80) out.pop_back();
    if (!out.empty() && static_cast<unsigned char>(out.back()) >= 0xc0) out.pop_back();
  }
  return out;
}

// "com.amazonaws.dynamodb.v20120810#Name:http://..." is Name.
std::string_view bare_code(std::string_view type) {
  if (std::size_t at = type.rfind('#'); at != std::string_view::npos) type.remove_prefix(at + 1);
  return type.substr(0, type.find(':'));
}

// Texts and types that are not as they should be are as good as absent: what matters is that the
// request failed.
std::string_view text_or_empty(dom::element from) {
  std::string_view text;
  return from.get(text) == simdjson::SUCCESS ? text : std::string_view();
}

ImagePtr item_or_empty(dom::element from) {
  ReadState state;
  return read_item(from, state);
}

ServiceError::Member member_of(std::string_view code, std::string_view text, ImagePtr item) {
  ServiceError::Member member;
  member.message = shown(text);
  if (code.empty() || code == "None") return member;
  member.trouble = refined(trouble_of_code(code).value_or(kOther), text);
  if (member.message.empty()) member.message = shown(code);
  if (member.trouble == kConditionFailed) member.old_item = std::move(item);
  return member;
}

std::vector<ServiceError::Member> read_reasons(dom::element from) {
  std::vector<ServiceError::Member> reasons;
  ReadState state;
  read_elements(from, "the reasons", state, [&reasons](dom::element one) {
    std::string_view code;
    std::string_view text;
    ImagePtr item;
    ReadState inner;
    read_members(one, "a reason", inner, [&](std::string_view name, dom::element value) {
      if (name == "Code") code = text_or_empty(value);
      if (name == "Message" || name == "message") text = text_or_empty(value);
      if (name == "Item") item = item_or_empty(value);
    });
    reasons.push_back(member_of(code, text, std::move(item)));
  });
  return reasons;
}

// The codes in "... for specific reasons [ConditionalCheckFailed, None]", where there is no list.
std::vector<ServiceError::Member> reasons_in_text(std::string_view text) {
  std::vector<ServiceError::Member> reasons;
  std::size_t open = text.rfind('[');
  std::size_t close = text.find(']', open == std::string_view::npos ? 0 : open);
  if (open == std::string_view::npos || close == std::string_view::npos) return reasons;
  std::string_view list = text.substr(open + 1, close - open - 1);
  while (!list.empty()) {
    std::size_t comma = std::min(list.find(','), list.size());
    std::string_view code = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    while (!code.empty() && code.front() == ' ') code.remove_prefix(1);
    while (!code.empty() && code.back() == ' ') code.remove_suffix(1);
    reasons.push_back(member_of(code, std::string_view(), ImagePtr()));
  }
  return reasons;
}

std::optional<ServiceTrouble> read_throttling(dom::element from) {
  std::optional<ServiceTrouble> found;
  ReadState state;
  read_elements(from, "the reasons", state, [&](dom::element one) {
    ReadState inner;
    read_members(one, "a reason", inner, [&](std::string_view name, dom::element value) {
      if (name != "reason" && name != "Reason") return;
      if (!found) found = throttle_of_reason(text_or_empty(value));
    });
  });
  return found;
}

ServiceTrouble trouble_of_status(int status) {
  if (status == 413) return kTooLarge;
  if (status == 429) return kThrottledByAccount;
  return status >= 500 ? kServerFault : kOther;
}

ServiceError not_the_service(int status, std::string_view body) {
  ServiceError error;
  error.status = status;
  error.trouble = kNotTheService;
  error.message = "status " + std::to_string(status);
  if (status >= 300 && status < 400) {
    error.message += ", a redirect";
  } else if (body.empty()) {
    error.message += " without a body";
  } else {
    error.message += " and no JSON: ";
    // Cuts, and takes out what cannot be printed.
    error.message += Error::invalid("", body, "").value();
  }
  return error;
}

}  // namespace

ServiceError read_error(int status, std::string_view body) {
  ReadState state;
  if (status >= 300 && status < 400) return not_the_service(status, body);
  dom::element root = parse_json(body, state);
  if (state.failed() || !root.is_object()) return not_the_service(status, body);

  ServiceError error;
  error.status = status;
  std::string_view text;
  std::optional<ServiceTrouble> throttling;
  read_members(root, "the error", state, [&](std::string_view name, dom::element value) {
    if (name == "__type") error.code = shown(bare_code(text_or_empty(value)));
    if (name == "message" || name == "Message") text = text_or_empty(value);
    if (name == "Item") error.old_item = item_or_empty(value);
    if (name == "CancellationReasons") error.reasons = read_reasons(value);
    if (name == "ThrottlingReasons" || name == "throttlingReasons") {
      throttling = read_throttling(value);
    }
  });
  error.message = shown(text);
  std::optional<ServiceTrouble> by_code = trouble_of_code(error.code);
  error.trouble = by_code ? refined(*by_code, text) : trouble_of_status(status);
  if (throttling && is_throttling(error.trouble)) error.trouble = *throttling;
  if (error.trouble == kTransactionCancelled && error.reasons.empty()) {
    error.reasons = reasons_in_text(text);
  }
  if (error.trouble != kConditionFailed) error.old_item = ImagePtr();
  return error;
}

}  // namespace stint::store::dynamodb
