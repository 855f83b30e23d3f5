// Replies of the service, as it writes them and as it never should.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "store/dynamo_json.h"
#include "store/dynamodb/wire.h"
#include "tests/dynamodb/wire_support.h"
#include "tests/support/table.h"

namespace stint::store::dynamodb {
namespace {

const Key kKey("p", "s");
const std::string kBareItem = R"({"PK":{"S":"p"},"SK":{"S":"s"}})";

AttrId a(const char* name) { return intern(name); }

// The reply of one kind of request to `body`.
template <typename ReplyType>
struct Read {
  Status status;
  ReplyType reply;
};

template <typename ReplyType>
Read<ReplyType> read(const RequestRef& request, std::string_view body,
                     ReplyType start = ReplyType(), const std::vector<std::size_t>& asked = {}) {
  Reply reply = std::move(start);
  Status status = read_reply(request, body, reply, asked);
  return Read<ReplyType>{status, std::get<ReplyType>(reply)};
}

Read<GetReply> read_get(std::string_view body) {
  GetRequest request(kKey, Consistency::kStrong);
  return read<GetReply>(&request, body);
}

// An item with this further text, through a reply; nothing: refused.
ImagePtr item_with(const std::string& attributes) {
  Read<GetReply> got = read_get(R"({"Item":{"PK":{"S":"p"},"SK":{"S":"s"},)" + attributes + "}}");
  if (!got.status.ok()) {
    EXPECT_EQ(got.status.error().code(), ErrorCode::kCorrupt);
    EXPECT_NE(got.status.error().reason().find("reply of the service: "), std::string::npos);
    return ImagePtr();
  }
  return got.reply.image;
}

std::optional<Value> value_of(const std::string& json) {
  ImagePtr item = item_with(R"("v":)" + json);
  return item ? item->value(a("v")) : std::nullopt;
}

TEST(WireReply, GetOfAnItemAndOfNone) {
  Read<GetReply> got = read_get(
      R"({"Item":{"n":{"N":"-12"},"PK":{"S":"p"},"SK":{"S":"s"},"t":{"S":"a\u00e9\n\"b"}},)"
      R"("ConsumedCapacity":{"TableName":"tokens","CapacityUnits":1.5,"Table":{"CapacityUnits":1.5}}})");
  ASSERT_TRUE(got.status.ok()) << got.status.error().message();
  EXPECT_EQ(got.reply.outcome, Outcome::kOk);
  EXPECT_EQ(to_dynamo_json(*got.reply.image),
            "{\"PK\":{\"S\":\"p\"},\"SK\":{\"S\":\"s\"},\"n\":{\"N\":\"-12\"},"
            "\"t\":{\"S\":\"a\xc3\xa9\\n\\\"b\"}}");
  EXPECT_EQ(got.reply.cost, (Cost{1.5, 0, 0}));

  for (const char* none : {"{}", R"({"Unknown":[1,{"x":null}]})", R"({"Item":null})"}) {
    Read<GetReply> absent = read_get(none);
    ASSERT_TRUE(absent.status.ok()) << none;
    EXPECT_FALSE(absent.reply.image);
    EXPECT_EQ(absent.reply.cost, Cost());
  }
}

TEST(WireReply, EveryType) {
  EXPECT_EQ(value_of(R"({"S":""})"), Value::string(""));
  EXPECT_EQ(value_of(R"({"S":"\ud83d\ude00"})"), Value::string("\xf0\x9f\x98\x80"));
  EXPECT_EQ(value_of(R"({"N":"9223372036854775807"})"),
            Value::number(std::numeric_limits<std::int64_t>::max()));
  EXPECT_EQ(value_of(R"({"N":"-9223372036854775808"})"),
            Value::number(std::numeric_limits<std::int64_t>::min()));
  for (const char* decimal : {"9223372036854775808", "0.1", "1E+20", "1e-130", "-0",
                              "99999999999999999999999999999999999999"}) {
    std::optional<Value> value = value_of(R"({"N":")" + std::string(decimal) + "\"}");
    ASSERT_TRUE(value) << decimal;
    ASSERT_TRUE(value->as_decimal()) << decimal;
    EXPECT_EQ(value->as_decimal()->text, decimal) << "no digit is lost";
  }
  EXPECT_EQ(value_of(R"({"BOOL":true})"), Value::boolean(true));
  EXPECT_EQ(value_of(R"({"BOOL":false})"), Value::boolean(false));
  EXPECT_EQ(value_of(R"({"NULL":true})"), Value::null());
  EXPECT_EQ(value_of(R"({"B":""})"), Value::binary(""));
  EXPECT_EQ(value_of(R"({"B":"AP8h"})"), Value::binary(std::string("\0\xff!", 3)));
  EXPECT_EQ(value_of(R"({"SS":["b","a"]})"), Value::string_set({"a", "b"}));
  EXPECT_EQ(value_of(R"({"NS":["10","9","0.5"]})"), Value::number_set({"0.5", "9", "10"}));
  EXPECT_EQ(value_of(R"({"BS":["Yg==",""]})"), Value::binary_set({"", "b"}));
  EXPECT_EQ(value_of(R"({"L":[]})"), Value::list({}));
  EXPECT_EQ(value_of(R"({"M":{}})"), Value::map({}));
  EXPECT_EQ(
      value_of(R"({"M":{"":{"N":"1"},"k":{"L":[{"NULL":true},{"M":{"x":{"B":"eA=="}}}]}}})"),
      Value::map({{"", Value::number(1)},
                  {"k", Value::list({Value::null(), Value::map({{"x", Value::binary("x")}})})}}));
}

TEST(WireReply, ValuesThatTheServiceCannotHaveMeant) {
  for (const char* value : {"{}",
                            "[]",
                            "null",
                            "1",
                            "\"S\"",
                            R"({"S":1})",
                            R"({"S":null})",
                            R"({"S":"a","N":"1"})",
                            R"({"S":"a","S":"a"})",
                            R"({"X":"a"})",
                            R"({"s":"a"})",
                            R"({"N":1})",
                            R"({"N":"1.5.2"})",
                            R"({"N":""})",
                            R"({"N":" 1"})",
                            R"({"N":"1 "})",
                            R"({"N":"0x10"})",
                            R"({"N":"NaN"})",
                            R"({"N":"Infinity"})",
                            R"({"N":"1e126"})",
                            R"({"N":"1e-131"})",
                            R"({"N":"1e999999999999"})",
                            R"({"N":"999999999999999999999999999999999999999"})",
                            R"({"BOOL":"true"})",
                            R"({"BOOL":1})",
                            R"({"NULL":false})",
                            R"({"NULL":"true"})",
                            R"({"NULL":null})",
                            R"({"B":"a"})",
                            R"({"B":"a==="})",
                            R"({"B":"Zh=="})",
                            R"({"B":"Z g="})",
                            R"({"B":"Zg"})",
                            R"({"B":7})",
                            R"({"SS":[]})",
                            R"({"SS":["a","a"]})",
                            R"({"SS":"a"})",
                            R"({"SS":["a",1]})",
                            R"({"NS":[]})",
                            R"({"NS":["1","1.0"]})",
                            R"({"NS":["x"]})",
                            R"({"NS":[1]})",
                            R"({"BS":["Zg==","Zg=="]})",
                            R"({"BS":["f"]})",
                            R"({"BS":[]})",
                            R"({"L":{}})",
                            R"({"L":[1]})",
                            R"({"L":[{}]})",
                            R"({"M":[]})",
                            R"({"M":{"a":1}})",
                            R"({"M":{"a":{"S":"x"},"a":{"S":"x"}}})"}) {
    EXPECT_FALSE(value_of(value)) << value;
  }
}

TEST(WireReply, ItemsThatTheServiceCannotHaveMeant) {
  for (const std::string& item :
       {std::string("[]"), std::string("1"), std::string("{}"), std::string("\"\""),
        std::string(R"({"PK":{"S":"p"}})"), std::string(R"({"SK":{"S":"s"}})"),
        std::string(R"({"PK":{"N":"1"},"SK":{"S":"s"}})"),
        std::string(R"({"PK":{"S":"p"},"SK":{"B":"eA=="}})"),
        std::string(R"({"PK":{"S":"p"},"SK":{"S":"s"},"a":{"N":"1"},"a":{"N":"1"}})"),
        std::string(R"({"PK":{"S":"p"},"SK":{"S":"s"},"":{"N":"1"}})"),
        R"({"PK":{"S":"p"},"SK":{"S":"s"},")" + std::string(256, 'n') + R"(":{"N":"1"}})",
        std::string(R"({"PK":{"S":"other"},"SK":{"S":"s"}})")}) {
    EXPECT_FALSE(read_get("{\"Item\":" + item + "}").status.ok()) << item;
  }
  std::string name(255, 'n');
  EXPECT_TRUE(item_with("\"" + name + R"(":{"N":"1"})"));
}

TEST(WireReply, NoJson) {
  for (const std::string& body : {std::string(),
                                  std::string(" "),
                                  std::string("<html></html>"),
                                  std::string("[]"),
                                  std::string("null"),
                                  std::string("7"),
                                  std::string("\"x\""),
                                  std::string("{"),
                                  std::string("{}}"),
                                  std::string("{} {}"),
                                  std::string("{'Item':{}}"),
                                  std::string("{\"Item\":{},}"),
                                  std::string("{\"a\":01}"),
                                  std::string("{\"a\":1e400}"),
                                  std::string("{\"a\":123456789012345678901234567890}"),
                                  std::string("{\"a\":\"\\x\"}"),
                                  std::string("{\"a\":\"\\ud800\"}"),
                                  std::string("{\"a\":\"\n\"}"),
                                  std::string("{\"a\":\"\xff\"}"),
                                  std::string("{\"a\":\"\xc0\x80\"}"),
                                  std::string("{\"a\":\"\xed\xa0\x80\"}"),
                                  std::string("{\"a\":\"\xf4\x90\x80\x80\"}"),
                                  std::string("{\"a\":\"\xc3\"}"),
                                  std::string("{\"\xff\":1}"),
                                  std::string("{\"a\":1\0}", 8),
                                  std::string("\0", 1)}) {
    Read<GetReply> got = read_get(body);
    ASSERT_FALSE(got.status.ok()) << body;
    EXPECT_EQ(got.status.error().code(), ErrorCode::kCorrupt) << body;
  }
}

TEST(WireReply, KnownMembersComeOnce) {
  EXPECT_FALSE(read_get("{\"Item\":" + kBareItem + ",\"Item\":" + kBareItem + "}").status.ok());
  EXPECT_FALSE(
      read_get(R"({"ConsumedCapacity":{"CapacityUnits":1},"ConsumedCapacity":{}})").status.ok());
  EXPECT_TRUE(read_get(R"({"Other":1,"Other":2})").status.ok());
}

TEST(WireReply, DepthIsBounded) {
  auto nested = [](int depth) {
    std::string value;
    for (int i = 0; i < depth; ++i) value += R"({"L":[)";
    value += R"({"S":"leaf"})";
    for (int i = 0; i < depth; ++i) value += "]}";
    return value;
  };
  EXPECT_TRUE(value_of(nested(32)));
  EXPECT_FALSE(value_of(nested(33)));
  EXPECT_FALSE(value_of(nested(10'000)));
  EXPECT_FALSE(value_of(std::string(10'000, '{')));
  EXPECT_FALSE(read_get(std::string(100'000, '[')).status.ok());
  EXPECT_FALSE(read_get("{\"a\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}")
                   .status.ok());
}

TEST(WireReply, LengthIsBounded) {
  std::string long_text(kMaxReplyBytes, 'x');
  EXPECT_FALSE(read_get("{\"Other\":\"" + long_text + "\"}").status.ok());
  // A reply of 16 MB, the most that the service sends.
  long_text.resize(std::size_t{16} << 20);
  EXPECT_TRUE(read_get("{\"Other\":\"" + long_text + "\"}").status.ok());
  EXPECT_TRUE(read_get("{}").status.ok()) << "and the parser goes on";
}

TEST(WireReply, EveryTruncationIsNoticed) {
  const std::string body =
      R"({"Item":{"PK":{"S":"p"},"SK":{"S":"s"},"n":{"N":"1"},"l":{"L":[{"M":{"k":{"B":"eA=="}}}]},)"
      "\"t\":{\"S\":\"\xf0\x9f\x98\x80\\u00e9\"}},\"ConsumedCapacity\":{\"CapacityUnits\":0.5}}";
  ASSERT_TRUE(read_get(body).status.ok());
  for (std::size_t length = 0; length < body.size(); ++length) {
    EXPECT_FALSE(read_get(std::string_view(body).substr(0, length)).status.ok()) << length;
  }
}

TEST(WireReply, Writes) {
  ImagePtr item = ImageBuilder(kKey).set(a("n"), std::int64_t{1}).build();
  PutRequest put(item, nullptr);
  const std::string capacity =
      R"({"ConsumedCapacity":{"TableName":"tokens","CapacityUnits":5.0,)"
      R"("Table":{"CapacityUnits":2.0},"GlobalSecondaryIndexes":{"GSI1":{"CapacityUnits":1.0},)"
      R"("GSI2":{"CapacityUnits":2.0}}}})";
  Read<WriteReply> written = read<WriteReply>(&put, capacity);
  ASSERT_TRUE(written.status.ok()) << written.status.error().message();
  EXPECT_EQ(written.reply.image, item) << "the very item that was sent";
  EXPECT_EQ(written.reply.cost, (Cost{0, 2, 3}));

  DeleteRequest removal(kKey, nullptr);
  Read<WriteReply> removed = read<WriteReply>(&removal, "{}");
  ASSERT_TRUE(removed.status.ok());
  EXPECT_FALSE(removed.reply.image);

  UpdateProgram add = test::program({{Change::kAdd, a("n"), test::number(0)}});
  std::int64_t one = 1;
  UpdateRequest update(kKey, add, Params{std::span(&one, 1), {}});
  Read<WriteReply> updated =
      read<WriteReply>(&update, R"({"Attributes":{"PK":{"S":"p"},"SK":{"S":"s"},"n":{"N":"2"}}})");
  ASSERT_TRUE(updated.status.ok());
  EXPECT_EQ(updated.reply.image->number(a("n")), 2);
  EXPECT_FALSE(read<WriteReply>(&update, "{}").status.ok()) << "the new item was asked for";
  EXPECT_FALSE(
      read<WriteReply>(&update, R"({"Attributes":{"PK":{"S":"p"},"SK":{"S":"t"}}})").status.ok());

  UpdateProgram drop = test::program({{Change::kRemove, a("n")}});
  UpdateRequest dropping(kKey, drop, Params());
  Read<WriteReply> dropped = read<WriteReply>(&dropping, "{}");
  EXPECT_TRUE(dropped.status.ok()) << "there was no item, and none is made to remove from";
  EXPECT_FALSE(dropped.reply.image);
}

TEST(WireReply, ConsumedCapacity) {
  struct Case {
    const char* capacity;
    Cost read;
    Cost written;
  };
  for (
      const Case& one : std::vector<Case>{
          {R"({"CapacityUnits":3})", {3, 0, 0}, {0, 3, 0}},
          {R"({"CapacityUnits":3,"Table":{"CapacityUnits":1},"GlobalSecondaryIndexes":{"GSI4":{"CapacityUnits":2}}})",
           {3, 0, 0},
           {0, 1, 2}},
          {R"({"CapacityUnits":3,"ReadCapacityUnits":3})", {3, 0, 0}, {3, 0, 0}},
          {R"({"CapacityUnits":3,"WriteCapacityUnits":3,"Table":{"WriteCapacityUnits":2,"CapacityUnits":2},)"
           R"("GlobalSecondaryIndexes":{"GSI1":{"WriteCapacityUnits":1,"CapacityUnits":1}}})",
           {0, 2, 1},
           {0, 2, 1}},
          {R"([{"TableName":"a","CapacityUnits":1},{"TableName":"b","CapacityUnits":2.5}])",
           {3.5, 0, 0},
           {0, 3.5, 0}},
          {R"([])", {0, 0, 0}, {0, 0, 0}},
          {R"({"CapacityUnits":1,"Unknown":{"CapacityUnits":7},"Table":{"CapacityUnits":1,"Odd":[1]}})",
           {1, 0, 0},
           {0, 1, 0}}}) {
    std::string body = std::string("{\"ConsumedCapacity\":") + one.capacity + "}";
    EXPECT_EQ(read_get(body).reply.cost, one.read) << one.capacity;
    DeleteRequest removal(kKey, nullptr);
    EXPECT_EQ(read<WriteReply>(&removal, body).reply.cost, one.written) << one.capacity;
  }
  for (const char* wrong :
       {"1", "\"1\"", R"({"CapacityUnits":"1"})", R"({"CapacityUnits":-1})", R"({"Table":1})",
        R"({"GlobalSecondaryIndexes":[]})", R"({"GlobalSecondaryIndexes":{"GSI1":1}})", "[1]"}) {
    EXPECT_FALSE(read_get(std::string("{\"ConsumedCapacity\":") + wrong + "}").status.ok())
        << wrong;
  }
  GetReply before;
  before.cost = Cost{1, 2, 3};
  GetRequest get(kKey, Consistency::kStrong);
  EXPECT_EQ(read<GetReply>(&get, R"({"ConsumedCapacity":{"CapacityUnits":4}})", before).reply.cost,
            (Cost{5, 2, 3}))
      << "capacity adds up";
}

TEST(WireReply, Transaction) {
  std::vector<TransactItem> items = {DeleteRequest(kKey, nullptr)};
  TransactRequest transaction(items, "");
  Read<TransactReply> done = read<TransactReply>(
      &transaction,
      R"({"ConsumedCapacity":[{"TableName":"a","CapacityUnits":6,"WriteCapacityUnits":6,)"
      R"("Table":{"CapacityUnits":4,"WriteCapacityUnits":4},)"
      R"("GlobalSecondaryIndexes":{"GSI1":{"CapacityUnits":2,"WriteCapacityUnits":2}}},)"
      R"({"TableName":"b","CapacityUnits":2,"WriteCapacityUnits":2}]})");
  ASSERT_TRUE(done.status.ok()) << done.status.error().message();
  EXPECT_EQ(done.reply.cost, (Cost{0, 6, 2}));
  EXPECT_TRUE(done.reply.images.empty());
  EXPECT_TRUE(done.reply.reasons.empty());
  // A repetition under the same token reads.
  Read<TransactReply> again = read<TransactReply>(
      &transaction,
      R"({"ConsumedCapacity":[{"TableName":"a","CapacityUnits":2,)"
      R"("ReadCapacityUnits":2,"Table":{"CapacityUnits":2,"ReadCapacityUnits":2}}]})");
  EXPECT_EQ(again.reply.cost, (Cost{2, 0, 0}));
}

class WireBatch : public ::testing::Test {
 protected:
  std::vector<Key> keys = {Key("a", "1"), Key("b", "2"), Key("c", "3"), Key("d", "4")};
  BatchGetRequest request{keys, Consistency::kStrong};

  static std::string item(const char* pk, const char* sk) {
    return std::string(R"({"PK":{"S":")") + pk + R"("},"SK":{"S":")" + sk + R"("}})";
  }
  static std::string responses(const std::string& items) {
    return R"("Responses":{"tokens":[)" + items + "]}";
  }
  static std::string unprocessed(const std::string& keys) {
    return R"("UnprocessedKeys":{"tokens":{"ConsistentRead":true,"Keys":[)" + keys + "]}}";
  }
};

TEST_F(WireBatch, ItemsFindTheirPlaces) {
  Read<BatchGetReply> first =
      read<BatchGetReply>(&request, "{" + responses(item("d", "4") + "," + item("a", "1")) + "," +
                                        unprocessed(item("c", "3") + "," + item("b", "2")) +
                                        R"(,"ConsumedCapacity":[{"CapacityUnits":2}]})");
  ASSERT_TRUE(first.status.ok()) << first.status.error().message();
  ASSERT_EQ(first.reply.images.size(), 4u);
  EXPECT_EQ(first.reply.images[0]->key(), keys[0]);
  EXPECT_FALSE(first.reply.images[1]);
  EXPECT_FALSE(first.reply.images[2]);
  EXPECT_EQ(first.reply.images[3]->key(), keys[3]);
  EXPECT_EQ(first.reply.unprocessed, (std::vector<std::size_t>{1, 2}));

  Read<BatchGetReply> second = read<BatchGetReply>(
      &request, "{" + responses(item("c", "3")) + R"(,"ConsumedCapacity":[{"CapacityUnits":1}]})",
      first.reply, first.reply.unprocessed);
  ASSERT_TRUE(second.status.ok()) << second.status.error().message();
  EXPECT_EQ(second.reply.images[0]->key(), keys[0]) << "what was answered before stays";
  EXPECT_FALSE(second.reply.images[1]) << "there is no such item";
  EXPECT_EQ(second.reply.images[2]->key(), keys[2]);
  EXPECT_TRUE(second.reply.unprocessed.empty());
  EXPECT_EQ(second.reply.cost, (Cost{3, 0, 0}));
}

TEST_F(WireBatch, NothingAtAll) {
  for (const char* body : {"{}", R"({"Responses":{}})", R"({"Responses":{"tokens":[]}})",
                           R"({"Responses":{"tokens":[]},"UnprocessedKeys":{}})"}) {
    Read<BatchGetReply> got = read<BatchGetReply>(&request, body);
    ASSERT_TRUE(got.status.ok()) << body;
    EXPECT_EQ(got.reply.images.size(), 4u);
    EXPECT_TRUE(got.reply.unprocessed.empty());
  }
}

TEST_F(WireBatch, AnswersToOtherQuestionsAreRefused) {
  for (const std::string& body :
       {"{" + responses(item("a", "2")) + "}",
        "{" + responses(item("a", "1") + "," + item("a", "1")) + "}",
        "{" + responses(item("a", "1")) + "," + unprocessed(item("a", "1")) + "}",
        "{" + unprocessed(item("x", "1")) + "}", "{" + unprocessed("{}") + "}",
        "{" + unprocessed(R"({"PK":{"S":"a"},"SK":{"N":"1"}})") + "}",
        std::string(R"({"Responses":[]})"), std::string(R"({"Responses":{"tokens":{}}})"),
        std::string(R"({"UnprocessedKeys":{"tokens":[]}})"),
        "{" + responses(item("a", "1")) + "," + responses(item("b", "2")) + "}"}) {
    EXPECT_FALSE(read<BatchGetReply>(&request, body).status.ok()) << body;
  }
  EXPECT_FALSE(
      read<BatchGetReply>(&request, "{" + responses(item("a", "1")) + "}", BatchGetReply(), {1, 2})
          .status.ok())
      << "this one was answered before";
}

TEST(WireReply, Pages) {
  QueryRequest query(Index::kGsi1, "g", "", 10);
  Read<QueryReply> page = read<QueryReply>(
      &query,
      R"({"Count":2,"ScannedCount":2,"Items":[{"PK":{"S":"a"},"SK":{"S":"b"},"GSI1PK":{"S":"g"},)"
      R"("GSI1SK":{"S":"h"}},{"PK":{"S":"c"},"SK":{"S":"d"}}],)"
      R"("LastEvaluatedKey":{"SK":{"S":"d"},"PK":{"S":"c"},"GSI1SK":{"S":"h"},"GSI1PK":{"S":"g"}},)"
      R"("ConsumedCapacity":{"CapacityUnits":1.5,"Table":{"CapacityUnits":0.5},)"
      R"("GlobalSecondaryIndexes":{"GSI1":{"CapacityUnits":1.0}}}})");
  ASSERT_TRUE(page.status.ok()) << page.status.error().message();
  ASSERT_EQ(page.reply.images.size(), 2u);
  EXPECT_EQ(page.reply.images[1]->key(), Key("c", "d"));
  EXPECT_EQ(page.reply.cost, (Cost{1.5, 0, 0}));
  ASSERT_TRUE(page.reply.next);
  EXPECT_EQ(*page.reply.next,
            R"({"GSI1PK":{"S":"g"},"GSI1SK":{"S":"h"},"PK":{"S":"c"},"SK":{"S":"d"}})");
  EXPECT_TRUE(is_position(*page.reply.next));

  ScanRequest scan(10);
  Read<ScanReply> last = read<ScanReply>(&scan, R"({"Items":[],"Count":0})");
  ASSERT_TRUE(last.status.ok());
  EXPECT_TRUE(last.reply.images.empty());
  EXPECT_FALSE(last.reply.next);
  Read<ScanReply> empty_page =
      read<ScanReply>(&scan, R"({"Count":0,"LastEvaluatedKey":{"PK":{"S":"a"},"SK":{"S":"b"}}})");
  ASSERT_TRUE(empty_page.status.ok()) << "a page may be empty and not the last";
  EXPECT_TRUE(empty_page.reply.next);
  for (const char* body :
       {R"({"Items":{}})", R"({"Items":[1]})", R"({"Items":[{}]})", R"({"LastEvaluatedKey":1})",
        R"({"LastEvaluatedKey":{}})", R"({"LastEvaluatedKey":{"PK":{"S":"a"}}})",
        R"({"LastEvaluatedKey":{"PK":{"S":"a"},"SK":{"S":"b"},"X":{"S":"c"}}})"}) {
    EXPECT_FALSE(read<ScanReply>(&scan, body).status.ok()) << body;
  }
}

RC_GTEST_PROP(WireReply, ItemsComeBack, ()) {
  std::vector<ImagePtr> items;
  std::string body = R"({"Items":[)";
  int count = *rc::gen::inRange(0, 4);
  for (int i = 0; i < count; ++i) {
    items.push_back(test::any_wire_item());
    if (i > 0) body += ',';
    append_dynamo_json(body, *items.back());
  }
  body += "]}";
  ScanRequest scan(10);
  Read<ScanReply> page = read<ScanReply>(&scan, body);
  RC_ASSERT(page.status.ok());
  RC_ASSERT(page.reply.images.size() == items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    RC_ASSERT(*page.reply.images[i] == *items[i]);
    RC_ASSERT(page.reply.images[i]->size_bytes() == items[i]->size_bytes());
  }
}

TEST(WireChecksum, IsThatOfTheStandard) {
  EXPECT_EQ(crc32(""), 0u);
  EXPECT_EQ(crc32("123456789"), 0xcbf43926u);
  EXPECT_EQ(crc32("{}"), 0xa3a6bf43u);
}

RC_GTEST_PROP(WireChecksum, IsThatOfTheDefinition, ()) {
  std::string bytes = test::any_bytes();
  std::uint32_t rest = 0xffffffffu;
  for (char c : bytes) {
    rest ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) != 0 ? 0xedb88320u : 0);
  }
  RC_ASSERT(crc32(bytes) == ~rest);
}

}  // namespace
}  // namespace stint::store::dynamodb
