#include "store/dynamodb/table_definition.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <set>
#include <string>
#include <tuple>

namespace stint::store::dynamodb {
namespace {

namespace dom = simdjson::dom;

// The service's description of a table that was just made by `body`: its members have the same
// names there.
std::string described(const std::string& body) {
  return R"({"Table":{"TableStatus":"ACTIVE","TableArn":"arn:aws:dynamodb:eu-1:1:table/limits",)"
         R"("ItemCount":7,"TableSizeBytes":900,"BillingModeSummary":{"BillingMode":)"
         R"("PAY_PER_REQUEST"},"Unknown":{"x":[1]},)" +
         body.substr(1) + "}";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

TableState read(const std::string& body) {
  Result<TableState> table = read_table(body);
  EXPECT_TRUE(table) << (table ? "" : table.error().message());
  return table ? *table : TableState();
}

ExpiryState good_expiry() { return {"ENABLED", "ttl"}; }

std::vector<TableFlaw> flaws(const std::string& table_body, const ExpiryState& expiry,
                             std::optional<IndexLayout> layout = std::nullopt) {
  std::vector<TableFlaw> found;
  for (const TableProblem& problem : find_problems(read(table_body), expiry, "ttl", layout)) {
    EXPECT_FALSE(problem.text.empty());
    found.push_back(problem.flaw);
  }
  return found;
}

TEST(TableDefinition, IsThatOfTheSharedTable) {
  dom::parser parser;
  dom::element body = parser.parse(create_table_body("limits", IndexLayout::kCompatible));
  EXPECT_EQ(std::string_view(body["TableName"]), "limits");
  EXPECT_EQ(std::string_view(body["BillingMode"]), "PAY_PER_REQUEST");
  EXPECT_EQ(bool(body["StreamSpecification"]["StreamEnabled"]), true);
  EXPECT_EQ(std::string_view(body["StreamSpecification"]["StreamViewType"]), "NEW_AND_OLD_IMAGES");

  std::set<std::string> attributes;
  for (dom::element attribute : dom::array(body["AttributeDefinitions"])) {
    EXPECT_EQ(std::string_view(attribute["AttributeType"]), "S");
    attributes.emplace(std::string_view(attribute["AttributeName"]));
  }
  EXPECT_EQ(attributes, (std::set<std::string>{"PK", "SK", "GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK",
                                               "GSI3PK", "GSI3SK", "GSI4PK", "GSI4SK", "LSI1SK",
                                               "LSI2SK", "LSI3SK", "LSI4SK", "LSI5SK"}));

  using Row = std::tuple<std::string, std::string, std::string, std::string>;
  std::vector<Row> indexes;
  for (const char* list : {"GlobalSecondaryIndexes", "LocalSecondaryIndexes"}) {
    for (dom::element index : dom::array(body[list])) {
      dom::array keys = index["KeySchema"];
      EXPECT_EQ(std::string_view(keys.at(0)["KeyType"]), "HASH");
      EXPECT_EQ(std::string_view(keys.at(1)["KeyType"]), "RANGE");
      indexes.emplace_back(std::string_view(index["IndexName"]),
                           std::string_view(keys.at(0)["AttributeName"]),
                           std::string_view(keys.at(1)["AttributeName"]),
                           std::string_view(index["Projection"]["ProjectionType"]));
    }
  }
  EXPECT_EQ(indexes, (std::vector<Row>{{"GSI1", "GSI1PK", "GSI1SK", "ALL"},
                                       {"GSI2", "GSI2PK", "GSI2SK", "ALL"},
                                       {"GSI3", "GSI3PK", "GSI3SK", "KEYS_ONLY"},
                                       {"GSI4", "GSI4PK", "GSI4SK", "KEYS_ONLY"},
                                       {"LSI1", "PK", "LSI1SK", "ALL"},
                                       {"LSI2", "PK", "LSI2SK", "KEYS_ONLY"},
                                       {"LSI3", "PK", "LSI3SK", "ALL"},
                                       {"LSI4", "PK", "LSI4SK", "KEYS_ONLY"},
                                       {"LSI5", "PK", "LSI5SK", "ALL"}}));
}

TEST(TableDefinition, ALeanTableKeepsKeysOnlyInItsGlobalIndexes) {
  TableState table = read(described(create_table_body("limits", IndexLayout::kKeysOnly)));
  for (int number = 1; number <= 4; ++number) {
    const TableIndex* index = table.index(index_name(number));
    ASSERT_NE(index, nullptr);
    EXPECT_EQ(index->projection, "KEYS_ONLY") << index->name;
  }
  EXPECT_EQ(layout_of(table), IndexLayout::kKeysOnly);
}

TEST(TableDefinition, BodiesOfChangesAreJson) {
  dom::parser parser;
  dom::element expiry = parser.parse(enable_expiry_body("limits", "ttl"));
  EXPECT_EQ(std::string_view(expiry["TimeToLiveSpecification"]["AttributeName"]), "ttl");
  EXPECT_EQ(bool(expiry["TimeToLiveSpecification"]["Enabled"]), true);
  dom::element stream = parser.parse(enable_stream_body("limits"));
  EXPECT_EQ(std::string_view(stream["StreamSpecification"]["StreamViewType"]),
            "NEW_AND_OLD_IMAGES");
  dom::element index = parser.parse(create_index_body("limits", IndexLayout::kCompatible, 2));
  dom::element create = index["GlobalSecondaryIndexUpdates"].at(0)["Create"];
  EXPECT_EQ(std::string_view(create["IndexName"]), "GSI2");
  EXPECT_EQ(std::string_view(create["Projection"]["ProjectionType"]), "ALL");
  EXPECT_EQ(dom::array(index["AttributeDefinitions"]).size(), 2);
  dom::element name = parser.parse(table_name_body("limits"));
  EXPECT_EQ(std::string_view(name["TableName"]), "limits");
}

TEST(TableDefinition, WhatItMakesHasNoProblems) {
  for (IndexLayout layout : {IndexLayout::kCompatible, IndexLayout::kKeysOnly}) {
    std::string body = described(create_table_body("limits", layout));
    EXPECT_TRUE(flaws(body, good_expiry(), layout).empty());
    EXPECT_TRUE(flaws(body, good_expiry()).empty());
    EXPECT_EQ(layout_of(read(body)), layout);
    EXPECT_EQ(not_active_yet(read(body)), "");
  }
}

TEST(TableDefinition, ReadsWhatTheServiceSays) {
  TableState table = read(described(create_table_body("limits", IndexLayout::kCompatible)));
  EXPECT_EQ(table.name, "limits");
  EXPECT_EQ(table.arn, "arn:aws:dynamodb:eu-1:1:table/limits");
  EXPECT_EQ(table.billing, "PAY_PER_REQUEST");
  EXPECT_EQ(table.item_count, 7);
  EXPECT_EQ(table.size_bytes, 900);
  EXPECT_EQ(table.indexes.size(), 9);
  EXPECT_TRUE(table.indexes.back().local);
  // The replies to changes name the same description otherwise.
  TableState created =
      read(R"({"TableDescription":{"TableName":"limits","TableStatus":"CREATING"}})");
  EXPECT_EQ(created.status, "CREATING");
  EXPECT_EQ(created.billing, "PROVISIONED");
}

TEST(TableDefinition, EachFlawIsFound) {
  using enum TableFlaw;
  std::string good = described(create_table_body("limits", IndexLayout::kCompatible));
  auto only = [](TableFlaw flaw) { return std::vector<TableFlaw>{flaw}; };

  std::string keys = R"("AttributeName":"PK","KeyType":"HASH")";
  EXPECT_EQ(
      flaws(replaced(good, keys, R"("AttributeName":"LSI1SK","KeyType":"HASH")"), good_expiry()),
      only(kKeys));
  EXPECT_EQ(flaws(replaced(good, R"("SK","AttributeType":"S")", R"("SK","AttributeType":"N")"),
                  good_expiry()),
            only(kKeys));
  EXPECT_EQ(flaws(replaced(good, R"("IndexName":"GSI3")", R"("IndexName":"Other")"), good_expiry()),
            only(kIndexMissing));
  EXPECT_EQ(flaws(replaced(good, R"("AttributeName":"GSI4PK","KeyType")",
                           R"("AttributeName":"GSI1PK","KeyType")"),
                  good_expiry()),
            only(kIndexDiffers));
  std::string stream = R"("StreamEnabled":true)";
  EXPECT_EQ(flaws(replaced(good, stream, R"("StreamEnabled":false)"), good_expiry()),
            only(kStreamOff));
  EXPECT_EQ(flaws(replaced(good, "NEW_AND_OLD_IMAGES", "KEYS_ONLY"), good_expiry()),
            only(kStreamDiffers));
  EXPECT_EQ(flaws(good, ExpiryState()), only(kExpiryOff));
  EXPECT_EQ(flaws(good, ExpiryState{"ENABLED", "expires"}), only(kExpiryDiffers));
  EXPECT_TRUE(flaws(good, ExpiryState{"ENABLING", "ttl"}).empty());
}

TEST(TableDefinition, TheProjectionsOfTheFirstTwoIndexesShowTheLayout) {
  using enum TableFlaw;
  std::string good = described(create_table_body("limits", IndexLayout::kCompatible));
  std::string mixed = replaced(good, R"("ProjectionType":"ALL")", R"("ProjectionType":"INCLUDE")");
  EXPECT_EQ(layout_of(read(mixed)), std::nullopt);
  EXPECT_EQ(flaws(mixed, good_expiry()), (std::vector{kIndexDiffers, kIndexDiffers}));
  EXPECT_EQ(flaws(mixed, good_expiry(), IndexLayout::kCompatible), std::vector{kIndexDiffers});
  EXPECT_EQ(flaws(good, good_expiry(), IndexLayout::kKeysOnly),
            (std::vector{kIndexDiffers, kIndexDiffers}));
  // Of one index alone.
  std::string one = replaced(good, R"("IndexName":"GSI1")", R"("IndexName":"Other")");
  EXPECT_EQ(layout_of(read(one)), IndexLayout::kCompatible);
  std::string none = replaced(one, R"("IndexName":"GSI2")", R"("IndexName":"Other")");
  EXPECT_EQ(layout_of(read(none)), std::nullopt);
}

TEST(TableDefinition, OnlyWhatTheServiceCanChangeIsMendable) {
  using enum TableFlaw;
  for (TableFlaw flaw : {kIndexMissing, kStreamOff, kExpiryOff}) EXPECT_TRUE(mendable(flaw));
  for (TableFlaw flaw : {kKeys, kIndexDiffers, kStreamDiffers, kExpiryDiffers}) {
    EXPECT_FALSE(mendable(flaw));
  }
}

TEST(TableDefinition, SaysWhatIsNotActiveYet) {
  std::string good = described(create_table_body("limits", IndexLayout::kCompatible));
  EXPECT_EQ(not_active_yet(read(replaced(good, "ACTIVE", "UPDATING"))), "table UPDATING");
  EXPECT_EQ(not_active_yet(read(replaced(good, R"("IndexName":"GSI2")",
                                         R"("IndexName":"GSI2","IndexStatus":"CREATING")"))),
            "index GSI2 CREATING");
}

TEST(TableDefinition, AnswersThatCannotBeAreErrors) {
  for (const char* body :
       {"", "<html>", "[]", "{}", R"({"Table":[]})", R"({"Table":{}})",
        R"({"Table":{"TableStatus":7}})", R"({"Table":{"TableStatus":"ACTIVE","ItemCount":"x"}})",
        R"({"Table":{"TableStatus":"ACTIVE","GlobalSecondaryIndexes":["x"]}})",
        R"({"Table":{"TableStatus":"ACTIVE","KeySchema":{}}})"}) {
    Result<TableState> table = read_table(body);
    ASSERT_FALSE(table) << body;
    EXPECT_EQ(table.error().code(), ErrorCode::kCorrupt);
  }
  for (const char* body : {"", "{}", R"({"TimeToLiveDescription":1})",
                           R"({"TimeToLiveDescription":{"TimeToLiveStatus":1}})"}) {
    Result<ExpiryState> expiry = read_expiry(body);
    ASSERT_FALSE(expiry) << body;
    EXPECT_EQ(expiry.error().code(), ErrorCode::kCorrupt);
  }
  Result<ExpiryState> off = read_expiry(R"({"TimeToLiveDescription":{"TimeToLiveStatus":)"
                                        R"("DISABLED"}})");
  ASSERT_TRUE(off);
  EXPECT_FALSE(off->enabled());
}

TEST(TableDefinition, NullCountsAsAbsent) {
  TableState table = read(R"({"Table":{"TableStatus":"ACTIVE","StreamSpecification":null}})");
  EXPECT_EQ(table.stream_view, "");
}

TEST(TableName, IsCheckedByTheServicesRule) {
  EXPECT_TRUE(check_table_name("abc"));
  EXPECT_TRUE(check_table_name("Limits_of.the-house"));
  EXPECT_TRUE(check_table_name(std::string(255, 'x')));
  for (const std::string& name :
       {std::string(), std::string("ab"), std::string(256, 'x'), std::string("a/b/c"),
        std::string("a\"b"), std::string("naïve"), std::string("arn:aws:dynamodb")}) {
    Status status = check_table_name(name);
    ASSERT_FALSE(status) << name;
    EXPECT_EQ(status.error().field(), "table");
  }
}

}  // namespace
}  // namespace stint::store::dynamodb
