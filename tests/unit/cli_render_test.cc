// Statuses for people and as JSON, and the exit codes.
#include "cli/render.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/time.h"
#include "cli/exit_codes.h"
#include "cli/instant.h"
#include "cli/json_writer.h"

namespace stint::cli {
namespace {

constexpr Terminal kPlain{};
constexpr Terminal kRich{true, true};

TimePoint at(std::string_view text) { return parse_instant("now", text).value(); }

Viewpoint view_from(std::string_view now, std::string_view zone = "UTC") {
  return {at(now), kPlain, TimeZone::find(zone).value()};
}

LimitStatus status_of(LimitKind kind, std::int64_t remaining, std::int64_t capacity) {
  LimitStatus status;
  status.entity = "user-1";
  status.resource = "api";
  status.name = "limit";
  status.kind = kind;
  status.capacity = MilliTokens(capacity * 1000);
  status.remaining = MilliTokens(remaining * 1000);
  return status;
}

std::string bar(std::int64_t remaining, std::int64_t capacity, int width, bool unicode) {
  return format_bar(MilliTokens(remaining), MilliTokens(capacity), width, unicode);
}

TEST(CliRender, WrapsAtSpaces) {
  EXPECT_EQ(wrap("", 10), "");
  EXPECT_EQ(wrap("one two three", 7), "one two\nthree");
  EXPECT_EQ(wrap("one two three", 8, "  "), "one two\n  three");
  EXPECT_EQ(wrap("overlong word", 4), "overlong\nword");
  EXPECT_EQ(wrap("a  b", 80), "a  b");
  EXPECT_EQ(wrap(std::string("in 9") + kNoBreak + "s", 4), "in\n9 s");
  EXPECT_EQ(wrap("░░ ░░", 5), "░░ ░░") << "characters, not bytes";
}

TEST(CliRender, BarsInAscii) {
  EXPECT_EQ(bar(0, 10, 4, false), "....");
  EXPECT_EQ(bar(-5, 10, 4, false), "....");
  EXPECT_EQ(bar(5, 10, 4, false), "##..");
  EXPECT_EQ(bar(10, 10, 4, false), "####");
  EXPECT_EQ(bar(11, 10, 4, false), "####");
  EXPECT_EQ(bar(1, 1'000'000, 4, false), "#...") << "something is not nothing";
  EXPECT_EQ(bar(999'999, 1'000'000, 4, false), "###.") << "nearly full is not full";
  EXPECT_EQ(bar(0, 0, 4, false), "....");
}

TEST(CliRender, BarsInUnicode) {
  EXPECT_EQ(bar(0, 10, 4, true), "░░░░");
  EXPECT_EQ(bar(10, 10, 4, true), "████");
  EXPECT_EQ(bar(5, 10, 4, true), "██░░");
  EXPECT_EQ(bar(9, 16, 2, true), "█▏");
  EXPECT_EQ(bar(1, 1'000'000, 2, true), "▏░");
}

TEST(CliRender, BarsOfTheLargestAmounts) {
  std::int64_t most = kMaxTokens * 1000;
  EXPECT_EQ(bar(most / 2, most, 4, true), "██░░");
  EXPECT_EQ(bar(std::numeric_limits<std::int64_t>::min(), most, 2, false), "..");
}

TEST(CliRender, TablesAlignByCharactersNotBytes) {
  Table table({Table::Align::kLeft, Table::Align::kRight, Table::Align::kLeft});
  table.add({"a", "1", "x"});
  table.add({"█░", "100", ""});
  EXPECT_EQ(table.text(kPlain, "> "), "> a     1  x\n> █░  100\n");
}

TEST(CliRender, TablesShowNoControlCharacters) {
  Table table({Table::Align::kLeft, Table::Align::kLeft});
  table.add({"a\x1b[2J\tb\x7f",
             {"c\xc2\x9b"
              "1m\n",
              Colour::kRed}});
  table.add({"\xc2\xa0\xc3\xa9", "\xc2"});
  EXPECT_EQ(table.text(kPlain, ""), "a?[2J?b?  c?1m?\n\xc2\xa0\xc3\xa9        \xc2\n");
  EXPECT_EQ(table.text(kRich, "").find("\x1b[2J"), std::string::npos);
  EXPECT_NE(table.text(kRich, "").find("\x1b[31mc?1m?\x1b[0m"), std::string::npos);
}

TEST(CliRender, ShellsReadBackWhatIsQuoted) {
  EXPECT_EQ(shell_quoted(R"({"PK":{"S":"a b"}})"), R"('{"PK":{"S":"a b"}}')");
  EXPECT_EQ(shell_quoted("it's"), R"('it'\''s')");
  EXPECT_EQ(shell_quoted(""), "''");
}

TEST(CliRender, ColoursOnlyWhereAllowed) {
  EXPECT_EQ(kPlain.paint(Colour::kRed, "no"), "no");
  EXPECT_EQ(kRich.paint(Colour::kRed, "no"), "\x1b[31mno\x1b[0m");
}

TEST(CliRender, RunningQuotaTellsItsReset) {
  LimitStatus status = status_of(LimitKind::kSession, 8500, 10'000);
  status.window = WindowState::kRunning;
  status.resets_at = at("2026-11-30T13:05:00Z");
  EXPECT_EQ(describe_state(status, view_from("2026-11-30T08:53:00Z", "Europe/Berlin")),
            "resets in 4 h 12 min (14:05 Europe/Berlin)");
}

TEST(CliRender, WindowNotStarted) {
  LimitStatus status = status_of(LimitKind::kSession, 10'000, 10'000);
  status.window = WindowState::kNotStarted;
  EXPECT_EQ(describe_state(status, view_from("2026-11-30T08:53:00Z")), "window not started");
}

TEST(CliRender, ShortRateTellsWhenItFits) {
  LimitStatus status = status_of(LimitKind::kRate, 0, 60);
  status.refill_amount = MilliTokens(60'000);
  status.refill_period = Millis(60'000);
  status.requested = MilliTokens(1200);
  status.exceeded = true;
  status.retry_after = Millis(1200);
  EXPECT_EQ(describe_state(status, view_from("2026-11-30T08:53:00Z")),
            "1.2 short, fits in 1.2 s (08:53:02 UTC), refills 60/min");
}

TEST(CliRender, ShortQuotaTellsItsResetOnce) {
  LimitStatus status = status_of(LimitKind::kCalendar, 3, 10);
  status.requested = MilliTokens(5000);
  status.exceeded = true;
  status.resets_at = at("2026-12-01T00:00:00Z");
  status.retry_after = Millis(3'600'000);
  EXPECT_EQ(describe_state(status, view_from("2026-11-30T23:00:00Z")),
            "2 short, resets in 1 h (2026-12-01 00:00 UTC)");
  // One reset is not enough: the schedule allows so much only later.
  status.retry_after = Millis(7'200'000);
  EXPECT_EQ(describe_state(status, view_from("2026-11-30T23:00:00Z")),
            "2 short, fits in 2 h (2026-12-01 01:00 UTC), resets in 1 h (2026-12-01 00:00 UTC)");
}

TEST(CliRender, NeverFitsAndNothingInReach) {
  LimitStatus status = status_of(LimitKind::kCalendar, 10, 10);
  status.requested = MilliTokens(11'000);
  status.exceeded = true;
  status.never_fits = true;
  EXPECT_EQ(describe_state(status, view_from("2026-11-30T23:00:00Z")),
            "never fits: 11 asked, at most 10 now");
  status.never_fits = false;
  EXPECT_EQ(describe_state(status, view_from("2026-11-30T23:00:00Z")),
            "1 short, no reset in reach");
}

TEST(CliRender, SoftLimitsTellTheirDebt) {
  LimitStatus status = status_of(LimitKind::kSession, -12, 10);
  status.soft = true;
  status.window = WindowState::kNotStarted;
  EXPECT_EQ(describe_state(status, view_from("2026-11-30T23:00:00Z")),
            "soft, overdrawn by 12, window not started");
}

TEST(CliRender, ZonesOfLimitsWhereTheReaderChoseNone) {
  LimitStatus status = status_of(LimitKind::kCalendar, 3, 10);
  status.resets_at = at("2026-12-01T15:00:00Z");
  Viewpoint view{at("2026-12-01T10:00:00Z"), kPlain, std::nullopt};
  EXPECT_EQ(describe_state(status, view), "resets in 5 h (15:00 UTC)");
  view.limit_zones.emplace(std::pair("user-1", "limit"), TimeZone::find("Asia/Tokyo").value());
  EXPECT_EQ(describe_state(status, view), "resets in 5 h (2026-12-02 00:00 Asia/Tokyo)");
  view.zone = TimeZone::find("Europe/Berlin").value();
  EXPECT_EQ(describe_state(status, view), "resets in 5 h (16:00 Europe/Berlin)");
}

TEST(CliRender, WaitsAreShownInTheZoneOfWhatMakesWait) {
  LimitStatus month = status_of(LimitKind::kCalendar, 3, 10);
  month.retry_after = Millis(5000);
  LimitStatus rate = status_of(LimitKind::kRate, 3, 10);
  rate.name = "rate";
  rate.retry_after = Millis(1000);
  Viewpoint view{at("2026-12-01T10:00:00Z"), kPlain, std::nullopt};
  view.limit_zones.emplace(std::pair("user-1", "limit"), TimeZone::find("Asia/Tokyo").value());
  EXPECT_EQ(view.zone_of_wait({rate, month}).name(), "Asia/Tokyo");
  EXPECT_EQ(view.zone_of_wait({rate}).name(), "UTC");
  EXPECT_EQ(view.zone_of_wait({}).name(), "UTC");
}

TEST(CliRender, SeveralBucketsHaveHeadings) {
  LimitStatus child = status_of(LimitKind::kCalendar, 3, 10);
  LimitStatus parent = child;
  parent.entity = "org-1";
  Viewpoint view = view_from("2026-11-30T23:00:00Z");
  EXPECT_EQ(format_statuses({child}, view), "  limit  calendar  3 of 10  ######..............\n");
  EXPECT_EQ(format_statuses({child, parent}, view),
            "user-1 on api:\n"
            "  limit  calendar  3 of 10  ######..............\n"
            "org-1 on api:\n"
            "  limit  calendar  3 of 10  ######..............\n");
  EXPECT_EQ(format_statuses({}, view), "");
}

TEST(CliRender, JsonOfAStatus) {
  LimitStatus status = status_of(LimitKind::kSession, 0, 9'000'000'000'000'000);
  status.remaining = MilliTokens(8'999'999'999'999'998'999);
  status.window = WindowState::kRunning;
  status.resets_at = from_epoch_ms(1'805'007'600'123);
  JsonWriter json;
  write_status(json, status);
  EXPECT_EQ(json.text(),
            "{\"name\":\"limit\",\"entity\":\"user-1\",\"resource\":\"api\",\"kind\":\"session\","
            "\"capacity\":9000000000000000,\"remaining\":8999999999999998.999,\"requested\":0,"
            "\"resets_at_ms\":1805007600123,\"retry_after_ms\":null,\"exceeded\":false,"
            "\"never_fits\":false,\"window\":\"running\",\"refill_amount\":null,"
            "\"refill_period_ms\":null,\"soft\":false,\"overdrawn\":false}");
  EXPECT_TRUE(nlohmann::json::accept(json.text()));
}

TEST(CliRender, JsonEscapesWhateverTextHolds) {
  JsonWriter json;
  json.begin_array();
  json.value(std::string("a\"b\\\n\x01\xff"));
  json.value(true);
  json.value(nullptr);
  json.value(0.5);
  json.begin_object();
  json.end_object();
  json.begin_array();
  json.end_array();
  json.end_array();
  EXPECT_EQ(json.text(), "[\"a\\\"b\\\\\\n\\u0001\xef\xbf\xbd\",true,null,0.5,{},[]]");
}

TEST(CliRender, LimitsInWords) {
  EXPECT_EQ(describe_limit(Limit::rate("r", 90, 60, std::chrono::seconds(300)).value()),
            "rate: 60 flow back every 5 min, at most 90 at once");
  EXPECT_EQ(describe_limit(Limit::per_hour("r", 1000).value()),
            "rate: 1,000 flow back every hour, at most 1,000 at once");
  EXPECT_EQ(describe_limit(Limit::session("s", 10'000, std::chrono::hours(5)).value()),
            "session quota: 10,000, restored whole 5 h after the first use");
  EXPECT_EQ(describe_limit(Limit::calendar("c", 5, "0 0 1 * *", "Asia/Tokyo").value().as_soft()),
            "calendar quota: 5, restored whole at \"0 0 1 * *\" in Asia/Tokyo; soft: counted, even "
            "into debt, but never refuses");
}

TEST(CliExitCodes, AreThoseOfTheDocuments) {
  EXPECT_EQ(exit_code(ErrorCode::kInvalidArgument), 2);
  EXPECT_EQ(exit_code(ErrorCode::kUnavailable), 3);
  EXPECT_EQ(exit_code(ErrorCode::kOutcomeUnknown), 3);
  EXPECT_EQ(exit_code(ErrorCode::kThrottled), 3);
  EXPECT_EQ(exit_code(ErrorCode::kVersionMismatch), 3);
  EXPECT_EQ(exit_code(ErrorCode::kAccessDenied), 3);
  EXPECT_EQ(exit_code(ErrorCode::kNotFound), 4);
  EXPECT_EQ(exit_code(ErrorCode::kExists), 5);
  EXPECT_EQ(exit_code(ErrorCode::kConflict), 5);
  EXPECT_EQ(exit_code(ErrorCode::kCorrupt), 6);
  EXPECT_EQ(exit_code(Outcome::kAdmitted), 0);
  EXPECT_EQ(exit_code(Outcome::kRejected), 10);
  EXPECT_EQ(exit_code(Outcome::kDisabled), 10);
}

}  // namespace
}  // namespace stint::cli
