#include "store/dynamo_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/base64.h"
#include "store/number_text.h"
#include "store/value_codec.h"

namespace stint::store {
namespace {

void append_escaped(std::string& out, char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  auto byte = static_cast<unsigned char>(c);
  out += "\\u00";
  out += kHex[byte >> 4];
  out += kHex[byte & 15];
}

bool is_escaped(char c) {
  auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f || c == '"' || c == '\\';
}

void append_base64_string(std::string& out, std::string_view bytes) {
  out += '"';
  append_base64(out, bytes);
  out += '"';
}

// {"TYPE":[...]} with `element` called for each of `elements`.
template <typename Elements, typename Element>
void append_array(std::string& out, std::string_view type, const Elements& elements,
                  Element element) {
  out += "{\"";
  out += type;
  out += "\":[";
  bool first = true;
  for (const auto& one : elements) {
    if (!std::exchange(first, false)) out += ',';
    element(one);
  }
  out += "]}";
}

// N of a text that needs no escapes.
void append_number_text_json(std::string& out, std::string_view text) {
  out += "{\"N\":\"";
  out += text;
  out += "\"}";
}

void append_binary_json(std::string& out, std::string_view bytes) {
  out += "{\"B\":";
  append_base64_string(out, bytes);
  out += '}';
}

void append_bool_json(std::string& out, bool value) {
  out += value ? "{\"BOOL\":true}" : "{\"BOOL\":false}";
}

// JSON knows no number that begins with a point or a plus sign.
bool is_json_number(std::string_view text) {
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  bool begins = !text.empty() && text.front() >= '0' && text.front() <= '9';
  bool zeros = text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
  return begins && !zeros && text.find("..") == std::string_view::npos &&
         text.find(".e") == std::string_view::npos && text.find(".E") == std::string_view::npos &&
         text.back() != '.';
}

template <typename Elements, typename Write>
void write_list(std::string& out, const Elements& elements, const Write& write) {
  out += '[';
  bool first = true;
  for (const auto& element : elements) {
    if (!std::exchange(first, false)) out += ',';
    write(out, element);
  }
  out += ']';
}

void write_plain_number(std::string& out, std::string_view text) {
  if (is_json_number(text)) {
    out += text;
  } else {
    append_json_string(out, text);
  }
}

void write_plain(std::string& out, const Value& value) {
  switch (value.type()) {
    case ValueType::kNumber: out += std::to_string(*value.as_number()); return;
    case ValueType::kDecimal: return write_plain_number(out, value.as_decimal()->text);
    case ValueType::kBinary: return append_base64_string(out, value.as_binary()->bytes);
    case ValueType::kNumberSet: return write_list(out, *value.as_number_set(), write_plain_number);
    case ValueType::kBinarySet:
      return write_list(out, *value.as_binary_set(), append_base64_string);
    case ValueType::kString: append_json_string(out, *value.as_string()); return;
    case ValueType::kBool: out += *value.as_bool() ? "true" : "false"; return;
    case ValueType::kNull: out += "null"; return;
    case ValueType::kStringSet: write_list(out, *value.as_string_set(), append_json_string); return;
    case ValueType::kList: write_list(out, *value.as_list(), write_plain); return;
    case ValueType::kMap: {
      out += '{';
      bool first = true;
      for (const auto& [name, element] : *value.as_map()) {
        if (!std::exchange(first, false)) out += ',';
        append_json_string(out, name);
        out += ':';
        write_plain(out, element);
      }
      out += '}';
      return;
    }
  }
}

// A strict reader of exactly the JSON that items have. After the first error nothing is read.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Value::Map> named_values() {
    Value::Map values = whole_map();
    if (failed()) return Error::invalid("values", text_, error_);
    return values;
  }

  Result<ImagePtr> item() {
    Value::Map attributes = whole_map();
    if (!failed()) check_attributes(attributes);
    if (failed()) return Error::invalid("item", text_, error_);
    ImageBuilder builder;
    for (const auto& [name, value] : attributes) builder.set(intern(name), value);
    return builder.build();
  }

 private:
  Value::Map whole_map() {
    Value::Map map = value_map(0);
    skip_space();
    if (at_ != text_.size()) fail("text after the item");
    return map;
  }

  void check_attributes(const Value::Map& attributes) {
    for (const auto& [name, value] : attributes) {
      if (name.empty() || name.size() > kMaxAttributeNameBytes)
        fail("attribute name empty or too long");
    }
    for (std::string_view key : {"PK", "SK"}) {
      auto found = attributes.find(key);
      if (found == attributes.end() || !found->second.as_string()) fail("no key");
    }
  }

  void fail(std::string_view what) {
    if (!error_.empty()) return;
    error_ = std::string(what) + " at byte " + std::to_string(at_);
    at_ = text_.size();
  }
  bool failed() const { return !error_.empty(); }

  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
      ++at_;
    }
  }

  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!take(c)) fail(std::string("expected '") + c + "'");
  }

  // Calls `element` for each element up to the closing character.
  template <typename Element>
  void elements(char open, char close, Element element) {
    expect(open);
    if (failed() || take(close)) return;
    do {
      element();
    } while (!failed() && take(','));
    expect(close);
  }

  unsigned hex4() {
    unsigned value = 0;
    for (int i = 0; i < 4; ++i) {
      char c = at_ < text_.size() ? text_[at_] : '\0';
      unsigned digit = c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
                       : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a' + 10)
                       : c >= 'A' && c <= 'F' ? static_cast<unsigned>(c - 'A' + 10)
                                              : 16;
      if (digit == 16) {
        fail("bad \\u escape");
        return 0;
      }
      value = value * 16 + digit;
      ++at_;
    }
    return value;
  }

  void unicode_escape(std::string& out) {
    unsigned code = hex4();
    if (code >= 0xd800 && code < 0xdc00) {
      if (text_.substr(at_, 2) != "\\u") return fail("half of a surrogate pair");
      at_ += 2;
      unsigned low = hex4();
      if (failed()) return;
      if (low < 0xdc00 || low >= 0xe000) return fail("half of a surrogate pair");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
      return fail("half of a surrogate pair");
    }
    auto put = [&out](unsigned byte) { out += static_cast<char>(byte); };
    if (code < 0x80) {
      put(code);
    } else if (code < 0x800) {
      put(0xc0 | (code >> 6));
      put(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
      put(0xe0 | (code >> 12));
      put(0x80 | ((code >> 6) & 0x3f));
      put(0x80 | (code & 0x3f));
    } else {
      put(0xf0 | (code >> 18));
      put(0x80 | ((code >> 12) & 0x3f));
      put(0x80 | ((code >> 6) & 0x3f));
      put(0x80 | (code & 0x3f));
    }
  }

  std::string string() {
    std::string out;
    expect('"');
    while (!failed()) {
      if (at_ >= text_.size()) {
        fail("unfinished string");
        break;
      }
      char c = text_[at_++];
      if (c == '"') break;
      if (static_cast<unsigned char>(c) < 0x20) {
        fail("control character in a string");
        break;
      }
      if (c != '\\') {
        out += c;
        continue;
      }
      char escaped = at_ < text_.size() ? text_[at_++] : '\0';
      constexpr std::string_view kEscapes = "\"\\/bfnrt";
      constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
      if (escaped == 'u') {
        unicode_escape(out);
      } else if (std::size_t i = kEscapes.find(escaped); i != std::string_view::npos) {
        out += kMeanings[i];
      } else {
        fail("unknown escape");
      }
    }
    return out;
  }

  bool literal(std::string_view word) {
    skip_space();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  bool boolean() {
    if (literal("true")) return true;
    if (!literal("false")) fail("expected true or false");
    return false;
  }

  Value number() {
    std::string text = string();
    if (failed()) return Value::null();
    std::optional<Value> number = Value::parse_number(text);
    if (!number) fail("not a number");
    return number ? std::move(*number) : Value::null();
  }

  std::string number_text() {
    std::string text = string();
    if (!failed() && !is_number_text(text)) fail("not a number");
    return text;
  }

  std::string bytes() {
    std::string text = string();
    if (failed()) return std::string();
    std::optional<std::string> bytes = parse_base64(text);
    if (!bytes) fail("not base64");
    return bytes ? std::move(*bytes) : std::string();
  }

  template <typename Set, typename Element>
  Set set_of(Element element) {
    Set set;
    elements('[', ']', [&] {
      std::string one = element();
      // What could not be read must not be compared.
      if (!failed() && !set.insert(std::move(one)).second) fail("element twice in a set");
    });
    if (set.empty()) fail("empty set");
    return set;
  }

  Value::StringSet strings() {
    return set_of<Value::StringSet>([this] { return string(); });
  }
  Value::NumberSet numbers() {
    return set_of<Value::NumberSet>([this] { return number_text(); });
  }
  Value::StringSet binaries() {
    return set_of<Value::StringSet>([this] { return bytes(); });
  }

  Value list(int depth) {
    Value::List list;
    elements('[', ']', [&] { list.push_back(value(depth + 1)); });
    return Value::list(std::move(list));
  }

  Value::Map value_map(int depth) {
    Value::Map map;
    elements('{', '}', [&] {
      std::string name = string();
      expect(':');
      if (failed()) return;
      if (!map.emplace(std::move(name), value(depth)).second) fail("name twice");
    });
    return map;
  }

  Value value(int depth) {
    if (depth > kMaxValueDepth) fail("nested too deeply");
    expect('{');
    std::string type = string();
    expect(':');
    Value read = failed()         ? Value::null()
                 : type == "S"    ? Value::string(string())
                 : type == "N"    ? number()
                 : type == "BOOL" ? Value::boolean(boolean())
                 : type == "NULL" ? null()
                 : type == "B"    ? Value::binary(bytes())
                 : type == "SS"   ? Value::string_set(strings())
                 : type == "NS"   ? Value::number_set(numbers())
                 : type == "BS"   ? Value::binary_set(binaries())
                 : type == "L"    ? list(depth)
                 : type == "M"    ? Value::map(value_map(depth + 1))
                                  : unknown_type();
    expect('}');
    return read;
  }

  Value null() {
    if (!literal("true")) fail("expected true");
    return Value::null();
  }

  Value unknown_type() {
    fail("unknown type of value");
    return Value::null();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string error_;
};

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!is_escaped(text[at])) continue;
    out += text.substr(done, at - done);
    append_escaped(out, text[at]);
    done = at + 1;
  }
  out += text.substr(done);
  out += '"';
}

void append_number_json(std::string& out, std::int64_t number) {
  std::array<char, 20> digits;
  std::to_chars_result end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  append_number_text_json(
      out, std::string_view(digits.data(), static_cast<std::size_t>(end.ptr - digits.data())));
}

void append_string_json(std::string& out, std::string_view text) {
  out += "{\"S\":";
  append_json_string(out, text);
  out += '}';
}

void append_dynamo_json(std::string& out, const Value& value) {
  auto string = [&out](std::string_view text) { append_json_string(out, text); };
  auto bytes = [&out](std::string_view one) { append_base64_string(out, one); };
  switch (value.type()) {
    case ValueType::kNumber: return append_number_json(out, *value.as_number());
    case ValueType::kDecimal: return append_number_text_json(out, value.as_decimal()->text);
    case ValueType::kString: return append_string_json(out, *value.as_string());
    case ValueType::kBool: return append_bool_json(out, *value.as_bool());
    case ValueType::kNull: out += "{\"NULL\":true}"; return;
    case ValueType::kBinary: return append_binary_json(out, value.as_binary()->bytes);
    case ValueType::kStringSet: return append_array(out, "SS", *value.as_string_set(), string);
    case ValueType::kNumberSet: return append_array(out, "NS", *value.as_number_set(), string);
    case ValueType::kBinarySet: return append_array(out, "BS", *value.as_binary_set(), bytes);
    case ValueType::kList:
      return append_array(out, "L", *value.as_list(),
                          [&out](const Value& element) { append_dynamo_json(out, element); });
    case ValueType::kMap:
      out += "{\"M\":";
      append_dynamo_json(out, *value.as_map());
      out += '}';
      return;
  }
}

void append_dynamo_json(std::string& out, const Value::Map& values) {
  out += '{';
  bool first = true;
  for (const auto& [name, value] : values) {
    if (!std::exchange(first, false)) out += ',';
    append_json_string(out, name);
    out += ':';
    append_dynamo_json(out, value);
  }
  out += '}';
}

void append_dynamo_json(std::string& out, const Image& image) {
  std::vector<const ImageEntry*> entries;
  entries.reserve(image.entry_count());
  for (const ImageEntry& entry : image) entries.push_back(&entry);
  // Ids differ between processes, names do not.
  std::sort(entries.begin(), entries.end(), [](const ImageEntry* a, const ImageEntry* b) {
    return name_of(a->id()) < name_of(b->id());
  });
  out += '{';
  bool first = true;
  for (const ImageEntry* entry : entries) {
    if (!std::exchange(first, false)) out += ',';
    append_json_string(out, name_of(entry->id()));
    out += ':';
    switch (entry->type()) {
      case ValueType::kNumber: append_number_json(out, entry->number); break;
      case ValueType::kString: append_string_json(out, image.text(*entry)); break;
      default: append_dynamo_json(out, image.value(*entry));
    }
  }
  out += '}';
}

std::string to_dynamo_json(const Image& image) {
  std::string out;
  append_dynamo_json(out, image);
  return out;
}

Result<ImagePtr> from_dynamo_json(std::string_view json) { return Parser(json).item(); }

std::string to_plain_json(const Value& value) {
  std::string text;
  write_plain(text, value);
  return text;
}

Result<Value::Map> named_values_from_dynamo_json(std::string_view json) {
  return Parser(json).named_values();
}

}  // namespace stint::store
