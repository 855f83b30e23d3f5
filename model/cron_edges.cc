#include "model/cron_edges.h"

#include <algorithm>
#include <chrono>

namespace stint::model {
namespace {

constexpr std::int64_t kMinutesPerDay = 1440;

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// A day of the calendar that steps to its neighbours without divisions.
class Day {
 public:
  explicit Day(std::int64_t number) : number_(number) {
    std::chrono::sys_days days{std::chrono::days(number)};
    std::chrono::year_month_day date(days);
    year_ = static_cast<int>(date.year());
    month_ = static_cast<int>(static_cast<unsigned>(date.month()));
    day_ = static_cast<int>(static_cast<unsigned>(date.day()));
    weekday_ = static_cast<int>(std::chrono::weekday(days).c_encoding());
  }

  std::int64_t number() const { return number_; }
  int month() const { return month_; }
  bool matches(const Cron& cron) const { return cron.matches_day(day_, month_, weekday_); }

  void step_forward() { step(1); }
  void step_back() { step(-1); }
  void step_to_next_month() { step(month_length() - day_ + 1); }
  void step_to_first_of_month() { step(1 - day_); }
  bool is_first_of_month() const { return day_ == 1; }

 private:
  // Not beyond a neighbouring month.
  void step(int days) {
    number_ += days;
    day_ += days;
    weekday_ = (weekday_ + days + 35) % 7;
    if (day_ < 1) {
      month_ = month_ == 1 ? 12 : month_ - 1;
      if (month_ == 12) --year_;
      day_ += month_length();
    } else if (int length = month_length(); day_ > length) {
      day_ -= length;
      month_ = month_ == 12 ? 1 : month_ + 1;
      if (month_ == 1) ++year_;
    }
  }
  int month_length() const {
    constexpr int kLengths[] = {0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year_ % 4 == 0 && (year_ % 100 != 0 || year_ % 400 == 0);
    return kLengths[month_] + (month_ == 2 && leap ? 1 : 0);
  }

  std::int64_t number_;
  int year_;
  int month_;
  int day_;
  int weekday_;
};

bool month_matches(const Cron& cron, const Day& day) {
  return cron.months()[static_cast<std::size_t>(day.month())];
}

}  // namespace

bool always_matches(const Cron& cron) {
  if (!cron.minutes().all() || !cron.hours().all()) return false;
  for (int month = 1; month <= 12; ++month) {
    for (int day = 1; day <= 31; ++day) {
      for (int weekday = 0; weekday < 7; ++weekday) {
        if (!cron.matches_day(day, month, weekday)) return false;
      }
    }
  }
  return true;
}

CronEdges::CronEdges(const Cron& cron) : cron_(cron), always_(always_matches(cron)) {
  bool before = false;
  for (std::int16_t minute = 0; minute < kMinutesPerDay; ++minute) {
    bool now = cron.hours()[static_cast<std::size_t>(minute / 60)] &&
               cron.minutes()[static_cast<std::size_t>(minute % 60)];
    if (minute == 0) {
      first_minute_ = now;
    } else if (now != before) {
      (now ? rises_ : falls_).push_back(minute);
    }
    before = now;
  }
  last_minute_ = before;
}

bool CronEdges::matches(std::int64_t local_s) const {
  std::int64_t minute = floor_div(local_s, 60);
  std::int64_t day = floor_div(minute, kMinutesPerDay);
  auto of_day = static_cast<std::size_t>(minute - day * kMinutesPerDay);
  return cron_.hours()[of_day / 60] && cron_.minutes()[of_day % 60] && Day(day).matches(cron_);
}

bool CronEdges::at_midnight(Edge edge, bool day_before, bool day) const {
  bool before = day_before && last_minute_;
  bool after = day && first_minute_;
  return before != after && after == (edge == Edge::kRise);
}

std::optional<std::int64_t> CronEdges::next(Edge edge, std::int64_t local_s,
                                            std::int64_t limit_s) const {
  if (always_) return std::nullopt;
  const std::vector<std::int16_t>& edges = within_day(edge);
  std::int64_t first = floor_div(local_s, 60) + 1;
  Day day(floor_div(first, kMinutesPerDay));
  Day yesterday = day;
  yesterday.step_back();
  bool day_before = yesterday.matches(cron_);
  std::int64_t from = first - day.number() * kMinutesPerDay;
  while (day.number() * kMinutesPerDay * 60 <= limit_s) {
    bool today = day.matches(cron_);
    std::optional<std::int64_t> found;
    if (from == 0 && at_midnight(edge, day_before, today)) {
      found = 0;
    } else if (today) {
      auto it = std::lower_bound(edges.begin(), edges.end(), from);
      if (it != edges.end()) found = *it;
    }
    if (found) {
      std::int64_t at = (day.number() * kMinutesPerDay + *found) * 60;
      if (at > limit_s) return std::nullopt;
      return at;
    }
    day_before = today;
    from = 0;
    if (month_matches(cron_, day)) {
      day.step_forward();
    } else {
      day.step_to_next_month();
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> CronEdges::previous(Edge edge, std::int64_t local_s,
                                                std::int64_t limit_s) const {
  if (always_) return std::nullopt;
  const std::vector<std::int16_t>& edges = within_day(edge);
  std::int64_t last = floor_div(local_s, 60);
  Day day(floor_div(last, kMinutesPerDay));
  bool today = day.matches(cron_);
  std::int64_t to = last - day.number() * kMinutesPerDay;
  while ((day.number() + 1) * kMinutesPerDay * 60 > limit_s) {
    // Within a month that does not match, the month before can end a match, nothing else.
    if (!month_matches(cron_, day) && !day.is_first_of_month()) {
      day.step_to_first_of_month();
      to = 0;
      continue;
    }
    Day yesterday = day;
    yesterday.step_back();
    bool day_before = yesterday.matches(cron_);
    std::optional<std::int64_t> found;
    if (today) {
      auto it = std::upper_bound(edges.begin(), edges.end(), to);
      if (it != edges.begin()) found = *(it - 1);
    }
    if (!found && at_midnight(edge, day_before, today)) found = 0;
    if (found) {
      std::int64_t at = (day.number() * kMinutesPerDay + *found) * 60;
      if (at < limit_s) return std::nullopt;
      return at;
    }
    today = day_before;
    day = yesterday;
    to = kMinutesPerDay - 1;
  }
  return std::nullopt;
}

}  // namespace stint::model
