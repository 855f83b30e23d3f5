#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/timezone.h"
#include "base/wide.h"
#include "model/cron_edges.h"
#include "model/names.h"
#include "stint/limit.h"

namespace stint {
namespace {

constexpr std::int64_t kMaxPeriodSeconds = 1'000'000'000;              // rules 3.9
constexpr std::int64_t kMaxPerMille = 1'000'000 * std::int64_t{1000};  // rules 3.9: 10^6

Error invalid_number(std::string field, std::int64_t value, std::string reason) {
  return Error::invalid(std::move(field), std::to_string(value), std::move(reason));
}

Status check_tokens(std::string field, Tokens tokens) {
  if (tokens.count() < 1) {
    return invalid_number(std::move(field), tokens.count(), "must be greater than 0");
  }
  if (tokens.count() > kMaxConfiguredTokens) {
    return invalid_number(std::move(field), tokens.count(),
                          "must be at most " + std::to_string(kMaxConfiguredTokens));
  }
  return {};
}

Status check_seconds(std::string field, std::chrono::seconds period) {
  if (period.count() < 1) {
    return invalid_number(std::move(field), period.count(), "must be at least 1 second");
  }
  if (period.count() > kMaxPeriodSeconds) {
    return invalid_number(std::move(field), period.count(),
                          "must be at most " + std::to_string(kMaxPeriodSeconds) + " seconds");
  }
  return {};
}

Status check_zone(std::string_view zone) {
  Result<TimeZone> found = TimeZone::find(zone);
  if (!found) return found.error();
  return {};
}

bool scaled_beyond_bounds(Tokens tokens, std::int64_t per_mille) {
  return static_cast<Int128>(tokens.count()) * per_mille > static_cast<Int128>(kMaxTokens) * 1000;
}

bool has_zone(const Limit& limit) { return !limit.resets().empty() || !limit.schedule().empty(); }

}  // namespace

Result<LevelEntry> LevelEntry::scaled(std::string_view cron, double scale) {
  char text[32];
  auto end = std::to_chars(text, text + sizeof text, scale).ptr;
  std::string_view shown(text, static_cast<std::size_t>(end - text));
  if (!std::isfinite(scale) || scale <= 0) {
    return Error::invalid("scale", shown, "must be a number greater than 0");
  }
  if (scale > static_cast<double>(kMaxPerMille / 1000)) {
    return Error::invalid("scale", shown, "must be at most 1000000");
  }
  Result<Cron> parsed = Cron::parse(cron);
  if (!parsed) return parsed.error();
  double thousandths = scale * 1000;
  double whole = std::floor(thousandths);
  auto per_mille = static_cast<std::int64_t>(whole);
  double rest = thousandths - whole;
  if (rest > 0.5 || (rest == 0.5 && per_mille % 2 == 1)) ++per_mille;
  return scaled_per_mille(*std::move(parsed), std::max<std::int64_t>(per_mille, 1));
}

Result<LevelEntry> LevelEntry::scaled_per_mille(Cron cron, std::int64_t per_mille) {
  if (per_mille < 1) return invalid_number("scale", per_mille, "must be at least 1 per mille");
  if (per_mille > kMaxPerMille) {
    return invalid_number("scale", per_mille,
                          "must be at most " + std::to_string(kMaxPerMille) + " per mille");
  }
  LevelEntry entry(std::move(cron));
  entry.per_mille_ = per_mille;
  return entry;
}

Result<LevelEntry> LevelEntry::absolute(std::string_view cron, Absolute parameters) {
  Result<Cron> parsed = Cron::parse(cron);
  if (!parsed) return parsed.error();
  return absolute(*std::move(parsed), parameters);
}

Result<LevelEntry> LevelEntry::absolute(Cron cron, Absolute parameters) {
  if (!parameters.capacity && !parameters.refill_amount && !parameters.refill_period) {
    return Error::invalid("limit.schedule", cron.text(),
                          "needs a scale, a capacity, a refill amount or a refill period");
  }
  if (parameters.capacity) {
    if (Status status = check_tokens("limit.capacity", *parameters.capacity); !status) {
      return status.error();
    }
  }
  if (parameters.refill_amount) {
    if (Status status = check_tokens("limit.refill_amount", *parameters.refill_amount); !status) {
      return status.error();
    }
  }
  if (parameters.refill_period) {
    if (Status status = check_seconds("limit.refill_period", *parameters.refill_period); !status) {
      return status.error();
    }
  }
  LevelEntry entry(std::move(cron));
  entry.absolute_ = parameters;
  return entry;
}

std::string_view to_string(LimitKind kind) {
  switch (kind) {
    case LimitKind::kRate: return "rate";
    case LimitKind::kCalendar: return "calendar";
    case LimitKind::kSession: return "session";
  }
  return "unknown";
}

std::string_view to_string(ConfigLevel level) {
  switch (level) {
    case ConfigLevel::kCall: return "call";
    case ConfigLevel::kEntityResource: return "entity_resource";
    case ConfigLevel::kEntity: return "entity";
    case ConfigLevel::kResource: return "resource";
    case ConfigLevel::kSystem: return "system";
    case ConfigLevel::kNone: return "none";
  }
  return "unknown";
}

Result<Limit> Limit::rate(std::string_view name, Tokens capacity, Tokens refill_amount,
                          std::chrono::seconds refill_period) {
  if (Status status = model::validate_limit_name(name); !status) return status.error();
  if (Status status = check_tokens("limit.capacity", capacity); !status) return status.error();
  if (Status status = check_tokens("limit.refill_amount", refill_amount); !status) {
    return status.error();
  }
  if (Status status = check_seconds("limit.refill_period", refill_period); !status) {
    return status.error();
  }
  Limit limit;
  limit.name_ = name;
  limit.kind_ = LimitKind::kRate;
  limit.capacity_ = capacity;
  limit.refill_amount_ = refill_amount;
  limit.refill_period_ = refill_period;
  return limit;
}

Result<Limit> Limit::per_second(std::string_view name, Tokens amount, std::optional<Tokens> burst) {
  return rate(name, burst.value_or(amount), amount, std::chrono::seconds(1));
}

Result<Limit> Limit::per_minute(std::string_view name, Tokens amount, std::optional<Tokens> burst) {
  return rate(name, burst.value_or(amount), amount, std::chrono::minutes(1));
}

Result<Limit> Limit::per_hour(std::string_view name, Tokens amount, std::optional<Tokens> burst) {
  return rate(name, burst.value_or(amount), amount, std::chrono::hours(1));
}

Result<Limit> Limit::per_day(std::string_view name, Tokens amount, std::optional<Tokens> burst) {
  return rate(name, burst.value_or(amount), amount, std::chrono::hours(24));
}

Result<Limit> Limit::calendar(std::string_view name, Tokens capacity, std::string_view cron,
                              std::string_view zone) {
  Result<Cron> parsed = Cron::parse(cron);
  if (!parsed) return parsed.error();
  return calendar(name, capacity, std::vector<Cron>{*std::move(parsed)}, zone);
}

Result<Limit> Limit::calendar(std::string_view name, Tokens capacity, std::vector<Cron> crons,
                              std::string_view zone) {
  if (Status status = model::validate_limit_name(name); !status) return status.error();
  if (Status status = check_tokens("limit.capacity", capacity); !status) return status.error();
  if (crons.empty()) return Error::invalid("cron", "", "a calendar quota needs a reset expression");
  for (const Cron& cron : crons) {
    if (model::always_matches(cron)) {
      return Error::invalid("cron", cron.text(),
                            "matches every minute, so that there is no edge to reset at");
    }
  }
  if (Status status = check_zone(zone); !status) return status.error();
  Limit limit;
  limit.name_ = name;
  limit.kind_ = LimitKind::kCalendar;
  limit.capacity_ = capacity;
  limit.resets_ = std::move(crons);
  limit.zone_ = zone;
  return limit;
}

Result<Limit> Limit::session(std::string_view name, Tokens capacity,
                             std::chrono::seconds reset_after) {
  if (Status status = model::validate_limit_name(name); !status) return status.error();
  if (Status status = check_tokens("limit.capacity", capacity); !status) return status.error();
  if (Status status = check_seconds("limit.reset_after", reset_after); !status) {
    return status.error();
  }
  Limit limit;
  limit.name_ = name;
  limit.kind_ = LimitKind::kSession;
  limit.capacity_ = capacity;
  limit.reset_after_ = reset_after;
  return limit;
}

Result<Limit> Limit::with_schedule(std::vector<LevelEntry> entries, std::string_view zone) const {
  if (entries.empty()) {
    return Error::invalid("limit.schedule", "", "needs at least one entry");
  }
  if (Status status = check_zone(zone); !status) return status.error();
  if (kind_ == LimitKind::kCalendar && zone != zone_) {
    return Error::invalid(
        "zone", zone,
        "differs from the zone of the limit's resets, " + zone_ + "; a limit has one zone");
  }
  for (const LevelEntry& entry : entries) {
    auto refuse = [&](std::string reason) {
      return Error::invalid("limit.schedule", entry.cron().text(), std::move(reason));
    };
    const LevelEntry::Absolute& parameters = entry.parameters();
    if (is_quota() && (parameters.refill_amount || parameters.refill_period)) {
      return refuse("a quota does not refill, so that no refill can be scheduled");
    }
    if (entry.per_mille() && (scaled_beyond_bounds(capacity_, *entry.per_mille()) ||
                              scaled_beyond_bounds(refill_amount_, *entry.per_mille()))) {
      return refuse("scales the limit beyond " + std::to_string(kMaxTokens) + " tokens");
    }
  }
  Limit copy = *this;
  copy.schedule_ = std::move(entries);
  copy.zone_ = zone;
  return copy;
}

Limit Limit::as_soft(bool soft) const {
  Limit copy = *this;
  copy.soft_ = soft;
  return copy;
}

Limit Limit::with_stored_period(std::chrono::seconds period) const {
  assert(is_quota());
  Limit copy = *this;
  copy.refill_period_ = period;
  return copy;
}

LimitList::LimitList(std::initializer_list<Result<Limit>> limits) {
  for (const Result<Limit>& limit : limits) {
    if (!limit) {
      error_ = limit.error();
      limits_.clear();
      return;
    }
    limits_.push_back(*limit);
  }
  check();
}

LimitList::LimitList(std::vector<Limit> limits) : limits_(std::move(limits)) { check(); }

void LimitList::check() {
  if (limits_.size() > model::kMaxLimits) {
    error_ = Error::invalid(
        "limits", std::to_string(limits_.size()),
        "at most " + std::to_string(model::kMaxLimits) + " limits can apply together");
    return;
  }
  const Limit* zoned = nullptr;
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    const Limit& limit = limits_[i];
    for (std::size_t j = 0; j < i; ++j) {
      if (limits_[j].name() == limit.name()) {
        error_ = Error::invalid("limit.name", limit.name(), "given twice");
        return;
      }
    }
    if (!has_zone(limit)) continue;
    if (zoned != nullptr && zoned->zone() != limit.zone()) {
      error_ = Error::invalid("zone", limit.zone(),
                              "limits that apply together share one zone; \"" + zoned->name() +
                                  "\" is in " + zoned->zone());
      return;
    }
    zoned = &limit;
  }
}

}  // namespace stint
