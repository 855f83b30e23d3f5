#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "store/apply.h"
#include "tests/contract/engines.h"
#include "tests/support/table.h"

namespace stint::store {
namespace {

using test::EngineFactory;
using test::number;
using test::Op;
using test::program;
using test::Table;
using test::text;
using test::Values;
using test::when;

AttrId a(const char* name) { return intern(name); }

const Key kKey("p", "s");
const Term kExists{Op::kItemExists};
const Term kMissing{Op::kItemAbsent};

ImagePtr item(const Key& key, std::int64_t n = 0) {
  return ImageBuilder(key).set(a("n"), n).build();
}

ImagePtr indexed(const Key& key, int index, const std::string& partition, const std::string& sort,
                 std::int64_t n = 0) {
  return ImageBuilder(*item(key, n))
      .set(index_pk(index), partition)
      .set(index_sk(index), sort)
      .build();
}

std::string json(const ImagePtr& image) { return image ? to_dynamo_json(*image) : "no item"; }

using Names = std::vector<std::string>;

class EngineContract : public testing::TestWithParam<EngineFactory> {
 protected:
  EngineContract() : table_(GetParam().make(false)) {}

  double index_units_of_debit(const ImagePtr& image) const {
    return write_cost_in_place(*image, *image, layout(), false).index_write_units;
  }
  IndexLayout layout() const { return table_.engine().capabilities().index_layout; }

  const test::EngineTraits& traits() const { return GetParam().traits; }
  /// A token that no other test uses: tables may share what remembers them.
  std::string token(const std::string& name) const {
    return name + "-" + std::to_string(number_) + "-" + std::to_string(getpid());
  }

  Table table_;

 private:
  static inline int tests_ = 0;
  const int number_ = ++tests_;
};

INSTANTIATE_TEST_SUITE_P(Engines, EngineContract, testing::ValuesIn(test::engine_factories()),
                         [](const auto& param) { return param.param.name; });

// ---- Single items ----

TEST_P(EngineContract, GetOfNothing) {
  GetReply reply = table_.get(kKey);
  EXPECT_EQ(reply.outcome, Outcome::kOk);
  EXPECT_FALSE(reply.image);
  EXPECT_EQ(reply.cost, (Cost{1, 0, 0}));
  EXPECT_EQ(table_.get(kKey, Consistency::kEventual).cost, (Cost{0.5, 0, 0}));
}

TEST_P(EngineContract, PutReplacesTheWholeItem) {
  ImagePtr first = ImageBuilder(kKey).set(a("x"), std::int64_t{1}).set(a("y"), "why").build();
  ImagePtr second = ImageBuilder(kKey).set(a("y"), Value::list({Value::null()})).build();
  for (const ImagePtr& image : {first, second}) {
    WriteReply reply = table_.put(image);
    EXPECT_EQ(reply.outcome, Outcome::kOk);
    EXPECT_EQ(reply.message, "");
    EXPECT_EQ(reply.cost, (Cost{0, 1, 0}));
    EXPECT_EQ(json(reply.image), json(image));
    EXPECT_EQ(json(table_.image(kKey)), json(image));
  }
}

TEST_P(EngineContract, ConditionalPut) {
  Condition absent = when(kMissing);
  Condition large = when({Op::kGreater, a("n"), number(0)});
  EXPECT_EQ(table_.put(item(kKey, 1), &large, {{0}}).outcome, Outcome::kConditionFailed);
  EXPECT_FALSE(table_.image(kKey));
  EXPECT_EQ(table_.put(item(kKey, 1), &absent).outcome, Outcome::kOk);
  WriteReply again = table_.put(item(kKey, 2), &absent);
  EXPECT_EQ(again.outcome, Outcome::kConditionFailed);
  EXPECT_EQ(json(again.image), json(item(kKey, 1))) << "the old image tells why";
  EXPECT_EQ(table_.put(item(kKey, 3), &large, {{0}}).outcome, Outcome::kOk);
  EXPECT_EQ(json(table_.image(kKey)), json(item(kKey, 3)));
}

TEST_P(EngineContract, Delete) {
  EXPECT_EQ(table_.remove(kKey).outcome, Outcome::kOk) << "of nothing is no error";
  table_.put(item(kKey, 1));
  Condition wrong = when({Op::kEqual, a("n"), number(0)});
  WriteReply refused = table_.remove(kKey, &wrong, {{5}});
  EXPECT_EQ(refused.outcome, Outcome::kConditionFailed);
  EXPECT_EQ(json(refused.image), json(item(kKey, 1)));
  WriteReply done = table_.remove(kKey, &wrong, {{1}});
  EXPECT_EQ(done.outcome, Outcome::kOk);
  EXPECT_FALSE(done.image);
  EXPECT_FALSE(table_.image(kKey));
  EXPECT_EQ(table_.remove(kKey, &wrong, {{1}}).outcome, Outcome::kConditionFailed);
}

TEST_P(EngineContract, UpdateCreatesAndChanges) {
  UpdateProgram count = program({{Change::kAdd, a("n"), number(0)},
                                 {Change::kSetIfAbsent, a("first"), number(1)},
                                 {Change::kSet, a("last"), text(0)}});
  WriteReply created = table_.update(kKey, count, {{5, 100}, {"one"}});
  EXPECT_EQ(created.outcome, Outcome::kOk);
  WriteReply changed = table_.update(kKey, count, {{7, 200}, {"two"}});
  ImagePtr expected = ImageBuilder(kKey)
                          .set(a("n"), std::int64_t{12})
                          .set(a("first"), std::int64_t{100})
                          .set(a("last"), "two")
                          .build();
  EXPECT_EQ(json(changed.image), json(expected));
  EXPECT_EQ(json(table_.image(kKey)), json(expected));
  EXPECT_EQ(created.image->number(a("n")), 5) << "an image in hand never changes";
}

TEST_P(EngineContract, UpdateOfEveryKind) {
  table_.put(ImageBuilder(kKey)
                 .set(a("n"), std::int64_t{1})
                 .set(a("gone"), "x")
                 .set(a("set"), Value::string_set({"a", "b"}))
                 .build());
  UpdateProgram all =
      program({{Change::kSet, a("n"), Operand::literal(Value::boolean(true))},
               {Change::kRemove, a("gone")},
               {Change::kRemove, a("never there")},
               {Change::kRemoveFromSet, a("set"), text(0)},
               {Change::kAdd, a("new set"), text(1)},
               {Change::kSet, a("half"), Operand::literal(Value::number_text("0.5"))}});
  EXPECT_EQ(table_.update(kKey, all, {{}, {"a", "z"}}).outcome, Outcome::kOk);
  EXPECT_EQ(json(table_.image(kKey)), json(ImageBuilder(kKey)
                                               .set(a("n"), true)
                                               .set(a("set"), Value::string_set({"b"}))
                                               .set(a("new set"), Value::string_set({"z"}))
                                               .set(a("half"), Value::number_text("0.5"))
                                               .build()));
}

TEST_P(EngineContract, FailedUpdateChangesNothing) {
  UpdateProgram debit =
      program({{Change::kAdd, a("n"), number(0)}}, when({Op::kGreaterOrEqual, a("n"), number(1)}));
  WriteReply nothing = table_.update(kKey, debit, {{-5, 5}});
  EXPECT_EQ(nothing.outcome, Outcome::kConditionFailed);
  EXPECT_FALSE(nothing.image);
  EXPECT_NE(nothing.message, "");
  EXPECT_FALSE(table_.image(kKey)) << "no item was created";
  table_.put(item(kKey, 4));
  WriteReply short_of = table_.update(kKey, debit, {{-5, 5}});
  EXPECT_EQ(short_of.outcome, Outcome::kConditionFailed);
  EXPECT_EQ(json(short_of.image), json(item(kKey, 4)));
  EXPECT_EQ(table_.update(kKey, debit, {{-4, 4}}).outcome, Outcome::kOk);
  EXPECT_EQ(json(table_.image(kKey)), json(item(kKey, 0)));
}

TEST_P(EngineContract, RefusedUpdateChangesNothing) {
  table_.put(item(kKey, 4));
  for (const UpdateProgram& refused :
       {program({{Change::kSet, a("x"), number(0)}, {Change::kAdd, a("n"), text(0)}}),
        program({{Change::kSet, kPk, text(0)}}),
        program({{Change::kSet, index_pk(2), number(0)}})}) {
    WriteReply reply = table_.update(kKey, refused, {{1}, {"word"}});
    EXPECT_EQ(reply.outcome, Outcome::kInvalid);
    EXPECT_NE(reply.message, "");
    EXPECT_FALSE(reply.image);
  }
  EXPECT_EQ(json(table_.image(kKey)), json(item(kKey, 4)));
}

TEST_P(EngineContract, ConditionsOnEveryRequest) {
  table_.put(ImageBuilder(kKey).set(a("n"), std::int64_t{5}).set(a("s"), "m").build());
  Values values{{5, 4}, {"m", "x"}};
  Term yes{Op::kEqual, a("n"), number(0)};
  Term no{Op::kEqual, a("n"), number(1)};
  struct Case {
    Condition condition;
    bool holds;
  };
  const std::vector<Case> cases = {
      {Condition(), true},
      {when(kExists), true},
      {when(kMissing), false},
      {when({Op::kPresent, a("s")}), true},
      {when({Op::kAbsent, a("s")}), false},
      {when({Op::kAbsent, a("t")}), true},
      {when({Op::kLess, a("s"), text(1)}), true},
      {when({Op::kLess, a("s"), number(0)}), false},
      {when({Op::kNotEqual, a("s"), number(0)}), true},
      {when({Op::kNotEqual, a("t"), number(0)}), false},
      {Condition().require(yes).require(no), false},
      {Condition().require_any({{no}, {yes}}).require(yes), true},
      {Condition().require_any({{no, yes}, {no}}), false},
  };
  UpdateProgram touch = program({});
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Condition& condition = cases[i].condition;
    Outcome expected = cases[i].holds ? Outcome::kOk : Outcome::kConditionFailed;
    touch.condition = condition;
    ImagePtr before = table_.image(kKey);
    EXPECT_EQ(table_.update(kKey, touch, values).outcome, expected) << i;
    EXPECT_EQ(table_.put(before, &condition, values).outcome, expected) << i;
    EXPECT_EQ(table_.transact({CheckRequest(kKey, condition, values.params())}).outcome, expected)
        << i;
    EXPECT_EQ(table_.remove(kKey, &condition, values).outcome, expected) << i;
    EXPECT_EQ(table_.image(kKey) ? Outcome::kConditionFailed : Outcome::kOk, expected) << i;
    table_.put(before);
  }
}

TEST_P(EngineContract, KeysOfAnyBytes) {
  const std::string zero(1, '\0');
  std::vector<Key> keys = {
      Key("p", "s"),  Key("p" + zero, "s"), Key("p", zero + "s"),        Key("p" + zero + "s", "s"),
      Key("ps", "s"), Key("p", "ss"),       Key("p" + zero + zero, zero)};
  if (traits().takes_any_bytes) keys.emplace_back("p\xff", "s");
  for (std::size_t i = 0; i < keys.size(); ++i) {
    table_.put(item(keys[i], static_cast<std::int64_t>(i)));
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(json(table_.image(keys[i])), json(item(keys[i], static_cast<std::int64_t>(i))));
  }
  EXPECT_EQ(table_.sort_keys(Index::kTable, "p"), (Names{zero + "s", "s", "ss"}));
}

TEST_P(EngineContract, LimitsAreRefused) {
  std::string long_key(2049, 'k');
  EXPECT_EQ(table_.get(Key("", "s")).outcome, Outcome::kInvalid);
  EXPECT_EQ(table_.get(Key(long_key, "s")).outcome, Outcome::kInvalid);
  EXPECT_EQ(table_.remove(Key("p", long_key)).outcome, Outcome::kInvalid);
  EXPECT_EQ(table_.update(Key("p", ""), program({})).outcome, Outcome::kInvalid);
  std::string large(400 * 1024, 'x');
  EXPECT_EQ(table_.put(ImageBuilder(kKey).set(a("x"), large).build()).outcome, Outcome::kInvalid);
  EXPECT_EQ(table_.update(kKey, program({{Change::kSet, a("x"), text(0)}}), {{}, {large}}).outcome,
            Outcome::kInvalid);
  EXPECT_EQ(table_.put(ImageBuilder(kKey).set(index_pk(1), "").build()).outcome, Outcome::kInvalid);
  EXPECT_EQ(table_.query(Index::kTable, "p", "", 0).outcome, Outcome::kInvalid);
  EXPECT_FALSE(table_.image(kKey));
}

// ---- Batches ----

TEST_P(EngineContract, BatchGet) {
  std::vector<Key> keys;
  for (int i = 0; i < 100; ++i) keys.emplace_back("p" + std::to_string(i), "s");
  for (int i = 0; i < 100; i += 2) table_.put(item(keys[static_cast<std::size_t>(i)], i));
  BatchGetReply reply = table_.batch_get(keys);
  EXPECT_EQ(reply.outcome, Outcome::kOk);
  EXPECT_TRUE(reply.unprocessed.empty());
  ASSERT_EQ(reply.images.size(), 100u);
  for (int i = 0; i < 100; ++i) {
    const ImagePtr& image = reply.images[static_cast<std::size_t>(i)];
    EXPECT_EQ(json(image),
              i % 2 == 0 ? json(item(keys[static_cast<std::size_t>(i)], i)) : "no item");
  }
  EXPECT_EQ(reply.cost, (Cost{50, 0, 0})) << "rounded up for each key";

  keys.emplace_back("one too many", "s");
  EXPECT_EQ(table_.batch_get(keys).outcome, Outcome::kInvalid);
  EXPECT_EQ(table_.batch_get({kKey, Key("q", "s"), kKey}).outcome, Outcome::kInvalid);
  EXPECT_EQ(table_.batch_get({}).outcome, Outcome::kInvalid);
}

TEST_P(EngineContract, CallsOfABatchKeepTheirOrder) {
  UpdateProgram count = program({{Change::kAdd, a("n"), number(0)}});
  UpdateProgram debit =
      program({{Change::kAdd, a("n"), number(0)}}, when({Op::kGreaterOrEqual, a("n"), number(1)}));
  Values plus{{5}, {}};
  Values minus{{-4, 4}, {}};
  Key other("q", "s");
  GetRequest read(kKey, Consistency::kStrong);
  UpdateRequest add(kKey, count, plus.params());
  UpdateRequest take(kKey, debit, minus.params());
  UpdateRequest elsewhere(other, count, plus.params());
  DeleteRequest drop(kKey, nullptr);
  DeleteRequest invalid(Key(), nullptr);
  Key empty;
  DeleteRequest refused(empty, nullptr);
  PutRequest fresh(item(kKey, 100), nullptr);
  QueryRequest query(Index::kTable, "p", "", 10);
  TransactItem in_transaction[] = {UpdateRequest(kKey, count, plus.params())};
  TransactRequest transaction(in_transaction, "");
  std::vector<Call> calls = {{&read, {}},    {&add, {}},         {&take, {}},  {&take, {}},
                             {&read, {}},    {&elsewhere, {}},   {&drop, {}},  {&read, {}},
                             {&refused, {}}, {&take, {}},        {&query, {}}, {&fresh, {}},
                             {&add, {}},     {&transaction, {}}, {&add, {}},   {&read, {}}};
  table_.engine().execute(calls);
  auto write = [&](std::size_t i) { return std::get<WriteReply>(calls[i].reply); };
  auto got = [&](std::size_t i) { return json(std::get<GetReply>(calls[i].reply).image); };
  EXPECT_EQ(got(0), "no item");
  EXPECT_EQ(json(write(1).image), json(item(kKey, 5)));
  EXPECT_EQ(json(write(2).image), json(item(kKey, 1)));
  EXPECT_EQ(write(3).outcome, Outcome::kConditionFailed);
  EXPECT_EQ(json(write(3).image), json(item(kKey, 1)));
  EXPECT_EQ(got(4), json(item(kKey, 1)));
  EXPECT_EQ(json(write(5).image), json(item(other, 5)));
  EXPECT_EQ(write(6).outcome, Outcome::kOk);
  EXPECT_EQ(got(7), "no item");
  EXPECT_EQ(write(8).outcome, Outcome::kInvalid);
  EXPECT_EQ(write(9).outcome, Outcome::kConditionFailed);
  EXPECT_FALSE(write(9).image);
  EXPECT_TRUE(std::get<QueryReply>(calls[10].reply).images.empty());
  EXPECT_EQ(json(write(12).image), json(item(kKey, 105)));
  if (traits().tells_transaction_images) {
    EXPECT_EQ(json(std::get<TransactReply>(calls[13].reply).images.at(0)), json(item(kKey, 110)));
  }
  EXPECT_EQ(json(write(14).image), json(item(kKey, 115)));
  EXPECT_EQ(got(15), json(item(kKey, 115)));
  EXPECT_EQ(json(table_.image(kKey)), json(item(kKey, 115)));
  EXPECT_EQ(json(table_.image(other)), json(item(other, 5)));
}

TEST_P(EngineContract, ManyItemsInOneBatch) {
  constexpr std::size_t kItems = 300;
  UpdateProgram count = program({{Change::kAdd, a("n"), number(0)}});
  Values plus{{1}, {}};
  std::vector<Key> keys;
  for (std::size_t i = 0; i < kItems; ++i) keys.emplace_back("p" + std::to_string(i % 200), "s");
  std::vector<UpdateRequest> requests;
  for (const Key& key : keys) requests.emplace_back(key, count, plus.params());
  std::vector<Call> calls;
  for (const UpdateRequest& request : requests) calls.push_back(Call{&request, {}});
  for (const Key& key : keys) table_.engine().prefetch(key.hash());
  table_.engine().execute(calls);
  for (std::size_t i = 0; i < kItems; ++i) {
    const auto& reply = std::get<WriteReply>(calls[i].reply);
    EXPECT_EQ(reply.outcome, Outcome::kOk);
    EXPECT_EQ(json(reply.image), json(item(keys[i], i < 200 ? 1 : 2)));
  }
  for (std::size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(json(table_.image(keys[i])), json(item(keys[i], i < 100 ? 2 : 1)));
  }
}

// ---- Transactions ----

TEST_P(EngineContract, TransactionAppliesAll) {
  Key put_key("put", "s"), update_key("update", "s"), delete_key("delete", "s"),
      check_key("c", "s");
  table_.put(item(update_key, 1));
  table_.put(item(delete_key, 2));
  table_.put(item(check_key, 3));
  UpdateProgram count = program({{Change::kAdd, a("n"), number(0)}}, when(kExists));
  Values plus{{10}, {}};
  Condition absent = when(kMissing);
  Condition exists = when(kExists);
  TransactReply reply = table_.transact(
      {PutRequest(item(put_key, 5), &absent), UpdateRequest(update_key, count, plus.params()),
       DeleteRequest(delete_key, &exists), CheckRequest(check_key, exists)});
  EXPECT_EQ(reply.outcome, Outcome::kOk);
  EXPECT_TRUE(reply.reasons.empty());
  EXPECT_EQ(reply.cost, (Cost{0, 8, 0})) << "two units for each item, the check included";
  if (traits().tells_transaction_images) {
    ASSERT_EQ(reply.images.size(), 4u);
    EXPECT_EQ(json(reply.images[0]), json(item(put_key, 5)));
    EXPECT_EQ(json(reply.images[1]), json(item(update_key, 11)));
    EXPECT_FALSE(reply.images[2]);
    EXPECT_FALSE(reply.images[3]);
  } else {
    EXPECT_TRUE(reply.images.empty());
  }
  EXPECT_EQ(json(table_.image(put_key)), json(item(put_key, 5)));
  EXPECT_EQ(json(table_.image(update_key)), json(item(update_key, 11)));
  EXPECT_FALSE(table_.image(delete_key));
  EXPECT_EQ(json(table_.image(check_key)), json(item(check_key, 3)));
}

TEST_P(EngineContract, TransactionAppliesNothingWhenOneFails) {
  Key fine("fine", "s"), taken("taken", "s"), wrong("wrong", "s"), absent_key("absent", "s");
  table_.put(item(taken, 1));
  table_.put(item(wrong, 2));
  Condition absent = when(kMissing);
  Condition exists = when(kExists);
  Condition is_nine = when({Op::kEqual, a("n"), number(0)});
  Values nine{{9}, {}};
  TransactReply reply = table_.transact(
      {PutRequest(item(fine, 5), &absent), PutRequest(item(taken, 6), &absent),
       DeleteRequest(wrong, &is_nine, nine.params()), CheckRequest(absent_key, exists)});
  EXPECT_EQ(reply.outcome, Outcome::kConditionFailed);
  EXPECT_TRUE(reply.images.empty());
  ASSERT_EQ(reply.reasons.size(), 4u);
  EXPECT_EQ(reply.reasons[0].outcome, Outcome::kOk);
  EXPECT_FALSE(reply.reasons[0].image);
  EXPECT_EQ(reply.reasons[1].outcome, Outcome::kConditionFailed);
  EXPECT_EQ(json(reply.reasons[1].image), json(item(taken, 1)));
  EXPECT_EQ(reply.reasons[2].outcome, Outcome::kConditionFailed);
  EXPECT_EQ(json(reply.reasons[2].image), json(item(wrong, 2)));
  EXPECT_EQ(reply.reasons[3].outcome, Outcome::kConditionFailed);
  EXPECT_FALSE(reply.reasons[3].image);
  EXPECT_EQ(reply.cost, (Cost{0, 8, 0}));
  EXPECT_FALSE(table_.image(fine));
  EXPECT_EQ(json(table_.image(taken)), json(item(taken, 1)));
  EXPECT_EQ(json(table_.image(wrong)), json(item(wrong, 2)));
}

TEST_P(EngineContract, TransactionRefusedAsAWhole) {
  Key fine("fine", "s");
  table_.put(item(kKey, 1));
  UpdateProgram bad = program({{Change::kAdd, a("n"), text(0)}});
  Values word{{}, {"word"}};
  TransactReply reply = table_.transact(
      {PutRequest(item(fine, 5), nullptr), UpdateRequest(kKey, bad, word.params())});
  EXPECT_EQ(reply.outcome, Outcome::kInvalid);
  EXPECT_FALSE(table_.image(fine));

  EXPECT_EQ(table_.transact({}).outcome, Outcome::kInvalid);
  EXPECT_EQ(
      table_.transact({PutRequest(item(fine), nullptr), DeleteRequest(fine, nullptr)}).outcome,
      Outcome::kInvalid);
  std::vector<Key> keys;
  std::vector<TransactItem> many;
  for (int i = 0; i < 101; ++i) keys.emplace_back("p" + std::to_string(i), "s");
  for (const Key& key : keys) many.emplace_back(PutRequest(item(key), nullptr));
  EXPECT_EQ(table_.transact(many).outcome, Outcome::kInvalid);
  EXPECT_FALSE(table_.image(keys[0]));
  many.pop_back();
  EXPECT_EQ(table_.transact(many).outcome, Outcome::kOk);
  EXPECT_TRUE(table_.image(keys[99]));
}

TEST_P(EngineContract, TokenMakesRepetitionSafe) {
  UpdateProgram count = program({{Change::kAdd, a("n"), number(0)}});
  Values plus{{10}, {}};
  Values more{{11}, {}};
  Key other("q", "s");
  auto add = [&](const Key& key, const Values& values, const std::string& name) {
    return table_.transact({UpdateRequest(key, count, values.params())},
                           name.empty() ? name : token(name));
  };
  EXPECT_EQ(add(kKey, plus, "token").outcome, Outcome::kOk);
  TransactReply again = add(kKey, plus, "token");
  EXPECT_EQ(again.outcome, Outcome::kOk);
  EXPECT_TRUE(again.images.empty());
  EXPECT_EQ(again.cost, (Cost{2, 0, 0}));
  EXPECT_EQ(json(table_.image(kKey)), json(item(kKey, 10)));
  EXPECT_EQ(add(kKey, more, "token").outcome, Outcome::kInvalid) << "other numbers";
  EXPECT_EQ(add(other, plus, "token").outcome, Outcome::kInvalid) << "another item";
  EXPECT_EQ(json(table_.image(kKey)), json(item(kKey, 10)));
  EXPECT_EQ(add(kKey, plus, "another").outcome, Outcome::kOk);
  EXPECT_EQ(add(kKey, plus, "").outcome, Outcome::kOk);
  EXPECT_EQ(add(kKey, plus, "").outcome, Outcome::kOk);
  EXPECT_EQ(json(table_.image(kKey)), json(item(kKey, 40)));
}

TEST_P(EngineContract, TokenOfACancelledTransactionIsNotSpent) {
  Condition exists = when(kExists);
  auto attempt = [&] {
    return table_.transact({PutRequest(item(kKey, 2), &exists)}, token("token")).outcome;
  };
  EXPECT_EQ(attempt(), Outcome::kConditionFailed);
  table_.put(item(kKey, 1));
  EXPECT_EQ(attempt(), Outcome::kOk);
  table_.remove(kKey);
  EXPECT_EQ(attempt(), Outcome::kOk) << "a repetition";
  EXPECT_FALSE(table_.image(kKey));
}

// ---- Queries ----

TEST_P(EngineContract, QueryByPartitionAndPrefix) {
  const char* other = traits().prefixes_have_case ? "B" : "0";
  for (const char* sort : {"b2", "a", "b", "b1", "c", other}) table_.put(item(Key("p", sort)));
  for (const char* partition : {"o", "p2", "pp", "P"}) table_.put(item(Key(partition, "b")));
  EXPECT_EQ(table_.sort_keys(Index::kTable, "p"), (Names{other, "a", "b", "b1", "b2", "c"}));
  EXPECT_EQ(table_.sort_keys(Index::kTable, "p", "b"), (Names{"b", "b1", "b2"}));
  EXPECT_EQ(table_.sort_keys(Index::kTable, "p", "b1"), (Names{"b1"}));
  EXPECT_EQ(table_.sort_keys(Index::kTable, "p", "x"), Names());
  EXPECT_EQ(table_.sort_keys(Index::kTable, "nobody"), Names());
  QueryReply reply = table_.query(Index::kTable, "p", "b");
  EXPECT_EQ(json(reply.images[1]), json(item(Key("p", "b1"))));
  EXPECT_FALSE(reply.next);
  EXPECT_EQ(reply.cost, (Cost{0.5, 0, 0}));
}

TEST_P(EngineContract, QueryPages) {
  Names all;
  for (int i = 0; i < 25; ++i) {
    all.push_back("k" + std::to_string(100 + i));
    table_.put(item(Key("p", all.back())));
  }
  table_.put(item(Key("p", "l")));
  for (int page : {1, 3, 5, 24, 25, 26, 1000}) {
    EXPECT_EQ(table_.sort_keys(Index::kTable, "p", "k", page), all) << page;
  }
  QueryReply first = table_.query(Index::kTable, "p", "k", 10);
  ASSERT_EQ(first.images.size(), 10u);
  ASSERT_TRUE(first.next);
  // The place is remembered, not the count: what is deleted or added before it changes nothing.
  table_.remove(Key("p", "k109"));
  table_.remove(Key("p", "k110"));
  table_.put(item(Key("p", "k0")));
  QueryReply second = table_.query(Index::kTable, "p", "k", 10, *first.next);
  ASSERT_EQ(second.images.size(), 10u);
  EXPECT_EQ(second.images[0]->sk(), "k111");
  QueryReply last = table_.query(Index::kTable, "p", "k", 14, *first.next);
  if (last.next) {
    EXPECT_FALSE(traits().knows_last_page);
    last = table_.query(Index::kTable, "p", "k", 14, *last.next);
    EXPECT_TRUE(last.images.empty());
    EXPECT_FALSE(last.next);
  }

  if (traits().binds_positions) {
    EXPECT_EQ(table_.query(Index::kTable, "q", "k", 10, *first.next).outcome, Outcome::kInvalid);
    EXPECT_EQ(table_.query(Index::kTable, "p", "l", 10, *first.next).outcome, Outcome::kInvalid);
  }
  EXPECT_EQ(table_.query(Index::kGsi1, "p", "k", 10, *first.next).outcome, Outcome::kInvalid);
  for (const char* nonsense : {"x", "zz", "00", "7000", "70000"}) {
    EXPECT_EQ(table_.query(Index::kTable, "p", "", 10, nonsense).outcome, Outcome::kInvalid);
  }
}

TEST_P(EngineContract, ScanOfAnEmptyTable) {
  ScanReply reply = table_.scan();
  EXPECT_EQ(reply.outcome, Outcome::kOk);
  EXPECT_TRUE(reply.images.empty());
  EXPECT_TRUE(reply.unreadable.empty());
  EXPECT_FALSE(reply.next);
}

TEST_P(EngineContract, ScanSeesEveryItemOnce) {
  Names all;
  for (int i = 0; i < 40; ++i) {
    // Several items of one partition, and partitions of their own; some stand in indexes.
    Key key(i % 3 == 0 ? "same" : "p" + std::to_string(i), std::to_string(i));
    ImagePtr made = i % 2 == 0 ? indexed(key, 2, "list", key.sk(), i) : item(key, i);
    table_.put(made);
    all.push_back(json(made));
  }
  const char last = traits().takes_any_bytes ? '\xff' : '\x7f';
  Key odd(std::string{'\0', last}, std::string(1, '\0'));
  table_.put(item(odd));
  all.push_back(json(table_.image(odd)));
  std::sort(all.begin(), all.end());
  for (int page : {1, 2, 7, 40, 41, 42, 1000}) EXPECT_EQ(table_.scanned(page), all) << page;
}

TEST_P(EngineContract, ScanOfAnIndexAnswersItsEntries) {
  Names expected;
  for (int i = 0; i < 20; ++i) {
    Key key("p" + std::to_string(i), "s");
    table_.put(i % 4 == 0 ? item(key, i) : indexed(key, 2, "list" + std::to_string(i % 3), "x", i));
    if (i % 4 == 0) continue;
    ImageBuilder entry(key);
    // At least the keys; what else the index projects is answered, too.
    bool whole = !traits().fills_pages && layout() == IndexLayout::kCompatible;
    if (whole) entry.set(a("n"), std::int64_t{i});
    entry.set(index_pk(2), "list" + std::to_string(i % 3)).set(index_sk(2), "x");
    expected.push_back(json(entry.build()));
  }
  std::sort(expected.begin(), expected.end());
  for (int page : {1, 4, 15, 1000}) EXPECT_EQ(table_.scanned(page, Index::kGsi2), expected) << page;
  EXPECT_TRUE(table_.scanned(10, Index::kGsi1).empty());
}

TEST_P(EngineContract, ScanPagesAreBounded) {
  for (int i = 0; i < 10; ++i) table_.put(item(Key("p" + std::to_string(i), "s"), i));
  EXPECT_EQ(table_.scan(4).images.size(), 4u);
  std::string large(300 * 1024, 'x');
  for (int i = 0; i < 10; ++i) {
    table_.put(ImageBuilder(Key("p" + std::to_string(i), "s")).set(a("x"), large).build());
  }
  ScanReply page = table_.scan(1000);
  EXPECT_EQ(page.images.size(), traits().fills_pages ? 4u : 3u) << "a megabyte, more or less";
  ASSERT_TRUE(page.next);
  EXPECT_EQ(page.cost, (Cost{0.5 * (traits().fills_pages ? 301 : 226), 0, 0}))
      << "half a unit for every 4 KB";
  EXPECT_EQ(table_.scanned(1000).size(), 10u);
}

TEST_P(EngineContract, ScanGoesOnBehindItsPosition) {
  for (int i = 0; i < 30; ++i) table_.put(item(Key("p" + std::to_string(i), "s"), i));
  ScanReply first = table_.scan(10);
  ASSERT_EQ(first.images.size(), 10u);
  ASSERT_TRUE(first.next);
  // What has been answered may go, change or come back; nothing is answered twice or left out.
  table_.remove(first.images[9]->key());
  table_.put(item(first.images[8]->key(), 1000));
  table_.remove(first.images[7]->key());
  table_.put(item(first.images[7]->key(), 1000));
  Names seen;
  for (const ImagePtr& image : first.images) seen.emplace_back(image->pk());
  std::string start = *first.next;
  while (true) {
    ScanReply page = table_.scan(7, start);
    for (const ImagePtr& image : page.images) seen.emplace_back(image->pk());
    if (!page.next) break;
    start = *page.next;
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
  EXPECT_EQ(seen.size(), 30u);
  for (const char* nonsense : {"x", "zz", "7"}) {
    EXPECT_EQ(table_.scan(10, nonsense).outcome, Outcome::kInvalid) << nonsense;
  }
  EXPECT_EQ(table_.scan(0).outcome, Outcome::kInvalid);
}

TEST_P(EngineContract, QueryCostIsRoundedUpOnce) {
  std::string half(2000, 'x');
  for (int i = 0; i < 3; ++i) {
    table_.put(ImageBuilder(Key("p", std::to_string(i))).set(a("x"), half).build());
  }
  EXPECT_EQ(table_.query(Index::kTable, "p").cost, (Cost{1, 0, 0}));
  EXPECT_EQ(table_.query(Index::kTable, "p", "", 2).cost, (Cost{0.5, 0, 0}));
}

TEST_P(EngineContract, IndexFollowsTheItem) {
  auto children = [&](const std::string& parent) { return table_.sort_keys(Index::kGsi1, parent); };
  table_.put(indexed(kKey, 1, "parent", "child"));
  EXPECT_EQ(children("parent"), Names{"child"});
  // Staying.
  table_.update(kKey, program({{Change::kAdd, a("n"), number(0)}}), {{1}});
  EXPECT_EQ(children("parent"), Names{"child"});
  // Moving by update.
  table_.update(kKey, program({{Change::kSet, index_pk(1), text(0)}}), {{}, {"other"}});
  EXPECT_EQ(children("parent"), Names());
  EXPECT_EQ(children("other"), Names{"child"});
  // Leaving by losing either key.
  table_.update(kKey, program({{Change::kRemove, index_sk(1)}}));
  EXPECT_EQ(children("other"), Names());
  table_.update(kKey, program({{Change::kSetIfAbsent, index_sk(1), text(0)}}), {{}, {"again"}});
  EXPECT_EQ(children("other"), Names{"again"});
  // Leaving by put, coming back by put, leaving by delete.
  table_.put(item(kKey));
  EXPECT_EQ(children("other"), Names());
  table_.put(indexed(kKey, 1, "other", "back"));
  EXPECT_EQ(children("other"), Names{"back"});
  table_.remove(kKey);
  EXPECT_EQ(children("other"), Names());
  // Created by update.
  table_.update(
      kKey, program({{Change::kSet, index_pk(1), text(0)}, {Change::kSet, index_sk(1), text(1)}}),
      {{}, {"other", "made"}});
  EXPECT_EQ(children("other"), Names{"made"});
  // A failed write leaves the index alone.
  Condition absent = when(kMissing);
  table_.put(item(kKey), &absent);
  table_.remove(kKey, &absent);
  EXPECT_EQ(children("other"), Names{"made"});
}

TEST_P(EngineContract, IndexFollowsTransactions) {
  Key first("1", "s"), second("2", "s");
  table_.put(indexed(first, 3, "list", "a"));
  UpdateProgram move = program({{Change::kSet, index_sk(3), text(0)}});
  Values b{{}, {"b"}};
  Condition absent = when(kMissing);
  EXPECT_EQ(table_
                .transact({UpdateRequest(first, move, b.params()),
                           PutRequest(indexed(second, 3, "list", "c"), &absent)})
                .outcome,
            Outcome::kOk);
  EXPECT_EQ(table_.sort_keys(Index::kGsi3, "list"), (Names{"b", "c"}));
  EXPECT_EQ(
      table_.transact({DeleteRequest(first, nullptr), DeleteRequest(second, &absent)}).outcome,
      Outcome::kConditionFailed);
  EXPECT_EQ(table_.sort_keys(Index::kGsi3, "list"), (Names{"b", "c"}));
  EXPECT_EQ(
      table_.transact({DeleteRequest(first, nullptr), DeleteRequest(second, nullptr)}).outcome,
      Outcome::kOk);
  EXPECT_EQ(table_.sort_keys(Index::kGsi3, "list"), Names());
}

TEST_P(EngineContract, IndexTiesAreInOrderOfTheItemsKey) {
  for (const char* pk : {"c", "a", "b"}) table_.put(indexed(Key(pk, "s"), 2, "list", "same"));
  table_.put(indexed(Key("b", "r"), 2, "list", "same"));
  Names keys;
  std::string start;
  do {
    QueryReply reply = table_.query(Index::kGsi2, "list", "", 1, start);
    start = reply.next.value_or("");
    if (reply.images.empty() && !traits().knows_last_page) break;
    ASSERT_EQ(reply.images.size(), 1u);
    keys.push_back(std::string(reply.images[0]->pk()) + std::string(reply.images[0]->sk()));
  } while (!start.empty());
  EXPECT_EQ(keys, (Names{"as", "br", "bs", "cs"}));
}

TEST_P(EngineContract, IndexProjections) {
  ImageBuilder builder(*item(kKey, 7));
  for (int i = 1; i <= 4; ++i)
    builder.set(index_pk(i), "g" + std::to_string(i)).set(index_sk(i), "x");
  ImagePtr image = builder.build();
  table_.put(image);
  table_.update(kKey, program({{Change::kAdd, a("n"), number(0)}}), {{1}});
  ImagePtr after = ImageBuilder(*image).set(a("n"), std::int64_t{8}).build();
  for (int i = 1; i <= 4; ++i) {
    QueryReply reply = table_.query(static_cast<Index>(i), "g" + std::to_string(i));
    ASSERT_EQ(reply.images.size(), 1u) << i;
    EXPECT_EQ(json(reply.images[0]), json(project(after, static_cast<Index>(i)))) << i;
    EXPECT_EQ(reply.cost, query_cost(static_cast<Index>(i), layout(), reply.images)) << i;
  }
}

// ---- Costs ----

TEST_P(EngineContract, Costs) {
  ImageBuilder builder(*item(kKey, 5));
  builder.set(a("pad"), std::string(1500, 'x'));
  for (int i = 2; i <= 4; ++i) builder.set(index_pk(i), "g").set(index_sk(i), "x");
  ImagePtr image = builder.build();
  bool compatible = layout() == IndexLayout::kCompatible;

  EXPECT_EQ(table_.put(image).cost, (Cost{0, 2, compatible ? 2.0 + 1 + 1 : 3.0}));
  EXPECT_EQ(table_.get(kKey).cost, (Cost{1, 0, 0}));
  UpdateProgram count = program({{Change::kAdd, a("n"), number(0)}});
  EXPECT_EQ(table_.update(kKey, count, {{1}}).cost, (Cost{0, 2, compatible ? 2.0 : 0.0}));
  EXPECT_EQ(table_.update(kKey, count, {{0}}).cost, (Cost{0, 2, 0})) << "nothing changed";
  UpdateProgram never = program({}, when(kMissing));
  EXPECT_EQ(table_.update(kKey, never).cost, (Cost{0, 2, 0})) << "by the item's size";
  EXPECT_EQ(table_.update(Key("none", "s"), program({}, when(kExists))).cost, (Cost{0, 1, 0}));
  Condition absent = when(kMissing);
  EXPECT_EQ(table_.put(item(kKey), &absent).cost, (Cost{0, 2, 0}));
  EXPECT_EQ(table_.remove(kKey, &absent).cost, (Cost{0, 2, 0}));
  Values plus{{1}, {}};
  EXPECT_EQ(table_.transact({UpdateRequest(kKey, count, plus.params())}).cost,
            (Cost{0, 4,
                  !compatible                      ? 0.0
                  : traits().charges_indexes_twice ? 4.0
                                                   : 2.0}));
  EXPECT_EQ(table_.remove(kKey).cost, (Cost{0, 2, compatible ? 4.0 : 3.0}));
  EXPECT_EQ(table_.remove(kKey).cost, (Cost{0, 1, 0}));
  EXPECT_EQ(table_.get(Key("", "s")).cost, Cost()) << "a refused request is free";
}

TEST_P(EngineContract, ADebitIsOneUnit) {
  ImagePtr bucket = ImageBuilder(*indexed(kKey, 2, "resource", "bucket", 100)).build();
  table_.put(bucket);
  UpdateProgram debit =
      program({{Change::kAdd, a("n"), number(0)}}, when({Op::kGreaterOrEqual, a("n"), number(1)}));
  EXPECT_EQ(table_.update(kKey, debit, {{-60, 60}}).cost,
            (Cost{0, 1, layout() == IndexLayout::kCompatible ? 1.0 : 0.0}));
  EXPECT_EQ(table_.update(kKey, debit, {{-60, 60}}).cost, (Cost{0, 1, 0})) << "a rejection";
}

// ---- Changes ----

TEST_P(EngineContract, NoChangesWithoutAStream) {
  EXPECT_FALSE(table_.engine().capabilities().change_stream);
  Result<std::vector<ChangeRecord>> changes = table_.engine().changes(0, 10);
  ASSERT_FALSE(changes.ok());
  EXPECT_EQ(changes.error().code(), ErrorCode::kInvalidArgument);
}

TEST_P(EngineContract, ChangesInOrder) {
  if (!traits().has_change_stream) GTEST_SKIP() << "the engine has no change stream";
  Table table(GetParam().make(true));
  ASSERT_TRUE(table.engine().capabilities().change_stream);
  EXPECT_TRUE(table.engine().changes(0, 10).value().empty());
  Key other("q", "s");
  table.put(item(kKey, 1));
  table.update(kKey, program({{Change::kAdd, a("n"), number(0)}}), {{1}});
  Condition absent = when(kMissing);
  table.put(item(kKey, 9), &absent);  // fails: no change
  table.remove(other);                // nothing there: no change
  table.transact({PutRequest(item(other, 5), nullptr), DeleteRequest(kKey, nullptr)});
  table.transact({PutRequest(item(kKey, 6), nullptr), CheckRequest(other, absent)});  // cancelled
  struct Expected {
    std::string old_image;
    std::string new_image;
  };
  const Expected expected[] = {{"no item", json(item(kKey, 1))},
                               {json(item(kKey, 1)), json(item(kKey, 2))},
                               {"no item", json(item(other, 5))},
                               {json(item(kKey, 2)), "no item"}};
  std::vector<ChangeRecord> all = table.engine().changes(0, 100).value();
  ASSERT_EQ(all.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(json(all[i].old_image), expected[i].old_image) << i;
    EXPECT_EQ(json(all[i].new_image), expected[i].new_image) << i;
    if (i > 0) {
      EXPECT_GT(all[i].position, all[i - 1].position);
    }
  }
  std::vector<ChangeRecord> page = table.engine().changes(all[0].position, 2).value();
  ASSERT_EQ(page.size(), 2u);
  EXPECT_EQ(page[0].position, all[1].position);
  EXPECT_EQ(page[1].position, all[2].position);
  EXPECT_TRUE(table.engine().changes(all[3].position, 10).value().empty());
  EXPECT_TRUE(table.engine().changes(~std::uint64_t{0}, 10).value().empty());
  EXPECT_TRUE(table.engine().changes(0, 0).value().empty());
}

// ---- Threads ----

constexpr int kThreads = 8;

template <typename Body>
void on_threads(Body body) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(body, t);
  for (std::thread& thread : threads) thread.join();
}

TEST_P(EngineContract, ConditionalAddsOfManyThreadsAddUp) {
  constexpr int kEach = 250;
  constexpr std::int64_t kCapacity = 1000;
  table_.put(ImageBuilder(kKey).set(a("n"), kCapacity).set(a("used"), std::int64_t{0}).build());
  UpdateProgram debit =
      program({{Change::kAdd, a("n"), number(0)}, {Change::kAdd, a("used"), number(1)}},
              when({Op::kGreaterOrEqual, a("n"), number(1)}));
  std::atomic<int> admitted{0};
  std::atomic<int> other{0};
  on_threads([&](int) {
    Values one{{-1, 1}, {}};
    for (int i = 0; i < kEach; ++i) {
      Outcome outcome = table_.update(kKey, debit, one).outcome;
      if (outcome == Outcome::kOk) {
        ++admitted;
      } else if (outcome != Outcome::kConditionFailed) {
        ++other;
      }
    }
  });
  EXPECT_EQ(other, 0);
  EXPECT_EQ(admitted, kCapacity);
  EXPECT_EQ(table_.image(kKey)->number(a("n")), 0);
  EXPECT_EQ(table_.image(kKey)->number(a("used")), kCapacity);
}

TEST_P(EngineContract, TransactionsOfManyThreadsKeepTheSum) {
  constexpr int kAccounts = 6;
  std::vector<Key> keys;
  for (int i = 0; i < kAccounts; ++i) {
    keys.emplace_back("account", std::to_string(i));
    table_.put(item(keys.back(), 100));
  }
  UpdateProgram take =
      program({{Change::kAdd, a("n"), number(0)}}, when({Op::kGreaterOrEqual, a("n"), number(1)}));
  UpdateProgram give = program({{Change::kAdd, a("n"), number(1)}});
  std::atomic<int> moved{0};
  on_threads([&](int t) {
    for (int i = 0; i < 100; ++i) {
      Values values{{-7, 7}, {}};
      const Key& from = keys[static_cast<std::size_t>((t + i) % kAccounts)];
      const Key& to = keys[static_cast<std::size_t>((t + 2 * i + 1) % kAccounts)];
      if (from == to) continue;
      if (table_
              .transact({UpdateRequest(from, take, values.params()),
                         UpdateRequest(to, give, values.params())})
              .outcome == Outcome::kOk) {
        ++moved;
      }
      QueryReply seen = table_.query(Index::kTable, "account");
      EXPECT_EQ(seen.images.size(), static_cast<std::size_t>(kAccounts));
    }
  });
  EXPECT_GT(moved, 0);
  std::int64_t sum = 0;
  for (const Key& key : keys) {
    std::int64_t balance = *table_.image(key)->number(a("n"));
    EXPECT_GE(balance, 0);
    sum += balance;
  }
  EXPECT_EQ(sum, 100 * kAccounts);
}

TEST_P(EngineContract, ScanAmongWritersSeesWhatStaysExactlyOnce) {
  constexpr int kStaying = 200;
  for (int i = 0; i < kStaying; ++i) table_.put(item(Key("stays" + std::to_string(i), "s")));
  UpdateProgram count = program({{Change::kAdd, a("n"), number(0)}});
  std::atomic<bool> scanned{false};
  std::thread scanner([&] {
    for (int page : {1, 3, 50, 1000}) {
      std::map<std::string, int> seen;
      std::string start;
      while (true) {
        ScanReply reply = table_.scan(page, start);
        EXPECT_EQ(reply.outcome, Outcome::kOk);
        EXPECT_TRUE(reply.unreadable.empty());
        for (const ImagePtr& image : reply.images)
          ++seen[std::string(image->pk()) + "/" + std::string(image->sk())];
        if (!reply.next) break;
        start = *reply.next;
      }
      int staying = 0;
      for (const auto& [pk, times] : seen) {
        EXPECT_EQ(times, 1) << pk;
        if (pk.starts_with("stays")) ++staying;
      }
      EXPECT_EQ(staying, kStaying);
    }
    scanned = true;
  });
  on_threads([&](int t) {
    Values one{{1}, {}};
    for (int i = 0; !scanned; ++i) {
      int number = (t * 131 + i) % kStaying;
      table_.update(Key("stays" + std::to_string(number), "s"), count, one);
      Key passing("passes" + std::to_string(number), std::to_string(t));
      if (i % 2 == 0) {
        table_.put(item(passing));
      } else {
        table_.remove(passing);
      }
    }
  });
  scanner.join();
}

TEST_P(EngineContract, OneTokenOfManyThreadsAppliesOnce) {
  UpdateProgram count = program({{Change::kAdd, a("n"), number(0)}});
  on_threads([&](int) {
    Values plus{{1}, {}};
    for (int i = 0; i < 50; ++i) {
      EXPECT_EQ(
          table_.transact({UpdateRequest(kKey, count, plus.params())}, token(std::to_string(i)))
              .outcome,
          Outcome::kOk);
    }
  });
  EXPECT_EQ(table_.image(kKey)->number(a("n")), 50);
}

TEST_P(EngineContract, IndexAgreesWithItemsAfterManyThreads) {
  UpdateProgram move =
      program({{Change::kSet, index_pk(1), text(0)}, {Change::kSet, index_sk(1), text(1)}});
  on_threads([&](int t) {
    for (int i = 0; i < 60; ++i) {
      Key key("p" + std::to_string(i % 5), "s");
      std::string parent = "parent " + std::to_string((t + i) % 3);
      if (i % 7 == 6) {
        table_.remove(key);
      } else {
        table_.update(key, move, {{}, {parent, std::string(key.pk())}});
      }
    }
  });
  for (int parent = 0; parent < 3; ++parent) {
    std::string name = "parent " + std::to_string(parent);
    Names expected;
    for (int i = 0; i < 5; ++i) {
      Key key("p" + std::to_string(i), "s");
      ImagePtr image = table_.image(key);
      if (image && image->string(index_pk(1)) == name) expected.push_back(key.pk());
    }
    EXPECT_EQ(table_.sort_keys(Index::kGsi1, name), expected);
  }
}

TEST_P(EngineContract, ChangesOfManyThreadsAreSeenOnceAndInOrder) {
  if (!traits().has_change_stream) GTEST_SKIP() << "the engine has no change stream";
  Table table(GetParam().make(true));
  UpdateProgram count = program({{Change::kAdd, a("n"), number(0)}});
  constexpr int kEach = 40;
  std::atomic<int> writing{kThreads};
  std::vector<ChangeRecord> seen;
  std::thread reader([&] {
    std::uint64_t position = 0;
    bool last_round = false;
    while (true) {
      std::vector<ChangeRecord> page = table.engine().changes(position, 7).value();
      for (ChangeRecord& record : page) {
        position = record.position;
        seen.push_back(std::move(record));
      }
      if (!page.empty()) continue;
      if (last_round) break;
      last_round = writing == 0;
    }
  });
  on_threads([&](int t) {
    Values plus{{1}, {}};
    for (int i = 0; i < kEach; ++i) {
      table.update(Key("p" + std::to_string((t + i) % 3), "s"), count, plus);
    }
    --writing;
  });
  reader.join();
  ASSERT_EQ(seen.size(), static_cast<std::size_t>(kThreads * kEach));
  std::map<std::string, std::string> latest;
  for (const ChangeRecord& record : seen) {
    std::string& image =
        latest.try_emplace(std::string(record.new_image->pk()), "no item").first->second;
    EXPECT_EQ(json(record.old_image), image) << "a change follows on the one before";
    image = json(record.new_image);
  }
}

// ---- All engines against each other ----

// Each case lives in partitions of its own: opening fresh databases would take most of the time.
int world = 0;

std::string in_world(const std::string& name) { return std::to_string(world) + name; }

// Few names, so that operations meet.
std::string partition_name(const std::string& prefix, int count) {
  return in_world(prefix + std::to_string(*rc::gen::inRange(0, count)));
}

Key any_key() { return Key(partition_name("p", 3), "s" + std::to_string(*rc::gen::inRange(0, 3))); }

ImagePtr any_item(const Key& key) {
  ImageBuilder builder(key);
  if (*rc::gen::arbitrary<bool>()) builder.set(a("n"), *rc::gen::inRange<std::int64_t>(-5, 6));
  if (*rc::gen::arbitrary<bool>())
    builder.set(a("pad"), std::string(*rc::gen::inRange(0u, 3000u), 'x'));
  for (int i = 1; i <= 4; ++i) {
    if (*rc::gen::arbitrary<bool>()) builder.set(index_pk(i), partition_name("g", 2));
    if (*rc::gen::arbitrary<bool>())
      builder.set(index_sk(i), "x" + std::to_string(*rc::gen::inRange(0, 3)));
  }
  return builder.build();
}

Term any_term() {
  Op test = *rc::gen::element(Op::kItemExists, Op::kItemAbsent, Op::kPresent, Op::kAbsent,
                              Op::kEqual, Op::kNotEqual, Op::kLess, Op::kGreaterOrEqual);
  AttrId attribute = *rc::gen::element(a("n"), a("set"), index_pk(1));
  return Term{test, attribute, *rc::gen::arbitrary<bool>() ? number(0) : text(0)};
}

Condition any_condition() {
  Condition condition;
  if (*rc::gen::inRange(0, 3) > 0) return condition;
  condition.require(any_term());
  if (*rc::gen::arbitrary<bool>()) condition.require_any({{any_term(), any_term()}, {any_term()}});
  return condition;
}

UpdateProgram any_program() {
  UpdateProgram made;
  made.condition = any_condition();
  for (AttrId attribute : {a("n"), a("set"), index_pk(1), index_sk(1), index_pk(2), index_sk(2)}) {
    if (*rc::gen::inRange(0, 3) > 0) continue;
    Change change = *rc::gen::element(Change::kSet, Change::kSetIfAbsent, Change::kAdd,
                                      Change::kRemove, Change::kRemoveFromSet);
    Operand operand = attribute == a("n") && *rc::gen::inRange(0, 8) > 0 ? number(1) : text(1);
    made.actions.push_back(Action{change, attribute, operand});
  }
  return made;
}

// One random request with all that it refers to.
struct Drawn {
  std::vector<Key> keys;
  std::vector<Condition> conditions;
  std::vector<UpdateProgram> programs;
  Values values;
  std::vector<TransactItem> items;
  std::optional<GetRequest> get;
  std::optional<BatchGetRequest> batch_get;
  std::optional<PutRequest> put;
  std::optional<UpdateRequest> update;
  std::optional<DeleteRequest> remove;
  std::optional<TransactRequest> transaction;
  std::optional<QueryRequest> query;

  RequestRef request() const {
    if (get) return &*get;
    if (batch_get) return &*batch_get;
    if (put) return &*put;
    if (update) return &*update;
    if (remove) return &*remove;
    if (transaction) return &*transaction;
    return &*query;
  }
};

std::unique_ptr<Drawn> draw_request() {
  auto drawn = std::make_unique<Drawn>();
  Drawn& d = *drawn;
  d.values.numbers = {*rc::gen::inRange<std::int64_t>(-5, 6),
                      *rc::gen::inRange<std::int64_t>(-5, 6)};
  d.values.strings = {partition_name("g", 2), partition_name("g", 2)};
  Params params = d.values.params();
  int size = *rc::gen::inRange(1, 5);
  for (int i = 0; i < size; ++i) d.keys.push_back(any_key());
  for (int i = 0; i < size; ++i) d.conditions.push_back(any_condition());
  for (int i = 0; i < size; ++i) d.programs.push_back(any_program());
  switch (*rc::gen::inRange(0, 12)) {
    case 0: d.get.emplace(d.keys[0], Consistency::kStrong); break;
    case 1: d.batch_get.emplace(d.keys, Consistency::kEventual); break;
    case 2:
    case 3: d.put.emplace(any_item(d.keys[0]), &d.conditions[0], params); break;
    case 4: d.remove.emplace(d.keys[0], &d.conditions[0], params); break;
    case 5:
    case 6:
      for (std::size_t i = 0; i < d.keys.size(); ++i) {
        switch (*rc::gen::inRange(0, 4)) {
          case 0:
            d.items.emplace_back(PutRequest(any_item(d.keys[i]), &d.conditions[i], params));
            break;
          case 1: d.items.emplace_back(DeleteRequest(d.keys[i], &d.conditions[i], params)); break;
          case 2: d.items.emplace_back(CheckRequest(d.keys[i], d.conditions[i], params)); break;
          default: d.items.emplace_back(UpdateRequest(d.keys[i], d.programs[i], params));
        }
      }
      d.transaction.emplace(d.items, partition_name("token ", 100));
      break;
    case 7:
      d.query.emplace(static_cast<Index>(*rc::gen::inRange(0, 5)),
                      in_world(*rc::gen::element("p0", "g0", "g1")),
                      *rc::gen::element("", "s", "x1"), *rc::gen::inRange(1, 4));
      break;
    default: d.update.emplace(d.keys[0], d.programs[0], params);
  }
  return drawn;
}

std::string shown(const ReplyBase& reply) {
  return std::to_string(static_cast<int>(reply.outcome)) + " " + reply.message + " " +
         std::to_string(reply.cost.read_units) + "/" + std::to_string(reply.cost.write_units) +
         "/" + std::to_string(reply.cost.index_write_units);
}

struct ShowReply {
  std::string operator()(const GetReply& reply) const { return shown(reply) + json(reply.image); }
  std::string operator()(const WriteReply& reply) const { return shown(reply) + json(reply.image); }
  std::string operator()(const BatchGetReply& reply) const {
    return shown(reply) + all(reply.images);
  }
  std::string operator()(const QueryReply& reply) const {
    return shown(reply) + all(reply.images) + reply.next.value_or("end");
  }
  // The order is the engine's own: compared as a whole at the end.
  std::string operator()(const ScanReply& reply) const { return shown(reply); }
  std::string operator()(const TransactReply& reply) const {
    std::string out = shown(reply) + all(reply.images);
    for (const CancelReason& reason : reply.reasons) {
      out += " because " + std::to_string(static_cast<int>(reason.outcome)) + json(reason.image);
    }
    return out;
  }
  static std::string all(const std::vector<ImagePtr>& images) {
    std::string out;
    for (const ImagePtr& image : images) out += " " + json(image);
    return out;
  }
};

Names whole_state(const Table& table) {
  Names state;
  for (int p = 0; p < 3; ++p) {
    for (const ImagePtr& image :
         table.query(Index::kTable, in_world("p" + std::to_string(p))).images) {
      state.push_back(json(image));
    }
  }
  for (int index = 1; index <= 4; ++index) {
    for (const char* partition : {"g0", "g1"}) {
      QueryReply reply = table.query(static_cast<Index>(index), in_world(partition));
      for (const ImagePtr& image : reply.images) {
        state.push_back(std::to_string(index) + json(image));
      }
    }
  }
  return state;
}

struct Contestant {
  explicit Contestant(std::shared_ptr<Engine> engine) : table(std::move(engine)) {}
  Table table;
  std::uint64_t position = 0;  // of the last change that was compared
};

std::vector<Contestant> make_contestants() {
  std::vector<Contestant> made;
  for (const EngineFactory& factory : test::engine_factories()) {
    if (!factory.traits.has_change_stream) continue;
    std::shared_ptr<Engine> engine = factory.make(true);
    // Another layout answers the same at another cost.
    if (engine->capabilities().index_layout == IndexLayout::kKeysOnly) {
      made.emplace_back(std::move(engine));
    }
  }
  return made;
}

Names new_changes(Contestant& contestant) {
  Names shown;
  for (const ChangeRecord& record :
       contestant.table.engine().changes(contestant.position, 10'000).value()) {
    contestant.position = record.position;
    shown.push_back(json(record.old_image) + " -> " + json(record.new_image));
  }
  return shown;
}

void engines_agree(std::vector<Contestant>& contestants) {
  ++world;
  int batches = *rc::gen::inRange(1, 12);
  for (int b = 0; b < batches; ++b) {
    std::vector<std::unique_ptr<Drawn>> drawn;
    int size = *rc::gen::inRange(1, 6);
    for (int i = 0; i < size; ++i) drawn.push_back(draw_request());
    std::optional<Names> expected;
    for (Contestant& contestant : contestants) {
      std::vector<Call> calls;
      for (const auto& one : drawn) calls.push_back(Call{one->request(), {}});
      contestant.table.engine().execute(calls);
      Names replies;
      for (const Call& call : calls) replies.push_back(std::visit(ShowReply(), call.reply));
      if (!expected) expected = replies;
      RC_ASSERT(replies == *expected);
    }
  }
  std::optional<Names> state;
  std::optional<Names> changes;
  for (Contestant& contestant : contestants) {
    Names own_state = whole_state(contestant.table);
    Names own_changes = new_changes(contestant);
    if (!state) state = own_state;
    if (!changes) changes = own_changes;
    RC_ASSERT(own_state == *state);
    RC_ASSERT(own_changes == *changes);
  }
}

TEST(EngineDifference, EqualRequestsEqualRepliesEqualStates) {
  std::vector<Contestant> contestants = make_contestants();
  ASSERT_GE(contestants.size(), 2u);
  EXPECT_TRUE(rc::check("engines agree", [&] { engines_agree(contestants); }));
  Names whole = contestants[0].table.scanned(10);
  EXPECT_GT(whole.size(), 0u);
  for (const Contestant& contestant : contestants) EXPECT_EQ(contestant.table.scanned(7), whole);
}

}  // namespace
}  // namespace stint::store
