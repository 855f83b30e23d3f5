// Everything an operation may use besides the store: settings, random numbers, caches, observer.
#ifndef STINT_OPS_CONTEXT_H_
#define STINT_OPS_CONTEXT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/random.h"
#include "schema/bucket_item.h"
#include "schema/config_item.h"
#include "schema/keys.h"
#include "stint/limit.h"
#include "stint/observer.h"
#include "stint/time.h"
#include "store/engine.h"
#include "store/image.h"
#include "store/key.h"

namespace stint::ops {

/// What the configuration says about one entity and resource after walking the levels.
struct ResolvedConfig {
  /// The level that has limits; null when none has.
  std::shared_ptr<const schema::ConfigRecord> record;
  ConfigLevel level = ConfigLevel::kNone;
  AccessPolicy access = AccessPolicy::kEnforce;
  ConfigLevel access_level = ConfigLevel::kNone;
  std::optional<bool> cascade;
  /// How long a bucket of these limits is kept, in seconds; filled in when first needed.
  std::optional<std::int64_t> lifetime_s;
  /// When it was read; what was taken from a cache counts from the reading.
  TimePoint read_at;
};

/// Hash of an entity and resource: finds their view, and tells whose turn at the bucket it is.
inline std::uint64_t view_hash(std::string_view entity, std::string_view resource) {
  return hash_bytes(resource, hash_bytes(entity));
}

/// Of the views of one bucket's shards, these bits of the hash are equal: caches that go by them
/// keep all together.
inline constexpr std::uint64_t kBucketBits = 0xff00'0000'0000'0000;

/// The same of one shard of a bucket. That of shard 0 stands for the bucket.
inline std::uint64_t view_hash(std::string_view entity, std::string_view resource,
                               std::int64_t shard) {
  std::uint64_t hash = view_hash(entity, resource);
  if (shard == 0) return hash;
  std::uint64_t mixed = mix_hash(hash, static_cast<std::uint64_t>(shard));
  return (hash & kBucketBits) | (mixed & ~kBucketBits);
}

/// Views of so many shards of a bucket are remembered; there are never more (rules W14).
inline constexpr std::int64_t kMostShards = 32;

/// A bucket's names, built once and shared by views and leases.
struct BucketNames {
  BucketNames(std::string_view ns, std::string_view entity_id, std::string_view resource_name,
              std::int64_t shard_index)
      : entity(entity_id),
        resource(resource_name),
        shard(shard_index),
        hash(view_hash(entity_id, resource_name, shard_index)),
        key(schema::bucket_key(ns, entity_id, resource_name, shard_index)) {}

  std::string entity;
  std::string resource;
  std::int64_t shard;
  std::uint64_t hash;  // see `view_hash`
  store::Key key;
};

/// What a process remembers of one bucket.
struct View {
  std::shared_ptr<const BucketNames> names;
  /// The last image seen; empty when the bucket is not known to exist.
  store::ImagePtr image;
  std::shared_ptr<const schema::BucketLayout> layout;
  /// `store::Image::lineage` of an image that the layout is known to fit.
  std::uint64_t layout_fits = 0;
  TimePoint image_at;
  std::optional<ResolvedConfig> config;
  /// A refill lock was lost to another writer lately (decision 30 a).
  bool contended = false;
  /// The cache's own: where the view was taken from, 0 for a copy.
  std::uint64_t taken_from = 0;
  /// The caches' generation by which the taker goes, from before it took the view: what was learnt
  /// under an earlier one is not remembered.
  std::uint64_t generation = 0;
  /// The cache's own: tells a view that was taken before something near it was forgotten.
  std::uint32_t shard_generation = 0;
};

/// What older programs of a shared table would get wrong. Every feature needs a stream consumer of
/// some version, and once it is used, older clients must stay away (rules 5.11).
enum class Feature : std::uint8_t {
  kSessionLimits,  ///< From 0.15 on.
  kCascadePolicy,  ///< Set for a scope; from 0.16 on.
  kSoftness,       ///< Soft limits and bypass; from 0.17 on.
};

/// What operations remember between calls. Implementations are thread-safe.
class Caches {
 public:
  virtual ~Caches() = default;

  /// Counts how often everything was forgotten.
  virtual std::uint64_t generation() const = 0;
  /// What is remembered of a pair; `hash` is its `view_hash`. False, with nothing but what the
  /// cache needs for itself in `view`, when that is nothing. `exclusively`: the caller has the
  /// bucket's turn, so the view is handed over instead of copied; it must be given back, also
  /// after a failure, by `put_view`.
  virtual bool take_view(std::uint64_t hash, std::string_view entity, std::string_view resource,
                         bool exclusively, View& view) = 0;
  /// Remembers a view, or forgets the bucket where it holds neither image nor configuration. What
  /// an entity's or all views had to forget since this one was taken stays forgotten.
  virtual void put_view(View&& view) = 0;
  /// All shards of it.
  virtual void forget_view(std::string_view entity, std::string_view resource) = 0;
  virtual void forget_entity(std::string_view entity) = 0;
  /// Drops the remembered configuration of every view.
  virtual void forget_configs() = 0;

  /// A decoded configuration item of the resource or system level (`resource` empty).
  struct CachedConfig {
    store::ImagePtr image;  // empty: known to be absent
    std::shared_ptr<const schema::ConfigRecord> record;
    TimePoint read_at;
  };
  virtual std::optional<CachedConfig> find_config(std::string_view resource) = 0;
  /// Not remembered when it was read by what was known under an earlier generation than now.
  virtual void put_config(std::string_view resource, const CachedConfig& config,
                          std::uint64_t generation) = 0;
  virtual void forget_config(std::string_view resource) = 0;

  virtual std::shared_ptr<const schema::BucketLayout> find_layout(const store::Image& image) = 0;
  virtual void put_layout(const store::Image& image,
                          std::shared_ptr<const schema::BucketLayout> layout) = 0;

  /// Whether the table was once seen to be fit for a feature.
  virtual bool is_proven(Feature feature) const = 0;
  virtual void set_proven(Feature feature) = 0;
};

/// Settings of the limiter that operations need.
struct Settings {
  Millis config_ttl{60'000};
  Millis rejection_ttl{1'000};
  Millis stamp_ttl{60'000};
  int ttl_multiplier = 7;
  /// Changes of entities and limits leave audit events; a distributed store always has them.
  bool audit = false;
  /// Named in them, if known.
  std::optional<std::string> principal;
};

/// One per call. References outlive the operation.
struct Context {
  std::string_view ns;  // namespace id
  const store::Capabilities& capabilities;
  ResetRule reset_rule;
  /// Of the store (decision 26); 0: no tolerance.
  int burst_tolerance_divisor;
  const Settings& settings;
  Caches& caches;
  Random& random;
  Observer* observer;
  /// Programs of the other package may use the table, too.
  bool shared_table = false;
  /// Set while what was taken is given back: that goes on past the deadline of the call.
  bool past_deadline_allowed = false;
  /// Of the caches, from before `ns` was learnt: what is remembered by it may be outdated.
  std::uint64_t cache_generation = 0;
  /// Set when the call waited for its turn in vain. It may go on, but the store is not asked.
  bool turn_missed = false;
  /// Set when a bucket that was remembered is gone: its whole namespace may be (R98).
  bool bucket_vanished = false;
  /// Set by the driver when it hands the first request to the store.
  bool store_asked = false;

  /// Tells the observer, if there is one. The views need to live during the call only.
  void report(EventKind kind, std::string_view entity, std::string_view resource,
              std::string_view limit = {}, const Error* error = nullptr) const {
    if (observer != nullptr) {
      observer->on_event(
          {.kind = kind, .entity = entity, .resource = resource, .limit = limit, .error = error});
    }
  }
  /// The same of several things at once; nothing when there are none of them.
  void report_count(EventKind kind, std::uint64_t count, std::string_view entity,
                    std::string_view resource) const {
    if (observer != nullptr && count > 0) {
      observer->on_event({.kind = kind, .entity = entity, .resource = resource, .count = count});
    }
  }
};

/// The error that a reply's outcome stands for. Precondition: the outcome is a failure.
Error error_of(const store::ReplyBase& reply);
/// The same for a query that goes on at `from`: a position that the store refuses is the caller's.
Error error_of_page(const store::ReplyBase& reply, const std::optional<std::string>& from);

}  // namespace stint::ops

#endif  // STINT_OPS_CONTEXT_H_
