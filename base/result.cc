#include "stint/result.h"

namespace stint {
namespace {

constexpr std::size_t kShownValueLength = 50;  // rules 6

std::string printable_prefix(std::string_view value) {
  std::string text;
  for (char c : value.substr(0, kShownValueLength)) {
    auto byte = static_cast<unsigned char>(c);
    text += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  // A multi-byte character cut in half would make the whole message unprintable.
  if (value.size() > kShownValueLength) {
    std::size_t lead = text.size() - 1;
    while (lead > 0 && (static_cast<unsigned char>(text[lead]) & 0xc0) == 0x80) --lead;
    auto byte = static_cast<unsigned char>(text[lead]);
    std::size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    if (lead + length > text.size()) text.resize(lead);
  }
  return text;
}

}  // namespace

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUnavailable: return "unavailable";
    case ErrorCode::kOutcomeUnknown: return "outcome_unknown";
    case ErrorCode::kThrottled: return "throttled";
    case ErrorCode::kVersionMismatch: return "version_mismatch";
    case ErrorCode::kInvalidArgument: return "invalid_argument";
    case ErrorCode::kNotFound: return "not_found";
    case ErrorCode::kExists: return "exists";
    case ErrorCode::kConflict: return "conflict";
    case ErrorCode::kCorrupt: return "corrupt";
    case ErrorCode::kAccessDenied: return "access_denied";
    case ErrorCode::kCancelled: return "cancelled";
  }
  return "unknown";
}

Error Error::invalid(std::string field, std::string_view value, std::string reason) {
  Error error(ErrorCode::kInvalidArgument, std::move(reason));
  error.field_ = std::move(field);
  error.value_ = printable_prefix(value);
  return error;
}

std::string Error::message() const {
  if (code_ != ErrorCode::kInvalidArgument) {
    return std::string(to_string(code_)) + ": " + reason_;
  }
  return "invalid " + field_ + " \"" + value_ + "\": " + reason_;
}

ErrorException::ErrorException(Error error) : error_(std::move(error)), text_(error_.message()) {}

void throw_error(const Error& error) { throw ErrorException(error); }

}  // namespace stint
