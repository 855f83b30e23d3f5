#include "stint/version.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace stint {
namespace {

TEST(Version, OfTheLibraryIsThatOfTheHeadersItIsBuiltWith) {
  EXPECT_EQ(version(), std::to_string(STINT_VERSION_MAJOR) + "." +
                           std::to_string(STINT_VERSION_MINOR) + "." +
                           std::to_string(STINT_VERSION_PATCH));
}

TEST(Version, IsACString) { EXPECT_EQ(std::strlen(version().data()), version().size()); }

TEST(Version, AsOneNumberComparesLikeItsParts) {
  EXPECT_EQ(STINT_VERSION / 10'000, STINT_VERSION_MAJOR);
  EXPECT_EQ(STINT_VERSION / 100 % 100, STINT_VERSION_MINOR);
  EXPECT_EQ(STINT_VERSION % 100, STINT_VERSION_PATCH);
}

}  // namespace
}  // namespace stint
