#include "bucket/worth.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/support/bucket_gen.h"
#include "tests/unit/support/bucket_oracle.h"
#include "tests/unit/support/bucket_world.h"

namespace stint::bucket::test {
namespace {

// ---- shares ---------------------------------------------------------------------------------

TEST(Share, R41_ScalesThenDividesOnce) {
  LimitState limit = rate(16, 16, 1s).state();
  EXPECT_EQ(share_of(limit, -1, 4).capacity, 4 * kToken);
  EXPECT_EQ(share_of(limit, -1, 4).refill, 4 * kToken);
  Definition halved = rate(16, 16, 1s).with_lines({scaled("* * * * *", 500)});
  LimitState scheduled = halved.state();
  EXPECT_EQ(share_at(scheduled, kNoon, 4).capacity, 2 * kToken);
  EXPECT_EQ(share_at(scheduled, kNoon, 4).period, 1s) << "periods are never divided";
  EXPECT_EQ(share_at(scheduled, kNoon, 4).entry, 0);
}

TEST(Share, AbsoluteLineReplacesOnlyWhatItNames) {
  Definition limit = rate(100, 20, 1s).with_lines({absolute("* 12 * * *", 7)});
  Share share = share_at(limit.state(), kNoon, 1);
  EXPECT_EQ(share.capacity, 7 * kToken);
  EXPECT_EQ(share.refill, 20 * kToken);
  EXPECT_EQ(share_at(limit.state(), kNoon + 1h, 1).capacity, 100 * kToken);
}

TEST(Share, R42_ScalingNeverMakesNothingOutOfSomethingNorSomethingOutOfNothing) {
  Definition quota = calendar(1, "0 0 * * *").with_lines({scaled("* * * * *", 1)});
  EXPECT_EQ(share_at(quota.state(), kNoon, 1).capacity, 1);
  EXPECT_EQ(share_at(quota.state(), kNoon, 1).refill, 0) << "a quota never drips";
  LimitState tiny = rate(1, 1, 1s).with_lines({scaled("* * * * *", 1)}).state();
  tiny.base.refill = 10;
  EXPECT_EQ(share_of(tiny, -1, 1).refill, 10);
}

TEST(Share, ReservedLimitIsNeitherScheduledNorDivided) {
  Definition limit = rate(1000, 1000, 1s).with_lines({scaled("* * * * *", 500)});
  LimitState reserved = limit.state();
  reserved.reserved = true;
  EXPECT_EQ(share_at(reserved, kNoon, 8).capacity, 1000 * kToken);
}

TEST(Share, R7_LegacyGrantIsHalvedUntilItCoversTheBalance) {
  LimitState limit = calendar(100, "0 0 * * *").state();
  limit.grant_count.reset();
  limit.balance = 60 * kToken;
  EXPECT_EQ(grant_count(limit, 8), 1);
  limit.balance = 26 * kToken;
  EXPECT_EQ(grant_count(limit, 8), 2);
  limit.balance = 12 * kToken;
  EXPECT_EQ(grant_count(limit, 8), 8);
  limit.grant_count = 0;
  EXPECT_EQ(grant_count(limit, 8), 8) << "a corrupt count is none";
  limit.balance = 60 * kToken;
  Worth worth = evaluate(limit, kNoon, 8, kNoon + 1s);
  EXPECT_EQ(worth.balance, 60 * kToken) << "tokens must not be destroyed";
}

TEST(Share, HighestCapacityLooksAtTheBaseAndEveryLine) {
  Definition limit = rate(100, 1, 1s)
                         .with_lines({scaled("* 3 * * *", 2500), absolute("* 4 * * *", 300),
                                      scaled("* 5 * * *", 10)});
  EXPECT_EQ(highest_capacity(limit.state(), 1), 300 * kToken);
  EXPECT_EQ(highest_capacity(limit.state(), 4), 75 * kToken);
  EXPECT_EQ(highest_capacity(rate(100, 1, 1s).state(), 1), 100 * kToken);
}

// ---- rates ----------------------------------------------------------------------------------

TEST(RateWorth, R39_ClampsWithoutTimePassing) {
  LimitState limit = rate(10, 10, 60s).state();
  limit.balance = 100 * kToken;
  Worth worth = evaluate(limit, kNoon, 1, kNoon);
  EXPECT_EQ(worth.balance, 10 * kToken);
  EXPECT_EQ(worth.transition, Transition::kClamp);
}

TEST(RateWorth, R40_CutIsACutEvenWhereARemainderGoesWithIt) {
  LimitState limit = rate(10, 10, 60s).state();
  limit.balance = 100 * kToken;
  limit.remainder = 59'999;
  for (Millis elapsed : {Millis(0), Millis(1), Millis(1000)}) {
    Worth worth = evaluate(limit, kNoon, 1, kNoon + elapsed);
    EXPECT_EQ(worth.balance, 10 * kToken);
    EXPECT_EQ(worth.remainder, 0);
    EXPECT_EQ(worth.transition, Transition::kClamp);
  }
}

TEST(RateWorth, DebtRefillsUpwardAndIsNotClamped) {
  LimitState limit = rate(100, 20, 1s).state();
  limit.balance = -50 * kToken;
  EXPECT_EQ(evaluate(limit, kNoon, 1, kNoon).balance, -50 * kToken);
  EXPECT_EQ(evaluate(limit, kNoon, 1, kNoon + 1s).balance, -30 * kToken);
  EXPECT_EQ(evaluate(limit, kNoon, 1, kNoon + 8s).balance, 100 * kToken);
}

TEST(RateWorth, P95_ClockBehindTheStampGivesTheWorthAtTheStamp) {
  LimitState limit = rate(100, 20, 1s).state();
  limit.balance = 40 * kToken;
  for (Millis behind : {Millis(5), Millis(10'000), Millis(86'400'000)}) {
    Worth worth = evaluate(limit, kNoon, 1, kNoon - behind);
    EXPECT_EQ(worth.balance, 40 * kToken);
    EXPECT_EQ(worth.transition, Transition::kNone);
  }
}

TEST(RateWorth, R93_PassesEachMillisecondMintNothing) {
  Table table(bucket_of({rate(400'000, 400'000, 60s).state()}, kNoon));
  table.item.limits[0].balance = 0;
  for (int i = 1; i <= 60'000; ++i) ASSERT_TRUE(pass(table, {}, kNoon + Millis(i)));
  // A minute's worth, neither more nor less.
  EXPECT_EQ(table.item.limits[0].balance, 400'000 * kToken);
  Table short_time(bucket_of({rate(400'000, 400'000, 60s).state()}, kNoon));
  short_time.item.limits[0].balance = 0;
  for (int i = 1; i <= 1000; ++i) ASSERT_TRUE(pass(short_time, {}, kNoon + Millis(i)));
  EXPECT_EQ(short_time.item.limits[0].balance, 6'666'666);
  EXPECT_EQ(short_time.item.limits[0].remainder, 40'000);
}

TEST(RateWorth, R94_SlowDripBesideABusyLimitYieldsItsTokenEachHour) {
  Table table(
      bucket_of({rate(3, 1, 1h, "slow").state(), rate(60, 60, 60s, "busy").state()}, kNoon));
  table.item.limits[0].balance = 0;
  for (int second = 1; second <= 2 * 3600; ++second) {
    TimePoint now = kNoon + std::chrono::seconds(second);
    ASSERT_TRUE(pass(table, {take(1, kToken)}, now));
    ASSERT_EQ(table.item.limits[0].balance, second * kToken / 3600) << second;
  }
  EXPECT_EQ(table.item.limits[0].balance, 2 * kToken);
  EXPECT_EQ(table.item.limits[0].remainder, 0);
}

TEST(RateWorth, P41_R43_LongRestOfALargeBucketFillsIt) {
  LimitState limit = rate(1'000'000'000'000, 1'000'000'000'000, 1s).state();
  limit.balance = -limit.base.capacity;
  EXPECT_EQ(evaluate(limit, kNoon, 1, kNoon + 10 * 8766h).balance, limit.base.capacity);
}

TEST(RateWorth, P40_FullBucketGainsNothingByResting) {
  Table table(bucket_of({rate(100, 20, 1s).state()}, kNoon));
  TimePoint later = kNoon + 1h;
  EXPECT_TRUE(acquire(table, {take(0, 100 * kToken)}, later));
  EXPECT_FALSE(acquire(table, {take(0, kToken)}, later));
}

TEST(RateWorth, P77_OldTimeIsPricedAtTheOldRate) {
  Definition before = rate(1000, 1, 1s);
  Definition after = rate(1000, 100, 1s);
  LimitState configured = after.state();
  Table table(bucket_of({before.state()}, kNoon));
  table.item.limits[0].balance = 0;
  ASSERT_TRUE(pass(table, {}, kNoon + 10s, {{0, &configured}}));
  EXPECT_EQ(table.item.limits[0].balance, 10 * kToken);
  EXPECT_EQ(evaluate(table.item.limits[0], table.item.refilled_at, 1, kNoon + 11s).balance,
            110 * kToken);
}

TEST(RateWorth, EachStretchOfAScheduleDripsAtItsOwnRateUnderItsOwnCeiling) {
  // Full rate until 13:00, a tenth for an hour, then full again.
  Definition limit = rate(600, 60, 60s).with_lines({scaled("* 13 * * *", 100)});
  LimitState state = limit.state();
  state.balance = 0;
  TimePoint begin = kNoon + 59min;
  EXPECT_EQ(evaluate(state, begin, 1, kNoon + 60min).balance, 60 * kToken);
  EXPECT_EQ(evaluate(state, begin, 1, kNoon + 60min).ceiling, 60 * kToken);
  EXPECT_EQ(evaluate(state, begin, 1, kNoon + 70min).balance, 60 * kToken) << "its ceiling";
  EXPECT_EQ(evaluate(state, begin, 1, kNoon + 121min).balance, 120 * kToken);
  EXPECT_FALSE(evaluate(state, begin, 1, kNoon + 121min).uniform);
  EXPECT_TRUE(evaluate(state, kNoon + 120min, 1, kNoon + 121min).uniform);
  state.balance = 30 * kToken;
  EXPECT_EQ(evaluate(state, kNoon + 60min, 1, kNoon + 65min).balance, 60 * kToken);
  EXPECT_EQ(evaluate(state, kNoon + 60min, 1, kNoon + 64min).balance, 54 * kToken);
}

TEST(RateWorth, FractionIsDroppedWhereALineChangesThePeriod) {
  // One token an hour, from one o'clock on one each seven seconds.
  Definition limit =
      rate(10, 1, 3600s).with_lines({absolute("* 13 * * *", std::nullopt, std::nullopt, 7s)});
  LimitState state = limit.state();
  state.balance = 0;
  state.remainder = 1'800'000;
  TimePoint change = kNoon + 1h;
  // A millisecond before the change the fraction grows to 1,801,000 parts of 3,600,000.
  Worth before = evaluate(state, change - 2ms, 1, change - 1ms);
  EXPECT_EQ(before.balance, 0);
  EXPECT_EQ(before.remainder, 1'801'000);
  Worth after = evaluate(state, change - 2ms, 1, change + 3ms);
  EXPECT_EQ(after.balance, 0);
  EXPECT_EQ(after.remainder, 3000) << "parts of 7,000, of the new line's time alone";
}

TEST(RateWorth, BeyondTheReachOfTheScheduleTheLeastRateCounts) {
  // Two changes a day: 366 stretches reach back half a year.
  Definition limit = rate(kMost, 10, 1s).with_lines({scaled("* 0-11 * * *", 500)});
  LimitState state = limit.state();
  state.balance = 0;
  TimePoint later = kNoon + 400 * 24h;
  std::int64_t gained = evaluate(state, kNoon, 1, later).balance;
  std::int64_t seconds = 400LL * 86'400;
  EXPECT_GE(gained, seconds * 5 * kToken);
  EXPECT_LE(gained, seconds * 7500);
  EXPECT_GE(gained, (seconds - 183LL * 86'400) * 5 * kToken + 182LL * 86'400 * 7500);
}

// ---- quotas ---------------------------------------------------------------------------------

TEST(CalendarWorth, OneOrSeveralMissedEdgesAreOneReset) {
  LimitState limit = calendar(100, "0 0 * * *").state();
  limit.balance = -20 * kToken;
  TimePoint midnight = utc(2026, 9, 16);
  EXPECT_EQ(evaluate(limit, kNoon, 1, midnight - 1ms).balance, -20 * kToken);
  Worth worth = evaluate(limit, kNoon, 1, midnight);
  EXPECT_EQ(worth.transition, Transition::kReset);
  EXPECT_EQ(worth.balance, 100 * kToken) << "debt ends with its period";
  EXPECT_EQ(evaluate(limit, kNoon, 1, midnight + 5 * 24h).balance, 100 * kToken);
  EXPECT_EQ(evaluate(limit, midnight, 1, midnight).transition, Transition::kNone)
      << "an edge at the stamp itself has been taken";
}

TEST(CalendarWorth, P17_MonthlyUsageIsIntactOnThe31st) {
  LimitState limit = calendar(100, "0 0 1 * *").state();
  limit.balance = 40 * kToken;
  TimePoint first = utc(2026, 10, 1, 8h);
  EXPECT_EQ(evaluate(limit, first, 1, utc(2026, 10, 31, 23h + 59min)).balance, 40 * kToken);
  EXPECT_EQ(evaluate(limit, first, 1, utc(2026, 11, 1)).balance, 100 * kToken);
}

TEST(CalendarWorth, TopUpRaisesTheCeilingUntilTheEdge) {
  LimitState limit = calendar(10, "0 0 * * *").state();
  limit.top_up = 5 * kToken;
  limit.balance = 15 * kToken;
  Worth worth = evaluate(limit, kNoon, 1, kNoon + 1h);
  EXPECT_EQ(worth.ceiling, 15 * kToken);
  EXPECT_EQ(worth.balance, 15 * kToken);
  worth = evaluate(limit, kNoon, 1, kNoon + 13h);
  EXPECT_EQ(worth.ceiling, 10 * kToken);
  EXPECT_EQ(worth.balance, 10 * kToken);
}

TEST(CalendarWorth, ResetInsideAScaledStretchRestoresTheScaledAmount) {
  Definition limit = calendar(100, "0 0 * * *").with_lines({scaled("* 0-5 * * *", 300)});
  LimitState state = limit.state();
  state.balance = 0;
  EXPECT_EQ(evaluate(state, kNoon, 1, utc(2026, 9, 16)).balance, 30 * kToken);
  EXPECT_EQ(evaluate(state, kNoon, 1, utc(2026, 9, 16, 7h)).balance, 30 * kToken)
      << "a ceiling that rises again restores nothing";
  EXPECT_EQ(evaluate(state, kNoon, 1, utc(2026, 9, 16, 7h)).ceiling, 100 * kToken);
}

TEST(CalendarWorth, GrantSizeRulesUntilTheResetAndTheShardCountAfter) {
  LimitState limit = calendar(100, "0 0 * * *").state();
  limit.grant_count = 2;
  limit.balance = 50 * kToken;
  EXPECT_EQ(evaluate(limit, kNoon, 8, kNoon + 1h).balance, 50 * kToken);
  EXPECT_EQ(evaluate(limit, kNoon, 8, kNoon + 13h).balance, 12'500);
}

TEST(SessionWorth, P1_P2_NothingRunsBeforeTheFirstUseNorAfterTheEnd) {
  LimitState limit = session(100, 5h).state();
  Worth worth = evaluate(limit, kNoon, 1, kNoon + 3 * 24h);
  EXPECT_EQ(worth.transition, Transition::kOpen);
  EXPECT_EQ(worth.window, WindowState::kNotStarted);
  EXPECT_EQ(worth.balance, 100 * kToken);
  EXPECT_FALSE(resets_at(limit, worth, kNoon + 3 * 24h));
  limit.window_start = limit.window_applied = kNoon;
  limit.balance = 0;
  worth = evaluate(limit, kNoon, 1, kNoon + 5h - 1ms);
  EXPECT_EQ(worth.window, WindowState::kRunning);
  EXPECT_EQ(worth.balance, 0);
  EXPECT_EQ(resets_at(limit, worth, kNoon + 5h - 1ms), kNoon + 5h);
  worth = evaluate(limit, kNoon, 1, kNoon + 5h);
  EXPECT_EQ(worth.window, WindowState::kNotStarted);
  EXPECT_EQ(worth.balance, 100 * kToken);
  EXPECT_FALSE(resets_at(limit, worth, kNoon + 5h));
}

TEST(SessionWorth, P14_WindowsEndAfterExactlyTheirLength) {
  TimePoint ten = utc(2026, 9, 15, 10h);
  for (Millis length :
       {Millis(24h), Millis(30h), Millis(48h), Millis(72h), Millis(3000min), Millis(31'536'000s)}) {
    LimitState limit = session(1, length).state();
    limit.window_start = limit.window_applied = ten;
    EXPECT_EQ(evaluate(limit, ten, 1, ten + 1s).window_end, ten + length);
  }
}

TEST(SessionWorth, P8_EndIsReportedToTheMillisecond) {
  TimePoint first = utc(2026, 9, 15, 10h + 20min + 250ms);
  LimitState limit = session(1, 1h).state();
  Table table(bucket_of({limit}, kNoon - 10h));
  ASSERT_TRUE(acquire(table, {take(0, 1)}, first));
  Worth worth = evaluate(table.item.limits[0], table.item.refilled_at, 1, first + 1s);
  EXPECT_EQ(resets_at(table.item.limits[0], worth, first + 1s), first + 1h);
}

TEST(SessionWorth, R13_R14_MarkerDecidesWhetherAShardHasRolled) {
  LimitState limit = session(8, 5h).state();
  limit.grant_count = 2;
  limit.balance = 1 * kToken;
  limit.window_start = kNoon;
  limit.window_applied = kNoon - 6h;
  // Neither a stamp before nor one after the window's start may decide.
  for (TimePoint stamp : {kNoon - 1h, kNoon + 1h}) {
    Worth worth = evaluate(limit, stamp, 2, kNoon + 2h);
    EXPECT_EQ(worth.transition, Transition::kRoll);
    EXPECT_EQ(worth.balance, 4 * kToken);
  }
  limit.window_applied = kNoon;
  for (TimePoint stamp : {kNoon - 1h, kNoon + 1h}) {
    EXPECT_EQ(evaluate(limit, stamp, 2, kNoon + 2h).balance, 1 * kToken);
  }
}

TEST(SessionWorth, ItemWithoutMarkerRollsOnceByItsStamp) {
  LimitState limit = session(8, 5h).state();
  limit.balance = 1 * kToken;
  limit.window_start = kNoon;
  EXPECT_EQ(evaluate(limit, kNoon - 1ms, 1, kNoon + 1h).transition, Transition::kRoll);
  EXPECT_EQ(evaluate(limit, kNoon, 1, kNoon + 1h).transition, Transition::kNone);
}

TEST(SessionWorth, R15_RollChargesWhatWasSpentSinceTheFanOut) {
  LimitState limit = session(20, 5h).state();
  limit.window_start = kNoon;
  limit.window_applied = kNoon - 6h;
  limit.grant_count = 2;
  limit.consumed = 33 * kToken;
  limit.consumed_at_fanout = 30 * kToken;
  EXPECT_EQ(evaluate(limit, kNoon - 5h, 2, kNoon + 1h).balance, 7 * kToken);
  limit.consumed_at_fanout = 40 * kToken;
  EXPECT_EQ(evaluate(limit, kNoon - 5h, 2, kNoon + 1h).balance, 10 * kToken)
      << "never more than the share";
  limit.consumed_at_fanout.reset();
  EXPECT_EQ(evaluate(limit, kNoon - 5h, 2, kNoon + 1h).balance, 10 * kToken);
}

TEST(SessionWorth, R18_LengthWithoutAStartIsNoWindow) {
  LimitState limit = session(20, 5h).state();
  limit.balance = 3 * kToken;
  EXPECT_EQ(evaluate(limit, kNoon, 1, kNoon + 1s).transition, Transition::kOpen);
}

// ---- against the oracle -------------------------------------------------------------------

struct Debit {
  std::size_t limit;
  std::int64_t amount;
  PeriodPin pin;
  int period_number;
};

/// A bucket and an oracle for each of its limits, in step.
class Histories {
 public:
  Histories() {
    bool kolkata = any_of(2) == 1;
    auto offset = kolkata ? Millis(330min) : Millis(0);
    shards_ = any_of(4) == 3 ? 4 : 1;
    int count = any_of(3) + 1;
    std::vector<LimitState> states;
    for (int i = 0; i < count; ++i) {
      definitions_.push_back(any_limit("l" + std::to_string(i), kolkata ? "Asia/Kolkata" : "UTC"));
      current_.push_back(i);
      oracles_.emplace_back(definitions_.back(), shards_, now_, offset);
      LimitState state = definitions_.back().state(shards_);
      RC_LOG() << state.name << ": " << to_string(state.kind) << " " << state.base.capacity << " "
               << state.base.refill << " per " << state.base.period.count() << " ms, length "
               << state.window_length.count() << ", lines " << definitions_.back().lines.size()
               << ", " << shards_ << " shards\n";
      state.balance = share_at(state, now_, shards_).capacity;
      states.push_back(state);
    }
    table_.item = bucket_of(states, now_, shards_);
  }

  void step() {
    now_ += any_step();
    for (Oracle& oracle : oracles_) oracle.advance(now_);
    check("after waiting");
    switch (any_of(6)) {
      case 0: break;
      case 1: RC_ASSERT(pass(table_, {}, now_)); break;
      case 2:
      case 3: debit(any_of(4) != 3); break;
      case 4: credit(); break;
      default: reconfigure(); break;
    }
    check("after the operation");
  }

 private:
  std::size_t any_index() { return static_cast<std::size_t>(any_of(oracles_.size())); }

  void check(const char* when) {
    RC_LOG() << when << " at " << to_epoch_ms(now_) << "\n";
    for (std::size_t i = 0; i < oracles_.size(); ++i) {
      const LimitState& limit = table_.item.limits[i];
      Worth worth = evaluate(limit, table_.item.refilled_at, shards_, now_);
      RC_ASSERT(worth.balance == oracles_[i].available());
      RC_ASSERT(worth.window_end == oracles_[i].window_end());
      if (!limit.is_quota()) RC_ASSERT(worth.remainder == oracles_[i].fraction());
    }
  }

  void debit(bool gates) {
    std::vector<Demand> demands;
    bool fit = true;
    for (std::size_t i = 0; i < oracles_.size(); ++i) {
      if (any_of(2) == 0) continue;
      std::int64_t available = oracles_[i].available();
      std::int64_t amount = any_amount(available, table_.item.limits[i].base.capacity);
      demands.push_back(gates ? take(i, amount) : settle(i, amount));
      if (available < amount) fit = false;
    }
    if (demands.empty()) return;
    for (const Demand& demand : demands) {
      RC_LOG() << (gates ? "take " : "settle ") << demand.amount << " of " << demand.limit << "\n";
    }
    if (gates && !fit) {
      RC_ASSERT(!acquire(table_, demands, now_));
      return;
    }
    RC_ASSERT(acquire(table_, demands, now_));
    for (const Demand& demand : demands) {
      oracles_[demand.limit].debit(demand.amount);
      debits_.push_back({demand.limit, demand.amount,
                         period_of(table_.item.limits[demand.limit], table_.item.refilled_at),
                         oracles_[demand.limit].period_number()});
    }
  }

  void credit() {
    if (debits_.empty()) return;
    auto at = static_cast<std::size_t>(any_of(debits_.size()));
    Debit debit = debits_[at];
    debits_.erase(debits_.begin() + static_cast<std::ptrdiff_t>(at));
    std::int64_t amount = debit.amount - any_of(2) * (debit.amount / 2);
    if (amount == 0) return;
    RC_LOG() << "give back " << amount << " of " << debit.limit << "\n";
    RC_ASSERT(pass(table_, {give_back(debit.limit, amount, debit.pin)}, now_));
    Oracle& oracle = oracles_[debit.limit];
    if (oracle.takes_credit_of(debit.period_number)) oracle.credit(amount);
  }

  void reconfigure() {
    std::size_t i = any_index();
    definitions_.push_back(reconfigured(definitions_[static_cast<std::size_t>(current_[i])]));
    current_[i] = static_cast<int>(definitions_.size()) - 1;
    LimitState configured = definitions_.back().state();
    RC_LOG() << "configure " << i << ": " << configured.base.capacity << " "
             << configured.base.refill << " per " << configured.base.period.count()
             << " ms, length " << configured.window_length.count() << "\n";
    RC_ASSERT(pass(table_, {}, now_, {{i, &configured}}));
    oracles_[i].configure(definitions_.back());
  }

  TimePoint now_ = kNoon;
  std::int64_t shards_ = 1;
  std::deque<Definition> definitions_;
  std::vector<int> current_;
  std::vector<Oracle> oracles_;
  std::vector<Debit> debits_;
  Table table_{BucketState{}};
};

RC_GTEST_PROP(WorthProperty, HistoriesAgreeWithExactFractions, ()) {
  Histories histories;
  int steps = any_of(25) + 1;
  for (int i = 0; i < steps; ++i) histories.step();
}

RC_GTEST_PROP(WorthProperty, AnyCutOfAnIntervalGivesTheSameBalanceAsOnePass, ()) {
  Definition definition = any_limit("l");
  LimitState limit = definition.state();
  TimePoint begin = kNoon + any_step();
  // A balance as earlier passes may have left it.
  limit.balance = any_amount(limit.base.capacity, limit.base.capacity) *
                  std::array<int, 3>{1, -1, 0}[static_cast<std::size_t>(any_of(3))];
  limit.balance = std::min(limit.balance, share_at(limit, begin, 1).capacity);
  if (!limit.is_quota() && limit.balance < share_at(limit, begin, 1).capacity) {
    limit.remainder = share_at(limit, begin, 1).period.count() * any_of(100) / 100;
  }
  if (limit.kind == LimitKind::kSession) {
    limit.window_start = begin;
    limit.window_applied = begin;
    limit.window_length = 1000h;
  }
  Table table(bucket_of({limit}, begin));
  TimePoint now = begin;
  int cuts = any_of(12) + 1;
  for (int i = 0; i < cuts; ++i) {
    now += any_step();
    RC_ASSERT(pass(table, {}, now));
  }
  Worth whole = evaluate(limit, begin, 1, now);
  RC_ASSERT(whole.balance == table.item.limits[0].balance);
  if (!limit.is_quota()) RC_ASSERT(whole.remainder == table.item.limits[0].remainder);
}

// ---- extremes -------------------------------------------------------------------------------

TEST(Extremes, R43_P67_NothingOverflowsAtTheLargestAmounts) {
  constexpr std::int64_t kLargest = kMaxTokens * kToken;
  LimitState limit = rate(1, 1, 1s).state();
  limit.base = {kLargest, kLargest, Millis(1'000'000'000'000)};
  for (std::int64_t balance : {kLargest, -kLargest, std::int64_t{0}}) {
    for (std::int64_t remainder : {std::int64_t{0}, std::int64_t{999'999'999'999}}) {
      limit.balance = balance;
      limit.remainder = remainder;
      for (Millis elapsed :
           {Millis(0), Millis(1), Millis(1'000'000'000'000), Millis(9'000'000'000'000'000)}) {
        Worth worth = evaluate(limit, kNoon, 1, kNoon + elapsed);
        EXPECT_LE(worth.balance, kLargest);
        EXPECT_GE(worth.balance, balance);
        EXPECT_GE(worth.remainder, 0);
        Wait wait = wait_for(limit, worth, kNoon, 1, kNoon + elapsed, kLargest);
        ASSERT_TRUE(wait.wait);
        EXPECT_EQ(evaluate(limit, kNoon, 1, kNoon + elapsed + *wait.wait).balance, kLargest);
        BucketState state = bucket_of({limit}, kNoon);
        Table table(state);
        ASSERT_TRUE(pass(table, {}, kNoon + elapsed));
        EXPECT_EQ(table.item.limits[0].balance, worth.balance);
        if (worth.balance < 0) continue;  // no debt goes below the largest amount
        ASSERT_TRUE(pass(table, {settle(0, kLargest)}, kNoon + elapsed));
        EXPECT_EQ(table.item.limits[0].balance, worth.balance - kLargest);
        ASSERT_TRUE(pass(table, {give_back(0, kLargest)}, kNoon + elapsed));
        EXPECT_EQ(table.item.limits[0].balance, worth.balance);
      }
    }
  }
}

TEST(Extremes, P67_SlowestDripWaitsForAgesWithoutWrapping) {
  LimitState limit = rate(1, 1, 1s).state();
  limit.base = {kMaxTokens * kToken, 1, Millis(1'000'000'000'000)};
  limit.balance = -kMaxTokens * kToken;
  Worth worth = evaluate(limit, kNoon, 1, kNoon);
  Wait wait = wait_for(limit, worth, kNoon, 1, kNoon, kMaxTokens * kToken);
  EXPECT_FALSE(wait.never);
  EXPECT_FALSE(wait.wait) << "out of the reach of a clock";
  BucketState state = bucket_of({limit}, kNoon);
  EXPECT_EQ(shortest_time_to_full(state, kNoon), Millis(std::numeric_limits<std::int64_t>::max()));
  EXPECT_EQ(lifetime_s(limit, 7), std::numeric_limits<std::int64_t>::max());
}

TEST(Extremes, LargeQuotasMoveByTheirWholeAmount) {
  constexpr std::int64_t kLargest = kMaxTokens * kToken;
  LimitState limit = session(1, 5h).state();
  limit.base.capacity = kLargest;
  limit.balance = kLargest;
  Table table(bucket_of({limit}, kNoon));
  ASSERT_TRUE(acquire(table, {take(0, kLargest)}, kNoon));
  EXPECT_EQ(table.item.limits[0].balance, 0);
  ASSERT_TRUE(pass(table, {settle(0, kLargest)}, kNoon + 1s));
  EXPECT_EQ(table.item.limits[0].balance, -kLargest);
  EXPECT_EQ(evaluate(table.item.limits[0], table.item.refilled_at, 1, kNoon + 5h).balance,
            kLargest);
}

// ---- statuses, boundaries, lifetimes ----------------------------------------------------------

TEST(Describe, TellsWhatALimitHoldsAndWhenItWillDo) {
  LimitState limit = rate(100, 20, 1s, "rpm").state();
  limit.balance = 4 * kToken;
  Worth worth = evaluate(limit, kNoon, 1, kNoon);
  LimitStatus status = describe(limit, worth, kNoon, 1, kNoon, 10 * kToken);
  EXPECT_EQ(status.name, "rpm");
  EXPECT_EQ(status.kind, LimitKind::kRate);
  EXPECT_EQ(status.capacity.count(), 100 * kToken);
  EXPECT_EQ(status.remaining.count(), 4 * kToken);
  EXPECT_EQ(status.requested.count(), 10 * kToken);
  EXPECT_EQ(status.refill_amount.count(), 20 * kToken);
  EXPECT_EQ(status.refill_period, 1s);
  EXPECT_TRUE(status.exceeded);
  EXPECT_FALSE(status.never_fits);
  EXPECT_EQ(status.retry_after, 300ms);
  EXPECT_FALSE(status.resets_at);
}

TEST(Describe, R50_ExhaustedQuotaNamesItsReset) {
  LimitState limit = calendar(10, "0 0 * * *").state();
  limit.balance = 0;
  Worth worth = evaluate(limit, kNoon, 1, kNoon);
  LimitStatus status = describe(limit, worth, kNoon, 1, kNoon, kToken);
  EXPECT_EQ(status.kind, LimitKind::kCalendar);
  EXPECT_EQ(status.refill_amount.count(), 0);
  EXPECT_EQ(status.resets_at, utc(2026, 9, 16));
  EXPECT_EQ(status.retry_after, 12h);
}

TEST(Describe, P56_WhatNeverFitsHasNoTimes) {
  for (const Definition& definition :
       {rate(10, 1, 1s), calendar(10, "0 0 * * *"), session(10, 5h)}) {
    LimitState limit = definition.state();
    if (limit.kind == LimitKind::kSession) limit.window_start = limit.window_applied = kNoon;
    limit.balance = 6 * kToken;
    Worth worth = evaluate(limit, kNoon, 1, kNoon);
    LimitStatus status = describe(limit, worth, kNoon, 1, kNoon, 10 * kToken + 1);
    EXPECT_TRUE(status.exceeded);
    EXPECT_TRUE(status.never_fits);
    EXPECT_FALSE(status.retry_after);
    EXPECT_FALSE(status.resets_at);
    EXPECT_EQ(status.remaining.count(), 6 * kToken);
  }
}

TEST(Describe, SoftLimitNeitherRefusesNorWaits) {
  LimitState limit = rate(10, 1, 1s).state();
  limit.balance = -3 * kToken;
  limit.soft_until = kNoon + 1s;
  Worth worth = evaluate(limit, kNoon, 1, kNoon);
  for (std::int64_t requested : {kToken, 1000 * kToken}) {
    LimitStatus status = describe(limit, worth, kNoon, 1, kNoon, requested);
    EXPECT_TRUE(status.soft);
    EXPECT_FALSE(status.exceeded);
    EXPECT_FALSE(status.never_fits) << "a soft limit admits any amount";
    EXPECT_EQ(status.retry_after, Millis(0));
    EXPECT_TRUE(status.overdrawn());
  }
  worth = evaluate(limit, kNoon, 1, kNoon + 1s);
  EXPECT_TRUE(describe(limit, worth, kNoon, 1, kNoon + 1s, kToken).exceeded) << "the stamp is over";
}

TEST(NextBoundary, IsTheFirstChangeOrEdge) {
  EXPECT_FALSE(next_boundary(rate(1, 1, 1s).state(), kNoon));
  EXPECT_FALSE(next_boundary(session(1, 5h).state(), kNoon));
  Definition daily = calendar(1, "0 0 * * *");
  EXPECT_EQ(next_boundary(daily.state(), kNoon), utc(2026, 9, 16));
  Definition both = daily.with_lines({scaled("* 14 * * *", 500)});
  EXPECT_EQ(next_boundary(both.state(), kNoon), kNoon + 2h);
  EXPECT_EQ(next_boundary(both.state(), kNoon + 3h), utc(2026, 9, 16));
}

TEST(ShortestTimeToFull, CountsDripsInForceOnly) {
  Definition slow = rate(1000, 10, 60s, "slow");
  Definition fast_rate = rate(100, 20, 1s, "fast").with_lines({scaled("* 13 * * *", 100)});
  BucketState state = bucket_of({slow.state(), fast_rate.state(), session(1, 1s).state()}, kNoon);
  EXPECT_EQ(shortest_time_to_full(state, kNoon), 5s);
  EXPECT_EQ(shortest_time_to_full(bucket_of({slow.state()}, kNoon), kNoon), 6000s);
  LimitState reserved = rate(1000, 1000, 1s, "wcu").state();
  reserved.reserved = true;
  LimitState still = rate(10, 10, 1s).state();
  still.base.refill = 0;
  EXPECT_FALSE(shortest_time_to_full(bucket_of({reserved, still}, kNoon), kNoon));
}

TEST(Lifetime, R46_TableOfRules36) {
  EXPECT_EQ(lifetime_s(rate(100, 100, 60s).state(), 7), 420);
  EXPECT_EQ(lifetime_s(rate(1000, 10, 60s).state(), 7), 42'000);
  EXPECT_EQ(lifetime_s(calendar(1, "0 0 * * *").state(), 7), 604'800);
  EXPECT_EQ(lifetime_s(calendar(1, "0 0 1 * *").state(), 7), 217 * 86'400);
  EXPECT_EQ(lifetime_s(session(1, 5h).state(), 7), 126'000);
  Definition night = rate(60, 60, 60s).with_lines({absolute("* 0-5 * * *", std::nullopt, 1)});
  EXPECT_EQ(lifetime_s(night.state(), 7), 25'200);
  EXPECT_EQ(lifetime_s(calendar(1, "* * * * *").state(), 7), 420);
}

TEST(Lifetime, R46_ScaledLinesKeepTheTimeAndNoDripHasNone) {
  Definition half = rate(60, 60, 60s).with_lines({scaled("* 0-5 * * *", 100)});
  EXPECT_EQ(lifetime_s(half.state(), 7), 420);
  LimitState still = rate(60, 60, 60s).state();
  still.base.refill = 0;
  EXPECT_EQ(lifetime_s(still, 7), 0);
  EXPECT_EQ(lifetime_s(rate(1, 3, 1s).state(), 7), 2) << "rounded down";
  EXPECT_EQ(lifetime_s(rate(100, 100, 60s).state(), 0), 0);
}

}  // namespace
}  // namespace stint::bucket::test
