// What DynamoDB demands of items and keys. For the store's own sources only.
#ifndef STINT_STORE_ITEM_RULES_H_
#define STINT_STORE_ITEM_RULES_H_

#include <cstdint>

#include "store/image_block.h"
#include "store/value_codec.h"

namespace stint::store {

inline constexpr std::int64_t kMaxItemBytes = 400 * 1024;
inline constexpr std::size_t kMaxPartitionKeyBytes = 2048;
inline constexpr std::size_t kMaxSortKeyBytes = 1024;
inline constexpr std::size_t kMaxItemsPerRequest = 100;

/// Whether the attribute is a key of one of the four indexes.
constexpr bool is_index_key(AttrId id) { return index_of(id) >= 2 && index_of(id) <= 9; }

/// What the table refuses about one attribute, or null: nothing.
inline const char* attribute_problem(const PendingEntry& entry) {
  if (is_set(entry.type) && ByteReader(entry.text()).varint() == 0) {
    return "a set is not empty";
  }
  if (!is_index_key(entry.id)) return nullptr;
  if (entry.type != ValueType::kString) return "a key of an index is a string";
  if (entry.length == 0) return "a key of an index is not empty";
  bool is_partition = index_of(entry.id) % 2 == 0;
  if (entry.length > (is_partition ? kMaxPartitionKeyBytes : kMaxSortKeyBytes)) {
    return "too long for a key of an index";
  }
  return nullptr;
}

}  // namespace stint::store

#endif  // STINT_STORE_ITEM_RULES_H_
