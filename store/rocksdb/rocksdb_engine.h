// The embedded durable engine: one RocksDB directory, one process.
#ifndef STINT_STORE_ROCKSDB_ROCKSDB_ENGINE_H_
#define STINT_STORE_ROCKSDB_ROCKSDB_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "stint/result.h"
#include "store/engine.h"

namespace stint::store {

struct RocksDbOptions {
  bool create_if_missing = true;
  /// Keeps an ordered log of changes for `Engine::changes`. Writes then take turns, so that no
  /// change becomes visible before an earlier one.
  bool change_stream = false;
  /// About how many changes are kept; older ones are dropped.
  std::uint64_t kept_changes = 1'000'000;
  /// Images kept in memory, about a kilobyte each. Never stale: this process is the only writer.
  std::size_t cached_images = 200'000;
};

/// Opens or creates a directory. Acknowledged writes survive a killed process (write-ahead log on,
/// not synced). Errors: `kUnavailable` with "in use by another process", or what the file system
/// says; `kNotFound` when absent and not to be created; `kCorrupt` when the directory holds
/// something that stint did not write; `kVersionMismatch` for a newer directory format.
Result<std::shared_ptr<Engine>> open_rocksdb_engine(const std::string& directory,
                                                    const RocksDbOptions& options);

}  // namespace stint::store

#endif  // STINT_STORE_ROCKSDB_ROCKSDB_ENGINE_H_
