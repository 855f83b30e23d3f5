// Opening the database of a store, and saying in plain words why it cannot be opened.
#ifndef STINT_STORE_ROCKSDB_DATABASE_H_
#define STINT_STORE_ROCKSDB_DATABASE_H_

#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include <memory>
#include <string>

#include "stint/result.h"
#include "store/rocksdb/expired_items.h"
#include "store/rocksdb/rocksdb_engine.h"

namespace stint::store {

/// An open database and what it needs to live.
struct Database {
  std::unique_ptr<rocksdb::Env> env;  // null: the system's own
  std::unique_ptr<rocksdb::DB> db;
};

/// Opens or creates the database of a directory that is marked as ours. Compactions report expired
/// items to `expired`, if given. Errors as `open_rocksdb_engine`.
Result<Database> open_database(const std::string& directory, const RocksDbOptions& options,
                               std::shared_ptr<ExpiredItems> expired);

/// Whether the disk of a directory takes some megabytes now, by writing them to a file of no
/// meaning, which is removed again.
bool disk_takes_data(const std::string& directory, rocksdb::FileSystem* file_system);

}  // namespace stint::store

#endif  // STINT_STORE_ROCKSDB_DATABASE_H_
