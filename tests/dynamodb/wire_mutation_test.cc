// Replies and errors with random damage: whatever comes, it is read or refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "store/dynamo_json.h"
#include "store/dynamodb/reply_of_error.h"
#include "store/dynamodb/wire.h"
#include "tests/support/seed.h"

namespace stint::store::dynamodb {
namespace {

constexpr int kRounds = 20'000;

const std::vector<std::string>& samples() {
  static const std::vector<std::string> texts = {
      R"({"Item":{"PK":{"S":"p"},"SK":{"S":"s"},"n":{"N":"-12.5e3"},"l":{"L":[{"M":{"k":{"B":"eA=="}}},)"
      R"({"NULL":true},{"BOOL":false}]},"s":{"SS":["a","b"]},"t":{"NS":["1","2"]},"u":{"BS":["eA=="]}},)"
      R"("ConsumedCapacity":{"TableName":"t","CapacityUnits":1.5,"Table":{"CapacityUnits":0.5},)"
      R"("GlobalSecondaryIndexes":{"GSI1":{"CapacityUnits":1}}}})",
      R"({"Attributes":{"PK":{"S":"p"},"SK":{"S":"s"},"t":{"S":"\ud83d\ude00\"\\"}}})",
      R"({"Responses":{"t":[{"PK":{"S":"p"},"SK":{"S":"s"}}]},"UnprocessedKeys":{"t":{"Keys":)"
      R"([{"PK":{"S":"q"},"SK":{"S":"s"}}]}},"ConsumedCapacity":[{"CapacityUnits":1}]})",
      R"({"Items":[{"PK":{"S":"p"},"SK":{"S":"s"}}],"Count":1,"LastEvaluatedKey":)"
      R"({"PK":{"S":"p"},"SK":{"S":"s"}}})",
      R"({"__type":"a#TransactionCanceledException","Message":"x [None, ConditionalCheckFailed]",)"
      R"("CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed","Message":"m",)"
      R"("Item":{"PK":{"S":"p"},"SK":{"S":"s"}}}],"ThrottlingReasons":[{"reason":"TableWriteKeyRange"}]})",
      R"({"__type":"ConditionalCheckFailedException","message":"m","Item":{"PK":{"S":"p"},"SK":{"S":"s"}}})"};
  return texts;
}

class Mutator {
 public:
  explicit Mutator(std::uint32_t seed) : random_(seed) {}

  std::size_t below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
  }

  std::string next() {
    std::string text = samples()[below(samples().size())];
    std::size_t changes = 1 + below(4);
    for (std::size_t i = 0; i < changes && !text.empty(); ++i) change(text);
    return text;
  }

 private:
  // A whole piece between two marks moves more than single bytes do.
  std::string piece() {
    const std::string& from = samples()[below(samples().size())];
    std::size_t start = below(from.size());
    return from.substr(start, 1 + below(40));
  }

  void change(std::string& text) {
    static const char* const kWords[] = {
        "{",       "}",    "[",    "]",        ",",        ":",
        "\"",      "null", "true", "1e999",    "-0",       "99999999999999999999",
        "\\u0000", "\\",   "\xff", "\xf0\x9f", "{\"L\":[", "{\"S\":\"\"}",
        "\"PK\":"};
    std::size_t at = below(text.size());
    switch (below(6)) {
      case 0: text[at] = static_cast<char>(below(256)); return;
      case 1: text.erase(at, 1 + below(20)); return;
      case 2: text.insert(at, kWords[below(std::size(kWords))]); return;
      case 3: text.insert(at, piece()); return;
      case 4: text.resize(at); return;
      default: {
        std::string word = kWords[below(std::size(kWords))];
        std::size_t times = 1 + below(200);
        for (std::size_t i = 0; i < times; ++i) text.insert(at, word);
      }
    }
  }

  std::mt19937 random_;
};

// Every image that was read is in good order: its JSON reads back as the same.
void check(const ImagePtr& image, const std::string& body) {
  if (!image) return;
  Result<ImagePtr> again = from_dynamo_json(to_dynamo_json(*image));
  ASSERT_TRUE(again.ok()) << body;
  EXPECT_EQ(**again, *image) << body;
  EXPECT_EQ((*again)->size_bytes(), image->size_bytes()) << body;
}

TEST(WireMutation, DamagedRepliesAreReadOrRefused) {
  Mutator mutator(test::seed());
  Key key("p", "s");
  std::vector<Key> keys = {key, Key("q", "s")};
  GetRequest get(key, Consistency::kStrong);
  BatchGetRequest batch(keys, Consistency::kStrong);
  UpdateProgram add;
  add.actions.push_back(Action{Change::kSet, intern("n"), Operand::literal(Value::number(1))});
  UpdateRequest update(key, add, Params());
  std::vector<TransactItem> items = {DeleteRequest(key, nullptr), DeleteRequest(keys[1], nullptr)};
  TransactRequest transaction(items, "token");
  QueryRequest query(Index::kTable, "p", "", 10);
  ScanRequest scan(10);
  const std::vector<RequestRef> requests = {&get, &batch, &update, &transaction, &query, &scan};
  int read = 0;
  int refused = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::string body = mutator.next();
    Call call{requests[mutator.below(requests.size())], {}};
    ServiceError nothing;
    // Gives the call the reply that its request has.
    answer_with(nothing, "t", call);
    std::visit([](ReplyBase& reply) { reply.outcome = Outcome::kOk; }, call.reply);
    Status status = read_reply(call.request, body, call.reply);
    if (!status.ok()) {
      ++refused;
      EXPECT_EQ(status.error().code(), ErrorCode::kCorrupt) << body;
      EXPECT_FALSE(status.error().reason().empty());
      continue;
    }
    ++read;
    if (const auto* got = std::get_if<GetReply>(&call.reply)) check(got->image, body);
    if (const auto* got = std::get_if<WriteReply>(&call.reply)) check(got->image, body);
    if (const auto* got = std::get_if<BatchGetReply>(&call.reply)) {
      ASSERT_EQ(got->images.size(), keys.size());
      for (std::size_t i = 0; i < keys.size(); ++i) {
        check(got->images[i], body);
        if (got->images[i]) {
          EXPECT_EQ(got->images[i]->key(), keys[i]);
        }
      }
      for (std::size_t place : got->unprocessed) ASSERT_LT(place, keys.size());
    }
    if (const auto* got = std::get_if<QueryReply>(&call.reply)) {
      for (const ImagePtr& image : got->images) check(image, body);
      EXPECT_TRUE(!got->next || is_position(*got->next)) << *got->next;
    }
  }
  EXPECT_GT(read, kRounds / 100);
  EXPECT_GT(refused, kRounds / 2);
}

TEST(WireMutation, DamagedErrorsAreErrors) {
  Mutator mutator(test::seed() + 1);
  Key key("p", "s");
  std::vector<TransactItem> items = {DeleteRequest(key, nullptr)};
  TransactRequest transaction(items, "token");
  const int statuses[] = {301, 400, 403, 500, 502, 503};
  for (int round = 0; round < kRounds; ++round) {
    std::string body = mutator.next();
    int status = statuses[mutator.below(std::size(statuses))];
    ServiceError error = read_error(status, body);
    EXPECT_EQ(error.status, status);
    EXPECT_LE(error.message.size(), 1024u);
    for (char c : error.message) {
      ASSERT_GE(static_cast<unsigned char>(c), 0x20) << error.message;
    }
    check(error.old_item, body);
    Call call{&transaction, {}};
    answer_with(error, "t", call);
    const auto& reply = std::get<TransactReply>(call.reply);
    EXPECT_NE(reply.outcome, Outcome::kOk);
    EXPECT_FALSE(reply.message.empty());
    EXPECT_TRUE(reply.reasons.empty() || reply.reasons.size() == items.size());
  }
}

}  // namespace
}  // namespace stint::store::dynamodb
