#include "limiter/caches.h"

#include <algorithm>

namespace stint::limiter {
namespace {

/// Resources are named by requests, so what is known of them is bounded; so are shapes of items.
constexpr std::size_t kMostConfigs = 10'000;
constexpr std::size_t kMostLayouts = 10'000;
constexpr std::size_t kFirstHeads = 16;

}  // namespace

ViewTable::ViewTable(std::size_t capacity)
    : shard_capacity_(std::max<std::size_t>(1, (capacity + kShards - 1) / kShards)),
      shards_(kShards) {
  for (Shard& shard : shards_) shard.heads.assign(kFirstHeads, kNone);
}

std::uint32_t* ViewTable::link_to(Shard& shard, std::uint64_t hash, std::string_view entity,
                                  std::string_view resource) {
  std::uint32_t* link = &shard.heads[hash & (shard.heads.size() - 1)];
  while (*link != kNone) {
    Entry& entry = shard.entries[*link];
    if (entry.hash == hash && entry.view.names->entity == entity &&
        entry.view.names->resource == resource) {
      return link;
    }
    link = &entry.next;
  }
  return link;
}

void ViewTable::remove(Shard& shard, std::uint32_t* link) {
  std::uint32_t index = *link;
  Entry& entry = shard.entries[index];
  *link = entry.next;
  entry.view = ops::View();
  entry.occupied = false;
  entry.next = shard.free;
  shard.free = index;
  --shard.count;
}

void ViewTable::evict_one(Shard& shard) {
  for (;;) {
    if (shard.hand >= shard.entries.size()) shard.hand = 0;
    Entry& entry = shard.entries[shard.hand++];
    if (!entry.occupied) continue;
    if (entry.used) {
      entry.used = false;
      continue;
    }
    const ops::BucketNames& names = *entry.view.names;
    remove(shard, link_to(shard, entry.hash, names.entity, names.resource));
    return;
  }
}

void ViewTable::grow(Shard& shard) {
  std::vector<std::uint32_t> heads(shard.heads.size() * 2, kNone);
  for (std::uint32_t i = 0; i < shard.entries.size(); ++i) {
    Entry& entry = shard.entries[i];
    if (!entry.occupied) continue;
    std::uint32_t& head = heads[entry.hash & (heads.size() - 1)];
    entry.next = head;
    head = i;
  }
  shard.heads = std::move(heads);
}

bool ViewTable::find(std::string_view entity, std::string_view resource, ops::View& view) {
  std::uint64_t hash = ops::view_hash(entity, resource);
  Shard& shard = shard_of(hash);
  std::lock_guard lock(shard.mutex);
  std::uint32_t index = *link_to(shard, hash, entity, resource);
  if (index == kNone) return false;
  Entry& entry = shard.entries[index];
  entry.used = true;
  view = entry.view;
  return true;
}

void ViewTable::put(const ops::View& view) {
  std::uint64_t hash = ops::view_hash(view.names->entity, view.names->resource);
  Shard& shard = shard_of(hash);
  std::lock_guard lock(shard.mutex);
  std::uint32_t* link = link_to(shard, hash, view.names->entity, view.names->resource);
  if (*link != kNone) {
    Entry& entry = shard.entries[*link];
    entry.view = view;
    entry.used = true;
    return;
  }
  if (shard.count >= shard_capacity_) evict_one(shard);
  if (shard.count >= shard.heads.size()) grow(shard);
  std::uint32_t index = shard.free;
  if (index != kNone) {
    shard.free = shard.entries[index].next;
  } else {
    index = static_cast<std::uint32_t>(shard.entries.size());
    shard.entries.emplace_back();
  }
  Entry& entry = shard.entries[index];
  entry.hash = hash;
  entry.view = view;
  entry.occupied = true;
  entry.used = true;
  std::uint32_t& head = shard.heads[hash & (shard.heads.size() - 1)];
  entry.next = head;
  head = index;
  ++shard.count;
}

void ViewTable::forget(std::string_view entity, std::string_view resource) {
  std::uint64_t hash = ops::view_hash(entity, resource);
  Shard& shard = shard_of(hash);
  std::lock_guard lock(shard.mutex);
  std::uint32_t* link = link_to(shard, hash, entity, resource);
  if (*link != kNone) remove(shard, link);
}

void ViewTable::forget_entity(std::string_view entity) {
  for (Shard& shard : shards_) {
    std::lock_guard lock(shard.mutex);
    for (Entry& entry : shard.entries) {
      if (!entry.occupied || entry.view.names->entity != entity) continue;
      std::uint32_t* link =
          link_to(shard, entry.hash, entry.view.names->entity, entry.view.names->resource);
      remove(shard, link);
    }
  }
}

void ViewTable::forget_configs() {
  for (Shard& shard : shards_) {
    std::lock_guard lock(shard.mutex);
    for (Entry& entry : shard.entries) entry.view.config.reset();
  }
}

void ViewTable::clear() {
  for (Shard& shard : shards_) {
    std::lock_guard lock(shard.mutex);
    shard.heads.assign(kFirstHeads, kNone);
    shard.entries.clear();
    shard.free = kNone;
    shard.hand = 0;
    shard.count = 0;
  }
}

void ViewTable::prefetch(std::string_view entity, std::string_view resource,
                         const store::Engine& engine) {
  std::uint64_t hash = ops::view_hash(entity, resource);
  Shard& shard = shard_of(hash);
  std::lock_guard lock(shard.mutex);
  std::uint32_t index = shard.heads[hash & (shard.heads.size() - 1)];
  if (index == kNone) return;
  const Entry& entry = shard.entries[index];
  if (entry.hash == hash) engine.prefetch(entry.view.names->key);
}

std::optional<ops::Caches::CachedConfig> Caches::find_config(std::string_view resource) {
  std::lock_guard lock(mutex_);
  auto found = configs_.find(resource);
  if (found == configs_.end()) return std::nullopt;
  return found->second;
}

void Caches::put_config(std::string_view resource, const CachedConfig& config) {
  std::lock_guard lock(mutex_);
  if (configs_.size() >= kMostConfigs && configs_.find(resource) == configs_.end()) {
    configs_.clear();
  }
  configs_.insert_or_assign(std::string(resource), config);
}

void Caches::forget_config(std::string_view resource) {
  std::lock_guard lock(mutex_);
  auto found = configs_.find(resource);
  if (found != configs_.end()) configs_.erase(found);
}

std::shared_ptr<const schema::BucketLayout> Caches::find_layout(const store::Image& image) {
  std::uint64_t hash = schema::BucketLayout::shape_hash(image);
  std::lock_guard lock(mutex_);
  auto found = layouts_.find(hash);
  return found == layouts_.end() ? nullptr : found->second;
}

void Caches::put_layout(const store::Image& image,
                        std::shared_ptr<const schema::BucketLayout> layout) {
  std::uint64_t hash = schema::BucketLayout::shape_hash(image);
  std::lock_guard lock(mutex_);
  if (layouts_.size() >= kMostLayouts) layouts_.clear();
  layouts_.insert_or_assign(hash, std::move(layout));
}

void Caches::clear() {
  views_.clear();
  std::lock_guard lock(mutex_);
  configs_.clear();
}

}  // namespace stint::limiter
