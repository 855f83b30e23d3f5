#include "cli/replay/traffic.h"

#include <cassert>
#include <limits>

#include "base/hash.h"

namespace stint::cli {
namespace {

constexpr std::size_t kFirstSlots = 64;

}  // namespace

std::size_t NameTable::slot_of(std::uint64_t hash, std::string_view name) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = static_cast<std::size_t>(hash) & mask;
  while (slots_[slot] != 0) {
    const std::uint32_t number = slots_[slot] - 1;
    if (hashes_[number] == hash && names_[number] == name) break;
    slot = (slot + 1) & mask;
  }
  return slot;
}

void NameTable::grow() {
  slots_.assign(slots_.empty() ? kFirstSlots : slots_.size() * 2, 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::uint32_t number = 0; number < size(); ++number) {
    std::size_t slot = static_cast<std::size_t>(hashes_[number]) & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = number + 1;
  }
}

std::optional<std::uint32_t> NameTable::find(std::string_view name) const {
  if (slots_.empty()) return std::nullopt;
  const std::uint32_t found = slots_[slot_of(hash_bytes(name), name)];
  if (found == 0) return std::nullopt;
  return found - 1;
}

std::uint32_t NameTable::add(std::string_view name) {
  assert(names_.size() < std::numeric_limits<std::uint32_t>::max() - 1);
  if ((names_.size() + 1) * 2 > slots_.size()) grow();
  const std::uint64_t hash = hash_bytes(name);
  const std::size_t slot = slot_of(hash, name);
  if (slots_[slot] == 0) {
    names_.emplace_back(name);
    hashes_.push_back(hash);
    slots_[slot] = size();
  }
  return slots_[slot] - 1;
}

}  // namespace stint::cli
