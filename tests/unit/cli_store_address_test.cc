#include "cli/store_address.h"

#include <gtest/gtest.h>

#include <string>

namespace stint::cli {
namespace {

DynamoDbOptions table_of(std::string_view text) {
  Result<StoreAddress> address = parse_store_address(text);
  EXPECT_TRUE(address) << text << ": " << (address ? "" : address.error().message());
  if (!address) return {};
  const auto* table = std::get_if<DynamoDbOptions>(&*address);
  EXPECT_NE(table, nullptr) << text;
  return table == nullptr ? DynamoDbOptions() : *table;
}

Error error_of(std::string_view text) {
  Result<StoreAddress> address = parse_store_address(text);
  EXPECT_FALSE(address) << text;
  return address ? Error(ErrorCode::kUnavailable, "") : address.error();
}

TEST(StoreAddress, MemoryAndDirectories) {
  EXPECT_TRUE(std::holds_alternative<InMemory>(*parse_store_address("memory:")));
  for (const char* path : {"./stint-data", "/var/lib/stint", "data", "a:b", "what?x=y", "a%20b"}) {
    Result<StoreAddress> address = parse_store_address(path);
    ASSERT_TRUE(address) << path;
    const auto* directory = std::get_if<Directory>(&*address);
    ASSERT_NE(directory, nullptr);
    EXPECT_EQ(directory->path, path);
  }
}

TEST(StoreAddress, ATableAlone) {
  DynamoDbOptions table = table_of("dynamodb://limits");
  EXPECT_EQ(table.table, "limits");
  EXPECT_EQ(table.region, "");
  EXPECT_EQ(table.endpoint, "");
  EXPECT_EQ(table.profile, "");
  EXPECT_FALSE(table.keys);
  EXPECT_EQ(table_of("dynamodb://limits/").table, "limits");
  EXPECT_EQ(table_of("dynamodb://limits?").table, "limits");
}

TEST(StoreAddress, ParametersInAnyOrder) {
  DynamoDbOptions table = table_of(
      "dynamodb://my.limits_1-a?profile=dev&endpoint=http://127.0.0.1:8000&region=eu-central-1");
  EXPECT_EQ(table.table, "my.limits_1-a");
  EXPECT_EQ(table.region, "eu-central-1");
  EXPECT_EQ(table.endpoint, "http://127.0.0.1:8000");
  EXPECT_EQ(table.profile, "dev");
  EXPECT_EQ(table_of("dynamodb://limits?region=eu-1&").region, "eu-1");
}

TEST(StoreAddress, PercentsAreDecodedOnce) {
  DynamoDbOptions table = table_of(
      "dynamodb://l%69mits?endpoint=http%3A%2F%2F127.0.0.1%3a8000&profile=a%26b%3Dc+d%2541");
  EXPECT_EQ(table.table, "limits");
  EXPECT_EQ(table.endpoint, "http://127.0.0.1:8000");
  EXPECT_EQ(table.profile, "a&b=c+d%41");
}

TEST(StoreAddress, WhatIsMalformedIsRefusedAndNamed) {
  struct Case {
    const char* text;
    const char* value;
    const char* reason;
  };
  for (const Case& bad : {
           Case{"dynamodb:limits", "", "must be dynamodb://TABLE"},
           Case{"dynamodb:/limits", "", "must be dynamodb://TABLE"},
           Case{"dynamodb://", "", "names no table"},
           Case{"dynamodb://?region=eu-1", "", "names no table"},
           Case{"dynamodb://limits/more", "", "no name of a table"},
           Case{"dynamodb://limits:8000", "", "no name of a table"},
           Case{"dynamodb://limits#x", "", "no name of a table"},
           Case{"dynamodb://limits%40x", "", "no name of a table"},
           Case{"dynamodb://limits&region=eu-1", "", "parameters begin with ?"},
           Case{"dynamodb://limits?reigon=eu-1", "", "region, endpoint and profile"},
           Case{"dynamodb://limits?Region=eu-1", "", "region, endpoint and profile"},
           Case{"dynamodb://limits?region=eu-1&&profile=x", "", "region, endpoint and profile"},
           Case{"dynamodb://limits?region", "region", "has no value"},
           Case{"dynamodb://limits?region=", "region", "has no value"},
           Case{"dynamodb://limits?region=eu-1&region=eu-2", "region", "given twice"},
           Case{"dynamodb://limits?profile=a%2", "profile", "hexadecimal"},
           Case{"dynamodb://limits?profile=a%zz", "profile", "hexadecimal"},
           Case{"dynamodb://lim%its", "TABLE", "hexadecimal"},
           Case{"memory:x", "memory:", "must be a directory"},
           Case{"redis://host", "redis:", "must be a directory"},
       }) {
    Error error = error_of(bad.text);
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(error.field(), "store");
    EXPECT_EQ(error.value(), bad.value) << bad.text;
    EXPECT_NE(error.reason().find(bad.reason), std::string::npos) << error.reason();
  }
}

TEST(StoreAddress, ErrorsShowNoPassword) {
  for (const char* text :
       {"dynamodb://me:secret@limits", "dynamodb://limits?profile=secret%",
        "dynamodb://limits?endpoint=http://me:secret%@host", "https://me:secret@host/limits",
        "dynamodb:me:secret@limits", "dynamodb:/me:secret@limits", "dynamodb:secret@limits",
        "dynamodb://me:secret%40limits", "dynamodb://me:secret/limits", "dynamodb:me:secret",
        "dynamodb://?endpoint=http://me:secret@host",
        "dynamodb://limits&endpoint=http://host/secret",
        "dynamodb://limits?endpoint=http://me:a&secret@host",
        "dynamodb://limits?endpoint=http://me:a&secret=b@host"}) {
    EXPECT_EQ(error_of(text).message().find("secret"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace stint::cli
