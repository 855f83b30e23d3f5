#include "store/rocksdb/backup.h"

#include <rocksdb/db.h>
#include <rocksdb/utilities/checkpoint.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string_view>
#include <system_error>
#include <vector>

#include "store/rocksdb/directory.h"

namespace stint::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUnfinished = ".unfinished-";

Error failed(const fs::path& path, const std::error_code& code) {
  return Error(ErrorCode::kUnavailable, path.string() + ": " + code.message());
}

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

bool is_running(std::string_view digits) {
  pid_t process = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), process);
  // Of another form: not ours to judge.
  if (error != std::errc() || process < 1) return true;
  return ::kill(process, 0) == 0 || errno != ESRCH;
}

Status remove_leftovers(const fs::path& target) {
  std::string prefix = target.filename().string() + std::string(kUnfinished);
  std::vector<fs::path> leftovers;
  std::error_code code;
  fs::directory_iterator at(target.parent_path(), code);
  for (fs::directory_iterator end; !code && at != end; at.increment(code)) {
    std::string name = at->path().filename().string();
    if (!name.starts_with(prefix)) continue;
    if (!is_running(std::string_view(name).substr(prefix.size()))) {
      leftovers.push_back(at->path());
    }
  }
  if (code) return failed(target.parent_path(), code);
  for (const fs::path& leftover : leftovers) {
    fs::remove_all(leftover, code);
    if (code) return failed(leftover, code);
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
  // Drafts are told apart by process only.
  static std::mutex one_at_a_time;
  std::lock_guard lock(one_at_a_time);
  std::error_code code;
  fs::path target = fs::absolute(directory, code).lexically_normal();
  if (code) return failed(directory, code);
  if (!target.has_filename()) target = target.parent_path();
  if (Status fit = check_target(target, db.GetName()); !fit) return fit;
  fs::create_directories(target.parent_path(), code);
  if (code) return failed(target.parent_path(), code);
  if (Status removed = remove_leftovers(target); !removed) return removed;

  fs::path draft = target;
  draft += std::string(kUnfinished) + std::to_string(::getpid());
  fs::remove_all(draft, code);  // of an attempt of this process that failed
  if (code) return failed(draft, code);
  Status filled = fill(db, draft);
  if (filled) {
    // Replaces an empty directory, and fails where something has come into it meanwhile.
    fs::rename(draft, target, code);
    if (code) filled = failed(target, code);
  }
  if (!filled) {
    fs::remove_all(draft, code);
    return filled;
  }
  return sync_path(target.parent_path().string());
}

}  // namespace stint::store
