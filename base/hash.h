// One fast hash for keys held in memory. Not stable across versions: never store it.
#ifndef STINT_BASE_HASH_H_
#define STINT_BASE_HASH_H_

#include <cstdint>
#include <cstring>
#include <string_view>

namespace stint {

__extension__ typedef unsigned __int128 UInt128;

inline std::uint64_t mix_hash(std::uint64_t a, std::uint64_t b) {
  UInt128 product = static_cast<UInt128>(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xe7037ed1a0b428dbu);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// Hash of a byte string, eight bytes at a time by wide multiplication.
inline std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed = 0) {
  std::uint64_t hash = mix_hash(seed, bytes.size());
  const char* p = bytes.data();
  std::size_t left = bytes.size();
  while (left >= 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    hash = mix_hash(hash, word);
    p += 8;
    left -= 8;
  }
  if (left > 0) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, left);
    hash = mix_hash(hash, word);
  }
  return hash;
}

}  // namespace stint

#endif  // STINT_BASE_HASH_H_
