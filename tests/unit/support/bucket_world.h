// Limits, buckets and a store for one bucket, for tests of bucket/: no request, no item, no key.
#ifndef STINT_TESTS_UNIT_SUPPORT_BUCKET_WORLD_H_
#define STINT_TESTS_UNIT_SUPPORT_BUCKET_WORLD_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "base/timezone.h"
#include "base/wide.h"
#include "bucket/plan.h"
#include "bucket/state.h"
#include "bucket/worth.h"
#include "model/schedule.h"
#include "stint/limit.h"

namespace stint::bucket::test {

using namespace std::chrono_literals;

inline constexpr std::int64_t kToken = 1000;

constexpr TimePoint utc(int year, unsigned month, unsigned day, Millis time_of_day = Millis(0)) {
  return std::chrono::sys_days(std::chrono::year(year) / static_cast<int>(month) /
                               static_cast<int>(day)) +
         time_of_day;
}

/// A Tuesday noon; no daylight saving, no month's end near.
inline constexpr TimePoint kNoon = utc(2026, 9, 15, 12h);

/// Kept to the end of the program, so that a state may outlive the definition it came from.
template <typename T>
const T* keep(std::shared_ptr<const T> object) {
  static std::vector<std::shared_ptr<const T>> kept;
  kept.push_back(std::move(object));
  return kept.back().get();
}
inline std::string_view keep(std::string_view name) {
  static std::set<std::string, std::less<>> kept;
  return *kept.emplace(name).first;
}

/// A limit as it would be configured.
struct Definition {
  std::string_view name;
  LimitKind kind = LimitKind::kRate;
  Parameters base;
  Millis window_length{0};
  std::vector<LevelEntry> lines;
  std::vector<Cron> crons;
  std::string zone = "UTC";
  const model::LevelSchedule* levels = nullptr;
  const model::ResetSchedule* resets = nullptr;

  Definition with_lines(std::vector<LevelEntry> entries, std::string_view in_zone = "UTC") const {
    Definition copy = *this;
    copy.lines = std::move(entries);
    copy.zone = std::string(in_zone);
    copy.levels = keep<model::LevelSchedule>(
        std::make_shared<model::LevelSchedule>(copy.lines, TimeZone::find(in_zone).value()));
    return copy;
  }
  Definition with_resets(std::string_view cron, std::string_view in_zone = "UTC") const {
    Definition copy = *this;
    copy.crons = {Cron::parse(cron).value()};
    copy.zone = std::string(in_zone);
    copy.resets = keep<model::ResetSchedule>(std::make_shared<model::ResetSchedule>(
        copy.crons, TimeZone::find(in_zone).value(), ResetRule::kLocalDay));
    return copy;
  }

  /// The limit as configured, with a full share of one shard in `shard_count`, no window.
  LimitState state(std::int64_t shard_count = 1) const {
    LimitState limit;
    limit.name = name;
    limit.kind = kind;
    limit.base = base;
    limit.window_length = window_length;
    limit.levels = levels;
    limit.resets = resets;
    limit.balance = base.capacity / shard_count;
    if (limit.is_quota()) limit.grant_count = shard_count;
    return limit;
  }
};

inline Definition rate(std::int64_t capacity, std::int64_t refill, Millis period,
                       std::string_view name = "rate") {
  Definition limit;
  limit.name = keep(name);
  limit.base = {capacity * kToken, refill * kToken, period};
  return limit;
}

inline Definition calendar(std::int64_t capacity, std::string_view cron,
                           std::string_view name = "calendar", std::string_view zone = "UTC") {
  Definition limit;
  limit.name = keep(name);
  limit.kind = LimitKind::kCalendar;
  limit.base = {capacity * kToken, 0, Millis(1000)};
  return limit.with_resets(cron, zone);
}

inline Definition session(std::int64_t capacity, Millis length, std::string_view name = "session") {
  Definition limit;
  limit.name = keep(name);
  limit.kind = LimitKind::kSession;
  limit.base = {capacity * kToken, 0, Millis(1000)};
  limit.window_length = length;
  return limit;
}

inline LevelEntry scaled(std::string_view cron, std::int64_t per_mille) {
  return LevelEntry::scaled_per_mille(Cron::parse(cron).value(), per_mille).value();
}

inline LevelEntry absolute(std::string_view cron, std::optional<std::int64_t> capacity,
                           std::optional<std::int64_t> refill = std::nullopt,
                           std::optional<std::chrono::seconds> period = std::nullopt) {
  LevelEntry::Absolute parameters;
  if (capacity) parameters.capacity = Tokens(*capacity);
  if (refill) parameters.refill_amount = Tokens(*refill);
  parameters.refill_period = period;
  return LevelEntry::absolute(Cron::parse(cron).value(), parameters).value();
}

/// A bucket that was refilled at `now`, to be evaluated at its next touch.
inline BucketState bucket_of(const std::vector<LimitState>& limits, TimePoint now,
                             std::int64_t shard_count = 1) {
  BucketState state;
  state.refilled_at = now;
  state.valid_until = TimePoint{};
  state.shard_count = shard_count;
  state.limits = limits;
  return state;
}

inline std::vector<Worth> evaluate_all(const BucketState& state, TimePoint now) {
  std::vector<Worth> worths;
  for (const LimitState& limit : state.limits) {
    worths.push_back(evaluate(limit, state.refilled_at, state.shard_count, now));
  }
  return worths;
}

/// What the two forms of a write mean to a store, term by term. Reports whether the write landed.
class Table {
 public:
  explicit Table(BucketState state) : item(std::move(state)) {}

  BucketState item;

  bool write(const Plan& plan, const BucketState& image) {
    if (!holds(plan, image)) return false;
    for (const LimitWrite& write : plan.limits) {
      LimitState& limit = item.limits[write.limit];
      if (write.change == BalanceChange::kAdd) limit.balance += write.value;
      if (write.change == BalanceChange::kSet) limit.balance = write.value;
      limit.consumed = saturate(static_cast<Int128>(limit.consumed) + write.consumed);
      if (limit.consumed_at_fanout) *limit.consumed_at_fanout += write.consumed_at_fanout;
      if (write.stamp != nullptr) stamp(*write.stamp, limit);
      if (write.forget_window) {
        limit.window_start.reset();
        limit.window_applied.reset();
      }
      if (write.open_window) limit.window_start = limit.window_applied = plan.now;
      if (write.apply_window) limit.window_applied = limit.window_start;
      if (write.set_grant) limit.grant_count = item.shard_count;
      if (write.clear_top_up) limit.top_up = 0;
      if (plan.form == Form::kLocked) limit.remainder = plan.remainders[write.limit];
    }
    if (plan.form == Form::kLocked) item.refilled_at = plan.refilled_at;
    if (plan.validity == Validity::kSet) item.valid_until = plan.valid_until;
    if (plan.validity == Validity::kRemove) item.valid_until.reset();
    return true;
  }

  bool holds(const Plan& plan, const BucketState& image) const {
    if (plan.form == Form::kLocked) {
      if (item.refilled_at != image.refilled_at || item.valid_until != image.valid_until ||
          item.shard_count != image.shard_count) {
        return false;
      }
    } else {
      if (plan.pin_validity ? item.valid_until != image.valid_until
                            : item.valid_until && *item.valid_until <= plan.now) {
        return false;
      }
      if (plan.refilled_since && item.refilled_at < *plan.refilled_since) return false;
      if (plan.refilled_before && item.refilled_at >= *plan.refilled_before) return false;
    }
    return std::all_of(plan.limits.begin(), plan.limits.end(), [&](const LimitWrite& write) {
      return holds(write, item.limits[write.limit], image.limits[write.limit]);
    });
  }

 private:
  static bool holds(const LimitWrite& write, const LimitState& limit, const LimitState& image) {
    if (write.at_least && limit.balance < *write.at_least) return false;
    if (write.at_most && limit.balance > *write.at_most) return false;
    if (write.exactly && limit.balance != *write.exactly) return false;
    if (write.pin_parameters && !(limit.base == image.base)) return false;
    if (write.pin_window && (limit.window_start != image.window_start ||
                             limit.window_applied != image.window_applied)) {
      return false;
    }
    return !write.pin_resets || limit.resets_taken == image.resets_taken;
  }

  static void stamp(const LimitState& configured, LimitState& limit) {
    limit.kind = configured.kind;
    limit.base = configured.base;
    limit.levels = configured.levels;
    limit.resets = configured.resets;
    limit.window_length = configured.window_length;
    if (!limit.is_quota()) limit.grant_count.reset();
  }
};

inline Demand take(std::size_t limit, std::int64_t amount) { return {limit, amount, true, {}}; }
inline Demand settle(std::size_t limit, std::int64_t amount) { return {limit, amount, false, {}}; }
inline Demand give_back(std::size_t limit, std::int64_t amount,
                        std::optional<PeriodPin> pin = std::nullopt) {
  return {limit, -amount, true, pin};
}

inline Plan locked(const BucketState& image, const std::vector<Demand>& demands, TimePoint now,
                   const std::vector<Stamp>& stamps = {}, const PlanOptions& options = {}) {
  Plan plan;
  plan_locked(image, evaluate_all(image, now), demands, stamps, {}, options, now, plan);
  return plan;
}

inline std::optional<Plan> fast(const BucketState& image, const std::vector<Demand>& demands,
                                TimePoint now, int divisor = 0) {
  PlanOptions options;
  options.burst_tolerance_divisor = divisor;
  Plan plan;
  if (!plan_fast(image, evaluate_all(image, now), demands, options, now, plan)) return std::nullopt;
  return plan;
}

/// The locked form written to `table` as it is.
inline bool pass(Table& table, const std::vector<Demand>& demands, TimePoint now,
                 const std::vector<Stamp>& stamps = {}) {
  return table.write(locked(table.item, demands, now, stamps), table.item);
}

/// Whether every gating demand fits at `now`.
inline bool fits(const BucketState& state, const std::vector<Demand>& demands, TimePoint now) {
  std::vector<Worth> worths = evaluate_all(state, now);
  return std::all_of(demands.begin(), demands.end(), [&](const Demand& demand) {
    return !demand.gates || demand.amount < 0 || worths[demand.limit].balance >= demand.amount;
  });
}

/// One caller's acquire on a bucket without competitors: false when it is short.
inline bool acquire(Table& table, const std::vector<Demand>& demands, TimePoint now,
                    int divisor = 0) {
  if (std::optional<Plan> plan = fast(table.item, demands, now, divisor)) {
    if (table.write(*plan, table.item)) return true;
  }
  return fits(table.item, demands, now) && pass(table, demands, now);
}

}  // namespace stint::bucket::test

#endif  // STINT_TESTS_UNIT_SUPPORT_BUCKET_WORLD_H_
