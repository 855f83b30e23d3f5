#include "store/rocksdb/database.h"

#include <rocksdb/cache.h>
#include <rocksdb/file_system.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>

#include <cstdint>
#include <utility>

#include "store/rocksdb/directory.h"

namespace stint::store {
namespace {

constexpr double kBloomBitsPerKey = 10;

// A write searches its place in the newest memory table, so that one is kept small enough for the
// processor's caches; several of them are merged into one file, in which every item stands once.
// bench/rocksdb_bench.cc measures it.
constexpr std::size_t kMemoryTableBytes = 4 << 20;
constexpr int kTablesMerged = 8;
constexpr int kMostTables = 16;

// Every file is looked through for expired items this often, though nothing else would touch it.
constexpr std::uint64_t kSweepSeconds = 24 * 60 * 60;

rocksdb::Options database_options(const RocksDbOptions& wanted) {
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kBloomBitsPerKey));
  table.block_cache = rocksdb::NewLRUCache(wanted.block_cache_bytes);
  rocksdb::Options options;
  options.create_if_missing = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  options.keep_log_file_num = 3;
  options.write_buffer_size = kMemoryTableBytes;
  options.min_write_buffer_number_to_merge = kTablesMerged;
  options.max_write_buffer_number = kMostTables;
  // A killed process leaves half a record at the end of its log. Damage anywhere before the end
  // would take acknowledged writes with it, and is not passed over in silence.
  options.wal_recovery_mode = wanted.accept_damaged_log
                                  ? rocksdb::WALRecoveryMode::kPointInTimeRecovery
                                  : rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  return options;
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

Error open_error(const std::string& directory, const rocksdb::Status& status) {
  std::string text = status.ToString();
  if (status.IsIOError() && contains(text, "/LOCK")) {
    if (contains(text, "current process")) {
      return Error(ErrorCode::kUnavailable, directory +
                                                " is in use by this process already: share one "
                                                "Store among its limiters");
    }
    if (contains(text, "lock file")) {
      return Error(
          ErrorCode::kUnavailable,
          directory + " is in use by another process: stop it or choose another directory");
    }
  }
  if (status.IsNoSpace()) {
    return Error(ErrorCode::kUnavailable,
                 directory + ": no space left on its disk; free some and open it again: " + text);
  }
  // The database reports a file that is gone as an I/O error of reading it.
  bool file_gone = contains(text, "No such file");
  if (!status.IsCorruption() && !file_gone) {
    return Error(ErrorCode::kUnavailable, directory + " cannot be opened: " + text);
  }
  if (contains(text, ".log") || contains(text, "log record") || contains(text, "in log") ||
      contains(text, "checksum mismatch in log") || contains(text, "record")) {
    return Error(ErrorCode::kCorrupt,
                 directory +
                     " has a damaged log, and acknowledged writes may be in it. Restore a backup, "
                     "or go on with what precedes the damage (StoreOptions::accept_damaged_log): " +
                     text);
  }
  return Error(ErrorCode::kCorrupt,
               directory + " is damaged; nothing was changed. Restore a backup: " + text);
}

}  // namespace

Result<Database> open_database(const std::string& directory, const RocksDbOptions& wanted,
                               std::shared_ptr<ExpiredItems> expired) {
  if (Status status = prepare_directory(directory, wanted.create_if_missing); !status) {
    return status.error();
  }
  Database opened;
  rocksdb::Options options = database_options(wanted);
  if (wanted.file_system) {
    opened.env = rocksdb::NewCompositeEnv(wanted.file_system);
    options.env = opened.env.get();
  }
  if (expired) {
    options.compaction_filter_factory = make_expiry_filter(std::move(expired));
    options.periodic_compaction_seconds = kSweepSeconds;
  }
  rocksdb::DB* db = nullptr;
  rocksdb::Status status = rocksdb::DB::Open(options, directory, &db);
  opened.db.reset(db);
  if (!status.ok()) return open_error(directory, status);
  return opened;
}

}  // namespace stint::store
