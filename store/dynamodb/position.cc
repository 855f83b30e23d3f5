#include "store/dynamodb/position.h"

#include "store/dynamo_json.h"
#include "store/dynamodb/wire.h"

namespace stint::store::dynamodb {
namespace {

// Keys are strings: those of the item, and of at most one index.
bool is_position_key(const Value::Map& key) {
  if (key.size() != 2 && key.size() != 4) return false;
  for (const auto& [name, value] : key) {
    const std::string* text = value.as_string();
    if (!text || text->empty()) return false;
  }
  auto has = [&key](AttrId id) { return key.contains(name_of(id)); };
  if (!has(kPk) || !has(kSk)) return false;
  if (key.size() == 2) return true;
  for (int index = 1; index <= kIndexCount; ++index) {
    if (has(index_pk(index)) && has(index_sk(index))) return true;
  }
  return false;
}

}  // namespace

std::optional<Value::Map> parse_position(std::string_view position) {
  Result<Value::Map> key = named_values_from_dynamo_json(position);
  if (!key || !is_position_key(*key)) return std::nullopt;
  return std::move(*key);
}

std::optional<std::string> position_text(const Value::Map& key) {
  if (!is_position_key(key)) return std::nullopt;
  std::string text;
  append_dynamo_json(text, key);
  return text;
}

bool is_position(std::string_view start) { return parse_position(start).has_value(); }

}  // namespace stint::store::dynamodb
