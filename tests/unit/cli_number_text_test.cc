// Strict reading and exact printing of amounts and lengths of time.
#include "cli/number_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <limits>

namespace stint::cli {
namespace {

std::int64_t milli(std::string_view text) { return parse_amount("amount", text)->count(); }

TEST(CliNumberText, ReadsAmountsToTheThousandth) {
  EXPECT_EQ(milli("0"), 0);
  EXPECT_EQ(milli("7"), 7000);
  EXPECT_EQ(milli("1.5"), 1500);
  EXPECT_EQ(milli("0.001"), 1);
  EXPECT_EQ(milli("0.1"), 100);
  EXPECT_EQ(milli("1.250"), 1250);
  EXPECT_EQ(milli("007"), 7000);
  EXPECT_EQ(milli("1_000_000"), 1'000'000'000);
  EXPECT_EQ(milli("9000000000000000"), kMaxTokens * 1000);
}

TEST(CliNumberText, RefusesWhatIsNoAmount) {
  for (std::string_view text :
       {"",    " 1",  "1 ", "-1", "+1",   "1.",   ".5",    "1.2345", "1,000", "1e3", "0x10",
        "NaN", "inf", "_1", "1_", "1__0", "1._5", "1.5_0", "1.5.0",  "١",     "true"}) {
    Result<MilliTokens> amount = parse_amount("consume", text);
    ASSERT_FALSE(amount.ok()) << text;
    EXPECT_EQ(amount.error().code(), ErrorCode::kInvalidArgument) << text;
    EXPECT_EQ(amount.error().field(), "consume") << text;
    EXPECT_EQ(amount.error().value(), text);
  }
}

TEST(CliNumberText, RefusesOverflow) {
  for (std::string_view text :
       {"9000000000000000.001", "9000000000000001", "9223372036854775808", "18446744073709551616",
        "99999999999999999999999999999999999999999999999999"}) {
    Result<MilliTokens> amount = parse_amount("amount", text);
    ASSERT_FALSE(amount.ok()) << text;
    EXPECT_NE(amount.error().reason().find("at most 9000000000000000"), std::string::npos) << text;
    EXPECT_FALSE(parse_tokens("amount", text).ok()) << text;
  }
}

TEST(CliNumberText, TokensAreWhole) {
  EXPECT_EQ(parse_tokens("amount", "12_345")->count(), 12'345);
  EXPECT_FALSE(parse_tokens("amount", "1.0").ok());
  EXPECT_FALSE(parse_tokens("amount", "").ok());
}

TEST(CliNumberText, ReadsDurations) {
  using std::chrono::seconds;
  EXPECT_EQ(*parse_duration("d", "90s"), seconds(90));
  EXPECT_EQ(*parse_duration("d", "5h"), seconds(18'000));
  EXPECT_EQ(*parse_duration("d", "1h30min"), seconds(5400));
  EXPECT_EQ(*parse_duration("d", "1h30m"), seconds(5400));
  EXPECT_EQ(*parse_duration("d", "2w"), seconds(1'209'600));
  EXPECT_EQ(*parse_duration("d", "1000000000s"), seconds(1'000'000'000));
  EXPECT_EQ(*parse_period("p", "min"), seconds(60));
  EXPECT_EQ(*parse_period("p", "day"), seconds(86'400));
  EXPECT_EQ(*parse_period("p", "5min"), seconds(300));
}

TEST(CliNumberText, RefusesWhatIsNoDuration) {
  for (std::string_view text : {"", "5", "h", "5x", "-5h", "1.5h", "5 h", "h5", "5H", "5hmin",
                                "5h3", "1000000001s", "99999999999999999999w"}) {
    EXPECT_FALSE(parse_duration("d", text).ok()) << text;
  }
  EXPECT_FALSE(parse_period("p", "minutes").ok());
  EXPECT_FALSE(parse_period("p", "").ok());
}

TEST(CliNumberText, PrintsAmountsExactly) {
  EXPECT_EQ(format_amount(MilliTokens(0)), "0");
  EXPECT_EQ(format_amount(MilliTokens(1500)), "1.5");
  EXPECT_EQ(format_amount(MilliTokens(-1)), "-0.001");
  EXPECT_EQ(format_amount(MilliTokens(1'050)), "1.05");
  EXPECT_EQ(format_amount(MilliTokens(8'999'999'999'999'999'999)), "8999999999999999.999");
  EXPECT_EQ(format_amount(MilliTokens(std::numeric_limits<std::int64_t>::min())),
            "-9223372036854775.808");
  EXPECT_EQ(format_amount_grouped(MilliTokens(999'000)), "999");
  EXPECT_EQ(format_amount_grouped(MilliTokens(1'000'000)), "1,000");
  EXPECT_EQ(format_amount_grouped(MilliTokens(-1'234'567'890)), "-1,234,567.89");
  EXPECT_EQ(format_amount_grouped(MilliTokens(-123'000)), "-123");
}

TEST(CliNumberText, PrintsDurationsInOneUnit) {
  EXPECT_EQ(format_duration(std::chrono::seconds(90)), "90s");
  EXPECT_EQ(format_duration(std::chrono::seconds(3600)), "1h");
  EXPECT_EQ(format_duration(std::chrono::seconds(604'800)), "7d");
  EXPECT_EQ(format_period(std::chrono::seconds(60)), "min");
  EXPECT_EQ(format_period(std::chrono::seconds(300)), "5min");
  EXPECT_EQ(format_period(std::chrono::seconds(1)), "s");
}

RC_GTEST_PROP(CliNumberTextProperty, AmountsRoundTrip, ()) {
  auto count = *rc::gen::inRange<std::int64_t>(0, kMaxTokens * 1000 + 1);
  RC_ASSERT(milli(format_amount(MilliTokens(count))) == count);
}

RC_GTEST_PROP(CliNumberTextProperty, DurationsRoundTrip, ()) {
  std::chrono::seconds length(*rc::gen::inRange<std::int64_t>(1, 1'000'000'001));
  RC_ASSERT(*parse_duration("d", format_duration(length)) == length);
  RC_ASSERT(*parse_period("p", format_period(length)) == length);
}

}  // namespace
}  // namespace stint::cli
