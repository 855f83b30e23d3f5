// The embedded durable engine: one RocksDB directory, one process.
#ifndef STINT_STORE_ROCKSDB_ROCKSDB_ENGINE_H_
#define STINT_STORE_ROCKSDB_ROCKSDB_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "stint/result.h"
#include "store/attribute.h"
#include "store/engine.h"

namespace rocksdb {
class FileSystem;
}

namespace stint::store {

/// How items that carry an expiry are removed once it is past.
struct Expiry {
  /// A number: seconds since 1970. Items without it stay.
  AttrId attribute;
  /// The time, in seconds since 1970; called from threads of the engine.
  std::function<std::int64_t()> now_s;
  /// How long after its expiry an item may still be of use to somebody.
  std::int64_t margin_s = 3600;
};

struct RocksDbOptions {
  bool create_if_missing = true;
  /// Keeps an ordered log of changes for `Engine::changes`. Writes then take turns, so that no
  /// change becomes visible before an earlier one.
  bool change_stream = false;
  /// About how many changes are kept; older ones are dropped.
  std::uint64_t kept_changes = 1'000'000;
  /// Images kept in memory, about a kilobyte each. Never stale: this process is the only writer.
  std::size_t cached_images = 200'000;
  /// Memory for blocks of the files.
  std::size_t block_cache_bytes = std::size_t{256} << 20;
  /// Whether a write is on the disk before it is acknowledged, and so survives a loss of power.
  bool synced = false;
  /// Opens a store whose log is damaged, and drops what follows the damage.
  bool accept_damaged_log = false;
  /// Absent: nothing is removed.
  std::optional<Expiry> expiry = std::nullopt;
  /// Where the database's files are; null: the system's own. The mark of the directory is always
  /// written by the system.
  std::shared_ptr<rocksdb::FileSystem> file_system = nullptr;
};

/// Opens or creates a directory. Acknowledged writes survive a killed process, and where `synced` a
/// loss of power. Errors: `kUnavailable` with "in use by another process", or what the file system
/// says; `kNotFound` when absent and not to be created; `kCorrupt` when the directory holds
/// something that stint did not write, or is damaged; `kVersionMismatch` for another directory
/// format. A directory that cannot be opened is left as it was.
Result<std::shared_ptr<Engine>> open_rocksdb_engine(const std::string& directory,
                                                    const RocksDbOptions& options);

/// Looks through the whole database for expired items and waits until they are removed. Blocks for
/// as long as it takes to read and write all files. Precondition: an engine of this folder, opened
/// with an expiry.
Status sweep_expired(Engine& engine);

}  // namespace stint::store

#endif  // STINT_STORE_ROCKSDB_ROCKSDB_ENGINE_H_
