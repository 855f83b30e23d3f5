// What can be configured: limits of three kinds, their schedules, and where they apply.
// All types here are immutable values; they may be shared between threads freely.
#ifndef STINT_LIMIT_H_
#define STINT_LIMIT_H_

#include <array>
#include <bitset>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stint/amount.h"
#include "stint/export.h"
#include "stint/result.h"
#include "stint/time.h"

namespace stint {

/// A five-field cron expression: minute, hour, day of month, month, day of week.
/// The dialect has lists, ranges, steps and three-letter names; day 0 and 7 are
/// Sunday; where one of the two day fields begins with `*` both must match, otherwise either.
class STINT_EXPORT Cron {
 public:
  /// Errors: `kInvalidArgument` naming the field and what is wrong with it.
  static Result<Cron> parse(std::string_view text);

  /// The expression in canonical form: names replaced by numbers, single spaces.
  std::string text() const;

  /// Whether one minute of a local calendar matches. `weekday` counts from Sunday = 0.
  bool matches(int minute, int hour, int day_of_month, int month, int weekday) const {
    return minutes_[minute] && hours_[hour] && matches_day(day_of_month, month, weekday);
  }
  bool matches_day(int day_of_month, int month, int weekday) const {
    if (!months_[month]) return false;
    bool by_date = days_of_month_[day_of_month];
    bool by_weekday = weekdays_[weekday];
    return both_days_ ? by_date && by_weekday : by_date || by_weekday;
  }
  const std::bitset<60>& minutes() const { return minutes_; }
  const std::bitset<24>& hours() const { return hours_; }
  /// Index 1 to 12.
  const std::bitset<13>& months() const { return months_; }
  /// True when the field is exactly `*`; index 0 to 4 in the order of the expression.
  bool is_wildcard(int field) const { return fields_[field] == "*"; }
  /// The text of one field, names replaced by numbers.
  const std::string& field(int index) const { return fields_[index]; }

  friend bool operator==(const Cron& a, const Cron& b) { return a.fields_ == b.fields_; }

 private:
  Cron() = default;

  std::array<std::string, 5> fields_;
  std::bitset<60> minutes_;
  std::bitset<24> hours_;
  std::bitset<32> days_of_month_;
  std::bitset<13> months_;
  std::bitset<7> weekdays_;
  bool both_days_ = false;
};

/// One line of a level schedule: while `cron` matches the local time, the limit's parameters are
/// scaled, or replaced field by field. The first matching line of a schedule wins.
class STINT_EXPORT LevelEntry {
 public:
  /// Absolute parameters; absent ones stay as configured. At least one must be given.
  struct Absolute {
    std::optional<Tokens> capacity = std::nullopt;
    std::optional<Tokens> refill_amount = std::nullopt;
    std::optional<std::chrono::seconds> refill_period = std::nullopt;
    friend bool operator==(const Absolute&, const Absolute&) = default;
  };

  /// `scale` is held in thousandths, rounded half to even, at least 0.001, at most 10^6.
  static Result<LevelEntry> scaled(std::string_view cron, double scale);
  static Result<LevelEntry> scaled_per_mille(Cron cron, std::int64_t per_mille);
  static Result<LevelEntry> absolute(std::string_view cron, Absolute parameters);
  static Result<LevelEntry> absolute(Cron cron, Absolute parameters);

  const Cron& cron() const { return cron_; }
  /// The scale in thousandths, or nothing for an absolute entry.
  const std::optional<std::int64_t>& per_mille() const { return per_mille_; }
  const Absolute& parameters() const { return absolute_; }

  friend bool operator==(const LevelEntry&, const LevelEntry&) = default;

 private:
  explicit LevelEntry(Cron cron) : cron_(std::move(cron)) {}

  Cron cron_;
  std::optional<std::int64_t> per_mille_;
  Absolute absolute_;
};

enum class LimitKind {
  kRate,      ///< Drips: `refill_amount` every `refill_period`, up to `capacity`.
  kCalendar,  ///< Restored whole at the edges of cron expressions in a time zone.
  kSession,   ///< Restored whole a fixed time after the entity's own first use.
};

/// "rate", "calendar" or "session".
STINT_EXPORT std::string_view to_string(LimitKind kind);

/// A named allowance. Made only by the factories below, which refuse malformed names and amounts
/// or periods out of range with `kInvalidArgument`; so every `Limit` is valid, of exactly one kind.
class STINT_EXPORT Limit {
 public:
  /// A token bucket: holds up to `capacity`, gains `refill_amount` every `refill_period`.
  static Result<Limit> rate(std::string_view name, Tokens capacity, Tokens refill_amount,
                            std::chrono::seconds refill_period);
  /// `amount` every second/minute/hour/day; `burst` (default: `amount`) is the capacity.
  static Result<Limit> per_second(std::string_view name, Tokens amount,
                                  std::optional<Tokens> burst = std::nullopt);
  static Result<Limit> per_minute(std::string_view name, Tokens amount,
                                  std::optional<Tokens> burst = std::nullopt);
  static Result<Limit> per_hour(std::string_view name, Tokens amount,
                                std::optional<Tokens> burst = std::nullopt);
  static Result<Limit> per_day(std::string_view name, Tokens amount,
                               std::optional<Tokens> burst = std::nullopt);
  /// A quota restored at each edge of `cron` in the IANA zone `zone`.
  static Result<Limit> calendar(std::string_view name, Tokens capacity, std::string_view cron,
                                std::string_view zone = "UTC");
  static Result<Limit> calendar(std::string_view name, Tokens capacity, std::vector<Cron> crons,
                                std::string_view zone);
  /// A quota restored `reset_after` (whole seconds) after the first use that follows the end of
  /// the window before. Idle time belongs to no window.
  static Result<Limit> session(std::string_view name, Tokens capacity,
                               std::chrono::seconds reset_after);

  /// A copy with a level schedule. `zone` must equal the zone of a calendar quota's resets.
  Result<Limit> with_schedule(std::vector<LevelEntry> entries, std::string_view zone = "UTC") const;
  /// A copy that is counted, even into debt, but never refuses.
  Limit as_soft(bool soft = true) const;

  const std::string& name() const { return name_; }
  LimitKind kind() const { return kind_; }
  bool is_quota() const { return kind_ != LimitKind::kRate; }
  Tokens capacity() const { return capacity_; }
  /// Zero for quotas.
  Tokens refill_amount() const { return refill_amount_; }
  /// For quotas inert; kept because the table stores one.
  std::chrono::seconds refill_period() const { return refill_period_; }
  /// Zero unless the limit is a session quota.
  std::chrono::seconds reset_after() const { return reset_after_; }
  /// Empty unless the limit is a calendar quota.
  const std::vector<Cron>& resets() const { return resets_; }
  const std::vector<LevelEntry>& schedule() const { return schedule_; }
  /// IANA name shared by schedule and resets; "UTC" when there is neither.
  const std::string& zone() const { return zone_; }
  bool soft() const { return soft_; }

  /// A copy that stores another inert period; only for codecs of items written elsewhere.
  Limit with_stored_period(std::chrono::seconds period) const;

  friend bool operator==(const Limit&, const Limit&) = default;

 private:
  Limit() = default;

  std::string name_;
  LimitKind kind_ = LimitKind::kRate;
  Tokens capacity_;
  Tokens refill_amount_;
  std::chrono::seconds refill_period_{1};
  std::chrono::seconds reset_after_{0};
  std::vector<Cron> resets_;
  std::vector<LevelEntry> schedule_;
  std::string zone_ = "UTC";
  bool soft_ = false;
};

/// A validated set of limits with distinct names, at most 12 of them, sharing one
/// time zone. Built from the results of `Limit`'s factories, it carries the first
/// error of them, so that a braced list needs no checking in between:
///
///     limiter.set_limits("user-1", "api", {Limit::per_minute("rpm", 60),
///                                          Limit::session("session", 10'000, 5h)});
class STINT_EXPORT LimitList {
 public:
  LimitList() = default;
  LimitList(std::initializer_list<Result<Limit>> limits);  // NOLINT: implicit by design
  LimitList(std::vector<Limit> limits);                    // NOLINT: implicit by design

  /// The first error among the elements, or of the set as a whole.
  const std::optional<Error>& error() const { return error_; }
  const std::vector<Limit>& limits() const { return limits_; }

 private:
  void check();

  std::vector<Limit> limits_;
  std::optional<Error> error_;
};

/// Where limits are configured. The highest level that has any limits wins; they are not merged:
/// entity and resource, then entity, then resource, then system.
class STINT_EXPORT Scope {
 public:
  static Scope system() { return Scope(std::nullopt, std::nullopt); }
  static Scope resource(std::string_view resource) { return Scope(std::nullopt, resource); }
  static Scope entity(std::string_view entity) { return Scope(entity, std::nullopt); }
  static Scope entity_resource(std::string_view entity, std::string_view resource) {
    return Scope(entity, resource);
  }

  /// Empty unless the scope names one.
  const std::string& entity_id() const { return entity_; }
  const std::string& resource_name() const { return resource_; }
  /// Whether the scope names an entity, or a resource; also by an empty, hence invalid, name.
  bool is_entity_level() const { return names_entity_; }
  bool names_resource() const { return names_resource_; }

  friend bool operator==(const Scope&, const Scope&) = default;

 private:
  Scope(std::optional<std::string_view> entity, std::optional<std::string_view> resource)
      : entity_(entity.value_or("")),
        resource_(resource.value_or("")),
        names_entity_(entity.has_value()),
        names_resource_(resource.has_value()) {}

  std::string entity_;
  std::string resource_;
  bool names_entity_;
  bool names_resource_;
};

/// The level that limits were found at.
enum class ConfigLevel { kCall, kEntityResource, kEntity, kResource, kSystem, kNone };

/// "call", "entity_resource", "entity", "resource", "system" or "none".
STINT_EXPORT std::string_view to_string(ConfigLevel level);

/// Whether access is enforced, refused or waved through, independent of any balance.
enum class AccessPolicy {
  kEnforce,   ///< Limits apply.
  kDisabled,  ///< Every request is refused.
  kBypass,    ///< Every request passes; consumption is counted, balances do not move.
};

/// What to do when the store fails.
enum class OnUnavailable {
  kBlock,  ///< Report the error.
  kAllow,  ///< Admit with a degraded lease that does nothing.
};

/// How reset edges are read where a time zone skips or repeats a local time.
enum class ResetRule {
  kLocalDay,    ///< A skipped edge happens right after the gap, a repeated one once.
  kCompatible,  ///< A skipped edge does not happen, a repeated one happens twice.
};

}  // namespace stint

#endif  // STINT_LIMIT_H_
