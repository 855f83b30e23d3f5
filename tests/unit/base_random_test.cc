#include "base/random.h"

#include <gtest/gtest.h>

#include "tests/support/seed.h"

namespace stint {
namespace {

// xoshiro256** of the state that splitmix64 makes of 0 (e220a8397b1dcdaf, 6e789e6aa1b965f4,
// 06c45d188009454f, f88bb8a8724c81ec), computed apart from this code.
TEST(Random, SequenceIsThePublishedAlgorithms) {
  Random random(0);
  EXPECT_EQ(random.next(), 0x99ec5f36cb75f2b4u);
  EXPECT_EQ(random.next(), 0xbf6e1f784956452au);
  EXPECT_EQ(random.next(), 0x1a5f849d4933e6e0u);
}

TEST(Random, EqualSeedsGiveEqualSequences) {
  Random a(test::seed());
  Random b(test::seed());
  Random c(test::seed() + 1);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    std::uint64_t value = a.next();
    EXPECT_EQ(value, b.next());
    differs = differs || value != c.next();
  }
  EXPECT_TRUE(differs);
}

TEST(Random, BelowStaysBelowAndReachesAll) {
  Random random(test::seed());
  int counts[7] = {};
  for (int i = 0; i < 7000; ++i) {
    std::uint64_t value = random.below(7);
    ASSERT_LT(value, 7u);
    ++counts[value];
  }
  for (int count : counts) EXPECT_GT(count, 700);
  EXPECT_EQ(random.below(1), 0u);
  EXPECT_LT(random.below(UINT64_MAX), UINT64_MAX);
}

TEST(Random, Int63IsNeverNegative) {
  Random random(test::seed());
  for (int i = 0; i < 1000; ++i) ASSERT_GE(random.next_int63(), 0);
}

TEST(Random, HexHasTwoDigitsPerByte) {
  Random random(test::seed());
  EXPECT_EQ(random.hex(0), "");
  std::string text = random.hex(16);
  EXPECT_EQ(text.size(), 32u);
  EXPECT_EQ(text.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(text, random.hex(16));
}

#ifndef NDEBUG
TEST(RandomDeathTest, NothingIsBelowZero) { EXPECT_DEATH(Random(1).below(0), "bound > 0"); }
#endif

}  // namespace
}  // namespace stint
