// DynamoDB's JSON form of values, for who writes whole requests in it. Items: store/image.h.
#ifndef STINT_STORE_DYNAMO_JSON_H_
#define STINT_STORE_DYNAMO_JSON_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/component.h"
#include "stint/result.h"
#include "store/image.h"
#include "store/value.h"

namespace stint::store {

/// Longest name of an attribute.
inline constexpr std::size_t kMaxAttributeNameBytes = 255;

/// A JSON string with its quotes. Bytes from 0x80 are passed through as they are.
STINT_COMPONENT void append_json_string(std::string& out, std::string_view text);

/// A value with its type: {"N":"1"}.
STINT_COMPONENT void append_dynamo_json(std::string& out, const Value& value);
STINT_COMPONENT void append_number_json(std::string& out, std::int64_t number);
STINT_COMPONENT void append_string_json(std::string& out, std::string_view text);

/// Named values, or an item, as an object in order of the names.
STINT_COMPONENT void append_dynamo_json(std::string& out, const Value::Map& values);
STINT_COMPONENT void append_dynamo_json(std::string& out, const Image& image);

/// Reads what `append_dynamo_json` writes of named values. Errors: `kInvalidArgument` with what is
/// wrong.
STINT_COMPONENT Result<Value::Map> named_values_from_dynamo_json(std::string_view json);

}  // namespace stint::store

#endif  // STINT_STORE_DYNAMO_JSON_H_
