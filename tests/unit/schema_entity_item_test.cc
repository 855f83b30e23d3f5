#include "schema/entity_item.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <string>

#include "base/time.h"
#include "tests/support/reference_items.h"

namespace stint::schema {
namespace {

using test::item_of;
using test::shown;

constexpr const char* kChild = R"({
  "PK": {"S": "ns/ENTITY#user-1"}, "SK": {"S": "#META"},
  "GSI1PK": {"S": "ns/PARENT#org-1"}, "GSI1SK": {"S": "CHILD#user-1"},
  "GSI4PK": {"S": "ns"}, "GSI4SK": {"S": "ns/ENTITY#user-1"},
  "entity_id": {"S": "user-1"}, "name": {"S": "User One"}, "parent_id": {"S": "org-1"},
  "cascade": {"BOOL": true}, "created_at": {"S": "2026-11-30T19:49:05Z"},
  "metadata": {"M": {"tier": {"S": "gold"}, "n": {"N": "3"}, "share": {"N": "0.25"},
                     "nested": {"M": {"a": {"L": [{"N": "1"}, {"NULL": true}]}}}}},
  "pgen": {"N": "1796068145949"}, "pinc": {"S": "741979afe38ff640"}})";

TEST(EntityItemTest, ReadsAChildAndWritesItAsItWas) {
  store::ImagePtr item = item_of(kChild);
  Result<EntityRecord> entity = decode_entity(*item);
  ASSERT_TRUE(entity) << entity.error().message();
  EXPECT_EQ(entity->id, "user-1");
  EXPECT_EQ(entity->name, "User One");
  EXPECT_EQ(entity->parent, "org-1");
  EXPECT_TRUE(entity->cascade);
  EXPECT_EQ(entity->created_at, "2026-11-30T19:49:05Z");
  EXPECT_EQ(entity->parent_generation, 1796068145949);
  EXPECT_EQ(entity->incarnation(), "741979afe38ff640");
  EXPECT_EQ(entity->metadata.size(), 4u);
  EXPECT_EQ(entity->metadata.find("share")->second, store::Value::number_text("0.25"));
  EXPECT_EQ(shown(encode_entity("ns", *entity)), shown(item));
}

TEST(EntityItemTest, WithoutParentTheStampIsNullAndIndexOneLacksTheItem) {
  EntityRecord entity;
  entity.id = "org-1";
  entity.name = "org-1";
  entity.created_at = "2026-11-30T19:49:05Z";
  entity.parent_generation = 1;
  entity.incarnation_digits = "227743cc29d8a25b";
  EXPECT_EQ(shown(encode_entity("ns", entity)), shown(item_of(R"({
      "PK": {"S": "ns/ENTITY#org-1"}, "SK": {"S": "#META"},
      "GSI4PK": {"S": "ns"}, "GSI4SK": {"S": "ns/ENTITY#org-1"},
      "entity_id": {"S": "org-1"}, "name": {"S": "org-1"}, "parent_id": {"NULL": true},
      "cascade": {"BOOL": false}, "metadata": {"M": {}},
      "created_at": {"S": "2026-11-30T19:49:05Z"}, "pgen": {"N": "1"},
      "pinc": {"S": "227743cc29d8a25b"}})")));
}

TEST(EntityItemTest, OldItemsLackGenerationAndIncarnation) {
  store::ImagePtr item = item_of(R"({
      "PK": {"S": "ns/ENTITY#org-1"}, "SK": {"S": "#META"},
      "GSI4PK": {"S": "ns"}, "GSI4SK": {"S": "ns/ENTITY#org-1"},
      "entity_id": {"S": "org-1"}, "name": {"S": "org-1"}, "parent_id": {"NULL": true},
      "cascade": {"BOOL": false}, "metadata": {"M": {}},
      "created_at": {"S": "2026-11-30T19:49:05Z"}})");
  Result<EntityRecord> entity = decode_entity(*item);
  ASSERT_TRUE(entity) << entity.error().message();
  EXPECT_EQ(entity->parent_generation, 0);
  EXPECT_EQ(entity->incarnation(), "2026-11-30T19:49:05Z");
  EXPECT_EQ(shown(encode_entity("ns", *entity)), shown(item));
}

TEST(EntityItemTest, TheLifeOfAnItemThatNamesNoneIsADash) {
  Result<EntityRecord> entity = decode_entity(
      *item_of(R"({"PK": {"S": "ns/ENTITY#a"}, "SK": {"S": "#META"}, "entity_id": {"S": "a"}})"));
  ASSERT_TRUE(entity) << entity.error().message();
  EXPECT_EQ(entity->incarnation(), "-");
  EXPECT_EQ(entity->name, "a");
  EXPECT_FALSE(entity->parent);
  EXPECT_FALSE(entity->cascade);
}

TEST(EntityItemTest, TheIdIsTheAttributeNotTheKey) {
  Result<EntityRecord> entity = decode_entity(
      *item_of(R"({"PK": {"S": "ns/ENTITY#a"}, "SK": {"S": "#META"}, "entity_id": {"S": "b"}})"));
  ASSERT_TRUE(entity) << entity.error().message();
  EXPECT_EQ(entity->id, "b");
}

TEST(EntityItemTest, NamesWhatIsWrong) {
  auto reason_of = [](const std::string& attributes) {
    Result<EntityRecord> entity = decode_entity(
        *item_of(R"({"PK": {"S": "ns/ENTITY#a"}, "SK": {"S": "#META"})" + attributes + "}"));
    EXPECT_FALSE(entity) << attributes;
    if (entity) return std::string();
    EXPECT_EQ(entity.error().code(), ErrorCode::kCorrupt);
    return entity.error().reason();
  };
  EXPECT_EQ(reason_of(""), "item ns/ENTITY#a #META: entity_id is missing");
  EXPECT_EQ(reason_of(R"(, "entity_id": {"N": "1"})"),
            "item ns/ENTITY#a #META: entity_id is not a string");
  EXPECT_EQ(reason_of(R"(, "entity_id": {"S": "a"}, "cascade": {"S": "yes"})"),
            "item ns/ENTITY#a #META: cascade is not a boolean");
  EXPECT_EQ(reason_of(R"(, "entity_id": {"S": "a"}, "pgen": {"N": "1.5"})"),
            "item ns/ENTITY#a #META: pgen is not a whole number of 64 bits");
  EXPECT_EQ(reason_of(R"(, "entity_id": {"S": "a"}, "metadata": {"L": []})"),
            "item ns/ENTITY#a #META: metadata is not a map");
  EXPECT_EQ(reason_of(R"(, "entity_id": {"S": "a"}, "parent_id": {"BOOL": true})"),
            "item ns/ENTITY#a #META: parent_id is not a string");
}

TEST(EntityItemTest, MessagesHoldNoControlCharacters) {
  Result<EntityRecord> entity =
      decode_entity(*item_of(R"({"PK": {"S": "ns/ENTITY#a\nb"}, "SK": {"S": "#META"}})"));
  ASSERT_FALSE(entity);
  EXPECT_EQ(entity.error().reason(), "item ns/ENTITY#a?b #META: entity_id is missing");
}

RC_GTEST_PROP(EntityItemProperty, ARecordSurvivesItsItem, ()) {
  EntityRecord entity;
  entity.id = *rc::gen::nonEmpty<std::string>();
  entity.name = *rc::gen::arbitrary<std::string>();
  if (*rc::gen::arbitrary<bool>()) entity.parent = *rc::gen::nonEmpty<std::string>();
  entity.cascade = *rc::gen::arbitrary<bool>();
  entity.created_at = *rc::gen::arbitrary<std::string>();
  entity.parent_generation = *rc::gen::arbitrary<std::int64_t>();
  entity.incarnation_digits = *rc::gen::arbitrary<std::string>();
  for (const auto& [name, text] : *rc::gen::arbitrary<std::map<std::string, std::string>>()) {
    entity.metadata.emplace(name,
                            store::Value::list({store::Value::string(text), store::Value::null()}));
  }
  Result<EntityRecord> decoded = decode_entity(*encode_entity("ns", entity));
  RC_ASSERT(decoded.ok());
  RC_ASSERT(*decoded == entity);
}

TEST(IsoSecondsTest, WritesWholeSecondsRoundedDown) {
  EXPECT_EQ(iso_seconds(from_epoch_ms(0)), "1970-01-01T00:00:00Z");
  EXPECT_EQ(iso_seconds(from_epoch_ms(-1)), "1969-12-31T23:59:59Z");
  EXPECT_EQ(iso_seconds(from_epoch_ms(1796068145999)), "2026-11-30T19:49:05Z");
  EXPECT_EQ(iso_seconds(from_epoch_ms(951'782'400'000)), "2000-02-29T00:00:00Z");
  EXPECT_EQ(iso_seconds(from_epoch_ms(253'402'300'799'000)), "9999-12-31T23:59:59Z");
}

RC_GTEST_PROP(IsoSecondsProperty, ReadsWhatItWrites, ()) {
  // The years 0000 to 9999.
  auto second = *rc::gen::inRange<std::int64_t>(-62'167'219'200, 253'402'300'800);
  Result<TimePoint> read = parse_iso_seconds(iso_seconds(from_epoch_ms(second * 1000)));
  RC_ASSERT(read.ok());
  RC_ASSERT(to_epoch_ms(*read) == second * 1000);
}

TEST(IsoSecondsTest, RefusesOtherForms) {
  for (const char* text :
       {"", "2026-11-30", "2026-11-30T19:49:05", "2026-11-30 19:49:05Z",
        "2026-11-30T19:49:05+00:00", "2026-11-30T19:49:05.123Z", "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z", "2026-02-29T00:00:00Z", "2026-11-31T00:00:00Z",
        "2026-11-30T24:00:00Z", "2026-11-30T23:60:00Z", "2026-11-30T23:59:60Z",
        "+026-11-30T19:49:05Z", "2026-11-30T19:49:05z"}) {
    Result<TimePoint> read = parse_iso_seconds(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code(), ErrorCode::kCorrupt);
  }
}

}  // namespace
}  // namespace stint::schema
