#include "base/base64.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace stint {
namespace {

std::string encoded(std::string_view bytes) {
  std::string out;
  append_base64(out, bytes);
  return out;
}

TEST(Base64, VectorsOfTheStandard) {
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("f"), "Zg==");
  EXPECT_EQ(encoded("fo"), "Zm8=");
  EXPECT_EQ(encoded("foo"), "Zm9v");
  EXPECT_EQ(encoded("foob"), "Zm9vYg==");
  EXPECT_EQ(encoded("\xff\xef\xbe"), "/+++");
}

TEST(Base64, IsReadStrictly) {
  for (const char* text : {"Z", "Zg", "Zg=", "Zg===", "=", "====", "Zh==", "Zm9=", "Zm9v=", "Zm 9",
                           "Zm9v\n", "Zm_v", "Zg==Zg==", "Z===", "=Zg="}) {
    EXPECT_FALSE(parse_base64(text)) << text;
  }
  EXPECT_EQ(parse_base64(""), "");
}

RC_GTEST_PROP(Base64, ComesBack, ()) {
  auto bytes = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  RC_ASSERT(parse_base64(encoded(bytes)) == bytes);
}

RC_GTEST_PROP(Base64, EachTextHasOneForm, ()) {
  auto text = *rc::gen::container<std::string>(
      rc::gen::elementOf(std::string("ABCDEFGHIJKLMNOPQRSTUVWXYZabcxyz0189+/=")));
  if (std::optional<std::string> bytes = parse_base64(text)) RC_ASSERT(encoded(*bytes) == text);
}

}  // namespace
}  // namespace stint
