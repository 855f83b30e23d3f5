#include "schema/keys.h"

#include <gtest/gtest.h>

#include <string>

namespace stint::schema {
namespace {

using store::Key;

TEST(KeysTest, SpellsEveryKeyOfTheTable) {
  EXPECT_EQ(bucket_key("ns", "user-1", "gpt-4", 12), Key("ns/BUCKET#user-1#gpt-4#12", "#STATE"));
  EXPECT_EQ(entity_key("ns", "user-1"), Key("ns/ENTITY#user-1", "#META"));
  EXPECT_EQ(resource_registry_key("ns"), Key("ns/SYSTEM#", "#RESOURCES"));
  EXPECT_EQ(entity_config_registry_key("ns"), Key("ns/SYSTEM#", "#ENTITY_CONFIG_RESOURCES"));
  EXPECT_EQ(version_key(), Key("_/SYSTEM#", "#VERSION"));
  EXPECT_EQ(store_record_key(), Key("_/SYSTEM#", "#STINT"));
  EXPECT_EQ(namespace_name_key("default"), Key("_/SYSTEM#", "#NAMESPACE#default"));
  EXPECT_EQ(namespace_id_key("zvFuo1OO5GE"), Key("_/SYSTEM#", "#NSID#zvFuo1OO5GE"));
  EXPECT_EQ(operation_key("ns", "user-1", "gpt-4", "key-1"),
            Key("ns/BUCKET#user-1#gpt-4#0", "#OP#key-1"));
  EXPECT_EQ(audit_key("ns", "$SYSTEM", "01M8"), Key("ns/AUDIT#$SYSTEM", "#AUDIT#01M8"));
  EXPECT_EQ(usage_key("ns", "user-1", "gpt-4", "2026-11-30T19:00:00Z"),
            Key("ns/ENTITY#user-1", "#USAGE#gpt-4#2026-11-30T19:00:00Z"));
  EXPECT_EQ(provisioner_state_key("ns"), Key("ns/SYSTEM#", "#PROVISIONER"));
  EXPECT_EQ(provisioner_pending_key("ns", "sync", "entity", "user-1/gpt-4"),
            Key("ns/SYSTEM#", "#PROVISIONER#PENDING#sync#entity#user-1/gpt-4"));
  EXPECT_EQ(provisioner_pending_key("ns", "soft", "system", ""),
            Key("ns/SYSTEM#", "#PROVISIONER#PENDING#soft#system#"));
}

TEST(KeysTest, ConfigurationStandsAtFourLevels) {
  EXPECT_EQ(config_key("ns", "", ""), Key("ns/SYSTEM#", "#CONFIG"));
  EXPECT_EQ(config_key("ns", "", "gpt-4"), Key("ns/RESOURCE#gpt-4", "#CONFIG"));
  EXPECT_EQ(config_key("ns", "user-1", ""), Key("ns/ENTITY#user-1", "#CONFIG#_default_"));
  EXPECT_EQ(config_key("ns", "user-1", "gpt-4"), Key("ns/ENTITY#user-1", "#CONFIG#gpt-4"));
}

TEST(KeysTest, SpellsThePartitionsOfTheIndexes) {
  EXPECT_EQ(children_partition("ns", "org"), "ns/PARENT#org");
  EXPECT_EQ(resource_partition("ns", "gpt-4"), "ns/RESOURCE#gpt-4");
  EXPECT_EQ(entity_partition("ns", "user-1"), "ns/ENTITY#user-1");
  EXPECT_EQ(entity_config_partition("ns", "gpt-4"), "ns/ENTITY_CONFIG#gpt-4");
  EXPECT_EQ(namespace_partition("ns"), "ns");
}

TEST(BucketRefTest, ReadsResourceAndShard) {
  auto ref = parse_bucket_ref("BUCKET#a/b:c.d#31");
  ASSERT_TRUE(ref);
  EXPECT_EQ(ref->resource, "a/b:c.d");
  EXPECT_EQ(ref->shard, 31);
  EXPECT_EQ(parse_bucket_ref("BUCKET#r#0")->shard, 0);
}

TEST(BucketRefTest, RefusesOtherForms) {
  for (const char* text : {"", "BUCKET#", "BUCKET#r", "BUCKET#r#", "BUCKET##1", "BUCKET#r#-1",
                           "BUCKET#r#+1", "BUCKET#r#01", "BUCKET#r#1x", "BUCKET#r# 1",
                           "BUCKET#r#99999999999999999999", "CHILD#user-1", "bucket#r#1"}) {
    EXPECT_FALSE(parse_bucket_ref(text)) << text;
  }
}

}  // namespace
}  // namespace stint::schema
