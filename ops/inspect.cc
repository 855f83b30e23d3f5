#include "ops/inspect.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "base/time.h"
#include "model/names.h"
#include "ops/acquire.h"
#include "ops/leg.h"
#include "store/apply.h"

namespace stint::ops {
namespace {

Status validate(std::string_view entity, std::string_view resource,
                const std::vector<Consume>& need) {
  if (Status s = model::validate_entity_id("entity", entity); !s) return s;
  if (Status s = model::validate_resource(resource); !s) return s;
  if (Status s = validate_names(need); !s) return s;
  return validate_amounts("need", need);
}

/// Reads the present state of a leg: the item, and what configuration is not cached.
Op<Status> load(Context& cx, Leg& leg, TimePoint now, bool all_levels) {
  Reads reads;
  reads.bucket = true;
  reads.config = true;
  reads.all_levels = all_levels;
  reads.consistency = store::Consistency::kStrong;
  if (!all_levels && leg.view.config) {
    Millis age = now - leg.view.config->read_at;
    reads.config = age < Millis(0) || age > cx.settings.config_ttl;
  }
  reads.meta = reads.config;
  Status read = co_await read_leg(cx, leg, reads, now);
  if (!read) co_return read.error();
  Status prepared = co_await prepare_leg(cx, leg, now);
  co_return prepared;
}

void set_amounts(const std::vector<Consume>& need, std::vector<NamedLimit>& limits) {
  for (NamedLimit& named : limits) {
    for (const Consume& consume : need) {
      if (consume.limit == named.configured->limit().name()) {
        named.amount = consume.amount.milli().count();
      }
    }
  }
}

bool is_configured(const Leg& leg, std::string_view limit) {
  return leg.config() != nullptr && leg.config()->find(limit) != nullptr;
}

bool is_needed(const std::vector<Consume>& need, std::string_view limit) {
  return std::any_of(need.begin(), need.end(),
                     [&](const Consume& consume) { return consume.limit == limit; });
}

AccessPolicy access_of(const Leg& leg) {
  if (leg.exists() && leg.state.disabled) return AccessPolicy::kDisabled;
  if (leg.bypass != BypassMode::kEnforce) return AccessPolicy::kBypass;
  return leg.view.config->access;
}

/// A bucket as it was read: its shards, of which most buckets have one.
class Shards {
 public:
  explicit Shards(Leg& first) : legs_{&first} {}

  Leg& first() const { return *legs_.front(); }
  std::span<Leg* const> all() const { return legs_; }
  Leg& add(std::shared_ptr<const BucketNames> names) {
    legs_.push_back(others_.emplace_back(std::make_unique<Leg>(std::move(names))).get());
    return *legs_.back();
  }

 private:
  std::vector<Leg*> legs_;
  std::vector<std::unique_ptr<Leg>> others_;
};

/// Reads the shards beside the first one.
Op<Status> load_others(Context& cx, Shards& shards, TimePoint now) {
  Leg& first = shards.first();
  if (!first.exists() || first.state.shard_count <= 1) co_return Status();
  constexpr std::int64_t kKeysPerGet = 100;
  std::int64_t count = std::min(first.state.shard_count, kMostShards);
  static_assert(kMostShards <= kKeysPerGet);
  std::vector<std::shared_ptr<const BucketNames>> names;
  std::vector<store::Key> keys;
  for (std::int64_t shard = 1; shard < count; ++shard) {
    names.push_back(std::make_shared<const BucketNames>(cx.ns, first.names().entity,
                                                        first.names().resource, shard));
    keys.push_back(names.back()->key);
  }
  std::vector<store::ImagePtr> images;
  Status read = co_await read_batch(keys, store::Consistency::kStrong, images);
  if (!read) co_return read.error();
  for (std::size_t i = 0; i < names.size(); ++i) {
    // A missing one has nothing of its own to give.
    if (!images[i]) continue;
    Leg& leg = shards.add(names[i]);
    leg.view.config = first.view.config;
    take_image(leg, images[i], now, true);
    Result<Reads> evaluated = evaluate_leg(cx, leg, now);
    if (!evaluated) co_return evaluated.error();
  }
  co_return Status();
}

/// What a need finds on one shard, or on the best of several.
struct Fit {
  bool fits = true;
  bool never_fits = false;
  std::optional<Millis> wait = Millis(0);  // absent: no reset is in reach
  std::string hindrance;                   // empty: none
};

Fit fit_on(const Leg& leg, const std::vector<Consume>& need, TimePoint now) {
  Fit fit;
  std::vector<NamedLimit> limits = all_limits(leg);
  set_amounts(need, limits);
  for (const NamedLimit& named : limits) {
    if (!is_needed(need, named.configured->limit().name())) continue;
    LimitStatus status = status_of(leg, named, now);
    fit.fits = fit.fits && !status.exceeded;
    fit.never_fits = fit.never_fits || status.never_fits;
    if (!status.retry_after) {
      fit.wait.reset();
    } else if (fit.wait) {
      fit.wait = std::max(*fit.wait, *status.retry_after);
    }
  }
  if (const NamedLimit* hindered = find_hindrance(leg, limits, now)) {
    fit.fits = false;
    fit.wait.reset();
    fit.hindrance = describe_hindrance(leg, *hindered);
  }
  return fit;
}

/// A request is served by one shard.
Fit best_fit(const Shards& shards, const std::vector<Consume>& need, TimePoint now) {
  Fit best = fit_on(shards.first(), need, now);
  for (const Leg* leg : shards.all().subspan(1)) {
    Fit fit = fit_on(*leg, need, now);
    best.fits = best.fits || fit.fits;
    best.never_fits = best.never_fits && fit.never_fits;
    if (fit.wait && (!best.wait || *fit.wait < *best.wait)) best.wait = fit.wait;
    if (best.hindrance.empty()) best.hindrance = std::move(fit.hindrance);
  }
  if (best.fits) best.hindrance.clear();
  return best;
}

/// Adds what another shard has of a limit.
void add_status(const LimitStatus& other, LimitStatus& sum) {
  sum.capacity = MilliTokens(sum.capacity.count() + other.capacity.count());
  sum.remaining = MilliTokens(sum.remaining.count() + other.remaining.count());
  sum.refill_amount = MilliTokens(sum.refill_amount.count() + other.refill_amount.count());
  sum.exceeded = sum.exceeded && other.exceeded;
  sum.never_fits = sum.never_fits && other.never_fits;
  if (other.retry_after && (!sum.retry_after || *other.retry_after < *sum.retry_after)) {
    sum.retry_after = other.retry_after;
  }
  if (other.window == WindowState::kRunning) sum.window = other.window;
  if (other.resets_at && (!sum.resets_at || *other.resets_at > *sum.resets_at)) {
    sum.resets_at = other.resets_at;
  }
}

void add_bucket(const Shards& shards, const std::vector<Consume>& need, TimePoint now,
                Availability& result) {
  const Leg& first = shards.first();
  Fit fit = best_fit(shards, need, now);
  result.fits = result.fits && fit.fits;
  result.never_fits = result.never_fits || fit.never_fits;
  if (result.hindrance.empty()) result.hindrance = std::move(fit.hindrance);
  if (!fit.wait) {
    result.wait.reset();
  } else if (result.wait) {
    result.wait = std::max(*result.wait, *fit.wait);
  }
  std::vector<NamedLimit> limits = all_limits(first);
  set_amounts(need, limits);
  for (const NamedLimit& named : limits) {
    LimitStatus status = status_of(first, named, now);
    for (const Leg* leg : shards.all().subspan(1)) {
      NamedLimit there = named;
      there.on_item = leg->view.layout->find(named.configured->limit().name());
      if (there.on_item >= 0) add_status(status_of(*leg, there, now), status);
    }
    result.limits.push_back(std::move(status));
  }
  AccessPolicy access = access_of(first);
  if (access == AccessPolicy::kDisabled) {
    result.access = access;
    result.fits = false;
    result.wait.reset();
  } else if (access == AccessPolicy::kBypass && result.access == AccessPolicy::kEnforce) {
    result.access = access;
  }
}

LimitExplanation explain_limit(const Leg& leg, const NamedLimit& named, TimePoint now) {
  LimitExplanation explanation{named.configured->limit(),
                               leg.level(),
                               status_of(leg, named, now),
                               false,
                               {},
                               {},
                               MilliTokens(),
                               {},
                               {},
                               false,
                               {}};
  Standing standing(leg, named, now);
  explanation.on_item = named.on_item >= 0;
  if (explanation.on_item) {
    explanation.refilled_at = leg.state.refilled_at;
    explanation.consumed = MilliTokens(standing.limit().consumed);
    if (standing.worth().window == WindowState::kRunning) {
      explanation.window_start = standing.limit().window_start;
    }
  }
  if (standing.limit().levels != nullptr) {
    explanation.next_change = standing.limit().levels->next_change(now);
    if (standing.worth().share.entry >= 0) explanation.active_entry = standing.worth().share.entry;
  }
  for (const bucket::Stamp& stamp : leg.stamps) {
    if (static_cast<int>(stamp.limit) == named.on_item) explanation.stale = true;
  }
  NamedLimit used = named;
  used.amount = 1;
  if (find_hindrance(leg, std::span<const NamedLimit>(&used, 1), now) != nullptr) {
    explanation.hindrance = describe_hindrance(leg, used);
  }
  return explanation;
}

BucketExplanation explain_leg(const Context& cx, const Leg& leg, TimePoint now) {
  BucketExplanation explanation;
  explanation.entity = leg.names().entity;
  explanation.resource = leg.names().resource;
  explanation.level = leg.level();
  explanation.access = access_of(leg);
  explanation.exists = leg.exists();
  for (const NamedLimit& named : all_limits(leg)) {
    explanation.limits.push_back(explain_limit(leg, named, now));
  }
  if (!leg.exists()) return explanation;
  explanation.item_bytes = leg.view.image->size_bytes();
  // A debit changes numbers of the item but no key: what that costs the table and its indexes.
  store::ImagePtr after = schema::as_rewritten(*leg.view.image);
  store::Cost cost =
      store::write_cost(leg.view.image.get(), after.get(), cx.capabilities.index_layout, false);
  explanation.write_units = cost.write_units;
  explanation.index_write_units = cost.index_write_units;
  if (leg.state.expires_at_s) {
    explanation.expires_at = from_epoch_s(*leg.state.expires_at_s);
  }
  explanation.valid_until = leg.state.valid_until;
  return explanation;
}

}  // namespace

Op<Result<Availability>> available(Context& cx, std::string_view entity, std::string_view resource,
                                   const std::vector<Consume>& need) {
  if (Status valid = validate(entity, resource, need); !valid) co_return valid.error();
  std::uint64_t hash = view_hash(entity, resource);
  TurnRequest my_turn(std::span<const std::uint64_t>(&hash, 1));
  TimePoint now = co_await turn(my_turn);
  Leg child;
  child.take(cx, hash, entity, resource);
  Status loaded = co_await load(cx, child, now, false);
  if (!loaded) co_return loaded.error();
  Shards of_child(child);
  loaded = co_await load_others(cx, of_child, now);
  if (!loaded) co_return loaded.error();
  std::optional<Leg> parent;
  std::optional<Shards> of_parent;
  if (child.cascades()) {
    parent.emplace();
    parent->peek(cx, *child.parent(), resource);
    loaded = co_await load(cx, *parent, now, false);
    if (!loaded) co_return loaded.error();
    of_parent.emplace(*parent);
    loaded = co_await load_others(cx, *of_parent, now);
    if (!loaded) co_return loaded.error();
  }
  for (const Consume& consume : need) {
    if (is_configured(child, consume.limit)) continue;
    if (parent && is_configured(*parent, consume.limit)) continue;
    co_return Error::invalid("limit", consume.limit,
                             "is not configured for this entity and resource");
  }
  Availability result;
  result.wait = Millis(0);
  add_bucket(of_child, need, now, result);
  if (of_parent) add_bucket(*of_parent, need, now, result);
  co_return result;
}

Op<Result<Explanation>> explain(Context& cx, std::string_view entity, std::string_view resource) {
  if (Status valid = validate(entity, resource, {}); !valid) co_return valid.error();
  std::uint64_t hash = view_hash(entity, resource);
  TurnRequest my_turn(std::span<const std::uint64_t>(&hash, 1));
  TimePoint now = co_await turn(my_turn);
  Leg child;
  child.take(cx, hash, entity, resource);
  Status loaded = co_await load(cx, child, now, true);
  if (!loaded) co_return loaded.error();
  Explanation result;
  result.buckets.push_back(explain_leg(cx, child, now));
  if (child.cascades()) {
    Leg parent;
    parent.peek(cx, *child.parent(), resource);
    loaded = co_await load(cx, parent, now, true);
    if (!loaded) co_return loaded.error();
    result.buckets.push_back(explain_leg(cx, parent, now));
  }
  co_return result;
}

}  // namespace stint::ops
