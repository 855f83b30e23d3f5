#include "base/wide.h"

#include <gtest/gtest.h>

#include "base/time.h"
#include "stint/amount.h"

namespace stint {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

TEST(Wide, SaturateCutsInsteadOfWrapping) {
  EXPECT_EQ(saturate(0), 0);
  EXPECT_EQ(saturate(kMax), kMax);
  EXPECT_EQ(saturate(kMin), kMin);
  EXPECT_EQ(saturate(static_cast<Int128>(kMax) + 1), kMax);
  EXPECT_EQ(saturate(static_cast<Int128>(kMin) - 1), kMin);
  EXPECT_EQ(saturate(static_cast<Int128>(kMax) * kMax), kMax);
  EXPECT_EQ(saturate(static_cast<Int128>(kMax) * kMin), kMin);
}

TEST(Wide, DivideUp) {
  EXPECT_EQ(saturate(divide_up(0, 7)), 0);
  EXPECT_EQ(saturate(divide_up(1, 7)), 1);
  EXPECT_EQ(saturate(divide_up(7, 7)), 1);
  EXPECT_EQ(saturate(divide_up(8, 7)), 2);
  EXPECT_EQ(saturate(divide_up(static_cast<Int128>(kMax) * 3, kMax)), 3);
}

TEST(EpochTime, ConvertsBothWaysAndRoundsDown) {
  EXPECT_EQ(to_epoch_ms(from_epoch_ms(1'789'473'600'123)), 1'789'473'600'123);
  EXPECT_EQ(to_epoch_s(from_epoch_ms(1999)), 1);
  EXPECT_EQ(to_epoch_s(from_epoch_ms(0)), 0);
  EXPECT_EQ(to_epoch_s(from_epoch_ms(-1)), -1);
  EXPECT_EQ(to_epoch_s(from_epoch_ms(-1000)), -1);
}

TEST(Amounts, WholeTokensRoundDown) {
  EXPECT_EQ(MilliTokens(1999).whole_tokens(), 1);
  EXPECT_EQ(MilliTokens(0).whole_tokens(), 0);
  EXPECT_EQ(MilliTokens(-1).whole_tokens(), -1);
  EXPECT_EQ(MilliTokens(-1000).whole_tokens(), -1);
  EXPECT_EQ(MilliTokens(-1001).whole_tokens(), -2);
  EXPECT_EQ(MilliTokens(kMax).whole_tokens(), kMax / 1000);
  EXPECT_EQ(MilliTokens(kMin).whole_tokens(), kMin / 1000 - 1);
}

TEST(Amounts, AmountKnowsItsRange) {
  EXPECT_EQ(Amount(3).milli(), MilliTokens(3000));
  EXPECT_EQ(Amount(Tokens(-3)).milli(), MilliTokens(-3000));
  EXPECT_EQ(Amount(MilliTokens(1500)).milli(), MilliTokens(1500));
  EXPECT_TRUE(Amount(kMaxTokens).in_range());
  EXPECT_TRUE(Amount(-kMaxTokens).in_range());
  EXPECT_FALSE(Amount(kMaxTokens + 1).in_range());
  EXPECT_FALSE(Amount(-kMaxTokens - 1).in_range());
  EXPECT_FALSE(Amount(kMax).in_range());
  EXPECT_FALSE(Amount(kMin).in_range());
  EXPECT_FALSE(Amount(std::numeric_limits<std::uint64_t>::max()).in_range());
  EXPECT_TRUE(Amount(MilliTokens(kMaxTokens * 1000)).in_range());
  EXPECT_FALSE(Amount(MilliTokens(kMaxTokens * 1000 + 1)).in_range());
  EXPECT_FALSE(Amount(MilliTokens(kMin)).in_range());
}

}  // namespace
}  // namespace stint
