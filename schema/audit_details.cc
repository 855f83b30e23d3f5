#include "schema/audit_details.h"

#include <utility>

#include "model/names.h"

namespace stint::schema {
namespace {

using store::Value;

Value thousandths(std::int64_t number) {
  std::string text = std::to_string(number / 1000);
  if (number % 1000 != 0) {
    std::string fraction = std::to_string(1000 + number % 1000).substr(1);
    text += "." + fraction.substr(0, fraction.find_last_not_of('0') + 1);
  }
  return Value::number_text(text);
}

Value seconds(std::chrono::seconds duration) { return Value::number(duration.count()); }

Value level_entry(const LevelEntry& entry, const std::string& zone) {
  Value::Map map;
  map.emplace("cron", Value::string(entry.cron().text()));
  map.emplace("tz", Value::string(zone));
  if (entry.per_mille()) map.emplace("scale", thousandths(*entry.per_mille()));
  const LevelEntry::Absolute& absolute = entry.parameters();
  if (absolute.capacity) map.emplace("capacity", Value::number(absolute.capacity->count()));
  if (absolute.refill_amount) {
    map.emplace("refill_amount", Value::number(absolute.refill_amount->count()));
  }
  if (absolute.refill_period) {
    map.emplace("refill_period_seconds", seconds(*absolute.refill_period));
  }
  return Value::map(std::move(map));
}

Value reset_entry(const Cron& cron, const std::string& zone) {
  Value::Map map;
  map.emplace("cron", Value::string(cron.text()));
  map.emplace("tz", Value::string(zone));
  return Value::map(std::move(map));
}

Value limit_map(const Limit& limit) {
  Value::Map map;
  map.emplace("name", Value::string(limit.name()));
  map.emplace("capacity", Value::number(limit.capacity().count()));
  map.emplace("refill_amount", Value::number(limit.refill_amount().count()));
  map.emplace("refill_period_seconds", seconds(limit.refill_period()));
  if (!limit.schedule().empty()) {
    Value::List entries;
    for (const LevelEntry& entry : limit.schedule()) {
      entries.push_back(level_entry(entry, limit.zone()));
    }
    map.emplace("schedule", Value::list(std::move(entries)));
  }
  if (!limit.resets().empty()) {
    Value::List entries;
    for (const Cron& cron : limit.resets()) entries.push_back(reset_entry(cron, limit.zone()));
    map.emplace("reset_schedule", Value::list(std::move(entries)));
  }
  if (limit.kind() == LimitKind::kSession) {
    map.emplace("reset_after_seconds", seconds(limit.reset_after()));
  }
  if (limit.soft()) map.emplace("soft", Value::boolean(true));
  return Value::map(std::move(map));
}

Value policy(AccessPolicy access) {
  switch (access) {
    case AccessPolicy::kEnforce: return Value::boolean(false);
    case AccessPolicy::kDisabled: return Value::boolean(true);
    case AccessPolicy::kBypass: break;
  }
  return Value::string("bypass");
}

Value on_unavailable_word(const std::optional<OnUnavailable>& policy) {
  if (!policy) return Value::null();
  return Value::string(*policy == OnUnavailable::kAllow ? "allow" : "block");
}

bool is_system(const Scope& scope) { return !scope.is_entity_level() && !scope.names_resource(); }

}  // namespace

std::string audit_subject(const Scope& scope) {
  if (scope.is_entity_level()) return scope.entity_id();
  if (scope.names_resource()) return "$RESOURCE:" + scope.resource_name();
  return "$SYSTEM";
}

std::optional<std::string> audit_resource(const Scope& scope) {
  if (scope.names_resource()) return scope.resource_name();
  if (scope.is_entity_level()) return std::string(model::kDefaultResource);
  return std::nullopt;
}

Value::Map entity_created_details(const EntityRecord& entity) {
  Value::Map details;
  details.emplace("name", Value::string(entity.name));
  details.emplace("parent_id", entity.parent ? Value::string(*entity.parent) : Value::null());
  details.emplace("cascade", Value::boolean(entity.cascade));
  details.emplace("metadata", Value::map(entity.metadata));
  return details;
}

Value::Map entity_deleted_details(std::int64_t records_deleted, bool complete) {
  Value::Map details;
  details.emplace("records_deleted", Value::number(records_deleted));
  details.emplace("complete", Value::boolean(complete));
  return details;
}

Value::Map limits_set_details(const Scope& scope, const LimitsSet& set) {
  Value::Map details;
  if (set.limits) {
    Value::List limits;
    for (const Limit& limit : *set.limits) limits.push_back(limit_map(limit));
    details.emplace("limits", Value::list(std::move(limits)));
  }
  if (is_system(scope)) {
    details.emplace("on_unavailable", on_unavailable_word(set.on_unavailable));
  }
  if (set.access) details.emplace("disabled", policy(*set.access));
  if (set.cascade) details.emplace("cascade", Value::boolean(*set.cascade));
  if (set.access || set.cascade) {
    details.emplace("buckets_stamped", Value::number(set.buckets_stamped));
  }
  return details;
}

Value::Map limits_deleted_details(const Scope& scope, const ScopeConfig& before) {
  Value::Map details;
  if (!is_system(scope)) return details;
  Value::List names;
  for (const Limit& limit : before.limits) names.push_back(Value::string(limit.name()));
  details.emplace("limits", Value::list(std::move(names)));
  details.emplace("on_unavailable", on_unavailable_word(before.on_unavailable));
  return details;
}

}  // namespace stint::schema
