#include "ops/leg.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/spare_objects.h"
#include "base/time.h"
#include "model/names.h"
#include "ops/config.h"
#include "schema/keys.h"

namespace stint::ops {
namespace {

using bucket::LimitState;
using bucket::Worth;

/// Keys that a batch may leave unprocessed are asked for again so often (rules 3.9).
constexpr int kBatchRepeats = 3;

/// Deadline of a soft or bypass stamp: jittered so that renewals spread (rules 1.3a).
TimePoint stamp_deadline(const Context& cx, TimePoint now) {
  std::int64_t longest = cx.settings.stamp_ttl.count();
  std::int64_t shortest = longest * 8 / 10;
  auto spread = static_cast<std::uint64_t>(longest - shortest + 1);
  return now + Millis(shortest + static_cast<std::int64_t>(cx.random.below(spread)));
}

/// Whether the stored parameters are those of the configuration. A quota's period is inert.
bool up_to_date(const Leg& leg, std::size_t index, const schema::ConfiguredLimit& configured) {
  const LimitState& stored = leg.state.limits[index];
  const LimitState& wanted = configured.state();
  if (stored.kind != wanted.kind || stored.base.capacity != wanted.base.capacity ||
      stored.base.refill != wanted.base.refill || stored.window_length != wanted.window_length) {
    return false;
  }
  if (!stored.is_quota() && stored.base.period != wanted.base.period) return false;
  const schema::BucketLayout& layout = *leg.view.layout;
  if (layout.levels_text(index) != configured.levels_text() ||
      layout.resets_text(index) != configured.resets_text()) {
    return false;
  }
  bool scheduled = wanted.levels != nullptr || wanted.resets != nullptr;
  return !scheduled || layout.zone() == configured.limit().zone();
}

void compare_with_config(Leg& leg) {
  leg.stamps.clear();
  leg.missing.clear();
  leg.ungranted.clear();
  const schema::ConfigRecord* config = leg.config();
  if (config == nullptr) return;
  for (std::size_t i = 0; i < config->limits.size(); ++i) {
    const auto& configured = config->limits[i];
    int index = leg.view.layout->find(configured->limit().name(), i);
    if (index < 0 && leg.state.shard_count > 1 && configured->state().is_quota()) {
      leg.ungranted.push_back(configured.get());
    } else if (index < 0) {
      leg.missing.push_back(configured.get());
    } else if (!up_to_date(leg, static_cast<std::size_t>(index), *configured)) {
      leg.stamps.push_back({static_cast<std::size_t>(index), &configured->state()});
    }
  }
}

Status find_layout(Context& cx, View& view) {
  if (!view.layout || !view.layout->fits(*view.image)) {
    view.layout = cx.caches.find_layout(*view.image);
    if (!view.layout || !view.layout->fits(*view.image)) {
      Result<std::shared_ptr<const schema::BucketLayout>> layout =
          schema::BucketLayout::of(*view.image, cx.reset_rule);
      if (!layout) return layout.error();
      view.layout = *layout;
      cx.caches.put_layout(*view.image, view.layout);
    }
  }
  view.layout_fits = view.image->lineage();
  return Status();
}

Status decode_leg(Context& cx, Leg& leg) {
  View& view = leg.view;
  if (!view.layout || view.layout_fits != view.image->lineage()) {
    if (Status found = find_layout(cx, view); !found) return found.error();
  }
  return view.layout->decode(*view.image, leg.state);
}

/// The policy of the configuration, else the entity's own.
bool cascades_by(const schema::EntityRecord& meta, const std::optional<ResolvedConfig>& config) {
  if (!meta.parent) return false;
  return config && config->cascade ? *config->cascade : meta.cascade;
}

schema::BucketOwner owner_by(const Leg& leg) {
  schema::BucketOwner owner;
  owner.entity = leg.names().entity;
  owner.resource = leg.names().resource;
  if (!leg.meta) return owner;
  owner.cascade = cascades_by(*leg.meta, leg.view.config);
  owner.parent = leg.meta->parent;
  owner.parent_generation = leg.meta->parent_generation;
  owner.incarnation = leg.meta->incarnation();
  return owner;
}

/// Compares the item's owner stamp with the entity's record, if that was read.
void compare_with_meta(Leg& leg) {
  leg.owner_stamp.reset();
  if (!leg.meta_read || !leg.meta) return;
  schema::BucketOwner stored = schema::decode_owner(*leg.view.image);
  schema::BucketOwner wanted = owner_by(leg);
  bool stored_is_newer = stored.incarnation == wanted.incarnation &&
                         stored.parent_generation > wanted.parent_generation;
  bool same = stored.cascade == wanted.cascade && stored.parent == wanted.parent &&
              stored.parent_generation == wanted.parent_generation &&
              stored.incarnation == wanted.incarnation;
  if (stored_is_newer || same) return;
  leg.owner_stamp = schema::OwnerStamp{std::move(stored), std::move(wanted)};
}

const LimitState* stamped_parameters(const Leg& leg, std::size_t index) {
  for (const bucket::Stamp& stamp : leg.stamps) {
    if (stamp.limit == index) return stamp.configured;
  }
  return nullptr;
}

LimitState unused_limit(const schema::ConfiguredLimit& configured, std::int64_t shard_count,
                        TimePoint now) {
  LimitState limit = configured.state();
  limit.balance = bucket::share_at(limit, now, shard_count).capacity;
  if (limit.is_quota()) limit.grant_count = shard_count;
  return limit;
}

}  // namespace

Error error_of(const store::ReplyBase& reply) {
  std::string reason = reply.message.empty() ? "the store failed" : reply.message;
  switch (reply.outcome) {
    case store::Outcome::kThrottled: return Error(ErrorCode::kThrottled, std::move(reason));
    case store::Outcome::kUnknown: return Error(ErrorCode::kOutcomeUnknown, std::move(reason));
    case store::Outcome::kCorrupt: return Error(ErrorCode::kCorrupt, std::move(reason));
    case store::Outcome::kConflict:
    case store::Outcome::kConditionFailed: return Error(ErrorCode::kConflict, std::move(reason));
    case store::Outcome::kDenied: return Error(ErrorCode::kAccessDenied, std::move(reason));
    case store::Outcome::kMissing: return Error(ErrorCode::kNotFound, std::move(reason));
    case store::Outcome::kInvalid: return Error::invalid("request", "", std::move(reason));
    case store::Outcome::kUnavailable:
    case store::Outcome::kOk: break;
  }
  return Error(ErrorCode::kUnavailable, std::move(reason));
}

Error error_of_page(const store::ReplyBase& reply, const std::optional<std::string>& from) {
  if (reply.outcome != store::Outcome::kInvalid || !from) return error_of(reply);
  return Error::invalid("from", *from, "is a position that no listing of this kind has answered");
}

namespace {

using SpareLegs = SpareObjects<Leg, 16>;

}  // namespace

PooledLeg::PooledLeg() : leg_(SpareLegs::take()) {
  if (!leg_) leg_ = std::make_unique<Leg>();
}

PooledLeg::~PooledLeg() {
  if (!leg_) return;
  leg_->give_back();
  leg_->clear();
  SpareLegs::keep(std::move(leg_));
}

void Leg::clear() {
  // Views keep images and layouts alive, which must not outlive their store here.
  view = View();
  bucket_read = image_confirmed = config_fresh = meta_read = false;
  meta.reset();
  call_limits.reset();
  state.limits.clear();
  worths.clear();
  stamps.clear();
  missing.clear();
  ungranted.clear();
  shard_count = 1;
  shard_chosen = false;
  bypass = BypassMode::kEnforce;
  expired = false;
  owner_stamp.reset();
  named.clear();
  demands.clear();
  seeds.clear();
  undecodable = false;
  remembered_ = false;
  nonce = 0;
  landed = false;
  transactions = 0;
  looked_up_ = false;
  plan.clear();
  update.clear();
}

void Leg::take(Context& cx, std::uint64_t hash, std::string_view entity,
               std::string_view resource) {
  take_view_of(cx, hash, entity, resource, 0);
}

void Leg::take(Context& cx, const BucketNames& names) {
  take_view_of(cx, names.hash, names.entity, names.resource, names.shard);
}

void Leg::take_view_of(Context& cx, std::uint64_t hash, std::string_view entity,
                       std::string_view resource, std::int64_t shard) {
  // Without the turn somebody else may be at work with the view.
  if (cx.turn_missed) return look_up(cx, hash, entity, resource, shard, false);
  // Where other processes write too, the callers of this one do not wait for each other either.
  look_up(cx, hash, entity, resource, shard, !cx.capabilities.shared_writers);
  if (shard < kMostShards) caches_ = &cx.caches;
}

void Leg::move_to_shard(Context& cx, std::int64_t shard) {
  std::shared_ptr<const BucketNames> from = view.names;
  std::shared_ptr<const schema::ConfigRecord> limits = std::move(call_limits);
  // Not a copy of the optional: g++ 12 warns of what an empty one does not hold.
  bool had_config = view.config.has_value();
  ResolvedConfig config = had_config ? *view.config : ResolvedConfig();
  std::int64_t count = shard_count;
  give_back();
  clear();
  looked_up_ = true;
  call_limits = std::move(limits);
  shard_count = count;
  shard_chosen = true;
  take_view_of(cx, view_hash(from->entity, from->resource, shard), from->entity, from->resource,
               shard);
  bool is_newer = had_config && (!view.config || view.config->read_at < config.read_at);
  if (is_newer) view.config = std::move(config);
}

void Leg::peek(Context& cx, std::string_view entity, std::string_view resource) {
  look_up(cx, view_hash(entity, resource), entity, resource, 0, false);
}

void Leg::look_up(Context& cx, std::uint64_t hash, std::string_view entity,
                  std::string_view resource, std::int64_t shard, bool exclusively) {
  remembered_ = cx.caches.take_view(hash, entity, resource, exclusively, view);
  view.generation = cx.cache_generation;
  if (!remembered_) {
    view.names = std::make_shared<const BucketNames>(cx.ns, entity, resource, shard);
  }
  if (!std::exchange(looked_up_, true)) {
    cx.report(remembered_ ? EventKind::kViewHit : EventKind::kViewMiss, entity, resource);
  }
}

void Leg::give_back() {
  if (caches_ == nullptr) return;
  // An owner that could not be stamped yet must be looked up again.
  if (owner_stamp) view.config.reset();
  // The item may be mended by another writer.
  if (undecodable) view.image = store::ImagePtr();
  std::exchange(caches_, nullptr)->put_view(std::move(view));
  view = View();
  shard_chosen = false;
}

void Leg::forget() {
  view.image = store::ImagePtr();
  view.config.reset();
  give_back();
}

bool Leg::cascades() const {
  if (owner_stamp) return owner_stamp->to.cascade;
  if (exists()) {
    return schema::stored_cascade(*view.image) && schema::stored_parent(*view.image).has_value();
  }
  return meta && cascades_by(*meta, view.config);
}

std::optional<std::string> Leg::parent() const {
  if (owner_stamp) return owner_stamp->to.parent;
  if (exists()) {
    std::optional<std::string_view> id = schema::stored_parent(*view.image);
    if (!id) return std::nullopt;
    return std::string(*id);
  }
  if (!meta) return std::nullopt;
  return meta->parent;
}

bucket::BucketState unused_bucket(const schema::ConfigRecord& config, TimePoint now) {
  bucket::BucketState state;
  state.refilled_at = now;
  for (const auto& configured : config.limits) {
    state.limits.push_back(unused_limit(*configured, state.shard_count, now));
  }
  return state;
}

Result<Reads> evaluate_leg(Context& cx, Leg& leg, TimePoint now) {
  Reads reads;
  View& view = leg.view;
  leg.stamps.clear();
  leg.missing.clear();
  leg.ungranted.clear();
  leg.quota_carry = cx.shared_table ? bucket::QuotaCarry::kBalance : bucket::QuotaCarry::kUse;
  leg.expired = false;
  leg.owner_stamp.reset();
  leg.bypass = BypassMode::kEnforce;
  bool config_known = view.config && now - view.config->read_at <= cx.settings.config_ttl &&
                      now >= view.config->read_at - cx.settings.config_ttl;
  if (!config_known && !leg.config_fresh) reads.config = true;
  if (!view.image) {
    if (view.layout && leg.bucket_read) {
      cx.bucket_vanished = true;
      view.layout.reset();
    }
    // A bucket is created only from configuration and owner read in this very call.
    reads.bucket = !leg.bucket_read;
    reads.meta = !leg.meta_read;
    reads.config = reads.all_levels = !leg.config_fresh;
    if (!reads.any()) {
      if (view.config->access == AccessPolicy::kBypass) leg.bypass = BypassMode::kRenew;
      leg.state =
          leg.config() != nullptr ? unused_bucket(*leg.config(), now) : bucket::BucketState();
      leg.worths.clear();
      for (const LimitState& limit : leg.state.limits) {
        leg.worths.push_back(
            bucket::evaluate(limit, leg.state.refilled_at, leg.state.shard_count, now));
      }
    }
    return reads;
  }

  if (Status decoded = decode_leg(cx, leg); !decoded) {
    leg.undecodable = true;
    return decoded.error();
  }
  bucket::BucketState& state = leg.state;
  leg.worths.clear();
  for (const LimitState& limit : state.limits) {
    leg.worths.push_back(bucket::evaluate(limit, state.refilled_at, state.shard_count, now));
  }
  // The entity may have been created since: looked up as often as configuration is.
  reads.meta = reads.config && !leg.meta_read && !schema::names_owner(*view.image);
  if (!reads.config) {
    compare_with_config(leg);
    compare_with_meta(leg);
  }

  leg.expired = state.expires_at_s && *state.expires_at_s <= to_epoch_s(now);
  bool bypass_in_force = state.bypass_until && *state.bypass_until > now;
  bool soft_expired = false;
  for (const LimitState& limit : state.limits) {
    soft_expired = soft_expired || (limit.soft_until && *limit.soft_until <= now);
  }
  bool stale = !leg.stamps.empty() || !leg.missing.empty();
  bool needs_fresh = stale || leg.expired || soft_expired || state.disabled ||
                     (state.bypass_until && !bypass_in_force);
  if (needs_fresh && !leg.config_fresh) reads.config = reads.all_levels = true;
  // An image to be re-evaluated, or one that refuses, must be the present one.
  bool reevaluate = state.valid_until && to_epoch_ms(*state.valid_until) == 0;
  if ((reevaluate && !leg.bucket_read) || (state.disabled && !leg.image_confirmed)) {
    reads.bucket = true;
    reads.consistency = store::Consistency::kStrong;
  }
  if (bypass_in_force) {
    leg.bypass = BypassMode::kCount;
  } else if (leg.config_fresh && view.config->access == AccessPolicy::kBypass) {
    leg.bypass = BypassMode::kRenew;
  }
  return reads;
}

bool choose_other_shard(Context& cx, Leg& leg) {
  if (!leg.shard_chosen) {
    if (!leg.exists()) return false;
    leg.shard_chosen = true;
    leg.shard_count = leg.state.shard_count;
    auto drawn =
        static_cast<std::int64_t>(cx.random.below(static_cast<std::uint64_t>(leg.shard_count)));
    if (drawn == leg.names().shard) return false;
    leg.move_to_shard(cx, drawn);
    return true;
  }
  if (leg.names().shard == 0) return false;
  // One that has not heard of the last doubling would take more than its part.
  bool unfit = leg.exists() ? leg.state.shard_count < leg.shard_count : leg.absent();
  if (unfit) leg.move_to_shard(cx, 0);
  return unfit;
}

const NamedLimit* find_hindrance(const Leg& leg, std::span<const NamedLimit> limits,
                                 TimePoint now) {
  if (!leg.exists() || leg.state.shard_count <= 1 || leg.bypass != BypassMode::kEnforce) {
    return nullptr;
  }
  for (const NamedLimit& named : limits) {
    if (named.amount <= 0) continue;
    if (named.on_item < 0) {
      if (named.configured != nullptr && named.configured->state().is_quota()) return &named;
      continue;
    }
    Standing standing(leg, named, now);
    if (standing.worth().transition == bucket::Transition::kOpen) return &named;
  }
  return nullptr;
}

std::string describe_hindrance(const Leg& leg, const NamedLimit& named) {
  std::string text = "the bucket of entity " + leg.names().entity + " and resource " +
                     leg.names().resource + " is split into " +
                     std::to_string(leg.state.shard_count) +
                     " shards by another program, and this one cannot ";
  text += named.on_item < 0 ? "add the quota " : "open the window of ";
  return text + named.configured->limit().name() + " there; the other program can";
}

void take_image(Leg& leg, store::ImagePtr image, TimePoint now, bool confirmed) {
  leg.view.image = std::move(image);
  leg.view.image_at = now;
  leg.bucket_read = true;
  leg.image_confirmed = confirmed;
  leg.owner_stamp.reset();
  // Stamping needs configuration read after the image (decision 29).
  leg.config_fresh = false;
}

void forget_image(Leg& leg) {
  leg.view.image = store::ImagePtr();
  leg.bucket_read = false;
  leg.image_confirmed = false;
}

Op<Status> read_batch(std::span<const store::Key> keys, store::Consistency consistency,
                      std::vector<store::ImagePtr>& images) {
  images.assign(keys.size(), store::ImagePtr());
  std::vector<std::size_t> open(keys.size());
  for (std::size_t i = 0; i < open.size(); ++i) open[i] = i;
  for (int repeat = 0; !open.empty(); ++repeat) {
    if (repeat > kBatchRepeats) {
      co_return Error(ErrorCode::kThrottled, "the store left keys of a batch unprocessed");
    }
    std::vector<store::Key> some;
    if (open.size() < keys.size()) {
      for (std::size_t i : open) some.push_back(keys[i]);
    }
    std::span<const store::Key> asked = some.empty() ? keys : some;
    store::BatchGetRequest request(asked, consistency);
    auto reply = co_await ask(request);
    if (reply.outcome != store::Outcome::kOk) co_return error_of(reply);
    std::vector<std::size_t> still_open;
    for (std::size_t i : reply.unprocessed) still_open.push_back(open[i]);
    for (std::size_t i = 0; i < open.size(); ++i) images[open[i]] = reply.images[i];
    open = std::move(still_open);
  }
  co_return Status();
}

Op<Status> read_leg(Context& cx, Leg& leg, Reads reads, TimePoint now) {
  const BucketNames& names = leg.names();
  constexpr std::size_t kMostKeys = 6;  // the bucket, its owner, four levels of configuration
  std::vector<store::Key> keys;
  keys.reserve(kMostKeys);
  std::vector<store::ImagePtr> images;
  // Positions in `keys`; -1: not asked for.
  int bucket_at = -1;
  int meta_at = -1;
  int config_at = -1;
  if (reads.bucket) {
    bucket_at = static_cast<int>(keys.size());
    keys.push_back(names.key);
  }
  if (reads.meta) {
    meta_at = static_cast<int>(keys.size());
    keys.push_back(schema::entity_key(cx.ns, names.entity));
  }
  ConfigReads levels(cx, names.entity, names.resource, reads.all_levels, now);
  if (reads.config) {
    config_at = static_cast<int>(keys.size());
    levels.append_keys(keys);
    std::size_t missing = keys.size() - static_cast<std::size_t>(config_at);
    cx.report_count(EventKind::kConfigMiss, missing, names.entity, names.resource);
    cx.report_count(EventKind::kConfigHit, ConfigReads::kLevels - missing, names.entity,
                    names.resource);
  }

  Status batch_read = co_await read_batch(keys, reads.consistency, images);
  if (!batch_read) co_return batch_read.error();

  if (bucket_at >= 0) {
    bool confirmed = reads.consistency == store::Consistency::kStrong;
    take_image(leg, images[static_cast<std::size_t>(bucket_at)], now, confirmed);
  }
  if (meta_at >= 0) {
    leg.meta_read = true;
    leg.meta.reset();
    if (const store::ImagePtr& image = images[static_cast<std::size_t>(meta_at)]) {
      Result<schema::EntityRecord> meta = schema::decode_entity(*image);
      if (!meta) co_return meta.error();
      leg.meta = std::move(*meta);
    }
  }
  if (config_at >= 0) {
    std::span<const store::ImagePtr> found(images.data() + config_at,
                                           images.size() - static_cast<std::size_t>(config_at));
    Result<ResolvedConfig> config = levels.resolve(found);
    if (!config) co_return config.error();
    leg.view.config = std::move(*config);
    leg.config_fresh = reads.all_levels;
  }
  co_return Status();
}

Op<Status> prepare_leg(Context& cx, Leg& leg, TimePoint now) {
  // The image, its configuration, then both again when the item turned out to need it.
  constexpr int kMostRounds = 5;
  for (int round = 0; round < kMostRounds; ++round) {
    Result<Reads> reads = evaluate_leg(cx, leg, now);
    if (!reads) co_return reads.error();
    if (!reads->any()) co_return Status();
    Status done = co_await read_leg(cx, leg, *reads, now);
    if (!done) co_return done.error();
  }
  co_return Error(ErrorCode::kConflict, "the bucket changes faster than it can be read");
}

Standing::Standing(const Leg& leg, const NamedLimit& named, TimePoint now) {
  std::int64_t shard_count = leg.state.shard_count;
  refilled_at_ = leg.state.refilled_at;
  if (named.on_item < 0) {
    own_limit_ = unused_limit(*named.configured, shard_count, now);
    refilled_at_ = now;
    own_worth_ = bucket::evaluate(*own_limit_, now, shard_count, now);
  } else {
    auto index = static_cast<std::size_t>(named.on_item);
    const LimitState& stored = leg.state.limits[index];
    const Worth& worth = leg.worths[index];
    limit_ = &stored;
    worth_ = &worth;
    const LimitState* configured = stamped_parameters(leg, index);
    if (configured == nullptr) return;
    LimitState& limit = own_limit_.emplace(stored);
    limit.kind = configured->kind;
    limit.base = configured->base;
    limit.levels = configured->levels;
    limit.resets = configured->resets;
    limit.window_length = configured->window_length;
    limit.balance =
        bucket::carried_balance(stored, worth, *configured, shard_count, now, leg.quota_carry);
    limit.remainder = 0;
    if (worth.window != WindowState::kRunning) {
      limit.window_start.reset();
      limit.window_applied.reset();
    }
    if (configured->is_quota() && !stored.is_quota()) limit.grant_count = shard_count;
    refilled_at_ = std::max(now, leg.state.refilled_at);
    own_worth_ = bucket::evaluate(limit, refilled_at_, shard_count, now);
  }
  limit_ = &*own_limit_;
  worth_ = &*own_worth_;
}

std::vector<NamedLimit> all_limits(const Leg& leg) {
  std::vector<NamedLimit> limits;
  if (leg.config() == nullptr) return limits;
  for (const auto& configured : leg.config()->limits) {
    NamedLimit named;
    named.configured = configured.get();
    named.on_item = leg.exists() ? leg.view.layout->find(configured->limit().name()) : -1;
    limits.push_back(named);
  }
  return limits;
}

bool is_soft(const Leg& leg, const NamedLimit& named, TimePoint now) {
  if (named.on_item >= 0) {
    const LimitState& limit = leg.state.limits[static_cast<std::size_t>(named.on_item)];
    if (limit.soft_until && *limit.soft_until > now) return true;
  }
  // Only configuration read in this call may soften (R87); a call's own limits are such.
  bool known = leg.config_fresh || leg.call_limits;
  return known && named.configured != nullptr && named.configured->limit().soft();
}

LimitStatus status_of(const Leg& leg, const NamedLimit& named, TimePoint now) {
  Standing standing(leg, named, now);
  LimitStatus status = bucket::describe(standing.limit(), standing.worth(), standing.refilled_at(),
                                        leg.state.shard_count, now, named.amount);
  if (named.on_item < 0) {
    status.retry_after =
        bucket::wait_for_unused(standing.limit(), leg.state.shard_count, now, named.amount).wait;
  }
  bool soft = is_soft(leg, named, now);
  if (soft || leg.bypass != BypassMode::kEnforce) {
    status.soft = soft;
    status.exceeded = false;
    status.never_fits = false;
    status.retry_after = Millis(0);
  }
  status.entity = leg.names().entity;
  status.resource = leg.names().resource;
  return status;
}

void status_after(const Leg& leg, const NamedLimit& named, TimePoint now, LimitStatus& status) {
  Standing standing(leg, named, now);
  const LimitState& limit = standing.limit();
  const Worth& worth = standing.worth();
  bool counted_only = leg.bypass != BypassMode::kEnforce;
  std::int64_t taken = counted_only ? 0 : named.amount;
  status.entity = leg.names().entity;
  status.resource = leg.names().resource;
  status.name = limit.name;
  status.kind = limit.kind;
  status.soft = named.soft;
  status.capacity = MilliTokens(worth.ceiling);
  status.remaining = MilliTokens(worth.balance - taken);
  bool unopened = worth.transition == bucket::Transition::kOpen && taken == 0;
  if (leg.view.image && named.on_item >= 0 && !counted_only && !unopened) {
    // What the store holds now: others may have taken beside this write.
    std::optional<std::int64_t> stored =
        leg.view.layout->stored_balance(*leg.view.image, static_cast<std::size_t>(named.on_item));
    std::int64_t pending = leg.plan.form == bucket::Form::kFast ? worth.added : 0;
    if (stored) status.remaining = MilliTokens(std::min(*stored + pending, worth.ceiling));
  }
  status.requested = MilliTokens(named.amount);
  status.refill_amount = MilliTokens(worth.share.refill);
  status.refill_period = worth.share.period;
  status.retry_after = Millis(0);
  status.window = worth.window;
  status.resets_at = bucket::resets_at(limit, worth, std::max(now, standing.refilled_at()));
  if (worth.transition == bucket::Transition::kOpen && taken > 0) {
    status.window = WindowState::kRunning;
    status.resets_at = now + limit.window_length;
  }
}

bucket::PeriodPin period_after(const Leg& leg, const NamedLimit& named, TimePoint now) {
  Standing standing(leg, named, now);
  const LimitState& limit = standing.limit();
  bucket::PeriodPin pin = bucket::period_of(limit, leg.plan.refilled_at);
  if (limit.kind != LimitKind::kSession) return pin;
  if (standing.worth().transition == bucket::Transition::kOpen) {
    // Opened by this write, or not at all.
    pin.window_start.reset();
    if (named.amount > 0) pin.window_start = now;
    pin.window_applied = pin.window_start;
  } else if (standing.worth().transition == bucket::Transition::kRoll) {
    pin.window_applied = pin.window_start;
  }
  return pin;
}

std::int64_t expiry_of(Leg& leg, const Settings& settings, TimePoint now) {
  bool entity_level =
      leg.level() == ConfigLevel::kEntityResource || leg.level() == ConfigLevel::kEntity;
  if (entity_level || settings.ttl_multiplier == 0 || leg.config() == nullptr) return 0;
  auto longest = [&] {
    std::int64_t lifetime = 0;
    for (const auto& configured : leg.config()->limits) {
      lifetime =
          std::max(lifetime, bucket::lifetime_s(configured->state(), settings.ttl_multiplier));
    }
    return lifetime;
  };
  if (leg.call_limits) return to_epoch_s(now) + longest();
  std::optional<std::int64_t>& known = leg.view.config->lifetime_s;
  if (!known) known = longest();
  return to_epoch_s(now) + *known;
}

schema::WriteExtras LegWrite::extras(TimePoint now) const {
  Leg& leg = *leg_;
  schema::WriteExtras extras;
  extras.nonce = leg.nonce;
  extras.shared_writers = cx_->capabilities.shared_writers;
  extras.check_expiry = !leg.expired;
  extras.config = leg.config();
  if (leg.plan.form != bucket::Form::kLocked) return extras;
  if (leg.owner_stamp) extras.owner = &*leg.owner_stamp;
  if (leg.config() != nullptr) extras.expires_at_s = expiry_of(leg, cx_->settings, now);
  // Stamps are leases of time that only a fresh reading extends; a call's own limits never stamp.
  if (!leg.config_fresh || leg.call_limits || leg.config() == nullptr) return extras;
  if (leg.state.bypass_until && leg.bypass == BypassMode::kEnforce) {
    extras.bypass_until = TimePoint{};
  }
  for (const auto& configured : leg.config()->limits) {
    int index = leg.view.layout->find(configured->limit().name());
    if (index < 0) continue;
    const std::optional<TimePoint>& stamp =
        leg.state.limits[static_cast<std::size_t>(index)].soft_until;
    bool wanted = configured->limit().soft();
    if (wanted == stamp.has_value() && !(stamp && *stamp <= now)) continue;
    extras.soft_stamps.push_back(
        {static_cast<std::size_t>(index), wanted ? stamp_deadline(*cx_, now) : TimePoint{}});
  }
  for (const bucket::Seed& seed : leg.plan.seeds) {
    const schema::ConfiguredLimit* configured = leg.config()->find(seed.configured->name);
    extras.seed_soft_until.push_back(configured->limit().soft() ? stamp_deadline(*cx_, now)
                                                                : TimePoint{});
  }
  return extras;
}

void LegWrite::begin() {
  creation_.reset();
  planned_from_ = nullptr;
  prepared_ = true;
}

void LegWrite::prepare(TimePoint now, bool aged_as_recent, bool prefer_locked) {
  Leg& leg = *leg_;
  if (leg.nonce == 0) leg.nonce = cx_->random.next_int63();
  leg.plan.clear();
  begin();
  empty_ = leg.named.empty();
  if (empty_) return;
  for (NamedLimit& named : leg.named) named.soft = is_soft(leg, named, now);
  if (!leg.exists()) {
    prepare_creation(now);
    return;
  }
  if (leg.bypass != BypassMode::kEnforce) {
    std::vector<std::pair<std::size_t, std::int64_t>> counted;
    for (const NamedLimit& named : leg.named) {
      if (named.on_item >= 0) {
        counted.emplace_back(static_cast<std::size_t>(named.on_item), named.amount);
      }
    }
    std::optional<TimePoint> renewed;
    if (leg.bypass == BypassMode::kRenew) renewed = stamp_deadline(*cx_, now);
    leg.plan.now = now;
    leg.plan.refilled_at = leg.state.refilled_at;
    leg.update.assign_bypass(*leg.view.layout, leg.state, counted, leg.nonce, now, renewed);
    return;
  }

  std::vector<bucket::Demand>& demands = leg.demands;
  std::vector<bucket::Seed>& seeds = leg.seeds;
  demands.clear();
  seeds.clear();
  for (const NamedLimit& named : leg.named) {
    bool gates = named.gates && !named.soft;
    if (named.on_item >= 0) {
      bucket::Demand& demand = demands.emplace_back();
      demand.limit = static_cast<std::size_t>(named.on_item);
      demand.amount = named.amount;
      demand.gates = gates;
      if (named.pin) demand.pin = named.pin;
    }
  }
  for (const schema::ConfiguredLimit* configured : leg.missing) {
    bucket::Seed seed;
    seed.configured = &configured->state();
    for (const NamedLimit& named : leg.named) {
      if (named.configured == configured) seed.amount = std::max<std::int64_t>(0, named.amount);
    }
    seeds.push_back(seed);
  }
  bucket::PlanOptions options;
  options.burst_tolerance_divisor = cx_->burst_tolerance_divisor;
  options.assume_recent = aged_as_recent;
  options.quota_carry = leg.quota_carry;
  bool soft_stale = false;
  for (const NamedLimit& named : leg.named) {
    if (named.on_item < 0) continue;
    const auto& stamp = leg.state.limits[static_cast<std::size_t>(named.on_item)].soft_until;
    // A settle may name a limit that is configured no longer, but still on the item.
    bool wanted = !leg.call_limits && leg.config_fresh && named.configured != nullptr &&
                  named.configured->limit().soft();
    soft_stale = soft_stale || (stamp && *stamp <= now) || (wanted && !stamp);
  }
  bool must_lock = prefer_locked || leg.expired || soft_stale || !leg.stamps.empty() ||
                   !seeds.empty() || leg.state.bypass_until.has_value() ||
                   leg.owner_stamp.has_value();
  bool fast =
      !must_lock && bucket::plan_fast(leg.state, leg.worths, demands, options, now, leg.plan);
  if (!fast) {
    bucket::plan_locked(leg.state, leg.worths, demands, leg.stamps, seeds, options, now, leg.plan);
  }
  if (fast && leg.call_limits) {
    for (bucket::LimitWrite& write : leg.plan.limits) {
      if (write.named) write.pin_parameters = true;
    }
  }
  leg.update.assign(leg.plan, *leg.view.layout, leg.state, extras(now));
  // The locked form demands of the item nothing but what the plan found there.
  bool as_read = leg.view.layout->reads_as_stored() && !leg.owner_stamp;
  if (!fast && as_read) planned_from_ = leg.view.image.get();
}

void LegWrite::prepare_plain(TimePoint now) {
  Leg& leg = *leg_;
  if (leg.nonce == 0) leg.nonce = cx_->random.next_int63();
  begin();
  leg.plan.clear();
  leg.plan.now = now;
  leg.plan.refilled_at = leg.state.refilled_at;
  std::vector<schema::BucketWrite::PlainDelta> deltas;
  for (const NamedLimit& named : leg.named) {
    if (named.on_item < 0) continue;
    auto index = static_cast<std::size_t>(named.on_item);
    const LimitState& limit = leg.state.limits[index];
    bool in_period = named.amount >= 0 || !limit.is_quota() || !named.pin ||
                     bucket::same_period(*named.pin, limit, leg.state.refilled_at);
    bool counted_only = leg.bypass != BypassMode::kEnforce;
    deltas.push_back({index, named.amount, in_period && !counted_only, named.pin});
  }
  empty_ = deltas.empty();
  if (!empty_) leg.update.assign_plain(*leg.view.layout, leg.state, deltas, leg.nonce);
}

void LegWrite::prepare_fanout(TimePoint now, std::vector<std::size_t> removed_limits) {
  Leg& leg = *leg_;
  leg.nonce = cx_->random.next_int63();
  begin();
  empty_ = false;
  bucket::PlanOptions options;
  options.reevaluate = true;
  options.quota_carry = leg.quota_carry;
  bucket::plan_locked(leg.state, leg.worths, {}, leg.stamps, {}, options, now, leg.plan);
  schema::WriteExtras with = extras(now);
  with.removed_limits = std::move(removed_limits);
  with.check_expiry = false;
  with.policy = leg.view.config->access == AccessPolicy::kDisabled
                    ? schema::WriteExtras::Policy::kDisable
                    : schema::WriteExtras::Policy::kEnable;
  if (leg.view.config->access == AccessPolicy::kBypass) {
    with.bypass_until = stamp_deadline(*cx_, now);
  } else if (leg.state.bypass_until) {
    with.bypass_until = TimePoint{};
  }
  leg.update.assign(leg.plan, *leg.view.layout, leg.state, with);
}

void LegWrite::prepare_creation(TimePoint now) {
  Leg& leg = *leg_;
  schema::NewBucket bucket;
  bucket.ns = cx_->ns;
  bucket.owner = owner_by(leg);
  bucket.shard = leg.names().shard;
  bucket.partition_write_ceiling = cx_->capabilities.partition_write_ceiling;
  bucket.nonce = leg.nonce;
  if (leg.bypass != BypassMode::kEnforce) bucket.bypass_until = stamp_deadline(*cx_, now);
  std::int64_t expiry = expiry_of(leg, cx_->settings, now);
  if (expiry != 0) bucket.expires_at_s = expiry;
  for (const auto& configured : leg.config()->limits) {
    schema::NewLimit limit;
    limit.configured = configured.get();
    for (const NamedLimit& named : leg.named) {
      if (named.configured == configured.get()) {
        limit.debit = std::max<std::int64_t>(0, named.amount);
      }
    }
    if (configured->limit().soft() && !leg.call_limits) {
      limit.soft_until = stamp_deadline(*cx_, now);
    }
    bucket.limits.push_back(limit);
  }
  leg.plan.clear();
  leg.plan.now = now;
  leg.plan.refilled_at = now;
  Creation& creation = creation_.emplace();
  creation.item = schema::create_bucket(bucket, now);
  creation.item_condition.require(store::Term{store::Test::kItemAbsent});
  creation.owner_key = schema::entity_key(cx_->ns, leg.names().entity);
  creation.owner_condition = schema::same_owner(leg.meta ? &*leg.meta : nullptr);
}

void LegWrite::append_write(std::vector<store::TransactItem>& items) const {
  if (creates()) {
    items.emplace_back(store::PutRequest(creation_->item, &creation_->item_condition));
  } else {
    items.emplace_back(update());
  }
}

void LegWrite::append_check(std::vector<store::TransactItem>& items) const {
  if (!creates()) return;
  items.emplace_back(store::CheckRequest(creation_->owner_key, creation_->owner_condition));
}

}  // namespace stint::ops
