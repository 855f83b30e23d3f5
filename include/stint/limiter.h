// The blocking limiter: everything a program asks of stint.
#ifndef STINT_LIMITER_H_
#define STINT_LIMITER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stint/audit.h"
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

namespace limiter {
class Core;
}

struct LimiterOptions {
  /// Separates tenants that share a store.
  std::string name_space = "default";
  /// Must outlive the limiter; absent: the system clock.
  Clock* clock = nullptr;
  /// Must outlive the limiter and its leases; absent: events are dropped.
  Observer* observer = nullptr;
  /// How long resolved configuration is trusted, absence included.
  Millis config_ttl{60'000};
  /// How long a remembered image may reject without asking the store; zero switches it off.
  Millis rejection_ttl{1'000};
  /// Buckets remembered; the longest untouched goes first.
  std::size_t max_views = 200'000;
  /// Longest that a call may take unless it says otherwise; when it has passed, no further request
  /// is sent and the call answers `kUnavailable`. Administrative calls (`set_limits`,
  /// `delete_limits`, `delete_entity`) visit many items: there it bounds each request to the store
  /// and not the call.
  Millis timeout{5'000};
  /// How long a bucket may go by a soft or bypass policy before it is compared with the
  /// configuration again; at least 10 s.
  Millis stamp_ttl{60'000};
  /// Buckets expire this many recovery times after their last refill; zero: never. Buckets with
  /// limits of an entity level never expire.
  int ttl_multiplier = 7;
  /// Whether the first call registers a namespace that is not there. False: calls on such a
  /// namespace are `kNotFound` and leave nothing behind.
  bool register_name_space = true;
  /// Whether changes of entities and limits leave audit events, which takes one more write for
  /// each. On a distributed store they always do.
  bool audit = false;
  /// On whose behalf this limiter changes things, as its audit events tell: an id like an entity's,
  /// or what begins with "arn:". Absent: they name nobody.
  std::optional<std::string> principal = std::nullopt;
  /// Seed of all random choices; absent: from the system. Writes are told apart by random numbers,
  /// so no two limiters of one store, now or later, may have the same.
  std::optional<std::uint64_t> seed = std::nullopt;
};

/// Takes, inspects and configures limits. Blocking and thread-safe.
///
/// Costs name store requests without faults, with the namespace known and configuration cached.
/// Every call may answer `kUnavailable`, `kThrottled`, and `kInvalidArgument` for malformed names
/// or options, which is found before anything is written; calls that read items `kCorrupt`, calls
/// that write `kOutcomeUnknown`, and all of a store that asks who calls `kAccessDenied`. Further
/// errors stand with the call. When a call of several writes fails, what it had written stays; only
/// `acquire` takes it back.
///
/// Where changes leave audit events, `create_entity`, `delete_entity`, `set_limits` and
/// `delete_limits` take one request more (another where the system's configuration is not cached).
/// An error that says so means that the change is stored and its event is not. On a table that
/// other programs share, `set_limits` with a session or soft limit, a bypass or a cascade policy
/// takes one request more, and another when the feature was never used there; it is
/// `kVersionMismatch`, before anything is written, when one of those programs is too old for it.
/// So is `acquire` with such limits of its own, which are looked into once.
class STINT_EXPORT Limiter {
 public:
  /// The namespace is registered by the first call if needed and allowed; that call reports its
  /// errors, and every call those of the options. Later on it is only looked up, once in five
  /// minutes: after another program deleted it, calls are `kNotFound` until it is there again.
  explicit Limiter(Store store, LimiterOptions options = {});
  ~Limiter();
  /// A limiter that was moved from must only be destroyed or assigned to.
  Limiter(Limiter&&) noexcept;
  Limiter& operator=(Limiter&&) noexcept;

  /// Takes the amounts from all named limits, or from none. Warm: one request, two sent together
  /// with a parent, none for a rejection that remembered images prove.
  ///
  /// Of a bucket that another program has split into shards, one is drawn and decides. Where its
  /// shards would have to agree on something first, an ended window to open or a quota to add, the
  /// answer is `kVersionMismatch`.
  ///
  /// Rejected and disabled are decisions, not errors. Errors: `kInvalidArgument` also for a limit
  /// named twice or configured nowhere, and when no limits are configured at all; `kConflict` when
  /// other writers won five attempts. `OnUnavailable::kAllow` turns `kUnavailable`, `kThrottled`,
  /// `kOutcomeUnknown` and `kCorrupt` into an admission with a degraded lease; not `kAccessDenied`
  /// nor `kNotFound` (the store itself is gone), which last until somebody mends them.
  /// After an error nothing stays taken: what had landed is given back, even past the deadline. Two
  /// exceptions: a debit under `kOutcomeUnknown`, and what could not be given back, which the
  /// observer is told as `kLeaseTrouble`.
  ///
  /// Not of a temporary limiter, which the lease of the decision would outlive.
  Result<Decision> acquire(const AcquireRequest& request) &;

  /// What is left, and when `need` would fit. Consumes nothing, creates nothing, opens no window.
  /// Of a bucket that another program has split into shards, what all of them hold together; the
  /// need has to fit on one. One request, another with a parent, and one for each split bucket.
  /// Errors: `kInvalidArgument` also for a needed limit that is configured nowhere.
  Result<Availability> available(std::string_view entity, std::string_view resource,
                                 const std::vector<Consume>& need = {});

  /// Which limits apply, from where, and what the bucket holds. Reads only, past the caches; one
  /// request, another with a parent.
  Result<Explanation> explain(std::string_view entity, std::string_view resource);

  /// Makes an entity known. The parent need not exist, now or later. Errors: `kExists`;
  /// `kInvalidArgument` also for the bounds in `EntityOptions`. One request.
  Result<Entity> create_entity(std::string_view id, const EntityOptions& options = {});
  /// Errors: `kNotFound`. One request, strongly consistent.
  Result<Entity> get_entity(std::string_view id);
  /// Entities of the namespace in order of id, `page_size` (1 to 1,000) at most. `from` is the
  /// `next` of the page before. Entities created or deleted while listing may be missed or shown.
  /// Errors: `kInvalidArgument`, `kCorrupt` when one entity of the page cannot be understood.
  ///
  /// The index of the namespace holds configuration and usage of the entities beside them, so that
  /// a page may take several queries; one batch read for each 100 entities comes on top. The
  /// timeout covers the page as a whole; ask for smaller pages if it is not enough.
  Result<EntityPage> list_entities(std::optional<std::string> from = std::nullopt,
                                   int page_size = 100);
  /// Entities created with this parent, in order of id; the parent itself need not exist. Pages and
  /// errors as `list_entities`. One query.
  Result<EntityPage> list_children(std::string_view parent,
                                   std::optional<std::string> from = std::nullopt,
                                   int page_size = 100);
  /// Removes the entity with its buckets, configuration and usage; its children stay and keep its
  /// id as their parent's. Returns the number of items removed. Errors: `kNotFound`.
  ///
  /// Items are removed one after the other, the entity itself last: one request for each, and a
  /// few queries. The timeout is each request's. After an error what was removed stays removed and
  /// the entity still exists, unless the outcome of the last removal is unknown; repeat the call.
  /// Buckets that are used meanwhile may come into being again, without limits of the entity's own.
  Result<std::int64_t> delete_entity(std::string_view id);

  /// Replaces the limits of a scope as a whole; a limit left out is removed. At the entity levels
  /// existing buckets are brought up to date at once; elsewhere when next refilled, at most
  /// the configuration cache's age later, except that changes of access, cascade and softness are
  /// brought to all buckets concerned. Restores no balance, restarts no clock; only a limit that
  /// had been removed starts full. Shared tables carry balances otherwise
  /// (docs/guide/configuration.md).
  ///
  /// Configuration is written first (one read, one or two writes), then the buckets, one after
  /// the other with about three requests each. The timeout is each request's. An error says that
  /// configuration may be stored, perhaps with some of the buckets: repeat the call, which does no
  /// harm. Buckets that were not reached still go by their former limits; the observer gets
  /// `kFanoutIncomplete`. Errors: `kInvalidArgument` also for what is wrong with a limit, for an
  /// option that the scope does not have, and for neither limits nor options; `kConflict` when
  /// other writers won every attempt at the scope, or, after all others were brought up to date,
  /// when some bucket was not, because of other writers or because it cannot be understood.
  Result<LimitsChange> set_limits(const Scope& scope, const LimitList& limits,
                                  const SetLimitsOptions& options = {});
  Result<LimitsChange> set_limits(std::string_view entity, std::string_view resource,
                                  const LimitList& limits) {
    return set_limits(Scope::entity_resource(entity, resource), limits);
  }
  /// What is stored at this scope itself. Errors: `kNotFound` when nothing is. One request.
  Result<ScopeConfig> get_limits(const Scope& scope);
  /// Removes all that is stored at a scope; lower levels count again. Buckets as `set_limits`, and
  /// like there configuration goes first and the timeout is each request's. Errors: `kNotFound`
  /// when nothing is stored there, also after a call that removed it and then failed at the
  /// buckets: those follow when next refilled. `kConflict` as `set_limits`.
  Result<LimitsChange> delete_limits(const Scope& scope, bool dry_run = false);
  /// The limits that apply to an entity and resource after walking the levels, read past the
  /// cache; none, with level `kNone`, where nothing is configured. One batch read of four items.
  Result<ResolvedLimits> resolve_limits(std::string_view entity, std::string_view resource);

  /// What was done to an entity (also to its limits), a resource or the system, by whatever
  /// program, oldest first, `page_size` (1 to 1,000) at most. `from` is the `next` of the page
  /// before. Events are kept for 90 days, or as long as the system's configuration says. One query.
  /// Errors: `kInvalidArgument` also for a scope of both entity and resource.
  Result<AuditPage> list_audit_events(const Scope& scope,
                                      std::optional<std::string> from = std::nullopt,
                                      int page_size = 100);

  /// A hint for programs that know their next requests: this pair is used some eight to sixteen
  /// hints from now. Each hint also carries those before it a step further, so a single one brings
  /// little. Never fails.
  void prefetch(std::string_view entity, std::string_view resource) noexcept;

  /// What the limiter asked of its store since it was made. Calls in flight may be counted in part.
  RequestStats stats() const;
  /// Forgets cached configuration and bucket images. The following calls read them again.
  void forget_caches();

 private:
  friend class AsyncLimiter;
  explicit Limiter(std::shared_ptr<limiter::Core> core);

  std::shared_ptr<limiter::Core> core_;
};

}  // namespace stint

#endif  // STINT_LIMITER_H_
