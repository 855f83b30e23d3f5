#include "base/release.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace stint {
namespace {

TEST(ReleaseTest, ReadsWhatVersionRecordsHold) {
  EXPECT_EQ(Release::parse("0.17.0"), Release(0, 17, 0));
  EXPECT_EQ(Release::parse("v0.17.0"), Release(0, 17, 0));
  EXPECT_EQ(Release::parse("0.17"), Release(0, 17, 0));
  EXPECT_EQ(Release::parse("3"), Release(3, 0, 0));
  EXPECT_EQ(Release::parse("0.17.0+g1a2b3c.d20261201"), Release(0, 17, 0));
  EXPECT_EQ(Release::parse("0.17.0.0"), Release(0, 17, 0));
  EXPECT_EQ(Release::parse("123456789012345678.0.0"), Release(123456789012345678, 0, 0));
}

TEST(ReleaseTest, OrdersPreviewsBeforeTheirReleaseAndAfterTheOneBefore) {
  const std::vector<std::string> rising = {
      "0.0.0",       "0.9.9",        "0.15.0",         "0.16.9",
      "0.17.0.dev2", "0.17.0.dev10", "0.17.0a1.dev1",  "0.17.0a1",
      "0.17.0a2",    "0.17.0b1",     "0.17.0rc1.dev4", "v0.17.0rc1",
      "0.17.0rc2",   "0.17.0+local", "0.17.0.1",       "0.17.1.dev3+g1a2b3c",
      "0.17.1",      "0.18.0",       "1.0.0"};
  for (std::size_t i = 0; i < rising.size(); ++i) {
    for (std::size_t j = 0; j < rising.size(); ++j) {
      EXPECT_EQ(*Release::parse(rising[i]) <=> *Release::parse(rising[j]), i <=> j)
          << rising[i] << " and " << rising[j];
    }
  }
}

TEST(ReleaseTest, APreviewsReleaseIsTheOneItLeadsTo) {
  for (const char* text : {"0.17.0.dev3", "0.17.0a1", "0.17.0b2.dev1", "0.17.0rc1+x", "0.17.0"}) {
    EXPECT_EQ(Release::parse(text)->final_release(), Release(0, 17, 0)) << text;
  }
}

TEST(ReleaseTest, RefusesAllOtherTexts) {
  for (std::string_view text : {"",           "v",           "+1",
                                "latest",     "0.",          ".1",
                                "0..1",       "0.17.x",      "0.17.0-rc1",
                                "0.17.0a",    "0.17.0.dev",  "0.17.0.dev1.2",
                                "0.17.0dev1", "0.17.0rc1b2", " 0.17.0",
                                "0.17.0 ",    "-1.0.0",      "vv1",
                                "V1",         "1.2.3.4.5",   "1234567890123456789",
                                "0.17.0\n",   "0,17"}) {
    EXPECT_FALSE(Release::parse(text)) << text;
  }
}

}  // namespace
}  // namespace stint
