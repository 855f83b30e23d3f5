#include "stint/limiter.h"

#include <utility>

#include "limiter/core.h"
#include "ops/audit.h"
#include "ops/config.h"
#include "ops/entities.h"
#include "ops/inspect.h"

namespace stint {

Limiter::Limiter(Store store, LimiterOptions options)
    : core_(std::make_shared<limiter::Core>(std::move(store), std::move(options))) {}
Limiter::Limiter(std::shared_ptr<limiter::Core> core) : core_(std::move(core)) {}
Limiter::~Limiter() = default;
Limiter::Limiter(Limiter&&) noexcept = default;
Limiter& Limiter::operator=(Limiter&&) noexcept = default;

Result<Decision> Limiter::acquire(const AcquireRequest& request) & {
  return core_->acquire(request);
}

Result<Availability> Limiter::available(std::string_view entity, std::string_view resource,
                                        const std::vector<Consume>& need) {
  return core_->observed_call(entity, resource, [&](ops::Context& cx) {
    return ops::available(cx, entity, resource, need);
  });
}

Result<Explanation> Limiter::explain(std::string_view entity, std::string_view resource) {
  return core_->observed_call(entity, resource,
                              [&](ops::Context& cx) { return ops::explain(cx, entity, resource); });
}

Result<Entity> Limiter::create_entity(std::string_view id, const EntityOptions& options) {
  return core_->observed_call(
      id, {}, [&](ops::Context& cx) { return ops::create_entity(cx, id, options); });
}

Result<Entity> Limiter::get_entity(std::string_view id) {
  return core_->observed_call(id, {}, [&](ops::Context& cx) { return ops::get_entity(cx, id); });
}

Result<EntityPage> Limiter::list_entities(std::optional<std::string> from, int page_size) {
  return core_->observed_call(
      {}, {}, [&](ops::Context& cx) { return ops::list_entities(cx, from, page_size); });
}

Result<EntityPage> Limiter::list_children(std::string_view parent, std::optional<std::string> from,
                                          int page_size) {
  return core_->observed_call(parent, {}, [&](ops::Context& cx) {
    return ops::list_children(cx, parent, from, page_size);
  });
}

Result<std::int64_t> Limiter::delete_entity(std::string_view id) {
  return core_->observed_call(
      id, {}, [&](ops::Context& cx) { return ops::delete_entity(cx, id); },
      limiter::Core::kNoTimeout);
}

Result<LimitsChange> Limiter::set_limits(const Scope& scope, const LimitList& limits,
                                         const SetLimitsOptions& options) {
  if (limits.error()) {
    core_->report_failure(scope.entity_id(), scope.resource_name(), *limits.error());
    return *limits.error();
  }
  return core_->observed_call(
      scope.entity_id(), scope.resource_name(),
      [&](ops::Context& cx) { return ops::set_limits(cx, scope, limits.limits(), options); },
      limiter::Core::kNoTimeout);
}

Result<ScopeConfig> Limiter::get_limits(const Scope& scope) {
  return core_->observed_call(scope.entity_id(), scope.resource_name(),
                              [&](ops::Context& cx) { return ops::get_limits(cx, scope); });
}

Result<LimitsChange> Limiter::delete_limits(const Scope& scope, bool dry_run) {
  return core_->observed_call(
      scope.entity_id(), scope.resource_name(),
      [&](ops::Context& cx) { return ops::delete_limits(cx, scope, dry_run); },
      limiter::Core::kNoTimeout);
}

Result<ResolvedLimits> Limiter::resolve_limits(std::string_view entity, std::string_view resource) {
  Result<ops::ResolvedConfig> config = core_->observed_call(
      entity, resource,
      [&](ops::Context& cx) { return ops::resolve_config(cx, entity, resource); });
  if (!config) return config.error();
  ResolvedLimits resolved;
  resolved.level = config->level;
  if (config->record) {
    for (const auto& limit : config->record->limits) resolved.limits.push_back(limit->limit());
  }
  return resolved;
}

Result<AuditPage> Limiter::list_audit_events(const Scope& scope, std::optional<std::string> from,
                                             int page_size) {
  return core_->observed_call(scope.entity_id(), scope.resource_name(), [&](ops::Context& cx) {
    return ops::list_events(cx, scope, from, page_size);
  });
}

void Limiter::prefetch(std::string_view entity, std::string_view resource) noexcept {
  core_->prefetch(entity, resource);
}

RequestStats Limiter::stats() const { return core_->stats(); }

void Limiter::forget_caches() { core_->forget_caches(); }

}  // namespace stint
