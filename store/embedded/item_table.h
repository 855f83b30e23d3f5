// A hash table of images by key, made for few cache misses. Shared by the embedded engines.
#ifndef STINT_STORE_EMBEDDED_ITEM_TABLE_H_
#define STINT_STORE_EMBEDDED_ITEM_TABLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/component.h"
#include "store/image.h"

namespace stint::store {

/// Open addressing with linear probing; a slot holds the key's hash beside the image, so that only
/// the wanted image is touched. Locked by its owner, except for `prefetch`.
class STINT_COMPONENT ItemTable {
 public:
  ItemTable();
  ~ItemTable();
  ItemTable(const ItemTable&) = delete;
  ItemTable& operator=(const ItemTable&) = delete;

  /// The place of the item, or null. Valid until the next insertion or removal.
  ImagePtr* find(std::uint64_t hash, std::string_view pk, std::string_view sk);
  ImagePtr* find(const Key& key) { return find(key.hash(), key.pk(), key.sk()); }

  /// Precondition: the item is not there.
  void insert(std::uint64_t hash, ImagePtr image);
  /// Precondition: `place` came from `find`.
  void erase(ImagePtr* place);
  /// Removes some item. Precondition: not empty.
  void evict();

  /// Removes all items.
  void clear() {
    while (size_ > 0) evict();
  }

  std::size_t size() const { return size_; }

  /// Asks for the slot's cache line. May be called without the owner's lock. Always inlined, see
  /// base/prefetch.h.
  __attribute__((always_inline)) void prefetch(std::uint64_t hash) const {
    auto slots = reinterpret_cast<std::uintptr_t>(slots_.load(std::memory_order_relaxed));
    std::size_t at = hash & mask_.load(std::memory_order_relaxed);
    // The table may be growing meanwhile: the address is a guess and never read from.
    __builtin_prefetch(reinterpret_cast<const void*>(slots + at * sizeof(Slot)), 1);
  }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    ImagePtr image;  // empty: the slot is free
  };

  Slot* slots() const { return slots_.load(std::memory_order_relaxed); }
  std::size_t mask() const { return mask_.load(std::memory_order_relaxed); }
  void grow();
  void erase_at(std::size_t at);

  std::atomic<Slot*> slots_;
  std::atomic<std::size_t> mask_;
  std::size_t size_ = 0;
  std::size_t hand_ = 0;  // where the search for the next victim starts
};

}  // namespace stint::store

#endif  // STINT_STORE_EMBEDDED_ITEM_TABLE_H_
