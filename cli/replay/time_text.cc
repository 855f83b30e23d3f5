#include "cli/replay/time_text.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

namespace stint::cli {
namespace {

constexpr std::int64_t kFirstMs = 0;
constexpr std::int64_t kEndMs = 253'402'300'800'000;  // the year 10000
constexpr std::int64_t kFirstMilliseconds = 100'000'000'000;
constexpr std::int64_t kMinuteMs = 60'000;

constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes text from the front; every function says whether it found what it looks for.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  bool done() const { return rest_.empty(); }
  char peek() const { return rest_.empty() ? '\0' : rest_.front(); }

  bool take(char c) {
    if (peek() != c || done()) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take(std::string_view word) {
    if (rest_.substr(0, word.size()) != word) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  bool number(std::size_t digits, int& value) {
    if (rest_.size() < digits) return false;
    value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      if (!is_digit(rest_[i])) return false;
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(digits);
    return true;
  }
  // At least one digit; thousandths of what the digits after a decimal point say, the rest cut.
  bool fraction(int& thousandths) {
    std::size_t length = 0;
    thousandths = 0;
    for (; length < rest_.size() && is_digit(rest_[length]); ++length) {
      if (length < 3) thousandths = thousandths * 10 + (rest_[length] - '0');
    }
    for (std::size_t i = length; i < 3; ++i) thousandths *= 10;
    rest_.remove_prefix(length);
    return length > 0;
  }
  bool month(int& value) {
    const std::string_view word = rest_.substr(0, 3);
    const auto* found = std::find(kMonths.begin(), kMonths.end(), word);
    if (found == kMonths.end()) return false;
    value = static_cast<int>(found - kMonths.begin()) + 1;
    rest_.remove_prefix(3);
    return true;
  }
  // An offset from UTC in minutes: `Z`, `UTC`, `+hh:mm`, `+hhmm` or `+hh`.
  bool offset(int& minutes) {
    minutes = 0;
    if (take('Z') || take('z') || take("UTC")) return true;
    const bool west = peek() == '-';
    if (!take('+') && !take('-')) return false;
    int hours = 0;
    int rest = 0;
    if (!number(2, hours)) return false;
    if (take(':') ? !number(2, rest) : (is_digit(peek()) && !number(2, rest))) return false;
    if (hours > 23 || rest > 59) return false;
    minutes = (hours * 60 + rest) * (west ? -1 : 1);
    return true;
  }

 private:
  std::string_view rest_;
};

struct Civil {
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int thousandths = 0;
  int offset_minutes = 0;
};

std::optional<TimePoint> in_range(std::int64_t ms) {
  if (ms < kFirstMs || ms >= kEndMs) return std::nullopt;
  return TimePoint(Millis(ms));
}

std::optional<TimePoint> to_time(const Civil& civil) {
  const std::chrono::year_month_day date(std::chrono::year(civil.year),
                                         std::chrono::month(static_cast<unsigned>(civil.month)),
                                         std::chrono::day(static_cast<unsigned>(civil.day)));
  if (!date.ok() || civil.hour > 23 || civil.minute > 59 || civil.second > 60) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t minutes = (days * 24 + civil.hour) * 60 + civil.minute - civil.offset_minutes;
  return in_range(minutes * kMinuteMs + civil.second * 1000 + civil.thousandths);
}

std::optional<TimePoint> parse_iso(Cursor cursor) {
  Civil civil;
  if (!cursor.number(4, civil.year) || !cursor.take('-') || !cursor.number(2, civil.month) ||
      !cursor.take('-') || !cursor.number(2, civil.day)) {
    return std::nullopt;
  }
  if (!cursor.take('T') && !cursor.take('t') && !cursor.take(' ')) return std::nullopt;
  if (!cursor.number(2, civil.hour) || !cursor.take(':') || !cursor.number(2, civil.minute)) {
    return std::nullopt;
  }
  if (cursor.take(':')) {
    if (!cursor.number(2, civil.second)) return std::nullopt;
    if ((cursor.take('.') || cursor.take(',')) && !cursor.fraction(civil.thousandths)) {
      return std::nullopt;
    }
  }
  if (!cursor.done()) {
    cursor.take(' ');
    if (!cursor.offset(civil.offset_minutes) || !cursor.done()) return std::nullopt;
  }
  return to_time(civil);
}

std::optional<TimePoint> parse_log(Cursor cursor) {
  Civil civil;
  if (!cursor.number(2, civil.day) || !cursor.take('/') || !cursor.month(civil.month) ||
      !cursor.take('/') || !cursor.number(4, civil.year) || !cursor.take(':') ||
      !cursor.number(2, civil.hour) || !cursor.take(':') || !cursor.number(2, civil.minute) ||
      !cursor.take(':') || !cursor.number(2, civil.second)) {
    return std::nullopt;
  }
  if (!cursor.done()) {
    if (!cursor.take(' ') || !cursor.offset(civil.offset_minutes) || !cursor.done()) {
      return std::nullopt;
    }
  }
  return to_time(civil);
}

std::optional<TimePoint> parse_epoch(std::string_view text) {
  std::size_t digits = 0;
  std::int64_t whole = 0;
  for (; digits < text.size() && is_digit(text[digits]); ++digits) {
    whole = whole * 10 + (text[digits] - '0');
    if (whole >= kEndMs) return std::nullopt;
  }
  int thousandths = 0;
  Cursor rest(text.substr(digits));
  if (!rest.done() && !(rest.take('.') && rest.fraction(thousandths) && rest.done())) {
    return std::nullopt;
  }
  return in_range(whole < kFirstMilliseconds ? whole * 1000 + thousandths : whole);
}

}  // namespace

std::optional<TimePoint> parse_time(std::string_view text) {
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  if (text.size() > 4 && text[4] == '-') return parse_iso(Cursor(text));
  if (text.size() > 2 && text[2] == '/') return parse_log(Cursor(text));
  return parse_epoch(text);
}

}  // namespace stint::cli
