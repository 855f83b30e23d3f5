// Limits as text: what is read, what is refused, and that printing and reading are inverse.
#include "cli/limit_grammar.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace stint::cli {
namespace {

using std::chrono::seconds;

Limit read(std::string_view text) { return parse_limit(text).value(); }

TEST(CliLimitGrammar, ReadsRates) {
  EXPECT_EQ(read("rpm:60/min"), Limit::per_minute("rpm", 60).value());
  EXPECT_EQ(read("rpm:60/5min:90"), Limit::rate("rpm", 90, 60, seconds(300)).value());
  EXPECT_EQ(read("tpm:1000/90s"), Limit::rate("tpm", 1000, 1000, seconds(90)).value());
  EXPECT_EQ(read("tpm:1_000_000/day"), Limit::per_day("tpm", 1'000'000).value());
}

TEST(CliLimitGrammar, ReadsQuotas) {
  EXPECT_EQ(read("month:500@0 0 1 * *@Europe/Berlin"),
            Limit::calendar("month", 500, "0 0 1 * *", "Europe/Berlin").value());
  EXPECT_EQ(read("twice:5@0 0 * * *;0 12 * * *"),
            Limit::calendar("twice", 5,
                            std::vector<Cron>{Cron::parse("0 0 * * *").value(),
                                              Cron::parse("0 12 * * *").value()},
                            "UTC")
                .value());
  EXPECT_EQ(read("session:10000+5h"), Limit::session("session", 10'000, seconds(18'000)).value());
}

TEST(CliLimitGrammar, ReadsSchedulesAndSoftness) {
  Limit rpm = Limit::per_minute("rpm", 60).value();
  EXPECT_EQ(read("rpm:60/min!soft"), rpm.as_soft());
  EXPECT_EQ(
      read("rpm:60/min|* 9-17 * * MON-FRI=x0.5@America/New_York!soft"),
      rpm.with_schedule({LevelEntry::scaled("* 9-17 * * 1-5", 0.5).value()}, "America/New_York")
          .value()
          .as_soft());
  LevelEntry::Absolute night;
  night.capacity = 90;
  night.refill_amount = 80;
  night.refill_period = seconds(300);
  EXPECT_EQ(read("rpm:60/min|* 9-17 * * *=x2|* 0-6 * * *=capacity:90,refill:80/5min"),
            rpm.with_schedule({LevelEntry::scaled("* 9-17 * * *", 2).value(),
                               LevelEntry::absolute("* 0-6 * * *", night).value()})
                .value());
  // A quota's zone stands once, at its resets.
  EXPECT_EQ(read("day:5@0 0 * * *@Asia/Tokyo|* * * * 6=capacity:9"),
            read("day:5@0 0 * * *@Asia/Tokyo|* * * * 6=capacity:9@Asia/Tokyo"));
}

struct Refusal {
  std::string_view text;
  std::string_view field;
};

TEST(CliLimitGrammar, RefusesWithFieldValueAndReason) {
  const Refusal refusals[] = {
      {"", "limit"},
      {"rpm", "limit"},
      {"rpm:", "limit"},
      {"rpm:60", "limit"},
      {"rpm:60/", "limit.period"},
      {"rpm:60/fortnight", "limit.period"},
      {"rpm:60/min:", "limit.burst"},
      {"rpm:60/min:90:90", "limit.burst"},
      {"rpm:/min", "limit.amount"},
      {"rpm:-1/min", "limit.amount"},
      {"rpm:1.5/min", "limit.amount"},
      {"rpm:1,000/min", "limit.amount"},
      {"rpm:99999999999999999999/min", "limit.amount"},
      {"rpm:60/min:1000000000000001", "limit.capacity"},
      {"rpm:0/min", "limit.capacity"},
      {"session:5+", "limit.duration"},
      {"session:5+5", "limit.duration"},
      {"session:5+0s", "limit.reset_after"},
      {"month:5@", "cron"},
      {"month:5@0 0 1 * * *", "cron"},
      {"month:5@0 0 30 2 *", "cron"},
      {"month:5@* * * * *", "cron"},
      {"month:5@0 0 1 * *@", "zone"},
      {"month:5@0 0 1 * *@Mars/Base", "zone"},
      {"rpm:60/min!hard", "limit"},
      {"rpm:60/min!soft!soft", "limit"},
      {"rpm:60/min|", "limit"},
      {"rpm:60/min|* * * * *", "limit"},
      {"rpm:60/min|0 0 1 * *=", "limit"},
      {"rpm:60/min|0 0 1 * *=x", "limit.scale"},
      {"rpm:60/min|0 0 1 * *=x0", "scale"},
      {"rpm:60/min|0 0 1 * *=x-1", "limit.scale"},
      {"rpm:60/min|0 0 1 * *=burst:3", "limit"},
      {"rpm:60/min|0 0 1 * *=capacity:3,capacity:4", "limit"},
      {"rpm:60/min|0 0 1 * *=refill:3/min,period:5s", "limit"},
      {"session:5+5h|0 0 1 * *=refill:3", "limit.schedule"},
      {"day:5@0 0 * * *@Asia/Tokyo|* * * * 6=capacity:9@UTC", "zone"},
  };
  for (const Refusal& refusal : refusals) {
    Result<Limit> limit = parse_limit(refusal.text);
    ASSERT_FALSE(limit.ok()) << refusal.text;
    EXPECT_EQ(limit.error().code(), ErrorCode::kInvalidArgument) << refusal.text;
    std::string field = limit.error().field();
    // Cron errors name the field of the expression as well.
    EXPECT_EQ(field.substr(0, refusal.field.size()), refusal.field)
        << refusal.text << ": " << limit.error().message();
    EXPECT_FALSE(limit.error().reason().empty()) << refusal.text;
  }
}

TEST(CliLimitGrammar, RefusesReservedAndMalformedNames) {
  for (std::string_view text : {"wcu:1/min", "1rpm:1/min", "r pm:1/min", ":1/min", "r#m:1/min"}) {
    EXPECT_FALSE(parse_limit(text).ok()) << text;
  }
}

rc::Gen<std::string> gen_cron() {
  return rc::gen::element<std::string>("0 0 1 * *", "*/15 * * * *", "* 9-17 * * 1-5", "0 0 * * 7",
                                       "30 2 29 2 *", "0 6,18 * JAN-MAR MON", "0 0 1-7 */2 *");
}

rc::Gen<std::string> gen_zone() {
  return rc::gen::element<std::string>("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata");
}

rc::Gen<std::int64_t> gen_tokens() {
  return rc::gen::oneOf(rc::gen::inRange<std::int64_t>(1, 1000),
                        rc::gen::inRange<std::int64_t>(1, 1'000'000'000'001));
}

rc::Gen<std::int64_t> gen_seconds() {
  return rc::gen::oneOf(rc::gen::element<std::int64_t>(1, 60, 300, 3600, 86'400, 604'800),
                        rc::gen::inRange<std::int64_t>(1, 1'000'000'001));
}

LevelEntry draw_entry(bool quota) {
  std::string cron = *gen_cron();
  if (*rc::gen::arbitrary<bool>()) {
    return LevelEntry::scaled_per_mille(Cron::parse(cron).value(),
                                        *rc::gen::inRange<std::int64_t>(1, 5001))
        .value();
  }
  LevelEntry::Absolute absolute;
  // At least one of the three.
  int parts = quota ? 1 : *rc::gen::inRange(1, 8);
  if (parts & 1) absolute.capacity = *gen_tokens();
  if (parts & 2) absolute.refill_amount = *gen_tokens();
  if (parts & 4) absolute.refill_period = seconds(*gen_seconds());
  return LevelEntry::absolute(cron, absolute).value();
}

Limit draw_limit() {
  std::string name = *rc::gen::element<std::string>("rpm", "a", "tokens.in", "x-y_z9");
  std::string zone = *gen_zone();
  Limit limit = read("placeholder:1/s");
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      limit = Limit::rate(name, *gen_tokens(), *gen_tokens(), seconds(*gen_seconds())).value();
      break;
    case 1: {
      std::vector<Cron> crons;
      for (int i = *rc::gen::inRange(1, 4); i > 0; --i) {
        crons.push_back(Cron::parse(*gen_cron()).value());
      }
      limit = Limit::calendar(name, *gen_tokens(), crons, zone).value();
      break;
    }
    default: limit = Limit::session(name, *gen_tokens(), seconds(*gen_seconds())).value(); break;
  }
  std::vector<LevelEntry> entries;
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) entries.push_back(draw_entry(limit.is_quota()));
  if (!entries.empty()) limit = limit.with_schedule(entries, zone).value();
  return limit.as_soft(*rc::gen::arbitrary<bool>());
}

RC_GTEST_PROP(CliLimitGrammarProperty, PrintsWhatItReads, ()) {
  Limit limit = draw_limit();
  std::string text = format_limit(limit);
  RC_LOG() << text;
  Result<Limit> again = parse_limit(text);
  RC_ASSERT(again.ok());
  RC_ASSERT(*again == limit);
  RC_ASSERT(format_limit(*again) == text);
}

RC_GTEST_PROP(CliLimitGrammarProperty, AnyTextIsReadOrRefused, ()) {
  auto text = *rc::gen::container<std::string>(
      rc::gen::elementOf(std::string("arpm:/@+|=!;,x.*-_ 0159shmincapacityrefillsoft")));
  Result<Limit> limit = parse_limit(text);
  if (limit) {
    RC_ASSERT(parse_limit(format_limit(*limit)).value() == *limit);
  } else {
    RC_ASSERT(limit.error().code() == ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace stint::cli
