// What a limiter remembers between calls: bucket images, configuration, layouts.
#ifndef STINT_LIMITER_CACHES_H_
#define STINT_LIMITER_CACHES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ops/context.h"

namespace stint::limiter {

/// A bounded, thread-safe memory of views. Sharded by the view's hash; when a shard is full, an
/// entry that was not used since the sweep last came by gives way (the clock algorithm).
class ViewTable {
 public:
  explicit ViewTable(std::size_t capacity);

  /// As `ops::Caches`.
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  bool take(std::uint64_t hash, std::string_view entity, std::string_view resource,
            bool exclusively, ops::View& view);
  void put(ops::View&& view) noexcept;
  void forget(std::string_view entity, std::string_view resource);
  void forget_entity(std::string_view entity);
  void forget_configs();
  void clear();
  /// A hint that the view is looked up next.
  void prefetch(std::string_view entity, std::string_view resource, const store::Engine& engine);

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  static constexpr std::size_t kShards = 64;
  static_assert((~ops::kBucketBits >> 58) == 0,
                "a bucket's shards stand in one shard of the table");

  struct Entry {
    std::uint64_t hash = 0;
    std::uint32_t next = kNone;  // in the chain of its bucket, or in the free list
    bool used = false;           // since the sweep last came by
    bool occupied = false;       // by a view, or for one that was taken
    std::uint64_t key_hash = 0;  // of the item's key in the store
    std::uint64_t taken = 0;     // the view was handed over under this number; 0: it is here
    ops::View view;
  };
  struct alignas(64) Shard {
    std::mutex mutex;
    std::vector<std::uint32_t> heads;  // size is a power of two
    std::vector<Entry> entries;
    std::uint32_t free = kNone;
    std::uint32_t hand = 0;
    std::size_t count = 0;
    std::uint32_t takings = 0;
    std::uint32_t generation = 0;  // counts how often something of the shard was forgotten
  };

  Shard& shard_of(std::uint64_t hash) { return shards_[hash >> 58]; }
  static std::uint32_t find(const Shard& shard, std::uint64_t hash, std::string_view entity,
                            std::string_view resource);
  static void remove(Shard& shard, std::uint32_t index);
  static void evict_one(Shard& shard);
  static void grow(Shard& shard);
  std::uint32_t insert(Shard& shard, std::uint64_t hash);
  static void remove_doubles(Shard& shard, std::uint32_t kept);

  std::size_t shard_capacity_;
  std::vector<Shard> shards_;
  std::atomic<std::uint64_t> generation_{1};
};

/// The caches of one limiter.
class Caches final : public ops::Caches {
 public:
  explicit Caches(std::size_t max_views) : views_(max_views) {}

  std::uint64_t generation() const override { return views_.generation(); }

  bool take_view(std::uint64_t hash, std::string_view entity, std::string_view resource,
                 bool exclusively, ops::View& view) override {
    return views_.take(hash, entity, resource, exclusively, view);
  }
  void put_view(ops::View&& view) override { views_.put(std::move(view)); }
  void forget_view(std::string_view entity, std::string_view resource) override {
    views_.forget(entity, resource);
  }
  void forget_entity(std::string_view entity) override { views_.forget_entity(entity); }
  void forget_configs() override { views_.forget_configs(); }
  std::optional<CachedConfig> find_config(std::string_view resource) override;
  void put_config(std::string_view resource, const CachedConfig& config,
                  std::uint64_t generation) override;
  void forget_config(std::string_view resource) override;
  std::shared_ptr<const schema::BucketLayout> find_layout(const store::Image& image) override;
  void put_layout(const store::Image& image,
                  std::shared_ptr<const schema::BucketLayout> layout) override;
  bool is_proven(ops::Feature feature) const override {
    return (proven_.load(std::memory_order_relaxed) & bit_of(feature)) != 0;
  }
  void set_proven(ops::Feature feature) override {
    proven_.fetch_or(bit_of(feature), std::memory_order_relaxed);
  }

  void clear();
  void prefetch(std::string_view entity, std::string_view resource, const store::Engine& engine) {
    views_.prefetch(entity, resource, engine);
  }

 private:
  static std::uint32_t bit_of(ops::Feature feature) { return 1u << static_cast<int>(feature); }

  ViewTable views_;
  std::atomic<std::uint32_t> proven_{0};  // bits of features
  std::mutex mutex_;                      // guards the two below
  std::map<std::string, CachedConfig, std::less<>> configs_;
  std::unordered_map<std::uint64_t, std::shared_ptr<const schema::BucketLayout>> layouts_;
};

}  // namespace stint::limiter

#endif  // STINT_LIMITER_CACHES_H_
