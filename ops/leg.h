// One bucket's part in an operation: what is known of it, what it is worth, what is to be written.
#ifndef STINT_OPS_LEG_H_
#define STINT_OPS_LEG_H_

#include <cassert>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bucket/plan.h"
#include "bucket/state.h"
#include "bucket/worth.h"
#include "ops/context.h"
#include "ops/op.h"
#include "schema/bucket_item.h"
#include "schema/entity_item.h"
#include "stint/request.h"
#include "store/expression.h"

namespace stint::ops {

/// One limit that a request names, as it stands on one bucket.
struct NamedLimit {
  std::size_t request = 0;  // position in the request
  int on_item = -1;         // index in the state; -1: to be seeded or created
  const schema::ConfiguredLimit* configured = nullptr;
  std::int64_t amount = 0;  // milli-tokens
  bool gates = true;
  bool soft = false;  // the planned write takes it whatever the balance
  std::optional<bucket::PeriodPin> pin;
};

/// How an operation regards access to a bucket.
enum class BypassMode : std::uint8_t {
  kEnforce,
  kCount,  ///< The stamp is in force: consumption is counted only.
  kRenew,  ///< The same, and the configuration just read sets or extends the stamp.
};

class Leg {
 public:
  /// Knows nothing, not even which bucket, until `take`.
  Leg() = default;
  /// Starts from nothing, past the caches.
  explicit Leg(std::shared_ptr<const BucketNames> names) { view.names = std::move(names); }
  Leg(const Leg&) = delete;
  Leg& operator=(const Leg&) = delete;
  ~Leg() { give_back(); }

  /// Starts from what the caches remember of shard 0. Precondition: the caller has the bucket's
  /// turn, whose hash is `hash`; what is known is handed over until `give_back`.
  /// A call that has missed its turn gets a copy.
  void take(Context& cx, std::uint64_t hash, std::string_view entity, std::string_view resource);
  /// The same for the very bucket, or shard of one, that the names are of.
  void take(Context& cx, const BucketNames& names);
  /// The same for a caller without the turn, who only looks: a copy, never given back.
  void peek(Context& cx, std::string_view entity, std::string_view resource);
  /// Has the caches remember what the leg knows. Does nothing unless the view was taken.
  void give_back();
  /// The same, but with nothing left to be remembered.
  void forget();
  /// Gives the view back and goes on with another shard of the same bucket. What was read of the
  /// configuration stays known, unless the caches know better.
  void move_to_shard(Context& cx, std::int64_t shard);
  bool taken() const { return view.names != nullptr; }
  /// Whether the caches knew anything when the view was taken.
  bool remembered() const { return remembered_; }

  const BucketNames& names() const { return *view.names; }
  bool exists() const { return static_cast<bool>(view.image); }
  /// Whether the bucket is known not to exist, by a read of this call.
  bool absent() const { return !view.image && bucket_read; }

  View view;
  bool bucket_read = false;      // the image, or its absence, was received in this call
  bool image_confirmed = false;  // ... by a consistent read or a failed write
  bool config_fresh = false;     // all levels were read in this call, after the image
  bool meta_read = false;
  std::optional<schema::EntityRecord> meta;
  /// Limits given with the call stand in for the stored ones.
  std::shared_ptr<const schema::ConfigRecord> call_limits;

  // Set by `evaluate_leg`.
  bucket::BucketState state;
  std::vector<bucket::Worth> worths;
  /// Limits whose stored parameters differ from the configuration.
  std::vector<bucket::Stamp> stamps;
  /// Configured limits that the item lacks.
  std::vector<const schema::ConfiguredLimit*> missing;
  /// Quotas that it lacks and that cannot be added to one of several shards: what they grant has to
  /// come from the others.
  std::vector<const schema::ConfiguredLimit*> ungranted;
  BypassMode bypass = BypassMode::kEnforce;
  bool expired = false;
  bool undecodable = false;
  bucket::QuotaCarry quota_carry = bucket::QuotaCarry::kUse;
  /// Set while the owner that the item names is not the one that was read; it will be restamped.
  std::optional<schema::OwnerStamp> owner_stamp;

  /// How many shards the bucket is known to have.
  std::int64_t shard_count = 1;
  /// Whether it was decided which of them this call goes by.
  bool shard_chosen = false;

  // Set by the operation.
  std::vector<NamedLimit> named;
  std::int64_t nonce = 0;
  bool landed = false;
  int transactions = 0;  // sent so far
  /// What was written, for the lease; valid once landed.
  bucket::Plan plan;
  /// The prepared update, if the write is one.
  schema::BucketWrite update;
  /// Working lists of the planning, kept for their memory.
  std::vector<bucket::Demand> demands;
  std::vector<bucket::Seed> seeds;

  /// The configuration in force; null when no level has limits.
  const schema::ConfigRecord* config() const {
    if (call_limits) return call_limits.get();
    return view.config && view.config->record ? view.config->record.get() : nullptr;
  }
  ConfigLevel level() const {
    if (call_limits) return ConfigLevel::kCall;
    return view.config ? view.config->level : ConfigLevel::kNone;
  }
  /// Whether debits go on to `parent()`.
  bool cascades() const;
  std::optional<std::string> parent() const;

 private:
  friend class PooledLeg;
  void take_view_of(Context& cx, std::uint64_t hash, std::string_view entity,
                    std::string_view resource, std::int64_t shard);
  void look_up(Context& cx, std::uint64_t hash, std::string_view entity, std::string_view resource,
               std::int64_t shard, bool exclusively);
  /// Forgets everything, but keeps the memory of its lists for the next use.
  void clear();

  Caches* caches_ = nullptr;  // where the view was taken from and goes back to
  bool remembered_ = false;
  bool looked_up_ = false;  // the observer was told whether it was remembered
};

/// A leg whose memory is used again by the thread's next operation.
class PooledLeg {
 public:
  PooledLeg();
  PooledLeg(PooledLeg&& other) noexcept = default;
  PooledLeg& operator=(PooledLeg&&) = delete;
  ~PooledLeg();

  Leg& operator*() const { return *leg_; }
  Leg* operator->() const { return leg_.get(); }

 private:
  std::unique_ptr<Leg> leg_;
};

/// What an operation has to read before it can go on.
struct Reads {
  bool bucket = false;
  bool meta = false;
  bool config = false;
  bool all_levels = false;  // of the configuration, none from a cache
  store::Consistency consistency = store::Consistency::kEventual;
  bool any() const { return bucket || meta || config; }
};

/// Decodes and evaluates what is known of the leg at `now`, and tells what has to be read first.
/// A leg without an image is evaluated as it would be created. Errors: `kCorrupt`.
Result<Reads> evaluate_leg(Context& cx, Leg& leg, TimePoint now);

/// Reads at most 100 items, in one request; up to three more ask again for what the store leaves
/// unprocessed. `images` become those of `keys`, in order, empty for what does not exist. Both must
/// outlive the operation. Errors: those of the store; `kThrottled` when keys stay unprocessed.
Op<Status> read_batch(std::span<const store::Key> keys, store::Consistency consistency,
                      std::vector<store::ImagePtr>& images);

/// Reads in one request. Errors: those of the store, and `kCorrupt`.
Op<Status> read_leg(Context& cx, Leg& leg, Reads reads, TimePoint now);

/// Evaluates and reads until nothing is left to read.
Op<Status> prepare_leg(Context& cx, Leg& leg, TimePoint now);

/// Decides by which shard a call goes: one drawn at random, where it exists and knows how many
/// there are; else shard 0. No shard is ever made. True when the leg has moved and must be prepared
/// anew. Precondition: evaluated.
bool choose_other_shard(Context& cx, Leg& leg);
inline bool choose_shard(Context& cx, Leg& leg) {
  // All buckets of embedded stores, and nearly all others, have one shard.
  if (leg.state.shard_count <= 1 && !leg.shard_chosen) return false;
  return choose_other_shard(cx, leg);
}

/// What hinders a planned write on one of several shards: a named limit whose window would have to
/// open, or a quota that would have to be added. Both have to be agreed upon with the other shards.
/// Null: nothing.
const NamedLimit* find_hindrance(const Leg& leg, std::span<const NamedLimit> limits, TimePoint now);
/// The same of the limits that the leg's request names.
inline const NamedLimit* hindered_by_shards(const Leg& leg, TimePoint now) {
  return leg.state.shard_count <= 1 ? nullptr : find_hindrance(leg, leg.named, now);
}
/// A hindrance that was found, in words for people.
std::string describe_hindrance(const Leg& leg, const NamedLimit& named);

/// Takes an image that the store just returned (empty: the item is gone) as the leg's knowledge.
void take_image(Leg& leg, store::ImagePtr image, TimePoint now, bool confirmed);

/// Forgets the image, where a write changed it without telling how.
void forget_image(Leg& leg);

/// One limit of the leg as the next write will find it: as stored, restamped or to be seeded.
class Standing {
 public:
  Standing(const Leg& leg, const NamedLimit& named, TimePoint now);
  Standing(const Standing&) = delete;
  Standing& operator=(const Standing&) = delete;

  const bucket::LimitState& limit() const { return *limit_; }
  const bucket::Worth& worth() const { return *worth_; }
  TimePoint refilled_at() const { return refilled_at_; }

 private:
  const bucket::LimitState* limit_;  // the leg's, or `own_limit_`
  const bucket::Worth* worth_;
  TimePoint refilled_at_;
  std::optional<bucket::LimitState> own_limit_;
  std::optional<bucket::Worth> own_worth_;
};

/// Every limit that applies to the leg, in order of name, with nothing requested.
std::vector<NamedLimit> all_limits(const Leg& leg);

/// Whether the limit is counted but does not refuse.
bool is_soft(const Leg& leg, const NamedLimit& named, TimePoint now);

/// Status of a named limit before anything is taken.
LimitStatus status_of(const Leg& leg, const NamedLimit& named, TimePoint now);
/// Fills in, of a fresh status, that of a named limit after the leg's plan landed.
void status_after(const Leg& leg, const NamedLimit& named, TimePoint now, LimitStatus& status);
/// The period that the leg's landed debit of a named limit belongs to.
bucket::PeriodPin period_after(const Leg& leg, const NamedLimit& named, TimePoint now);

/// A prepared write of one leg: an update of the item, or its creation with the check on its
/// owner. Must stay in place until the reply is there.
class LegWrite {
 public:
  LegWrite(const Context& cx, Leg& leg) : cx_(&cx), leg_(&leg) {}
  LegWrite(const LegWrite&) = delete;
  LegWrite& operator=(const LegWrite&) = delete;

  /// Plans the write of the leg's named limits: bypass, fast, locked, or creation. `aged_as_recent`
  /// prefers the fast form although the image is old, `prefer_locked` the other way (decision 30).
  void prepare(TimePoint now, bool aged_as_recent, bool prefer_locked);
  /// The last form of a settle (rules W5).
  void prepare_plain(TimePoint now);
  /// Brings parameters up to date without taking anything (rules W10).
  void prepare_fanout(TimePoint now, std::vector<std::size_t> removed_limits);

  bool creates() const { return creation_.has_value(); }
  bool opens_window() const { return creates() || leg_->plan.opens_window(); }
  /// Whether there is anything to write at all.
  bool empty() const { return empty_; }
  store::UpdateRequest update() const {
    assert(prepared_ && !creates());
    return leg_->update.request(leg_->names().key, planned_from_);
  }
  /// Appends the leg's members of a transaction: the write first.
  void append_write(std::vector<store::TransactItem>& items) const;
  void append_check(std::vector<store::TransactItem>& items) const;
  const store::ImagePtr& created() const { return creation_->item; }
  Leg& leg() const { return *leg_; }

 private:
  void begin();
  void prepare_creation(TimePoint now);
  schema::WriteExtras extras(TimePoint now) const;

  struct Creation {
    store::ImagePtr item;
    store::Condition item_condition;
    store::Key owner_key;
    store::Condition owner_condition;
  };

  const Context* cx_;
  Leg* leg_;
  std::optional<Creation> creation_;
  const store::Image* planned_from_ = nullptr;  // where the update's condition holds of it
  bool prepared_ = false;
  bool empty_ = false;
};

/// What a bucket's limits would be without any use: for entities that have no bucket yet.
bucket::BucketState unused_bucket(const schema::ConfigRecord& config, TimePoint now);

/// When the bucket of such limits may be removed: `now` plus their lifetime, in epoch seconds;
/// 0: never (entity-level limits, or expiry switched off).
std::int64_t expiry_of(Leg& leg, const Settings& settings, TimePoint now);

}  // namespace stint::ops

#endif  // STINT_OPS_LEG_H_
