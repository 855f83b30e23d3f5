#include "model/compact.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "tests/support/cron_oracle.h"

namespace stint::model {
namespace {

using namespace std::chrono_literals;
using Absolute = LevelEntry::Absolute;

std::string encode_reset(const char* cron) { return encode_resets({Cron::parse(cron).value()}); }

TEST(Compact, LevelsAsTheOtherPackageWritesThem) {
  std::vector<LevelEntry> entries{
      LevelEntry::scaled("* 9-17 * * MON-FRI", 0.5).value(),
      LevelEntry::absolute("* 0-6 * * *", Absolute{.capacity = 2000}).value()};
  EXPECT_EQ(encode_levels(entries), "1h9-17w1-5s500;h0-6c2000");
  EXPECT_EQ(decode_levels("1h9-17w1-5s500;h0-6c2000").value(), entries);
  EXPECT_EQ(encode_levels({LevelEntry::scaled("* * * * *", 2).value()}), "1s2000");
}

// Found on items of version 0.17.0.
TEST(Compact, RealItems) {
  std::vector<LevelEntry> levels = decode_levels("1h9-17w1-5s500;h0-6c2000a2000p60").value();
  EXPECT_EQ(encode_levels(levels), "1h9-17w1-5s500;h0-6c2000a2000p60");
  ASSERT_EQ(levels.size(), 2u);
  EXPECT_EQ(levels[0].cron().text(), "* 9-17 * * 1-5");
  EXPECT_EQ(levels[0].per_mille(), 500);
  EXPECT_EQ(levels[1].cron().text(), "* 0-6 * * *");
  EXPECT_EQ(levels[1].parameters(),
            (Absolute{.capacity = 2000, .refill_amount = 2000, .refill_period = 60s}));
  for (const char* text : {"1m0h0", "1m0h0,12", "1m0h0D1"}) {
    EXPECT_EQ(encode_resets(decode_resets(text).value()), text);
  }
  EXPECT_EQ(decode_resets("1m0h0D1").value()[0].text(), "0 0 1 * *");
}

TEST(Compact, Resets) {
  EXPECT_EQ(encode_reset("0 0 * * *"), "1m0h0");
  EXPECT_EQ(encode_reset("*/15 * * * *"), "1m*/15");
  EXPECT_EQ(encode_reset("0 0 1 JAN *"), "1m0h0D1M1");
  EXPECT_EQ(encode_resets({Cron::parse("0 0 * * *").value(), Cron::parse("0 12 * * 1").value()}),
            "1m0h0;m0h12w1");
}

TEST(Compact, DaysAreNumbersAndALoneSundayIsSeven) {
  EXPECT_EQ(encode_reset("0 0 * * SUN"), "1m0h0w7");
  EXPECT_EQ(encode_reset("0 0 * * SUN-THU"), "1m0h0w0-4");
  EXPECT_EQ(encode_reset("0 0 * * SUN/2"), "1m0h0w0/2");
  EXPECT_EQ(encode_reset("0 0 * * SAT,SUN"), "1m0h0w6,7");
  EXPECT_EQ(encode_reset("0 0 * * MON-FRI"), "1m0h0w1-5");
  EXPECT_EQ(encode_reset("0 0 * * 0"), "1m0h0w0");
}

TEST(Compact, R52_ErrorsAreToldApart) {
  struct Case {
    const char* text;
    const char* reason;
  };
  const Case both[] = {
      {"", "no version"},
      {"m0h0", "no version"},
      {"-", "no version"},
      {"2m0h0", "newer version"},
      {"10m0h0", "newer version"},
      {"0m0h0", "unknown version"},
      {"1x5", "unknown tag 'x'"},
      {"1 m0", "unknown tag ' '"},
      {"1m0m1", "duplicate tag 'm'"},
      {"1m", "no value after 'm'"},
      {"1mh0", "no value after 'm'"},
      {"1m60", "60 is not in 0 to 59"},
      {"1D30M2", "no month"},
  };
  for (const Case& c : both) {
    Result<std::vector<Cron>> resets = decode_resets(c.text);
    ASSERT_FALSE(resets.ok()) << c.text;
    EXPECT_EQ(resets.error().code(), ErrorCode::kCorrupt);
    EXPECT_NE(resets.error().reason().find(c.reason), std::string::npos)
        << c.text << ": " << resets.error().reason();
    std::string level = c.text;
    if (level.find_first_of("mhDMw") != std::string::npos) level += "s500";
    Result<std::vector<LevelEntry>> levels = decode_levels(level);
    ASSERT_FALSE(levels.ok()) << level;
    EXPECT_EQ(levels.error().code(), ErrorCode::kCorrupt);
    EXPECT_NE(levels.error().reason().find(c.reason), std::string::npos)
        << level << ": " << levels.error().reason();
  }

  const Case resets[] = {
      {"1m0s500", "a reset with a scale or parameters"},
      {"1m0c5", "a reset with a scale or parameters"},
      {"1", "a reset at every minute"},
      {"1m0;", "a reset at every minute"},
      {"1;m0", "a reset at every minute"},
  };
  for (const Case& c : resets) {
    Result<std::vector<Cron>> decoded = decode_resets(c.text);
    ASSERT_FALSE(decoded.ok()) << c.text;
    EXPECT_NE(decoded.error().reason().find(c.reason), std::string::npos)
        << c.text << ": " << decoded.error().reason();
  }

  const Case levels[] = {
      {"1", "without scale or parameters"},
      {"1h0-6", "without scale or parameters"},
      {"1h0-6s500;", "without scale or parameters"},
      {"1s500c5", "both scale and parameters"},
      {"1s500s600", "duplicate tag 's'"},
      {"1s", "no value after 's'"},
      {"1s0", "scale"},
      {"1s-5", "no whole number after 's'"},
      {"1s1,2", "no whole number after 's'"},
      {"1s1000000001", "scale"},
      {"1c0", "limit.capacity"},
      {"1c1000000000000001", "limit.capacity"},
      {"1c99999999999999999999", "no whole number after 'c'"},
      {"1a0", "limit.refill_amount"},
      {"1p0", "limit.refill_period"},
      {"1p1000000001", "limit.refill_period"},
  };
  for (const Case& c : levels) {
    Result<std::vector<LevelEntry>> decoded = decode_levels(c.text);
    ASSERT_FALSE(decoded.ok()) << c.text;
    EXPECT_EQ(decoded.error().code(), ErrorCode::kCorrupt);
    EXPECT_NE(decoded.error().reason().find(c.reason), std::string::npos)
        << c.text << ": " << decoded.error().reason();
  }
}

LevelEntry any_level() {
  Cron cron = Cron::parse((*test::any_expression()).text).value();
  if (test::between(0, 2) == 0) {
    return LevelEntry::scaled_per_mille(cron, test::between<std::int64_t>(1, 1'000'000'001))
        .value();
  }
  auto amount = [] { return test::between<std::int64_t>(1, kMaxConfiguredTokens + 1); };
  Absolute parameters;
  const int chosen = test::between(1, 8);
  if (chosen & 1) parameters.capacity = amount();
  if (chosen & 2) parameters.refill_amount = amount();
  if (chosen & 4) {
    parameters.refill_period = std::chrono::seconds(test::between<std::int64_t>(1, 1'000'000'001));
  }
  return LevelEntry::absolute(cron, parameters).value();
}

RC_GTEST_PROP(Compact, LevelsSurviveARoundTrip, ()) {
  std::vector<LevelEntry> entries;
  const int count = test::between(1, 5);
  for (int i = 0; i < count; ++i) entries.push_back(any_level());
  const std::string text = encode_levels(entries);
  RC_ASSERT(text.find(' ') == std::string::npos);
  Result<std::vector<LevelEntry>> decoded = decode_levels(text);
  RC_ASSERT(decoded.ok());
  RC_ASSERT(*decoded == entries);
  RC_ASSERT(encode_levels(*decoded) == text);
}

RC_GTEST_PROP(Compact, ResetsSurviveARoundTrip, ()) {
  std::vector<Cron> crons;
  const int count = test::between(1, 5);
  for (int i = 0; i < count; ++i) {
    const Cron cron = Cron::parse((*test::any_expression()).text).value();
    // Has no fields to be written.
    if (cron.text() != "* * * * *") crons.push_back(cron);
  }
  RC_PRE(!crons.empty());
  const std::string text = encode_resets(crons);
  Result<std::vector<Cron>> decoded = decode_resets(text);
  RC_ASSERT(decoded.ok());
  RC_ASSERT(*decoded == crons);
}

RC_GTEST_PROP(Compact, AnyTextIsDecodedOrRefused, ()) {
  const std::string text = "1" + *rc::gen::container<std::string>(
                                     rc::gen::elementOf(std::string("0123456789mhDMwscap;*/-,x")));
  if (auto levels = decode_levels(text); levels.ok()) {
    RC_ASSERT(decode_levels(encode_levels(*levels)).value() == *levels);
  } else {
    RC_ASSERT(levels.error().code() == ErrorCode::kCorrupt);
  }
  if (auto resets = decode_resets(text); resets.ok()) {
    RC_ASSERT(decode_resets(encode_resets(*resets)).value() == *resets);
  } else {
    RC_ASSERT(resets.error().code() == ErrorCode::kCorrupt);
  }
}

}  // namespace
}  // namespace stint::model
