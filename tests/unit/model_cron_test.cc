#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "model/cron_edges.h"
#include "stint/limit.h"
#include "tests/support/cron_oracle.h"

namespace stint {
namespace {

Cron cron(const std::string& text) { return Cron::parse(text).value(); }

std::vector<int> weekdays(const std::string& field) {
  Cron parsed = cron("* * * * " + field);
  std::vector<int> days;
  for (int day = 0; day < 7; ++day) {
    if (parsed.matches_day(1, 1, day)) days.push_back(day);
  }
  return days;
}

std::vector<int> minutes(const std::string& field) {
  Cron parsed = cron(field + " * * * *");
  std::vector<int> found;
  for (int minute = 0; minute < 60; ++minute) {
    if (parsed.matches(minute, 0, 1, 1, 0)) found.push_back(minute);
  }
  return found;
}

TEST(CronParse, AcceptsTheDialect) {
  for (const char* text : {"* * * * *",
                           "0 0 1 1 0",
                           "59 23 31 12 7",
                           "0-59 0-23 1-31 1-12 0-7",
                           "*/15 */6 */2 */3 */2",
                           "5/70 * * * *",
                           "1,2,3-5,10-20/3,40/5 * * * *",
                           "0 0 29 2 *",
                           "0 0 29 FEB *",
                           "0 0 * JAN-MAR MON-FRI",
                           "0 0 * jan,Feb sun,SAT",
                           "  0\t0 *  * *  ",
                           "0 0 * * 5-7",
                           "0 0 * * SUN-THU",
                           "0 0 * * SUN/2",
                           "0 0 * * 7/2",
                           "0 0 * * FRI-7",
                           "* * *,5 * 5",
                           "0 0 30,1 2 *",
                           "0 0 31 1,2 *",
                           "007 00 * * *",
                           "0 0 */2 2 *"}) {
    EXPECT_TRUE(Cron::parse(text).ok()) << text;
  }
}

TEST(CronParse, RefusesTheRest) {
  struct Case {
    const char* text;
    const char* reason;  // a part of it
  };
  const Case cases[] = {
      {"", "five fields"},
      {"* * * *", "five fields"},
      {"* * * * * *", "five fields"},
      {"@daily", "five fields"},
      {"60 * * * *", "minute: 60 is not in 0 to 59"},
      {"* 24 * * *", "hour: 24 is not in 0 to 23"},
      {"* * 0 * *", "day of month: 0 is not in 1 to 31"},
      {"* * 32 * *", "day of month: 32 is not in 1 to 31"},
      {"* * * 0 *", "month: 0 is not in 1 to 12"},
      {"* * * 13 *", "month: 13 is not in 1 to 12"},
      {"* * * * 8", "day of week: 8 is not in 0 to 7"},
      {"*/0 * * * *", "minute: \"*/0\" has the step 0"},
      {"5/0 * * * *", "has the step 0"},
      {"*/ * * * *", "as its step"},
      {"*/x * * * *", "as its step"},
      {"*/-1 * * * *", "as its step"},
      {"1/2/3 * * * *", "as its step"},
      {"30-10 * * * *", "runs backward"},
      {"* * * * SAT-SUN", "runs backward"},
      {"* * * * MON-SUN", "runs backward"},
      {"* * * * 6-0", "runs backward"},
      {"-5 * * * *", "not understood"},
      {"5- * * * *", "not understood"},
      {"1-2-3 * * * *", "not understood"},
      {"*-5 * * * *", "not understood"},
      {"/5 * * * *", "not understood"},
      {"1,,2 * * * *", "not understood"},
      {",1 * * * *", "not understood"},
      {"1, * * * *", "not understood"},
      {"+1 * * * *", "not understood"},
      {"1.5 * * * *", "not understood"},
      {"9999999999999999999 * * * *", "not understood"},
      {"** * * * *", "not understood"},
      {"* * L * *", "not understood"},
      {"* * 15W * *", "not understood"},
      {"* * * * 5#2", "not understood"},
      {"* * ? * *", "not understood"},
      {"* * * * MONDAY", "not understood"},
      {"* * * MON *", "not understood"},
      {"JAN * * * *", "not understood"},
      {"* * * * JAN", "not understood"},
      {"0 0 30 2 *", "no month that is named has a day 30"},
      {"0 0 31 4,6,9,11 *", "no month that is named has a day 31"},
      {"0 0 30-31 FEB MON", "no month that is named has a day 30"},
  };
  for (const Case& c : cases) {
    Result<Cron> parsed = Cron::parse(c.text);
    ASSERT_FALSE(parsed.ok()) << c.text;
    EXPECT_EQ(parsed.error().code(), ErrorCode::kInvalidArgument) << c.text;
    EXPECT_EQ(parsed.error().field(), "cron") << c.text;
    EXPECT_EQ(parsed.error().value(), c.text);
    EXPECT_NE(parsed.error().reason().find(c.reason), std::string::npos)
        << c.text << ": " << parsed.error().reason();
  }
}

TEST(CronParse, P22_SundayIsZeroAndSeven) {
  EXPECT_EQ(weekdays("0"), (std::vector<int>{0}));
  EXPECT_EQ(weekdays("7"), (std::vector<int>{0}));
  EXPECT_EQ(weekdays("SUN"), (std::vector<int>{0}));
  EXPECT_EQ(weekdays("1"), (std::vector<int>{1}));
  EXPECT_EQ(weekdays("MON"), (std::vector<int>{1}));
  EXPECT_EQ(weekdays("SAT"), (std::vector<int>{6}));
  EXPECT_EQ(weekdays("7/2"), (std::vector<int>{0}));
  EXPECT_EQ(weekdays("SUN/2"), (std::vector<int>{0, 2, 4, 6}));
  EXPECT_EQ(weekdays("1/2"), (std::vector<int>{0, 1, 3, 5}));
  EXPECT_EQ(weekdays("SUN-THU"), (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(weekdays("5-7"), (std::vector<int>{0, 5, 6}));
  EXPECT_EQ(weekdays("*/2"), (std::vector<int>{0, 2, 4, 6}));
}

TEST(CronParse, StepsAndLists) {
  EXPECT_EQ(minutes("5/70"), (std::vector<int>{5}));
  EXPECT_EQ(minutes("*/20"), (std::vector<int>{0, 20, 40}));
  EXPECT_EQ(minutes("50/5"), (std::vector<int>{50, 55}));
  EXPECT_EQ(minutes("10-20/5"), (std::vector<int>{10, 15, 20}));
  EXPECT_EQ(minutes("3,1,2-4"), (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(minutes("*/999999999"), (std::vector<int>{0}));
}

TEST(CronParse, DayFieldsCombineByTheirFirstCharacter) {
  // Either suffices where neither begins with a star.
  Cron either = cron("* * 13 * FRI");
  EXPECT_TRUE(either.matches_day(13, 9, 0));
  EXPECT_TRUE(either.matches_day(4, 9, 5));
  EXPECT_FALSE(either.matches_day(4, 9, 4));
  // Both must match where one does, `*/2` and `*,5` included.
  for (const char* text : {"* * */2 * FRI", "* * *,5 * FRI"}) {
    EXPECT_TRUE(cron(text).matches_day(11, 9, 5)) << text;
    EXPECT_FALSE(cron(text).matches_day(11, 9, 4)) << text;
  }
  EXPECT_FALSE(cron("* * 13 * */2").matches_day(13, 9, 1));
  EXPECT_TRUE(cron("* * 13 * */2").matches_day(13, 9, 2));
  EXPECT_FALSE(cron("* * 13 * */2").matches_day(12, 9, 2));
  // `5,*` and `1-31` do not begin with a star.
  EXPECT_TRUE(cron("* * 5,* * FRI").matches_day(11, 9, 1));
  EXPECT_TRUE(cron("* * 1-31 * FRI").matches_day(11, 9, 1));
}

TEST(CronText, IsCanonical) {
  struct Case {
    const char* text;
    const char* canonical;
  };
  const Case cases[] = {
      {" *   * * * * ", "* * * * *"},
      {"*/15 9-17 1,15 JAN-MAR MON-FRI", "*/15 9-17 1,15 1-3 1-5"},
      {"0 0 * dec sun", "0 0 * 12 7"},
      {"0 0 * * SUN/2", "0 0 * * 0/2"},
      {"0 0 * * SUN-THU", "0 0 * * 0-4"},
      {"0 0 * * SAT,SUN", "0 0 * * 6,7"},
      {"0 0 * * 0", "0 0 * * 0"},
      {"0 0 * * 7", "0 0 * * 7"},
      {"007 0 * * *", "007 0 * * *"},
      {"*,5 * * * *", "*,5 * * * *"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(cron(c.text).text(), c.canonical) << c.text;
    EXPECT_EQ(cron(c.canonical).text(), c.canonical);
    EXPECT_EQ(cron(c.text), cron(c.canonical));
  }
  EXPECT_TRUE(cron("* 0 * * *").is_wildcard(0));
  EXPECT_FALSE(cron("* 0 * * *").is_wildcard(1));
  EXPECT_FALSE(cron("*/1 0 * * *").is_wildcard(0));
  EXPECT_EQ(cron("0 1 2 3 4").field(3), "3");
}

RC_GTEST_PROP(CronParse, MatchesWhatItsTextSays, ()) {
  const test::Expression expression = *test::any_expression();
  const Cron parsed = cron(expression.text);
  RC_ASSERT(cron(parsed.text()) == parsed);
  for (int i = 0; i < 200; ++i) {
    const int minute = test::between(0, 60);
    const int hour = test::between(0, 24);
    const int day = test::between(1, 32);
    const int month = test::between(1, 13);
    const int weekday = test::between(0, 7);
    RC_ASSERT(parsed.matches(minute, hour, day, month, weekday) ==
              expression.matches(minute, hour, day, month, weekday));
  }
}

RC_GTEST_PROP(CronParse, AnyTextIsParsedOrRefused, ()) {
  const std::string text = *rc::gen::container<std::string>(
      rc::gen::elementOf(std::string("0123456789*/-, SUNJAFEB#?L\t")));
  Result<Cron> parsed = Cron::parse(text);
  if (parsed.ok()) {
    RC_ASSERT(cron(parsed->text()) == *parsed);
  } else {
    RC_ASSERT(parsed.error().code() == ErrorCode::kInvalidArgument);
    RC_ASSERT(!parsed.error().reason().empty());
  }
}

// Every edge of a fortnight, found from each side, against a walk over its minutes.
RC_GTEST_PROP(CronEdges, AreWhereTheMatchChanges, ()) {
  const test::Expression expression = *test::any_expression();
  const model::CronEdges edges(cron(expression.text));
  const std::int64_t begin = test::between<std::int64_t>(-1'000'000, 30'000'000) * 60;
  const std::int64_t end = begin + 14 * 86'400;
  for (model::Edge edge : {model::Edge::kRise, model::Edge::kFall}) {
    std::vector<std::int64_t> expected;
    for (std::int64_t at = begin + 60; at <= end; at += 60) {
      const bool now = expression.matches_local(at);
      if (now != expression.matches_local(at - 60) && now == (edge == model::Edge::kRise)) {
        expected.push_back(at);
      }
      RC_ASSERT(edges.matches(at + 59) == now);
    }
    std::vector<std::int64_t> forward;
    std::int64_t at = begin;
    while (auto found = edges.next(edge, at, end)) forward.push_back(at = *found);
    RC_ASSERT(forward == expected);
    std::vector<std::int64_t> backward;
    at = end;
    while (auto found = edges.previous(edge, at, begin + 1)) {
      backward.insert(backward.begin(), *found);
      at = *found - 1;
    }
    RC_ASSERT(backward == expected);
  }
}

TEST(CronEdges, LimitsAreInclusive) {
  const model::CronEdges edges(cron("0 0 1 1 *"));
  const std::int64_t new_year_2029 = 1'861'920'000;
  const std::int64_t new_year_2028 = new_year_2029 - 366 * 86'400;
  using model::Edge;
  EXPECT_EQ(edges.next(Edge::kRise, new_year_2028, new_year_2029), new_year_2029);
  EXPECT_EQ(edges.next(Edge::kRise, new_year_2028, new_year_2029 - 1), std::nullopt);
  EXPECT_EQ(edges.next(Edge::kRise, new_year_2028 - 1, new_year_2029), new_year_2028);
  EXPECT_EQ(edges.previous(Edge::kRise, new_year_2029 - 1, new_year_2028), new_year_2028);
  EXPECT_EQ(edges.previous(Edge::kRise, new_year_2029 - 1, new_year_2028 + 1), std::nullopt);
  EXPECT_EQ(edges.previous(Edge::kRise, new_year_2029, 0), new_year_2029);
  EXPECT_EQ(edges.next(Edge::kFall, new_year_2028, new_year_2029), new_year_2028 + 60);
}

}  // namespace
}  // namespace stint
