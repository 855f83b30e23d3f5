#include "bucket/plan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/unit/support/bucket_gen.h"
#include "tests/unit/support/bucket_world.h"

namespace stint::bucket::test {
namespace {

const LimitWrite& write_of(const Plan& plan, std::size_t limit) {
  auto found = std::find_if(plan.limits.begin(), plan.limits.end(),
                            [&](const LimitWrite& write) { return write.limit == limit; });
  if (found == plan.limits.end()) throw std::out_of_range("no write of this limit");
  return *found;
}

std::int64_t worth_of(const Table& table, std::size_t limit, TimePoint now) {
  return evaluate(table.item.limits[limit], table.item.refilled_at, table.item.shard_count, now)
      .balance;
}

/// A bucket whose first pass has been made: its `valid_until` is that of a settled item.
Table settled(const std::vector<LimitState>& limits, TimePoint now, std::int64_t shard_count = 1) {
  Table table(bucket_of(limits, now, shard_count));
  EXPECT_TRUE(pass(table, {}, now));
  return table;
}

LimitState opened(LimitState limit, TimePoint start, std::int64_t balance) {
  limit.window_start = limit.window_applied = start;
  limit.balance = balance;
  return limit;
}

// ---- the fast form --------------------------------------------------------------------------

TEST(FastForm, DebitsWhatIsThereAndMovesNothingElse) {
  Table table = settled({rate(100, 20, 1s).state()}, kNoon);
  std::optional<Plan> plan = fast(table.item, {take(0, 30 * kToken)}, kNoon);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->form, Form::kFast);
  EXPECT_EQ(plan->refilled_since, kNoon);
  ASSERT_EQ(plan->limits.size(), 1u);
  EXPECT_EQ(plan->limits[0].at_least, 30 * kToken);
  EXPECT_EQ(plan->limits[0].consumed, 30 * kToken);
  ASSERT_TRUE(table.write(*plan, table.item));
  EXPECT_EQ(table.item.limits[0].balance, 70 * kToken);
  EXPECT_EQ(table.item.limits[0].consumed, 30 * kToken);
  EXPECT_EQ(table.item.refilled_at, kNoon);
}

TEST(FastForm, IsForADripOnlyWithinTheTolerance) {
  Table table = settled({rate(100, 20, 1s).state()}, kNoon);
  EXPECT_FALSE(fast(table.item, {take(0, kToken)}, kNoon + 1ms)) << "tolerance 0";
  // A sixteenth of the 5 s that it takes to fill, in whole milliseconds.
  EXPECT_TRUE(fast(table.item, {take(0, kToken)}, kNoon + 312ms, 16));
  EXPECT_EQ(fast(table.item, {take(0, kToken)}, kNoon + 312ms, 16)->refilled_since, kNoon);
  EXPECT_FALSE(fast(table.item, {take(0, kToken)}, kNoon + 313ms, 16));
  EXPECT_FALSE(fast(table.item, {settle(0, kToken)}, kNoon + 313ms, 16))
      << "every debit, settles too";
  EXPECT_TRUE(fast(table.item, {take(0, 0)}, kNoon + 1h, 16)) << "a zero debits nothing";
}

TEST(FastForm, Decision30_AgedImageOfABusyBucketLeavesTheAgeToTheCondition) {
  Table table = settled({rate(100, 20, 1s).state()}, kNoon);
  BucketState image = table.item;
  TimePoint now = kNoon + 10s;
  PlanOptions options;
  options.assume_recent = true;
  Plan plan;
  ASSERT_TRUE(
      plan_fast(image, evaluate_all(image, now), std::vector{take(0, kToken)}, options, now, plan));
  EXPECT_FALSE(table.write(plan, image)) << "nobody has moved the stamp";
  ASSERT_TRUE(pass(table, {}, now));
  EXPECT_TRUE(table.write(plan, image));
}

TEST(FastForm, AgeDoesNotMatterWhereNothingDrips) {
  LimitState still = rate(10, 10, 1s, "still").state();
  still.base.refill = 0;
  Table table = settled({calendar(100, "0 0 * * *").state(), still}, kNoon);
  std::optional<Plan> plan = fast(table.item, {take(0, kToken), take(1, kToken)}, kNoon + 11h);
  ASSERT_TRUE(plan);
  EXPECT_FALSE(plan->refilled_since);
  Table mixed = settled({calendar(100, "0 0 * * *").state(), rate(1, 1, 1s).state()}, kNoon);
  plan = fast(mixed.item, {take(0, kToken)}, kNoon + 11h);
  ASSERT_TRUE(plan) << "the drip is not debited";
  EXPECT_FALSE(plan->refilled_since);
}

TEST(FastForm, SlowestDripDoesNotWidenTheTolerance) {
  Table table =
      settled({rate(100, 20, 1s, "quick").state(), rate(1000, 10, 60s, "slow").state()}, kNoon);
  EXPECT_TRUE(fast(table.item, {take(1, kToken)}, kNoon + 312ms, 16));
  EXPECT_FALSE(fast(table.item, {take(1, kToken)}, kNoon + 313ms, 16));
}

TEST(FastForm, NotWhereOnlyARefillWouldSuffice) {
  LimitState limit = rate(100, 20, 1s).state();
  limit.balance = 5 * kToken;
  Table table = settled({limit}, kNoon);
  EXPECT_FALSE(fast(table.item, {take(0, 6 * kToken)}, kNoon + 300ms, 16));
  EXPECT_TRUE(fast(table.item, {settle(0, 6 * kToken)}, kNoon + 300ms, 16));
}

TEST(FastForm, R39_R45_NotWhereABalanceIsAboveItsCeiling) {
  LimitState limit = rate(10, 10, 60s).state();
  limit.balance = 100 * kToken;
  limit.remainder = 17;
  BucketState state = bucket_of({limit}, kNoon);
  state.valid_until.reset();
  EXPECT_FALSE(fast(state, {take(0, 50 * kToken)}, kNoon, 16));
  Table table(state);
  EXPECT_FALSE(acquire(table, {take(0, 50 * kToken)}, kNoon, 16));
  EXPECT_TRUE(acquire(table, {take(0, 10 * kToken)}, kNoon, 16));
  EXPECT_EQ(table.item.limits[0].balance, 0);
}

TEST(FastForm, NotOverABoundaryThatHasPassed) {
  Table calendar_table = settled({calendar(100, "0 0 * * *").state()}, kNoon);
  EXPECT_EQ(calendar_table.item.valid_until, utc(2026, 9, 16));
  EXPECT_TRUE(fast(calendar_table.item, {take(0, kToken)}, utc(2026, 9, 16) - 1ms));
  EXPECT_FALSE(fast(calendar_table.item, {take(0, kToken)}, utc(2026, 9, 16)));

  Definition quota = calendar(100, "0 0 * * *").with_lines({scaled("* 13 * * *", 500)});
  Table leveled = settled({quota.state()}, kNoon);
  leveled.item.limits[0].balance = 10 * kToken;
  EXPECT_FALSE(fast(leveled.item, {take(0, kToken)}, kNoon + 1h))
      << "a line changed, though nothing was cut";

  Table unseen = settled({calendar(100, "0 0 * * *").state()}, kNoon);
  unseen.item.valid_until = TimePoint{};
  EXPECT_FALSE(fast(unseen.item, {take(0, kToken)}, kNoon + 1s)) << "to be re-evaluated";
}

TEST(FastForm, NotOverABoundaryOfALimitThatIsNotNamed) {
  Table table =
      settled({calendar(100, "0 0 * * *").state(), calendar(9, "0 13 * * *", "x").state()}, kNoon);
  EXPECT_FALSE(fast(table.item, {take(0, kToken)}, kNoon + 1h));
}

TEST(FastForm, R28_UnnamedLimitInDebtDoesNotMatter) {
  LimitState indebted = rate(100, 20, 1s, "other").state();
  indebted.balance = -50 * kToken;
  Table table = settled({rate(100, 20, 1s).state(), indebted}, kNoon);
  EXPECT_TRUE(acquire(table, {take(0, kToken)}, kNoon));
  EXPECT_TRUE(acquire(table, {take(0, kToken)}, kNoon + 10ms));
  EXPECT_FALSE(acquire(table, {take(0, kToken), take(1, 0)}, kNoon + 20ms));
}

TEST(FastForm, Decision21_EndedWindowOfAnUnnamedLimitStaysEnded) {
  LimitState window = opened(session(10, 5h).state(), kNoon - 4h, 3 * kToken);
  Table table = settled({calendar(100, "0 0 * * *").state(), window}, kNoon);
  TimePoint end = kNoon + 1h;
  ASSERT_EQ(table.item.valid_until, end);
  TimePoint later = end + 1h;
  std::optional<Plan> plan = fast(table.item, {take(0, kToken)}, later);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->pin_validity);
  ASSERT_EQ(plan->limits.size(), 1u);
  ASSERT_TRUE(table.write(*plan, table.item));
  // A pass keeps the boundary at the window's end and opens nothing.
  ASSERT_TRUE(pass(table, {take(0, kToken)}, later + 1s));
  EXPECT_EQ(table.item.valid_until, end);
  EXPECT_EQ(table.item.limits[1].window_start, kNoon - 4h);
  EXPECT_EQ(table.item.limits[1].balance, 3 * kToken);
  EXPECT_EQ(evaluate(table.item.limits[1], table.item.refilled_at, 1, later + 1s).transition,
            Transition::kOpen);
}

TEST(FastForm, P59_R27_DeclaredZeroOfAnEndedWindowPinsItAndOpensNothing) {
  LimitState window = opened(session(10, 5h).state(), kNoon - 4h, 3 * kToken);
  Table table = settled({calendar(100, "0 0 * * *").state(), window}, kNoon);
  TimePoint later = kNoon + 2h;
  std::optional<Plan> plan = fast(table.item, {take(0, kToken), take(1, 0)}, later);
  ASSERT_TRUE(plan);
  const LimitWrite& write = write_of(*plan, 1);
  EXPECT_TRUE(write.pin_window);
  EXPECT_FALSE(write.at_least);
  EXPECT_EQ(write.change, BalanceChange::kKeep);
  EXPECT_FALSE(plan->opens_window());
  // Somebody opens it meanwhile: the old image no longer serves.
  BucketState image = table.item;
  ASSERT_TRUE(pass(table, {take(1, kToken)}, later));
  EXPECT_FALSE(table.write(*plan, image));
  EXPECT_FALSE(fast(image, {take(0, kToken), take(1, 1)}, later)) << "an opening is never fast";
}

TEST(FastForm, R20_WindowsToRollNeedTheLockedForm) {
  LimitState window = opened(session(10, 5h).state(2), kNoon - 6h, 3 * kToken);
  window.window_start = kNoon;
  Table table(bucket_of({calendar(100, "0 0 * * *").state(2), window}, kNoon - 6h, 2));
  table.item.valid_until = kNoon + 5h;
  EXPECT_FALSE(fast(table.item, {take(0, kToken)}, kNoon + 1s));
}

TEST(FastForm, SoftLimitsAreAdmittedByTheirStamp) {
  LimitState limit = calendar(10, "0 0 * * *").state();
  limit.balance = 0;
  limit.soft_until = kNoon + 1min;
  Table table = settled({limit}, kNoon);
  std::optional<Plan> plan = fast(table.item, {settle(0, 5 * kToken)}, kNoon + 1s);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(write_of(*plan, 0).soft_in_force);
  EXPECT_FALSE(fast(table.item, {settle(0, kToken)}, kNoon + 1min)->limits[0].soft_in_force);
  EXPECT_TRUE(write_of(locked(table.item, {settle(0, kToken)}, kNoon + 1s), 0).soft_in_force);
}

// ---- credits --------------------------------------------------------------------------------

TEST(Credit, R45_P49_NeverLiftsABalanceAboveItsCeiling) {
  for (const Definition& definition :
       {rate(10, 1, 60s), calendar(10, "0 0 * * *"), session(10, 5h)}) {
    LimitState limit = opened(definition.state(), kNoon, 7 * kToken);
    Table table = settled({limit}, kNoon);
    std::optional<Plan> plan = fast(table.item, {give_back(0, 3 * kToken)}, kNoon + 1ms);
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->limits[0].change, BalanceChange::kAdd);
    EXPECT_EQ(plan->limits[0].at_most, 7 * kToken);
    EXPECT_TRUE(plan->limits[0].pin_parameters);
    EXPECT_TRUE(plan->pin_validity);
    plan = fast(table.item, {give_back(0, 3 * kToken + 1)}, kNoon + 1ms);
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->limits[0].change, BalanceChange::kSet);
    EXPECT_EQ(plan->limits[0].value, 10 * kToken);
    EXPECT_EQ(plan->limits[0].at_least, 7 * kToken - 1);
    ASSERT_TRUE(table.write(*plan, table.item));
    EXPECT_EQ(table.item.limits[0].balance, 10 * kToken) << definition.name;
    EXPECT_EQ(table.item.limits[0].consumed, -3 * kToken - 1);
  }
}

TEST(Credit, CeilingIncludesTheTopUp) {
  LimitState limit = calendar(10, "0 0 * * *").state();
  limit.top_up = 3 * kToken;
  limit.balance = 0;
  Table table = settled({limit}, kNoon);
  ASSERT_TRUE(table.write(*fast(table.item, {give_back(0, 50 * kToken)}, kNoon + 1s), table.item));
  EXPECT_EQ(table.item.limits[0].balance, 13 * kToken);
}

TEST(Credit, P74_OfAPastWindowLeavesTheNewOneUntouched) {
  Table table = settled({session(10, 5h).state()}, kNoon);
  ASSERT_TRUE(acquire(table, {take(0, 6 * kToken)}, kNoon));
  PeriodPin pin = period_of(table.item.limits[0], table.item.refilled_at);
  EXPECT_TRUE(same_period(pin, table.item.limits[0], table.item.refilled_at));
  TimePoint second = kNoon + 6h;
  ASSERT_TRUE(acquire(table, {take(0, 2 * kToken)}, second));
  EXPECT_FALSE(same_period(pin, table.item.limits[0], table.item.refilled_at));
  table.item.limits[0].consumed_at_fanout = 1000 * kToken;
  for (bool in_fast_form : {true, false}) {
    std::int64_t consumed = table.item.limits[0].consumed;
    std::int64_t copy = *table.item.limits[0].consumed_at_fanout;
    Demand credit = give_back(0, 4 * kToken, pin);
    Plan plan = in_fast_form ? *fast(table.item, {credit}, second + 1s)
                             : locked(table.item, {credit}, second + 1s);
    ASSERT_TRUE(table.write(plan, table.item));
    EXPECT_EQ(table.item.limits[0].balance, 8 * kToken);
    EXPECT_EQ(table.item.limits[0].consumed, consumed - 4 * kToken);
    EXPECT_EQ(*table.item.limits[0].consumed_at_fanout, copy - 4 * kToken);
  }
}

TEST(Credit, OfAnEndedWindowNotYetReplacedOnlyCounts) {
  Table table = settled({session(10, 5h).state()}, kNoon);
  ASSERT_TRUE(acquire(table, {take(0, 6 * kToken)}, kNoon));
  PeriodPin pin = period_of(table.item.limits[0], table.item.refilled_at);
  TimePoint later = kNoon + 5h;
  for (bool in_fast_form : {true, false}) {
    Table copy = table;
    Demand credit = give_back(0, 6 * kToken, pin);
    Plan plan =
        in_fast_form ? *fast(copy.item, {credit}, later) : locked(copy.item, {credit}, later);
    EXPECT_TRUE(write_of(plan, 0).pin_window);
    ASSERT_TRUE(copy.write(plan, copy.item));
    EXPECT_EQ(copy.item.limits[0].balance, 4 * kToken);
    EXPECT_EQ(copy.item.limits[0].consumed, 0);
    EXPECT_FALSE(plan.opens_window());
  }
}

TEST(Credit, P74_OfAPastCalendarPeriodLeavesTheNewBalanceAlone) {
  Table table = settled({calendar(10, "0 0 * * *").state()}, kNoon);
  ASSERT_TRUE(acquire(table, {take(0, 6 * kToken)}, kNoon));
  PeriodPin pin = period_of(table.item.limits[0], table.item.refilled_at);
  EXPECT_EQ(pin.period_end, utc(2026, 9, 16));
  TimePoint next_day = utc(2026, 9, 16, 8h);

  Table pending = table;
  EXPECT_FALSE(fast(pending.item, {give_back(0, 6 * kToken, pin)}, next_day)) << "a reset is due";
  ASSERT_TRUE(pass(pending, {give_back(0, 6 * kToken, pin)}, next_day));
  EXPECT_EQ(pending.item.limits[0].balance, 10 * kToken);
  EXPECT_EQ(pending.item.limits[0].consumed, 0);

  ASSERT_TRUE(acquire(table, {take(0, 9 * kToken)}, next_day));
  EXPECT_FALSE(same_period(pin, table.item.limits[0], table.item.refilled_at));
  std::optional<Plan> plan = fast(table.item, {give_back(0, 6 * kToken, pin)}, next_day + 1s);
  ASSERT_TRUE(plan);
  EXPECT_EQ(write_of(*plan, 0).change, BalanceChange::kKeep);
  ASSERT_TRUE(table.write(*plan, table.item));
  EXPECT_EQ(table.item.limits[0].balance, 1 * kToken);
  EXPECT_EQ(table.item.limits[0].consumed, 9 * kToken);
}

TEST(Credit, OfACalendarPeriodIsPinnedToItsEdgeAndToTheResetsTaken) {
  LimitState limit = calendar(10, "0 0 * * *").state();
  limit.resets_taken = 4;
  limit.balance = 2 * kToken;
  Table table = settled({limit}, kNoon);
  PeriodPin pin = period_of(table.item.limits[0], table.item.refilled_at);
  std::optional<Plan> plan = fast(table.item, {give_back(0, kToken, pin)}, kNoon + 1s);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->refilled_before, utc(2026, 9, 16));
  EXPECT_TRUE(write_of(*plan, 0).pin_resets);
  // An operator resets it meanwhile.
  BucketState image = table.item;
  table.item.limits[0].resets_taken = 5;
  table.item.limits[0].balance = 10 * kToken;
  EXPECT_FALSE(table.write(*plan, image));
  EXPECT_FALSE(same_period(pin, table.item.limits[0], table.item.refilled_at));
}

TEST(Credit, OfASessionIsNoneOfTheCalendarItBecame) {
  Table table = settled({session(10, 5h).state()}, kNoon);
  ASSERT_TRUE(acquire(table, {take(0, 6 * kToken)}, kNoon));
  PeriodPin pin = period_of(table.item.limits[0], table.item.refilled_at);
  LimitState daily = calendar(10, "0 0 * * *", "session").state();
  ASSERT_TRUE(pass(table, {}, kNoon + 6h, {{0, &daily}}));
  EXPECT_FALSE(same_period(pin, table.item.limits[0], table.item.refilled_at));
}

TEST(Credit, RatesTakeItAlways) {
  Table table = settled({rate(10, 1, 1h).state()}, kNoon);
  ASSERT_TRUE(acquire(table, {take(0, 6 * kToken)}, kNoon));
  PeriodPin pin = period_of(table.item.limits[0], table.item.refilled_at);
  ASSERT_TRUE(pass(table, {give_back(0, 3 * kToken, pin)}, kNoon + 2h));
  EXPECT_EQ(table.item.limits[0].balance, 9 * kToken);
}

TEST(Credit, ReachingTheCeilingOfADripLosesItsRemainder) {
  LimitState limit = rate(10, 1, 1h).state();
  limit.balance = 4 * kToken;
  limit.remainder = 1234;
  Table table(bucket_of({limit}, kNoon));
  ASSERT_TRUE(pass(table, {give_back(0, 6 * kToken)}, kNoon));
  EXPECT_EQ(table.item.limits[0].balance, 10 * kToken);
  EXPECT_EQ(table.item.limits[0].remainder, 0);
}

// ---- the locked form --------------------------------------------------------------------------

TEST(LockedForm, TermsOfDecision30ForADripRefilledWhole) {
  LimitState limit = rate(100, 20, 1s).state();
  limit.balance = 10 * kToken;
  Table table = settled({limit}, kNoon);
  const Plan plan = locked(table.item, {take(0, 15 * kToken)}, kNoon + 1s);
  const LimitWrite& write = write_of(plan, 0);
  EXPECT_EQ(write.change, BalanceChange::kAdd);
  EXPECT_EQ(write.value, 5 * kToken);
  EXPECT_EQ(write.at_most, 80 * kToken);
  EXPECT_EQ(write.at_least, -5 * kToken);
  EXPECT_FALSE(write.exactly);
  EXPECT_EQ(plan.refilled_at, kNoon + 1s);
}

TEST(LockedForm, TermsOfDecision30ForADripCutAtItsCeiling) {
  LimitState limit = rate(100, 20, 1s).state();
  limit.balance = 90 * kToken;
  Table table = settled({limit}, kNoon);
  const Plan plan = locked(table.item, {take(0, 15 * kToken)}, kNoon + 1s);
  const LimitWrite& write = write_of(plan, 0);
  EXPECT_EQ(write.change, BalanceChange::kSet);
  EXPECT_EQ(write.value, 85 * kToken);
  EXPECT_EQ(write.at_least, 80 * kToken);
  EXPECT_FALSE(write.at_most);
}

TEST(LockedForm, GatesEvenWhereTheRefillAloneSuffices) {
  LimitState limit = rate(100, 20, 1s).state();
  limit.balance = 0;
  Table table = settled({limit}, kNoon);
  Plan plan = locked(table.item, {take(0, 15 * kToken)}, kNoon + 1s);
  BucketState image = table.item;
  // A settle leaves a debt meanwhile that the refill does not cover.
  table.item.limits[0].balance = -6 * kToken;
  EXPECT_FALSE(table.write(plan, image));
  table.item.limits[0].balance = -5 * kToken;
  EXPECT_TRUE(table.write(plan, image));
  EXPECT_EQ(table.item.limits[0].balance, 0);
}

TEST(LockedForm, TermsOfDecision30ForQuotas) {
  LimitState steady = calendar(100, "0 0 * * *").state();
  steady.balance = 50 * kToken;
  Table table = settled({steady}, kNoon);
  LimitWrite write = write_of(locked(table.item, {take(0, 5 * kToken)}, kNoon + 1s), 0);
  EXPECT_EQ(write.change, BalanceChange::kAdd);
  EXPECT_EQ(write.value, -5 * kToken);
  EXPECT_EQ(write.at_most, 100 * kToken);
  EXPECT_EQ(write.at_least, 5 * kToken);

  write = write_of(locked(table.item, {take(0, 5 * kToken)}, utc(2026, 9, 16)), 0);
  EXPECT_EQ(write.change, BalanceChange::kSet);
  EXPECT_EQ(write.value, 95 * kToken);
  EXPECT_FALSE(write.at_least);
  EXPECT_FALSE(write.at_most);
  EXPECT_FALSE(write.exactly);
  EXPECT_TRUE(write.set_grant);

  LimitState too_much = steady;
  too_much.balance = 120 * kToken;
  write = write_of(locked(bucket_of({too_much}, kNoon), {take(0, 5 * kToken)}, kNoon), 0);
  EXPECT_EQ(write.exactly, 120 * kToken);
  EXPECT_EQ(write.value, 95 * kToken);
}

TEST(LockedForm, QuotaUnderAnotherLineThanBeforeIsPinned) {
  // 100, then 50 for an hour, then 100: what is stored as 40 is worth 40, but 80 would be worth 50.
  Definition quota = calendar(100, "0 0 * * *").with_lines({scaled("* 13 * * *", 500)});
  LimitState limit = quota.state();
  limit.balance = 40 * kToken;
  Table table(bucket_of({limit}, kNoon));
  TimePoint later = kNoon + 2h + 1min;
  Plan plan = locked(table.item, {take(0, kToken)}, later);
  BucketState image = table.item;
  table.item.limits[0].balance = 80 * kToken;
  EXPECT_FALSE(table.write(plan, image));
  EXPECT_EQ(worth_of(table, 0, later), 50 * kToken);
}

TEST(LockedForm, R12_StampNeverGoesBack) {
  Table table = settled({rate(100, 20, 1s).state(), session(10, 5h).state()}, kNoon);
  ASSERT_TRUE(pass(table, {take(0, kToken), take(1, kToken)}, kNoon - 10s));
  EXPECT_EQ(table.item.refilled_at, kNoon);
  EXPECT_EQ(table.item.limits[0].balance, 99 * kToken);
  EXPECT_EQ(table.item.limits[1].window_start, kNoon - 10s);
  // The same slow clock does not open it once more.
  ASSERT_TRUE(pass(table, {take(1, kToken)}, kNoon - 9s));
  EXPECT_EQ(table.item.limits[1].window_start, kNoon - 10s);
  EXPECT_EQ(table.item.limits[1].balance, 8 * kToken);
}

TEST(LockedForm, P37_WindowIsOpenedOnceAndKept) {
  Table table = settled({session(100, 5h).state()}, kNoon);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(acquire(table, {take(0, kToken)}, kNoon + std::chrono::minutes(i)));
    ASSERT_EQ(table.item.limits[0].window_start, kNoon);
  }
  EXPECT_FALSE(acquire(table, {take(0, kToken)}, kNoon + 5h - 1ms));
  EXPECT_TRUE(acquire(table, {take(0, 100 * kToken)}, kNoon + 5h));
}

TEST(LockedForm, P1_P10_OnlyADebitOpensAWindowAndItStartsThere) {
  Table table = settled({session(100, 5h).state()}, kNoon - 3 * 24h);
  TimePoint nine = utc(2026, 9, 15, 9h);
  ASSERT_TRUE(pass(table, {}, nine - 2h));
  ASSERT_TRUE(pass(table, {take(0, 0)}, nine - 1h));
  ASSERT_TRUE(pass(table, {give_back(0, kToken)}, nine - 30min));
  EXPECT_FALSE(table.item.limits[0].window_start);
  ASSERT_TRUE(acquire(table, {take(0, 100 * kToken)}, nine));
  EXPECT_EQ(table.item.limits[0].window_start, nine);
  TimePoint half_past_three = nine + 6h + 30min;
  ASSERT_TRUE(acquire(table, {take(0, kToken)}, half_past_three));
  EXPECT_EQ(table.item.limits[0].window_start, half_past_three);
  EXPECT_EQ(table.item.limits[0].balance, 99 * kToken);
}

TEST(LockedForm, Decision3_SettleOpensAWindowAtItsOwnClock) {
  Table table = settled({session(10, 5h).state()}, kNoon);
  ASSERT_TRUE(acquire(table, {settle(0, 15 * kToken)}, kNoon + 7s));
  EXPECT_EQ(table.item.limits[0].window_start, kNoon + 7s);
  EXPECT_EQ(table.item.limits[0].balance, -5 * kToken);
  EXPECT_TRUE(acquire(table, {take(0, 10 * kToken)}, kNoon + 7s + 5h)) << "debt ends with it";
}

TEST(LockedForm, OpeningAndResettingTakeTheTopUpAwayAndSizeTheGrant) {
  LimitState window = opened(session(40, 5h).state(), kNoon - 6h, 0);
  window.top_up = 5 * kToken;
  LimitState day = calendar(40, "0 0 * * *").state();
  day.top_up = 5 * kToken;
  Table table(bucket_of({window, day}, kNoon - 13h, 4));
  ASSERT_TRUE(pass(table, {take(0, kToken), take(1, kToken)}, kNoon));
  for (const LimitState& limit : table.item.limits) {
    EXPECT_EQ(limit.balance, 9 * kToken);
    EXPECT_EQ(limit.grant_count, 4);
    EXPECT_EQ(limit.top_up, 0);
  }
}

TEST(LockedForm, R12_R15_RollAppliesTheWindowOnceAndMovesTheStampUpToIt) {
  LimitState window = opened(session(20, 5h).state(2), kNoon - 6h, kToken);
  window.window_start = kNoon;
  window.consumed = 5 * kToken;
  window.consumed_at_fanout = 2 * kToken;
  Table table(bucket_of({window}, kNoon - 6h, 2));
  // This caller's clock is behind the one that opened the window.
  ASSERT_TRUE(pass(table, {take(0, kToken)}, kNoon - 2s));
  EXPECT_EQ(table.item.limits[0].balance, 6 * kToken);
  EXPECT_EQ(table.item.limits[0].window_applied, kNoon);
  EXPECT_EQ(table.item.refilled_at, kNoon);
  ASSERT_TRUE(pass(table, {take(0, kToken)}, kNoon - 1s));
  EXPECT_EQ(table.item.limits[0].balance, 5 * kToken);
}

TEST(LockedForm, Decision12_StampMovedUpToAWindowLosesNeitherRefillNorEdge) {
  LimitState window = opened(session(20, 5h).state(2), kNoon - 6h, kToken);
  window.window_start = kNoon + 1s;
  LimitState drip = rate(100, 20, 1s).state(2);
  drip.balance = 0;
  LimitState day = calendar(10, "0 12 * * *").state(2);
  day.balance = 0;
  TimePoint stamp = kNoon - 2s;
  Table table(bucket_of({window, drip, day}, stamp, 2));
  ASSERT_TRUE(pass(table, {take(0, kToken)}, kNoon - 1s));
  EXPECT_EQ(table.item.refilled_at, kNoon + 1s);
  EXPECT_EQ(table.item.limits[1].balance, 30 * kToken) << "three seconds at ten a second";
  EXPECT_EQ(table.item.limits[2].balance, 5 * kToken) << "noon has passed with the stamp";
  EXPECT_EQ(table.item.valid_until, kNoon + 1s + 5h) << "past the edge, to the window's end";
}

TEST(LockedForm, RollPinsTheWindowItApplies) {
  LimitState window = opened(session(20, 5h).state(2), kNoon - 6h, kToken);
  window.window_start = kNoon;
  BucketState state = bucket_of({window}, kNoon - 6h, 2);
  const LimitWrite write = write_of(locked(state, {}, kNoon + 1s), 0);
  EXPECT_TRUE(write.apply_window);
  EXPECT_TRUE(write.pin_window);
  EXPECT_TRUE(write.set_grant);
}

TEST(LockedForm, R34_EachLimitFollowsItsOwnSchedules) {
  Definition halved = rate(100, 100, 60s).with_lines({scaled("* 0 * * *", 500)});
  Table table = settled({halved.state(), calendar(50, "0 0 * * *").state()}, kNoon);
  ASSERT_TRUE(pass(table, {take(0, 90 * kToken), take(1, 20 * kToken)}, utc(2026, 9, 16) - 1s));
  ASSERT_TRUE(pass(table, {}, utc(2026, 9, 16)));
  EXPECT_EQ(table.item.limits[1].balance, 50 * kToken) << "the quota is reset, not halved";
  EXPECT_EQ(table.item.limits[0].balance, 11'666) << "the rate is not reset";
}

// ---- write capacity ---------------------------------------------------------------------------

LimitState write_capacity(std::int64_t balance) {
  LimitState limit = rate(1000, 1000, 1s, "wcu").state();
  limit.reserved = true;
  limit.balance = balance;
  return limit;
}

TEST(WriteCapacity, GatesAndIsDebitedByFastDebits) {
  Table table = settled({calendar(10, "0 0 * * *").state(), write_capacity(500 * kToken)}, kNoon);
  Plan plan = *fast(table.item, {take(0, kToken)}, kNoon + 1s);
  EXPECT_EQ(write_of(plan, 1).at_least, kToken);
  ASSERT_TRUE(table.write(plan, table.item));
  EXPECT_EQ(table.item.limits[1].balance, 499 * kToken);
  EXPECT_EQ(table.item.limits[1].consumed, kToken);
  table.item.limits[1].balance = 999;
  EXPECT_FALSE(table.write(plan, table.item));
}

TEST(WriteCapacity, CreditsNeitherPayNorAreHeldUp) {
  LimitState day = calendar(10, "0 0 * * *").state();
  day.balance = 0;
  Table table = settled({day, write_capacity(0)}, kNoon);
  ASSERT_TRUE(table.write(*fast(table.item, {give_back(0, kToken)}, kNoon + 1s), table.item));
  EXPECT_EQ(table.item.limits[1].balance, 0);
  ASSERT_TRUE(pass(table, {give_back(0, kToken)}, kNoon));
  EXPECT_EQ(table.item.limits[1].balance, 0);
}

TEST(WriteCapacity, Decision20_LockedFormPaysAndNeverOverfills) {
  for (auto [elapsed, before, after] : {std::tuple{Millis(300), 100 * kToken, 399 * kToken},
                                        std::tuple{Millis(500), 900 * kToken, 999 * kToken},
                                        std::tuple{Millis(999), 0 * kToken, 998 * kToken},
                                        std::tuple{Millis(1000), -50 * kToken, 999 * kToken},
                                        std::tuple{Millis(3'600'000), 7 * kToken, 999 * kToken},
                                        std::tuple{Millis(-5000), 7 * kToken, 6 * kToken}}) {
    BucketState state = bucket_of({rate(10, 1, 1s).state(), write_capacity(before)}, kNoon);
    Table table(state);
    ASSERT_TRUE(pass(table, {take(0, kToken)}, kNoon + elapsed));
    EXPECT_EQ(table.item.limits[1].balance, after) << elapsed.count();
  }
}

// ---- valid_until (decision 21) ----------------------------------------------------------------

TEST(ValidUntil, R33_IsAbsentWhereNothingIsScheduledAndRemovedWithTheLastSchedule) {
  Table table = settled({rate(10, 1, 1s).state()}, kNoon);
  EXPECT_FALSE(table.item.valid_until);
  EXPECT_EQ(locked(table.item, {}, kNoon).validity, Validity::kKeep);
  Definition plain = rate(10, 1, 1s);
  Table scheduled = settled({plain.with_lines({scaled("* 3 * * *", 500)}).state()}, kNoon);
  EXPECT_EQ(scheduled.item.valid_until, kNoon + 15h);
  LimitState configured = plain.state();
  Plan plan = locked(scheduled.item, {}, kNoon + 1s, {{0, &configured}});
  EXPECT_EQ(plan.validity, Validity::kRemove);
}

TEST(ValidUntil, IsTheLeastBoundary) {
  Table table = settled({calendar(10, "0 0 * * *").state(),
                         rate(10, 1, 1s).with_lines({scaled("* 14 * * *", 500)}).state(),
                         opened(session(10, 5h).state(), kNoon - 4h, 0)},
                        kNoon);
  EXPECT_EQ(table.item.valid_until, kNoon + 1h);
  ASSERT_TRUE(pass(table, {take(2, kToken)}, kNoon + 1h));
  EXPECT_EQ(table.item.valid_until, kNoon + 2h);
}

TEST(ValidUntil, UnopenedWindowHoldsItAtTheStampAndNoPassMovesIt) {
  Table table = settled({rate(10, 1, 1s).state(), session(10, 5h).state()}, kNoon);
  EXPECT_EQ(table.item.valid_until, kNoon) << "never the epoch";
  ASSERT_TRUE(pass(table, {take(0, kToken)}, kNoon + 1h));
  EXPECT_EQ(table.item.valid_until, kNoon);
  std::optional<Plan> plan = fast(table.item, {take(0, kToken)}, kNoon + 1h);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->pin_validity);
  ASSERT_TRUE(pass(table, {take(1, kToken)}, kNoon + 2h));
  EXPECT_EQ(table.item.valid_until, kNoon + 7h);
}

TEST(ValidUntil, SeededWindowsFollowTheSameRule) {
  BucketState state = bucket_of({rate(10, 1, 1s).state()}, kNoon);
  state.valid_until.reset();
  LimitState window = session(10, 5h).state();
  LimitState day = calendar(10, "0 0 * * *").state();
  TimePoint now = kNoon + 1s;
  auto plan_with = [&](std::vector<Seed> seeds) {
    Plan plan;
    plan_locked(state, evaluate_all(state, now), {}, {}, seeds, {}, now, plan);
    return plan;
  };
  EXPECT_EQ(plan_with({{&window, 0, true}}).valid_until, now);
  EXPECT_EQ(plan_with({{&window, kToken, true}}).valid_until, now + 5h);
  EXPECT_EQ(plan_with({{&day, kToken, true}}).valid_until, utc(2026, 9, 16));
  EXPECT_EQ(plan_with({{&window, 0, true}, {&day, 0, true}}).valid_until, now);
}

TEST(ValidUntil, R29_R32_FanOutAsksForTheNextTouch) {
  Table table = settled({calendar(10, "0 0 * * *").state()}, kNoon);
  LimitState configured = calendar(20, "0 0 * * *").state();
  PlanOptions options;
  options.reevaluate = true;
  ASSERT_TRUE(
      table.write(locked(table.item, {}, kNoon + 1s, {{0, &configured}}, options), table.item));
  EXPECT_EQ(table.item.valid_until, TimePoint{});
  ASSERT_TRUE(acquire(table, {take(0, kToken)}, kNoon + 2s));
  EXPECT_EQ(table.item.valid_until, utc(2026, 9, 16));
}

TEST(ValidUntil, R32_SlowWritePlannedBeforeAFanOutDoesNotLand) {
  Table table = settled({calendar(10, "0 0 * * *").state()}, kNoon);
  BucketState image = table.item;
  Plan slow = locked(image, {take(0, kToken)}, kNoon + 1s);
  table.item.valid_until = TimePoint{};
  EXPECT_FALSE(table.write(slow, image));
}

// ---- changes of parameters (decisions 27 and 29) ------------------------------------------------

struct QuotaKind {
  const char* name;
  LimitState (*make)(std::int64_t capacity);
};
constexpr QuotaKind kQuotaKinds[] = {
    {"calendar", [](std::int64_t c) { return calendar(c, "0 0 * * *", "q").state(); }},
    {"session", [](std::int64_t c) { return session(c, 5h, "q").state(); }},
};

TEST(Stamp, P76_UsedStaysUsedBothWays) {
  for (const QuotaKind& kind : kQuotaKinds) {
    LimitState ten = kind.make(10);
    LimitState hundred = kind.make(100);
    Table table = settled({ten}, kNoon);
    ASSERT_TRUE(acquire(table, {take(0, 10 * kToken)}, kNoon));
    std::optional<TimePoint> window = table.item.limits[0].window_start;
    std::optional<TimePoint> boundary = table.item.valid_until;
    ASSERT_TRUE(pass(table, {}, kNoon + 1min, {{0, &hundred}}));
    EXPECT_EQ(table.item.limits[0].balance, 90 * kToken) << kind.name;
    ASSERT_TRUE(acquire(table, {take(0, 40 * kToken)}, kNoon + 2min));
    ASSERT_TRUE(pass(table, {}, kNoon + 3min, {{0, &ten}}));
    EXPECT_EQ(table.item.limits[0].balance, -40 * kToken) << kind.name;
    ASSERT_TRUE(pass(table, {}, kNoon + 4min, {{0, &hundred}}));
    EXPECT_EQ(table.item.limits[0].balance, 50 * kToken) << "exactly as before";
    EXPECT_EQ(table.item.limits[0].window_start, window) << "no clock restarts";
    EXPECT_EQ(table.item.valid_until, boundary);
  }
}

TEST(Stamp, P76_MovesByTheChangeOfTheShardsShare) {
  LimitState ten = calendar(10, "0 0 * * *").state(4);
  LimitState hundred = calendar(100, "0 0 * * *").state(4);
  // Sized as one of four, though the bucket has eight shards since.
  Table table = settled({ten}, kNoon, 8);
  table.item.limits[0].balance = 2 * kToken;
  ASSERT_TRUE(pass(table, {}, kNoon + 1s, {{0, &hundred}}));
  EXPECT_EQ(table.item.limits[0].balance, 24'500);
  EXPECT_EQ(table.item.limits[0].grant_count, 4) << "only a reset sizes a grant anew";
  ASSERT_TRUE(pass(table, {}, kNoon + 2s, {{0, &ten}}));
  EXPECT_EQ(table.item.limits[0].balance, 2 * kToken);
}

TEST(Stamp, CreditInTheSameWriteStopsAtTheCeilingOfTheGrant) {
  LimitState before = calendar(100, "0 0 * * *").state();
  LimitState after = calendar(120, "0 0 * * *").state();
  Table table = settled({before}, kNoon, 4);
  table.item.limits[0].balance = 80 * kToken;
  ASSERT_TRUE(pass(table, {give_back(0, 5 * kToken)}, kNoon + 1s, {{0, &after}}));
  EXPECT_EQ(table.item.limits[0].balance, 105 * kToken)
      << "the grant is one of one shard, not of four";
  ASSERT_TRUE(pass(table, {give_back(0, 50 * kToken)}, kNoon + 1s, {{0, &after}}));
  EXPECT_EQ(table.item.limits[0].balance, 120 * kToken);
}

TEST(Stamp, PinsTheBalanceAndTheOldParameters) {
  for (LimitState limit : {rate(10, 1, 1s, "l").state(), calendar(10, "0 0 * * *", "l").state(),
                           session(10, 5h, "l").state()}) {
    LimitState configured = limit;
    configured.base.capacity = 20 * kToken;
    Table table = settled({limit}, kNoon);
    const LimitWrite write =
        write_of(locked(table.item, {take(0, kToken)}, kNoon + 1s, {{0, &configured}}), 0);
    EXPECT_EQ(write.exactly, limit.balance);
    EXPECT_TRUE(write.pin_parameters);
    EXPECT_EQ(write.pin_window, limit.kind == LimitKind::kSession);
    EXPECT_EQ(write.stamp, &configured);
    EXPECT_FALSE(write.at_least);
    EXPECT_FALSE(write.at_most);
  }
}

TEST(Stamp, RateIsOnlyClampedAndKeepsItsFractionWhileItsPeriodStays) {
  LimitState before = rate(10, 1, 1h).state();
  before.balance = 4 * kToken;
  before.remainder = 1000;
  LimitState quicker = rate(20, 2, 1h).state();
  Table table = settled({before}, kNoon);
  ASSERT_TRUE(pass(table, {}, kNoon + 1ms, {{0, &quicker}}));
  EXPECT_EQ(table.item.limits[0].balance, 4 * kToken) << "raised: nothing is added";
  EXPECT_EQ(table.item.limits[0].remainder, 2000) << "the past at the old rate";
  LimitState lower = rate(3, 2, 1h).state();
  Table cut = table;
  ASSERT_TRUE(pass(cut, {}, kNoon + 1ms, {{0, &lower}}));
  EXPECT_EQ(cut.item.limits[0].balance, 3 * kToken);
  EXPECT_EQ(cut.item.limits[0].remainder, 0);
  LimitState other_unit = rate(20, 2, 1min).state();
  ASSERT_TRUE(pass(table, {}, kNoon + 1ms, {{0, &other_unit}}));
  EXPECT_EQ(table.item.limits[0].remainder, 0);
}

TEST(Stamp, RateToQuotaKeepsWhatIsLeftAndOpensNoWindow) {
  LimitState before = rate(100, 1, 1h, "l").state();
  before.balance = 30 * kToken;
  LimitState day = calendar(20, "0 0 * * *", "l").state();
  LimitState big_day = calendar(200, "0 0 * * *", "l").state();
  LimitState window = session(20, 5h, "l").state();
  for (auto [configured, balance] :
       {std::pair{&day, 20 * kToken}, std::pair{&big_day, 30 * kToken}}) {
    Table table = settled({before}, kNoon);
    ASSERT_TRUE(pass(table, {}, kNoon, {{0, configured}}));
    EXPECT_EQ(table.item.limits[0].balance, balance);
    EXPECT_EQ(table.item.limits[0].grant_count, 1);
    EXPECT_EQ(table.item.limits[0].remainder, 0);
  }
  Table table = settled({before}, kNoon);
  ASSERT_TRUE(pass(table, {}, kNoon, {{0, &window}}));
  EXPECT_EQ(table.item.limits[0].balance, 20 * kToken);
  EXPECT_FALSE(table.item.limits[0].window_start);
  EXPECT_EQ(table.item.valid_until, kNoon) << "an unopened window";
}

TEST(Stamp, QuotaToRateIsDividedByTheShardsOfTheRate) {
  LimitState quota = calendar(100, "0 0 * * *", "l").state();
  quota.top_up = 5 * kToken;
  LimitState configured = rate(40, 4, 1s, "l").state();
  Table table(bucket_of({quota}, kNoon, 4));
  ASSERT_TRUE(pass(table, {}, kNoon, {{0, &configured}}));
  EXPECT_EQ(table.item.limits[0].balance, 10 * kToken);
  EXPECT_EQ(table.item.limits[0].top_up, 0);
}

TEST(Stamp, R19_LengthChangeMovesTheEndOfARunningWindowOnly) {
  LimitState five = session(10, 5h).state();
  LimitState eight = session(10, 8h).state();
  Table table = settled({opened(five, kNoon, 4 * kToken)}, kNoon);
  ASSERT_TRUE(pass(table, {}, kNoon + 1h, {{0, &eight}}));
  EXPECT_EQ(table.item.limits[0].window_start, kNoon);
  EXPECT_EQ(table.item.limits[0].balance, 4 * kToken);
  EXPECT_EQ(table.item.valid_until, kNoon + 8h);
}

TEST(Stamp, EndedWindowStaysEndedUnderALongerLength) {
  LimitState five = session(10, 5h).state();
  LimitState eight = session(10, 8h).state();
  Table table = settled({opened(five, kNoon, 0)}, kNoon);
  TimePoint now = kNoon + 6h;
  ASSERT_TRUE(pass(table, {}, now, {{0, &eight}}));
  Worth worth = evaluate(table.item.limits[0], table.item.refilled_at, 1, now);
  EXPECT_EQ(worth.window, WindowState::kNotStarted);
  EXPECT_EQ(worth.balance, 10 * kToken);
}

TEST(Stamp, WindowThatAShorterLengthEndedIsOverAndTheDebitOpensTheNext) {
  LimitState eight = session(10, 8h).state();
  LimitState five = session(10, 5h).state();
  TimePoint now = kNoon + 6h;
  Table idle = settled({opened(eight, kNoon, kToken)}, kNoon);
  Table debited = idle;
  ASSERT_TRUE(pass(idle, {}, now, {{0, &five}}));
  ASSERT_TRUE(pass(idle, {}, now, {{0, &eight}}));
  EXPECT_EQ(evaluate(idle.item.limits[0], idle.item.refilled_at, 1, now).window,
            WindowState::kNotStarted)
      << "changing back does not revive it";
  ASSERT_TRUE(pass(debited, {take(0, 3 * kToken)}, now, {{0, &five}}));
  EXPECT_EQ(debited.item.limits[0].window_start, now);
  EXPECT_EQ(debited.item.limits[0].balance, 7 * kToken);
}

TEST(Stamp, CarriedBalanceIsCutButNeverMovedBeforeTheNextReset) {
  LimitState three = calendar(3, "0 0 * * *").state();
  LimitState ten = calendar(10, "0 0 * * *").state();
  LimitState hundred = calendar(100, "0 0 * * *").state();
  PlanOptions carries;
  carries.quota_carry = QuotaCarry::kBalance;
  auto stamped = [&](Table& table, const LimitState& other, TimePoint now) {
    Plan plan = locked(table.item, {}, now, {{0, &other}}, carries);
    ASSERT_TRUE(table.write(plan, table.item));
  };
  LimitState used = ten;
  used.balance = 4 * kToken;
  Table table(bucket_of({used}, kNoon, 1));
  stamped(table, hundred, kNoon + 1h);
  EXPECT_EQ(table.item.limits[0].balance, 4 * kToken);
  stamped(table, ten, kNoon + 2h);
  EXPECT_EQ(table.item.limits[0].balance, 4 * kToken) << "what the raise did not add stays";
  stamped(table, three, kNoon + 3h);
  EXPECT_EQ(table.item.limits[0].balance, 3 * kToken);
  stamped(table, hundred, kNoon + 4h);
  EXPECT_EQ(table.item.limits[0].balance, 3 * kToken);
  // The write that finds the edge passed grants what is configured then.
  stamped(table, ten, kNoon + 12h);
  EXPECT_EQ(table.item.limits[0].balance, 10 * kToken);
  stamped(table, hundred, kNoon + 36h);
  EXPECT_EQ(table.item.limits[0].balance, 100 * kToken);
}

TEST(Stamp, CarriedBalanceIsCutBeforeTheDebitAndKeepsItsTopUp) {
  PlanOptions carries;
  carries.quota_carry = QuotaCarry::kBalance;
  LimitState window = opened(session(40, 5h, "w").state(4), kNoon, 12 * kToken);
  window.top_up = 3 * kToken;
  LimitState narrower = session(20, 5h, "w").state(4);
  Table table = settled({window}, kNoon, 4);
  Plan plan = locked(table.item, {take(0, 2 * kToken)}, kNoon + 1h, {{0, &narrower}}, carries);
  ASSERT_TRUE(table.write(plan, table.item));
  EXPECT_EQ(table.item.limits[0].balance, 6 * kToken) << "5 of the share and 3 on top, less 2";
  EXPECT_EQ(table.item.limits[0].top_up, 3 * kToken);
  // Debt stays debt, whichever way the capacity goes.
  LimitState wider = session(80, 5h, "w").state(4);
  table.item.limits[0].balance = -4 * kToken;
  for (const LimitState* other : {&wider, &narrower}) {
    plan = locked(table.item, {}, kNoon + 2h, {{0, other}}, carries);
    ASSERT_TRUE(table.write(plan, table.item));
    EXPECT_EQ(table.item.limits[0].balance, -4 * kToken);
  }
}

TEST(Stamp, RollAndResetInTheSameWriteEndTheTopUp) {
  LimitState window = opened(session(20, 5h, "w").state(2), kNoon - 6h, kToken);
  window.window_start = kNoon;
  window.top_up = 3 * kToken;
  LimitState day = calendar(20, "0 12 * * *", "d").state(2);
  day.top_up = 3 * kToken;
  LimitState wider = session(40, 5h, "w").state(2);
  LimitState richer = calendar(40, "0 12 * * *", "d").state(2);
  Table table(bucket_of({window, day}, kNoon - 6h, 2));
  ASSERT_TRUE(
      pass(table, {take(0, kToken), take(1, kToken)}, kNoon + 1s, {{0, &wider}, {1, &richer}}));
  for (const LimitState& limit : table.item.limits) {
    EXPECT_EQ(limit.balance, 19 * kToken) << limit.name;
    EXPECT_EQ(limit.top_up, 0) << limit.name;
    EXPECT_EQ(limit.grant_count, 2) << limit.name;
  }
  EXPECT_EQ(table.item.limits[0].window_applied, kNoon);
}

TEST(Stamp, SessionThatBecomesACalendarForgetsItsWindow) {
  LimitState window = opened(session(20, 5h, "l").state(), kNoon, 7 * kToken);
  LimitState day = calendar(30, "0 0 * * *", "l").state();
  Table running = settled({window}, kNoon);
  ASSERT_TRUE(pass(running, {}, kNoon + 1h, {{0, &day}}));
  EXPECT_EQ(running.item.limits[0].balance, 17 * kToken) << "used stays used";
  EXPECT_FALSE(running.item.limits[0].window_start);
  // After the end nothing is used; the whole share is of the current shard count.
  Table ended = settled({window}, kNoon);
  ended.item.shard_count = 2;
  ASSERT_TRUE(pass(ended, {}, kNoon + 6h, {{0, &day}}));
  EXPECT_EQ(ended.item.limits[0].balance, 15 * kToken);
  EXPECT_EQ(ended.item.limits[0].grant_count, 2);
}

// ---- properties -----------------------------------------------------------------------------

/// A bucket of one to three limits in any state that passes, debits and schedules can leave.
struct World {
  std::vector<Definition> definitions;
  Table table{BucketState{}};
  TimePoint now = kNoon;
};

World any_world() {
  World world;
  std::int64_t shards = any_of(4) == 3 ? 4 : 1;
  std::vector<LimitState> limits;
  int count = any_of(3) + 1;
  for (int i = 0; i < count; ++i) {
    world.definitions.push_back(any_limit(std::string("l") + std::to_string(i)));
    LimitState limit = world.definitions.back().state(shards);
    limit.balance = share_at(limit, kNoon, shards).capacity;
    if (limit.kind == LimitKind::kSession && any_of(2) == 1) {
      limit.window_start = kNoon - any_step();
      limit.window_applied = any_of(4) == 3 ? kNoon - 24h : *limit.window_start;
      limit.consumed = 5000;
      if (any_of(2) == 1) limit.consumed_at_fanout = 3000;
    }
    if (limit.is_quota() && any_of(4) == 3) limit.top_up = 2 * kToken;
    limits.push_back(limit);
  }
  world.table.item = bucket_of(limits, kNoon, shards);
  int steps = any_of(4);
  for (int i = 0; i < steps; ++i) {
    world.now += any_step();
    std::vector<Demand> demands;
    for (std::size_t j = 0; j < limits.size(); ++j) {
      std::int64_t worth = worth_of(world.table, j, world.now);
      if (any_of(2) == 0) demands.push_back(settle(j, any_amount(worth, limits[j].base.capacity)));
    }
    RC_ASSERT(pass(world.table, demands, world.now));
  }
  world.now += any_step();
  return world;
}

std::vector<Demand> any_demands(const Table& table, TimePoint now, bool credits) {
  std::vector<Demand> demands;
  for (std::size_t i = 0; i < table.item.limits.size(); ++i) {
    const LimitState& limit = table.item.limits[i];
    std::int64_t amount =
        any_amount(std::min(worth_of(table, i, now), limit.base.capacity), limit.base.capacity);
    switch (any_of(credits ? 4 : 3)) {
      case 0: break;
      case 1: demands.push_back(take(i, amount)); break;
      case 2: demands.push_back(settle(i, amount)); break;
      default:
        if (amount > 0) {
          demands.push_back(give_back(i, amount, period_of(limit, table.item.refilled_at)));
        }
        break;
    }
  }
  return demands;
}

void assert_same(const BucketState& a, const BucketState& b) {
  RC_ASSERT(a.refilled_at == b.refilled_at);
  for (std::size_t i = 0; i < a.limits.size(); ++i) {
    RC_ASSERT(a.limits[i].balance == b.limits[i].balance);
    RC_ASSERT(a.limits[i].remainder == b.limits[i].remainder);
    RC_ASSERT(a.limits[i].consumed == b.limits[i].consumed);
    RC_ASSERT(a.limits[i].window_start == b.limits[i].window_start);
    RC_ASSERT(a.limits[i].window_applied == b.limits[i].window_applied);
    RC_ASSERT(a.limits[i].top_up == b.limits[i].top_up);
    RC_ASSERT(a.limits[i].grant_count == b.limits[i].grant_count);
  }
}

RC_GTEST_PROP(PlanProperty, LockedFormIsEvaluateThenDebit, ()) {
  World world = any_world();
  const BucketState before = world.table.item;
  std::vector<Demand> demands = any_demands(world.table, world.now, true);
  std::vector<Worth> worths = evaluate_all(before, world.now);
  RC_PRE(fits(before, demands, world.now));
  RC_ASSERT(pass(world.table, demands, world.now));
  const BucketState& after = world.table.item;
  RC_ASSERT(after.refilled_at >= world.now);
  for (std::size_t i = 0; i < before.limits.size(); ++i) {
    const LimitState& limit = after.limits[i];
    std::int64_t amount = 0;
    for (const Demand& demand : demands) {
      if (demand.limit == i) amount = demand.amount;
    }
    RC_ASSERT(limit.consumed == before.limits[i].consumed + amount);
    Worth worth = evaluate(limit, after.refilled_at, after.shard_count, world.now);
    bool period_over =
        worths[i].transition == Transition::kReset || worths[i].transition == Transition::kOpen;
    if (amount < 0 && period_over) amount = 0;
    if (worths[i].window_end && *worths[i].window_end <= after.refilled_at) continue;
    RC_ASSERT(worth.balance == std::min(worths[i].balance - amount, worths[i].ceiling));
    RC_ASSERT(worth.transition == Transition::kNone || worth.transition == Transition::kOpen);
    // Only a debit opens a window, at this very instant.
    bool opens = worths[i].transition == Transition::kOpen && amount > 0;
    if (opens) {
      RC_ASSERT(limit.window_start == world.now);
    } else {
      RC_ASSERT(limit.window_start == before.limits[i].window_start);
    }
  }
}

RC_GTEST_PROP(PlanProperty, PlanFromAnOldImageLandsOnlyWhereItMeansTheSame, ()) {
  World world = any_world();
  const BucketState image = world.table.item;
  std::vector<Demand> demands = any_demands(world.table, world.now, true);
  RC_PRE(fits(image, demands, world.now));
  std::optional<Plan> quick = fast(image, demands, world.now);
  bool use_fast = quick && any_of(2) == 0;
  Plan plan = use_fast ? *quick : locked(image, demands, world.now);
  // Meanwhile the balances move as fast writes of others move them.
  int others = any_of(4);
  for (int i = 0; i < others; ++i) {
    std::optional<Plan> other =
        fast(world.table.item, any_demands(world.table, world.now, true), world.now);
    if (other) world.table.write(*other, world.table.item);
    std::size_t limit = static_cast<std::size_t>(any_of(image.limits.size()));
    LimitState& target = world.table.item.limits[limit];
    // Credits reach up to the ceiling, settles go down without asking.
    std::int64_t ceiling =
        evaluate(target, image.refilled_at, image.shard_count, world.now).ceiling;
    switch (any_of(4)) {
      case 0: target.balance -= any_amount(target.balance, ceiling); break;
      case 1: target.balance = std::max(target.balance, ceiling); break;
      case 2: target.balance = std::max(target.balance, ceiling - 1); break;
      default: break;
    }
  }
  const BucketState current = world.table.item;
  bool landed = world.table.write(plan, image);
  RC_TAG(use_fast ? "fast" : "locked", landed ? "landed" : "lost");
  if (!landed) return;
  RC_ASSERT(fits(current, demands, world.now));
  Table serial(current);
  if (use_fast) {
    // A debit commutes with the refill while the ceiling does not cut; what was there is what is
    // gone, and never more than it says.
    for (std::size_t i = 0; i < current.limits.size(); ++i) {
      std::int64_t amount = 0;
      for (const Demand& demand : demands) {
        if (demand.limit == i) amount = demand.amount;
      }
      const LimitState& now = world.table.item.limits[i];
      if (amount >= 0) RC_ASSERT(now.balance == current.limits[i].balance - amount);
      if (amount < 0) RC_ASSERT(now.balance >= current.limits[i].balance);
      if (amount < 0) RC_ASSERT(now.balance <= current.limits[i].balance - amount);
    }
    return;
  }
  RC_ASSERT(pass(serial, demands, world.now));
  assert_same(serial.item, world.table.item);
}

RC_GTEST_PROP(PlanProperty, CreditsNeverExceedCeilings, ()) {
  World world = any_world();
  RC_ASSERT(pass(world.table, {}, world.now));
  std::int64_t amount = 0;
  std::vector<Demand> demands;
  for (std::size_t i = 0; i < world.table.item.limits.size(); ++i) {
    amount = any_amount(world.table.item.limits[i].base.capacity,
                        world.table.item.limits[i].base.capacity) +
             1;
    demands.push_back(give_back(
        i, amount,
        any_of(2) == 0
            ? std::nullopt
            : std::optional(period_of(world.table.item.limits[i], world.table.item.refilled_at))));
  }
  std::optional<Plan> plan = fast(world.table.item, demands, world.now);
  Plan written = plan && any_of(2) == 0 ? *plan : locked(world.table.item, demands, world.now);
  RC_ASSERT(world.table.write(written, world.table.item));
  for (const LimitState& limit : world.table.item.limits) {
    Worth worth =
        evaluate(limit, world.table.item.refilled_at, world.table.item.shard_count, world.now);
    RC_ASSERT(worth.balance <= worth.ceiling);
    if (worth.transition != Transition::kOpen) RC_ASSERT(limit.balance <= worth.ceiling);
  }
}

RC_GTEST_PROP(PlanProperty, StampWithADebitIsStampThenDebit, ()) {
  World world = any_world();
  std::vector<LimitState> configured;
  std::vector<Stamp> stamps;
  configured.reserve(world.definitions.size());
  for (std::size_t i = 0; i < world.definitions.size(); ++i) {
    if (any_of(2) == 0) continue;
    Definition other =
        any_of(3) == 2 ? any_limit(world.definitions[i].name) : reconfigured(world.definitions[i]);
    configured.push_back(other.state());
    stamps.push_back({i, &configured.back()});
  }
  Table together = world.table;
  Table apart = world.table;
  std::vector<Demand> demands = any_demands(world.table, world.now, false);
  for (Demand& demand : demands) demand.gates = false;
  RC_ASSERT(pass(together, demands, world.now, stamps));
  RC_ASSERT(pass(apart, {}, world.now, stamps));
  RC_ASSERT(pass(apart, demands, world.now));
  for (std::size_t i = 0; i < together.item.limits.size(); ++i) {
    Worth a = evaluate(together.item.limits[i], together.item.refilled_at,
                       together.item.shard_count, world.now);
    Worth b =
        evaluate(apart.item.limits[i], apart.item.refilled_at, apart.item.shard_count, world.now);
    RC_ASSERT(a.balance == b.balance);
    RC_ASSERT(a.ceiling == b.ceiling);
    RC_ASSERT(a.remainder == b.remainder);
    RC_ASSERT(a.window_end == b.window_end);
    RC_ASSERT(together.item.limits[i].top_up == apart.item.limits[i].top_up);
  }
  RC_ASSERT(together.item.refilled_at == apart.item.refilled_at);
}

RC_GTEST_PROP(PlanProperty, ChangingBackRestoresTheFormerBalance, ()) {
  auto kind = any_of(2) == 0 ? LimitKind::kCalendar : LimitKind::kSession;
  Definition definition = any_limit_of(kind, "q");
  Definition other = reconfigured(definition);
  other.window_length = definition.window_length;
  std::int64_t shards = any_of(3) + 1;
  LimitState limit = definition.state(shards);
  limit.balance -= any_amount(limit.balance, limit.base.capacity);
  if (kind == LimitKind::kSession) limit.window_start = limit.window_applied = kNoon;
  Table table(bucket_of({limit}, kNoon, shards));
  LimitState there = other.state();
  LimitState back = definition.state();
  std::int64_t before = worth_of(table, 0, kNoon);
  RC_ASSERT(pass(table, {}, kNoon, {{0, &there}}));
  RC_ASSERT(pass(table, {}, kNoon, {{0, &back}}));
  RC_ASSERT(table.item.limits[0].balance == before);
  RC_ASSERT(table.item.limits[0].window_start == limit.window_start);
}

}  // namespace
}  // namespace stint::bucket::test
