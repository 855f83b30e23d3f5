// Cron expressions whose meaning is known from the way they were made, and what follows from it
// minute by minute: slow, simple, and independent of the code under test.
#ifndef STINT_TESTS_SUPPORT_CRON_ORACLE_H_
#define STINT_TESTS_SUPPORT_CRON_ORACLE_H_

#include <rapidcheck.h>

#include <cstdint>
#include <ctime>
#include <ostream>
#include <set>
#include <string>

namespace stint::test {

/// A number in [low, high), of the whole range from the first test case on: RapidCheck's own ranges
/// begin narrow.
template <typename Integer>
Integer between(Integer low, Integer high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<Integer>(low, high));
}

struct Expression {
  std::string text;
  std::set<int> minutes;
  std::set<int> hours;
  std::set<int> days;
  std::set<int> months;
  std::set<int> weekdays;
  bool both_days = false;

  bool matches(int minute, int hour, int day, int month, int weekday) const {
    if (!minutes.count(minute) || !hours.count(hour) || !months.count(month)) return false;
    const bool by_date = days.count(day) > 0;
    const bool by_weekday = weekdays.count(weekday) > 0;
    return both_days ? by_date && by_weekday : by_date || by_weekday;
  }

  // Local seconds since 1970-01-01T00:00.
  bool matches_local(std::int64_t local_s) const {
    const std::time_t time = local_s;
    std::tm parts;
    gmtime_r(&time, &parts);
    return matches(parts.tm_min, parts.tm_hour, parts.tm_mday, parts.tm_mon + 1, parts.tm_wday);
  }
};

inline void showValue(const Expression& expression, std::ostream& os) { os << expression.text; }

namespace internal {

struct Field {
  std::string text;
  std::set<int> values;
};

inline Field stepped(const std::string& base, int low, int high, int step) {
  Field field{base, {}};
  for (int value = low; value <= high; value += step) field.values.insert(value);
  return field;
}

// `busy_high`: values up to it are drawn as often as all others together.
inline Field any_item(int low, int high, int busy_high) {
  auto value = [&] {
    return between(0, 2) == 0 ? between(low, busy_high + 1) : between(low, high + 1);
  };
  const int step = between(1, 9);
  const int a = value();
  const int b = between(a, high + 1);
  const std::string from = std::to_string(a);
  switch (between(0, 7)) {
    case 0: return stepped("*/" + std::to_string(step), low, high, step);
    case 1: return stepped(from + "-" + std::to_string(b), a, b, 1);
    case 2: return stepped(from + "-" + std::to_string(b) + "/" + std::to_string(step), a, b, step);
    case 3: return stepped(from + "/" + std::to_string(step), a, high, step);
    default: return stepped(from, a, a, 1);
  }
}

inline Field any_field(int low, int high, int busy_high, int wildcards_in_ten) {
  if (between(0, 10) < wildcards_in_ten) return stepped("*", low, high, 1);
  Field field = any_item(low, high, busy_high);
  if (between(0, 4) == 0) {
    Field other = any_item(low, high, busy_high);
    field.text += "," + other.text;
    field.values.insert(other.values.begin(), other.values.end());
  }
  return field;
}

}  // namespace internal

/// Expressions that Cron accepts; hours are mostly small, where zones shift.
inline rc::Gen<Expression> any_expression() {
  return rc::gen::exec([] {
    const internal::Field minute = internal::any_field(0, 59, 59, 3);
    const internal::Field hour = internal::any_field(0, 23, 3, 2);
    const internal::Field day = internal::any_field(1, 31, 31, 7);
    internal::Field month = internal::any_field(1, 12, 12, 8);
    // Cron refuses days that no chosen month has.
    if (*day.values.begin() > 28) month = internal::stepped("*", 1, 12, 1);
    const internal::Field weekday = internal::any_field(0, 7, 7, 7);
    Expression expression;
    expression.text =
        minute.text + " " + hour.text + " " + day.text + " " + month.text + " " + weekday.text;
    expression.minutes = minute.values;
    expression.hours = hour.values;
    expression.days = day.values;
    expression.months = month.values;
    for (int value : weekday.values) expression.weekdays.insert(value % 7);
    expression.both_days = day.text[0] == '*' || weekday.text[0] == '*';
    return expression;
  });
}

}  // namespace stint::test

#endif  // STINT_TESTS_SUPPORT_CRON_ORACLE_H_
