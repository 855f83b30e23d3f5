// Where a query or scan goes on: the service's last key as a text that callers keep.
#ifndef STINT_STORE_DYNAMODB_POSITION_H_
#define STINT_STORE_DYNAMODB_POSITION_H_

#include <optional>
#include <string>
#include <string_view>

#include "store/value.h"

namespace stint::store::dynamodb {

/// The key in a position; nothing for a text that `position_text` cannot have written.
std::optional<Value::Map> parse_position(std::string_view position);

/// The position of a key; nothing for what is no key of a table or index of ours. Stays good for as
/// long as the table exists.
std::optional<std::string> position_text(const Value::Map& key);

}  // namespace stint::store::dynamodb

#endif  // STINT_STORE_DYNAMODB_POSITION_H_
