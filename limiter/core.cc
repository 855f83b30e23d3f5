#include "limiter/core.h"

#include <algorithm>

#include "base/hash.h"
#include "base/time.h"
#include "limiter/system_seed.h"
#include "model/names.h"
#include "ops/lease.h"
#include "ops/namespaces.h"

namespace stint::limiter {
namespace {

using Steady = Core::Steady;

/// A namespace may be deleted and registered anew by another process (decision 24).
constexpr std::chrono::minutes kNamespaceAge{5};

/// Refuses a duration outside [least, most].
Status check_range(const char* field, Millis value, Millis least, Millis most) {
  if (value >= least && value <= most) return Status();
  return Error::invalid(
      field, std::to_string(value.count()) + " ms",
      "must be " + std::to_string(least.count()) + " to " + std::to_string(most.count()) + " ms");
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
    if (Status s = model::validate_principal(*options.principal); !s) return s;
  }
  if (options.max_views < 1) return Error::invalid("max_views", "0", "must be at least 1");
  return Status();
}

/// Tells the limiters of this process apart, so that those with one seed draw other numbers.
std::uint64_t limiters_made() {
  static std::atomic<std::uint64_t> count{0};
  return count.fetch_add(1, std::memory_order_relaxed);
}

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

// What passes by itself, or concerns one item. A store that refuses its caller, or is gone, does
// neither: to let requests pass there would switch every limit off for as long as nobody looks.
bool is_store_failure(ErrorCode code) {
  return code == ErrorCode::kUnavailable || code == ErrorCode::kThrottled ||
         code == ErrorCode::kOutcomeUnknown || code == ErrorCode::kCorrupt;
}

/// The names that a lease's first bucket has are those that it was acquired with.
Event about(EventKind kind, const ops::LeaseRecord& lease, const Error* error = nullptr) {
  Event event{.kind = kind, .error = error};
  if (!lease.legs.empty()) {
    event.entity = lease.legs.front().names->entity;
    event.resource = lease.legs.front().names->resource;
  }
  return event;
}

}  // namespace

Error cancelled() { return Error(ErrorCode::kCancelled, "the call was given up by its caller"); }

Core::Core(Store store, LimiterOptions options)
    : store_(std::move(store)),
      options_(std::move(options)),
      options_status_(check_options(options_)),
      clock_(options_.clock != nullptr ? options_.clock : &system_clock_),
      times_store_(options_.observer != nullptr && options_.observer->times_store()),
      caches_(options_.max_views),
      seed_(mix_hash(options_.seed ? *options_.seed : system_seed(), limiters_made())) {
  settings_.config_ttl = options_.config_ttl;
  settings_.rejection_ttl = options_.rejection_ttl;
  settings_.stamp_ttl = options_.stamp_ttl;
  settings_.ttl_multiplier = options_.ttl_multiplier;
  settings_.audit = options_.audit;
  settings_.principal = options_.principal;
}

ops::Context Core::context(std::string_view ns, std::uint64_t cache_generation, Random& random) {
  const StoreHandle& handle = *store_.handle();
  ops::Context cx{ns,
                  handle.engine->capabilities(),
                  handle.record.reset_rule,
                  handle.record.burst_tolerance_divisor,
                  settings_,
                  caches_,
                  random,
                  options_.observer};
  cx.shared_table = handle.is_shared_table();
  cx.cache_generation = cache_generation;
  return cx;
}

DriverSetup Core::driver_setup(Steady::time_point deadline) {
  static constexpr bool kNoExemption = false;
  return {.engine = *store_.handle()->engine,
          .clock = *clock_,
          // Callers of all limiters of one store in this process share its queues.
          .queues = store_.handle()->queues,
          .counters = counters_,
          .deadline = deadline,
          .past_deadline_allowed = kNoExemption,
          .observer = options_.observer,
          .times_store = times_store_,
          .request_time = options_.timeout};
}

DriverSetup Core::driver_setup(Steady::time_point deadline, ops::Context& cx) {
  return {.engine = *store_.handle()->engine,
          .clock = *clock_,
          .queues = store_.handle()->queues,
          .counters = counters_,
          .deadline = deadline,
          .past_deadline_allowed = cx.past_deadline_allowed,
          .observer = options_.observer,
          .times_store = times_store_,
          .store_asked = &cx.store_asked,
          .turn_missed = &cx.turn_missed,
          .request_time = options_.timeout};
}

const std::string* Core::known_name_space(Steady::time_point at) const {
  Steady::duration resolved_at(resolved_at_.load(std::memory_order_acquire));
  if (at.time_since_epoch() - resolved_at >= kNamespaceAge) return nullptr;
  return name_space_.load(std::memory_order_acquire);
}

ops::Op<Result<std::optional<std::string>>> Core::look_up_name_space(Random& random) {
  bool is_first = name_space_.load(std::memory_order_acquire) == nullptr;
  return ops::resolve_namespace(options_.name_space,
                                is_first && options_.register_name_space
                                    ? ops::IfUnregistered::kRegister
                                    : ops::IfUnregistered::kFail,
                                random, clock_->now());
}

Result<const std::string*> Core::learn_name_space(Result<std::optional<std::string>> found,
                                                  Steady::time_point at) {
  std::lock_guard lock(name_spaces_mutex_);
  const std::string* before = name_space_.load(std::memory_order_relaxed);
  if (!found) return found.error();
  if (!*found) {
    if (before == nullptr) return ops::no_namespace(options_.name_space);
    return Error(ErrorCode::kNotFound, "the namespace \"" + options_.name_space +
                                           "\" was deleted; it has to be registered anew before "
                                           "it is used again");
  }
  std::string& id = **found;
  if (before == nullptr || *before != id) {
    auto known = std::find(name_spaces_.begin(), name_spaces_.end(), id);
    name_space_.store(
        known != name_spaces_.end() ? &*known : &name_spaces_.emplace_front(std::move(id)),
        std::memory_order_release);
    // Afterwards: who has learnt the former id by now remembers nothing by it.
    if (before != nullptr) caches_.clear();
  }
  resolved_at_.store(at.time_since_epoch().count(), std::memory_order_release);
  return name_space_.load(std::memory_order_relaxed);
}

void Core::forget_name_space(const std::string* id) {
  std::lock_guard lock(name_spaces_mutex_);
  if (name_space_.load(std::memory_order_relaxed) != id) return;
  resolved_at_.store(Steady::duration::min().count() / 2, std::memory_order_release);
}

Result<const std::string*> Core::name_space(Steady::time_point at, Steady::time_point deadline,
                                            Random& random) {
  if (const std::string* known = known_name_space(at)) return known;
  // One caller asks; the others wait for what it learns, each as long as it may.
  if (!lock_until(resolving_, deadline)) {
    return Error(ErrorCode::kUnavailable,
                 "the deadline of the call passed while its namespace was looked up");
  }
  std::unique_lock lock(resolving_, std::adopt_lock);
  if (const std::string* known = known_name_space(at)) return known;
  return learn_name_space(run(look_up_name_space(random), driver_setup(deadline)), at);
}

Result<Decision> Core::acquire(const AcquireRequest& request, const std::atomic<bool>* given_up) {
  const auto is_given_up = [given_up] { return given_up != nullptr && *given_up; };
  Steady::time_point start = Steady::now();
  if (is_given_up()) return end_given_up(request, nullptr);
  if (Status valid = ops::validate_acquire(request); !valid) {
    return fail(request, valid.error(), *this);
  }
  internal::LeaseStatePtr lease = internal::new_lease_state(*this);
  Result<ops::Acquired> acquired =
      call([&](ops::Context& cx) { return ops::acquire(cx, request, lease->record()); },
           request.timeout, start);
  if (!is_given_up()) return decide(request, std::move(acquired), std::move(lease));
  if (!has_to_be_undone(acquired)) {
    return end_given_up(request, acquired ? nullptr : &acquired.error());
  }
  return end_undone(request, lease->record(), undo(lease->record()));
}

Result<Decision> Core::decide(const AcquireRequest& request, Result<ops::Acquired> acquired,
                              internal::LeaseStatePtr lease) {
  if (!acquired) return fail(request, acquired.error(), lease->ender());
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

Result<Decision> Core::fail(const AcquireRequest& request, const Error& error,
                            internal::LeaseEnder& ender) {
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
  internal::LeaseStatePtr lease = internal::new_lease_state(ender);
  lease->set_degraded();
  return Decision::admitted({}, Lease(std::move(lease)));
}

Error Core::end_given_up(const AcquireRequest& request, const Error* trouble) {
  bool unknown = trouble != nullptr && trouble->code() == ErrorCode::kOutcomeUnknown;
  Error error = unknown ? *trouble : cancelled();
  report(EventKind::kCallFailed, request, &error);
  return error;
}

Error Core::end_undone(const AcquireRequest& request, const ops::LeaseRecord& lease,
                       const Status& undone) {
  if (undone) {
    report(about(EventKind::kRolledBack, lease));
  } else {
    report_lease_trouble(lease, undone.error());
  }
  Error error = undone ? cancelled()
                       : Error(ErrorCode::kOutcomeUnknown,
                               "the call was given up by its caller, and what it had taken could "
                               "not be given back: " +
                                   undone.error().reason());
  report(EventKind::kCallFailed, request, &error);
  return error;
}

Status Core::undo(ops::LeaseRecord& lease) {
  return call([&](ops::Context& cx) { return ops::roll_back(cx, lease); });
}

Status Core::settle_lease(ops::LeaseRecord& lease) {
  Status done = call([&](ops::Context& cx) { return ops::settle(cx, lease); });
  report_lease_end(EventKind::kSettled, lease, done);
  return done;
}

Status Core::roll_back_lease(ops::LeaseRecord& lease) {
  Status done = undo(lease);
  report_lease_end(EventKind::kRolledBack, lease, done);
  return done;
}

void Core::report_lease_trouble(const ops::LeaseRecord& lease, const Error& error) noexcept {
  report(about(EventKind::kLeaseTrouble, lease, &error));
}

void Core::report_lease_end(EventKind kind, const ops::LeaseRecord& lease, const Status& done) {
  if (done) {
    report(about(kind, lease));
  } else {
    report(about(EventKind::kCallFailed, lease, &done.error()));
  }
}

void Core::report_failure(std::string_view entity, std::string_view resource, const Error& error) {
  report({.kind = EventKind::kCallFailed, .entity = entity, .resource = resource, .error = &error});
}

void Core::report_rejection(const AcquireRequest& request, const Rejection& rejection,
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

}  // namespace stint::limiter
