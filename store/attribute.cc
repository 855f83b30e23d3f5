#include "store/attribute.h"

#include <array>
#include <atomic>
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/hash.h"

namespace stint::store {
namespace {

struct Record {
  std::uint64_t hash;
  AttrId id;
  std::string name;
};

// A process that meets more names is reading something that is not its table. The bound keeps ids
// within 24 bits and the slots at most half full.
constexpr std::uint32_t kMaxNames = 1U << 20;
constexpr std::uint32_t kSlots = 2 * kMaxNames;
constexpr std::size_t kMaxNameBytes = 255;

// Plain pointers, not atomics: those are zero before any constructor has run, while clang 14 clears
// an array of atomics that is this large when the program starts, after other files have interned
// names. Pages that are never touched cost no memory.
const Record* slots[kSlots];
const Record* names[kMaxNames];
using Place = std::atomic_ref<const Record*>;
std::atomic<std::uint32_t> next_id{0};

// The slot that holds `name`, or the empty one where it belongs.
Place probe(std::uint64_t hash, std::string_view name) {
  std::uint32_t at = static_cast<std::uint32_t>(hash) & (kSlots - 1);
  while (true) {
    Place place(slots[at]);
    const Record* record = place.load(std::memory_order_acquire);
    if (!record || (record->hash == hash && record->name == name)) return place;
    at = (at + 1) & (kSlots - 1);
  }
}

[[noreturn]] void abort_full() {
  std::fputs("stint: more than 1,048,576 distinct attribute names in one process\n", stderr);
  std::abort();
}

AttrId intern_raw(std::string_view name) {
  assert(!name.empty() && name.size() <= kMaxNameBytes);
  std::uint64_t hash = hash_bytes(name);
  Record* own = nullptr;
  while (true) {
    Place slot = probe(hash, name);
    const Record* found = slot.load(std::memory_order_acquire);
    if (found && found->hash == hash && found->name == name) {
      if (own) {
        // Another thread was first. The id stays unused; ids need not be dense.
        Place(names[index_of(own->id)]).store(nullptr, std::memory_order_relaxed);
        delete own;
      }
      return found->id;
    }
    if (found) continue;  // Taken by another name since the probe.
    if (!own) {
      std::uint32_t id = next_id.fetch_add(1, std::memory_order_relaxed);
      if (id >= kMaxNames) abort_full();
      own = new Record{hash, AttrId(id), std::string(name)};
      // Before the slot: whoever learns the id can ask for its name.
      Place(names[id]).store(own, std::memory_order_release);
    }
    const Record* expected = nullptr;
    if (slot.compare_exchange_strong(expected, own, std::memory_order_acq_rel)) return own->id;
  }
}

void seed_key_names() {
  static const bool seeded = [] {
    constexpr std::array<std::string_view, 10> kKeyNames = {
        "PK", "SK", "GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK", "GSI3PK", "GSI3SK", "GSI4PK", "GSI4SK"};
    for (std::uint32_t i = 0; i < kKeyNames.size(); ++i) {
      [[maybe_unused]] AttrId id = intern_raw(kKeyNames[i]);
      assert(index_of(id) == i);
    }
    return true;
  }();
  static_cast<void>(seeded);
}

}  // namespace

AttrId intern(std::string_view name) {
  seed_key_names();
  return intern_raw(name);
}

std::optional<AttrId> intern_foreign(std::string_view name) {
  seed_key_names();
  std::uint64_t hash = hash_bytes(name);
  if (const Record* known = probe(hash, name).load(std::memory_order_acquire)) {
    // A slot that was empty when it was probed may have been taken by another name since.
    if (known->hash == hash && known->name == name) return known->id;
  }
  if (names_running_out()) return std::nullopt;
  return intern_raw(name);
}

bool names_running_out() {
  constexpr std::uint32_t kReserve = kMaxNames / 16;
  return next_id.load(std::memory_order_relaxed) >= kMaxNames - kReserve;
}

std::string_view name_of(AttrId id) {
  seed_key_names();
  const Record* record = index_of(id) < kMaxNames
                             ? Place(names[index_of(id)]).load(std::memory_order_acquire)
                             : nullptr;
  assert(record != nullptr);
  return record->name;
}

}  // namespace stint::store
