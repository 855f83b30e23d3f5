// Bodies of requests, byte by byte.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "store/apply.h"
#include "store/dynamo_json.h"
#include "store/dynamodb/wire.h"
#include "tests/dynamodb/wire_support.h"
#include "tests/support/table.h"

namespace stint::store::dynamodb {
namespace {

using test::number;
using test::Op;
using test::program;
using test::text;
using test::Values;
using test::when;

const Key kKey("user#1", "#BUCKET");
constexpr const char* kKeyJson = R"j({"PK":{"S":"user#1"},"SK":{"S":"#BUCKET"}})j";

AttrId a(const char* name) { return intern(name); }

std::string body(const RequestRef& request, const std::vector<std::size_t>& unprocessed = {}) {
  return write_request(request, "tokens", unprocessed).body;
}

// What stands between "ConditionExpression":" and the next quote; empty: there is none.
std::string member_text(const std::string& json, const std::string& name) {
  std::size_t at = json.find("\"" + name + "\":\"");
  if (at == std::string::npos) return std::string();
  at += name.size() + 4;
  return json.substr(at, json.find('"', at) - at);
}

std::string condition_text(const Condition& condition, const Values& values = {}) {
  DeleteRequest request(kKey, &condition, values.params());
  return member_text(body(&request), "ConditionExpression");
}

std::string update_text(std::vector<Action> actions, const Values& values = {}) {
  UpdateProgram made = program(std::move(actions));
  UpdateRequest request(kKey, made, values.params());
  return member_text(body(&request), "UpdateExpression");
}

TEST(WireRequest, Get) {
  GetRequest eventual(kKey, Consistency::kEventual);
  WireRequest request = write_request(&eventual, "tokens");
  EXPECT_EQ(request.operation, "GetItem");
  EXPECT_FALSE(request.writes);
  EXPECT_EQ(request.body, std::string(R"j({"TableName":"tokens","Key":)j") + kKeyJson +
                              R"j(,"ReturnConsumedCapacity":"INDEXES"})j");
  GetRequest strong(kKey, Consistency::kStrong);
  EXPECT_EQ(body(&strong), std::string(R"j({"TableName":"tokens","Key":)j") + kKeyJson +
                               R"j(,"ConsistentRead":true,"ReturnConsumedCapacity":"INDEXES"})j");
}

TEST(WireRequest, BatchGet) {
  std::vector<Key> keys = {Key("a", "1"), Key("b", "2"), Key("c", "3")};
  BatchGetRequest strong(keys, Consistency::kStrong);
  EXPECT_EQ(write_request(&strong, "tokens").operation, "BatchGetItem");
  EXPECT_EQ(body(&strong),
            R"j({"RequestItems":{"tokens":{"Keys":[{"PK":{"S":"a"},"SK":{"S":"1"}},)j"
            R"j({"PK":{"S":"b"},"SK":{"S":"2"}},{"PK":{"S":"c"},"SK":{"S":"3"}}],)j"
            R"j("ConsistentRead":true}},"ReturnConsumedCapacity":"INDEXES"})j");
  BatchGetRequest eventual(keys, Consistency::kEventual);
  EXPECT_EQ(body(&eventual, {1}),
            R"j({"RequestItems":{"tokens":{"Keys":[{"PK":{"S":"b"},"SK":{"S":"2"}}]}},)j"
            R"j("ReturnConsumedCapacity":"INDEXES"})j");
}

TEST(WireRequest, Put) {
  ImagePtr item = ImageBuilder(kKey)
                      .set(a("n"), std::int64_t{-3})
                      .set(a("blob"), Value::binary("f"))
                      .set(a("text"), "a\"\n")
                      .build();
  const std::string start =
      R"j({"TableName":"tokens","Item":{"PK":{"S":"user#1"},"SK":{"S":"#BUCKET"},)j"
      R"j("blob":{"B":"Zg=="},"n":{"N":"-3"},"text":{"S":"a\"\n"}})j";
  PutRequest plain(item, nullptr);
  WireRequest request = write_request(&plain, "tokens");
  EXPECT_EQ(request.operation, "PutItem");
  EXPECT_TRUE(request.writes);
  EXPECT_EQ(request.body, start + R"j(,"ReturnConsumedCapacity":"INDEXES"})j");
  Condition absent = when({Op::kItemAbsent});
  PutRequest conditional(item, &absent);
  EXPECT_EQ(body(&conditional),
            start +
                R"j(,"ConditionExpression":"attribute_not_exists(#0)",)j"
                R"j("ReturnValuesOnConditionCheckFailure":"ALL_OLD",)j"
                R"j("ExpressionAttributeNames":{"#0":"PK"},"ReturnConsumedCapacity":"INDEXES"})j");
  Condition empty;
  PutRequest unconditional(item, &empty);
  EXPECT_EQ(body(&unconditional), body(&plain));
}

TEST(WireRequest, Update) {
  Values values{{5, -7, 9}, {"abc"}};
  UpdateProgram made = program(
      {{Change::kAdd, a("n"), number(1)},
       {Change::kSet, a("t"), text(0)},
       {Change::kRemove, a("gone")},
       {Change::kSetIfAbsent, a("first"), number(0)},
       {Change::kAdd, a("set"), text(0)},
       {Change::kRemoveFromSet, a("old"), text(0)}},
      Condition().require({Op::kItemExists}).require({Op::kGreaterOrEqual, a("n"), number(2)}));
  UpdateRequest update(kKey, made, values.params());
  WireRequest request = write_request(&update, "tokens");
  EXPECT_EQ(request.operation, "UpdateItem");
  EXPECT_TRUE(request.writes);
  EXPECT_EQ(
      request.body,
      std::string(R"j({"TableName":"tokens","Key":)j") + kKeyJson +
          R"j(,"UpdateExpression":"SET #0=:0,#1=if_not_exists(#1,:1) REMOVE #2 ADD #3 :2,#4 :3 DELETE #5 :3",)j"
          R"j("ConditionExpression":"attribute_exists(#6) AND #3>=:4",)j"
          R"j("ReturnValuesOnConditionCheckFailure":"ALL_OLD",)j"
          R"j("ExpressionAttributeNames":{"#0":"t","#1":"first","#2":"gone","#3":"n","#4":"set","#5":"old","#6":"PK"},)j"
          R"j("ExpressionAttributeValues":{":0":{"S":"abc"},":1":{"N":"5"},":2":{"N":"-7"},":3":{"SS":["abc"]},":4":{"N":"9"}},)j"
          R"j("ReturnValues":"ALL_NEW","ReturnConsumedCapacity":"INDEXES"})j");
}

TEST(WireRequest, UpdateOfNothing) {
  UpdateProgram nothing;
  UpdateRequest update(kKey, nothing, Params());
  EXPECT_EQ(body(&update),
            std::string(R"j({"TableName":"tokens","Key":)j") + kKeyJson +
                R"j(,"ReturnValues":"ALL_NEW","ReturnConsumedCapacity":"INDEXES"})j");
}

TEST(WireRequest, Delete) {
  DeleteRequest plain(kKey, nullptr);
  WireRequest request = write_request(&plain, "tokens");
  EXPECT_EQ(request.operation, "DeleteItem");
  EXPECT_TRUE(request.writes);
  EXPECT_EQ(request.body, std::string(R"j({"TableName":"tokens","Key":)j") + kKeyJson +
                              R"j(,"ReturnConsumedCapacity":"INDEXES"})j");
  Condition exists = when({Op::kItemExists});
  DeleteRequest conditional(kKey, &exists);
  EXPECT_EQ(body(&conditional),
            std::string(R"j({"TableName":"tokens","Key":)j") + kKeyJson +
                R"j(,"ConditionExpression":"attribute_exists(#0)",)j"
                R"j("ReturnValuesOnConditionCheckFailure":"ALL_OLD",)j"
                R"j("ExpressionAttributeNames":{"#0":"PK"},"ReturnConsumedCapacity":"INDEXES"})j");
}

TEST(WireRequest, Transaction) {
  Values values{{5}, {}};
  ImagePtr item = ImageBuilder(Key("a", "1")).build();
  Condition absent = when({Op::kItemAbsent});
  Condition exists = when({Op::kItemExists});
  UpdateProgram add = program({{Change::kAdd, a("n"), number(0)}});
  UpdateProgram nothing;
  Key b("b", "2");
  Key c("c", "3");
  Key d("d", "4");
  Key e("e", "5");
  Condition empty;
  std::vector<TransactItem> items = {
      PutRequest(item, &absent), UpdateRequest(b, add, values.params()), DeleteRequest(c, nullptr),
      CheckRequest(d, exists),   UpdateRequest(e, nothing, Params()),    CheckRequest(kKey, empty)};
  TransactRequest transaction(items, "token-1");
  WireRequest request = write_request(&transaction, "tokens");
  EXPECT_EQ(request.operation, "TransactWriteItems");
  EXPECT_TRUE(request.writes);
  EXPECT_EQ(
      request.body,
      R"j({"TransactItems":[)j"
      R"j({"Put":{"TableName":"tokens","Item":{"PK":{"S":"a"},"SK":{"S":"1"}},)j"
      R"j("ConditionExpression":"attribute_not_exists(#0)","ReturnValuesOnConditionCheckFailure":"ALL_OLD",)j"
      R"j("ExpressionAttributeNames":{"#0":"PK"}}},)j"
      R"j({"Update":{"TableName":"tokens","Key":{"PK":{"S":"b"},"SK":{"S":"2"}},"UpdateExpression":"ADD #0 :0",)j"
      R"j("ExpressionAttributeNames":{"#0":"n"},"ExpressionAttributeValues":{":0":{"N":"5"}}}},)j"
      R"j({"Delete":{"TableName":"tokens","Key":{"PK":{"S":"c"},"SK":{"S":"3"}}}},)j"
      R"j({"ConditionCheck":{"TableName":"tokens","Key":{"PK":{"S":"d"},"SK":{"S":"4"}},)j"
      R"j("ConditionExpression":"attribute_exists(#0)","ReturnValuesOnConditionCheckFailure":"ALL_OLD",)j"
      R"j("ExpressionAttributeNames":{"#0":"PK"}}},)j"
      R"j({"Update":{"TableName":"tokens","Key":{"PK":{"S":"e"},"SK":{"S":"5"}},"UpdateExpression":"REMOVE #0",)j"
      R"j("ExpressionAttributeNames":{"#0":"st_none"}}},)j"
      R"j({"ConditionCheck":{"TableName":"tokens","Key":{"PK":{"S":"user#1"},"SK":{"S":"#BUCKET"}},)j"
      R"j("ConditionExpression":"attribute_exists(#0) OR attribute_not_exists(#0)",)j"
      R"j("ReturnValuesOnConditionCheckFailure":"ALL_OLD","ExpressionAttributeNames":{"#0":"PK"}}}],)j"
      R"j("ClientRequestToken":"token-1","ReturnConsumedCapacity":"INDEXES"})j");
  TransactRequest without_token(items, "");
  EXPECT_EQ(body(&without_token).find("ClientRequestToken"), std::string::npos);
}

TEST(WireRequest, Query) {
  QueryRequest table(Index::kTable, "p", "", 25);
  EXPECT_EQ(write_request(&table, "tokens").operation, "Query");
  EXPECT_FALSE(write_request(&table, "tokens").writes);
  EXPECT_EQ(body(&table), R"j({"TableName":"tokens","KeyConditionExpression":"#0=:0",)j"
                          R"j("ExpressionAttributeNames":{"#0":"PK"},)j"
                          R"j("ExpressionAttributeValues":{":0":{"S":"p"}},"Limit":25,)j"
                          R"j("ReturnConsumedCapacity":"INDEXES"})j");
  for (int i = 1; i <= kIndexCount; ++i) {
    std::string gsi = "GSI" + std::to_string(i);
    QueryRequest index(static_cast<Index>(i), "p", "pre", 1);
    EXPECT_EQ(body(&index),
              R"j({"TableName":"tokens","KeyConditionExpression":"#0=:0 AND begins_with(#1,:1)",)j"
              R"j("ExpressionAttributeNames":{"#0":")j" +
                  gsi + R"j(PK","#1":")j" + gsi +
                  R"j(SK"},"ExpressionAttributeValues":{":0":{"S":"p"},":1":{"S":"pre"}},)j"
                  R"j("IndexName":")j" +
                  gsi + R"j(","Limit":1,"ReturnConsumedCapacity":"INDEXES"})j");
  }
  QueryRequest same(Index::kTable, "p", "p", 1);
  EXPECT_NE(body(&same).find(R"j("#0=:0 AND begins_with(#1,:0)")j"), std::string::npos);
}

TEST(WireRequest, Scan) {
  ScanRequest table(7);
  EXPECT_EQ(write_request(&table, "tokens").operation, "Scan");
  EXPECT_EQ(body(&table),
            R"j({"TableName":"tokens","Limit":7,"ReturnConsumedCapacity":"INDEXES"})j");
  ScanRequest index(7, std::string(), Index::kGsi3);
  EXPECT_EQ(
      body(&index),
      R"j({"TableName":"tokens","IndexName":"GSI3","Limit":7,"ReturnConsumedCapacity":"INDEXES"})j");
}

TEST(WireRequest, PositionsAreThoseOfReplies) {
  const std::string position =
      R"j({"GSI2PK":{"S":"g"},"GSI2SK":{"S":"h"},"PK":{"S":"a"},"SK":{"S":"b\""}})j";
  EXPECT_TRUE(is_position(position));
  EXPECT_TRUE(is_position(kKeyJson));
  QueryRequest query(Index::kGsi2, "g", "", 10, position);
  EXPECT_NE(body(&query).find(",\"ExclusiveStartKey\":" + position + ","), std::string::npos);
  ScanRequest scan(10, " {\"SK\":{\"S\":\"b\"}, \"PK\":{\"S\":\"a\"}}");
  EXPECT_NE(body(&scan).find(R"j(,"ExclusiveStartKey":{"PK":{"S":"a"},"SK":{"S":"b"}},)j"),
            std::string::npos);
}

TEST(WireRequest, NothingElseGetsIntoARequestByWayOfAPosition) {
  for (const std::string& start :
       {std::string("x"), std::string("{}"), std::string("[]"), std::string("null"),
        std::string(R"j({"PK":{"S":"a"}})j"), std::string(R"j({"PK":{"S":"a"},"SK":{"N":"1"}})j"),
        std::string(R"j({"PK":{"S":""},"SK":{"S":"b"}})j"),
        std::string(R"j({"PK":{"S":"a"},"SK":{"S":"b"},"X":{"S":"c"}})j"),
        std::string(R"j({"PK":{"S":"a"},"SK":{"S":"b"},"GSI1PK":{"S":"c"},"GSI2SK":{"S":"c"}})j"),
        std::string(R"j({"PK":{"S":"a"},"SK":{"S":"b"}},"TableName":"other")j"),
        std::string(R"j({"PK":{"S":"a"},"SK":{"S":"b"})j")}) {
    EXPECT_FALSE(is_position(start)) << start;
    ScanRequest scan(10, start);
    EXPECT_EQ(body(&scan), R"j({"TableName":"tokens","Limit":10,"ExclusiveStartKey":{},)j"
                           R"j("ReturnConsumedCapacity":"INDEXES"})j")
        << start;
  }
}

TEST(WireRequest, ConditionsOfEveryKind) {
  Values values{{1, 2}, {"x"}};
  AttrId n = a("n");
  AttrId m = a("m");
  struct Case {
    Condition condition;
    const char* expected;
  };
  const std::vector<Case> cases = {
      {when({Op::kItemExists}), "attribute_exists(#0)"},
      {when({Op::kItemAbsent}), "attribute_not_exists(#0)"},
      {when({Op::kPresent, n}), "attribute_exists(#0)"},
      {when({Op::kAbsent, n}), "attribute_not_exists(#0)"},
      {when({Op::kEqual, n, number(0)}), "#0=:0"},
      // The service's <> is true of an absent attribute, the store's is not.
      {when({Op::kNotEqual, n, number(0)}), "attribute_exists(#0) AND #0<>:0"},
      {when({Op::kLess, n, number(0)}), "#0<:0"},
      {when({Op::kLessOrEqual, n, number(0)}), "#0<=:0"},
      {when({Op::kGreater, n, number(0)}), "#0>:0"},
      {when({Op::kGreaterOrEqual, n, text(0)}), "#0>=:0"},
      {Condition()
           .require({Op::kGreater, n, number(0)})
           .require({Op::kLess, n, number(1)})
           .require({Op::kLess, m, number(0)}),
       "#0>:0 AND #0<:1 AND #1<:0"},
      {Condition().require_any({{{Op::kAbsent, n}}, {{Op::kLess, n, number(0)}}}),
       "attribute_not_exists(#0) OR #0<:0"},
      {Condition()
           .require({Op::kItemExists})
           .require_any({{{Op::kAbsent, n}}, {{Op::kNotEqual, n, number(0)}, {Op::kPresent, m}}}),
       "attribute_exists(#0) AND (attribute_not_exists(#1) OR attribute_exists(#1) AND #1<>:0 AND "
       "attribute_exists(#2))"},
      {Condition()
           .require_any({{{Op::kAbsent, n}}, {{Op::kAbsent, m}}})
           .require_any({{{Op::kPresent, n}, {Op::kPresent, m}}}),
       "(attribute_not_exists(#0) OR attribute_not_exists(#1)) AND attribute_exists(#0) AND "
       "attribute_exists(#1)"},
      {Condition().require_any({}), "attribute_exists(#0) AND attribute_not_exists(#0)"},
      {Condition(), ""},
  };
  for (const Case& one : cases) EXPECT_EQ(condition_text(one.condition, values), one.expected);
}

TEST(WireRequest, UpdatesOfEveryKind) {
  Values values{{1, 2}, {"x"}};
  Operand set = Operand::literal(Value::string_set({"b", "a"}));
  AttrId n = a("n");
  AttrId m = a("m");
  EXPECT_EQ(update_text({{Change::kSet, n, number(0)}}, values), "SET #0=:0");
  EXPECT_EQ(update_text({{Change::kSetIfAbsent, n, text(0)}}, values),
            "SET #0=if_not_exists(#0,:0)");
  EXPECT_EQ(update_text({{Change::kAdd, n, number(0)}, {Change::kAdd, m, number(0)}}, values),
            "ADD #0 :0,#1 :0");
  EXPECT_EQ(update_text({{Change::kAdd, n, set}, {Change::kRemoveFromSet, m, set}}),
            "ADD #0 :0 DELETE #1 :0");
  EXPECT_EQ(update_text({{Change::kRemove, n}, {Change::kRemove, m}}), "REMOVE #0,#1");
  EXPECT_EQ(update_text({{Change::kRemove, n}, {Change::kSet, m, number(1)}}, values),
            "SET #0=:0 REMOVE #1");
}

TEST(WireRequest, EqualValuesShareAPlaceUnlessTheirTypesDiffer) {
  Values values{{5, 5}, {"5", "5"}};
  UpdateProgram made =
      program({{Change::kSet, a("a"), number(0)},
               {Change::kSet, a("b"), number(1)},
               {Change::kSet, a("c"), text(0)},
               {Change::kSet, a("d"), text(1)},
               {Change::kSet, a("e"), Operand::literal(Value::number(5))},
               {Change::kSet, a("f"), Operand::literal(Value::list({Value::number(5)}))},
               {Change::kSet, a("g"), Operand::literal(Value::list({Value::number(5)}))},
               {Change::kSet, a("h"), Operand::literal(Value::number_text("5.0"))},
               {Change::kAdd, a("i"), text(1)}});
  UpdateRequest update(kKey, made, values.params());
  std::string json = body(&update);
  EXPECT_EQ(member_text(json, "UpdateExpression"),
            "SET #0=:0,#1=:0,#2=:1,#3=:1,#4=:0,#5=:2,#6=:2,#7=:3 ADD #8 :4");
  EXPECT_NE(json.find(R"j("ExpressionAttributeValues":{":0":{"N":"5"},":1":{"S":"5"},)j"
                      R"j(":2":{"L":[{"N":"5"}]},":3":{"N":"5.0"},":4":{"SS":["5"]}})j"),
            std::string::npos)
      << json;
}

// ---- Any condition: what is declared is used, and the text means what the condition does ----

// The tokens "#12" and ":3" of an expression.
std::set<std::string> places_in(const std::string& expression) {
  std::set<std::string> found;
  for (std::size_t at = 0; at < expression.size(); ++at) {
    if (expression[at] != '#' && expression[at] != ':') continue;
    std::size_t end = at + 1;
    while (end < expression.size() && isdigit(expression[end])) ++end;
    found.insert(expression.substr(at, end - at));
  }
  return found;
}

// Names of the members of a JSON object of one level in `json` after `name`.
std::set<std::string> declared_in(const std::string& json, char sign) {
  std::set<std::string> found;
  std::string start = std::string("\"") + sign;
  for (std::size_t at = json.find(start); at != std::string::npos; at = json.find(start, at + 1)) {
    if (!isdigit(json[at + 2])) continue;
    std::size_t end = json.find('"', at + 1);
    if (json.compare(end, 2, "\":") == 0) found.insert(json.substr(at + 1, end - at - 1));
  }
  return found;
}

// Evaluates the text of a condition as the service does, for items of numbers: an independent
// reading of what was written.
class Evaluator {
 public:
  Evaluator(std::string text, std::map<std::string, std::string> names,
            std::map<std::string, std::int64_t> values, const Image* item)
      : text_(std::move(text)), names_(std::move(names)), values_(std::move(values)), item_(item) {}

  bool run() {
    bool result = any();
    EXPECT_EQ(at_, text_.size()) << text_;
    return result;
  }

 private:
  bool take(const std::string& word) {
    if (text_.compare(at_, word.size(), word) != 0) return false;
    at_ += word.size();
    return true;
  }
  std::string place() {
    std::size_t start = at_++;
    while (at_ < text_.size() && isdigit(text_[at_])) ++at_;
    return text_.substr(start, at_ - start);
  }
  bool any() {
    bool result = all();
    while (take(" OR ")) result = all() || result;
    return result;
  }
  bool all() {
    bool result = term();
    while (take(" AND ")) result = term() && result;
    return result;
  }
  bool term() {
    if (take("(")) {
      bool result = any();
      EXPECT_TRUE(take(")")) << text_;
      return result;
    }
    bool exists = take("attribute_exists(");
    if (exists || take("attribute_not_exists(")) {
      AttrId attribute = intern(names_.at(place()));
      bool present = item_ && item_->has(attribute);
      EXPECT_TRUE(take(")")) << text_;
      return present == exists;
    }
    std::string name = names_.at(place());
    std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] != ':') ++at_;
    std::string sign = text_.substr(start, at_ - start);
    std::int64_t right = values_.at(place());
    std::optional<std::int64_t> left = item_ ? item_->number(intern(name)) : std::nullopt;
    if (!left) return sign == "<>";
    if (sign == "=") return *left == right;
    if (sign == "<>") return *left != right;
    if (sign == "<") return *left < right;
    if (sign == "<=") return *left <= right;
    if (sign == ">") return *left > right;
    EXPECT_EQ(sign, ">=");
    return *left >= right;
  }

  std::string text_;
  std::map<std::string, std::string> names_;
  std::map<std::string, std::int64_t> values_;
  const Image* item_;
  std::size_t at_ = 0;
};

const char* kNames[] = {"wire a", "wire b", "wire c"};

Term any_number_term() {
  Op test = *rc::gen::element(Op::kItemExists, Op::kItemAbsent, Op::kPresent, Op::kAbsent,
                              Op::kEqual, Op::kNotEqual, Op::kLess, Op::kLessOrEqual, Op::kGreater,
                              Op::kGreaterOrEqual);
  return Term{test, a(kNames[*rc::gen::inRange(0, 3)]), number(*rc::gen::inRange(0, 3))};
}

Condition any_number_condition() {
  Condition condition;
  int clauses = *rc::gen::inRange(0, 4);
  for (int i = 0; i < clauses; ++i) {
    std::vector<std::vector<Term>> alternatives(*rc::gen::inRange<std::size_t>(0, 4));
    for (std::vector<Term>& alternative : alternatives) {
      int terms = *rc::gen::inRange(1, 4);
      for (int j = 0; j < terms; ++j) alternative.push_back(any_number_term());
    }
    condition.require_any(std::move(alternatives));
  }
  return condition;
}

RC_GTEST_PROP(WireRequest, ConditionsMeanWhatTheyAre, ()) {
  Condition condition = any_number_condition();
  Values values{{*rc::gen::inRange<std::int64_t>(0, 3), *rc::gen::inRange<std::int64_t>(0, 3),
                 *rc::gen::inRange<std::int64_t>(0, 3)},
                {}};
  DeleteRequest request(kKey, &condition, values.params());
  std::string json = body(&request);
  std::string expression = member_text(json, "ConditionExpression");
  std::set<std::string> used = places_in(expression);
  std::set<std::string> declared = declared_in(json, '#');
  for (const std::string& place : declared_in(json, ':')) declared.insert(place);
  RC_ASSERT(used == declared);

  std::map<std::string, std::string> names;
  std::map<std::string, std::int64_t> numbers;
  for (const std::string& place : declared) {
    std::size_t at = json.find("\"" + place + "\":") + place.size() + 3;
    if (place[0] == '#') {
      names[place] = json.substr(at + 1, json.find('"', at + 1) - at - 1);
    } else {
      numbers[place] = std::stoll(json.substr(at + std::string(R"j({"N":")j").size()));
    }
  }
  std::set<std::string> different;
  for (const auto& [place, name] : names) RC_ASSERT(different.insert(name).second);
  for (int i = 0; i < 4; ++i) {
    ImagePtr item;
    if (i > 0) {
      ImageBuilder builder(kKey);
      for (const char* name : kNames) {
        if (*rc::gen::arbitrary<bool>())
          builder.set(a(name), *rc::gen::inRange<std::int64_t>(0, 3));
      }
      item = builder.build();
    }
    bool means = expression.empty() || Evaluator(expression, names, numbers, item.get()).run();
    RC_ASSERT(means == holds(condition, item.get(), values.params()));
  }
}

RC_GTEST_PROP(WireRequest, ItemsAreWrittenAsTheirJson, ()) {
  ImagePtr item = test::any_wire_item();
  PutRequest put(item, nullptr);
  RC_ASSERT(body(&put).find("\"Item\":" + to_dynamo_json(*item) + ",") != std::string::npos);
}

TEST(WireRequest, OfATypicalUpdate) {
  // Two limits: the form that the limiter writes most.
  Condition condition;
  std::vector<Action> actions;
  Values values;
  condition.require({Op::kItemExists});
  for (int i = 0; i < 24; ++i) {
    values.numbers.push_back(1'700'000'000'000 + i % 9);
    AttrId attribute = a(("b_limit_" + std::to_string(i % 14)).c_str());
    condition.require({i % 2 == 0 ? Op::kEqual : Op::kGreaterOrEqual, attribute, number(i)});
    if (i < 8) actions.push_back({i % 2 == 0 ? Change::kAdd : Change::kSet, attribute, number(i)});
  }
  UpdateProgram made = program(actions, condition);
  UpdateRequest update(kKey, made, values.params());
  std::string json = body(&update);
  EXPECT_EQ(places_in(member_text(json, "ConditionExpression")).size(), 14u + 1 + 9);
  EXPECT_LT(member_text(json, "ConditionExpression").size(), 4096u);
}

}  // namespace
}  // namespace stint::store::dynamodb
