// Opening a store. Needs the component `core` for `open_memory` and `rocksdb` for `open_embedded`.
#ifndef STINT_STORE_H_
#define STINT_STORE_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "stint/export.h"
#include "stint/limit.h"
#include "stint/result.h"

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

 private:
  std::shared_ptr<StoreHandle> handle_;
};

/// Properties fixed when a store is created and checked whenever it is opened.
struct StoreOptions {
  /// How reset edges are read in time-zone gaps and overlaps. Absent: as the store says, or
  /// `kLocalDay` when it is created.
  std::optional<ResetRule> reset_rule;
  /// When false, opening a directory that holds no store is `kNotFound`.
  bool create_if_missing = true;
};

/// A store in this process's memory, gone with its last handle.
STINT_EXPORT Result<Store> open_memory(const StoreOptions& options = {});

/// A durable store in one directory, used by one process at a time. What was acknowledged survives
/// a killed process. Errors: `kUnavailable` when another process has it open or the directory
/// cannot be used, `kVersionMismatch` for a newer format or other properties, `kCorrupt` when the
/// directory holds something else.
STINT_EXPORT Result<Store> open_embedded(const std::string& directory,
                                         const StoreOptions& options = {});

}  // namespace stint

#endif  // STINT_STORE_H_
