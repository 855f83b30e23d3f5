// Instants as text, so that a test reads as the table it checks.
#ifndef STINT_TESTS_SUPPORT_INSTANT_H_
#define STINT_TESTS_SUPPORT_INSTANT_H_

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>

#include "stint/time.h"

namespace stint::test {

/// The instant of "2027-03-12T14:00Z", seconds optional.
inline TimePoint instant(const std::string& text) {
  int year = 0, hour = 0, minute = 0, second = 0;
  unsigned month = 0, day = 0;
  int read =
      std::sscanf(text.c_str(), "%d-%u-%uT%d:%d:%d", &year, &month, &day, &hour, &minute, &second);
  EXPECT_GE(read, 5) << text;
  EXPECT_EQ(text.back(), 'Z') << text;
  using namespace std::chrono;
  return sys_days{std::chrono::year(year) / std::chrono::month(month) / std::chrono::day(day)} +
         hours(hour) + minutes(minute) + seconds(second);
}

/// "2027-03-12T14:00Z", with seconds and milliseconds only where they are not 0.
inline std::string show(TimePoint at) {
  using namespace std::chrono;
  auto date = floor<days>(at);
  year_month_day ymd(date);
  hh_mm_ss<Millis> time(at - date);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d", static_cast<int>(ymd.year()),
                static_cast<unsigned>(ymd.month()), static_cast<unsigned>(ymd.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()));
  std::string shown = text;
  if (time.seconds().count() != 0 || time.subseconds().count() != 0) {
    std::snprintf(text, sizeof text, ":%02d.%03d", static_cast<int>(time.seconds().count()),
                  static_cast<int>(time.subseconds().count()));
    shown += text;
  }
  return shown + "Z";
}

inline std::string show(const std::optional<TimePoint>& at) { return at ? show(*at) : "none"; }

}  // namespace stint::test

#endif  // STINT_TESTS_SUPPORT_INSTANT_H_
