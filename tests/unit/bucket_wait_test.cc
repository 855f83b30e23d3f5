#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bucket/worth.h"
#include "tests/unit/support/bucket_gen.h"
#include "tests/unit/support/bucket_world.h"

namespace stint::bucket::test {
namespace {

Wait wait_at(const LimitState& limit, TimePoint refilled_at, TimePoint now, std::int64_t amount,
             std::int64_t shard_count = 1) {
  Worth worth = evaluate(limit, refilled_at, shard_count, now);
  return wait_for(limit, worth, refilled_at, shard_count, now, amount);
}

std::int64_t worth_at(const LimitState& limit, TimePoint refilled_at, TimePoint now,
                      std::int64_t shard_count = 1) {
  return evaluate(limit, refilled_at, shard_count, now).balance;
}

// ---- examples -------------------------------------------------------------------------------

TEST(Wait, FlatRateOfRules35IsExactUnderDecision8) {
  LimitState limit = rate(1000, 1000, 60s).state();
  limit.balance = 0;
  // 500 tokens short at 1000 a minute: 30 s, without the millisecond of rules 3.5.
  EXPECT_EQ(wait_at(limit, kNoon, kNoon, 500 * kToken).wait, 30s);
  EXPECT_EQ(wait_at(limit, kNoon, kNoon, 500 * kToken + 1).wait, 30'001ms);
  EXPECT_EQ(worth_at(limit, kNoon, kNoon + 30s), 500 * kToken);
  EXPECT_LT(worth_at(limit, kNoon, kNoon + 30s - 1ms), 500 * kToken);
}

TEST(Wait, ScheduledRateOfRules35WalksOnAtHalfRate) {
  // 10 s of full rate are left, then half rate.
  Definition limit = rate(1000, 1000, 60s).with_lines({scaled("* 13 * * *", 500)});
  LimitState state = limit.state();
  state.balance = 0;
  TimePoint now = kNoon + 1h - 10s;
  Wait wait = wait_at(state, now, now, 500 * kToken);
  EXPECT_EQ(wait.wait, 50s);
  EXPECT_GE(worth_at(state, now, now + 50s), 500 * kToken);
  EXPECT_LT(worth_at(state, now, now + 50s - 1ms), 500 * kToken);
}

TEST(Wait, R41_LargerThanTheShareHasNoWaitAndNeverFitsAboveTheWhole) {
  std::vector<LimitState> limits{rate(16, 16, 1s).state(4), calendar(16, "0 0 * * *").state(4),
                                 session(16, 5h).state(4)};
  for (LimitState& limit : limits) {
    SCOPED_TRACE(std::string(to_string(limit.kind)));
    limit.balance = 0;
    if (limit.kind == LimitKind::kSession) limit.window_start = limit.window_applied = kNoon;
    EXPECT_TRUE(wait_at(limit, kNoon, kNoon, 4 * kToken, 4).wait);
    for (std::int64_t amount : {4 * kToken + 1, 16 * kToken}) {
      Wait wait = wait_at(limit, kNoon, kNoon, amount, 4);
      EXPECT_FALSE(wait.never) << amount;
      EXPECT_FALSE(wait.wait) << amount;
    }
    EXPECT_TRUE(wait_at(limit, kNoon, kNoon, 16 * kToken + 1, 4).never);
  }
  EXPECT_EQ(wait_at(limits[0], kNoon, kNoon, 4 * kToken, 4).wait, 1s);
}

TEST(Wait, CountsTheRemainder) {
  LimitState limit = rate(10, 1, 1h).state();
  limit.balance = 0;
  EXPECT_EQ(wait_at(limit, kNoon, kNoon, 1).wait, 3600ms);
  limit.remainder = 3'599'999;
  EXPECT_EQ(wait_at(limit, kNoon, kNoon, 1).wait, 1ms);
  EXPECT_EQ(worth_at(limit, kNoon, kNoon + 1ms), 1);
}

TEST(Wait, P94_ClockBehindTheStampWaitsForItAsWell) {
  LimitState limit = rate(100, 20, 1s).state();
  limit.balance = 0;
  TimePoint now = kNoon - 10s;
  EXPECT_EQ(wait_at(limit, kNoon, now, 20 * kToken).wait, 11s);
  EXPECT_EQ(worth_at(limit, kNoon, now + 11s), 20 * kToken);
  EXPECT_LT(worth_at(limit, kNoon, now + 11s - 1ms), 20 * kToken);
}

TEST(Wait, P106_IsWhatIsLeftOfTheWindow) {
  LimitState limit = session(10, 15s).state();
  limit.window_start = limit.window_applied = kNoon;
  limit.balance = 0;
  EXPECT_EQ(wait_at(limit, kNoon, kNoon + 10s, kToken).wait, 5s);
}

TEST(Wait, FitsNowIsNoWait) {
  LimitState limit = rate(100, 20, 1s).state();
  EXPECT_EQ(wait_at(limit, kNoon, kNoon, 100 * kToken).wait, Millis(0));
  EXPECT_EQ(wait_at(limit, kNoon, kNoon, 0).wait, Millis(0));
}

TEST(Wait, P64_DeclaredZeroWaitsForTheEndOfTheDebt) {
  LimitState limit = rate(100, 20, 1s).state();
  limit.balance = -10 * kToken;
  EXPECT_EQ(wait_at(limit, kNoon, kNoon, 0).wait, 500ms);
}

TEST(Wait, P56_AboveEveryCeilingNeverFits) {
  for (const Definition& definition :
       {rate(10, 1, 1s), calendar(10, "0 0 * * *"), session(10, 5h)}) {
    Wait wait = wait_at(definition.state(), kNoon, kNoon, 10 * kToken + 1);
    EXPECT_TRUE(wait.never) << definition.name;
    EXPECT_FALSE(wait.wait);
  }
}

TEST(Wait, TopUpCountsUntilItsPeriodIsOver) {
  LimitState limit = calendar(10, "0 0 * * *").state();
  limit.top_up = 5 * kToken;
  limit.balance = 0;
  EXPECT_FALSE(wait_at(limit, kNoon, kNoon, 15 * kToken).never) << "a credit may still allow it";
  EXPECT_TRUE(wait_at(limit, kNoon, kNoon, 15 * kToken + 1).never);
  EXPECT_TRUE(wait_at(limit, kNoon, kNoon + 13h, 15 * kToken).never) << "the edge took it";
}

TEST(Wait, RollEndsTheTopUpAndTheOldGrant) {
  LimitState limit = session(40, 5h).state();
  limit.window_start = kNoon;
  limit.window_applied = kNoon - 6h;
  limit.grant_count = 1;
  limit.top_up = 7 * kToken;
  EXPECT_TRUE(wait_at(limit, kNoon - 6h, kNoon + 1h, 10 * kToken, 4).wait);
  EXPECT_FALSE(wait_at(limit, kNoon - 6h, kNoon + 1h, 10 * kToken + 1, 4).wait);
  EXPECT_FALSE(wait_at(limit, kNoon - 6h, kNoon + 1h, 40 * kToken, 4).never);
  EXPECT_TRUE(wait_at(limit, kNoon - 6h, kNoon + 1h, 40 * kToken + 1, 4).never);
}

TEST(Wait, AboveTodaysCeilingWalksTheLines) {
  // Five times as much between three and four.
  Definition burst = rate(100, 100, 60s).with_lines({scaled("* 3 * * *", 5000)});
  LimitState state = burst.state();
  Wait wait = wait_at(state, kNoon, kNoon, 300 * kToken);
  ASSERT_TRUE(wait.wait);
  EXPECT_FALSE(wait.never);
  // At three it holds 100 and gains 500 a minute: 200 more take 24 s.
  EXPECT_EQ(*wait.wait, 15h + 24s);
  EXPECT_TRUE(wait_at(state, kNoon, kNoon, 500 * kToken + 1).never);

  Definition quota = calendar(100, "0 * * * *").with_lines({scaled("* 3 * * *", 5000)});
  EXPECT_EQ(wait_at(quota.state(), kNoon, kNoon, 500 * kToken).wait, 15h);
  Definition window = session(100, 5h).with_lines({scaled("* 3 * * *", 5000)});
  EXPECT_EQ(wait_at(window.state(), kNoon, kNoon, 500 * kToken).wait, 15h)
      << "a window not yet opened waits for its line";
  LimitState running = window.state();
  running.window_start = running.window_applied = kNoon - 1h;
  EXPECT_EQ(wait_at(running, kNoon, kNoon, 500 * kToken).wait, 15h);
  EXPECT_EQ(wait_at(running, kNoon, kNoon, 101 * kToken).wait, 15h);
  running.balance = 0;
  EXPECT_EQ(wait_at(running, kNoon, kNoon, 100 * kToken).wait, 4h);
}

TEST(Wait, LineThatRefillsNothingEnoughIsPassedOver) {
  Definition limit = rate(100, 100, 60s).with_lines({absolute("* 13 * * *", 10)});
  LimitState state = limit.state();
  state.balance = 0;
  TimePoint now = kNoon + 1h - 6s;
  // 10 tokens by one o'clock, then held at 10 until two.
  Wait wait = wait_at(state, now, now, 50 * kToken);
  EXPECT_EQ(wait.wait, 6s + 1h + 24s);
}

TEST(Wait, ReadyAtTheVeryInstantOfAChangeCounts) {
  Definition limit = rate(100, 60, 60s).with_lines({scaled("* 13 * * *", 500)});
  LimitState state = limit.state();
  state.balance = 0;
  TimePoint now = kNoon + 1h - 10s;
  EXPECT_EQ(wait_at(state, now, now, 10 * kToken).wait, 10s);
  EXPECT_EQ(wait_at(state, now, now, 10 * kToken + 1).wait, 10s + 2ms);
}

TEST(Wait, ReadyAtTheInstantOfALowerCeilingDoesNotCount) {
  Definition limit = rate(100, 60, 60s).with_lines({absolute("* 13 * * *", 5)});
  LimitState state = limit.state();
  state.balance = 0;
  TimePoint now = kNoon + 1h - 10s;
  EXPECT_EQ(worth_at(state, now, now + 10s), 5 * kToken);
  EXPECT_EQ(wait_at(state, now, now, 10 * kToken).wait, 10s + 1h + 5s);
}

TEST(Wait, R49_FarEdgesAreFound) {
  LimitState annual = calendar(10, "0 0 1 1 *").state();
  annual.balance = 0;
  for (unsigned month = 1; month <= 12; ++month) {
    TimePoint now = utc(2026, month, 15, 7h);
    EXPECT_EQ(wait_at(annual, now, now, kToken).wait, utc(2027, 1, 1) - now) << month;
  }
  LimitState monthly = calendar(10, "0 0 1 * *").state();
  monthly.balance = 0;
  TimePoint now = utc(2026, 10, 1, 1ms);
  EXPECT_EQ(wait_at(monthly, now, now, kToken).wait, utc(2026, 11, 1) - now);
}

TEST(Wait, QuotaWithoutAnEdgeInReachHasNone) {
  LimitState limit = calendar(10, "0 0 1 * *").state();
  limit.resets = nullptr;
  limit.balance = 0;
  Wait wait = wait_at(limit, kNoon, kNoon, kToken);
  EXPECT_FALSE(wait.never);
  EXPECT_FALSE(wait.wait);
}

TEST(Wait, P13_EdgeIsTakenInItsZone) {
  LimitState limit = calendar(10, "0 0 1 * *", "month", "Asia/Tokyo").state();
  limit.balance = 0;
  TimePoint now = utc(2026, 7, 31, 14h);
  EXPECT_EQ(wait_at(limit, utc(2026, 7, 1), now, kToken).wait, 1h);
  EXPECT_EQ(worth_at(limit, utc(2026, 7, 1), utc(2026, 7, 31, 15h)), 10 * kToken);
  EXPECT_EQ(worth_at(limit, utc(2026, 7, 1), utc(2026, 7, 31, 15h) - 1ms), 0);
}

TEST(Wait, P119_ResetAtAChosenHourOfTheZone) {
  LimitState limit = calendar(10, "40 13 * * *", "day", "US/Eastern").state();
  limit.balance = 0;
  // 2026-10-31 13:21 and 13:41 local (UTC-4); the clocks go back that night.
  TimePoint before = utc(2026, 10, 31, 17h + 21min);
  TimePoint after = utc(2026, 10, 31, 17h + 41min);
  EXPECT_EQ(wait_at(limit, before - 1h, before, kToken).wait, 19min);
  EXPECT_EQ(wait_at(limit, after, after, kToken).wait, 25h - 1min);
}

TEST(Wait, P5_EndOfAWindowDoesNotMoveWithUse) {
  Table table(bucket_of({session(10, 24h).state()}, kNoon - 1h));
  for (int hour = 0; hour < 24; ++hour) {
    TimePoint now = kNoon + std::chrono::hours(hour);
    bool admitted = acquire(table, {take(0, kToken)}, now);
    EXPECT_EQ(admitted, hour < 10);
    const LimitState& limit = table.item.limits[0];
    EXPECT_EQ(wait_at(limit, table.item.refilled_at, now, 10 * kToken).wait, kNoon + 24h - now);
  }
  EXPECT_TRUE(acquire(table, {take(0, 10 * kToken)}, kNoon + 24h));
}

TEST(Wait, SessionBehindTheStampWaitsByTheCallersClock) {
  Definition definition = session(100, 1h).with_lines({scaled("* 13 * * *", 100)});
  LimitState limit = definition.state();
  limit.window_start = limit.window_applied = kNoon;
  limit.balance = 0;
  // The stamp already lies in the hour of 10 tokens; this caller's clock says 12:58.
  TimePoint stamp = kNoon + 1h + 30s;
  TimePoint now = kNoon + 58min;
  EXPECT_EQ(wait_at(limit, stamp, now, 10 * kToken).wait, 2min);
  EXPECT_EQ(worth_at(limit, stamp, now + 2min), 10 * kToken);
  EXPECT_EQ(worth_at(limit, stamp, now + 2min - 1ms), 0);
  EXPECT_EQ(wait_at(limit, stamp, now, 11 * kToken).wait, 62min) << "the line ends at two";
}

TEST(Wait, UnstartedSessionBehindTheStampWaitsForALineAfterIt) {
  Definition definition = session(100, 1h).with_lines({scaled("* 13 * * *", 100)});
  LimitState limit = definition.state();
  TimePoint stamp = kNoon + 1h + 30s;
  TimePoint now = kNoon + 59min;
  ASSERT_EQ(worth_at(limit, stamp, now), 10 * kToken);
  EXPECT_EQ(wait_at(limit, stamp, now, 50 * kToken).wait, 61min);
}

// ---- properties -----------------------------------------------------------------------------

/// A limit in some state, asked for some amount.
struct Question {
  Definition definition;
  LimitState limit;
  std::int64_t shard_count = 1;
  TimePoint refilled_at = kNoon;
  TimePoint now = kNoon;
  std::int64_t amount = 0;
};

Question any_question() {
  Question question;
  question.definition = any_limit("l");
  question.shard_count = any_of(4) == 3 ? 4 : 1;
  question.limit = question.definition.state(question.shard_count);
  LimitState& limit = question.limit;
  question.refilled_at = kNoon + any_step();
  std::int64_t share = share_at(limit, question.refilled_at, question.shard_count).capacity;
  switch (any_of(4)) {
    case 0: limit.balance = 0; break;
    case 1: limit.balance = share / 3; break;
    case 2: limit.balance = -share / 7; break;
    default: limit.balance = share; break;
  }
  if (limit.kind == LimitKind::kRate && limit.balance < share) {
    Share in_force = share_at(limit, question.refilled_at, question.shard_count);
    limit.remainder = (in_force.period.count() - 1) * any_of(3) / 2;
  }
  if (limit.kind == LimitKind::kSession && any_of(3) != 0) {
    limit.window_start = limit.window_applied = question.refilled_at - any_step();
  }
  // Every fourth caller's clock is behind the stamp.
  Millis step = any_step();
  question.now = any_of(4) == 3 ? question.refilled_at - step : question.refilled_at + step;
  std::int64_t highest = highest_capacity(limit, question.shard_count);
  question.amount = any_amount(limit.balance, any_of(2) == 0 ? share : highest);
  return question;
}

RC_GTEST_PROP(WaitProperty, P101_EarlierFailsThenPasses, ()) {
  Question q = any_question();
  auto worth_after = [&](Millis wait) {
    return worth_at(q.limit, q.refilled_at, q.now + wait, q.shard_count);
  };
  Wait wait = wait_at(q.limit, q.refilled_at, q.now, q.amount, q.shard_count);
  RC_TAG(std::string(to_string(q.limit.kind)), wait.never ? "never" : wait.wait ? "wait" : "none");
  if (wait.never) {
    RC_ASSERT(!wait.wait);
    RC_ASSERT(q.amount > highest_capacity(q.limit, q.shard_count));
    for (int i = 0; i < 20; ++i) RC_ASSERT(worth_after(any_step() * any_of(50)) < q.amount);
    return;
  }
  if (!wait.wait) {
    // Not in reach: not within what was walked, and nothing shorter either.
    for (int i = 0; i < 20; ++i) RC_ASSERT(worth_after(any_step()) < q.amount);
    return;
  }
  RC_ASSERT(wait.wait->count() >= 0);
  RC_ASSERT(worth_after(*wait.wait) >= q.amount);
  if (*wait.wait == Millis(0)) return;
  RC_ASSERT(worth_after(*wait.wait - 1ms) < q.amount);
  // Nor at any instant before: a schedule could let it fit for a while.
  for (int i = 0; i < 20; ++i) {
    RC_ASSERT(worth_after(*wait.wait * any_of(1000) / 1000) < q.amount);
  }
}

RC_GTEST_PROP(WaitProperty, ResetInstantsAreTrue, ()) {
  Question q = any_question();
  RC_PRE(q.limit.is_quota());
  Worth worth = evaluate(q.limit, q.refilled_at, q.shard_count, q.now);
  TimePoint at = std::max(q.now, q.refilled_at);
  LimitStatus status = describe(q.limit, worth, q.refilled_at, q.shard_count, q.now, 0);
  if (!status.resets_at) {
    RC_ASSERT(q.limit.kind == LimitKind::kSession);
    RC_ASSERT(worth.window == WindowState::kNotStarted);
    return;
  }
  // An emptied quota is whole at the reset instant and was not a moment before.
  Table table(bucket_of({q.limit}, q.refilled_at, q.shard_count));
  RC_ASSERT(pass(table, {settle(0, worth.balance + kToken)}, q.now));
  const LimitState& emptied = table.item.limits[0];
  TimePoint stamp = table.item.refilled_at;
  TimePoint reset = *status.resets_at;
  if (q.limit.kind == LimitKind::kCalendar) RC_ASSERT(reset > at);
  RC_ASSERT(worth_at(emptied, stamp, reset - 1ms, q.shard_count) < 0);
  TimePoint seen = std::max(reset, stamp);
  RC_ASSERT(worth_at(emptied, stamp, reset, q.shard_count) ==
            share_at(emptied, seen, q.shard_count).capacity);
}

RC_GTEST_PROP(WaitProperty, BoundariesAreWhereParametersOrPeriodsChange, ()) {
  Question q = any_question();
  std::optional<TimePoint> boundary = next_boundary(q.limit, q.now);
  if (!boundary) {
    RC_ASSERT(q.limit.levels == nullptr);
    RC_ASSERT(q.limit.resets == nullptr);
    return;
  }
  RC_ASSERT(*boundary > q.now);
  // Before the boundary the same line holds, and no edge has passed.
  for (int i = 0; i < 20; ++i) {
    TimePoint at = q.now + (*boundary - q.now) * any_of(1000) / 1000;
    RC_ASSERT(share_at(q.limit, at, 1).entry == share_at(q.limit, q.now, 1).entry);
    if (q.limit.resets == nullptr) continue;
    std::optional<TimePoint> edge = q.limit.resets->previous(at);
    RC_ASSERT(!edge || *edge <= q.now);
  }
}

}  // namespace
}  // namespace stint::bucket::test
