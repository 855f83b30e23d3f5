#include "store/value_codec.h"

#include <cassert>
#include <utility>

#include "store/number_text.h"

namespace stint::store {
namespace {

void append_typed(std::string& out, const Value& value, int depth);

template <typename Set>
void append_set(std::string& out, const Set& set) {
  append_varint(out, set.size());
  for (const std::string& element : set) append_text(out, element);
}

void append_payload_at(std::string& out, const Value& value, int depth) {
  assert(depth <= kMaxValueDepth);
  switch (value.type()) {
    case ValueType::kNumber: append_signed_varint(out, *value.as_number()); return;
    case ValueType::kDecimal: append_text(out, value.as_decimal()->text); return;
    case ValueType::kString: append_text(out, *value.as_string()); return;
    case ValueType::kBinary: append_text(out, value.as_binary()->bytes); return;
    case ValueType::kBool: out += *value.as_bool() ? '\1' : '\0'; return;
    case ValueType::kNull: return;
    case ValueType::kStringSet: append_set(out, *value.as_string_set()); return;
    case ValueType::kNumberSet: append_set(out, *value.as_number_set()); return;
    case ValueType::kBinarySet: append_set(out, *value.as_binary_set()); return;
    case ValueType::kList:
      append_varint(out, value.as_list()->size());
      for (const Value& element : *value.as_list()) append_typed(out, element, depth + 1);
      return;
    case ValueType::kMap:
      append_varint(out, value.as_map()->size());
      for (const auto& [name, element] : *value.as_map()) {
        append_text(out, name);
        append_typed(out, element, depth + 1);
      }
      return;
  }
}

void append_typed(std::string& out, const Value& value, int depth) {
  out += static_cast<char>(value.type());
  append_payload_at(out, value, depth);
}

std::int64_t skim_typed(ByteReader& reader, int depth) {
  std::uint8_t type = reader.byte();
  if (!is_value_type(type)) {
    reader.fail();
    return 0;
  }
  return skim_payload(reader, static_cast<ValueType>(type), depth);
}

Value read_typed(ByteReader& reader) {
  auto type = static_cast<ValueType>(reader.byte());
  return read_payload(reader, type);
}

// Elements stand in ascending order, none twice.
std::int64_t skim_texts(ByteReader& reader) {
  std::int64_t size = 0;
  std::string_view previous;
  std::uint64_t count = reader.varint();
  for (std::uint64_t i = 0; i < count && !reader.failed(); ++i) {
    std::string_view text = reader.text();
    if (i > 0 && text <= previous) reader.fail();
    previous = text;
    size += static_cast<std::int64_t>(text.size());
  }
  return size;
}

std::int64_t skim_numbers(ByteReader& reader) {
  std::int64_t size = 0;
  std::string_view previous;
  std::uint64_t count = reader.varint();
  for (std::uint64_t i = 0; i < count && !reader.failed(); ++i) {
    std::string_view text = reader.text();
    if (!is_number_text(text) || (i > 0 && !NumberTextLess()(previous, text))) {
      reader.fail();
      break;
    }
    previous = text;
    size += number_text_size_bytes(text);
  }
  return size;
}

template <typename Set>
Set read_set(ByteReader& reader) {
  Set set;
  for (std::uint64_t left = reader.varint(); left > 0; --left) {
    set.emplace_hint(set.end(), reader.text());
  }
  return set;
}

}  // namespace

std::uint8_t ByteReader::byte() {
  if (rest_.empty()) {
    fail();
    return 0;
  }
  auto value = static_cast<std::uint8_t>(rest_.front());
  rest_.remove_prefix(1);
  return value;
}

std::uint64_t ByteReader::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    std::uint8_t group = byte();
    if (failed_) return 0;
    // The tenth group holds one bit, and a last group of zero could have been left out.
    if ((shift == 63 && group > 1) || (shift > 0 && group == 0)) break;
    value |= static_cast<std::uint64_t>(group & 0x7f) << shift;
    if ((group & 0x80) == 0) return value;
  }
  fail();
  return 0;
}

std::int64_t ByteReader::signed_varint() {
  std::uint64_t folded = varint();
  return static_cast<std::int64_t>((folded >> 1) ^ (0 - (folded & 1)));
}

std::string_view ByteReader::bytes(std::uint64_t count) {
  if (count > rest_.size()) {
    fail();
    return std::string_view();
  }
  std::string_view taken = rest_.substr(0, static_cast<std::size_t>(count));
  rest_.remove_prefix(taken.size());
  return taken;
}

void append_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>((value & 0x7f) | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

void append_signed_varint(std::string& out, std::int64_t value) {
  append_varint(out, fold_sign(value));
}

void append_text(std::string& out, std::string_view text) {
  append_varint(out, text.size());
  out += text;
}

bool is_value_type(std::uint8_t byte) {
  return byte <= static_cast<std::uint8_t>(ValueType::kBinarySet);
}

bool holds_binary_or_numbers(ByteReader& reader, ValueType type) {
  bool found = type > ValueType::kMap;
  if (type != ValueType::kList && type != ValueType::kMap) {
    skim_payload(reader, type);
    return found;
  }
  for (std::uint64_t left = reader.varint(); left > 0; --left) {
    if (type == ValueType::kMap) reader.text();
    auto element = static_cast<ValueType>(reader.byte());
    found = holds_binary_or_numbers(reader, element) || found;
  }
  return found;
}

void append_payload(std::string& out, const Value& value) { append_payload_at(out, value, 0); }

std::int64_t skim_payload(ByteReader& reader, ValueType type, int depth) {
  constexpr std::int64_t kContainerBytes = 3;
  constexpr std::int64_t kElementBytes = 1;
  if (depth > kMaxValueDepth) {
    reader.fail();
    return 0;
  }
  switch (type) {
    case ValueType::kNumber: return number_size_bytes(reader.signed_varint());
    case ValueType::kDecimal: {
      std::string_view text = reader.text();
      if (reader.failed() || !is_number_text(text) || canonical_integer(text)) {
        reader.fail();
        return 0;
      }
      return number_text_size_bytes(text);
    }
    case ValueType::kString:
    case ValueType::kBinary: return static_cast<std::int64_t>(reader.text().size());
    case ValueType::kBool:
      if (reader.byte() > 1) reader.fail();
      return 1;
    case ValueType::kNull: return 1;
    case ValueType::kStringSet:
    case ValueType::kBinarySet: return skim_texts(reader);
    case ValueType::kNumberSet: return skim_numbers(reader);
    case ValueType::kList: {
      std::int64_t size = kContainerBytes;
      std::uint64_t count = reader.varint();
      for (std::uint64_t i = 0; i < count && !reader.failed(); ++i) {
        size += kElementBytes + skim_typed(reader, depth + 1);
      }
      return size;
    }
    case ValueType::kMap: {
      std::int64_t size = kContainerBytes;
      std::string_view previous;
      std::uint64_t count = reader.varint();
      for (std::uint64_t i = 0; i < count && !reader.failed(); ++i) {
        std::string_view name = reader.text();
        if (i > 0 && name <= previous) reader.fail();
        previous = name;
        size += kElementBytes + static_cast<std::int64_t>(name.size());
        size += skim_typed(reader, depth + 1);
      }
      return size;
    }
  }
  reader.fail();
  return 0;
}

Value read_payload(ByteReader& reader, ValueType type) {
  switch (type) {
    case ValueType::kNumber: return Value::number(reader.signed_varint());
    case ValueType::kDecimal: return Value::number_text(reader.text());
    case ValueType::kString: return Value::string(reader.text());
    case ValueType::kBool: return Value::boolean(reader.byte() == 1);
    case ValueType::kNull: return Value::null();
    case ValueType::kBinary: return Value::binary(reader.text());
    case ValueType::kStringSet: return Value::string_set(read_set<Value::StringSet>(reader));
    case ValueType::kNumberSet: return Value::number_set(read_set<Value::NumberSet>(reader));
    case ValueType::kBinarySet: return Value::binary_set(read_set<Value::StringSet>(reader));
    case ValueType::kList: {
      Value::List list;
      for (std::uint64_t left = reader.varint(); left > 0; --left) {
        list.push_back(read_typed(reader));
      }
      return Value::list(std::move(list));
    }
    case ValueType::kMap: {
      Value::Map map;
      for (std::uint64_t left = reader.varint(); left > 0; --left) {
        std::string name(reader.text());
        map.emplace_hint(map.end(), std::move(name), read_typed(reader));
      }
      return Value::map(std::move(map));
    }
  }
  return Value::null();
}

}  // namespace stint::store
