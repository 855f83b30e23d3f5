#include "cli/instant.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "base/time.h"
#include "cli/replay/time_text.h"

namespace stint::cli {
namespace {

constexpr std::int64_t kSecondMs = 1000;
constexpr std::int64_t kMinuteMs = 60 * kSecondMs;
constexpr std::int64_t kHourMs = 60 * kMinuteMs;
constexpr std::int64_t kDayMs = 24 * kHourMs;
constexpr int kLastYear = 2199;  // the last whole year of the zone data (base/timezone.h)

struct LocalTime {
  std::chrono::year_month_day day;
  std::int64_t hour;
  std::int64_t minute;
  std::int64_t second;
  std::int64_t milli;
  std::int64_t offset_s;
};

LocalTime local_time(TimePoint at, TimeZone zone) {
  std::int64_t offset_s = zone.period_at(at).offset.count();
  TimePoint shifted = at + std::chrono::seconds(offset_s);
  auto day = std::chrono::floor<std::chrono::days>(shifted);
  std::int64_t rest = (shifted - day).count();
  return {std::chrono::year_month_day(day),
          rest / kHourMs,
          rest / kMinuteMs % 60,
          rest / kSecondMs % 60,
          rest % kSecondMs,
          offset_s};
}

std::string format_day(std::chrono::year_month_day day) {
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()),
                     static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
}

TimePoint ceil_to(TimePoint at, std::int64_t unit_ms) {
  std::int64_t ms = to_epoch_ms(at);
  std::int64_t over = ((ms % unit_ms) + unit_ms) % unit_ms;
  return over == 0 ? at : from_epoch_ms(ms - over + unit_ms);
}

std::int64_t ceil_div(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit; }

}  // namespace

Result<TimePoint> parse_instant(std::string_view field, std::string_view text) {
  constexpr TimePoint kEnd = std::chrono::sys_days(std::chrono::year(kLastYear + 1) / 1 / 1);
  std::optional<TimePoint> at = parse_time(text);
  if (at && *at < kEnd) return *at;
  return Error::invalid(std::string(field), text,
                        "must be an instant before the year " + std::to_string(kLastYear + 1) +
                            ", such as 2027-03-14T07:00:00Z, 2027-03-14T08:00+01:00 or "
                            "milliseconds since 1970");
}

std::string format_exact(TimePoint at, TimeZone zone) {
  LocalTime local = local_time(at, zone);
  std::string text = fmt::format("{} {:02}:{:02}:{:02}", format_day(local.day), local.hour,
                                 local.minute, local.second);
  if (local.milli != 0) text += fmt::format(".{:03}", local.milli);
  if (zone.name() == "UTC") return text + " UTC";
  std::int64_t offset_min = std::abs(local.offset_s) / 60;
  return text + fmt::format(" {}{:02}:{:02} {}", local.offset_s < 0 ? '-' : '+', offset_min / 60,
                            offset_min % 60, zone.name());
}

std::string format_moment(TimePoint at, TimePoint now, TimeZone zone) {
  bool soon = at - now < Millis(kHourMs);
  LocalTime local = local_time(ceil_to(at, soon ? kSecondMs : kMinuteMs), zone);
  std::string text;
  if (local.day != local_time(now, zone).day) text = format_day(local.day) + " ";
  text += fmt::format("{:02}:{:02}", local.hour, local.minute);
  if (soon) text += fmt::format(":{:02}", local.second);
  return text + " " + zone.name();
}

std::string format_wait(Millis wait) {
  std::int64_t ms = std::max<std::int64_t>(wait.count(), 0);
  if (ms < kSecondMs) return fmt::format("{} ms", ms);
  if (std::int64_t tenths = ceil_div(ms, 100); tenths < 100) {
    if (tenths % 10 == 0) return fmt::format("{} s", tenths / 10);
    return fmt::format("{}.{} s", tenths / 10, tenths % 10);
  }
  auto two_units = [](std::int64_t small, std::int64_t per_large, std::string_view large_name,
                      std::string_view small_name) {
    std::string text = fmt::format("{} {}", small / per_large, large_name);
    if (small % per_large != 0) text += fmt::format(" {} {}", small % per_large, small_name);
    return text;
  };
  if (std::int64_t seconds = ceil_div(ms, kSecondMs); seconds < 60) {
    return fmt::format("{} s", seconds);
  } else if (seconds < 3600) {
    return two_units(seconds, 60, "min", "s");
  }
  if (std::int64_t minutes = ceil_div(ms, kMinuteMs); minutes < 24 * 60) {
    return two_units(minutes, 60, "h", "min");
  }
  return two_units(ceil_div(ms, kHourMs), 24, "d", "h");
}

}  // namespace stint::cli
