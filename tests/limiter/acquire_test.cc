// Decisions of a limiter on one bucket: what is admitted, what is refused, and until when.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "stint/limiter.h"
#include "tests/limiter/support.h"

namespace stint::test {
namespace {

class Acquire : public LimiterTest {};
STINT_ON_EVERY_STORE(Acquire);

TEST_P(Acquire, TakesFromSeveralLimitsAllOrNone) {
  limiter->set_limits(kUser, kApi, {Limit::per_minute("rpm", 10), Limit::per_day("tokens", 100)})
      .value();
  ASSERT_TRUE(admits({{"rpm", 1}, {"tokens", 95}}));

  Decision refused = acquire({{"rpm", 1}, {"tokens", 6}});

  ASSERT_EQ(refused.outcome(), Outcome::kRejected);
  EXPECT_FALSE(find_status(refused.limits(), "rpm").exceeded);
  EXPECT_TRUE(find_status(refused.limits(), "tokens").exceeded);
  EXPECT_EQ(left("rpm"), 9);
  EXPECT_EQ(left("tokens"), 5);
  EXPECT_TRUE(admits({{"rpm", 1}, {"tokens", 5}}));
}

TEST_P(Acquire, R91_FullBucketIsNotSpentTwiceAfterARest) {
  limiter->set_limits(kUser, kApi, {Limit::rate("bucket", 100, 20, 1s)}).value();
  ASSERT_TRUE(admits({{"bucket", 1}}));
  clock.advance(7s);

  // As fast as possible: a request each 5 ms of the 50 ms that once saw 190.
  int tens = 0;
  for (int i = 0; i <= 10; ++i) {
    tens += admitted(20, {{"bucket", 10}});
    clock.advance(5ms);
  }

  EXPECT_EQ(tens, 10);  // 100, and the one token that refills meanwhile is no ten
  EXPECT_EQ(left("bucket"), 1);
}

TEST_P(Acquire, R91_SecondsLaterWhatRefilledIsThereAndNoMore) {
  limiter->set_limits(kUser, kApi, {Limit::rate("bucket", 100, 20, 1s)}).value();
  ASSERT_TRUE(admits({{"bucket", 1}}));
  clock.advance(7s);
  ASSERT_EQ(admitted(20, {{"bucket", 10}}), 10);

  clock.advance(2s);

  EXPECT_EQ(admitted(20, {{"bucket", 10}}), 4);
}

TEST_P(Acquire, R93_PassesEachMillisecondMintNothing) {
  limiter->set_limits(kUser, kApi, {Limit::rate("tpm", 400'000, 400'000, 60s)}).value();
  ASSERT_TRUE(admits({{"tpm", 400'000}}));

  std::int64_t taken = 0;
  for (int ms = 0; ms < 300; ++ms) {
    clock.advance(1ms);
    while (admits({{"tpm", 1}})) ++taken;
  }

  EXPECT_EQ(taken, 2'000);  // 400,000 a minute for 300 ms
}

TEST_P(Acquire, R94_SlowDripBesideABusyLimitYieldsItsTokenEachHour) {
  limiter
      ->set_limits(kUser, kApi, {Limit::rate("drip", 1, 1, 3600s), Limit::rate("rpm", 60, 60, 60s)})
      .value();
  ASSERT_TRUE(admits({{"drip", 1}, {"rpm", 1}}));

  int dripped = 0;
  for (int second = 1; second <= 2 * 3600; ++second) {
    clock.advance(1s);
    ASSERT_TRUE(admits({{"rpm", 1}}));
    if (second % 3600 < 3599 && second % 3600 > 0) continue;
    bool admitted = admits({{"drip", 1}});
    EXPECT_EQ(admitted, second % 3600 == 0) << second;
    dripped += admitted ? 1 : 0;
  }

  EXPECT_EQ(dripped, 2);
}

TEST_P(Acquire, R49_R50_ExhaustedMonthlyQuotaNamesItsResetAndItsKind) {
  limiter->set_limits(kUser, kApi, {Limit::calendar("month", 10, "0 0 1 * *", "Europe/Berlin")})
      .value();
  ASSERT_TRUE(admits({{"month", 10}}));

  Decision refused = acquire({{"month", 1}});

  ASSERT_EQ(refused.outcome(), Outcome::kRejected);
  LimitStatus status = find_status(refused.rejection().limits, "month");
  EXPECT_EQ(status.kind, LimitKind::kCalendar);
  EXPECT_EQ(show(status.resets_at), "2027-03-31T22:00Z");
  ASSERT_TRUE(refused.rejection().retry_after);
  EXPECT_EQ(show(clock.now() + *refused.rejection().retry_after), "2027-03-31T22:00Z");
  EXPECT_EQ(status.remaining, MilliTokens(0));

  clock.advance(*refused.rejection().retry_after - 1ms);
  EXPECT_FALSE(admits({{"month", 1}}));
  clock.advance(1ms);
  EXPECT_EQ(admitted(12, {{"month", 1}}), 10);
}

TEST_P(Acquire, R49_YearlyQuotaOfALeapDayHasAReset) {
  limiter->set_limits(kUser, kApi, {Limit::calendar("leap", 1, "0 0 29 2 *")}).value();
  ASSERT_TRUE(admits({{"leap", 1}}));

  Decision refused = acquire({{"leap", 1}});

  ASSERT_EQ(refused.outcome(), Outcome::kRejected);
  EXPECT_EQ(show(find_status(refused.limits(), "leap").resets_at), "2028-02-29T00:00Z");
  clock.advance(refused.rejection().retry_after.value());
  EXPECT_TRUE(admits({{"leap", 1}}));
}

TEST_P(Acquire, R42_ScaledQuotaDoesNotDrip) {
  LevelEntry halved = LevelEntry::scaled("* * * * *", 0.5).value();
  Limit half = Limit::calendar("daily", 100, "0 0 * * *").value().with_schedule({halved}).value();
  limiter->set_limits(kUser, kApi, {half}).value();
  ASSERT_EQ(admitted(60, {{"daily", 1}}), 50);

  clock.advance(11h);

  EXPECT_FALSE(admits({{"daily", MilliTokens(1)}}));
}

TEST_P(Acquire, R43_LargestLimitsAreCountedExactly) {
  limiter
      ->set_limits(kUser, kApi,
                   {Limit::rate("huge", 1'000'000'000'000'000, 1'000'000'000'000'000,
                                std::chrono::seconds(365 * 86'400))})
      .value();
  ASSERT_TRUE(admits({{"huge", 1'000'000'000'000'000}}));
  ASSERT_FALSE(admits({{"huge", 1}}));

  clock.advance(std::chrono::hours(365 * 24));

  EXPECT_TRUE(admits({{"huge", 1'000'000'000'000'000}}));
  EXPECT_FALSE(admits({{"huge", MilliTokens(1)}}));
}

TEST_P(Acquire, R28_UndeclaredLimitInDebtDoesNotGate) {
  limiter->set_limits(kUser, kApi, {Limit::per_hour("deep", 10), Limit::per_hour("rpm", 10)})
      .value();
  {
    Decision admitted = acquire({{"deep", 10}, {"rpm", 1}});
    ASSERT_TRUE(admitted);
    ASSERT_TRUE(admitted.lease().adjust("deep", 50).ok());
    ASSERT_TRUE(admitted.lease().settle().ok());
  }
  ASSERT_LT(left("deep"), 0);

  // The fast form, the locked form, and a process that knows nothing yet.
  EXPECT_TRUE(admits({{"rpm", 1}}));
  clock.advance(1s);
  EXPECT_TRUE(admits({{"rpm", 1}}));
  Limiter cold = another_limiter();
  EXPECT_TRUE(cold.acquire({.entity = kUser, .resource = kApi, .consume = {{"rpm", 1}}}).value());
  EXPECT_FALSE(admits({{"deep", 0}, {"rpm", 1}}));
}

TEST_P(Acquire, R79_R81_NeitherADropNorAZeroPassesWhileInDebt) {
  limiter->set_limits(kUser, kApi, {Limit::rate("rate", 10, 1, 1s)}).value();
  {
    Decision admitted = acquire({{"rate", 10}});
    ASSERT_TRUE(admitted.lease().adjust("rate", 1).ok());
  }
  for (int ms = 0; ms < 1'000; ms += 8) {
    EXPECT_FALSE(admits({{"rate", MilliTokens(1)}}));
    EXPECT_FALSE(admits({{"rate", 0}}));
    clock.advance(8ms);
  }
  EXPECT_EQ(status("rate").remaining, MilliTokens(0));
  EXPECT_TRUE(admits({{"rate", 0}}));
  clock.advance(1ms);
  EXPECT_TRUE(admits({{"rate", MilliTokens(1)}}));
}

TEST_P(Acquire, R27_Decision2_DeclaredZeroGatesAndWritesNothing) {
  limiter->set_limits(kUser, kApi, {Limit::per_hour("rpm", 10)}).value();
  // Nothing is created for a request that takes nothing.
  EXPECT_TRUE(admits({{"rpm", 0}}));
  EXPECT_FALSE(bucket());

  ASSERT_TRUE(admits({{"rpm", 10}}));
  store::ImagePtr before = bucket();
  Spent spent = spent_by([&] { EXPECT_TRUE(admits({{"rpm", 0}})); });

  EXPECT_EQ(spent.writes, 0);
  EXPECT_EQ(*bucket(), *before);
}

TEST_P(Acquire, Decision2_DeclaredZeroBesideADebitOpensNoWindow) {
  limiter->set_limits(kUser, kApi, {Limit::per_hour("rpm", 10), Limit::session("session", 10, 5h)})
      .value();

  Decision admitted = acquire({{"rpm", 1}, {"session", 0}});

  ASSERT_TRUE(admitted);
  EXPECT_EQ(find_status(admitted.limits(), "session").window, WindowState::kNotStarted);
  EXPECT_EQ(field("session", "ws"), std::nullopt);
  EXPECT_EQ(status("session").window, WindowState::kNotStarted);
  EXPECT_EQ(status("session").remaining.whole_tokens(), 10);
}

TEST_P(Acquire, Decision3_NothingButADebitOpensAWindow) {
  limiter->set_limits(kUser, kApi, {Limit::session("session", 10, 5h)}).value();
  limiter->available(kUser, kApi, {{"session", 3}}).value();
  limiter->explain(kUser, kApi).value();
  ASSERT_TRUE(admits({{"session", 0}}));
  ASSERT_FALSE(admits({{"session", 11}}));
  ASSERT_EQ(status("session").window, WindowState::kNotStarted);
  ASSERT_EQ(status("session").resets_at, std::nullopt);
  clock.advance(90min);

  Decision first = acquire({{"session", 1}});

  ASSERT_TRUE(first);
  LimitStatus opened = find_status(first.limits(), "session");
  EXPECT_EQ(opened.window, WindowState::kRunning);
  EXPECT_EQ(show(opened.resets_at), show(clock.now() + 5h));
}

TEST_P(Acquire, Decision3_WindowEndsItsLengthAfterItsFirstDebitAndIdleTimeBelongsToNone) {
  limiter->set_limits(kUser, kApi, {Limit::session("session", 10, 5h)}).value();
  TimePoint opened = clock.now();
  ASSERT_EQ(admitted(12, {{"session", 1}}), 10);
  // Neither exhaustion nor refused requests move it.
  clock.advance(4h);
  Decision refused = acquire({{"session", 1}});
  ASSERT_EQ(refused.outcome(), Outcome::kRejected);
  EXPECT_EQ(refused.rejection().retry_after, std::optional<Millis>(1h));
  EXPECT_EQ(show(find_status(refused.limits(), "session").resets_at), show(opened + 5h));
  clock.set(opened + 5h - 1ms);
  EXPECT_FALSE(admits({{"session", 1}}));
  clock.set(opened + 5h);
  EXPECT_EQ(status("session").window, WindowState::kNotStarted);
  EXPECT_EQ(status("session").remaining.whole_tokens(), 10);

  // Six hours of idling later the next use opens the next window there.
  clock.set(opened + 11h);
  Decision next = acquire({{"session", 1}});

  ASSERT_TRUE(next);
  EXPECT_EQ(show(find_status(next.limits(), "session").resets_at), show(opened + 16h));
  EXPECT_EQ(find_status(next.limits(), "session").remaining.whole_tokens(), 9);
}

TEST_P(Acquire, Decision21_EndedWindowOfALimitThatIsNotNamedStaysEnded) {
  limiter
      ->set_limits(kUser, kApi, {Limit::per_second("rps", 10), Limit::session("session", 10, 1h)})
      .value();
  ASSERT_TRUE(admits({{"rps", 1}, {"session", 4}}));
  clock.advance(2h);

  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(admits({{"rps", 1}}));
    clock.advance(30s);
  }

  EXPECT_EQ(status("session").window, WindowState::kNotStarted);
  EXPECT_EQ(status("session").remaining.whole_tokens(), 10);
  Decision next = acquire({{"rps", 1}, {"session", 4}});
  ASSERT_TRUE(next);
  EXPECT_EQ(find_status(next.limits(), "session").remaining.whole_tokens(), 6);
  EXPECT_EQ(show(find_status(next.limits(), "session").resets_at), show(clock.now() + 1h));
}

TEST_P(Acquire, Decision21_LimitWhoseWindowWasNeverOpenedOpensAtItsFirstDebit) {
  limiter
      ->set_limits(kUser, kApi, {Limit::per_second("rps", 10), Limit::session("session", 10, 1h)})
      .value();
  ASSERT_TRUE(admits({{"rps", 1}}));
  for (int i = 0; i < 3; ++i) {
    clock.advance(1h);
    ASSERT_TRUE(admits({{"rps", 1}}));
  }
  ASSERT_EQ(field("session", "ws"), std::nullopt);

  ASSERT_TRUE(admits({{"session", 10}}));

  EXPECT_EQ(field("session", "ws"), clock.now().time_since_epoch().count());
  EXPECT_FALSE(admits({{"session", 1}}));
}

TEST_P(Acquire, R12_SlowClockMovesNeitherWindowNorRefillStampBack) {
  limiter
      ->set_limits(kUser, kApi, {Limit::per_second("rps", 10), Limit::session("session", 10, 1h)})
      .value();
  ASSERT_TRUE(admits({{"session", 1}}));
  TimePoint opened = clock.now();
  FakeClock slow(opened - 10s);
  LimiterOptions options = this->options();
  options.clock = &slow;
  Limiter behind = another_limiter(options);

  int behind_admitted = 0;
  for (int i = 0; i < 12; ++i) {
    slow.advance(1s);
    Decision decision =
        behind.acquire({.entity = kUser, .resource = kApi, .consume = {{"session", 1}, {"rps", 1}}})
            .value();
    behind_admitted += decision ? 1 : 0;
    EXPECT_GE(bucket()->number(store::intern("rf")), opened.time_since_epoch().count());
    EXPECT_EQ(field("session", "ws"), opened.time_since_epoch().count());
  }

  EXPECT_EQ(behind_admitted, 9);
  EXPECT_FALSE(admits({{"session", 1}}));
}

TEST_P(Acquire, R13_R14_OnlyTheMarkerTellsWhetherAShardHasRolled) {
  limiter->set_limits(kUser, kApi, {Limit::session("session", 10, 1h)}).value();
  ASSERT_EQ(admitted(6, {{"session", 1}}), 6);
  std::int64_t opened = *field("session", "ws");

  // An old writer stamps rf before the window's start: no second roll.
  edit_bucket([&](store::ImageBuilder& item) { item.set(store::intern("rf"), opened - 5'000); });
  limiter->forget_caches();
  clock.advance(1s);
  EXPECT_EQ(left("session"), 4);

  // A sibling has opened a new window, and an old writer stamped rf past it: it rolls all the same.
  TimePoint next = clock.now() + 2h;
  clock.set(next + 1s);
  edit_bucket([&](store::ImageBuilder& item) {
    item.set(store::intern("b_session_ws"), next.time_since_epoch().count());
    item.set(store::intern("rf"), (next + 500ms).time_since_epoch().count());
    item.set(store::intern("vu"), std::int64_t{0});
  });
  limiter->forget_caches();
  EXPECT_EQ(admitted(12, {{"session", 1}}), 10);
  EXPECT_EQ(field("session", "ws"), next.time_since_epoch().count());
}

TEST_P(Acquire, R15_RollChargesWhatWasSpentAfterTheFanOut) {
  limiter->set_limits(kUser, kApi, {Limit::session("session", 10, 1h)}).value();
  ASSERT_EQ(admitted(5, {{"session", 1}}), 5);
  TimePoint next = clock.now() + 2h;
  clock.set(next);
  // The fan-out of a sibling's opener, then 3 spent here by a writer that had not noticed.
  edit_bucket([&](store::ImageBuilder& item) {
    item.set(store::intern("b_session_ws"), next.time_since_epoch().count());
    item.set(store::intern("b_session_wtc"), std::int64_t{5'000});
    item.set(store::intern("b_session_tc"), std::int64_t{8'000});
    item.set(store::intern("b_session_tk"), std::int64_t{2'000});
    item.set(store::intern("vu"), std::int64_t{0});
  });
  limiter->forget_caches();
  clock.advance(1s);

  EXPECT_EQ(admitted(12, {{"session", 1}}), 7);
}

TEST_P(Acquire, R18_LengthWithoutAStartIsNoWindow) {
  limiter->set_limits(kUser, kApi, {Limit::session("session", 10, 1h)}).value();
  ASSERT_EQ(admitted(10, {{"session", 1}}), 10);
  edit_bucket([](store::ImageBuilder& item) {
    item.erase(store::intern("b_session_ws"));
    item.erase(store::intern("b_session_wa"));
    item.set(store::intern("vu"), std::int64_t{0});
  });
  limiter->forget_caches();
  EXPECT_EQ(status("session").window, WindowState::kNotStarted);

  Decision opener = acquire({{"session", 1}});

  ASSERT_TRUE(opener);
  EXPECT_EQ(field("session", "ws"), clock.now().time_since_epoch().count());
  EXPECT_EQ(find_status(opener.limits(), "session").remaining.whole_tokens(), 9);
}

TEST_P(Acquire, R21_LimitAddedToTheConfigurationIsSeeded) {
  limiter->set_limits(Scope::resource(kApi), {Limit::per_minute("rpm", 10)}).value();
  ASSERT_TRUE(admits({{"rpm", 1}}));
  limiter
      ->set_limits(Scope::resource(kApi),
                   {Limit::per_minute("rpm", 10), Limit::session("session", 5, 1h),
                    Limit::calendar("daily", 7, "0 0 * * *")})
      .value();

  Decision seeded = acquire({{"rpm", 1}, {"session", 2}, {"daily", 3}});

  ASSERT_TRUE(seeded);
  EXPECT_EQ(find_status(seeded.limits(), "session").remaining.whole_tokens(), 3);
  EXPECT_EQ(find_status(seeded.limits(), "daily").remaining.whole_tokens(), 4);
  EXPECT_EQ(field("session", "tc"), 2'000);
  EXPECT_EQ(admitted(5, {{"session", 1}, {"daily", 1}}), 3);
  EXPECT_EQ(left("rpm"), 8);
}

TEST_P(Acquire, R34_EachLimitFollowsItsOwnSchedules) {
  LevelEntry halved = LevelEntry::scaled("* * * * *", 0.5).value();
  limiter
      ->set_limits(kUser, kApi,
                   {Limit::rate("rate", 100, 100, 3600s).value().with_schedule({halved}),
                    Limit::calendar("daily", 100, "0 0 * * *")})
      .value();

  EXPECT_EQ(admitted(150, {{"rate", 1}}), 50);
  EXPECT_EQ(admitted(150, {{"daily", 1}}), 100);
  clock.set(instant("2027-03-11T00:00Z"));
  // Half a day refilled the rate whole; the reset restored the quota, and did not restore the rate.
  EXPECT_EQ(admitted(150, {{"rate", 1}}), 50);
  EXPECT_EQ(admitted(150, {{"daily", 1}}), 100);
  EXPECT_FALSE(admits({{"rate", 1}}));
}

TEST_P(Acquire, R36_NamesWithDotsAndHyphensAreOrdinaryNames) {
  limiter
      ->set_limits(kUser, kApi,
                   {Limit::per_hour("tok.in", 10), Limit::per_hour("tok-in", 20),
                    Limit::per_hour("tok_in", 30), Limit::session("tok.in-x_y", 5, 1h)})
      .value();

  EXPECT_TRUE(admits({{"tok.in", 1}, {"tok-in", 2}, {"tok_in", 3}, {"tok.in-x_y", 4}}));
  clock.advance(1s);
  EXPECT_TRUE(admits({{"tok.in", 1}, {"tok-in", 2}, {"tok_in", 3}, {"tok.in-x_y", 1}}));

  EXPECT_EQ(left("tok.in"), 8);
  EXPECT_EQ(left("tok-in"), 16);
  EXPECT_EQ(left("tok_in"), 24);
  EXPECT_EQ(left("tok.in-x_y"), 0);
}

TEST_P(Acquire, R52_ItemThatCannotBeUnderstoodFailsAloneAndIsLeftAlone) {
  limiter->set_limits(Scope::resource(kApi), {Limit::per_minute("rpm", 10)}).value();
  ASSERT_TRUE(admits({{"rpm", 1}}, "broken"));
  ASSERT_TRUE(admits({{"rpm", 1}}, "sound"));
  edit_bucket(
      [](store::ImageBuilder& item) {
        // The encoding of a version that is not known here.
        item.set(store::intern("sched"), "9what-ever-comes");
      },
      "broken");
  limiter->forget_caches();
  store::ImagePtr before = bucket("broken");

  Result<Decision> failed = try_acquire({{"rpm", 1}}, "broken");

  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), ErrorCode::kCorrupt);
  EXPECT_EQ(*bucket("broken"), *before);
  EXPECT_TRUE(admits({{"rpm", 1}}, "sound"));
  EXPECT_EQ(limiter->available("broken", kApi).error().code(), ErrorCode::kCorrupt);
}

TEST_P(Acquire, R52_BalanceThatIsNoNumberFailsAsCorrupt) {
  limiter->set_limits(Scope::resource(kApi), {Limit::per_minute("rpm", 10)}).value();
  ASSERT_TRUE(admits({{"rpm", 1}}));
  edit_bucket([](store::ImageBuilder& item) { item.set(store::intern("b_rpm_tk"), "ten"); });
  limiter->forget_caches();

  EXPECT_EQ(try_acquire({{"rpm", 1}}).error().code(), ErrorCode::kCorrupt);
}

TEST_P(Acquire, R61_ExhaustedThenWaitedForIsAdmittedWarmAndColdWithAndWithoutEntity) {
  limiter->set_limits(Scope::resource(kApi), {Limit::rate("rps", 5, 5, 10s)}).value();
  limiter->create_entity("known").value();
  for (const std::string& entity : {std::string("known"), std::string("unknown")}) {
    ASSERT_EQ(admitted(6, {{"rps", 1}}, entity), 5);
    Decision refused = acquire({{"rps", 1}}, entity);
    ASSERT_EQ(refused.outcome(), Outcome::kRejected);
    EXPECT_EQ(refused.rejection().retry_after, std::optional<Millis>(2s));
    clock.advance(2s - 1ms);
    EXPECT_FALSE(admits({{"rps", 1}}, entity));
    clock.advance(1ms);
    EXPECT_TRUE(admits({{"rps", 1}}, entity));

    clock.advance(2s);
    Limiter cold = another_limiter();
    Result<Decision> decision =
        cold.acquire({.entity = entity, .resource = kApi, .consume = {{"rps", 1}}});
    EXPECT_TRUE(decision.value()) << entity;
  }
}

TEST_P(Acquire, R38_ClockIsReadOnceAnAttemptSoThatAnExpiryFallsOnOneSide) {
  class CountingClock final : public Clock {
   public:
    explicit CountingClock(TimePoint at) : at_(at) {}
    TimePoint now() override {
      ++readings;
      return at_;
    }
    void advance(Millis by) { at_ += by; }
    int readings = 0;

   private:
    TimePoint at_;
  };
  CountingClock counting(instant("2027-03-10T12:00Z"));
  LimiterOptions options = this->options();
  options.clock = &counting;
  use(options);
  limiter->set_limits(Scope::resource(kApi), {Limit::per_minute("rpm", 60)}).value();
  ASSERT_TRUE(admits({{"rpm", 1}}));

  counting.readings = 0;
  ASSERT_TRUE(admits({{"rpm", 1}}));
  EXPECT_EQ(counting.readings, 1);
  counting.advance(5s);
  counting.readings = 0;
  ASSERT_TRUE(admits({{"rpm", 1}}));
  EXPECT_EQ(counting.readings, 1);

  // On the very second of its expiry the bucket is gone, the second before it is there.
  std::int64_t expires_at = bucket()->number(store::intern("ttl")).value();
  std::int64_t rests = expires_at * 1000 - counting.now().time_since_epoch().count();
  counting.advance(Millis(rests - 1));
  ASSERT_TRUE(admits({{"rpm", 60}}));
  EXPECT_EQ(bucket()->number(store::intern("ttl")).value(), expires_at - 1 + 420);
  limiter.reset();
}

TEST_P(Acquire, R46_BucketOutlivesItsDebtAndQuotasAreKeptOverTheirPeriods) {
  limiter
      ->set_limits(Scope::resource(kApi),
                   {Limit::per_minute("rpm", 60), Limit::calendar("month", 100, "0 0 1 * *")})
      .value();
  ASSERT_TRUE(admits({{"rpm", 1}, {"month", 1}}));

  std::int64_t lives_s = bucket()->number(store::intern("ttl")).value() -
                         clock.now().time_since_epoch().count() / 1000;

  EXPECT_GT(lives_s, 31 * 86'400);
}

TEST_P(Acquire, R26_BucketsOfEntityLevelLimitsNeverExpire) {
  limiter->set_limits(Scope::resource(kApi), {Limit::per_minute("rpm", 60)}).value();
  limiter->set_limits(Scope::entity("whole"), {Limit::per_minute("rpm", 60)}).value();
  limiter->set_limits("pair", kApi, {Limit::per_minute("rpm", 60)}).value();
  for (const char* entity : {"shared", "whole", "pair"}) {
    ASSERT_TRUE(admits({{"rpm", 1}}, entity));
  }

  EXPECT_TRUE(bucket("shared")->has(store::intern("ttl")));
  EXPECT_FALSE(bucket("whole")->has(store::intern("ttl")));
  EXPECT_FALSE(bucket("pair")->has(store::intern("ttl")));
}

TEST_P(Acquire, R26_ExpiryComesAndGoesWithTheLevel) {
  limiter->set_limits(Scope::resource(kApi), {Limit::per_minute("rpm", 60)}).value();
  ASSERT_TRUE(admits({{"rpm", 1}}));
  limiter->set_limits(kUser, kApi, {Limit::per_minute("rpm", 100)}).value();
  EXPECT_FALSE(bucket()->has(store::intern("ttl")));

  limiter->delete_limits(Scope::entity_resource(kUser, kApi)).value();

  EXPECT_TRUE(bucket()->has(store::intern("ttl")));
}

TEST_P(Acquire, ExpiredBucketIsNewAgain) {
  limiter->set_limits(Scope::resource(kApi), {Limit::session("session", 10, 1h)}).value();
  ASSERT_TRUE(admits({{"session", 10}}));
  std::int64_t expires_at = bucket()->number(store::intern("ttl")).value();
  clock.set(TimePoint(Millis(expires_at * 1000)));

  Decision revived = acquire({{"session", 1}});

  ASSERT_TRUE(revived);
  EXPECT_EQ(find_status(revived.limits(), "session").remaining.whole_tokens(), 9);
  EXPECT_GT(bucket()->number(store::intern("ttl")).value(), expires_at);
}

TEST_P(Acquire, Decision5_NeverFitsHasNoTimesAndTakesNothing) {
  limiter
      ->set_limits(kUser, kApi,
                   {Limit::per_minute("rpm", 10), Limit::session("session", 10, 1h),
                    Limit::calendar("daily", 10, "0 0 * * *")})
      .value();
  for (const char* limit : {"rpm", "session", "daily"}) {
    Decision refused = acquire({{limit, 11}});
    ASSERT_EQ(refused.outcome(), Outcome::kRejected) << limit;
    EXPECT_TRUE(refused.rejection().never_fits) << limit;
    EXPECT_EQ(refused.rejection().retry_after, std::nullopt) << limit;
    LimitStatus status = find_status(refused.limits(), limit);
    EXPECT_TRUE(status.never_fits && status.exceeded) << limit;
    EXPECT_EQ(status.resets_at, std::nullopt) << limit;
    EXPECT_EQ(status.remaining.whole_tokens(), 10) << limit;
    Availability seen = limiter->available(kUser, kApi, {{limit, 11}}).value();
    EXPECT_TRUE(seen.never_fits && !seen.fits) << limit;
    EXPECT_EQ(seen.wait, std::nullopt) << limit;
  }
  EXPECT_FALSE(bucket());
}

// The tenfold at weekends; the tenth of March is a Wednesday.
LimitList tenfold_at_weekends() {
  LevelEntry weekend = LevelEntry::scaled("* * * * SAT,SUN", 10).value();
  return {Limit::rate("rpm", 10, 10, 60s).value().with_schedule({weekend}),
          Limit::session("session", 10, 1h).value().with_schedule({weekend}),
          Limit::calendar("daily", 10, "0 6 * * *").value().with_schedule({weekend})};
}

TEST_P(Acquire, Decision5_AboveTodaysCeilingOnlyWaitsForTheDayThatAllowsIt) {
  limiter->set_limits(kUser, kApi, tenfold_at_weekends()).value();
  ASSERT_TRUE(admits({{"rpm", 1}, {"session", 1}, {"daily", 1}}));

  // 10 at the start of Saturday, and 100 a minute from there: 40 more take 24 s. The session's
  // next window opens with Saturday's share; the quota is restored with it at 6.
  struct Case {
    const char* limit;
    const char* ready;
  };
  for (const Case& c : {Case{"rpm", "2027-03-13T00:00:24.000Z"},
                        Case{"session", "2027-03-13T00:00Z"}, Case{"daily", "2027-03-13T06:00Z"}}) {
    Decision refused = acquire({{c.limit, 50}});
    ASSERT_EQ(refused.outcome(), Outcome::kRejected);
    EXPECT_FALSE(refused.rejection().never_fits);
    ASSERT_TRUE(refused.rejection().retry_after);
    EXPECT_EQ(show(clock.now() + *refused.rejection().retry_after), c.ready);
    clock.advance(*refused.rejection().retry_after - 1ms);
    EXPECT_FALSE(admits({{c.limit, 50}}));
    clock.advance(1ms);
    EXPECT_TRUE(admits({{c.limit, 50}}));
    clock.set(instant("2027-03-10T12:00Z"));
    delete_item(bucket_key());
    limiter->forget_caches();
    ASSERT_TRUE(admits({{"rpm", 1}, {"session", 1}, {"daily", 1}}));
  }
}

TEST_P(Acquire, Decision5_BucketToBeCreatedWillBeCreatedWithTheShareOfThatDay) {
  limiter->set_limits(kUser, kApi, tenfold_at_weekends()).value();
  for (const char* limit : {"rpm", "session", "daily"}) {
    Decision refused = acquire({{limit, 50}});
    ASSERT_EQ(refused.outcome(), Outcome::kRejected);
    ASSERT_TRUE(refused.rejection().retry_after) << limit;
    EXPECT_EQ(show(clock.now() + *refused.rejection().retry_after), "2027-03-13T00:00Z") << limit;
    clock.advance(*refused.rejection().retry_after - 1ms);
    EXPECT_FALSE(admits({{limit, 50}})) << limit;
    clock.advance(1ms);
    EXPECT_TRUE(admits({{limit, 50}})) << limit;
    clock.set(instant("2027-03-10T12:00Z"));
    delete_item(bucket_key());
    limiter->forget_caches();
  }
}

TEST_P(Acquire, Decision28_UnknownLimitIsAnInvalidArgumentThatNamesIt) {
  limiter->set_limits(Scope::resource(kApi), {Limit::per_minute("rpm", 10)}).value();

  for (int i = 0; i < 2; ++i) {
    Result<Decision> failed = try_acquire({{"rpm", 1}, {"typo", 1}});
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(failed.error().value(), "typo");
    EXPECT_EQ(left("rpm"), i == 0 ? 10 : 9);
    // The same with a bucket that exists.
    ASSERT_TRUE(admits({{"rpm", 1}}));
  }
}

TEST_P(Acquire, RequestWithoutAnyConfiguredLimitIsAnInvalidArgument) {
  Result<Decision> failed = try_acquire({{"rpm", 1}});

  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(failed.error().value(), kUser);
}

TEST_P(Acquire, BadArgumentsAreRefusedBeforeTheStoreIsAsked) {
  limiter->set_limits(Scope::resource(kApi), {Limit::per_minute("rpm", 10)}).value();
  auto error = [&](AcquireRequest request) {
    Result<Decision> result = limiter->acquire(request);
    EXPECT_FALSE(result);
    return result ? Error(ErrorCode::kConflict, "admitted") : result.error();
  };
  Spent spent = spent_by([&] {
    for (const AcquireRequest& request : std::vector<AcquireRequest>{
             {.entity = "", .resource = kApi, .consume = {{"rpm", 1}}},
             {.entity = "a#b", .resource = kApi, .consume = {{"rpm", 1}}},
             {.entity = std::string(257, 'a'), .resource = kApi, .consume = {{"rpm", 1}}},
             {.entity = kUser, .resource = "_default_", .consume = {{"rpm", 1}}},
             {.entity = kUser, .resource = kApi, .consume = {}},
             {.entity = kUser, .resource = kApi, .consume = {{"wcu", 1}}},
             {.entity = kUser, .resource = kApi, .consume = {{"rpm", -1}}},
             {.entity = kUser, .resource = kApi, .consume = {{"rpm", kMaxTokens + 1}}},
             {.entity = kUser, .resource = kApi, .consume = {{"rpm", 1}, {"rpm", 1}}}}) {
      EXPECT_EQ(error(request).code(), ErrorCode::kInvalidArgument);
      EXPECT_LE(error(request).value().size(), 50u);
    }
  });
  EXPECT_EQ(spent, kNothingAsked);
  EXPECT_FALSE(bucket());
}

TEST_P(Acquire, NothingAcknowledgedIsLostByARestart) {
  limiter
      ->set_limits(kUser, kApi,
                   {Limit::per_hour("rph", 10), Limit::session("session", 10, 5h),
                    Limit::calendar("daily", 10, "0 0 * * *")})
      .value();
  ASSERT_TRUE(admits({{"rph", 1}, {"session", 2}, {"daily", 3}}));
  TimePoint opened = clock.now();
  clock.advance(10min);

  restart();

  EXPECT_EQ(status("rph").remaining, MilliTokens(10'000));  // 1 refills in 6 minutes
  EXPECT_EQ(left("session"), 8);
  EXPECT_EQ(left("daily"), 7);
  EXPECT_EQ(show(status("session").resets_at), show(opened + 5h));
  EXPECT_FALSE(admits({{"session", 9}}));
  EXPECT_TRUE(admits({{"session", 8}, {"daily", 7}}));
}

TEST_P(Acquire, Decision9_BucketFarAheadOfTheClockIsReported) {
  limiter->set_limits(kUser, kApi, {Limit::per_minute("rpm", 10)}).value();
  ASSERT_TRUE(admits({{"rpm", 1}}));
  clock.advance(-59s);
  ASSERT_TRUE(admits({{"rpm", 1}}));
  EXPECT_EQ(events.count(EventKind::kClockBehind), 0);

  clock.advance(-2s);
  ASSERT_TRUE(admits({{"rpm", 1}}));

  EXPECT_EQ(events.count(EventKind::kClockBehind), 1);
  EXPECT_EQ(left("rpm"), 7);
}

TEST_P(Acquire, Decision9_CallerBehindTheRefillStampIsToldToWaitForItAsWell) {
  limiter->set_limits(kUser, kApi, {Limit::per_second("rps", 10)}).value();
  ASSERT_TRUE(admits({{"rps", 10}}));
  clock.advance(-5s);

  Decision refused = acquire({{"rps", 1}});

  ASSERT_EQ(refused.outcome(), Outcome::kRejected);
  EXPECT_EQ(refused.rejection().retry_after, std::optional<Millis>(5s + 100ms));
}

TEST_P(Acquire, ObserverHearsOfEveryDecision) {
  limiter->set_limits(kUser, kApi, {Limit::per_hour("rph", 1)}).value();
  ASSERT_TRUE(admits({{"rph", 1}}));
  ASSERT_FALSE(admits({{"rph", 1}}));

  EXPECT_EQ(events.count(EventKind::kAdmitted), 1);
  EXPECT_EQ(events.count(EventKind::kRejected), 1);
  EXPECT_EQ(events.last(EventKind::kRejected).limit, "rph");
  EXPECT_EQ(events.last(EventKind::kRejected).entity, kUser);
}

}  // namespace
}  // namespace stint::test
