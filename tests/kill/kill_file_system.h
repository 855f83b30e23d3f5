// A file system that ends the process at a chosen point, and can keep back what was not synced.
#ifndef STINT_TESTS_KILL_KILL_FILE_SYSTEM_H_
#define STINT_TESTS_KILL_KILL_FILE_SYSTEM_H_

#include <rocksdb/file_system.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

namespace stint::test {

/// What the database can be doing when it dies.
enum class FileEvent {
  kLogAppend,
  kLogSync,
  kTableAppend,
  kTableSync,
  kManifestAppend,
  kManifestSync,
  kCreate,
  kRename,
  kDelete,
  kDirectorySync,
};
inline constexpr int kFileEvents = 10;

/// Where to die: at the nth event of a kind, before or after it took place.
struct KillPoint {
  FileEvent event = FileEvent::kLogAppend;
  std::uint64_t nth = 1;
  bool after = false;
};

/// Passes everything on to the system's own files. Thread-safe.
///
/// With `power_loss`, appended data stays in this process's memory until its file is synced, so
/// that SIGKILL at any moment loses what a loss of power could lose. At a kill point the names go
/// too that were made, and the renames that were done, since the directory was synced last. What a
/// loss of power may do besides, to blocks that were never synced, is not modelled: they are all
/// lost.
class KillFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  KillFileSystem(std::optional<KillPoint> point, bool power_loss);

  const char* Name() const override { return "KillFileSystem"; }

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewDirectory(const std::string& name, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* directory,
                                 rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& name, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;

  /// To be called around an event: ends the process if this is the point.
  void before(FileEvent event);
  void after(FileEvent event);
  /// The names in the directory are as they will be found.
  void directory_synced();
  bool power_loss() const { return power_loss_; }

 private:
  struct Renamed {
    std::string from;
    std::optional<std::string> replaced;  // what stood under the new name
  };
  [[noreturn]] void die();

  std::optional<KillPoint> point_;
  bool power_loss_;
  std::atomic<std::uint64_t> seen_{0};
  std::mutex mutex_;
  std::set<std::string> new_names_;
  std::map<std::string, Renamed> renamed_;  // by new name
};

}  // namespace stint::test

#endif  // STINT_TESTS_KILL_KILL_FILE_SYSTEM_H_
