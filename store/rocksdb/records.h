// Records of the database, by the first byte of their keys:
//   t  an item under its table entry (key_codec.h), as `serialize` writes it
//   1 to 4  an entry of an index, without a value
//   c  a change under its position, eight bytes, highest first: length of the old image, old, new
#ifndef STINT_STORE_ROCKSDB_RECORDS_H_
#define STINT_STORE_ROCKSDB_RECORDS_H_

#include <string>
#include <string_view>

#include "store/embedded/key_codec.h"
#include "store/key.h"
#include "store/request.h"

namespace stint::store {

inline constexpr char kChangePrefix = 'c';

inline char prefix_of(Index index) {
  return index == Index::kTable ? 't' : static_cast<char>('0' + static_cast<int>(index));
}

inline std::string record_key(Index index, std::string_view entry) {
  std::string key;
  key.reserve(1 + entry.size());
  key += prefix_of(index);
  key += entry;
  return key;
}

inline void append_item_record_key(std::string& out, const Key& key) {
  out += prefix_of(Index::kTable);
  append_table_entry(out, key.pk(), key.sk());
}

inline std::string item_record_key(const Key& key) {
  std::string record;
  record.reserve(key.pk().size() + key.sk().size() + 5);
  append_item_record_key(record, key);
  return record;
}

}  // namespace stint::store

#endif  // STINT_STORE_ROCKSDB_RECORDS_H_
