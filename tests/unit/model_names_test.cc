#include "model/names.h"

#include <gtest/gtest.h>

#include <string>

namespace stint::model {
namespace {

void expect_refused(const Status& status, const std::string& field, const std::string& value) {
  ASSERT_FALSE(status.ok()) << field << " \"" << value << '"';
  EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(status.error().field(), field);
  EXPECT_EQ(status.error().value()[0], value[0]);
  EXPECT_FALSE(status.error().reason().empty());
}

TEST(Names, EntityIds) {
  for (const std::string& id :
       {std::string("u"), std::string("7"), std::string("user-123"), std::string("a@b.example"),
        std::string("2001:db8::1"), std::string("A_b-c.d:e@f"), std::string(256, 'x')}) {
    EXPECT_TRUE(validate_entity_id("entity", id).ok()) << id;
  }
  for (const std::string& id :
       {std::string(""), std::string(257, 'x'), std::string("-x"), std::string("_x"),
        std::string(".x"), std::string("@x"), std::string(":x"), std::string("a#b"),
        std::string("a/b"), std::string("a b"), std::string("a%b"), std::string("user\n"),
        std::string("a\0b", 3), std::string("\xc3\xa4"), std::string("a\xc3\xa4"),
        std::string("\xf0\x9f\x98\x80")}) {
    expect_refused(validate_entity_id("parent", id), "parent", id);
  }
}

TEST(Names, P85_IdsEqualInTheirFirst64BytesAreBothAccepted) {
  std::string shared(64, 'k');
  EXPECT_TRUE(validate_entity_id("entity", shared + "1").ok());
  EXPECT_TRUE(validate_entity_id("entity", shared + "2").ok());
}

TEST(Names, Resources) {
  for (const std::string& name :
       {std::string("a"), std::string("claude-sonnet"), std::string("api/v1.2:x_y"),
        std::string("GPT4"), std::string(64, 'x')}) {
    EXPECT_TRUE(validate_resource(name).ok()) << name;
  }
  for (const std::string& name :
       {std::string(""), std::string(65, 'x'), std::string("_default_"), std::string("4o"),
        std::string("/x"), std::string("a#b"), std::string("a@b"), std::string("a b"),
        std::string("a\n"), std::string("\xc3\xa4")}) {
    expect_refused(validate_resource(name), "resource", name);
  }
}

TEST(Names, LimitNames) {
  for (const std::string& name : {std::string("r"), std::string("rpm"), std::string("tok.in-put_x"),
                                  std::string("WCU"), std::string("wcu2"), std::string(64, 'x')}) {
    EXPECT_TRUE(validate_limit_name(name).ok()) << name;
  }
  for (const std::string& name :
       {std::string(""), std::string(65, 'x'), std::string("wcu"), std::string("1m"),
        std::string("_x"), std::string("a/b"), std::string("a:b"), std::string("a#b"),
        std::string("rpm\n"), std::string(" rpm"), std::string("\xc3\xa4")}) {
    expect_refused(validate_limit_name(name), "limit.name", name);
  }
}

TEST(Names, Namespaces) {
  for (const std::string& name :
       {std::string("default"), std::string("__"), std::string("a b"), std::string("-1"),
        std::string("\xc3\xa4"), std::string(255, 'x')}) {
    EXPECT_TRUE(validate_namespace(name).ok()) << name;
  }
  for (const std::string& name : {std::string(""), std::string("_"), std::string(256, 'x')}) {
    expect_refused(validate_namespace(name), "namespace", name);
  }
  for (const std::string& name :
       {std::string("a\tb"), std::string("a\x7f"), std::string(1, '\0')}) {
    EXPECT_FALSE(validate_namespace(name).ok());
  }
}

TEST(Names, Principals) {
  for (const std::string& name :
       {std::string("alice"), std::string("ci-7@example.org"), std::string("arn:"),
        std::string("arn:aws:iam::1:user/a b"), "arn:" + std::string(2044, 'x')}) {
    EXPECT_TRUE(validate_principal(name).ok()) << name;
  }
  for (const std::string& name : {std::string(""), std::string("a/b"), std::string(257, 'x'),
                                  std::string("$SYSTEM"), "arn:" + std::string(2045, 'x')}) {
    expect_refused(validate_principal(name), "principal", name);
  }
  EXPECT_FALSE(validate_principal("arn:a\nb").ok());
}

}  // namespace
}  // namespace stint::model
