// Opening a store. Needs the component `core` for `open_memory` and `rocksdb` for `open_embedded`.
#ifndef STINT_STORE_H_
#define STINT_STORE_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "stint/export.h"
#include "stint/limit.h"
#include "stint/result.h"
#include "stint/time.h"
#include "stint/transport_stats.h"

namespace stint {

class StoreHandle;

/// A handle to an open item store. Cheap to copy; the store closes with its last handle.
/// Thread-safe. Any number of limiters may share one.
class STINT_EXPORT Store {
 public:
  /// For the library's own use; `StoreHandle` is not public.
  explicit Store(std::shared_ptr<StoreHandle> handle) : handle_(std::move(handle)) {}
  const std::shared_ptr<StoreHandle>& handle() const { return handle_; }

  /// How the store's limiters read reset edges where a zone skips or repeats a local time.
  ResetRule reset_rule() const;

  /// Absent for a store of this process. Asks the store nothing.
  std::optional<TransportStats> transport_stats() const;

 private:
  std::shared_ptr<StoreHandle> handle_;
};

/// What an acknowledged write survives.
enum class Durability {
  /// A killed process: the log is written before the answer, and the system brings it to the disk
  /// in its own time.
  kProcess,
  /// A loss of power and a crash of the system too: the log is on the disk before the answer.
  /// Callers that wait at the same time share one such write.
  kMachine,
};

/// "process" or "machine".
STINT_EXPORT std::string_view to_string(Durability durability);
/// The other way round. Errors: `kInvalidArgument`.
STINT_EXPORT Result<Durability> parse_durability(std::string_view text);

/// How a store is opened.
struct StoreOptions {
  /// How reset edges are read in time-zone gaps and overlaps. Fixed when the store is created and
  /// checked whenever it is opened. Absent: as the store says; when it is created, `kCompatible`
  /// for a table of layout `compatible` and `kLocalDay` for all else.
  std::optional<ResetRule> reset_rule;
  /// When false, opening a directory that holds no store is `kNotFound`.
  bool create_if_missing = true;

  // What follows concerns `open_embedded` only, may differ from one opening to the next, and is of
  // no meaning to a store in memory.

  Durability durability = Durability::kProcess;
  /// Items kept ready in memory, about a kilobyte each. The least recently used need not go first.
  std::size_t cached_items = 200'000;
  /// Memory for blocks of the files: what is not among the cached items is read through it.
  std::size_t block_cache_bytes = std::size_t{256} << 20;
  /// Opens a store whose log is damaged before its end, drops what follows the damage, and so may
  /// lose acknowledged writes. Without it such a store is `kCorrupt`.
  bool accept_damaged_log = false;
  /// By which expired buckets are removed, an hour after their end at the earliest; the system's
  /// clock when null. Must be that of the store's limiters, and outlive the store.
  Clock* clock = nullptr;
};

/// A store in this process's memory, gone with its last handle.
STINT_EXPORT Result<Store> open_memory(const StoreOptions& options = {});

/// A durable store in one directory, used by one process at a time. What was acknowledged survives
/// what `StoreOptions::durability` says. Nothing that it cannot use is changed. Errors:
/// `kUnavailable` when another process has it open or the directory cannot be used,
/// `kVersionMismatch` for a newer format or other properties, `kCorrupt` when the directory holds
/// something else or is damaged.
STINT_EXPORT Result<Store> open_embedded(const std::string& directory,
                                         const StoreOptions& options = {});

}  // namespace stint

#endif  // STINT_STORE_H_
