#include "ops/config.h"

#include <algorithm>

#include "model/names.h"
#include "ops/audit.h"
#include "ops/fanout.h"
#include "ops/leg.h"
#include "ops/version.h"
#include "schema/audit_details.h"
#include "schema/keys.h"
#include "schema/records.h"

namespace stint::ops {
namespace {

/// A scope that changes while it is being set is read again so often.
constexpr int kSetAttempts = 5;

Status validate_scope(const Scope& scope) {
  if (scope.is_entity_level()) {
    Status valid = model::validate_entity_id("entity", scope.entity_id());
    if (!valid) return valid;
  }
  if (scope.names_resource()) return model::validate_resource(scope.resource_name());
  return Status();
}

store::Key key_of(const Context& cx, const Scope& scope) {
  return schema::config_key(cx.ns, scope.entity_id(), scope.resource_name());
}

ScopeConfig scope_config(const schema::ConfigRecord& record) {
  ScopeConfig config;
  for (const auto& limit : record.limits) config.limits.push_back(limit->limit());
  config.access = record.access;
  config.cascade = record.cascade;
  config.on_unavailable = record.on_unavailable;
  return config;
}

/// How an entity-level scope is counted in its registry.
std::string_view registry_name(const Scope& scope) {
  return scope.resource_name().empty() ? model::kDefaultResource
                                       : std::string_view(scope.resource_name());
}

/// Own caches must not serve what was just replaced.
void forget_scope(Context& cx, const Scope& scope) {
  if (!scope.is_entity_level()) {
    cx.caches.forget_config(scope.resource_name());
    cx.caches.forget_configs();
  } else if (scope.resource_name().empty()) {
    cx.caches.forget_entity(scope.entity_id());
  } else {
    cx.caches.forget_view(scope.entity_id(), scope.resource_name());
  }
}

/// What a scope says beside its numbers; buckets carry it, so that changes are brought to them.
struct Policies {
  std::optional<AccessPolicy> access;
  std::optional<bool> cascade;
  std::vector<std::string> soft_names;

  explicit Policies(const ScopeConfig& config) : access(config.access), cascade(config.cascade) {
    for (const Limit& limit : config.limits) {
      if (limit.soft()) soft_names.push_back(limit.name());
    }
  }
  bool any() const { return access || cascade || !soft_names.empty(); }
  friend bool operator==(const Policies&, const Policies&) = default;
};

/// Which buckets a change of a scope reaches at once.
bool is_fanned_out(const Scope& scope, const ScopeConfig& before, const ScopeConfig& after) {
  if (scope.is_entity_level()) return true;
  const Policies policies(after);
  if (Policies(before) != policies) return true;
  // The same once more may be the repetition of a call that failed at its buckets. Where no policy
  // is left, their stamps lapse by themselves.
  return policies.any() && before.limits == after.limits;
}

/// What a scope held when it was read.
struct Stored {
  store::ImagePtr image;
  std::shared_ptr<const schema::ConfigRecord> record;  // null when absent or corrupt
  std::optional<Error> corrupt;
};

Op<Result<Stored>> read_scope(Context& cx, const Scope& scope) {
  store::Key key = key_of(cx, scope);
  store::GetRequest request(key, store::Consistency::kStrong);
  auto reply = co_await ask(request);
  if (reply.outcome != store::Outcome::kOk) co_return error_of(reply);
  Stored stored;
  stored.image = reply.image;
  if (!reply.image) co_return stored;
  auto record = schema::decode_config(*reply.image, cx.reset_rule);
  if (record) {
    stored.record = *record;
  } else {
    stored.corrupt = record.error();
  }
  co_return stored;
}

/// Writes the item of an entity-level scope; a new one is counted in its registry. False when the
/// scope has changed since it was read.
Op<Result<bool>> write_entity_scope(Context& cx, const Scope& scope, const Stored& stored,
                                    store::ImagePtr item) {
  store::Condition as_read = schema::same_policies(stored.image.get());
  if (stored.image) {
    store::PutRequest replace(item, &as_read);
    auto replaced = co_await ask(replace);
    if (replaced.outcome == store::Outcome::kConditionFailed) co_return false;
    if (replaced.outcome != store::Outcome::kOk) co_return error_of(replaced);
    co_return true;
  }
  store::Key registry = schema::entity_config_registry_key(cx.ns);
  store::UpdateProgram count = schema::count_in_registry(cx.ns, registry_name(scope), 1);
  std::vector<store::TransactItem> items;
  items.emplace_back(store::PutRequest(item, &as_read));
  items.emplace_back(store::UpdateRequest(registry, count, store::Params()));
  store::TransactRequest create(items, std::string());
  auto created = co_await ask(create);
  if (created.outcome == store::Outcome::kConditionFailed) co_return false;
  if (created.outcome != store::Outcome::kOk) co_return error_of(created);
  co_return true;
}

/// The same at the resource and system levels.
Op<Result<bool>> write_shared_scope(Context& cx, const Scope& scope, const Stored& stored,
                                    store::ImagePtr item) {
  store::Condition as_read = schema::same_policies(stored.image.get());
  store::PutRequest replace(item, &as_read);
  auto replaced = co_await ask(replace);
  if (replaced.outcome == store::Outcome::kConditionFailed) co_return false;
  if (replaced.outcome != store::Outcome::kOk) co_return error_of(replaced);
  if (!scope.names_resource()) co_return true;
  store::Key registry = schema::resource_registry_key(cx.ns);
  store::UpdateProgram listed = schema::list_resource(cx.ns, scope.resource_name());
  store::UpdateRequest update(registry, listed, store::Params());
  auto reply = co_await ask(update);
  if (reply.outcome != store::Outcome::kOk) co_return error_of(reply);
  co_return true;
}

Op<Status> remove_entity_scope(Context& cx, const Scope& scope) {
  store::Key key = key_of(cx, scope);
  store::Key registry = schema::entity_config_registry_key(cx.ns);
  store::UpdateProgram count = schema::count_in_registry(cx.ns, registry_name(scope), -1);
  store::Condition exists;
  exists.require(store::Term{store::Test::kItemExists});
  std::vector<store::TransactItem> items;
  items.emplace_back(store::DeleteRequest(key, &exists));
  items.emplace_back(store::UpdateRequest(registry, count, store::Params()));
  store::TransactRequest remove(items, std::string());
  auto removed = co_await ask(remove);
  if (removed.outcome == store::Outcome::kConditionFailed) {
    co_return Error(ErrorCode::kNotFound, "nothing is configured at this scope");
  }
  if (removed.outcome != store::Outcome::kOk) co_return error_of(removed);
  store::UpdateProgram drop = schema::drop_empty_counter(registry_name(scope));
  store::UpdateRequest update(registry, drop, store::Params());
  auto reply = co_await ask(update);
  bool done =
      reply.outcome == store::Outcome::kOk || reply.outcome == store::Outcome::kConditionFailed;
  if (!done) co_return error_of(reply);
  co_return Status();
}

Op<Status> remove_shared_scope(Context& cx, const Scope& scope) {
  store::Key key = key_of(cx, scope);
  store::Condition exists;
  exists.require(store::Term{store::Test::kItemExists});
  store::DeleteRequest remove(key, &exists);
  auto removed = co_await ask(remove);
  if (removed.outcome == store::Outcome::kConditionFailed) {
    co_return Error(ErrorCode::kNotFound, "nothing is configured at this scope");
  }
  if (removed.outcome != store::Outcome::kOk) co_return error_of(removed);
  if (scope.resource_name().empty()) co_return Status();
  store::Key registry = schema::resource_registry_key(cx.ns);
  store::UpdateProgram unlisted = schema::unlist_resource(scope.resource_name());
  store::UpdateRequest update(registry, unlisted, store::Params());
  auto reply = co_await ask(update);
  if (reply.outcome != store::Outcome::kOk) co_return error_of(reply);
  co_return Status();
}

/// Policies survive a change of limits unless the call says otherwise (rules 1.4).
schema::ConfigRecord with_stored_policies(schema::ConfigRecord record,
                                          const schema::ConfigRecord* stored,
                                          const SetLimitsOptions& options) {
  if (stored != nullptr) {
    record.access = stored->access;
    record.odd_access = stored->odd_access;
    record.cascade = stored->cascade;
    record.on_unavailable = stored->on_unavailable;
    record.audit_retention_days = stored->audit_retention_days;
  }
  if (options.access) {
    record.access = options.access;
    record.odd_access.reset();
  }
  if (options.cascade) record.cascade = options.cascade;
  if (options.on_unavailable) record.on_unavailable = options.on_unavailable;
  return record;
}

/// Stamps the buckets that a change reaches, or counts them.
Op<Result<std::int64_t>> reach_buckets(Context& cx, const Scope& scope, bool dry_run) {
  Result<std::int64_t> reached = co_await stamp_buckets(cx, scope, dry_run);
  if (!reached) {
    cx.report(EventKind::kFanoutIncomplete, scope.entity_id(), scope.resource_name(), {},
              &reached.error());
  }
  co_return reached;
}

/// What a call that set limits says of itself in its audit event.
store::Value::Map details_of(const Scope& scope, const std::vector<Limit>& limits,
                             const SetLimitsOptions& options, const LimitsChange& change) {
  schema::LimitsSet set;
  // A call that sets a policy where there are no limits has nothing to say of limits.
  bool of_limits = !limits.empty() || !change.before.limits.empty();
  if (of_limits) set.limits = limits;
  set.on_unavailable = change.after.on_unavailable;
  set.access = options.access;
  set.cascade = options.cascade;
  set.buckets_stamped = change.buckets;
  return schema::limits_set_details(scope, set);
}

/// Writes the event of a change of limits, also of one whose buckets could not all be reached.
Op<Status> write_limits_event(Context& cx, const Scope& scope, std::string_view action,
                              store::Value::Map details) {
  std::string subject = schema::audit_subject(scope);
  std::optional<std::string> resource = schema::audit_resource(scope);
  Status audited =
      co_await write_event(cx, std::move(subject), std::move(resource), action, std::move(details));
  co_return audited;
}

}  // namespace

ConfigReads::ConfigReads(Context& cx, std::string_view entity, std::string_view resource,
                         bool uncached, TimePoint now)
    : cx_(&cx),
      now_(now),
      levels_{
          Level{ConfigLevel::kEntityResource, std::string(entity), std::string(resource), {}, {}},
          Level{ConfigLevel::kEntity, std::string(entity), std::string(), {}, {}},
          Level{ConfigLevel::kResource, std::string(), std::string(resource), {}, {}},
          Level{ConfigLevel::kSystem, std::string(), std::string(), {}, {}}} {
  for (Level& level : levels_) {
    if (!level.entity.empty()) continue;
    level.known = cx.caches.find_config(level.resource);
    if (uncached || !level.known) continue;
    Millis age = now - level.known->read_at;
    if (age >= Millis(0) && age <= cx.settings.config_ttl) level.cached = level.known;
  }
}

void ConfigReads::append_keys(std::vector<store::Key>& keys) const {
  for (const Level& level : levels_) {
    if (!level.cached) keys.push_back(schema::config_key(cx_->ns, level.entity, level.resource));
  }
}

Result<ResolvedConfig> ConfigReads::resolve(std::span<const store::ImagePtr> images) {
  ResolvedConfig config;
  config.read_at = now_;
  std::size_t next = 0;
  for (Level& level : levels_) {
    std::shared_ptr<const schema::ConfigRecord> record;
    if (level.cached) {
      record = level.cached->record;
      config.read_at = std::min(config.read_at, level.cached->read_at);
    } else {
      const store::ImagePtr& image = images[next++];
      if (image && level.known && level.known->image == image) {
        record = level.known->record;
      } else if (image) {
        auto decoded = schema::decode_config(*image, cx_->reset_rule);
        if (!decoded) return decoded.error();
        record = *decoded;
      }
      if (level.entity.empty()) {
        cx_->caches.put_config(level.resource, Caches::CachedConfig{image, record, now_},
                               cx_->cache_generation);
      }
    }
    if (!record) continue;
    if (!config.record && !record->limits.empty()) {
      config.record = record;
      config.level = level.level;
    }
    if (level.level == ConfigLevel::kSystem) continue;  // it has no policies (rules 5.6)
    if (config.access_level == ConfigLevel::kNone && record->access) {
      config.access = *record->access;
      config.access_level = level.level;
    }
    if (!config.cascade) config.cascade = record->cascade;
  }
  return config;
}

Op<Result<ResolvedConfig>> resolve_config(Context& cx, std::string_view entity,
                                          std::string_view resource) {
  if (Status valid = model::validate_entity_id("entity", entity); !valid) co_return valid.error();
  if (Status valid = model::validate_resource(resource); !valid) co_return valid.error();
  Leg leg(std::make_shared<const BucketNames>(cx.ns, entity, resource, 0));
  TurnRequest no_bucket(std::span<const std::uint64_t>{});
  TimePoint now = co_await turn(no_bucket);
  Reads reads;
  reads.config = true;
  reads.all_levels = true;
  reads.consistency = store::Consistency::kStrong;
  Status read = co_await read_leg(cx, leg, reads, now);
  if (!read) co_return read.error();
  co_return *leg.view.config;
}

Op<Result<ScopeConfig>> get_limits(Context& cx, const Scope& scope) {
  if (Status valid = validate_scope(scope); !valid) co_return valid.error();
  Result<Stored> stored = co_await read_scope(cx, scope);
  if (!stored) co_return stored.error();
  if (!stored->image) co_return Error(ErrorCode::kNotFound, "nothing is configured at this scope");
  if (stored->corrupt) co_return *stored->corrupt;
  co_return scope_config(*stored->record);
}

Op<Result<LimitsChange>> set_limits(Context& cx, const Scope& scope,
                                    const std::vector<Limit>& limits,
                                    const SetLimitsOptions& options) {
  if (Status valid = validate_scope(scope); !valid) co_return valid.error();
  bool is_system = !scope.is_entity_level() && scope.resource_name().empty();
  if (is_system && (options.access || options.cascade)) {
    co_return Error::invalid("scope", "system", "access and cascade are not set for the system");
  }
  if (!is_system && options.on_unavailable) {
    co_return Error::invalid("on_unavailable", "", "is set for the system only");
  }
  if (limits.empty() && !options.access && !options.cascade && !options.on_unavailable) {
    co_return Error::invalid("limits", "", "none given; delete the scope to remove its limits");
  }
  auto compiled = schema::compile_limits(limits, cx.reset_rule);
  if (!compiled) co_return compiled.error();
  if (std::optional<Feature> feature = feature_of(limits, options)) {
    Status allowed = co_await use_feature(cx, *feature, options.dry_run);
    if (!allowed) co_return allowed.error();
  }

  LimitsChange change;
  bool written = false;
  for (int attempt = 0; attempt < kSetAttempts; ++attempt) {
    Result<Stored> stored = co_await read_scope(cx, scope);
    if (!stored) co_return stored.error();
    if (stored->corrupt) co_return *stored->corrupt;
    change = LimitsChange();
    schema::ConfigRecord after = with_stored_policies(**compiled, stored->record.get(), options);
    if (stored->record) change.before = scope_config(*stored->record);
    change.after = scope_config(after);
    if (options.dry_run) break;
    store::ImagePtr item = schema::encode_config(cx.ns, scope, after);
    Result<bool> done = false;
    if (scope.is_entity_level()) {
      done = co_await write_entity_scope(cx, scope, *stored, item);
    } else {
      done = co_await write_shared_scope(cx, scope, *stored, item);
    }
    // Even a write that failed may have been applied.
    forget_scope(cx, scope);
    if (!done) co_return done.error();
    written = *done;
    if (written) break;
    cx.report(EventKind::kConflict, scope.entity_id(), scope.resource_name());
    if (attempt + 1 < kSetAttempts) {
      cx.report(EventKind::kRetry, scope.entity_id(), scope.resource_name());
    }
  }
  if (!written && !options.dry_run) {
    co_return Error(ErrorCode::kConflict, "the scope keeps changing; try again in 100 ms");
  }
  Status reached_all;
  if (is_fanned_out(scope, change.before, change.after)) {
    Result<std::int64_t> reached = co_await reach_buckets(cx, scope, options.dry_run);
    if (reached) {
      change.buckets = *reached;
    } else {
      reached_all = reached.error();
    }
  }
  if (!options.dry_run) {
    store::Value::Map details = details_of(scope, limits, options, change);
    Status audited = co_await write_limits_event(cx, scope, schema::kLimitsSet, std::move(details));
    if (reached_all && !audited) co_return audited.error();
  }
  if (!reached_all) co_return reached_all.error();
  co_return change;
}

Op<Result<LimitsChange>> delete_limits(Context& cx, const Scope& scope, bool dry_run) {
  if (Status valid = validate_scope(scope); !valid) co_return valid.error();
  Result<Stored> stored = co_await read_scope(cx, scope);
  if (!stored) co_return stored.error();
  if (!stored->image) co_return Error(ErrorCode::kNotFound, "nothing is configured at this scope");
  LimitsChange change;
  if (stored->record) change.before = scope_config(*stored->record);
  if (!dry_run) {
    Status removed;
    if (scope.is_entity_level()) {
      removed = co_await remove_entity_scope(cx, scope);
    } else {
      removed = co_await remove_shared_scope(cx, scope);
    }
    // Even a removal that failed may have been applied.
    forget_scope(cx, scope);
    if (!removed) co_return removed.error();
  }
  Status reached_all;
  if (is_fanned_out(scope, change.before, change.after)) {
    Result<std::int64_t> reached = co_await reach_buckets(cx, scope, dry_run);
    if (reached) {
      change.buckets = *reached;
    } else {
      reached_all = reached.error();
    }
  }
  if (!dry_run) {
    store::Value::Map details = schema::limits_deleted_details(scope, change.before);
    Status audited =
        co_await write_limits_event(cx, scope, schema::kLimitsDeleted, std::move(details));
    if (reached_all && !audited) co_return audited.error();
  }
  if (!reached_all) co_return reached_all.error();
  co_return change;
}

}  // namespace stint::ops
