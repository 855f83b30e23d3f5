// The time that replies are stamped with.
#ifndef STINT_STORE_DYNAMODB_HTTP_DATE_H_
#define STINT_STORE_DYNAMODB_HTTP_DATE_H_

#include <optional>
#include <string_view>

#include "stint/time.h"

namespace stint::store::dynamodb {

/// Reads the header "date" in the form that servers have to send: "Tue, 01 Dec 2026 05:00:00 GMT".
/// To the second. Absent for anything else; the day of the week is not looked at.
std::optional<TimePoint> read_http_date(std::string_view text);

}  // namespace stint::store::dynamodb

#endif  // STINT_STORE_DYNAMODB_HTTP_DATE_H_
