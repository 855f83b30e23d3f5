// What a limit is worth, told a second time and in another way: exact fractions moved forward
// minute by minute, schedules read by matching each minute. Slow, and simple enough to be believed.
#ifndef STINT_TESTS_UNIT_SUPPORT_BUCKET_ORACLE_H_
#define STINT_TESTS_UNIT_SUPPORT_BUCKET_ORACLE_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/wide.h"
#include "stint/time.h"
#include "tests/unit/support/bucket_world.h"

namespace stint::bucket::test {

/// One limit of one unshared bucket. Zones: those without daylight saving.
class Oracle {
 public:
  Oracle(const Definition& definition, std::int64_t shards, TimePoint created, Millis utc_offset)
      : limit_(definition), shards_(shards), at_(created), utc_offset_(utc_offset) {
    Parameters now = in_force(created);
    period_ = now.period.count();
    level_ = static_cast<Int128>(now.capacity) * period_;
  }

  /// Lets time pass. Going back does nothing.
  void advance(TimePoint to) {
    if (to <= at_) return;
    bool changes = !limit_.lines.empty() || !limit_.crons.empty();
    while (at_ < to) {
      TimePoint next = to;
      if (changes) {
        next = std::min<TimePoint>(
            to, std::chrono::floor<std::chrono::minutes>(at_) + std::chrono::minutes(1));
      }
      drip(next - at_);
      at_ = next;
      if (at_ == std::chrono::floor<std::chrono::minutes>(at_) && is_edge(at_)) {
        level_ = static_cast<Int128>(in_force(at_).capacity) * period_;
        ++period_number_;
      }
      adopt(in_force(at_));
    }
  }

  /// Whole milli-tokens at hand; of a session without window what an opening will bring.
  std::int64_t available() const {
    if (limit_.kind == LimitKind::kSession && !running()) return in_force(at_).capacity;
    return static_cast<std::int64_t>(floor_divide(level_, period_));
  }
  /// The fraction of a milli-token beyond `available`, in parts of the period in force.
  std::int64_t fraction() const {
    return static_cast<std::int64_t>(level_ - floor_divide(level_, period_) * period_);
  }
  bool running() const { return window_ && at_ < *window_ + limit_.window_length; }
  std::optional<TimePoint> window_end() const {
    if (!running()) return std::nullopt;
    return *window_ + limit_.window_length;
  }

  /// Counts the windows opened or the edges passed; a credit lands in the period of its debit only.
  int period_number() const { return period_number_; }
  bool takes_credit_of(int period_number) const {
    if (limit_.kind == LimitKind::kSession && !running()) return false;
    return period_number == period_number_;
  }

  void debit(std::int64_t amount) {
    if (limit_.kind == LimitKind::kSession && !running() && amount > 0) {
      window_ = at_;
      ++period_number_;
      level_ = static_cast<Int128>(in_force(at_).capacity) * period_;
    }
    level_ -= static_cast<Int128>(amount) * period_;
  }
  /// Precondition: the period of the debit still runs.
  void credit(std::int64_t amount) {
    level_ += static_cast<Int128>(amount) * period_;
    adopt(in_force(at_));
  }

  /// Other parameters from now on (decision 27); the kind stays.
  void configure(const Definition& definition) {
    std::int64_t before = in_force(at_).capacity;
    if (!running()) window_.reset();
    limit_ = definition;
    Parameters now = in_force(at_);
    if (limit_.kind != LimitKind::kRate) {
      level_ += static_cast<Int128>(now.capacity - before) * period_;
    }
    adopt(now);
    if (!running()) window_.reset();
  }

 private:
  static Int128 floor_divide(Int128 numerator, Int128 denominator) {
    Int128 quotient = numerator / denominator;
    return quotient * denominator > numerator ? quotient - 1 : quotient;
  }

  bool matches(const Cron& cron, TimePoint at) const {
    auto local = std::chrono::floor<std::chrono::minutes>(at + utc_offset_);
    auto day = std::chrono::floor<std::chrono::days>(local);
    std::chrono::year_month_day date(day);
    std::chrono::hh_mm_ss<std::chrono::minutes> time(local - day);
    return cron.matches(static_cast<int>(time.minutes().count()),
                        static_cast<int>(time.hours().count()),
                        static_cast<int>(static_cast<unsigned>(date.day())),
                        static_cast<int>(static_cast<unsigned>(date.month())),
                        static_cast<int>(std::chrono::weekday(day).c_encoding()));
  }

  bool is_edge(TimePoint at) const {
    return std::any_of(limit_.crons.begin(), limit_.crons.end(), [&](const Cron& cron) {
      return matches(cron, at) && !matches(cron, at - std::chrono::minutes(1));
    });
  }

  Parameters in_force(TimePoint at) const {
    Parameters found = limit_.base;
    for (const LevelEntry& line : limit_.lines) {
      if (!matches(line.cron(), at)) continue;
      if (line.per_mille()) {
        auto times = [&](std::int64_t amount) {
          Int128 product = static_cast<Int128>(amount) * *line.per_mille() / 1000;
          return product < 1 ? std::int64_t{1} : static_cast<std::int64_t>(product);
        };
        found.capacity = times(found.capacity);
        if (found.refill != 0) found.refill = times(found.refill);
      } else {
        const LevelEntry::Absolute& given = line.parameters();
        if (given.capacity) found.capacity = given.capacity->count() * kToken;
        if (given.refill_amount) found.refill = given.refill_amount->count() * kToken;
        if (given.refill_period) found.period = *given.refill_period;
      }
      break;
    }
    found.capacity /= shards_;
    found.refill /= shards_;
    return found;
  }

  void drip(Millis elapsed) {
    Parameters now = in_force(at_);
    if (now.refill == 0) return;
    level_ += static_cast<Int128>(now.refill) * elapsed.count();
    level_ = std::min(level_, static_cast<Int128>(now.capacity) * period_);
  }

  void adopt(const Parameters& now) {
    if (now.period.count() != period_) {
      level_ = floor_divide(level_, period_) * now.period.count();
      period_ = now.period.count();
    }
    level_ = std::min(level_, static_cast<Int128>(now.capacity) * period_);
  }

  Definition limit_;
  std::int64_t shards_;
  TimePoint at_;
  Millis utc_offset_;
  std::int64_t period_ = 1;
  Int128 level_ = 0;  // milli-tokens times period
  std::optional<TimePoint> window_;
  int period_number_ = 0;
};

}  // namespace stint::bucket::test

#endif  // STINT_TESTS_UNIT_SUPPORT_BUCKET_ORACLE_H_
