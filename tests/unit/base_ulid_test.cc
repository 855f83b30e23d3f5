#include "base/ulid.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/time.h"
#include "tests/support/seed.h"

namespace stint {
namespace {

TEST(UlidTest, BeginsWithItsInstant) {
  Random random(test::seed());
  // The figure of the specification's own example.
  EXPECT_EQ(make_ulid(from_epoch_ms(1469918176385), random).substr(0, 10), "01ARYZ6S41");
  EXPECT_EQ(make_ulid(from_epoch_ms(0), random).substr(0, 10), "0000000000");
  EXPECT_EQ(make_ulid(from_epoch_ms(-5), random).substr(0, 10), "0000000000");
}

TEST(UlidTest, DiffersEachTimeAndSortsByInstant) {
  Random random(test::seed());
  std::set<std::string> seen;
  std::string last;
  for (std::int64_t ms = 1'000; ms < 2'000; ++ms) {
    std::string id = make_ulid(from_epoch_ms(ms), random);
    EXPECT_EQ(id.size(), 26u);
    EXPECT_EQ(id.find_first_not_of("0123456789ABCDEFGHJKMNPQRSTVWXYZ"), std::string::npos);
    EXPECT_LT(last, id);
    last = id;
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(seen.insert(make_ulid(from_epoch_ms(5), random)).second);
    }
  }
}

}  // namespace
}  // namespace stint
