// Small questions about text that come up in headers, addresses and settings.
#ifndef STINT_STORE_DYNAMODB_TEXT_H_
#define STINT_STORE_DYNAMODB_TEXT_H_

#include <optional>
#include <string>
#include <string_view>

#include "stint/time.h"

namespace stint::store::dynamodb {

/// Without white space at both ends.
std::string_view trimmed(std::string_view text);

/// In lower case, as far as ASCII goes.
std::string lower_case(std::string_view text);

/// Whether all characters are printable ASCII or blanks, so that no header is broken by them.
bool is_header_text(std::string_view text);

/// Whether `text` may be a part of access keys: printable ASCII without blanks, not empty.
bool is_key_text(std::string_view text);

/// "true" in any case; all else counts as false, as in the service's own tools.
bool is_true(std::string_view text);

/// "2026-12-01T05:00:00Z", with an optional fraction of a second and "Z" or an offset such as
/// "+01:00". Absent for anything else.
std::optional<TimePoint> read_instant(std::string_view text);

}  // namespace stint::store::dynamodb

#endif  // STINT_STORE_DYNAMODB_TEXT_H_
