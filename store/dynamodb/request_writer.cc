// Requests of the store as bodies of the service's operations.
#include <array>
#include <cassert>
#include <charconv>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "store/dynamo_json.h"
#include "store/dynamodb/position.h"
#include "store/dynamodb/wire.h"

namespace stint::store::dynamodb {
namespace {

constexpr std::string_view kIndexNames[] = {"", "GSI1", "GSI2", "GSI3", "GSI4"};

void append_integer(std::string& out, std::int64_t number) {
  std::array<char, 20> digits;
  std::to_chars_result end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  out.append(digits.data(), static_cast<std::size_t>(end.ptr - digits.data()));
}

void append_key(std::string& out, std::string_view pk, std::string_view sk) {
  out += "{\"PK\":";
  append_string_json(out, pk);
  out += ",\"SK\":";
  append_string_json(out, sk);
  out += '}';
}

void append_key(std::string& out, const Key& key) { append_key(out, key.pk(), key.sk()); }

// The names and values of one call's expressions, behind placeholders by position: #0, #1, ... and
// :0, :1, ... What is equal shares one. They number a few dozen, which a look at each finds
// soonest.
class Placeholders {
 public:
  Placeholders() {
    constexpr std::size_t kUsual = 32;
    names_.reserve(kUsual);
    values_.reserve(kUsual);
  }

  void append_name(std::string& out, AttrId id) {
    std::size_t at = 0;
    while (at < names_.size() && names_[at] != id) ++at;
    if (at == names_.size()) names_.push_back(id);
    append_place(out, '#', at);
  }

  void append_number(std::string& out, std::int64_t number) {
    append_value(out, Held{Kind::kNumber, number, {}, nullptr});
  }
  void append_string(std::string& out, std::string_view text) {
    append_value(out, Held{Kind::kString, 0, text, nullptr});
  }

  void append_operand(std::string& out, const Operand& operand, const Params& params) {
    if (const std::int64_t* number = operand.number(params)) return append_number(out, *number);
    if (const std::string* text = operand.string(params)) return append_string(out, *text);
    append_value(out, Held{Kind::kLiteral, 0, {}, &operand.literal_value()});
  }

  // The same, where a string stands for the set of this one string.
  void append_summand(std::string& out, const Operand& operand, const Params& params) {
    const std::string* text = operand.string(params);
    if (!text) return append_operand(out, operand, params);
    append_value(out, Held{Kind::kSetOfOne, 0, *text, nullptr});
  }

  // The members that tell what the placeholders stand for; each begins with a comma.
  void append_members(std::string& out) const {
    if (!names_.empty()) {
      out += ",\"ExpressionAttributeNames\":";
      for (std::size_t i = 0; i < names_.size(); ++i) {
        append_place_member(out, '#', i);
        append_json_string(out, name_of(names_[i]));
      }
      out += '}';
    }
    if (!values_.empty()) {
      out += ",\"ExpressionAttributeValues\":";
      for (std::size_t i = 0; i < values_.size(); ++i) {
        append_place_member(out, ':', i);
        append_held(out, values_[i]);
      }
      out += '}';
    }
  }

 private:
  enum class Kind : std::uint8_t { kNumber, kString, kSetOfOne, kLiteral };
  struct Held {
    Kind kind;
    std::int64_t number;
    std::string_view text;
    const Value* literal;
  };

  static bool same(const Held& a, const Held& b) {
    if (a.kind != b.kind) return false;
    switch (a.kind) {
      case Kind::kNumber: return a.number == b.number;
      case Kind::kString:
      case Kind::kSetOfOne: return a.text == b.text;
      case Kind::kLiteral: return a.literal == b.literal || *a.literal == *b.literal;
    }
    return false;
  }

  void append_value(std::string& out, const Held& value) {
    std::size_t at = 0;
    while (at < values_.size() && !same(values_[at], value)) ++at;
    if (at == values_.size()) values_.push_back(value);
    append_place(out, ':', at);
  }

  static void append_place(std::string& out, char sign, std::size_t at) {
    out += sign;
    append_integer(out, static_cast<std::int64_t>(at));
  }

  // {"#0": or ,"#1":
  static void append_place_member(std::string& out, char sign, std::size_t at) {
    out += at == 0 ? "{\"" : ",\"";
    append_place(out, sign, at);
    out += "\":";
  }

  static void append_held(std::string& out, const Held& value) {
    switch (value.kind) {
      case Kind::kNumber: return append_number_json(out, value.number);
      case Kind::kString: return append_string_json(out, value.text);
      case Kind::kSetOfOne:
        out += "{\"SS\":[";
        append_json_string(out, value.text);
        out += "]}";
        return;
      case Kind::kLiteral: return append_dynamo_json(out, *value.literal);
    }
  }

  std::vector<AttrId> names_;
  std::vector<Held> values_;
};

// ---- Conditions ----

std::string_view comparison(Test test) {
  switch (test) {
    case Test::kEqual: return "=";
    case Test::kNotEqual: return "<>";
    case Test::kLess: return "<";
    case Test::kLessOrEqual: return "<=";
    case Test::kGreater: return ">";
    case Test::kGreaterOrEqual: return ">=";
    case Test::kItemExists:
    case Test::kItemAbsent:
    case Test::kPresent:
    case Test::kAbsent: break;
  }
  assert(false);
  return "=";
}

void append_presence(std::string& out, Placeholders& places, AttrId attribute, bool present) {
  out += present ? "attribute_exists(" : "attribute_not_exists(";
  places.append_name(out, attribute);
  out += ')';
}

void append_term(std::string& out, Placeholders& places, const Term& term, const Params& params) {
  switch (term.test) {
    case Test::kItemExists: return append_presence(out, places, kPk, true);
    case Test::kItemAbsent: return append_presence(out, places, kPk, false);
    case Test::kPresent: return append_presence(out, places, term.attribute, true);
    case Test::kAbsent: return append_presence(out, places, term.attribute, false);
    case Test::kNotEqual:
      // To the service an absent attribute is unequal to everything.
      append_presence(out, places, term.attribute, true);
      out += " AND ";
      break;
    case Test::kEqual:
    case Test::kLess:
    case Test::kLessOrEqual:
    case Test::kGreater:
    case Test::kGreaterOrEqual: break;
  }
  places.append_name(out, term.attribute);
  out += comparison(term.test);
  places.append_operand(out, term.operand, params);
}

// AND binds tighter than OR, so that only a clause of several alternatives beside other clauses
// needs parentheses; the service refuses those that say nothing.
void append_condition(std::string& out, Placeholders& places, const Condition& condition,
                      const Params& params) {
  using Join = Condition::Join;
  std::span<const Condition::JoinedTerm> terms = condition.terms();
  std::size_t at = 0;
  while (at < terms.size()) {
    std::size_t end = at + 1;
    bool alternatives = false;
    for (; end < terms.size() && terms[end].join != Join::kClause; ++end) {
      alternatives = alternatives || terms[end].join == Join::kOr;
    }
    bool enclosed = alternatives && end - at < terms.size();
    if (at > 0) out += " AND ";
    if (enclosed) out += '(';
    for (std::size_t i = at; i < end; ++i) {
      if (i > at) out += terms[i].join == Join::kOr ? " OR " : " AND ";
      append_term(out, places, terms[i].term, params);
    }
    if (enclosed) out += ')';
    at = end;
  }
}

void append_condition_member(std::string& out, Placeholders& places, const Condition& condition,
                             const Params& params) {
  if (condition.empty()) return;
  out += ",\"ConditionExpression\":\"";
  append_condition(out, places, condition, params);
  out += "\",\"ReturnValuesOnConditionCheckFailure\":\"ALL_OLD\"";
}

// ---- Updates ----

enum class Section : std::uint8_t { kSet, kRemove, kAdd, kDelete };
constexpr std::string_view kSectionNames[] = {"SET ", "REMOVE ", "ADD ", "DELETE "};

Section section_of(Change change) {
  switch (change) {
    case Change::kSet:
    case Change::kSetIfAbsent: return Section::kSet;
    case Change::kRemove: return Section::kRemove;
    case Change::kAdd: return Section::kAdd;
    case Change::kRemoveFromSet: return Section::kDelete;
  }
  return Section::kSet;
}

void append_action(std::string& out, Placeholders& places, const Action& action,
                   const Params& params) {
  places.append_name(out, action.attribute);
  switch (action.change) {
    case Change::kSet: out += '='; return places.append_operand(out, action.operand, params);
    case Change::kSetIfAbsent:
      out += "=if_not_exists(";
      places.append_name(out, action.attribute);
      out += ',';
      places.append_operand(out, action.operand, params);
      out += ')';
      return;
    case Change::kRemove: return;
    case Change::kAdd:
    case Change::kRemoveFromSet:
      out += ' ';
      return places.append_summand(out, action.operand, params);
  }
}

void append_update_member(std::string& out, Placeholders& places,
                          const std::vector<Action>& actions, const Params& params) {
  if (actions.empty()) return;
  out += ",\"UpdateExpression\":\"";
  bool any = false;
  for (Section section : {Section::kSet, Section::kRemove, Section::kAdd, Section::kDelete}) {
    bool first = true;
    for (const Action& action : actions) {
      if (section_of(action.change) != section) continue;
      if (!first) {
        out += ',';
      } else {
        if (any) out += ' ';
        out += kSectionNames[static_cast<std::size_t>(section)];
      }
      append_action(out, places, action, params);
      first = false;
      any = true;
    }
  }
  out += '"';
}

// ---- Writes, alone or in a transaction: the members after "{" ----

constexpr std::string_view kReturnCapacity = ",\"ReturnConsumedCapacity\":\"INDEXES\"";

void append_table(std::string& out, std::string_view table) {
  out += "\"TableName\":";
  append_json_string(out, table);
}

void append_keyed(std::string& out, std::string_view table, const Key& key) {
  append_table(out, table);
  out += ",\"Key\":";
  append_key(out, key);
}

void append_members(std::string& out, std::string_view table, const PutRequest& request, bool) {
  append_table(out, table);
  out += ",\"Item\":";
  append_dynamo_json(out, *request.item());
  if (!request.condition()) return;
  Placeholders places;
  append_condition_member(out, places, *request.condition(), request.params());
  places.append_members(out);
}

// A transaction's update must say something. No item has this attribute.
void append_empty_update(std::string& out, Placeholders& places) {
  static const AttrId kOfNoItem = intern("st_none");
  out += ",\"UpdateExpression\":\"REMOVE ";
  places.append_name(out, kOfNoItem);
  out += '"';
}

void append_members(std::string& out, std::string_view table, const UpdateRequest& request,
                    bool in_transaction) {
  append_keyed(out, table, request.key());
  Placeholders places;
  if (in_transaction && request.program().actions.empty()) {
    append_empty_update(out, places);
  } else {
    append_update_member(out, places, request.program().actions, request.params());
  }
  append_condition_member(out, places, request.program().condition, request.params());
  places.append_members(out);
}

void append_members(std::string& out, std::string_view table, const DeleteRequest& request, bool) {
  append_keyed(out, table, request.key());
  if (!request.condition()) return;
  Placeholders places;
  append_condition_member(out, places, *request.condition(), request.params());
  places.append_members(out);
}

void append_members(std::string& out, std::string_view table, const CheckRequest& request, bool) {
  append_keyed(out, table, request.key());
  Placeholders places;
  if (request.condition().empty()) {
    // A check must say something; this one holds whatever the item.
    Condition any;
    any.require_any({{Term{Test::kItemExists}}, {Term{Test::kItemAbsent}}});
    append_condition_member(out, places, any, request.params());
  } else {
    append_condition_member(out, places, request.condition(), request.params());
  }
  places.append_members(out);
}

struct MemberName {
  std::string_view operator()(const PutRequest&) const { return "{\"Put\":{"; }
  std::string_view operator()(const UpdateRequest&) const { return "{\"Update\":{"; }
  std::string_view operator()(const DeleteRequest&) const { return "{\"Delete\":{"; }
  std::string_view operator()(const CheckRequest&) const { return "{\"ConditionCheck\":{"; }
};

// ---- Whole requests ----

// A position that cannot be one of ours must neither reach the service nor begin from the start:
// no key at all is what the service refuses.
void append_position(std::string& out, const std::string& start) {
  if (start.empty()) return;
  out += ",\"ExclusiveStartKey\":";
  if (std::optional<Value::Map> position = parse_position(start)) {
    append_dynamo_json(out, *position);
  } else {
    out += "{}";
  }
}

void append_page(std::string& out, Index index, int limit, const std::string& start) {
  if (index != Index::kTable) {
    out += ",\"IndexName\":\"";
    out += kIndexNames[static_cast<std::size_t>(index)];
    out += '"';
  }
  out += ",\"Limit\":";
  append_integer(out, limit);
  append_position(out, start);
}

struct Writer {
  std::string_view table;
  const std::vector<std::size_t>& unprocessed;

  WireRequest begin(std::string_view operation, bool writes) const {
    WireRequest request;
    request.operation = operation;
    request.writes = writes;
    // A warm update has some 1,500 bytes.
    constexpr std::size_t kUsualBytes = 2048;
    request.body.reserve(kUsualBytes);
    request.body += '{';
    return request;
  }

  WireRequest operator()(const GetRequest* get) const {
    WireRequest request = begin("GetItem", false);
    append_keyed(request.body, table, get->key());
    if (get->consistency() == Consistency::kStrong) request.body += ",\"ConsistentRead\":true";
    return finish(std::move(request));
  }

  WireRequest operator()(const BatchGetRequest* get) const {
    WireRequest request = begin("BatchGetItem", false);
    std::string& out = request.body;
    out += "\"RequestItems\":{";
    append_json_string(out, table);
    out += ":{\"Keys\":[";
    bool first = true;
    auto append = [&](const Key& key) {
      if (!first) out += ',';
      first = false;
      append_key(out, key);
    };
    if (unprocessed.empty()) {
      for (const Key& key : get->keys()) append(key);
    } else {
      for (std::size_t place : unprocessed) append(get->keys()[place]);
    }
    out += ']';
    if (get->consistency() == Consistency::kStrong) out += ",\"ConsistentRead\":true";
    out += "}}";
    return finish(std::move(request));
  }

  WireRequest operator()(const PutRequest* put) const { return write("PutItem", *put); }
  WireRequest operator()(const DeleteRequest* removal) const {
    return write("DeleteItem", *removal);
  }
  WireRequest operator()(const UpdateRequest* update) const {
    WireRequest request = begin("UpdateItem", true);
    append_members(request.body, table, *update, false);
    request.body += ",\"ReturnValues\":\"ALL_NEW\"";
    return finish(std::move(request));
  }

  WireRequest operator()(const TransactRequest* transaction) const {
    WireRequest request = begin("TransactWriteItems", true);
    std::string& out = request.body;
    out += "\"TransactItems\":[";
    bool first = true;
    for (const TransactItem& item : transaction->items()) {
      if (!first) out += ',';
      first = false;
      out += std::visit(MemberName(), item);
      std::visit([&](const auto& member) { append_members(out, table, member, true); }, item);
      out += "}}";
    }
    out += ']';
    if (!transaction->token().empty()) {
      out += ",\"ClientRequestToken\":";
      append_json_string(out, transaction->token());
    }
    return finish(std::move(request));
  }

  WireRequest operator()(const QueryRequest* query) const {
    WireRequest request = begin("Query", false);
    std::string& out = request.body;
    append_table(out, table);
    int index = static_cast<int>(query->index());
    // The ids of the table's own keys are those of an index 0.
    AttrId partition = index_pk(index);
    AttrId sort = index_sk(index);
    static_assert(index_pk(0) == kPk && index_sk(0) == kSk);
    Placeholders places;
    out += ",\"KeyConditionExpression\":\"";
    places.append_name(out, partition);
    out += '=';
    places.append_string(out, query->partition());
    if (!query->sort_prefix().empty()) {
      out += " AND begins_with(";
      places.append_name(out, sort);
      out += ',';
      places.append_string(out, query->sort_prefix());
      out += ')';
    }
    out += '"';
    places.append_members(out);
    append_page(out, query->index(), query->limit(), query->start());
    return finish(std::move(request));
  }

  WireRequest operator()(const ScanRequest* scan) const {
    WireRequest request = begin("Scan", false);
    append_table(request.body, table);
    append_page(request.body, scan->index(), scan->limit(), scan->start());
    return finish(std::move(request));
  }

 private:
  template <typename Request>
  WireRequest write(std::string_view operation, const Request& one) const {
    WireRequest request = begin(operation, true);
    append_members(request.body, table, one, false);
    return finish(std::move(request));
  }

  static WireRequest finish(WireRequest request) {
    request.body += kReturnCapacity;
    request.body += '}';
    return request;
  }
};

}  // namespace

WireRequest write_request(const RequestRef& request, std::string_view table,
                          const std::vector<std::size_t>& unprocessed) {
  return std::visit(Writer{table, unprocessed}, request);
}

}  // namespace stint::store::dynamodb
