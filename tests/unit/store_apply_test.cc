#include "store/apply.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "tests/support/table.h"

namespace stint::store {
namespace {

using test::number;
using test::Op;
using test::text;
using test::Values;
using test::when;

const Key kKey("partition", "sort");

AttrId a(const char* name) { return intern(name); }

ImagePtr sample() {
  return ImageBuilder(kKey)
      .set(a("n"), std::int64_t{10})
      .set(a("m"), std::int64_t{-3})
      .set(a("s"), "mmm")
      .set(a("flag"), true)
      .set(a("nil"), Value::null())
      .set(a("half"), Value::number_text("0.5"))
      .set(a("huge"), Value::number_text("100000000000000000000"))
      .set(a("set"), Value::string_set({"x", "y"}))
      .set(a("list"), Value::list({Value::number(1)}))
      .set(a("bin"), Value::binary("mmm"))
      .set(a("nums"), Value::number_set({"1", "2.50"}))
      .build();
}

// ---- Conditions ----

struct TermCase {
  const char* what;
  Term term;
  bool on_item;
  bool on_none;
};

TEST(Holds, EveryTestOnEveryType) {
  Values values{{10, 9, 11, 0, 1}, {"mmm", "lll", "nnn", "mm", "mmmm"}};
  Operand half = Operand::literal(Value::number_text("0.50"));
  Operand yes = Operand::literal(Value::boolean(true));
  Operand no = Operand::literal(Value::boolean(false));
  Operand nil = Operand::literal(Value::null());
  Operand ten = Operand::literal(Value::number(10));
  Operand word = Operand::literal(Value::string("mmm"));
  Operand set = Operand::literal(Value::string_set({"y", "x"}));
  Operand list = Operand::literal(Value::list({Value::number(1)}));
  Operand bytes = Operand::literal(Value::binary("mmm"));
  Operand nums = Operand::literal(Value::number_set({"2.5", "1.0"}));
  const std::vector<TermCase> cases = {
      {"item exists", {Op::kItemExists}, true, false},
      {"item absent", {Op::kItemAbsent}, false, true},
      {"present", {Op::kPresent, a("n")}, true, false},
      {"present, null", {Op::kPresent, a("nil")}, true, false},
      {"present, missing", {Op::kPresent, a("missing")}, false, false},
      {"absent", {Op::kAbsent, a("n")}, false, true},
      {"absent, missing", {Op::kAbsent, a("missing")}, true, true},
      {"n = 10", {Op::kEqual, a("n"), number(0)}, true, false},
      {"n = 9", {Op::kEqual, a("n"), number(1)}, false, false},
      {"n = literal 10", {Op::kEqual, a("n"), ten}, true, false},
      {"n <> 10", {Op::kNotEqual, a("n"), number(0)}, false, false},
      {"n <> 9", {Op::kNotEqual, a("n"), number(1)}, true, false},
      {"missing <> 9", {Op::kNotEqual, a("missing"), number(1)}, false, false},
      {"n <> text", {Op::kNotEqual, a("n"), text(0)}, true, false},
      {"n < 11", {Op::kLess, a("n"), number(2)}, true, false},
      {"n < 10", {Op::kLess, a("n"), number(0)}, false, false},
      {"n <= 10", {Op::kLessOrEqual, a("n"), number(0)}, true, false},
      {"n <= 9", {Op::kLessOrEqual, a("n"), number(1)}, false, false},
      {"n > 9", {Op::kGreater, a("n"), number(1)}, true, false},
      {"n > 10", {Op::kGreater, a("n"), number(0)}, false, false},
      {"n >= 10", {Op::kGreaterOrEqual, a("n"), number(0)}, true, false},
      {"n >= 11", {Op::kGreaterOrEqual, a("n"), number(2)}, false, false},
      {"missing < 11", {Op::kLess, a("missing"), number(2)}, false, false},
      {"m < 0", {Op::kLess, a("m"), number(3)}, true, false},
      {"s = mmm", {Op::kEqual, a("s"), text(0)}, true, false},
      {"s = literal", {Op::kEqual, a("s"), word}, true, false},
      {"s <> mmm", {Op::kNotEqual, a("s"), text(0)}, false, false},
      {"s > lll", {Op::kGreater, a("s"), text(1)}, true, false},
      {"s < nnn", {Op::kLess, a("s"), text(2)}, true, false},
      {"s > mm", {Op::kGreater, a("s"), text(3)}, true, false},
      {"s < mmmm", {Op::kLess, a("s"), text(4)}, true, false},
      {"s >= mmm", {Op::kGreaterOrEqual, a("s"), text(0)}, true, false},
      {"s = number", {Op::kEqual, a("s"), number(0)}, false, false},
      {"s < number", {Op::kLess, a("s"), number(0)}, false, false},
      {"s >= number", {Op::kGreaterOrEqual, a("s"), number(0)}, false, false},
      {"n < text", {Op::kLess, a("n"), text(0)}, false, false},
      {"n > text", {Op::kGreater, a("n"), text(0)}, false, false},
      {"half = 0.50", {Op::kEqual, a("half"), half}, true, false},
      {"half < 1", {Op::kLess, a("half"), number(4)}, true, false},
      {"half > 0", {Op::kGreater, a("half"), number(3)}, true, false},
      {"half <> 1", {Op::kNotEqual, a("half"), number(4)}, true, false},
      {"n > 0.50", {Op::kGreater, a("n"), half}, true, false},
      {"huge > 11", {Op::kGreater, a("huge"), number(2)}, true, false},
      {"half = text", {Op::kEqual, a("half"), text(0)}, false, false},
      {"flag = true", {Op::kEqual, a("flag"), yes}, true, false},
      {"flag = false", {Op::kEqual, a("flag"), no}, false, false},
      {"flag <> false", {Op::kNotEqual, a("flag"), no}, true, false},
      {"flag = 1", {Op::kEqual, a("flag"), number(4)}, false, false},
      {"flag <= true", {Op::kLessOrEqual, a("flag"), yes}, false, false},
      {"nil = null", {Op::kEqual, a("nil"), nil}, true, false},
      {"nil = false", {Op::kEqual, a("nil"), no}, false, false},
      {"set = set", {Op::kEqual, a("set"), set}, true, false},
      {"set = text", {Op::kEqual, a("set"), text(0)}, false, false},
      {"list = list", {Op::kEqual, a("list"), list}, true, false},
      {"list <> set", {Op::kNotEqual, a("list"), set}, true, false},
      {"bin = mmm", {Op::kEqual, a("bin"), bytes}, true, false},
      {"bin <= mmm", {Op::kLessOrEqual, a("bin"), bytes}, true, false},
      {"bin < mmm", {Op::kLess, a("bin"), bytes}, false, false},
      {"bin = text", {Op::kEqual, a("bin"), text(0)}, false, false},
      {"s = bin", {Op::kEqual, a("s"), bytes}, false, false},
      {"nums = nums", {Op::kEqual, a("nums"), nums}, true, false},
      {"nums = set", {Op::kEqual, a("nums"), set}, false, false},
      {"key = text", {Op::kGreater, kPk, text(0)}, true, false},
  };
  ImagePtr item = sample();
  for (const TermCase& one : cases) {
    Condition condition = when(one.term);
    EXPECT_EQ(holds(condition, item.get(), values.params()), one.on_item) << one.what;
    EXPECT_EQ(holds(condition, nullptr, values.params()), one.on_none) << one.what << ", no item";
    // Hints left by one item must not change the answer for another.
    EXPECT_EQ(holds(condition, ImageBuilder(kKey).build().get(), values.params()),
              [&] {
                return one.term.test == Op::kItemExists || one.term.test == Op::kAbsent ||
                       one.term.attribute == kPk;
              }() &&
                  one.term.test != Op::kItemAbsent)
        << one.what << ", bare item";
    EXPECT_EQ(holds(condition, item.get(), values.params()), one.on_item) << one.what << ", again";
  }
}

TEST(Holds, ClausesAreAndAlternativesAreOr) {
  ImagePtr item = sample();
  Values values{{10, 99}, {}};
  Term yes{Op::kEqual, a("n"), number(0)};
  Term no{Op::kEqual, a("n"), number(1)};
  auto check = [&](const Condition& condition) {
    return holds(condition, item.get(), values.params());
  };
  EXPECT_TRUE(check(Condition()));
  EXPECT_TRUE(check(Condition().require(yes).require(yes)));
  EXPECT_FALSE(check(Condition().require(yes).require(no)));
  EXPECT_TRUE(check(Condition().require_any({{no}, {yes}})));
  EXPECT_FALSE(check(Condition().require_any({{no}, {no}})));
  EXPECT_FALSE(check(Condition().require_any({{yes, no}, {no, yes}})));
  EXPECT_TRUE(check(Condition().require_any({{yes, no}, {yes, yes}})));
  EXPECT_FALSE(check(Condition().require_any({{yes}}).require(no)));
  EXPECT_FALSE(check(Condition().require_any({}))) << "no alternative can hold";
  EXPECT_TRUE(check(Condition().require_any({{no}, {}}))) << "nothing is asked of one alternative";
  EXPECT_TRUE(check(Condition().require_any({{yes}, {no}, {no}}).require(yes)))
      << "what follows the alternative that holds is passed over";
  EXPECT_FALSE(check(Condition().require_any({{yes}, {no}, {no}}).require(no)));

  Condition other = Condition().require(yes);
  EXPECT_TRUE(check(Condition().require(yes).require_all(other)));
  EXPECT_FALSE(check(Condition().require(no).require_all(other)));
  other.require_all(other);
  EXPECT_EQ(other.terms().size(), 2u);
}

// ---- Updates ----

// `actions` on the sample and on nothing, as JSON; or the error.
std::string applied(std::vector<Action> actions, const ImagePtr& item, const Values& values = {}) {
  Result<ImagePtr> after = apply(actions, kKey, item.get(), values.params());
  if (!after) return after.error().message();
  std::int64_t size = 0;
  for (const ImageEntry& entry : **after) {
    size += static_cast<std::int64_t>(name_of(entry.id()).size());
    size += (*after)->value(entry).size_bytes();
  }
  EXPECT_EQ((*after)->size_bytes(), size);
  return to_dynamo_json(**after);
}

ImagePtr with(const char* name, const Value& value) {
  return ImageBuilder(kKey).set(a(name), value).build();
}

std::string json(const ImagePtr& image) { return to_dynamo_json(*image); }

TEST(Apply, Set) {
  ImagePtr bare = ImageBuilder(kKey).build();
  Values values{{7}, {"word"}};
  EXPECT_EQ(applied({{Change::kSet, a("n"), number(0)}}, ImagePtr(), values),
            json(with("n", Value::number(7))));
  EXPECT_EQ(applied({{Change::kSet, a("n"), number(0)}}, bare, values),
            json(with("n", Value::number(7))));
  EXPECT_EQ(applied({{Change::kSet, a("n"), number(0)}}, with("n", Value::number(1)), values),
            json(with("n", Value::number(7))));
  EXPECT_EQ(applied({{Change::kSet, a("n"), number(0)}}, with("n", Value::string("x")), values),
            json(with("n", Value::number(7))));
  EXPECT_EQ(applied({{Change::kSet, a("n"), text(0)}}, with("n", Value::number(1)), values),
            json(with("n", Value::string("word"))));
  for (const Value& literal :
       {Value::null(), Value::boolean(true), Value::number_text("0.5"), Value::number(3),
        Value::string("lit"), Value::string_set({"a"}), Value::list({Value::null()}),
        Value::map({{"k", Value::number(1)}}), Value::binary("x"), Value::number_set({"1", "0.5"}),
        Value::binary_set({"x"})}) {
    EXPECT_EQ(applied({{Change::kSet, a("n"), Operand::literal(literal)}}, bare),
              json(with("n", literal)));
  }
  EXPECT_EQ(applied({}, ImagePtr()), json(bare));
}

TEST(Apply, SetIfAbsent) {
  Values values{{7}, {"word"}};
  ImagePtr old = with("n", Value::number(1));
  EXPECT_EQ(applied({{Change::kSetIfAbsent, a("n"), number(0)}}, old, values), json(old));
  EXPECT_EQ(applied({{Change::kSetIfAbsent, a("n"), number(0)}}, ImagePtr(), values),
            json(with("n", Value::number(7))));
  EXPECT_EQ(applied({{Change::kSetIfAbsent, a("s"), text(0)}}, ImageBuilder(kKey).build(), values),
            json(with("s", Value::string("word"))));
}

TEST(Apply, AddNumbers) {
  Values values{{7, -7}, {}};
  EXPECT_EQ(applied({{Change::kAdd, a("n"), number(1)}}, with("n", Value::number(5)), values),
            json(with("n", Value::number(-2))));
  EXPECT_EQ(applied({{Change::kAdd, a("n"), number(0)}}, ImagePtr(), values),
            json(with("n", Value::number(7))));
  EXPECT_EQ(applied({{Change::kAdd, a("n"), number(0)}}, ImageBuilder(kKey).build(), values),
            json(with("n", Value::number(7))));
}

TEST(Apply, AddToSets) {
  Values values{{}, {"b"}};
  EXPECT_EQ(applied({{Change::kAdd, a("s"), text(0)}}, ImagePtr(), values),
            json(with("s", Value::string_set({"b"}))));
  ImagePtr old = with("s", Value::string_set({"a", "c"}));
  EXPECT_EQ(applied({{Change::kAdd, a("s"), text(0)}}, old, values),
            json(with("s", Value::string_set({"a", "b", "c"}))));
  Operand more = Operand::literal(Value::string_set({"c", "d"}));
  EXPECT_EQ(applied({{Change::kAdd, a("s"), more}}, old),
            json(with("s", Value::string_set({"a", "c", "d"}))));
}

TEST(Apply, Remove) {
  ImagePtr bare = ImageBuilder(kKey).build();
  EXPECT_EQ(applied({{Change::kRemove, a("n")}}, with("n", Value::number(5))), json(bare));
  EXPECT_EQ(applied({{Change::kRemove, a("n")}}, bare), json(bare));
  EXPECT_EQ(applied({{Change::kRemove, a("n")}}, ImagePtr()), json(bare));
}

TEST(Apply, RemoveFromSets) {
  ImagePtr bare = ImageBuilder(kKey).build();
  Values values{{}, {"b"}};
  ImagePtr two = with("s", Value::string_set({"a", "b"}));
  ImagePtr one = with("s", Value::string_set({"b"}));
  EXPECT_EQ(applied({{Change::kRemoveFromSet, a("s"), text(0)}}, two, values),
            json(with("s", Value::string_set({"a"}))));
  EXPECT_EQ(applied({{Change::kRemoveFromSet, a("s"), text(0)}}, one, values), json(bare))
      << "the last element takes the attribute with it";
  EXPECT_EQ(applied({{Change::kRemoveFromSet, a("s"), text(0)}}, bare, values), json(bare));
  EXPECT_EQ(applied({{Change::kRemoveFromSet, a("s"), text(0)}}, ImagePtr(), values), json(bare));
}

TEST(Apply, Refusals) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  Values values{{1, -1}, {"word", ""}};
  struct Case {
    const char* what;
    Action action;
    ImagePtr item;
  };
  const std::vector<Case> cases = {
      {"PK set", {Change::kSet, kPk, text(0)}, sample()},
      {"SK removed", {Change::kRemove, kSk}, sample()},
      {"SK of a new item", {Change::kSet, kSk, text(0)}, ImagePtr()},
      {"PK counted", {Change::kAdd, kPk, number(0)}, sample()},
      {"above the range", {Change::kAdd, a("n"), number(0)}, with("n", Value::number(kMax))},
      {"below the range", {Change::kAdd, a("n"), number(1)}, with("n", Value::number(-kMax - 1))},
      {"number to text", {Change::kAdd, a("s"), number(0)}, sample()},
      {"number to set", {Change::kAdd, a("set"), number(0)}, sample()},
      {"number to bool", {Change::kAdd, a("flag"), number(0)}, sample()},
      {"number to decimal", {Change::kAdd, a("half"), number(0)}, sample()},
      {"text to number", {Change::kAdd, a("n"), text(0)}, sample()},
      {"text to text", {Change::kAdd, a("s"), text(0)}, sample()},
      {"bool to nothing", {Change::kAdd, a("x"), Operand::literal(Value::boolean(true))}, sample()},
      {"out of a number", {Change::kRemoveFromSet, a("n"), text(0)}, sample()},
      {"number out of a set", {Change::kRemoveFromSet, a("set"), number(0)}, sample()},
      {"index key a number", {Change::kSet, index_pk(1), number(0)}, sample()},
      {"index key empty", {Change::kSet, index_sk(4), text(1)}, sample()},
      {"empty set", {Change::kSet, a("x"), Operand::literal(Value::string_set({}))}, sample()},
  };
  for (const Case& one : cases) {
    Result<ImagePtr> after = apply({one.action}, kKey, one.item.get(), values.params());
    ASSERT_FALSE(after.ok()) << one.what;
    EXPECT_EQ(after.error().code(), ErrorCode::kInvalidArgument) << one.what;
    EXPECT_EQ(after.error().field(), name_of(one.action.attribute)) << one.what;
  }
}

TEST(Apply, TooLargeAnItem) {
  // Names and values of the key make 17 bytes, the attribute's name five.
  Values values{{}, {std::string(400 * 1024 - 17 - 5, 'x')}};
  std::vector<Action> actions = {{Change::kSet, a("large"), text(0)}};
  EXPECT_TRUE(apply(actions, kKey, nullptr, values.params()).ok());
  values.strings[0] += 'x';
  EXPECT_FALSE(apply(actions, kKey, nullptr, values.params()).ok());
}

TEST(Apply, OldImageStaysAsItWas) {
  ImagePtr before = sample();
  std::string was = json(before);
  Values values{{1}, {"w"}};
  EXPECT_NE(applied({{Change::kAdd, a("n"), number(0)}}, before, values), was);
  EXPECT_NE(applied({{Change::kSet, a("s"), text(0)}}, before, values), was);
  EXPECT_EQ(json(before), was);
}

// Both forms of applying against one attribute at a time by the builder.
RC_GTEST_PROP(Apply, AgreesWithOneAttributeAtATime, ()) {
  const std::vector<const char*> names = {"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"};
  std::map<std::string, Value> model;
  ImageBuilder builder(kKey);
  for (const char* name : names) {
    int kind = *rc::gen::inRange(0, 4);
    if (kind == 0) continue;
    Value value = kind == 1 ? Value::string(*rc::gen::arbitrary<std::string>())
                            : Value::number(*rc::gen::inRange<std::int64_t>(-1000, 1000));
    builder.set(a(name), value);
    model.insert_or_assign(name, value);
  }
  ImagePtr before = builder.build();
  bool exists = *rc::gen::arbitrary<bool>();
  if (!exists) model.clear();

  Values values;
  std::vector<Action> actions;
  bool refused = false;
  bool numbers_only = *rc::gen::arbitrary<bool>();
  for (const char* name : names) {
    if (*rc::gen::arbitrary<bool>()) continue;
    auto old = model.find(name);
    values.numbers.push_back(*rc::gen::inRange<std::int64_t>(-1000, 1000));
    values.strings.push_back(*rc::gen::arbitrary<std::string>());
    Operand by_number = number(static_cast<int>(values.numbers.size()) - 1);
    Operand by_text = text(static_cast<int>(values.strings.size()) - 1);
    switch (*rc::gen::inRange(0, numbers_only ? 2 : 5)) {
      case 0:
        actions.push_back({Change::kSet, a(name), by_number});
        model.insert_or_assign(name, Value::number(values.numbers.back()));
        break;
      case 1:
        actions.push_back({Change::kAdd, a(name), by_number});
        if (old == model.end()) {
          model.insert_or_assign(name, Value::number(values.numbers.back()));
        } else if (const std::int64_t* current = old->second.as_number()) {
          model.insert_or_assign(name, Value::number(*current + values.numbers.back()));
        } else {
          refused = true;
        }
        break;
      case 2:
        actions.push_back({Change::kSet, a(name), by_text});
        model.insert_or_assign(name, Value::string(values.strings.back()));
        break;
      case 3:
        actions.push_back({Change::kSetIfAbsent, a(name), by_text});
        model.try_emplace(name, Value::string(values.strings.back()));
        break;
      default: actions.push_back({Change::kRemove, a(name)}); model.erase(name);
    }
  }
  Result<ImagePtr> after = apply(actions, kKey, exists ? before.get() : nullptr, values.params());
  RC_ASSERT(after.ok() == !refused);
  if (refused) return;
  ImageBuilder expected(kKey);
  for (const auto& [name, value] : model) expected.set(intern(name), value);
  RC_ASSERT(to_dynamo_json(**after) == to_dynamo_json(*expected.build()));
  RC_ASSERT((*after)->size_bytes() == expected.build()->size_bytes());
}

// ---- Costs ----

ImagePtr of_size(std::int64_t bytes, bool indexed = false) {
  ImageBuilder builder(kKey);
  if (indexed) {
    for (int i = 1; i <= 4; ++i) builder.set(index_pk(i), "ip").set(index_sk(i), "is");
  }
  builder.set(a("pad"), "");
  std::int64_t bare = builder.build()->size_bytes();
  builder.set(a("pad"), std::string(static_cast<std::size_t>(bytes - bare), 'x'));
  ImagePtr image = builder.build();
  EXPECT_EQ(image->size_bytes(), bytes);
  return image;
}

TEST(Cost, Reads) {
  EXPECT_EQ(read_units(0, Consistency::kEventual), 0.5);
  EXPECT_EQ(read_units(0, Consistency::kStrong), 1);
  EXPECT_EQ(read_units(4096, Consistency::kStrong), 1);
  EXPECT_EQ(read_units(4097, Consistency::kStrong), 2);
  EXPECT_EQ(read_units(4097, Consistency::kEventual), 1);
}

TEST(Cost, WritesByTheLargerImage) {
  ImagePtr small = of_size(1024);
  ImagePtr large = of_size(1025);
  auto table_units = [](const ImagePtr& before, const ImagePtr& after, bool transactional) {
    return write_cost(before.get(), after.get(), IndexLayout::kKeysOnly, transactional).write_units;
  };
  EXPECT_EQ(table_units(ImagePtr(), small, false), 1);
  EXPECT_EQ(table_units(ImagePtr(), large, false), 2);
  EXPECT_EQ(table_units(small, large, false), 2);
  EXPECT_EQ(table_units(large, small, false), 2);
  EXPECT_EQ(table_units(large, ImagePtr(), false), 2);
  EXPECT_EQ(table_units(ImagePtr(), ImagePtr(), false), 1);
  EXPECT_EQ(table_units(small, small, true), 2);
  EXPECT_EQ(failed_condition_cost(nullptr, false), (Cost{0, 1, 0}));
  EXPECT_EQ(failed_condition_cost(large.get(), false), (Cost{0, 2, 0}));
  EXPECT_EQ(failed_condition_cost(large.get(), true), (Cost{0, 4, 0}));
}

TEST(Cost, IndexesByProjection) {
  ImagePtr plain = of_size(3000);
  ImagePtr indexed = of_size(3000, true);
  ImagePtr changed = of_size(3100, true);
  ImagePtr moved = ImageBuilder(*indexed).set(index_sk(3), "elsewhere").build();
  auto index_units = [](const ImagePtr& before, const ImagePtr& after, IndexLayout layout) {
    return write_cost(before.get(), after.get(), layout, false).index_write_units;
  };
  // Entering and leaving: all four, two of them whole in the compatible layout.
  EXPECT_EQ(index_units(ImagePtr(), indexed, IndexLayout::kKeysOnly), 4);
  EXPECT_EQ(index_units(ImagePtr(), indexed, IndexLayout::kCompatible), 3 + 3 + 1 + 1);
  EXPECT_EQ(index_units(indexed, ImagePtr(), IndexLayout::kCompatible), 3 + 3 + 1 + 1);
  EXPECT_EQ(index_units(plain, indexed, IndexLayout::kKeysOnly), 4);
  EXPECT_EQ(index_units(ImagePtr(), plain, IndexLayout::kCompatible), 0);
  // Staying: only where a projected attribute changed.
  EXPECT_EQ(index_units(indexed, changed, IndexLayout::kKeysOnly), 0);
  EXPECT_EQ(index_units(indexed, changed, IndexLayout::kCompatible), 4 + 4);
  EXPECT_EQ(index_units(indexed, indexed, IndexLayout::kCompatible), 0);
  // Moving: out and in; the others that project all are rewritten.
  EXPECT_EQ(index_units(indexed, moved, IndexLayout::kKeysOnly), 2);
  EXPECT_EQ(index_units(indexed, moved, IndexLayout::kCompatible), 3 + 3 + 2);
  EXPECT_EQ(write_cost(nullptr, indexed.get(), IndexLayout::kKeysOnly, true), (Cost{0, 6, 8}));
  // The short cut for writes that touch no index key says the same.
  for (IndexLayout layout : {IndexLayout::kKeysOnly, IndexLayout::kCompatible}) {
    for (bool transactional : {false, true}) {
      EXPECT_EQ(write_cost_in_place(*indexed, *changed, layout, transactional),
                write_cost(indexed.get(), changed.get(), layout, transactional));
      EXPECT_EQ(write_cost_in_place(*indexed, *indexed, layout, transactional),
                write_cost(indexed.get(), indexed.get(), layout, transactional));
      EXPECT_EQ(write_cost_in_place(*plain, *plain, layout, transactional),
                write_cost(plain.get(), plain.get(), layout, transactional));
    }
  }
}

TEST(Cost, ABucketWriteIsOneUnit) {
  // Four limits with names of eight, ids of 24 bytes: the goal of decision 22.
  std::string entity(24, 'e');
  std::string resource(24, 'r');
  ImageBuilder builder(Key("namespace01/BUCKET#" + entity + "#" + resource + "#0", "#STATE"));
  builder.set(index_pk(2), "namespace01/RESOURCE#" + resource)
      .set(index_sk(2), "BUCKET#" + entity + "#0")
      .set(index_pk(3), "namespace01/ENTITY#" + entity)
      .set(index_sk(3), "BUCKET#" + resource + "#0")
      .set(index_pk(4), "namespace01")
      .set(index_sk(4), "BUCKET#" + entity + "#" + resource + "#0")
      .set(a("entity_id"), entity)
      .set(a("resource"), resource)
      .set(a("rf"), std::int64_t{1'790'000'000'123})
      .set(a("vu"), std::int64_t{1'790'000'060'123})
      .set(a("ttl"), std::int64_t{1'790'000'060})
      .set(a("cascade"), false);
  for (const char* limit : {"limit__1", "limit__2", "limit__3", "limit__4", "wcu"}) {
    for (const char* field : {"tk", "cp", "ra", "rp", "tc"}) {
      builder.set(intern(std::string("b_") + limit + "_" + field), std::int64_t{99'123'457});
    }
  }
  ImagePtr bucket = builder.build();
  EXPECT_LT(bucket->size_bytes(), 1024);
  EXPECT_EQ(write_cost_in_place(*bucket, *bucket, IndexLayout::kKeysOnly, false), (Cost{0, 1, 0}));
}

TEST(Cost, Queries) {
  std::vector<ImagePtr> images = {of_size(3000, true), of_size(3000, true)};
  EXPECT_EQ(query_cost(Index::kTable, IndexLayout::kKeysOnly, {}).read_units, 0.5);
  EXPECT_EQ(query_cost(Index::kTable, IndexLayout::kKeysOnly, images).read_units, 1);
  EXPECT_EQ(query_cost(Index::kGsi2, IndexLayout::kCompatible, images).read_units, 1);
  // Keys once, then each item by its key.
  EXPECT_EQ(query_cost(Index::kGsi2, IndexLayout::kKeysOnly, images).read_units, 0.5 + 2 * 0.5);
}

TEST(Project, KeysOfTheSparseIndexes) {
  ImagePtr item = of_size(3000, true);
  EXPECT_EQ(project(item, Index::kTable), item);
  EXPECT_EQ(project(item, Index::kGsi1), item);
  EXPECT_EQ(project(item, Index::kGsi2), item);
  ImagePtr keys = project(item, Index::kGsi3);
  EXPECT_TRUE(*keys == *ImageBuilder(kKey).set(index_pk(3), "ip").set(index_sk(3), "is").build());
  EXPECT_EQ(keys->size_bytes(), 2 + 9 + 2 + 4 + 6 + 2 + 6 + 2);
}

// ---- Validation ----

template <typename Request>
bool valid(const Request& request) {
  return validate(RequestRef(&request)).ok();
}

TEST(Validate, Keys) {
  auto get = [](const std::string& pk, const std::string& sk) {
    Key key(pk, sk);
    return valid(GetRequest(key, Consistency::kEventual));
  };
  EXPECT_TRUE(get("p", "s"));
  EXPECT_FALSE(get("", "s"));
  EXPECT_FALSE(get("p", ""));
  EXPECT_TRUE(get(std::string(2048, 'p'), std::string(1024, 's')));
  EXPECT_FALSE(get(std::string(2049, 'p'), "s"));
  EXPECT_FALSE(get("p", std::string(1025, 's')));
}

TEST(Validate, Items) {
  EXPECT_TRUE(valid(PutRequest(of_size(400 * 1024), nullptr)));
  EXPECT_FALSE(valid(PutRequest(of_size(400 * 1024 + 1), nullptr)));
  EXPECT_FALSE(valid(PutRequest(ImagePtr(), nullptr)));
  EXPECT_FALSE(valid(PutRequest(with("x", Value::string_set({})), nullptr)));
  auto indexed = [](AttrId id, const Value& value) {
    return valid(PutRequest(ImageBuilder(kKey).set(id, value).build(), nullptr));
  };
  EXPECT_TRUE(indexed(index_pk(1), Value::string(std::string(2048, 'x'))));
  EXPECT_FALSE(indexed(index_pk(1), Value::string(std::string(2049, 'x'))));
  EXPECT_FALSE(indexed(index_sk(1), Value::string(std::string(1025, 'x'))));
  EXPECT_FALSE(indexed(index_sk(1), Value::string("")));
  EXPECT_FALSE(indexed(index_sk(1), Value::number(1)));
  EXPECT_FALSE(indexed(index_sk(1), Value::null()));
}

TEST(Validate, Counts) {
  std::vector<Key> keys;
  for (int i = 0; i < 101; ++i) keys.emplace_back("p" + std::to_string(i), "s");
  auto batch = [&](std::size_t count) {
    std::span<const Key> first(keys.data(), count);
    return valid(BatchGetRequest(first, Consistency::kEventual));
  };
  EXPECT_FALSE(batch(0));
  EXPECT_TRUE(batch(100));
  EXPECT_FALSE(batch(101));
  keys[7] = keys[3];
  EXPECT_FALSE(batch(10));

  UpdateProgram nothing;
  std::vector<TransactItem> items;
  for (int i = 0; i < 101; ++i) items.emplace_back(UpdateRequest(keys[50], nothing, Params()));
  auto transaction = [&](std::size_t count) {
    std::span<const TransactItem> first(items.data(), count);
    return valid(TransactRequest(first, ""));
  };
  EXPECT_FALSE(transaction(0));
  EXPECT_TRUE(transaction(1));
  EXPECT_FALSE(transaction(2)) << "the same item twice";
  items.clear();
  for (std::size_t i = 0; i < 101; ++i) {
    if (i == 7) continue;
    items.emplace_back(DeleteRequest(keys[i], nullptr));
  }
  EXPECT_TRUE(transaction(100));
}

TEST(Validate, Queries) {
  EXPECT_TRUE(valid(QueryRequest(Index::kTable, "p", "", 1)));
  EXPECT_FALSE(valid(QueryRequest(Index::kTable, "", "", 1)));
  EXPECT_FALSE(valid(QueryRequest(Index::kTable, "p", "", 0)));
  EXPECT_FALSE(valid(QueryRequest(Index::kTable, "p", std::string(1025, 'x'), 1)));
}

TEST(Validate, Scans) {
  EXPECT_TRUE(valid(ScanRequest(1)));
  EXPECT_FALSE(valid(ScanRequest(0)));
  EXPECT_FALSE(valid(ScanRequest(-1)));
}

}  // namespace
}  // namespace stint::store
