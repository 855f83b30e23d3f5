#include "store/rocksdb/backup.h"

#include <fcntl.h>
#include <rocksdb/db.h>
#include <rocksdb/utilities/checkpoint.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "store/rocksdb/directory.h"

namespace stint::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUnfinished = ".unfinished-";
// What mkdtemp replaces.
constexpr std::string_view kRandom = "XXXXXX";
// In a draft: locked by whoever makes it, for as long as that lives.
constexpr const char* kOwner = "OWNER";

Error failed(const fs::path& path, const std::error_code& code) {
  return Error(ErrorCode::kUnavailable, path.string() + ": " + code.message());
}

Error failed(const fs::path& path, int number) {
  return failed(path, std::error_code(number, std::generic_category()));
}

// An open file that is locked until this goes, or the process ends.
class LockedFile {
 public:
  LockedFile() = default;
  LockedFile(LockedFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  LockedFile& operator=(LockedFile&&) = delete;
  ~LockedFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  // Errors: the file system's; `kConflict` where another has the lock.
  static Result<LockedFile> open(const fs::path& path, int flags) {
    LockedFile file;
    file.descriptor_ = ::open(path.c_str(), flags | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file.descriptor_ < 0) return failed(path, errno);
    if (::flock(file.descriptor_, LOCK_EX | LOCK_NB) == 0) return file;
    if (errno != EWOULDBLOCK) return failed(path, errno);
    return Error(ErrorCode::kConflict, path.string() + " is locked");
  }

 private:
  int descriptor_ = -1;
};

Status check_target(const fs::path& target, const fs::path& database) {
  std::error_code code;
  fs::path real_target = fs::weakly_canonical(target, code);
  if (code) return failed(target, code);
  fs::path real_database = fs::weakly_canonical(database, code);
  if (code) return failed(database, code);
  fs::path from_database = real_target.lexically_relative(real_database);
  if (!from_database.empty() && *from_database.begin() != "..") {
    return Error::invalid("directory", target.string(), "lies within the store itself");
  }
  fs::file_status status = fs::status(target, code);
  if (status.type() == fs::file_type::not_found) return Status();
  if (code) return failed(target, code);
  if (status.type() != fs::file_type::directory) {
    return Error(ErrorCode::kExists, target.string() + " exists and is not a directory");
  }
  bool empty = fs::is_empty(target, code);
  if (code) return failed(target, code);
  if (!empty) {
    return Error(ErrorCode::kExists,
                 target.string() + " is not empty; a backup needs a directory of its own");
  }
  return Status();
}

// A new directory for a draft, which is ours until the lock goes.
Result<LockedFile> make_draft(const fs::path& target, fs::path& draft) {
  std::string name = target.string();
  name.append(kUnfinished).append(kRandom);
  if (::mkdtemp(name.data()) == nullptr) return failed(name, errno);
  draft = name;
  // It gets its name when it is locked, so that nobody ever finds it without an owner.
  fs::path unnamed = draft / "OWNER.new";
  Result<LockedFile> owner = LockedFile::open(unnamed, O_CREAT | O_EXCL);
  if (!owner) return owner.error();
  std::error_code code;
  fs::rename(unnamed, draft / kOwner, code);
  if (code) return failed(unnamed, code);
  return owner;
}

bool may_be_draft(std::string_view name, const std::string& prefix) {
  if (!name.starts_with(prefix) || name.size() != prefix.size() + kRandom.size()) return false;
  name.remove_prefix(prefix.size());
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  });
}

// Removes the drafts of this target whose makers are no more. What is not surely a draft stays.
Status remove_leftovers(const fs::path& target) {
  std::string prefix = target.filename().string() + std::string(kUnfinished);
  std::vector<fs::path> drafts;
  std::error_code code;
  fs::directory_iterator at(target.parent_path(), code);
  for (fs::directory_iterator end; !code && at != end; at.increment(code)) {
    if (may_be_draft(at->path().filename().string(), prefix)) drafts.push_back(at->path());
  }
  if (code) return failed(target.parent_path(), code);
  for (const fs::path& draft : drafts) {
    Result<LockedFile> owner = LockedFile::open(draft / kOwner, 0);
    if (!owner) continue;
    fs::remove_all(draft, code);
    if (code) return failed(draft, code);
  }
  return Status();
}

Status fill(rocksdb::DB& db, const fs::path& draft) {
  rocksdb::Checkpoint* made = nullptr;
  rocksdb::Status status = rocksdb::Checkpoint::Create(&db, &made);
  std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  // What is in memory is written to files first, so that it need not be copied with the log.
  if (status.ok()) status = checkpoint->CreateCheckpoint(draft.string(), 0);
  if (!status.ok()) return Error(ErrorCode::kUnavailable, "backup: " + status.ToString());
  std::error_code code;
  fs::path mark = draft / kMarkFile;
  fs::copy_file(fs::path(db.GetName()) / kMarkFile, mark, code);
  if (code) return failed(mark, code);
  if (Status synced = sync_path(mark.string()); !synced) return synced;
  return sync_path(draft.string());
}

}  // namespace

Status write_backup(rocksdb::DB& db, const std::string& directory) {
  std::error_code code;
  fs::path target = fs::absolute(directory, code).lexically_normal();
  if (code) return failed(directory, code);
  if (!target.has_filename()) target = target.parent_path();
  if (Status fit = check_target(target, db.GetName()); !fit) return fit;
  fs::create_directories(target.parent_path(), code);
  if (code) return failed(target.parent_path(), code);
  if (Status removed = remove_leftovers(target); !removed) return removed;

  fs::path draft;
  Result<LockedFile> owner = make_draft(target, draft);
  Status done;
  if (owner) {
    fs::path store = draft / "store";
    done = fill(db, store);
    if (done) {
      // Replaces an empty directory, and fails where something has come into it meanwhile.
      fs::rename(store, target, code);
      if (code) done = failed(target, code);
    }
  } else {
    done = owner.error();
  }
  // The copy is made or not, whatever becomes of the draft: the next backup finds it.
  if (!draft.empty()) fs::remove_all(draft, code);
  if (!done) return done;
  return sync_path(target.parent_path().string());
}

}  // namespace stint::store
