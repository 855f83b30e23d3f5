#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/image.h"
#include "store/number_text.h"
#include "store/value_codec.h"

namespace stint::store {
namespace {

constexpr std::size_t kMaxNameBytes = 255;

void write_string(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (byte < 0x20 || byte == 0x7f) {
          out += "\\u00";
          out += kHex[byte >> 4];
          out += kHex[byte & 15];
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

void write_value(std::string& out, const Value& value) {
  switch (value.type()) {
    case ValueType::kNumber:
      out += "{\"N\":\"" + std::to_string(*value.as_number()) + "\"}";
      return;
    case ValueType::kDecimal: out += "{\"N\":\"" + value.as_decimal()->text + "\"}"; return;
    case ValueType::kString:
      out += "{\"S\":";
      write_string(out, *value.as_string());
      out += '}';
      return;
    case ValueType::kBool: out += *value.as_bool() ? "{\"BOOL\":true}" : "{\"BOOL\":false}"; return;
    case ValueType::kNull: out += "{\"NULL\":true}"; return;
    case ValueType::kStringSet: {
      out += "{\"SS\":[";
      bool first = true;
      for (const std::string& text : *value.as_string_set()) {
        if (!std::exchange(first, false)) out += ',';
        write_string(out, text);
      }
      out += "]}";
      return;
    }
    case ValueType::kList: {
      out += "{\"L\":[";
      bool first = true;
      for (const Value& element : *value.as_list()) {
        if (!std::exchange(first, false)) out += ',';
        write_value(out, element);
      }
      out += "]}";
      return;
    }
    case ValueType::kMap: {
      out += "{\"M\":{";
      bool first = true;
      for (const auto& [name, element] : *value.as_map()) {
        if (!std::exchange(first, false)) out += ',';
        write_string(out, name);
        out += ':';
        write_value(out, element);
      }
      out += "}}";
      return;
    }
  }
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

void write_plain(std::string& out, const Value& value) {
  switch (value.type()) {
    case ValueType::kNumber: out += std::to_string(*value.as_number()); return;
    case ValueType::kDecimal: {
      const std::string& text = value.as_decimal()->text;
      if (is_json_number(text)) {
        out += text;
      } else {
        write_string(out, text);
      }
      return;
    }
    case ValueType::kString: write_string(out, *value.as_string()); return;
    case ValueType::kBool: out += *value.as_bool() ? "true" : "false"; return;
    case ValueType::kNull: out += "null"; return;
    case ValueType::kStringSet: write_list(out, *value.as_string_set(), write_string); return;
    case ValueType::kList: write_list(out, *value.as_list(), write_plain); return;
    case ValueType::kMap: {
      out += '{';
      bool first = true;
      for (const auto& [name, element] : *value.as_map()) {
        if (!std::exchange(first, false)) out += ',';
        write_string(out, name);
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

  Result<ImagePtr> item() {
    Value::Map attributes = value_map(0);
    skip_space();
    if (at_ != text_.size()) fail("text after the item");
    if (error_.empty()) check_attributes(attributes);
    if (!error_.empty()) return Error::invalid("item", text_, error_);
    ImageBuilder builder;
    for (const auto& [name, value] : attributes) builder.set(intern(name), value);
    return builder.build();
  }

 private:
  void check_attributes(const Value::Map& attributes) {
    for (const auto& [name, value] : attributes) {
      if (name.empty() || name.size() > kMaxNameBytes) fail("attribute name empty or too long");
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
    if (!failed() && !is_number_text(text)) fail("not a number");
    return failed() ? Value::null() : Value::number_text(text);
  }

  Value string_set() {
    Value::StringSet set;
    elements('[', ']', [&] {
      if (!set.insert(string()).second) fail("element twice in a set");
    });
    if (set.empty()) fail("empty set");
    return Value::string_set(std::move(set));
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
                 : type == "SS"   ? string_set()
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

std::string to_dynamo_json(const Image& image) {
  std::vector<const ImageEntry*> entries;
  for (const ImageEntry& entry : image) entries.push_back(&entry);
  // Ids differ between processes, names do not.
  std::sort(entries.begin(), entries.end(), [](const ImageEntry* a, const ImageEntry* b) {
    return name_of(a->id()) < name_of(b->id());
  });
  std::string out = "{";
  for (const ImageEntry* entry : entries) {
    if (out.size() > 1) out += ',';
    write_string(out, name_of(entry->id()));
    out += ':';
    write_value(out, image.value(*entry));
  }
  out += '}';
  return out;
}

Result<ImagePtr> from_dynamo_json(std::string_view json) { return Parser(json).item(); }

std::string to_plain_json(const Value& value) {
  std::string text;
  write_plain(text, value);
  return text;
}

}  // namespace stint::store
