// Times as recorded traffic writes them.
#include "cli/replay/time_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <string>

namespace stint::cli {
namespace {

// -1 for a text that is no time.
std::int64_t ms(std::string_view text) {
  const std::optional<TimePoint> time = parse_time(text);
  return time ? time->time_since_epoch().count() : -1;
}

// `date -u -d '2023-11-16 18:17:03' +%s` says 1700158623.
constexpr std::int64_t kSecond = 1'700'158'623'000;

TEST(CliReplayTime, ReadsIso8601) {
  EXPECT_EQ(ms("2023-11-16T18:17:03Z"), kSecond);
  EXPECT_EQ(ms("2023-11-16 18:17:03"), kSecond);
  EXPECT_EQ(ms("2023-11-16 18:17:03 UTC"), kSecond);
  EXPECT_EQ(ms("2023-11-16t18:17:03z"), kSecond);
  EXPECT_EQ(ms("2023-11-16T18:17"), kSecond - 3000);
  EXPECT_EQ(ms("2023-11-16T18:17Z"), kSecond - 3000);
  EXPECT_EQ(ms("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(ms("2024-02-29T00:00:00Z"), 1'709'164'800'000);
  EXPECT_EQ(ms("9999-12-31T23:59:59.999Z"), 253'402'300'799'999);
}

TEST(CliReplayTime, CutsWhatIsFinerThanAMillisecond) {
  EXPECT_EQ(ms("2023-11-16 18:17:03.9"), kSecond + 900);
  EXPECT_EQ(ms("2023-11-16 18:17:03.97"), kSecond + 970);
  EXPECT_EQ(ms("2023-11-16 18:17:03.979"), kSecond + 979);
  EXPECT_EQ(ms("2023-11-16 18:17:03.9799600"), kSecond + 979);
  EXPECT_EQ(ms("2023-11-16 18:17:03,999999999999999999999999"), kSecond + 999);
  EXPECT_EQ(ms("2023-11-16 18:17:03.0009"), kSecond);
}

TEST(CliReplayTime, AppliesOffsets) {
  EXPECT_EQ(ms("2023-11-16T19:17:03+01:00"), kSecond);
  EXPECT_EQ(ms("2023-11-16T19:17:03+0100"), kSecond);
  EXPECT_EQ(ms("2023-11-16T19:17:03+01"), kSecond);
  EXPECT_EQ(ms("2023-11-16T13:17:03.5-05:00"), kSecond + 500);
  EXPECT_EQ(ms("2023-11-16 23:47:03 +05:30"), kSecond);
  EXPECT_EQ(ms("2023-11-17T00:17:03+06:00"), kSecond);
}

TEST(CliReplayTime, CountsALeapSecondAsTheNextSecond) {
  EXPECT_EQ(ms("2016-12-31T23:59:60Z"), ms("2017-01-01T00:00:00Z"));
  EXPECT_EQ(ms("2016-12-31T23:59:61Z"), -1);
}

TEST(CliReplayTime, ReadsTheFormOfWebLogs) {
  EXPECT_EQ(ms("17/May/2015:10:05:03 +0000"), 1'431'857'103'000);
  EXPECT_EQ(ms("17/May/2015:10:05:03 -0700"), 1'431'882'303'000);
  EXPECT_EQ(ms("17/May/2015:10:05:03"), 1'431'857'103'000);
  EXPECT_EQ(ms("17/may/2015:10:05:03 +0000"), -1);
  EXPECT_EQ(ms("31/Feb/2015:10:05:03 +0000"), -1);
  EXPECT_EQ(ms("7/May/2015:10:05:03 +0000"), -1);
}

TEST(CliReplayTime, TellsSecondsFromMillisecondsByTheirSize) {
  EXPECT_EQ(ms("0"), 0);
  EXPECT_EQ(ms("1700158623"), kSecond);
  EXPECT_EQ(ms("1700158623979"), kSecond + 979);
  EXPECT_EQ(ms("1700158623.9799"), kSecond + 979);
  EXPECT_EQ(ms("1700158623979.96"), kSecond + 979);
  EXPECT_EQ(ms("99999999999"), 99'999'999'999'000);
  EXPECT_EQ(ms("100000000000"), 100'000'000'000);
  EXPECT_EQ(ms("253402300799999"), 253'402'300'799'999);
  EXPECT_EQ(ms("253402300800000"), -1);
}

TEST(CliReplayTime, RefusesEverythingElse) {
  for (std::string_view text : {"",
                                " ",
                                "now",
                                "-1",
                                "+5",
                                "1e9",
                                "0x10",
                                "1700158623.",
                                ".5",
                                "1700158623 ",
                                "99999999999999999999999999",
                                "2023-11-16",
                                "2023-11-16T",
                                "2023-11-16T18",
                                "2023-13-01T00:00",
                                "2023-02-29T00:00:00Z",
                                "2023-11-16T24:00:00Z",
                                "2023-11-16T18:60:00Z",
                                "2023-11-16T18:17:03.Z",
                                "2023-11-16T18:17:03+1",
                                "2023-11-16T18:17:03+24:00",
                                "2023-11-16T18:17:03+01:60",
                                "2023-11-16T18:17:03 CET",
                                "2023-11-16T18:17:03Zx",
                                "2023-11-16T18:17:03  Z",
                                " 2023-11-16T18:17:03Z",
                                "20231116T181703Z",
                                "1969-12-31T23:59:59Z",
                                "1970-01-01T00:59:59+01:00",
                                "10000-01-01T00:00:00Z",
                                "9999-12-31T23:59:59-01:00",
                                "2023/11/16 18:17:03",
                                "16/Nov/2023",
                                "\xd9\xa1\xd9\xa7"}) {
    EXPECT_EQ(ms(text), -1) << text;
  }
  EXPECT_EQ(ms(std::string_view("1700158623\0", 11)), -1);
}

RC_GTEST_PROP(CliReplayTimeProperty, AnyNumberOfFractionDigitsIsCut, ()) {
  const auto thousandths = *rc::gen::inRange(0, 1000);
  const auto more =
      *rc::gen::container<std::string>(rc::gen::inRange('0', static_cast<char>('9' + 1)));
  std::string digits = std::to_string(1000 + thousandths).substr(1) + more;
  RC_ASSERT(ms("2023-11-16T18:17:03." + digits) == kSecond + thousandths);
  RC_ASSERT(ms("1700158623." + digits) == kSecond + thousandths);
}

}  // namespace
}  // namespace stint::cli
