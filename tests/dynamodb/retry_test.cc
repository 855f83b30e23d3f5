#include "store/dynamodb/retry.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/seed.h"

namespace stint::store::dynamodb {
namespace {

using std::chrono::milliseconds;

TEST(Retry, PausesDoubleUpToOneSecond) {
  EXPECT_EQ(longest_pause(kTroublePause, 1), milliseconds(25));
  EXPECT_EQ(longest_pause(kTroublePause, 2), milliseconds(50));
  EXPECT_EQ(longest_pause(kThrottledPause, 4), milliseconds(400));
  EXPECT_EQ(longest_pause(kThrottledPause, 6), milliseconds(1'000));
  EXPECT_EQ(longest_pause(kThrottledPause, 1'000'000), milliseconds(1'000));
}

TEST(Retry, BudgetIsSpentAndComesBack) {
  RetryBudget budget;
  for (int i = 0; i < RetryBudget::kFull / RetryBudget::kRepeatCost; ++i) {
    EXPECT_TRUE(budget.take()) << i;
  }
  EXPECT_FALSE(budget.take());
  EXPECT_EQ(budget.left(), 0);
  for (int i = 0; i < RetryBudget::kRepeatCost; ++i) {
    EXPECT_FALSE(budget.take());
    budget.succeeded(false);
  }
  EXPECT_TRUE(budget.take());
  budget.succeeded(true);
  EXPECT_EQ(budget.left(), RetryBudget::kRepeatCost);
  for (int i = 0; i < 1'000; ++i) budget.succeeded(true);
  EXPECT_EQ(budget.left(), RetryBudget::kFull);
}

TEST(Retry, JitterIsDrawnFromTheWholeRange) {
  Jitter jitter(test::seed());
  std::set<std::int64_t> tenths;
  for (int i = 0; i < 2'000; ++i) {
    const std::chrono::microseconds drawn = jitter.draw(milliseconds(10));
    ASSERT_GE(drawn.count(), 0);
    ASSERT_LE(drawn.count(), 10'000);
    tenths.insert(drawn.count() / 1'000);
  }
  EXPECT_GE(tenths.size(), 10u);
}

}  // namespace
}  // namespace stint::store::dynamodb
