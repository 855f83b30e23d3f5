// How much a bucket admits at most (decision 15) under writers with old images and skewed clocks.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/wide.h"
#include "bucket/plan.h"
#include "tests/unit/support/bucket_gen.h"
#include "tests/unit/support/bucket_world.h"

namespace stint::bucket::test {
namespace {

// ---- examples -------------------------------------------------------------------------------

TEST(Burst, R91_FullBucketIsNotSpentTwiceAfterARest) {
  // With a tolerance of a sixteenth at most 6.25 more, by the bound.
  for (auto [divisor, most] : {std::pair{0, 101}, std::pair{16, 107}}) {
    Table table(bucket_of({rate(100, 20, 1s).state()}, kNoon));
    ASSERT_TRUE(acquire(table, {take(0, kToken)}, kNoon, divisor));
    int admitted = 0;
    for (int i = 0; i < 50; ++i) {
      TimePoint now = kNoon + 7s + Millis(i);
      if (acquire(table, {take(0, 10 * kToken)}, now, divisor)) admitted += 10;
    }
    EXPECT_GE(admitted, 100);
    EXPECT_LE(admitted, most);
  }
}

TEST(Burst, Decision15_SettleAfterARestSpendsTheRefillFirst) {
  for (int divisor : {0, 16}) {
    Table table(bucket_of({rate(100, 20, 1s).state()}, kNoon));
    ASSERT_TRUE(acquire(table, {take(0, kToken)}, kNoon, divisor));
    ASSERT_TRUE(acquire(table, {settle(0, 90 * kToken)}, kNoon + 10s, divisor));
    EXPECT_TRUE(fits(table.item, {take(0, 10 * kToken)}, kNoon + 10s));
    EXPECT_FALSE(fits(table.item, {take(0, 10 * kToken + 1)}, kNoon + 10s));
  }
}

TEST(Burst, P38_SteadyCallsGetTheRateAndTheCapacity) {
  Table table(bucket_of({rate(3, 3, 1s).state()}, kNoon));
  int admitted = 0;
  for (int i = 0; i <= 600; ++i) {
    if (acquire(table, {take(0, kToken)}, kNoon + i * 100ms)) ++admitted;
  }
  EXPECT_EQ(admitted, 3 + 180);
}

TEST(Burst, P44_ParallelCallsFromOneImageAdmitExactlyWhatIsThere) {
  Table table(bucket_of({rate(100, 20, 1s).state()}, kNoon));
  ASSERT_TRUE(pass(table, {}, kNoon));
  const BucketState image = table.item;
  int admitted = 0;
  for (int i = 0; i < 50; ++i) {
    std::optional<Plan> plan = fast(image, {take(0, 10 * kToken)}, kNoon);
    ASSERT_TRUE(plan);
    if (table.write(*plan, image)) ++admitted;
  }
  EXPECT_EQ(admitted, 10);
  EXPECT_EQ(table.item.limits[0].balance, 0);
}

TEST(Burst, P94_SlowClockRewindsNothing) {
  Table table(bucket_of({rate(100, 20, 1s).state()}, kNoon));
  std::int64_t admitted = 0;
  for (int i = 0; i < 600; ++i) {
    TimePoint now = kNoon + i * 100ms + (i % 2 == 0 ? 10s : -10s);
    if (acquire(table, {take(0, 3 * kToken)}, now)) admitted += 3;
  }
  // Capacity, a minute's rate, and the rate times the clocks' spread of 20 s.
  EXPECT_LE(admitted, 100 + 20 * 60 + 20 * 20);
  EXPECT_GE(admitted, 100 + 20 * 50);
}

TEST(Burst, Decision15_SpreadOfClocksCountsInFullEvenBeyondTheTimeToFull) {
  // Fills in 5 ms, clocks differ by 8 ms: the excess is the rate times the spread. It may be more
  // than one capacity, since what a slower clock spends makes room for a faster clock's refill.
  Table table(bucket_of({rate(5, 1000, 1s).state()}, kNoon));
  std::int64_t admitted = 0;
  for (Millis clock : {Millis(0), Millis(4), Millis(8)}) {
    while (acquire(table, {take(0, kToken)}, kNoon + clock)) ++admitted;
  }
  EXPECT_EQ(admitted, 5 + 8);
}

TEST(Burst, R64_DebitsBesideALockedWriteLeaveItsTermsTrue) {
  LimitState limit = rate(100, 20, 1s).state();
  limit.balance = 50 * kToken;
  Table table(bucket_of({limit}, kNoon));
  ASSERT_TRUE(pass(table, {}, kNoon));
  const BucketState image = table.item;
  Plan slow = locked(image, {take(0, 60 * kToken)}, kNoon + 1s);
  // A fast debit by a writer whose clock is behind lands in between: 40 + 20 still suffice.
  ASSERT_TRUE(table.write(*fast(image, {take(0, 10 * kToken)}, kNoon), image));
  Table more = table;
  ASSERT_TRUE(table.write(slow, image));
  EXPECT_EQ(table.item.limits[0].balance, 0);
  ASSERT_TRUE(more.write(*fast(image, {take(0, 1)}, kNoon), image));
  EXPECT_FALSE(more.write(slow, image)) << "one milli-token short";
}

// ---- traffic ----------------------------------------------------------------------------------

/// One write under way.
struct Flight {
  TimePoint lands;
  Plan plan;
  BucketState image;
  std::vector<Demand> demands;
  bool counts;  // admitted by the gate, rather than settled
};

struct Landing {
  TimePoint at;
  std::vector<std::int64_t> amounts;  // per limit; negative: what a credit gave back
};

/// Writers that plan from images up to three writes old, by clocks up to `clock_spread` fast, and
/// whose writes land up to `latency` after the clock was read.
class Traffic {
 public:
  Traffic(std::vector<LimitState> limits, int divisor, Millis clock_spread, Millis latency)
      : table_(bucket_of(limits, kNoon)),
        divisor_(divisor),
        clock_spread_(clock_spread),
        latency_(latency) {
    RC_ASSERT(pass(table_, {}, kNoon));
    images_.push_back(table_.item);
  }

  void attempt(Millis after, const std::vector<Demand>& demands, bool counts) {
    now_ += after;
    land_until(now_);
    TimePoint clock = now_ + part_of(clock_spread_);
    const BucketState image = images_[static_cast<std::size_t>(any_of(images_.size()))];
    std::optional<Plan> plan = fast(image, demands, clock, divisor_);
    if (!plan) {
      if (!fits(image, demands, clock)) return;
      plan = locked(image, demands, clock);
    }
    flights_.push_back({now_ + part_of(latency_), *plan, image, demands, counts});
  }

  void finish() { land_until(now_ + latency_); }

  const std::vector<Landing>& landings() const { return landings_; }
  const Table& table() const { return table_; }

 private:
  static Millis part_of(Millis whole) { return whole * any_of(5) / 4; }

  void land_until(TimePoint end) {
    auto later = [](const Flight& a, const Flight& b) { return a.lands < b.lands; };
    std::stable_sort(flights_.begin(), flights_.end(), later);
    while (!flights_.empty() && flights_.front().lands <= end) {
      Flight flight = std::move(flights_.front());
      flights_.pop_front();
      const BucketState before = table_.item;
      if (!table_.write(flight.plan, flight.image)) {
        images_.push_back(table_.item);  // a failed condition returns the image
      } else {
        images_.push_back(table_.item);
        Landing landing{flight.lands, std::vector<std::int64_t>(before.limits.size(), 0)};
        for (const Demand& demand : flight.demands) {
          if (flight.counts || demand.amount < 0) landing.amounts[demand.limit] = demand.amount;
        }
        landings_.push_back(std::move(landing));
      }
      if (images_.size() > 3) images_.pop_front();
    }
  }

  Table table_;
  int divisor_;
  Millis clock_spread_;
  Millis latency_;
  TimePoint now_ = kNoon;
  std::deque<BucketState> images_;
  std::deque<Flight> flights_;
  std::vector<Landing> landings_;
};

RC_GTEST_PROP(BurstProperty, Decision15_BoundHoldsInEveryInterval, ()) {
  std::vector<LimitState> limits;
  int count = any_of(2) + 1;
  for (int i = 0; i < count; ++i) {
    static const std::vector<Definition> kRates = {rate(100, 20, 1s, "a"), rate(10, 7, 3s, "b"),
                                                   rate(1000, 1000, 60s, "c"),
                                                   rate(5, 1000, 1s, "d"), rate(3, 1, 1h, "e")};
    limits.push_back(kRates[static_cast<std::size_t>(any_of(kRates.size()))].state());
  }
  int divisor = any_of(2) == 0 ? 0 : 16;
  Millis clock_spread(any_of(3) * any_of(2000));
  Millis latency(any_of(3) * any_of(200));
  BucketState probe = bucket_of(limits, kNoon);
  PlanOptions options;
  options.burst_tolerance_divisor = divisor;
  Millis tolerance = burst_tolerance(probe, options, kNoon).value();
  Millis spread = clock_spread + latency;

  Traffic traffic(limits, divisor, clock_spread, latency);
  int attempts = any_of(80) + 1;
  for (int i = 0; i < attempts; ++i) {
    static constexpr std::array<int, 9> kPauses = {0, 0, 1, 1, 5, 50, 300, 2000, 9000};
    Millis pause(kPauses[static_cast<std::size_t>(any_of(kPauses.size()))]);
    bool counts = any_of(8) != 7;
    std::vector<Demand> demands;
    for (std::size_t j = 0; j < limits.size(); ++j) {
      std::int64_t capacity = limits[j].base.capacity;
      std::int64_t amount = std::array<std::int64_t, 5>{
          capacity / 10, kToken, capacity / 3, capacity, 1}[static_cast<std::size_t>(any_of(5))];
      if (any_of(10) == 9) {
        demands.push_back(give_back(j, amount));
      } else {
        demands.push_back(counts ? take(j, amount) : settle(j, amount));
      }
    }
    traffic.attempt(pause, demands, counts);
  }
  traffic.finish();

  const std::vector<Landing>& landings = traffic.landings();
  RC_LOG() << "tolerance " << tolerance.count() << ", clocks " << clock_spread.count()
           << ", latency " << latency.count() << "\n";
  for (const LimitState& limit : limits) RC_LOG() << "limit " << limit.name << "\n";
  for (const Landing& landing : landings) {
    RC_LOG() << (landing.at - kNoon).count() << " ms:";
    for (std::int64_t amount : landing.amounts) RC_LOG() << " " << amount;
    RC_LOG() << "\n";
  }
  RC_TAG(landings.size() > 10 ? "busy" : "quiet");
  for (std::size_t limit = 0; limit < limits.size(); ++limit) {
    const Parameters& base = limits[limit].base;
    Int128 period = base.period.count();
    Int128 full = base.capacity * period;
    Int128 extra = static_cast<Int128>(base.refill) * (tolerance + spread).count();
    // A credit that fills the bucket in the fast form leaves the remainder: less than a milli-token
    // on top, once.
    bool credited = std::any_of(landings.begin(), landings.end(),
                                [&](const Landing& landing) { return landing.amounts[limit] < 0; });
    Int128 fraction = credited ? period - 1 : 0;
    for (std::size_t first = 0; first < landings.size(); ++first) {
      Int128 admitted = 0;
      for (std::size_t last = first; last < landings.size(); ++last) {
        admitted += landings[last].amounts[limit];
        Int128 dripped =
            static_cast<Int128>(base.refill) * (landings[last].at - landings[first].at).count();
        RC_ASSERT(admitted * period <= full + extra + dripped + fraction);
      }
    }
  }
}

RC_GTEST_PROP(BurstProperty, P44_WindowsAdmitNoMoreThanTheirCapacity, ()) {
  std::vector<LimitState> limits = {session(20, 2s, "s").state(), rate(15, 15, 1s, "r").state()};
  Traffic traffic(limits, any_of(2) == 0 ? 0 : 16, Millis(any_of(400)), Millis(any_of(300)));
  int attempts = any_of(80) + 1;
  std::optional<TimePoint> window;
  std::size_t seen = 0;
  std::int64_t in_window = 0;
  for (int i = 0; i < attempts; ++i) {
    std::vector<Demand> demands = {take(0, (any_of(7) + 1) * kToken)};
    if (any_of(2) == 0) demands.push_back(take(1, kToken));
    traffic.attempt(Millis(any_of(4) * any_of(400)), demands, true);
    // Several landings since the last look may lie around an opening; then the balance tells.
    const LimitState& limit = traffic.table().item.limits[0];
    bool opened = limit.window_start != window;
    if (opened && window) RC_ASSERT(*limit.window_start >= *window + 2s);
    if (opened) {
      window = limit.window_start;
      in_window = limit.base.capacity - limit.balance;
    } else {
      for (std::size_t j = seen; j < traffic.landings().size(); ++j) {
        in_window += traffic.landings()[j].amounts[0];
      }
    }
    seen = traffic.landings().size();
    RC_ASSERT(in_window <= limit.base.capacity);
    RC_ASSERT(limit.balance == limit.base.capacity - (window ? in_window : 0));
  }
}

}  // namespace
}  // namespace stint::bucket::test
