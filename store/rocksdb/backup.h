// A copy of a database that is in use.
#ifndef STINT_STORE_ROCKSDB_BACKUP_H_
#define STINT_STORE_ROCKSDB_BACKUP_H_

#include <string>

#include "stint/result.h"

namespace rocksdb {
class DB;
}

namespace stint::store {

/// As `Engine::backup`. The database may be read and written meanwhile; several backups take turns.
///
/// Made beside the target as "{directory}.unfinished-{process}" and renamed at the end. What
/// processes that are no more have left there is removed first.
Status write_backup(rocksdb::DB& db, const std::string& directory);

}  // namespace stint::store

#endif  // STINT_STORE_ROCKSDB_BACKUP_H_
