#include "store/image.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "store/serialize.h"
#include "tests/support/table.h"

namespace stint::store {
namespace {

ImageBuilder start() { return ImageBuilder(Key("partition", "sort")); }

Value nested(int depth) {
  Value value = Value::string("leaf");
  for (int i = 0; i < depth; ++i) value = Value::list({value});
  return value;
}

// ---- Generators ----

std::string any_text() { return *rc::gen::container<std::string>(rc::gen::arbitrary<char>()); }

std::string decimal_text() {
  return *rc::gen::elementOf(std::vector<std::string>{"0.5", "-12.25", "1E10", "007", "1.0"});
}

Value any_value(int depth) {
  int kind = *rc::gen::inRange(0, depth > 0 ? 11 : 9);
  switch (kind) {
    case 0: return Value::number(*rc::gen::arbitrary<std::int64_t>());
    case 1: return Value::string(any_text());
    case 2: return Value::boolean(*rc::gen::arbitrary<bool>());
    case 3: return Value::null();
    case 4: return Value::number_text(decimal_text());
    case 5: return Value::string_set({any_text(), "x" + any_text()});
    case 6: return Value::binary(any_text());
    case 7:
      return Value::number_set(
          {decimal_text(), std::to_string(*rc::gen::arbitrary<std::int64_t>())});
    case 8: return Value::binary_set({any_text(), "x" + any_text()});
    default: break;
  }
  int size = *rc::gen::inRange(0, 4);
  if (kind == 9) {
    Value::List list;
    for (int i = 0; i < size; ++i) list.push_back(any_value(depth - 1));
    return Value::list(std::move(list));
  }
  Value::Map map;
  for (int i = 0; i < size; ++i) map.insert_or_assign(any_text(), any_value(depth - 1));
  return Value::map(std::move(map));
}

ImagePtr any_image() {
  ImageBuilder builder(Key("p" + any_text(), "s" + any_text()));
  int size = *rc::gen::inRange(0, 12);
  for (int i = 0; i < size; ++i) {
    builder.set(intern("attribute " + std::to_string(*rc::gen::inRange(0, 20))), any_value(3));
  }
  return builder.build();
}

std::int64_t slow_size(const Image& image) {
  std::int64_t size = 0;
  for (const ImageEntry& entry : image) {
    size += static_cast<std::int64_t>(name_of(entry.id()).size()) + image.value(entry).size_bytes();
  }
  return size;
}

// ---- Building and reading ----

TEST(Image, HoldsWhatWasSet) {
  ImagePtr image = start()
                       .set(intern("n"), std::int64_t{-5})
                       .set(intern("s"), "text")
                       .set(intern("yes"), true)
                       .set(intern("no"), false)
                       .set(intern("nothing"), Value::null())
                       .set(intern("half"), Value::number_text("0.5"))
                       .set(intern("set"), Value::string_set({"b", "a"}))
                       .set(intern("tree"), Value::map({{"k", Value::list({Value::number(1)})}}))
                       .build();
  EXPECT_EQ(image->pk(), "partition");
  EXPECT_EQ(image->sk(), "sort");
  EXPECT_EQ(image->key(), Key("partition", "sort"));
  EXPECT_EQ(image->number(intern("n")), -5);
  EXPECT_EQ(image->string(intern("s")), "text");
  EXPECT_EQ(image->boolean(intern("yes")), true);
  EXPECT_EQ(image->boolean(intern("no")), false);
  EXPECT_TRUE(image->value(intern("nothing"))->is_null());
  EXPECT_EQ(image->value(intern("half")), Value::number_text("0.5"));
  EXPECT_EQ(image->value(intern("set")), Value::string_set({"a", "b"}));
  EXPECT_EQ(image->value(intern("tree")), Value::map({{"k", Value::list({Value::number(1)})}}));
  EXPECT_EQ(image->entry_count(), 10u);
  EXPECT_EQ(image->size_bytes(), slow_size(*image));
}

TEST(Image, WrongTypesAndAbsenceAreNothing) {
  ImagePtr image = start().set(intern("n"), std::int64_t{1}).build();
  EXPECT_FALSE(image->string(intern("n")));
  EXPECT_FALSE(image->boolean(intern("n")));
  EXPECT_FALSE(image->number(kPk));
  EXPECT_FALSE(image->number(intern("absent")));
  EXPECT_FALSE(image->value(intern("absent")));
  EXPECT_FALSE(image->has(intern("absent")));
  EXPECT_EQ(image->find(intern("absent")), nullptr);
}

TEST(Image, HintsNeverMislead) {
  AttrId wanted = intern("hinted");
  PositionHint hint;
  ImagePtr without = start().build();
  ImagePtr late = start().set(intern("aa"), std::int64_t{1}).set(wanted, std::int64_t{2}).build();
  ImagePtr early = start().set(wanted, std::int64_t{3}).build();
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(without->find(wanted, hint), nullptr);
    EXPECT_EQ(late->find(wanted, hint)->number, 2);
    EXPECT_EQ(late->find(wanted, hint)->number, 2);
    EXPECT_EQ(early->find(wanted, hint)->number, 3);
  }
}

TEST(Image, BuilderChangesACopy) {
  ImagePtr base = start().set(intern("kept"), "k").set(intern("changed"), "old").build();
  ImageBuilder builder(*base);
  builder.set(intern("changed"), std::int64_t{7}).erase(intern("kept")).set(intern("new"), "n");
  EXPECT_FALSE(builder.has(intern("kept")));
  EXPECT_TRUE(builder.has(intern("new")));
  ImagePtr copy = builder.build();
  EXPECT_EQ(base->string(intern("changed")), "old");
  EXPECT_EQ(copy->number(intern("changed")), 7);
  EXPECT_FALSE(copy->has(intern("kept")));
  EXPECT_EQ(copy->size_bytes(), slow_size(*copy));
  EXPECT_TRUE(*builder.build() == *copy);
}

TEST(Image, BuilderKeepsItsBaseAlive) {
  ImageBuilder builder(*start().set(intern("text"), std::string(500, 'x')).build());
  EXPECT_EQ(builder.build()->string(intern("text")), std::string(500, 'x'));
}

TEST(Image, EqualityIsByAttributes) {
  ImagePtr a = start().set(intern("x"), std::int64_t{1}).build();
  ImagePtr b = start().set(intern("x"), std::int64_t{1}).build();
  EXPECT_TRUE(*a == *b);
  EXPECT_FALSE(a == b);
  EXPECT_FALSE(*a == *start().set(intern("x"), std::int64_t{2}).build());
  EXPECT_FALSE(*a == *start().set(intern("x"), "1").build());
  EXPECT_FALSE(*a == *start().set(intern("y"), std::int64_t{1}).build());
  EXPECT_FALSE(*a == *start().build());
}

TEST(Image, SharedByThreads) {
  ImagePtr image = start().set(intern("x"), std::int64_t{1}).build();
  std::atomic<int> sum{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([image, &sum] {
      for (int i = 0; i < 5000; ++i) {
        ImagePtr copy = image;
        ImagePtr moved = std::move(copy);
        sum += static_cast<int>(*moved->number(intern("x")));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 20000);
}

RC_GTEST_PROP(Image, SizeIsTheSumOfItsAttributes, ()) {
  ImagePtr image = any_image();
  RC_ASSERT(image->size_bytes() == slow_size(*image));
}

// ---- On disk ----

RC_GTEST_PROP(ImageOnDisk, ComesBack, ()) {
  ImagePtr image = any_image();
  Result<ImagePtr> read = deserialize(serialize(*image));
  RC_ASSERT(read.ok());
  RC_ASSERT(**read == *image);
  RC_ASSERT((*read)->size_bytes() == image->size_bytes());
}

RC_GTEST_PROP(ImageOnDisk, EveryDamagedByteIsNoticed, (std::uint32_t place, std::uint8_t change)) {
  std::string bytes = serialize(*any_image());
  RC_PRE(change != 0);
  char& damaged = bytes[place % bytes.size()];
  damaged = static_cast<char>(damaged ^ static_cast<char>(change));
  Result<ImagePtr> read = deserialize(bytes);
  RC_ASSERT(!read.ok());
  RC_ASSERT(read.error().code() == ErrorCode::kCorrupt);
}

TEST(ImageOnDisk, EveryTruncationIsNoticed) {
  ImagePtr image = start().set(intern("tree"), nested(3)).set(intern("s"), "text").build();
  std::string bytes = serialize(*image);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(deserialize(std::string_view(bytes).substr(0, length)).ok()) << length;
  }
  EXPECT_FALSE(deserialize(bytes + '\0').ok());
}

void fix_checksum(std::string& bytes) {
  std::uint32_t checksum = image_checksum(std::string_view(bytes).substr(kImageHeaderBytes));
  for (std::size_t i = 0; i < 4; ++i) bytes[1 + i] = static_cast<char>(checksum >> (8 * i));
}

// Behind the checksum, the reader itself must stand anything. What it does accept is an image in
// good order, which is written back as the same image.
RC_GTEST_PROP(ImageOnDisk, ReaderStandsAnything, ()) {
  std::string bytes = serialize(*any_image());
  int changes = *rc::gen::inRange(1, 6);
  for (int i = 0; i < changes; ++i) {
    auto place = *rc::gen::inRange<std::size_t>(kImageHeaderBytes, bytes.size());
    switch (*rc::gen::inRange(0, 3)) {
      case 0: bytes[place] = *rc::gen::arbitrary<char>(); break;
      case 1: bytes.insert(place, 1, *rc::gen::arbitrary<char>()); break;
      default: bytes.erase(place, *rc::gen::inRange<std::size_t>(1, 9)); break;
    }
    if (bytes.size() <= kImageHeaderBytes) break;
  }
  fix_checksum(bytes);
  Result<ImagePtr> read = deserialize(bytes);
  if (!read) {
    RC_ASSERT(read.error().code() == ErrorCode::kCorrupt);
    return;
  }
  RC_ASSERT((*read)->size_bytes() == slow_size(**read));
  RC_ASSERT(**deserialize(serialize(**read)) == **read);
}

// Bytes as version 1 writes them must be readable for ever.
TEST(ImageOnDisk, FormatOneStaysReadable) {
  const std::string hex =
      "019c52aa910602504b02017002534b020173016e00d704026f6e03010468616c660103302e35016d0701016b0602"
      "04050201610162";
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  Result<ImagePtr> read = deserialize(bytes);
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(to_dynamo_json(**read),
            R"({"PK":{"S":"p"},"SK":{"S":"s"},"half":{"N":"0.5"},)"
            R"("m":{"M":{"k":{"L":[{"NULL":true},{"SS":["a","b"]}]}}},"n":{"N":"-300"},)"
            R"("on":{"BOOL":true}})");
}

TEST(ImageOnDisk, FormatTwoIsForBinaryValuesAndSetsOfNumbers) {
  Value binary = Value::binary("x");
  EXPECT_EQ(serialize(*start().set(intern("v"), nested(3)).build())[0], 1);
  for (const Value& value :
       {binary, Value::number_set({"1"}), Value::binary_set({"x"}), Value::list({binary}),
        Value::map({{"a", Value::null()}, {"b", Value::list({Value::number(1), binary})}})}) {
    ImagePtr image = start().set(intern("v"), value).set(intern("w"), nested(2)).build();
    std::string bytes = serialize(*image);
    EXPECT_EQ(bytes[0], 2);
    EXPECT_EQ(**deserialize(bytes), *image);
    EXPECT_FALSE(serialized_number(bytes, "v"));
    bytes[0] = 1;
    EXPECT_FALSE(deserialize(bytes).ok()) << "an older program would have refused it, too";
  }
  ImagePtr image = start().set(intern("a"), binary).set(intern("n"), std::int64_t{7}).build();
  EXPECT_EQ(serialized_number(serialize(*image), "n"), 7);
}

TEST(ImageOnDisk, RefusesAnotherFormat) {
  for (char format : {'\0', '\2', '\3'}) {
    std::string bytes = serialize(*start().build());
    bytes[0] = format;
    Result<ImagePtr> read = deserialize(bytes);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().code(), ErrorCode::kCorrupt);
  }
}

// ---- DynamoDB JSON ----

TEST(DynamoJson, Spelling) {
  ImagePtr image = start()
                       .set(intern("n"), std::int64_t{-5})
                       .set(intern("half"), Value::number_text("0.5"))
                       .set(intern("s"), "a\"b\\c\n\x01\xc3\xa9")
                       .set(intern("yes"), true)
                       .set(intern("nil"), Value::null())
                       .set(intern("ss"), Value::string_set({"b", "a"}))
                       .set(intern("l"), Value::list({Value::string("x"), Value::number(1)}))
                       .set(intern("m"), Value::map({{"k", Value::boolean(false)}}))
                       .set(intern("b"), Value::binary(std::string("\0\xff!", 3)))
                       .set(intern("bs"), Value::binary_set({"b", ""}))
                       .set(intern("ns"), Value::number_set({"10", "9", "-0.50"}))
                       .build();
  EXPECT_EQ(to_dynamo_json(*image),
            R"({"PK":{"S":"partition"},"SK":{"S":"sort"},"b":{"B":"AP8h"},)"
            R"("bs":{"BS":["","Yg=="]},"half":{"N":"0.5"},)"
            R"("l":{"L":[{"S":"x"},{"N":"1"}]},"m":{"M":{"k":{"BOOL":false}}},"n":{"N":"-5"},)"
            R"("nil":{"NULL":true},"ns":{"NS":["-0.50","9","10"]},"s":{"S":"a\"b\\c\n\u0001)"
            "\xc3\xa9"
            R"("},"ss":{"SS":["a","b"]},"yes":{"BOOL":true}})");
}

RC_GTEST_PROP(DynamoJson, ComesBack, ()) {
  ImagePtr image = any_image();
  Result<ImagePtr> read = from_dynamo_json(to_dynamo_json(*image));
  RC_ASSERT(read.ok());
  RC_ASSERT(**read == *image);
}

TEST(DynamoJson, ReadsSpacesAndEscapes) {
  Result<ImagePtr> read = from_dynamo_json(
      " { \"PK\" : {\"S\": \"a\\u0041\\u00e9\\ud83d\\ude00\\/\\b\"},\n\t\"SK\":{\"S\":\"s\"} } ");
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ((*read)->pk(), "aA\xc3\xa9\xf0\x9f\x98\x80/\b");
}

TEST(DynamoJson, RefusesWhatIsNoItem) {
  const std::string key = R"("PK":{"S":"p"},"SK":{"S":"s"})";
  for (const std::string& json :
       {std::string(),
        std::string("{"),
        std::string("[]"),
        std::string("{}"),
        std::string("null"),
        R"({"PK":{"S":"p"}})" + std::string(),
        R"({"PK":{"N":"1"},"SK":{"S":"s"}})" + std::string(),
        "{" + key + "} x",
        "{" + key + ",}",
        "{" + key + key + "}",
        "{" + key + R"(,"a":{"N":"x"}})",
        "{" + key + R"(,"a":{"N":1}})",
        "{" + key + R"(,"a":{"N":"1e400"}})",
        "{" + key + R"(,"a":{"B":"eA="}})",
        "{" + key + R"(,"a":{"B":7}})",
        "{" + key + R"(,"a":{"X":"eA=="}})",
        "{" + key + R"(,"a":{"NS":["x"]}})",
        "{" + key + R"(,"a":{"NS":["1","1.0"]}})",
        "{" + key + R"(,"a":{"NS":[]}})",
        "{" + key + R"(,"a":{"BS":["eA==","eA=="]}})",
        "{" + key + R"(,"a":{"BS":["x"]}})",
        "{" + key + R"(,"a":{"S":"b"},"a":{"S":"b"}})",
        "{" + key + R"(,"":{"S":"b"}})",
        "{" + key + R"(,"a":{"S":"b","N":"1"}})",
        "{" + key + R"(,"a":{}})",
        "{" + key + R"(,"a":{"NULL":false}})",
        "{" + key + R"(,"a":{"BOOL":"true"}})",
        "{" + key + R"(,"a":{"SS":[]}})",
        "{" + key + R"(,"a":{"SS":["x","x"]}})",
        "{" + key + R"(,"a":{"S":"\x"}})",
        "{" + key + R"(,"a":{"S":"\u12g4"}})",
        "{" + key + R"(,"a":{"S":"\ud800"}})",
        "{" + key + R"(,"a":{"S":"\udc00"}})",
        "{" + key + R"(,"a":{"S":"\ud800\u0041"}})",
        "{" + key + ",\"a\":{\"S\":\"\n\"}}",
        "{" + key + R"(,"a":{"S":"open)",
        "{" + key + R"(,")" + std::string(256, 'n') + R"(":{"S":"b"}})"}) {
    Result<ImagePtr> read = from_dynamo_json(json);
    ASSERT_FALSE(read.ok()) << json;
    EXPECT_EQ(read.error().code(), ErrorCode::kInvalidArgument) << json;
  }
}

TEST(DynamoJson, DepthIsBounded) {
  auto json = [](int depth) {
    std::string value;
    for (int i = 0; i < depth; ++i) value += R"({"L":[)";
    value += R"({"S":"leaf"})";
    for (int i = 0; i < depth; ++i) value += "]}";
    return R"({"PK":{"S":"p"},"SK":{"S":"s"},"deep":)" + value + "}";
  };
  ASSERT_TRUE(from_dynamo_json(json(32)).ok());
  EXPECT_TRUE(deserialize(serialize(**from_dynamo_json(json(32)))).ok());
  EXPECT_FALSE(from_dynamo_json(json(33)).ok());
  EXPECT_FALSE(from_dynamo_json(json(100'000)).ok());
}

RC_GTEST_PROP(DynamoJson, ReaderStandsAnything, ()) {
  std::string json = to_dynamo_json(*any_image());
  int changes = *rc::gen::inRange(1, 4);
  for (int i = 0; i < changes && !json.empty(); ++i) {
    auto place = *rc::gen::inRange<std::size_t>(0, json.size());
    if (*rc::gen::arbitrary<bool>()) {
      json[place] = *rc::gen::elementOf(std::string("{}[]\",:\\u0SNLM1truefalse \n\x80"));
    } else {
      json.erase(place, *rc::gen::inRange<std::size_t>(1, 9));
    }
  }
  Result<ImagePtr> read = from_dynamo_json(json);
  if (read) RC_ASSERT((*read)->size_bytes() == slow_size(**read));
}

TEST(PlainJsonTest, IsWhatJsonKnows) {
  Value::Map map;
  map.emplace("a", Value::list({Value::number(-7), Value::number_text("0.5"), Value::null()}));
  map.emplace("b \"q\"", Value::string("line\n"));
  map.emplace("c", Value::boolean(true));
  map.emplace("d", Value::string_set({"x", "y"}));
  map.emplace("e", Value::map({}));
  EXPECT_EQ(to_plain_json(Value::map(map)),
            R"({"a":[-7,0.5,null],"b \"q\"":"line\n","c":true,"d":["x","y"],"e":{}})");
  // What other programs may write and JSON has no number for.
  EXPECT_EQ(to_plain_json(Value::number_text("1E+2")), "1E+2");
  EXPECT_EQ(to_plain_json(Value::number_text("+5")), R"("+5")");
  EXPECT_EQ(to_plain_json(Value::number_text(".5")), R"(".5")");
}

}  // namespace
}  // namespace stint::store
