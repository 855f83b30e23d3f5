#include "store/rocksdb/database.h"

#include <rocksdb/cache.h>
#include <rocksdb/file_system.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>

#include <cstdarg>
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

// The database's own log of events, which nobody reads: its writer ends the process by an assertion
// (as distributions build it) when it goes on after a disk was full.
class NoLogger final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

rocksdb::Options database_options(const RocksDbOptions& wanted) {
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kBloomBitsPerKey));
  table.block_cache = rocksdb::NewLRUCache(wanted.block_cache_bytes);
  rocksdb::Options options;
  options.create_if_missing = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.info_log = std::make_shared<NoLogger>();
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

// Whether a database that cannot be opened for damage could be, if its log ended before it. Changes
// nothing.
bool damage_is_in_log(const std::string& directory, rocksdb::Options options) {
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  options.create_if_missing = false;
  rocksdb::DB* opened = nullptr;
  rocksdb::Status status = rocksdb::DB::OpenForReadOnly(options, directory, &opened);
  std::unique_ptr<rocksdb::DB> close(opened);
  return status.ok();
}

Error open_error(const std::string& directory, const rocksdb::Options& options,
                 const rocksdb::Status& status) {
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
  if (damage_is_in_log(directory, options)) {
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
  if (!status.ok()) return open_error(directory, options, status);
  return opened;
}

bool disk_takes_data(const std::string& directory, rocksdb::FileSystem* file_system) {
  // Enough for the files that opening writes: a list of files, a log, and the tables made of the
  // logs that are there, whose space becomes free soon after.
  constexpr std::size_t kProbeBytes = 8 << 20;
  std::shared_ptr<rocksdb::FileSystem> system = rocksdb::FileSystem::Default();
  rocksdb::FileSystem* files = file_system != nullptr ? file_system : system.get();
  // Named as the database names its own temporary files, which it removes when it is opened.
  std::string name = directory + "/999999999.dbtmp";
  rocksdb::IOOptions options;
  std::unique_ptr<rocksdb::FSWritableFile> file;
  rocksdb::IOStatus status = files->NewWritableFile(name, rocksdb::FileOptions(), &file, nullptr);
  if (status.ok()) {
    std::string piece(1 << 20, '\0');
    for (std::size_t left = kProbeBytes; left > 0 && status.ok(); left -= piece.size()) {
      status = file->Append(piece, options, nullptr);
    }
    if (status.ok()) status = file->Sync(options, nullptr);
    rocksdb::IOStatus closed = file->Close(options, nullptr);
    if (status.ok()) status = closed;
  }
  files->DeleteFile(name, options, nullptr).PermitUncheckedError();
  return status.ok();
}

}  // namespace stint::store
