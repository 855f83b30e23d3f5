// A copy of a database that is in use.
#ifndef STINT_STORE_ROCKSDB_BACKUP_H_
#define STINT_STORE_ROCKSDB_BACKUP_H_

#include <string>

#include "stint/result.h"

namespace rocksdb {
class DB;
}

namespace stint::store {

/// As `Engine::backup`. The database may be read and written meanwhile; several backups may be made
/// at the same time.
///
/// Made beside the target in "{directory}.unfinished-{six letters or digits}" and renamed at the
/// end. A file in there is locked while the backup is made: what is left of backups of this target
/// whose file nobody holds is removed first.
Status write_backup(rocksdb::DB& db, const std::string& directory);

}  // namespace stint::store

#endif  // STINT_STORE_ROCKSDB_BACKUP_H_
