#include "tests/kill/kill_file_system.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

namespace stint::test {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

enum class FileKind { kLog, kTable, kManifest, kOther };

FileKind kind_of(std::string_view name) {
  if (name.ends_with(".log")) return FileKind::kLog;
  if (name.ends_with(".sst")) return FileKind::kTable;
  if (name.find("MANIFEST-") != std::string_view::npos) return FileKind::kManifest;
  return FileKind::kOther;
}

std::optional<FileEvent> append_event(FileKind kind) {
  switch (kind) {
    case FileKind::kLog: return FileEvent::kLogAppend;
    case FileKind::kTable: return FileEvent::kTableAppend;
    case FileKind::kManifest: return FileEvent::kManifestAppend;
    case FileKind::kOther: break;
  }
  return std::nullopt;
}

std::optional<FileEvent> sync_event(FileKind kind) {
  switch (kind) {
    case FileKind::kLog: return FileEvent::kLogSync;
    case FileKind::kTable: return FileEvent::kTableSync;
    case FileKind::kManifest: return FileEvent::kManifestSync;
    case FileKind::kOther: break;
  }
  return std::nullopt;
}

class KillFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  KillFile(KillFileSystem& system, FileKind kind, std::unique_ptr<rocksdb::FSWritableFile> file)
      : FSWritableFileOwnerWrapper(std::move(file)), system_(system), kind_(kind) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    std::optional<FileEvent> event = append_event(kind_);
    if (event) system_.before(*event);
    IOStatus status;
    if (system_.power_loss()) {
      held_.append(data.data(), data.size());
    } else {
      status = target()->Append(data, options, debug);
    }
    if (event) system_.after(*event);
    return status;
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo&,
                  IODebugContext* debug) override {
    return Append(data, options, debug);
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    std::optional<FileEvent> event = sync_event(kind_);
    if (event) system_.before(*event);
    // The process is killed, the machine is not: nothing is gained by a real sync.
    IOStatus status =
        system_.power_loss() ? let_go(options, debug) : target()->Sync(options, debug);
    if (event) system_.after(*event);
    return status;
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return Sync(options, debug);
  }
  IOStatus RangeSync(std::uint64_t offset, std::uint64_t bytes, const IOOptions& options,
                     IODebugContext* debug) override {
    return system_.power_loss() ? IOStatus::OK()
                                : target()->RangeSync(offset, bytes, options, debug);
  }
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    // A log that was never synced is as lost closed as open. Of other files the database relies on
    // nothing that it did not sync, and may want to read them.
    if (kind_ != FileKind::kLog) let_go(options, debug).PermitUncheckedError();
    return target()->Close(options, debug);
  }
  std::uint64_t GetFileSize(const IOOptions& options, IODebugContext* debug) override {
    return target()->GetFileSize(options, debug) + held_.size();
  }

 private:
  IOStatus let_go(const IOOptions& options, IODebugContext* debug) {
    if (held_.empty()) return IOStatus::OK();
    IOStatus status = target()->Append(held_, options, debug);
    if (status.ok()) status = target()->Flush(options, debug);
    held_.clear();
    return status;
  }

  KillFileSystem& system_;
  FileKind kind_;
  std::string held_;
};

class KillDirectory final : public rocksdb::FSDirectoryWrapper {
 public:
  KillDirectory(KillFileSystem& system, std::unique_ptr<rocksdb::FSDirectory> directory)
      : FSDirectoryWrapper(std::move(directory)), system_(system) {}

  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    system_.before(FileEvent::kDirectorySync);
    IOStatus status = FSDirectoryWrapper::Fsync(options, debug);
    if (status.ok()) system_.directory_synced();
    system_.after(FileEvent::kDirectorySync);
    return status;
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* debug,
                               const rocksdb::DirFsyncOptions& how) override {
    system_.before(FileEvent::kDirectorySync);
    // The real one may leave the sync out where the system's file system allows that.
    IOStatus status = FSDirectoryWrapper::FsyncWithDirOptions(options, debug, how);
    if (status.ok()) system_.directory_synced();
    system_.after(FileEvent::kDirectorySync);
    return status;
  }

 private:
  KillFileSystem& system_;
};

std::optional<std::string> contents(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

KillFileSystem::KillFileSystem(std::optional<KillPoint> point, bool power_loss)
    : FileSystemWrapper(rocksdb::FileSystem::Default()), point_(point), power_loss_(power_loss) {}

IOStatus KillFileSystem::NewWritableFile(const std::string& name,
                                         const rocksdb::FileOptions& options,
                                         std::unique_ptr<rocksdb::FSWritableFile>* file,
                                         IODebugContext* debug) {
  before(FileEvent::kCreate);
  IOStatus status = target()->NewWritableFile(name, options, file, debug);
  if (!status.ok()) return status;
  *file = std::make_unique<KillFile>(*this, kind_of(name), std::move(*file));
  {
    std::lock_guard lock(mutex_);
    new_names_.insert(name);
  }
  after(FileEvent::kCreate);
  return status;
}

IOStatus KillFileSystem::NewDirectory(const std::string& name, const IOOptions& options,
                                      std::unique_ptr<rocksdb::FSDirectory>* directory,
                                      IODebugContext* debug) {
  IOStatus status = target()->NewDirectory(name, options, directory, debug);
  if (status.ok()) *directory = std::make_unique<KillDirectory>(*this, std::move(*directory));
  return status;
}

IOStatus KillFileSystem::RenameFile(const std::string& from, const std::string& to,
                                    const IOOptions& options, IODebugContext* debug) {
  before(FileEvent::kRename);
  std::optional<std::string> replaced = contents(to);
  IOStatus status = target()->RenameFile(from, to, options, debug);
  if (status.ok()) {
    std::lock_guard lock(mutex_);
    renamed_[to] = Renamed{from, std::move(replaced)};
    new_names_.erase(from);
  }
  after(FileEvent::kRename);
  return status;
}

IOStatus KillFileSystem::DeleteFile(const std::string& name, const IOOptions& options,
                                    IODebugContext* debug) {
  before(FileEvent::kDelete);
  IOStatus status = target()->DeleteFile(name, options, debug);
  if (status.ok()) {
    std::lock_guard lock(mutex_);
    new_names_.erase(name);
    renamed_.erase(name);
  }
  after(FileEvent::kDelete);
  return status;
}

void KillFileSystem::directory_synced() {
  std::lock_guard lock(mutex_);
  new_names_.clear();
  renamed_.clear();
}

void KillFileSystem::before(FileEvent event) {
  if (!point_ || point_->event != event) return;
  if (++seen_ == point_->nth && !point_->after) die();
}

void KillFileSystem::after(FileEvent event) {
  if (point_ && point_->event == event && point_->after && seen_.load() >= point_->nth) die();
}

void KillFileSystem::die() {
  // Never released: no other thread may change a name any more.
  mutex_.lock();
  if (power_loss_) {
    for (const auto& [to, renamed] : renamed_) {
      std::rename(to.c_str(), renamed.from.c_str());
      if (renamed.replaced) std::ofstream(to, std::ios::binary) << *renamed.replaced;
    }
    for (const std::string& name : new_names_) ::unlink(name.c_str());
  }
  ::kill(::getpid(), SIGKILL);
  std::abort();
}

}  // namespace stint::test
