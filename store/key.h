// The primary key of an item.
#ifndef STINT_STORE_KEY_H_
#define STINT_STORE_KEY_H_

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/hash.h"

namespace stint::store {

/// Partition and sort key, with the hash that every in-memory table uses computed once.
class Key {
 public:
  Key() : Key("", "") {}
  Key(std::string_view pk, std::string_view sk)
      : pk_(pk), sk_(sk), hash_(hash_bytes(sk_, hash_bytes(pk_))) {}

  const std::string& pk() const { return pk_; }
  const std::string& sk() const { return sk_; }
  std::uint64_t hash() const { return hash_; }

  friend bool operator==(const Key& a, const Key& b) {
    return a.hash_ == b.hash_ && a.pk_ == b.pk_ && a.sk_ == b.sk_;
  }
  friend std::strong_ordering operator<=>(const Key& a, const Key& b) {
    if (auto order = a.pk_ <=> b.pk_; order != 0) return order;
    return a.sk_ <=> b.sk_;
  }

 private:
  std::string pk_;
  std::string sk_;
  std::uint64_t hash_;
};

}  // namespace stint::store

#endif  // STINT_STORE_KEY_H_
