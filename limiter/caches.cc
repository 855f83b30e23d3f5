#include "limiter/caches.h"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "base/prefetch.h"

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

std::uint32_t ViewTable::find(const Shard& shard, std::uint64_t hash, std::string_view entity,
                              std::string_view resource) {
  std::uint32_t index = shard.heads[hash & (shard.heads.size() - 1)];
  for (; index != kNone; index = shard.entries[index].next) {
    const Entry& entry = shard.entries[index];
    // A view that was taken has taken its names along.
    if (entry.hash != hash || entry.taken != 0) continue;
    // Almost surely the one: what it refers to is fetched while the names are compared.
    if (entry.view.image) entry.view.image->prefetch();
    if (entry.view.names->entity == entity && entry.view.names->resource == resource) break;
  }
  return index;
}

void ViewTable::remove(Shard& shard, std::uint32_t index) {
  Entry& entry = shard.entries[index];
  std::uint32_t* link = &shard.heads[entry.hash & (shard.heads.size() - 1)];
  while (*link != index) link = &shard.entries[*link].next;
  *link = entry.next;
  entry.view = ops::View();
  entry.occupied = false;
  entry.taken = 0;
  entry.next = shard.free;
  shard.free = index;
  --shard.count;
}

void ViewTable::evict_one(Shard& shard) {
  for (;;) {
    if (shard.hand >= shard.entries.size()) shard.hand = 0;
    std::uint32_t index = shard.hand++;
    Entry& entry = shard.entries[index];
    if (!entry.occupied) continue;
    if (entry.used) {
      entry.used = false;
      continue;
    }
    remove(shard, index);
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

std::uint32_t ViewTable::insert(Shard& shard, std::uint64_t hash) {
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
  entry.occupied = true;
  std::uint32_t& head = shard.heads[hash & (shard.heads.size() - 1)];
  entry.next = head;
  head = index;
  ++shard.count;
  return index;
}

bool ViewTable::take(std::uint64_t hash, std::string_view entity, std::string_view resource,
                     bool exclusively, ops::View& view) {
  Shard& shard = shard_of(hash);
  std::lock_guard lock(shard.mutex);
  std::uint32_t index = find(shard, hash, entity, resource);
  if (index != kNone) {
    Entry& entry = shard.entries[index];
    entry.used = true;
    if (exclusively) {
      view = std::move(entry.view);
      // The number tells this taking from an earlier one of the same place.
      if (++shard.takings == 0) ++shard.takings;
      entry.taken = static_cast<std::uint64_t>(shard.takings) << 32 | index;
      view.taken_from = entry.taken;
    } else {
      view = entry.view;
      view.taken_from = 0;
    }
  }
  view.shard_generation = shard.generation;
  return index != kNone;
}

// The pair may have been remembered a second time while its view was away.
void ViewTable::remove_doubles(Shard& shard, std::uint32_t kept) {
  const Entry& entry = shard.entries[kept];
  const ops::BucketNames& names = *entry.view.names;
  std::uint32_t next = shard.heads[entry.hash & (shard.heads.size() - 1)];
  while (next != kNone) {
    std::uint32_t index = std::exchange(next, shard.entries[next].next);
    const Entry& other = shard.entries[index];
    if (index == kept || other.hash != entry.hash || other.taken != 0) continue;
    if (other.view.names->entity == names.entity && other.view.names->resource == names.resource) {
      remove(shard, index);
    }
  }
}

void ViewTable::put(ops::View&& view) noexcept try {
  const ops::BucketNames& names = *view.names;
  std::uint64_t hash = names.hash;
  ops::View replaced;  // destroyed outside of the lock
  Shard& shard = shard_of(hash);
  std::lock_guard lock(shard.mutex);
  if (view.generation != generation() || view.shard_generation != shard.generation) {
    view.image = store::ImagePtr();
    view.config.reset();
  }
  std::uint32_t index = static_cast<std::uint32_t>(view.taken_from);
  bool has_place = view.taken_from != 0 && index < shard.entries.size() &&
                   shard.entries[index].taken == view.taken_from;
  if (!has_place) index = find(shard, hash, names.entity, names.resource);
  if (!view.image && !view.config) {
    if (index != kNone) remove(shard, index);
    return;
  }
  if (index == kNone) {
    index = insert(shard, hash);
    shard.entries[index].key_hash = names.key.hash();
  }
  Entry& entry = shard.entries[index];
  if (!has_place) replaced = std::move(entry.view);
  entry.taken = 0;
  entry.used = true;
  entry.view = std::move(view);
  if (has_place) remove_doubles(shard, index);
} catch (const std::bad_alloc&) {
  // What cannot be remembered is read again.
}

void ViewTable::forget(std::string_view entity, std::string_view resource) {
  Shard& shard = shard_of(ops::view_hash(entity, resource));
  std::lock_guard lock(shard.mutex);
  ++shard.generation;
  for (std::int64_t part = 0; part < ops::kMostShards; ++part) {
    std::uint32_t index = find(shard, ops::view_hash(entity, resource, part), entity, resource);
    if (index != kNone) remove(shard, index);
  }
}

void ViewTable::forget_entity(std::string_view entity) {
  for (Shard& shard : shards_) {
    std::lock_guard lock(shard.mutex);
    ++shard.generation;
    for (std::uint32_t i = 0; i < shard.entries.size(); ++i) {
      const Entry& entry = shard.entries[i];
      if (entry.occupied && entry.taken == 0 && entry.view.names->entity == entity) {
        remove(shard, i);
      }
    }
  }
}

void ViewTable::forget_configs() {
  for (Shard& shard : shards_) {
    std::lock_guard lock(shard.mutex);
    ++shard.generation;
    for (Entry& entry : shard.entries) entry.view.config.reset();
  }
}

void ViewTable::clear() {
  generation_.fetch_add(1, std::memory_order_acq_rel);
  for (Shard& shard : shards_) {
    std::lock_guard lock(shard.mutex);
    shard.heads.assign(kFirstHeads, kNone);
    shard.entries.clear();
    shard.free = kNone;
    shard.hand = 0;
    shard.count = 0;
  }
}

// The way to what a decision needs leads over three loads, each of which may have to wait for
// memory. So a hint takes the first step for its own pair and a further one for pairs hinted
// before, whose earlier steps have arrived by now.
void ViewTable::prefetch(std::string_view entity, std::string_view resource,
                         const store::Engine& engine) {
  constexpr std::size_t kStep = 4;  // hints between two steps of a pair
  thread_local std::array<std::uint64_t, 2 * kStep> hinted{};
  thread_local std::size_t next = 0;
  std::uint64_t hash = ops::view_hash(entity, resource);
  std::uint64_t earlier = hinted[(next + kStep) % hinted.size()];
  std::uint64_t earliest = std::exchange(hinted[next], hash);
  next = (next + 1) % hinted.size();
  {
    Shard& shard = shard_of(hash);
    std::lock_guard lock(shard.mutex);
    __builtin_prefetch(&shard.heads[hash & (shard.heads.size() - 1)]);
  }
  {
    Shard& shard = shard_of(earlier);
    std::lock_guard lock(shard.mutex);
    std::uint32_t index = shard.heads[earlier & (shard.heads.size() - 1)];
    if (index != kNone) prefetch_lines(&shard.entries[index], sizeof(Entry));
  }
  Shard& shard = shard_of(earliest);
  std::lock_guard lock(shard.mutex);
  std::uint32_t index = shard.heads[earliest & (shard.heads.size() - 1)];
  if (index == kNone) return;
  const Entry& entry = shard.entries[index];
  if (entry.hash != earliest || entry.taken != 0) return;
  engine.prefetch(entry.key_hash);
  prefetch_lines(entry.view.names.get(), sizeof(ops::BucketNames));
  if (entry.view.image) entry.view.image->prefetch();
}

std::optional<ops::Caches::CachedConfig> Caches::find_config(std::string_view resource) {
  std::lock_guard lock(mutex_);
  auto found = configs_.find(resource);
  if (found == configs_.end()) return std::nullopt;
  return found->second;
}

void Caches::put_config(std::string_view resource, const CachedConfig& config,
                        std::uint64_t generation) {
  std::lock_guard lock(mutex_);
  // `clear` moves the generation before it comes for these.
  if (generation != views_.generation()) return;
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
