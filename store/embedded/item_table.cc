#include "store/embedded/item_table.h"

#include <cassert>
#include <utility>

namespace stint::store {
namespace {

constexpr std::size_t kFirstCapacity = 16;

}  // namespace

ItemTable::ItemTable() : slots_(new Slot[kFirstCapacity]), mask_(kFirstCapacity - 1) {}

ItemTable::~ItemTable() { delete[] slots(); }

ImagePtr* ItemTable::find(std::uint64_t hash, std::string_view pk, std::string_view sk) {
  Slot* table = slots();
  for (std::size_t at = hash & mask(); table[at].image; at = (at + 1) & mask()) {
    Slot& slot = table[at];
    if (slot.hash == hash && slot.image->pk() == pk && slot.image->sk() == sk) return &slot.image;
  }
  return nullptr;
}

void ItemTable::insert(std::uint64_t hash, ImagePtr image) {
  assert(image);
  // At most three quarters full.
  if ((size_ + 1) * 4 > (mask() + 1) * 3) grow();
  Slot* table = slots();
  std::size_t at = hash & mask();
  while (table[at].image) at = (at + 1) & mask();
  table[at].hash = hash;
  table[at].image = std::move(image);
  ++size_;
}

void ItemTable::erase(ImagePtr* place) {
  // `place` is a member of its slot.
  auto offset = reinterpret_cast<const char*>(place) - reinterpret_cast<const char*>(slots());
  erase_at(static_cast<std::size_t>(offset) / sizeof(Slot));
}

void ItemTable::erase_at(std::size_t hole) {
  Slot* table = slots();
  assert(table[hole].image);
  // Later slots of the run move up, so that no probe ends early at the hole.
  for (std::size_t at = (hole + 1) & mask(); table[at].image; at = (at + 1) & mask()) {
    std::size_t home = table[at].hash & mask();
    if (((at - home) & mask()) < ((at - hole) & mask())) continue;
    table[hole].hash = table[at].hash;
    table[hole].image = std::move(table[at].image);
    hole = at;
  }
  table[hole].image = ImagePtr();
  --size_;
}

void ItemTable::evict() {
  assert(size_ > 0);
  while (!slots()[hand_ & mask()].image) ++hand_;
  erase_at(hand_++ & mask());
}

void ItemTable::grow() {
  std::size_t old_capacity = mask() + 1;
  Slot* old = slots();
  std::size_t capacity = old_capacity * 2;
  auto* table = new Slot[capacity];
  for (std::size_t i = 0; i < old_capacity; ++i) {
    if (!old[i].image) continue;
    std::size_t at = old[i].hash & (capacity - 1);
    while (table[at].image) at = (at + 1) & (capacity - 1);
    table[at].hash = old[i].hash;
    table[at].image = std::move(old[i].image);
  }
  slots_.store(table, std::memory_order_relaxed);
  mask_.store(capacity - 1, std::memory_order_relaxed);
  delete[] old;
}

}  // namespace stint::store
