// Counts over time whose end is not known.
#include "cli/replay/timeline.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace stint::cli {
namespace {

TimePoint at(std::int64_t ms) { return TimePoint(Millis(ms)); }

TEST(CliReplayTimeline, BeginsWithSeconds) {
  Timeline timeline;
  EXPECT_TRUE(timeline.spans().empty());
  timeline.count(at(1'500), true);
  timeline.count(at(1'999), false);
  timeline.count(at(3'000), true);
  EXPECT_EQ(timeline.width(), Millis(1000));
  ASSERT_EQ(timeline.spans().size(), 3u);
  EXPECT_EQ(timeline.begin(0), at(1000));
  EXPECT_EQ(timeline.spans()[0].admitted, 1u);
  EXPECT_EQ(timeline.spans()[0].rejected, 1u);
  EXPECT_EQ(timeline.spans()[1].admitted, 0u);
  EXPECT_EQ(timeline.begin(2), at(3000));
}

TEST(CliReplayTimeline, WidensWhenSpansBecomeTooMany) {
  Timeline timeline;
  timeline.count(at(7'000), true);
  timeline.count(at(12'000), true);
  timeline.count(at(60'000), false);
  EXPECT_EQ(timeline.width(), Millis(5000));
  EXPECT_EQ(timeline.begin(0), at(5000));
  EXPECT_EQ(timeline.spans().front().admitted, 1u);
  EXPECT_EQ(timeline.spans()[1].admitted, 1u);
  EXPECT_EQ(timeline.spans().back().rejected, 1u);
}

TEST(CliReplayTimeline, SpansAllTimesThatCanBeRead) {
  Timeline timeline;
  timeline.count(at(0), true);
  timeline.count(at(253'402'300'799'999), true);
  EXPECT_LE(timeline.spans().size(), Timeline::kMaxSpans);
}

RC_GTEST_PROP(CliReplayTimelineProperty, LosesNothingAndPutsEverythingInItsPlace, ()) {
  std::vector<std::int64_t> times;
  std::int64_t now = *rc::gen::inRange<std::int64_t>(0, 2'000'000'000'000);
  const int count = *rc::gen::inRange(1, 100);
  for (int i = 0; i < count; ++i) {
    now += *rc::gen::inRange<std::int64_t>(0, 1000) *
           *rc::gen::element<std::int64_t>(1, 100, 60'000, 86'400'000);
    times.push_back(now);
  }
  Timeline timeline;
  for (std::int64_t time : times) timeline.count(at(time), time % 3 != 0);
  RC_ASSERT(timeline.spans().size() <= Timeline::kMaxSpans);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < timeline.spans().size(); ++i) {
    const TimePoint begin = timeline.begin(i);
    RC_ASSERT(begin.time_since_epoch() % timeline.width() == Millis(0));
    const auto in_span = [&](std::int64_t time) {
      return at(time) >= begin && at(time) < begin + timeline.width();
    };
    const auto expected = std::count_if(times.begin(), times.end(), [&](std::int64_t time) {
      return in_span(time) && time % 3 != 0;
    });
    const auto rejected = std::count_if(times.begin(), times.end(), [&](std::int64_t time) {
      return in_span(time) && time % 3 == 0;
    });
    RC_ASSERT(timeline.spans()[i].admitted == static_cast<std::uint64_t>(expected));
    RC_ASSERT(timeline.spans()[i].rejected == static_cast<std::uint64_t>(rejected));
    seen += timeline.spans()[i].admitted + timeline.spans()[i].rejected;
  }
  RC_ASSERT(seen == times.size());
}

}  // namespace
}  // namespace stint::cli
