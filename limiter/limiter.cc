#include "stint/limiter.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <forward_list>
#include <mutex>
#include <utility>

#include "base/hash.h"
#include "base/time.h"
#include "limiter/caches.h"
#include "limiter/driver.h"
#include "limiter/lease_state.h"
#include "limiter/store_handle.h"
#include "limiter/system_clock.h"
#include "limiter/system_seed.h"
#include "model/names.h"
#include "ops/acquire.h"
#include "ops/audit.h"
#include "ops/config.h"
#include "ops/entities.h"
#include "ops/inspect.h"
#include "ops/lease.h"
#include "ops/namespaces.h"

namespace stint {
namespace {

using Steady = std::chrono::steady_clock;

/// A namespace may be deleted and registered anew by another process (decision 24).
constexpr std::chrono::minutes kNamespaceAge{5};

/// Refuses a duration outside [least, most].
Status check_range(const char* field, Millis value, Millis least, Millis most) {
  if (value >= least && value <= most) return Status();
  return Error::invalid(
      field, std::to_string(value.count()) + " ms",
      "must be " + std::to_string(least.count()) + " to " + std::to_string(most.count()) + " ms");
}

/// Names of the cloud's own pass; others are like ids.
Status check_principal(const std::string& principal) {
  if (!principal.starts_with("arn:")) return model::validate_entity_id("principal", principal);
  constexpr std::size_t kMostBytes = 2048;
  bool clean =
      std::all_of(principal.begin(), principal.end(), [](char c) { return c >= ' ' && c != 0x7f; });
  if (clean && principal.size() <= kMostBytes) return Status();
  return Error::invalid("principal", principal,
                        "must not exceed 2048 bytes or hold control characters");
}

Status check_options(const LimiterOptions& options) {
  constexpr Millis kDay{86'400'000};
  constexpr Millis kCentury = 36'525 * kDay;
  if (Status s = model::validate_namespace(options.name_space); !s) return s;
  if (Status s = check_range("config_ttl", options.config_ttl, Millis(0), kCentury); !s) return s;
  if (Status s = check_range("rejection_ttl", options.rejection_ttl, Millis(0), kDay); !s) return s;
  if (Status s = check_range("stamp_ttl", options.stamp_ttl, Millis(10'000), kDay); !s) return s;
  if (Status s = check_range("timeout", options.timeout, Millis(1), kDay); !s) return s;
  constexpr int kMostMultiplier = 1000;
  if (options.ttl_multiplier < 0 || options.ttl_multiplier > kMostMultiplier) {
    return Error::invalid("ttl_multiplier", std::to_string(options.ttl_multiplier),
                          "must be 0 to 1000");
  }
  if (options.principal) {
    if (Status s = check_principal(*options.principal); !s) return s;
  }
  if (options.max_views < 1) return Error::invalid("max_views", "0", "must be at least 1");
  return Status();
}

/// Tells the limiters of this process apart, so that those with one seed draw other numbers.
std::uint64_t limiters_made() {
  static std::atomic<std::uint64_t> count{0};
  return count.fetch_add(1, std::memory_order_relaxed);
}

/// Administration may touch many buckets, one after the other; it is not bound by the timeout of a
/// call.
constexpr Millis kAdministrationTimeout{86'400'000};

Rejection to_rejection(std::vector<LimitStatus> limits) {
  Rejection rejection;
  rejection.retry_after = Millis(0);
  for (const LimitStatus& status : limits) {
    if (!status.exceeded) continue;
    rejection.never_fits = rejection.never_fits || status.never_fits;
    if (!status.retry_after) {
      rejection.retry_after.reset();
    } else if (rejection.retry_after) {
      rejection.retry_after = std::max(*rejection.retry_after, *status.retry_after);
    }
  }
  rejection.limits = std::move(limits);
  return rejection;
}

bool is_store_failure(ErrorCode code) {
  return code == ErrorCode::kUnavailable || code == ErrorCode::kThrottled ||
         code == ErrorCode::kOutcomeUnknown || code == ErrorCode::kCorrupt;
}

}  // namespace

class Limiter::Impl final : public internal::LeaseEnder {
 public:
  Impl(Store store, LimiterOptions options)
      : store_(std::move(store)),
        options_(std::move(options)),
        options_status_(check_options(options_)),
        clock_(options_.clock != nullptr ? options_.clock : &system_clock_),
        times_store_(options_.observer != nullptr && options_.observer->times_store()),
        caches_(options_.max_views),
        seed_(mix_hash(options_.seed ? *options_.seed : limiter::system_seed(), limiters_made())) {
    settings_.config_ttl = options_.config_ttl;
    settings_.rejection_ttl = options_.rejection_ttl;
    settings_.stamp_ttl = options_.stamp_ttl;
    settings_.ttl_multiplier = options_.ttl_multiplier;
    settings_.audit = options_.audit;
    settings_.principal = options_.principal;
  }

  /// Runs `make(context)` to its end. The result's error type is `Error`.
  template <typename Make>
  auto call(const Make& make, std::optional<Millis> timeout = std::nullopt,
            Steady::time_point start = Steady::now())
      -> decltype(make(std::declval<ops::Context&>()).take_result()) {
    if (!options_status_) return options_status_.error();
    // Seeds of calls must not meet those of another limiter: equal nonces would be taken for one.
    Random random(mix_hash(seed_, calls_.fetch_add(1, std::memory_order_relaxed)));
    Steady::time_point deadline = start + timeout.value_or(options_.timeout);
    std::uint64_t cache_generation = caches_.generation();
    Result<const std::string*> ns = name_space(start, deadline, random);
    if (!ns) return ns.error();
    const StoreHandle& handle = *store_.handle();
    for (;;) {
      ops::Context cx{**ns,
                      handle.engine->capabilities(),
                      handle.record.reset_rule,
                      handle.record.burst_tolerance_divisor,
                      settings_,
                      caches_,
                      random,
                      options_.observer};
      limiter::DriverSetup setup = driver_setup(deadline, cx.past_deadline_allowed);
      cx.shared_table = handle.is_shared_table();
      cx.cache_generation = cache_generation;
      setup.store_asked = &cx.store_asked;
      setup.turn_missed = &cx.turn_missed;
      auto result = limiter::run(make(cx), setup);
      if (!cx.bucket_vanished) return result;
      // Perhaps because its namespace was purged; then the name may stand for another by now.
      forget_name_space(*ns);
      if (result.ok() || result.error().code() != ErrorCode::kInvalidArgument) return result;
      cache_generation = caches_.generation();
      Result<const std::string*> present = name_space(start, deadline, random);
      if (!present || **present == **ns) return result;
      ns = present;
    }
  }

  /// The same, and tells the observer of an error. `entity` and `resource` are what the call is
  /// about, as far as it is about one of them.
  template <typename Make>
  auto observed_call(std::string_view entity, std::string_view resource, const Make& make,
                     std::optional<Millis> timeout = std::nullopt)
      -> decltype(call(make, timeout)) {
    auto result = call(make, timeout);
    if (!result.ok()) report_failure(entity, resource, result.error());
    return result;
  }
  void report_failure(std::string_view entity, std::string_view resource, const Error& error) {
    report(
        {.kind = EventKind::kCallFailed, .entity = entity, .resource = resource, .error = &error});
  }

  Result<Decision> acquire(const AcquireRequest& request) {
    Status valid = ops::validate_acquire(request);
    Steady::time_point start = Steady::now();
    if (valid && known_name_space(start) == nullptr) {
      // Looking the namespace up may write, which no call with a wrong name may.
      valid = ops::validate_names(request);
    }
    if (!valid) return failed_acquire(request, valid.error());
    internal::LeaseStatePtr lease = internal::new_lease_state(*this);
    Result<ops::Acquired> acquired =
        call([&](ops::Context& cx) { return ops::acquire(cx, request, lease->record()); },
             request.timeout, start);
    if (!acquired) return failed_acquire(request, acquired.error());
    switch (acquired->outcome) {
      case Outcome::kRejected: {
        Rejection rejection = to_rejection(std::move(acquired->limits));
        if (options_.observer != nullptr) {
          report_rejection(request, rejection, acquired->from_memory);
        }
        return Decision::rejected(std::move(rejection));
      }
      case Outcome::kDisabled:
        report(EventKind::kDisabled, request);
        return Decision::disabled(std::move(acquired->disabled->entity), request.resource,
                                  std::move(acquired->disabled->level));
      case Outcome::kAdmitted: break;
    }
    report(EventKind::kAdmitted, request);
    return Decision::admitted(std::move(acquired->limits), Lease(std::move(lease)));
  }

  Status settle_lease(ops::LeaseRecord& lease) override {
    return end_lease(EventKind::kSettled, lease,
                     [&](ops::Context& cx) { return ops::settle(cx, lease); });
  }
  Status roll_back_lease(ops::LeaseRecord& lease) override {
    return end_lease(EventKind::kRolledBack, lease,
                     [&](ops::Context& cx) { return ops::roll_back(cx, lease); });
  }
  void report_lease_trouble(const ops::LeaseRecord& lease, const Error& error) noexcept override {
    report(about(EventKind::kLeaseTrouble, lease, &error));
  }

  void prefetch(std::string_view entity, std::string_view resource) noexcept {
    caches_.prefetch(entity, resource, *store_.handle()->engine);
  }
  RequestStats stats() const { return counters_.total(); }
  void forget_caches() { caches_.clear(); }

 private:
  /// Callers of all limiters of one store in this process share its queues.
  limiter::BucketQueues& queues() { return store_.handle()->queues; }

  limiter::DriverSetup driver_setup(Steady::time_point deadline,
                                    const bool& past_deadline_allowed) {
    return {.engine = *store_.handle()->engine,
            .clock = *clock_,
            .queues = queues(),
            .counters = counters_,
            .deadline = deadline,
            .past_deadline_allowed = past_deadline_allowed,
            .observer = options_.observer,
            .times_store = times_store_};
  }

  /// The id of the namespace, which lives as long as this object.
  Result<const std::string*> name_space(Steady::time_point at, Steady::time_point deadline,
                                        Random& random) {
    if (const std::string* known = known_name_space(at)) return known;
    std::lock_guard lock(resolving_);
    if (const std::string* known = known_name_space(at)) return known;
    bool no_exemption = false;
    limiter::DriverSetup setup = driver_setup(deadline, no_exemption);
    Result<std::string> id =
        limiter::run(ops::resolve_namespace(options_.name_space, random, clock_->now()), setup);
    if (!id) return id.error();
    const std::string* before = name_space_.load(std::memory_order_relaxed);
    if (before == nullptr || *before != *id) {
      auto known = std::find(name_spaces_.begin(), name_spaces_.end(), *id);
      name_space_.store(
          known != name_spaces_.end() ? &*known : &name_spaces_.emplace_front(std::move(*id)),
          std::memory_order_release);
      // Afterwards: who has learnt the former id by now remembers nothing by it.
      if (before != nullptr) caches_.clear();
    }
    resolved_at_.store(at.time_since_epoch().count(), std::memory_order_release);
    return name_space_.load(std::memory_order_relaxed);
  }

  /// Null when it was never looked up, or too long ago.
  const std::string* known_name_space(Steady::time_point at) const {
    Steady::duration resolved_at(resolved_at_.load(std::memory_order_acquire));
    if (at.time_since_epoch() - resolved_at >= kNamespaceAge) return nullptr;
    return name_space_.load(std::memory_order_acquire);
  }

  Result<Decision> failed_acquire(const AcquireRequest& request, const Error& error) {
    OnUnavailable policy = request.on_unavailable.value_or(OnUnavailable::kBlock);
    if (!request.on_unavailable) {
      std::optional<ops::Caches::CachedConfig> system = caches_.find_config("");
      if (system && system->record) {
        policy = system->record->on_unavailable.value_or(OnUnavailable::kBlock);
      }
    }
    if (!is_store_failure(error.code()) || policy == OnUnavailable::kBlock) {
      report(EventKind::kCallFailed, request, &error);
      return error;
    }
    report(EventKind::kDegraded, request, &error);
    internal::LeaseStatePtr lease = internal::new_lease_state(*this);
    lease->set_degraded();
    return Decision::admitted({}, Lease(std::move(lease)));
  }

  template <typename Make>
  Status end_lease(EventKind kind, const ops::LeaseRecord& lease, const Make& make) {
    Status done = call(make);
    if (done) {
      report(about(kind, lease));
    } else {
      report(about(EventKind::kCallFailed, lease, &done.error()));
    }
    return done;
  }

  void report(const Event& event) {
    if (options_.observer != nullptr) options_.observer->on_event(event);
  }

  void report(EventKind kind, const AcquireRequest& request, const Error* error = nullptr) {
    report({.kind = kind, .entity = request.entity, .resource = request.resource, .error = error});
  }

  /// The names that a lease's first bucket has are those that it was acquired with.
  static Event about(EventKind kind, const ops::LeaseRecord& lease, const Error* error = nullptr) {
    Event event{.kind = kind, .error = error};
    if (!lease.legs.empty()) {
      event.entity = lease.legs.front().names->entity;
      event.resource = lease.legs.front().names->resource;
    }
    return event;
  }

  void report_rejection(const AcquireRequest& request, const Rejection& rejection,
                        bool from_memory) {
    Event event{.kind = EventKind::kRejected,
                .from_memory = from_memory,
                .entity = request.entity,
                .resource = request.resource};
    for (const LimitStatus& status : rejection.limits) {
      if (!status.exceeded) continue;
      event.limit = status.name;
      break;
    }
    report(event);
    for (const LimitStatus& status : rejection.limits) {
      if (!status.exceeded) continue;
      report({.kind = EventKind::kLimitExceeded,
              .from_memory = from_memory,
              .entity = status.entity,
              .resource = status.resource,
              .limit = status.name,
              .requested = status.requested});
    }
  }

  /// The next call looks the name up again.
  void forget_name_space(const std::string* id) {
    std::lock_guard lock(resolving_);
    if (name_space_.load(std::memory_order_relaxed) != id) return;
    resolved_at_.store(Steady::duration::min().count() / 2, std::memory_order_release);
  }

  Store store_;
  LimiterOptions options_;
  Status options_status_;
  limiter::SystemClock system_clock_;
  Clock* clock_;
  bool times_store_;
  ops::Settings settings_;
  limiter::Caches caches_;
  limiter::RequestCounters counters_;
  std::uint64_t seed_;
  std::atomic<std::uint64_t> calls_{0};
  std::mutex resolving_;
  std::forward_list<std::string> name_spaces_;  // all ids there ever were, guarded by `resolving_`
  std::atomic<const std::string*> name_space_{nullptr};  // one of them
  std::atomic<Steady::rep> resolved_at_{Steady::duration::min().count() / 2};
};

Limiter::Limiter(Store store, LimiterOptions options)
    : impl_(std::make_unique<Impl>(std::move(store), std::move(options))) {}
Limiter::~Limiter() = default;
Limiter::Limiter(Limiter&&) noexcept = default;
Limiter& Limiter::operator=(Limiter&&) noexcept = default;

Result<Decision> Limiter::acquire(const AcquireRequest& request) { return impl_->acquire(request); }

Result<Availability> Limiter::available(std::string_view entity, std::string_view resource,
                                        const std::vector<Consume>& need) {
  return impl_->observed_call(entity, resource, [&](ops::Context& cx) {
    return ops::available(cx, entity, resource, need);
  });
}

Result<Explanation> Limiter::explain(std::string_view entity, std::string_view resource) {
  return impl_->observed_call(entity, resource,
                              [&](ops::Context& cx) { return ops::explain(cx, entity, resource); });
}

Result<Entity> Limiter::create_entity(std::string_view id, const EntityOptions& options) {
  return impl_->observed_call(
      id, {}, [&](ops::Context& cx) { return ops::create_entity(cx, id, options); });
}

Result<Entity> Limiter::get_entity(std::string_view id) {
  return impl_->observed_call(id, {}, [&](ops::Context& cx) { return ops::get_entity(cx, id); });
}

Result<EntityPage> Limiter::list_entities(std::optional<std::string> from, int page_size) {
  return impl_->observed_call(
      {}, {}, [&](ops::Context& cx) { return ops::list_entities(cx, from, page_size); });
}

Result<EntityPage> Limiter::list_children(std::string_view parent, std::optional<std::string> from,
                                          int page_size) {
  return impl_->observed_call(parent, {}, [&](ops::Context& cx) {
    return ops::list_children(cx, parent, from, page_size);
  });
}

Result<std::int64_t> Limiter::delete_entity(std::string_view id) {
  return impl_->observed_call(
      id, {}, [&](ops::Context& cx) { return ops::delete_entity(cx, id); }, kAdministrationTimeout);
}

Result<LimitsChange> Limiter::set_limits(const Scope& scope, const LimitList& limits,
                                         const SetLimitsOptions& options) {
  if (limits.error()) {
    impl_->report_failure(scope.entity_id(), scope.resource_name(), *limits.error());
    return *limits.error();
  }
  return impl_->observed_call(
      scope.entity_id(), scope.resource_name(),
      [&](ops::Context& cx) { return ops::set_limits(cx, scope, limits.limits(), options); },
      kAdministrationTimeout);
}

Result<ScopeConfig> Limiter::get_limits(const Scope& scope) {
  return impl_->observed_call(scope.entity_id(), scope.resource_name(),
                              [&](ops::Context& cx) { return ops::get_limits(cx, scope); });
}

Result<LimitsChange> Limiter::delete_limits(const Scope& scope, bool dry_run) {
  return impl_->observed_call(
      scope.entity_id(), scope.resource_name(),
      [&](ops::Context& cx) { return ops::delete_limits(cx, scope, dry_run); },
      kAdministrationTimeout);
}

Result<ResolvedLimits> Limiter::resolve_limits(std::string_view entity, std::string_view resource) {
  Result<ops::ResolvedConfig> config = impl_->observed_call(
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
  return impl_->observed_call(scope.entity_id(), scope.resource_name(), [&](ops::Context& cx) {
    return ops::list_events(cx, scope, from, page_size);
  });
}

void Limiter::prefetch(std::string_view entity, std::string_view resource) noexcept {
  impl_->prefetch(entity, resource);
}

RequestStats Limiter::stats() const { return impl_->stats(); }

void Limiter::forget_caches() { impl_->forget_caches(); }

}  // namespace stint
