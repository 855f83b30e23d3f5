#include "schema/config_item.h"

#include <algorithm>
#include <cassert>
#include <set>
#include <utility>

#include "base/timezone.h"
#include "model/compact.h"
#include "model/names.h"
#include "schema/attributes.h"
#include "schema/item_reader.h"
#include "schema/keys.h"

namespace stint::schema {
namespace {

const store::AttrId kConfigVersionAttr = store::intern("config_version");
const store::AttrId kOnUnavailableAttr = store::intern("on_unavailable");
const store::AttrId kAuditRetentionAttr = store::intern("audit_retention_days");

constexpr std::string_view kBypass = "bypass";
constexpr std::string_view kAllow = "allow";
constexpr std::string_view kBlock = "block";

// Session limits stand under a prefix of their own, so that readers who do not know them see no
// limit at all instead of one that never recovers.
constexpr std::string_view kPlainPrefix = "l_";
constexpr std::string_view kSessionPrefix = "w_";

constexpr std::int64_t kMaxPeriodSeconds = 1'000'000'000;  // rules 3.9

// One limit's attributes, `{prefix}{limit}_{field}`.
class LimitFields {
 public:
  LimitFields(std::string_view prefix, std::string_view limit) : stem_(prefix) {
    stem_.append(limit).append("_");
  }
  store::AttrId operator()(std::string_view field) const {
    return store::intern(stem_ + std::string(field));
  }

 private:
  std::string stem_;
};

// "rpm" of "l_rpm_cp". Limit names may hold underscores themselves.
std::optional<std::string_view> limit_of(std::string_view attribute, std::string_view prefix,
                                         std::string_view suffix) {
  if (!attribute.starts_with(prefix) || !attribute.ends_with(suffix)) return std::nullopt;
  if (attribute.size() < prefix.size() + suffix.size()) return std::nullopt;
  attribute.remove_prefix(prefix.size());
  attribute.remove_suffix(suffix.size());
  return attribute;
}

// What a factory refuses on its way from an item is the item's fault, not an argument's.
Error in_item(const store::Image& item, std::string_view limit, const Error& error) {
  if (error.code() == ErrorCode::kUnavailable) return error;
  std::string text = "limit \"" + std::string(limit) + "\": ";
  if (error.code() == ErrorCode::kInvalidArgument) {
    text += error.field() + " \"" + error.value() + "\" ";
  }
  return corrupt_item(item, text + error.reason());
}

// The limit without schedule, zone and softness.
Result<Limit> build_limit(std::string_view name, std::int64_t capacity, std::int64_t refill,
                          std::int64_t period, std::optional<std::int64_t> reset_after,
                          std::optional<std::vector<Cron>> resets, std::string_view zone) {
  if (!reset_after && !resets) {
    return Limit::rate(name, capacity, refill, std::chrono::seconds(period));
  }
  if (reset_after && resets) {
    return Error(ErrorCode::kCorrupt, "is both a session and a calendar quota");
  }
  if (refill != 0) {
    return Error(ErrorCode::kCorrupt, "is a quota and has a refill amount");
  }
  if (period < 1 || period > kMaxPeriodSeconds) {
    return Error(ErrorCode::kCorrupt,
                 "has a refill period of " + std::to_string(period) + " seconds");
  }
  Result<Limit> limit = reset_after
                            ? Limit::session(name, capacity, std::chrono::seconds(*reset_after))
                            : Limit::calendar(name, capacity, *std::move(resets), zone);
  if (!limit) return limit.error();
  return limit->with_stored_period(std::chrono::seconds(period));
}

Result<Limit> decode_limit(const store::Image& item, std::string_view name, bool is_session,
                           std::string_view zone) {
  LimitFields field(is_session ? kSessionPrefix : kPlainPrefix, name);
  ItemReader reader(item);
  std::int64_t capacity = reader.number(field("cp"));
  std::int64_t refill = reader.number(field("ra"));
  std::int64_t period = reader.number(field("rp"));
  // Old writers kept session limits under the prefix of the others.
  std::optional<std::int64_t> reset_after = reader.optional_number(field("rsa"));
  if (is_session && !reset_after) reader.fail(field("rsa"), "is missing");
  std::optional<std::string> levels_text = reader.optional_text(field("sched"));
  std::optional<std::string> resets_text = reader.optional_text(field("rsched"));
  bool soft = reader.optional_boolean(field("soft")).value_or(false);
  if (Status status = reader.status(); !status) return status.error();

  auto refuse = [&](const Error& error) { return in_item(item, name, error); };
  std::optional<std::vector<Cron>> resets;
  if (resets_text) {
    Result<std::vector<Cron>> decoded = model::decode_resets(*resets_text);
    if (!decoded) return refuse(decoded.error());
    resets = *std::move(decoded);
  }
  Result<Limit> limit =
      build_limit(name, capacity, refill, period, reset_after, std::move(resets), zone);
  if (!limit) return refuse(limit.error());
  if (levels_text) {
    Result<std::vector<LevelEntry>> levels = model::decode_levels(*levels_text);
    if (!levels) return refuse(levels.error());
    limit = limit->with_schedule(*std::move(levels), zone);
    if (!limit) return refuse(limit.error());
  }
  return limit->as_soft(soft);
}

bool has_zone(const Limit& limit) { return !limit.schedule().empty() || !limit.resets().empty(); }

bool is_entity_item(const store::Image& item) { return item.sk().starts_with(kEntityConfigPrefix); }

Status decode_flags(const store::Image& item, ConfigRecord& config) {
  if (const store::ImageEntry* entry = item.find(kDisabledAttr)) {
    config.access = AccessPolicy::kEnforce;
    if (entry->type() == store::ValueType::kBool) {
      if (entry->number != 0) config.access = AccessPolicy::kDisabled;
    } else if (item.string(kDisabledAttr) == kBypass) {
      config.access = AccessPolicy::kBypass;
    } else {
      config.odd_access = item.value(*entry);
    }
  }
  ItemReader reader(item);
  config.cascade = reader.optional_boolean(kCascadeAttr);
  config.audit_retention_days = reader.optional_number(kAuditRetentionAttr);
  config.config_version = reader.optional_number(kConfigVersionAttr);
  if (std::optional<std::string> text = reader.optional_text(kOnUnavailableAttr)) {
    if (*text == kAllow) {
      config.on_unavailable = OnUnavailable::kAllow;
    } else if (*text == kBlock) {
      config.on_unavailable = OnUnavailable::kBlock;
    } else {
      reader.fail(kOnUnavailableAttr, "is neither \"allow\" nor \"block\"");
    }
  }
  config.listed = !is_entity_item(item) || item.has(store::index_pk(3));
  return reader.status();
}

void encode_limit(const ConfiguredLimit& configured, store::ImageBuilder& item) {
  const Limit& limit = configured.limit();
  bool is_session = limit.kind() == LimitKind::kSession;
  LimitFields field(is_session ? kSessionPrefix : kPlainPrefix, limit.name());
  item.set(field("cp"), limit.capacity().count());
  item.set(field("ra"), limit.refill_amount().count());
  item.set(field("rp"), std::int64_t{limit.refill_period().count()});
  if (is_session) item.set(field("rsa"), std::int64_t{limit.reset_after().count()});
  if (!configured.levels_text().empty()) item.set(field("sched"), configured.levels_text());
  if (!configured.resets_text().empty()) item.set(field("rsched"), configured.resets_text());
  if (limit.soft()) item.set(field("soft"), true);
}

void encode_access(const ConfigRecord& config, store::ImageBuilder& item) {
  if (!config.access) return;
  switch (*config.access) {
    case AccessPolicy::kEnforce:
      item.set(kDisabledAttr, config.odd_access.value_or(store::Value::boolean(false)));
      return;
    case AccessPolicy::kDisabled: item.set(kDisabledAttr, true); return;
    case AccessPolicy::kBypass: item.set(kDisabledAttr, kBypass); return;
  }
}

// Precondition: valid as a `LimitList`.
Result<std::shared_ptr<ConfigRecord>> compile_valid(std::vector<Limit> limits, ResetRule rule) {
  std::sort(limits.begin(), limits.end(),
            [](const Limit& a, const Limit& b) { return a.name() < b.name(); });
  auto config = std::make_shared<ConfigRecord>();
  config->limits.reserve(limits.size());
  for (const Limit& limit : limits) {
    Result<std::shared_ptr<const ConfiguredLimit>> compiled = ConfiguredLimit::compile(limit, rule);
    if (!compiled) return compiled.error();
    config->limits.push_back(*std::move(compiled));
    if (has_zone(limit)) config->zone = limit.zone();
  }
  return config;
}

}  // namespace

const FieldAttrs& ConfiguredLimit::bucket_attrs() const {
  const FieldAttrs* known = bucket_attrs_.load(std::memory_order_acquire);
  if (known == nullptr) {
    auto made = std::make_unique<const FieldAttrs>(field_attrs(limit_.name()));
    if (bucket_attrs_.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel)) {
      known = made.release();
    }
  }
  return *known;
}

Result<std::shared_ptr<const ConfiguredLimit>> ConfiguredLimit::compile(const Limit& limit,
                                                                        ResetRule rule) {
  std::shared_ptr<ConfiguredLimit> compiled(new ConfiguredLimit(limit));
  // Views and pointers of the state refer to the copy that lives as long as the state.
  const Limit& own = compiled->limit_;
  bucket::LimitState& state = compiled->state_;
  state.name = own.name();
  state.kind = own.kind();
  state.base.capacity = own.capacity().count() * 1000;
  state.base.refill = own.refill_amount().count() * 1000;
  state.base.period = own.refill_period();
  state.window_length = own.reset_after();
  if (has_zone(own)) {
    Result<TimeZone> zone = TimeZone::find(own.zone());
    if (!zone) return zone.error();
    if (!own.schedule().empty()) {
      compiled->levels_text_ = model::encode_levels(own.schedule());
      compiled->levels_ = std::make_unique<model::LevelSchedule>(own.schedule(), *zone);
      state.levels = compiled->levels_.get();
    }
    if (!own.resets().empty()) {
      compiled->resets_text_ = model::encode_resets(own.resets());
      compiled->resets_ = std::make_unique<model::ResetSchedule>(own.resets(), *zone, rule);
      state.resets = compiled->resets_.get();
    }
  }
  return std::shared_ptr<const ConfiguredLimit>(std::move(compiled));
}

const ConfiguredLimit* ConfigRecord::find(std::string_view name) const {
  // A dozen at most, so that nothing beats looking at each.
  for (const std::shared_ptr<const ConfiguredLimit>& limit : limits) {
    if (limit->limit().name() == name) return limit.get();
  }
  return nullptr;
}

Result<std::shared_ptr<const ConfigRecord>> decode_config(const store::Image& item,
                                                          ResetRule rule) {
  std::set<std::string_view> plain;
  std::set<std::string_view> sessions;
  for (const store::ImageEntry& entry : item) {
    std::string_view attribute = store::name_of(entry.id());
    if (auto name = limit_of(attribute, kPlainPrefix, "_cp")) plain.insert(*name);
    if (auto name = limit_of(attribute, kSessionPrefix, "_cp")) sessions.insert(*name);
    // A length without a capacity must not pass for no limit at all.
    if (auto name = limit_of(attribute, kSessionPrefix, "_rsa")) sessions.insert(*name);
  }
  for (std::string_view name : sessions) {
    if (plain.contains(name)) {
      return corrupt_item(
          item, "limit \"" + std::string(name) + "\" stands under both prefixes, l_ and w_");
    }
  }
  if (plain.size() + sessions.size() > model::kMaxLimits) {
    return corrupt_item(item, "holds " + std::to_string(plain.size() + sessions.size()) +
                                  " limits; at most " + std::to_string(model::kMaxLimits) +
                                  " can apply together");
  }

  ItemReader reader(item);
  std::optional<std::string> stored_zone = reader.optional_text(kZoneAttr);
  if (Status status = reader.status(); !status) return status.error();
  std::string zone = stored_zone.value_or("UTC");
  std::vector<Limit> limits;
  limits.reserve(plain.size() + sessions.size());
  for (const auto* names : {&plain, &sessions}) {
    for (std::string_view name : *names) {
      Result<Limit> limit = decode_limit(item, name, names == &sessions, zone);
      if (!limit) return limit.error();
      limits.push_back(*std::move(limit));
    }
  }

  Result<std::shared_ptr<ConfigRecord>> config = compile_valid(std::move(limits), rule);
  if (!config) return config.error();
  (*config)->zone_implied = !(*config)->zone.empty() && !stored_zone;
  if (Status status = decode_flags(item, **config); !status) return status.error();
  return std::shared_ptr<const ConfigRecord>(*std::move(config));
}

store::ImagePtr encode_config(std::string_view ns, const Scope& scope, const ConfigRecord& config) {
  store::ImageBuilder item = new_item(config_key(ns, scope.entity_id(), scope.resource_name()), ns);
  if (scope.is_entity_level()) {
    std::string_view resource = scope.resource_name();
    if (resource.empty()) resource = model::kDefaultResource;
    item.set(kEntityIdAttr, scope.entity_id());
    item.set(kResourceAttr, resource);
    if (config.listed) {
      item.set(store::index_pk(3), entity_config_partition(ns, resource));
      item.set(store::index_sk(3), scope.entity_id());
    }
  } else if (!scope.resource_name().empty()) {
    item.set(kResourceAttr, scope.resource_name());
  }
  for (const auto& limit : config.limits) encode_limit(*limit, item);
  if (!config.zone.empty() && !config.zone_implied) item.set(kZoneAttr, config.zone);
  encode_access(config, item);
  if (config.cascade) item.set(kCascadeAttr, *config.cascade);
  if (config.on_unavailable) {
    item.set(kOnUnavailableAttr, *config.on_unavailable == OnUnavailable::kAllow ? kAllow : kBlock);
  }
  if (config.audit_retention_days) item.set(kAuditRetentionAttr, *config.audit_retention_days);
  if (config.config_version) item.set(kConfigVersionAttr, *config.config_version);
  return item.build();
}

Result<std::shared_ptr<const ConfigRecord>> compile_limits(const std::vector<Limit>& limits,
                                                           ResetRule rule) {
  if (store::names_running_out()) {
    return Error(ErrorCode::kUnavailable,
                 "this process has met too many distinct limit names; restart it");
  }
  LimitList list(limits);
  if (list.error()) return *list.error();
  Result<std::shared_ptr<ConfigRecord>> config = compile_valid(limits, rule);
  if (!config) return config.error();
  return std::shared_ptr<const ConfigRecord>(*std::move(config));
}

store::Condition same_policies(const store::Image* item) {
  store::Condition condition;
  if (item == nullptr) {
    condition.require(store::Term{store::Test::kItemAbsent});
    return condition;
  }
  condition.require(store::Term{store::Test::kItemExists});
  for (std::string_view name : {"disabled", "cascade", "on_unavailable", "audit_retention_days"}) {
    store::AttrId attribute = store::intern(name);
    std::optional<store::Value> value = item->value(attribute);
    if (value) {
      condition.require(
          store::Term{store::Test::kEqual, attribute, store::Operand::literal(std::move(*value))});
    } else {
      condition.require(store::Term{store::Test::kAbsent, attribute});
    }
  }
  return condition;
}

}  // namespace stint::schema
