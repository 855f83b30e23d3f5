// What calls cost in store requests and units (decision 19).
#include <gtest/gtest.h>

#include <string>

#include "stint/limiter.h"
#include "tests/limiter/support.h"

namespace stint::test {
namespace {

class Cost : public LimiterTest {
 protected:
  Cost() {
    limiter
        ->set_limits(Scope::resource(kApi),
                     {Limit::per_minute("rpm", 600), Limit::session("session", 1'000, 5h)})
        .value();
  }

  Spent acquire_cost(const std::string& entity = kUser) {
    return spent_by([&] { ASSERT_TRUE(admits({{"rpm", 1}, {"session", 1}}, entity)); });
  }
  void create_family() {
    limiter->create_entity("parent").value();
    limiter->create_entity("child", {.parent = "parent", .cascade = true}).value();
  }
};
STINT_ON_EVERY_STORE(Cost);

TEST_P(Cost, R97_WarmAdmittedAcquireIsOneWriteAndNoRead) {
  ASSERT_TRUE(admits({{"rpm", 1}, {"session", 1}}));

  EXPECT_EQ(acquire_cost(), kOneWrite);
  // With a refill due too.
  clock.advance(3s);
  EXPECT_EQ(acquire_cost(), kOneWrite);
  EXPECT_EQ(acquire_cost(), kOneWrite);
}

TEST_P(Cost, R97_SteadyTrafficAtTheLimitIsOneWriteARefill) {
  limiter->set_limits(Scope::resource(kApi), {Limit::per_minute("rpm", 600)}).value();
  ASSERT_TRUE(admits({{"rpm", 600}}));
  for (int i = 0; i < 50; ++i) {
    ASSERT_FALSE(admits({{"rpm", 1}}));
    clock.advance(100ms);
    EXPECT_EQ(spent_by([&] { ASSERT_TRUE(admits({{"rpm", 1}})); }), kOneWrite);
  }
}

TEST_P(Cost, WindowThatEndedAndEdgeThatPassedAreOneWrite) {
  limiter
      ->set_limits(Scope::resource(kApi), {Limit::session("session", 1'000, 10s),
                                           Limit::calendar("minute", 1'000, "* * * * */2"),
                                           Limit::calendar("hour", 100, "0 * * * *")})
      .value();
  ASSERT_TRUE(admits({{"session", 1}, {"hour", 1}}));
  clock.set(instant("2027-03-10T12:00:30Z"));
  EXPECT_EQ(spent_by([&] { ASSERT_TRUE(admits({{"session", 1}})); }), kOneWrite);
  clock.advance(10s);
  EXPECT_EQ(spent_by([&] { ASSERT_TRUE(admits({{"session", 1}})); }), kOneWrite);

  clock.set(instant("2027-03-10T13:00Z"));
  // The configuration has grown old as well.
  EXPECT_EQ(spent_by([&] { ASSERT_TRUE(admits({{"hour", 1}})); }).writes, 1);
  clock.set(instant("2027-03-10T13:00:01Z"));
  EXPECT_EQ(spent_by([&] { ASSERT_TRUE(admits({{"hour", 1}})); }), kOneWrite);
}

TEST_P(Cost, R96_FirstAcquireOfANewBucketIsTwoRequestsAndCounts) {
  limiter->get_limits(Scope::resource(kApi)).value();

  Spent first = acquire_cost("new");

  // Owner, bucket and four levels of configuration in one batch; one transaction.
  EXPECT_EQ(first.requests, 2u);
  EXPECT_EQ(field("rpm", "tc", "new"), 1'000);
  EXPECT_EQ(field("session", "tc", "new"), 1'000);
  EXPECT_EQ(acquire_cost("new"), kOneWrite);
}

TEST_P(Cost, KnownEntityInAColdProcessIsTwoRequests) {
  ASSERT_TRUE(admits({{"rpm", 1}, {"session", 1}}));
  limiter->forget_caches();

  Spent cold = acquire_cost();

  EXPECT_EQ(cold.requests, 2u);
  EXPECT_EQ(cold.writes, 1);
  EXPECT_EQ(acquire_cost(), kOneWrite);
}

TEST_P(Cost, CascadeIsTwoWritesWarm) {
  create_family();
  Spent first = acquire_cost("child");
  EXPECT_LE(first.requests, 8u);

  EXPECT_EQ(acquire_cost("child"), (Spent{2, 0, 2}));
  clock.advance(3s);
  EXPECT_EQ(acquire_cost("child"), (Spent{2, 0, 2}));
  EXPECT_EQ(acquire_cost("child"), (Spent{2, 0, 2}));

  limiter->forget_caches();
  EXPECT_LE(acquire_cost("child").requests, 4u);
}

TEST_P(Cost, RejectionWritesNothingAndARepeatedOneAsksNothing) {
  ASSERT_TRUE(admits({{"rpm", 600}}));
  store::ImagePtr before = bucket();

  EXPECT_EQ(spent_by([&] { ASSERT_FALSE(admits({{"rpm", 1}})); }), kNothingAsked);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(spent_by([&] { ASSERT_FALSE(admits({{"rpm", 500}})); }), kNothingAsked);
    clock.advance(9ms);
  }
  // Older than a second, what is remembered is confirmed by one read.
  clock.advance(200ms);
  Spent confirmed = spent_by([&] { ASSERT_FALSE(admits({{"rpm", 500}})); });
  EXPECT_EQ(confirmed.writes, 0);
  EXPECT_EQ(confirmed.requests, 1u);
  EXPECT_EQ(spent_by([&] { ASSERT_FALSE(admits({{"rpm", 500}})); }), kNothingAsked);
  EXPECT_EQ(*bucket(), *before);
}

TEST_P(Cost, RejectionByAParentAsksNothingWhenRepeated) {
  create_family();
  limiter->set_limits("child", kApi, {Limit::per_minute("rpm", 6'000)}).value();
  ASSERT_TRUE(admits({{"rpm", 600}}, "child"));
  ASSERT_FALSE(admits({{"rpm", 600}}, "child"));

  EXPECT_EQ(spent_by([&] { ASSERT_FALSE(admits({{"rpm", 600}}, "child")); }), kNothingAsked);
}

TEST_P(Cost, RejectionInAColdProcessIsReadsOnlyAndConfirmed) {
  ASSERT_TRUE(admits({{"rpm", 600}}));
  limiter->forget_caches();

  Spent cold = spent_by([&] { ASSERT_FALSE(admits({{"rpm", 1}})); });

  EXPECT_EQ(cold.writes, 0);
  EXPECT_LE(cold.requests, 2u);
}

TEST_P(Cost, RejectionOfWhatNeverExistedCreatesNothing) {
  Spent spent = spent_by([&] { ASSERT_FALSE(admits({{"rpm", 601}}, "new")); });

  EXPECT_EQ(spent.writes, 0);
  EXPECT_FALSE(bucket("new"));
}

TEST_P(Cost, SettleReleaseAndRollBackAreOneWriteABucket) {
  create_family();
  Decision decision = acquire({{"rpm", 10}, {"session", 10}});
  ASSERT_TRUE(decision.lease().adjust("rpm", 5).ok());
  ASSERT_TRUE(decision.lease().release("session", 5).ok());
  EXPECT_EQ(spent_by([&] { ASSERT_TRUE(decision.lease().settle().ok()); }), kOneWrite);

  Decision unchanged = acquire({{"rpm", 10}});
  EXPECT_EQ(spent_by([&] { ASSERT_TRUE(unchanged.lease().settle().ok()); }), kNothingAsked);

  Decision returned = acquire({{"rpm", 10}, {"session", 10}});
  clock.advance(2s);
  EXPECT_EQ(spent_by([&] { ASSERT_TRUE(returned.lease().roll_back().ok()); }), kOneWrite);

  Decision family = acquire({{"rpm", 10}}, "child");
  ASSERT_TRUE(family.lease().adjust("rpm", 5).ok());
  EXPECT_EQ(spent_by([&] { ASSERT_TRUE(family.lease().settle().ok()); }), (Spent{2, 0, 2}));
}

TEST_P(Cost, ConfigurationIsReadOnceAMinute) {
  ASSERT_TRUE(admits({{"rpm", 1}, {"session", 1}}));
  std::uint64_t requests = 0;
  double reads = 0;
  for (int second = 0; second < 600; ++second) {
    clock.advance(1s);
    Spent spent = acquire_cost();
    requests += spent.requests;
    reads += spent.reads;
    EXPECT_EQ(spent.writes, 1);
  }
  // Four levels and, for a bucket that names no owner, the entity: half a unit each, at most ten
  // times in ten minutes.
  EXPECT_LE(requests, 610u);
  EXPECT_LE(reads, 25);
  EXPECT_GT(reads, 0);
}

TEST_P(Cost, AbsenceOfConfigurationIsRememberedToo) {
  ASSERT_TRUE(admits({{"rpm", 1}}, "other"));
  limiter->set_limits(Scope::system(), {Limit::per_minute("rpm", 5)}).value();
  auto elsewhere = [&] {
    return limiter->acquire({.entity = kUser, .resource = "elsewhere", .consume = {{"rpm", 1}}});
  };
  ASSERT_TRUE(elsewhere().value());

  EXPECT_EQ(spent_by([&] { ASSERT_TRUE(elsewhere().value()); }), kOneWrite);
}

TEST_P(Cost, AvailabilityIsOneRequestWithCachedConfiguration) {
  ASSERT_TRUE(admits({{"rpm", 1}}));

  Spent spent = spent_by([&] { limiter->available(kUser, kApi, {{"rpm", 1}}).value(); });

  EXPECT_EQ(spent.requests, 1u);
  EXPECT_EQ(spent.writes, 0);
}

TEST_P(Cost, PrefetchAsksNothingOfTheStore) {
  ASSERT_TRUE(admits({{"rpm", 1}, {"session", 1}}));

  EXPECT_EQ(spent_by([&] {
              limiter->prefetch(kUser, kApi);
              limiter->prefetch("unknown", kApi);
            }),
            kNothingAsked);
  EXPECT_EQ(acquire_cost(), kOneWrite);
}

}  // namespace
}  // namespace stint::test
