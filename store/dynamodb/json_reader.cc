#include "store/dynamodb/json_reader.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/base64.h"
#include "store/dynamo_json.h"
#include "store/dynamodb/wire.h"
#include "store/image_block.h"
#include "store/number_text.h"
#include "store/value_codec.h"

namespace stint::store::dynamodb {
namespace {

namespace dom = simdjson::dom;

// An item at its deepest is an object and an array for each level, and a few around it.
constexpr std::size_t kMaxDepth = 128;
// A parser that has read a longer document does not keep its memory.
constexpr std::size_t kMostKeptBytes = std::size_t{1} << 20;

struct ThreadParser {
  dom::parser parser{kMaxReplyBytes};
  simdjson::error_code ready = parser.allocate(16 * 1024, kMaxDepth);
};

// The only member of a value: its type and what it holds.
struct Typed {
  std::string_view type;
  dom::element content;
};

std::optional<Typed> read_typed(dom::element from, ReadState& state) {
  dom::object object;
  if (from.get(object) != simdjson::SUCCESS || object.size() != 1) {
    state.fail("a value is not an object with one type");
    return std::nullopt;
  }
  dom::object::iterator only = object.begin();
  return Typed{only.key(), only.value()};
}

// N, whose digits stand in a string.
std::string_view read_number_text(dom::element from, ReadState& state) {
  std::string_view text = read_string(from, "a number", state);
  if (state.failed() || is_number_text(text)) return text;
  state.fail("a number is none");
  return std::string_view();
}

std::string read_binary(dom::element from, ReadState& state) {
  std::string_view text = read_string(from, "a binary value", state);
  std::optional<std::string> bytes = parse_base64(text);
  if (!bytes) state.fail("a binary value is not base64");
  return bytes ? std::move(*bytes) : std::string();
}

bool read_boolean(dom::element from, ReadState& state) {
  bool value = false;
  if (from.get(value) != simdjson::SUCCESS) state.fail("a boolean is none");
  return value;
}

void check_null(dom::element from, ReadState& state) {
  if (!read_boolean(from, state)) state.fail("a null is none");
}

template <typename Set, typename Element>
Set read_set(dom::element from, ReadState& state, Element element) {
  Set set;
  read_elements(from, "a set", state, [&](dom::element one) {
    std::string value(element(one, state));
    // What could not be read must not be compared.
    if (state.failed()) return;
    if (!set.insert(std::move(value)).second) state.fail("a set has an element twice");
  });
  if (set.empty()) state.fail("a set is empty");
  return set;
}

std::string_view read_element_text(dom::element from, ReadState& state) {
  return read_string(from, "an element of a set", state);
}

Value read_value(const Typed& typed, int depth, ReadState& state);

Value read_value(dom::element from, int depth, ReadState& state) {
  std::optional<Typed> typed = read_typed(from, state);
  return typed ? read_value(*typed, depth, state) : Value::null();
}

Value::Map read_map(dom::element from, int depth, ReadState& state) {
  Value::Map map;
  read_members(from, "a map", state, [&](std::string_view name, dom::element member) {
    Value value = read_value(member, depth, state);
    if (!map.emplace(std::string(name), std::move(value)).second) {
      state.fail("a map has a name twice");
    }
  });
  return map;
}

Value::List read_list(dom::element from, int depth, ReadState& state) {
  Value::List list;
  read_elements(from, "a list", state,
                [&](dom::element one) { list.push_back(read_value(one, depth, state)); });
  return list;
}

Value read_value(const Typed& typed, int depth, ReadState& state) {
  if (depth > kMaxValueDepth) {
    state.fail("a value is nested too deeply");
    return Value::null();
  }
  std::string_view type = typed.type;
  dom::element from = typed.content;
  if (type == "S") return Value::string(read_string(from, "a string", state));
  if (type == "N") {
    std::string_view text = read_number_text(from, state);
    return state.failed() ? Value::null() : Value::number_text(text);
  }
  if (type == "BOOL") return Value::boolean(read_boolean(from, state));
  if (type == "B") return Value::binary(read_binary(from, state));
  if (type == "L") return Value::list(read_list(from, depth + 1, state));
  if (type == "M") return Value::map(read_map(from, depth + 1, state));
  if (type == "SS") {
    return Value::string_set(read_set<Value::StringSet>(from, state, read_element_text));
  }
  if (type == "NS") {
    return Value::number_set(read_set<Value::NumberSet>(from, state, read_number_text));
  }
  if (type == "BS") return Value::binary_set(read_set<Value::StringSet>(from, state, read_binary));
  if (type == "NULL") {
    check_null(from, state);
  } else {
    state.fail("a value has an unknown type");
  }
  return Value::null();
}

// The attributes of one item on their way into an image. Numbers and strings, which are nearly all,
// take no memory of their own.
class ItemReader {
 public:
  explicit ItemReader(ReadState& state) : state_(state) {}

  ImagePtr read(dom::element from) {
    constexpr std::size_t kUsualAttributes = 48;
    entries_.reserve(kUsualAttributes);
    names_.reserve(kUsualAttributes);
    read_members(from, "an item", state_, [this](std::string_view name, dom::element value) {
      if (name.empty() || name.size() > kMaxAttributeNameBytes) {
        state_.fail("an attribute's name is empty or too long");
      }
      std::optional<Typed> typed = read_typed(value, state_);
      if (typed) add(name, *typed);
    });
    return state_.failed() ? ImagePtr() : assemble();
  }

 private:
  void add(std::string_view name, const Typed& typed) {
    names_.push_back(name);
    if (typed.type == "N") return add_number(typed.content);
    if (typed.type == "S") {
      return add_text(ValueType::kString, read_string(typed.content, "a string", state_));
    }
    if (typed.type == "BOOL") {
      entries_.push_back(pending_bool(AttrId{}, read_boolean(typed.content, state_)));
      return;
    }
    if (typed.type == "NULL") {
      check_null(typed.content, state_);
      entries_.push_back(pending_bool(AttrId{}, false));
      entries_.back().type = ValueType::kNull;
      return;
    }
    Value value = read_value(typed, 0, state_);
    if (state_.failed()) return;
    std::string& text = texts_.emplace_back();
    if (const Value::Binary* binary = value.as_binary()) {
      text = binary->bytes;
    } else {
      append_payload(text, value);
    }
    add_text(value.type(), text);
  }

  void add_number(dom::element from) {
    std::string_view text = read_string(from, "a number", state_);
    if (std::optional<std::int64_t> integer = canonical_integer(text)) {
      entries_.push_back(pending_number(AttrId{}, *integer));
    } else if (is_number_text(text)) {
      add_text(ValueType::kDecimal, text);
    } else {
      state_.fail("a number is none");
    }
  }

  void add_text(ValueType type, std::string_view text) {
    entries_.push_back(pending_text(AttrId{}, type, text));
  }

  ImagePtr assemble() {
    // Names are interned only now: those of a malformed item would stay in the table for ever.
    std::int64_t size = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      std::optional<AttrId> id = intern_foreign(names_[i]);
      if (!id) {
        state_.fail("too many distinct names of attributes in one process");
        return ImagePtr();
      }
      entries_[i].id = *id;
      size += attribute_size_bytes(entries_[i]);
    }
    std::sort(entries_.begin(), entries_.end(), [](const PendingEntry& a, const PendingEntry& b) {
      return index_of(a.id) < index_of(b.id);
    });
    for (std::size_t i = 1; i < entries_.size(); ++i) {
      if (entries_[i].id == entries_[i - 1].id) state_.fail("an item has an attribute twice");
    }
    if (entries_.size() < 2 || entries_[0].id != kPk || entries_[0].type != ValueType::kString ||
        entries_[1].id != kSk || entries_[1].type != ValueType::kString) {
      state_.fail("an item has no key");
    }
    return state_.failed() ? ImagePtr() : ImageAssembler::assemble(entries_, size);
  }

  ReadState& state_;
  std::vector<PendingEntry> entries_;
  std::vector<std::string_view> names_;
  std::deque<std::string> texts_;  // entries refer to them
};

}  // namespace

dom::element parse_json(std::string_view body, ReadState& state) {
  if (body.size() > kMaxReplyBytes) {
    state.fail("longer than a reply can be");
    return dom::element();
  }
  thread_local std::optional<ThreadParser> own;
  if (!own || own->parser.capacity() > kMostKeptBytes) own.emplace();
  dom::element root;
  simdjson::error_code code = own->ready;
  if (code == simdjson::SUCCESS) code = own->parser.parse(body.data(), body.size()).get(root);
  if (code != simdjson::SUCCESS) {
    state.fail(std::string("not JSON: ") + simdjson::error_message(code));
  }
  return root;
}

void fail_type(ReadState& state, std::string_view what, std::string_view type) {
  state.fail(std::string(what) + " is not " + std::string(type));
}

std::string_view read_string(dom::element from, std::string_view what, ReadState& state) {
  std::string_view text;
  if (!state.failed() && from.get(text) != simdjson::SUCCESS) fail_type(state, what, "a string");
  return text;
}

Value::Map read_values(dom::element from, ReadState& state) { return read_map(from, 0, state); }

ImagePtr read_item(dom::element from, ReadState& state) { return ItemReader(state).read(from); }

}  // namespace stint::store::dynamodb
