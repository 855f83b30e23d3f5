// The blocking limiter: everything a program asks of stint.
#ifndef STINT_LIMITER_H_
#define STINT_LIMITER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stint/config.h"
#include "stint/decision.h"
#include "stint/entity.h"
#include "stint/export.h"
#include "stint/limit.h"
#include "stint/observer.h"
#include "stint/request.h"
#include "stint/result.h"
#include "stint/store.h"
#include "stint/time.h"

namespace stint {

/// What the limiter asked of its store since it was made.
struct RequestStats {
  std::uint64_t requests = 0;
  double read_units = 0;
  double write_units = 0;
  double index_write_units = 0;
};

struct LimiterOptions {
  /// Separates tenants that share a store.
  std::string name_space = "default";
  /// Must outlive the limiter; absent: the system clock.
  Clock* clock = nullptr;
  /// Must outlive the limiter; absent: events are dropped.
  Observer* observer = nullptr;
  /// How long resolved configuration is trusted, absence included.
  Millis config_ttl{60'000};
  /// How long a remembered image may reject without asking the store; zero switches it off.
  Millis rejection_ttl{1'000};
  /// Buckets remembered; the longest untouched goes first.
  std::size_t max_views = 200'000;
  /// Longest that a call may take unless it says otherwise.
  Millis timeout{5'000};
  /// Lifetime of soft and bypass stamps on buckets; at least 10 s (rules 1.3a).
  Millis stamp_ttl{60'000};
  /// Buckets expire this many recovery times after their last refill; zero: never (rules 3.6).
  int ttl_multiplier = 7;
  /// Seed of all random choices; absent: from the system. Writes are told apart by random numbers,
  /// so no two limiters of one store, now or later, may have the same.
  std::optional<std::uint64_t> seed = std::nullopt;
};

/// Takes, inspects and configures limits. Blocking and thread-safe.
/// Costs name store requests without faults, with configuration cached (decision 19).
class STINT_EXPORT Limiter {
 public:
  /// The namespace is registered if needed. Errors of registration appear at the first call.
  explicit Limiter(Store store, LimiterOptions options = {});
  ~Limiter();
  Limiter(Limiter&&) noexcept;
  Limiter& operator=(Limiter&&) noexcept;

  /// Takes the amounts from all named limits, or from none. One request when warm.
  Result<Decision> acquire(const AcquireRequest& request);

  /// What is left, and when `need` would fit. Consumes nothing, creates nothing, opens no window.
  /// One query.
  Result<Availability> available(std::string_view entity, std::string_view resource,
                                 const std::vector<Consume>& need = {});

  /// Which limits apply, from where, and what the bucket holds. Reads only.
  Result<Explanation> explain(std::string_view entity, std::string_view resource);

  /// Errors: `kExists`, `kInvalidArgument`. One request.
  Result<Entity> create_entity(std::string_view id, const EntityOptions& options = {});
  /// Errors: `kNotFound`. One request.
  Result<Entity> get_entity(std::string_view id);
  /// Entities of the namespace in order of id.
  Result<EntityPage> list_entities(std::optional<std::string> from = std::nullopt,
                                   int page_size = 100);
  Result<EntityPage> list_children(std::string_view parent,
                                   std::optional<std::string> from = std::nullopt,
                                   int page_size = 100);
  /// Removes the entity with its buckets, configuration and usage. Errors: `kNotFound`.
  /// Returns the number of items removed.
  Result<std::int64_t> delete_entity(std::string_view id);

  /// Replaces the limits of a scope as a whole; a limit left out is removed. At the entity levels
  /// existing buckets are brought up to date at once; elsewhere when next refilled, at most
  /// the configuration cache's age later. Restores no balance, restarts no clock (decision 27).
  Result<LimitsChange> set_limits(const Scope& scope, const LimitList& limits,
                                  const SetLimitsOptions& options = {});
  Result<LimitsChange> set_limits(std::string_view entity, std::string_view resource,
                                  const LimitList& limits) {
    return set_limits(Scope::entity_resource(entity, resource), limits);
  }
  /// What is stored at this scope itself. Errors: `kNotFound` when nothing is.
  Result<ScopeConfig> get_limits(const Scope& scope);
  /// Errors: `kNotFound` when nothing is stored there.
  Result<LimitsChange> delete_limits(const Scope& scope, bool dry_run = false);
  /// The limits that apply to an entity and resource after walking the levels, read uncached.
  Result<ResolvedLimits> resolve_limits(std::string_view entity, std::string_view resource);

  /// A hint that this pair is used next; makes a following acquire cheaper. Never fails.
  void prefetch(std::string_view entity, std::string_view resource) noexcept;

  RequestStats stats() const;
  /// Forgets cached configuration and bucket images.
  void forget_caches();

 private:
  class Impl;
  friend class internal::LeaseState;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stint

#endif  // STINT_LIMITER_H_
