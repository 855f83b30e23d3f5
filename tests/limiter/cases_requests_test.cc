// Cases from public reports: features asked for (cases.md).
#include <gtest/gtest.h>

#include "tests/limiter/support.h"

namespace stint::test {
namespace {

class RequestCases : public LimiterTest {
 protected:
  void set(const LimitList& limits) { limiter->set_limits(kUser, kApi, limits).value(); }
};
STINT_ON_EVERY_STORE(RequestCases);

TEST_P(RequestCases, P112_ShortAndLongPeriodsTogether) {
  set({Limit::session("h5", 10, 5h), Limit::session("d7", 20, std::chrono::hours(24 * 7)),
       Limit::calendar("month", 30, "0 0 1 * *"), Limit::calendar("year", 40, "0 0 1 1 *")});
  ASSERT_TRUE(admits({{"h5", 1}, {"d7", 1}, {"month", 1}, {"year", 1}}));
  EXPECT_EQ(show(status("h5").resets_at), "2027-03-10T17:00Z");
  EXPECT_EQ(show(status("d7").resets_at), "2027-03-17T12:00Z");
  EXPECT_EQ(show(status("month").resets_at), "2027-04-01T00:00Z");
  EXPECT_EQ(show(status("year").resets_at), "2028-01-01T00:00Z");
}

TEST_P(RequestCases, P113_SeveralWindowsAreEnforcedInOneCall) {
  set({Limit::calendar("day", 5, "0 0 * * *"), Limit::calendar("week", 20, "0 0 * * 1"),
       Limit::calendar("month", 50, "0 0 1 * *")});
  clock.set(instant("2027-03-01T00:00Z"));  // a Monday
  int in_all = 0;
  std::vector<int> by_day;
  for (int day = 0; day < 31; ++day) {
    by_day.push_back(admitted(8, {{"day", 1}, {"week", 1}, {"month", 1}}));
    in_all += by_day.back();
    clock.advance(24h);
  }
  EXPECT_EQ((std::vector<int>(by_day.begin(), by_day.begin() + 9)),
            (std::vector<int>{5, 5, 5, 5, 0, 0, 0, 5, 5}));
  EXPECT_EQ(in_all, 50);
  clock.set(instant("2027-03-31T12:00Z"));
  Decision rejected = acquire({{"day", 1}, {"week", 1}, {"month", 1}});
  ASSERT_EQ(rejected.outcome(), Outcome::kRejected);
  EXPECT_EQ(rejected.limits().size(), 3u);
  EXPECT_TRUE(find_status(rejected.limits(), "month").exceeded);
  EXPECT_FALSE(find_status(rejected.limits(), "day").exceeded);
}

TEST_P(RequestCases, P118_CountingIsPossibleEvenOverTheLimit) {
  set({Limit::session("s", 10, 1h)});
  ASSERT_TRUE(admits({{"s", 8}}));
  Decision report = acquire({{"s", 0}});
  ASSERT_TRUE(report);
  ASSERT_TRUE(report.lease().adjust("s", 5).ok());
  ASSERT_TRUE(report.lease().settle().ok());
  EXPECT_EQ(left("s"), -3);
  set({Result<Limit>(Limit::session("s", 10, 1h).value().as_soft())});
  EXPECT_TRUE(admits({{"s", 5}}));
  EXPECT_EQ(left("s"), -8);
}

TEST_P(RequestCases, P119_AChosenHourAlsoAcrossAClockChange) {
  set({Limit::calendar("c", 10, "40 13 * * *", "US/Eastern")});
  struct Step {
    const char* at;
    const char* next;
  };
  for (Step step : {Step{"2027-03-12T18:21Z", "2027-03-12T18:40Z"},
                    Step{"2027-03-12T18:41Z", "2027-03-13T18:40Z"},
                    Step{"2027-03-13T18:41Z", "2027-03-14T17:40Z"}}) {
    clock.set(instant(step.at));
    EXPECT_TRUE(admits({{"c", 10}})) << step.at;
    EXPECT_FALSE(admits({{"c", 1}})) << step.at;
    EXPECT_EQ(show(status("c").resets_at), step.next);
  }
}

}  // namespace
}  // namespace stint::test
