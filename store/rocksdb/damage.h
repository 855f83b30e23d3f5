// Finding the way past a part of a file that cannot be read.
#ifndef STINT_STORE_ROCKSDB_DAMAGE_H_
#define STINT_STORE_ROCKSDB_DAMAGE_H_

#include <optional>
#include <string>

namespace rocksdb {
class DB;
}

namespace stint::store {

/// The least key behind the damage from which reading works again. Precondition: reading from
/// `from` fails. Nothing: nothing readable is known before `end`.
///
/// Goes from block to block, so that what is passed over is the damaged ones and what other files
/// hold within their bounds. After many damaged blocks in a row the answer is a place among them,
/// from which to ask again.
std::optional<std::string> find_behind_damage(rocksdb::DB& db, std::string from,
                                              const std::string& end);

}  // namespace stint::store

#endif  // STINT_STORE_ROCKSDB_DAMAGE_H_
