#include "store/rocksdb/directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

namespace stint::store {
namespace {

namespace fs = std::filesystem;

// The newest format that this program knows, and the oldest; docs/design/format.md has the rule. A
// new directory begins with the oldest and is raised before the first record is written that an
// older program would refuse.
constexpr int kDirectoryFormat = 2;
constexpr int kOldestFormat = 1;
constexpr std::string_view kMarkStart = "stint store, format ";

Error unavailable(const fs::path& path, const std::error_code& code) {
  return Error(ErrorCode::kUnavailable, path.string() + ": " + code.message());
}

Error foreign(const std::string& directory) {
  return Error(ErrorCode::kCorrupt, directory +
                                        " is not a stint store, and was not touched: choose a "
                                        "directory that is empty or does not exist");
}

// The format of a marked directory, if this program knows it.
Result<int> read_mark(const std::string& directory, const fs::path& mark) {
  std::ifstream file(mark, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (file.bad() || !file) {
    return Error(ErrorCode::kUnavailable, mark.string() + " cannot be read");
  }
  if (!text.starts_with(kMarkStart) || !text.ends_with('\n')) return foreign(directory);
  int format = 0;
  const char* end = text.data() + text.size() - 1;
  auto [stop, error] = std::from_chars(text.data() + kMarkStart.size(), end, format);
  if (error != std::errc() || stop != end || format < 1) return foreign(directory);
  if (format > kDirectoryFormat) {
    return Error(ErrorCode::kVersionMismatch,
                 directory + " has format " + std::to_string(format) + ", this program knows " +
                     std::to_string(kDirectoryFormat) + ": use a newer program");
  }
  if (format < kOldestFormat) {
    return Error(ErrorCode::kVersionMismatch,
                 directory + " has format " + std::to_string(format) +
                     ", which this program no longer reads: open it once with an older one");
  }
  return format;
}

// Written under another name first: a mark is there whole or not at all.
Status write_mark(const std::string& directory, const fs::path& mark, int format) {
  fs::path draft = mark;
  draft += ".new";
  {
    std::ofstream file(draft, std::ios::binary | std::ios::trunc);
    file << kMarkStart << format << '\n';
    file.flush();
    if (!file) return Error(ErrorCode::kUnavailable, draft.string() + " cannot be written");
  }
  if (Status status = sync_path(draft.string()); !status) return status;
  std::error_code code;
  fs::rename(draft, mark, code);
  if (code) return unavailable(mark, code);
  return sync_path(directory);
}

// Whether anything but the leavings of an interrupted `write_mark` is in there.
bool holds_files(const fs::path& directory, std::error_code& code) {
  for (fs::directory_iterator at(directory, code), end; !code && at != end; at.increment(code)) {
    if (at->path().filename() != std::string(kMarkFile) + ".new") return true;
  }
  return false;
}

// Without CURRENT a database counts as absent and would be created anew over what is left of it.
Status check_not_gutted(const std::string& directory) {
  std::error_code code;
  fs::path path(directory);
  if (fs::exists(path / "CURRENT", code) && !code) return Status();
  for (fs::directory_iterator at(path, code), end; !code && at != end; at.increment(code)) {
    fs::path extension = at->path().extension();
    if (extension == ".sst" || extension == ".log") {
      return Error(ErrorCode::kCorrupt, directory +
                                            " is damaged: CURRENT is missing, which names the "
                                            "newest list of files. Nothing was changed; restore a "
                                            "backup");
    }
  }
  if (code) return unavailable(path, code);
  return Status();
}

}  // namespace

Result<std::uint64_t> directory_bytes(const std::string& directory) {
  std::uint64_t bytes = 0;
  std::error_code code;
  fs::directory_iterator at(directory, code);
  for (fs::directory_iterator end; !code && at != end; at.increment(code)) {
    std::error_code gone;
    std::uintmax_t size = fs::file_size(at->path(), gone);
    if (!gone) bytes += size;
  }
  if (code) return unavailable(directory, code);
  return bytes;
}

Status sync_path(const std::string& path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  int failed = descriptor < 0 ? -1 : ::fsync(descriptor);
  int code = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (failed != 0) return unavailable(path, std::error_code(code, std::generic_category()));
  return Status();
}

/// Makes a directory and what is missing above it, each entered in its parent on the disk.
static Status create_directories_durably(const fs::path& path) {
  std::error_code code;
  fs::path absolute = fs::absolute(path, code).lexically_normal();
  if (code) return unavailable(path, code);
  fs::path made;
  for (const fs::path& part : absolute) {
    fs::path parent = made;
    made /= part;
    if (part.empty() || fs::exists(made, code)) continue;
    fs::create_directory(made, code);
    if (code) return unavailable(made, code);
    if (Status synced = sync_path(parent); !synced) return synced;
  }
  return Status();
}

Status prepare_directory(const std::string& directory, bool create_if_missing) {
  std::error_code code;
  fs::path path(directory);
  fs::file_status status = fs::status(path, code);
  if (status.type() == fs::file_type::not_found) {
    if (!create_if_missing) return Error(ErrorCode::kNotFound, directory + " does not exist");
    if (Status made = create_directories_durably(path); !made) return made;
  } else if (code) {
    return unavailable(path, code);
  } else if (status.type() != fs::file_type::directory) {
    return Error(ErrorCode::kCorrupt,
                 directory + " is not a directory: name the directory that is to hold the store");
  }

  fs::path mark = path / kMarkFile;
  bool marked = fs::exists(mark, code);
  if (code) return unavailable(mark, code);
  if (marked) {
    Result<int> format = read_mark(directory, mark);
    return format ? check_not_gutted(directory) : Status(format.error());
  }
  bool occupied = holds_files(path, code);
  if (code) return unavailable(path, code);
  if (occupied) return foreign(directory);
  if (!create_if_missing) return Error(ErrorCode::kNotFound, directory + " holds no store");
  return write_mark(directory, mark, kOldestFormat);
}

Status raise_directory(const std::string& directory, int format) {
  assert(format <= kDirectoryFormat);
  fs::path mark = fs::path(directory) / kMarkFile;
  Result<int> present = read_mark(directory, mark);
  if (!present) return present.error();
  return *present >= format ? Status() : write_mark(directory, mark, format);
}

}  // namespace stint::store
