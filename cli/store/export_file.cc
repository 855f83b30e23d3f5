#include "cli/store/export_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>
#include <vector>

namespace stint::cli {
namespace {

constexpr std::chrono::seconds kKeepInterval{2};

std::string data_path(const std::string& path) { return path + ".unfinished"; }
std::string position_path(const std::string& path) { return path + ".position"; }

Error file_error(const std::string& path, int number) {
  return Error::invalid("output", path, std::strerror(number));
}

Status sync_parent(const std::string& path) {
  std::error_code code;
  std::string parent = std::filesystem::absolute(path, code).parent_path().string();
  if (code) return file_error(path, code.value());
  int descriptor = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return file_error(parent, errno);
  int failed = ::fsync(descriptor);
  int number = errno;
  ::close(descriptor);
  if (failed != 0) return file_error(parent, number);
  return Status();
}

bool exists(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

Status write_all(const std::string& path, int descriptor, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return file_error(path, errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return Status();
}

// The digest of the first bytes of a file.
Result<Digest> digest_of(const std::string& path, int descriptor, std::uint64_t bytes) {
  Digest digest;
  std::vector<char> buffer(std::size_t{1} << 20);
  for (std::uint64_t at = 0; at < bytes;) {
    std::size_t wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), bytes - at));
    ssize_t got = ::pread(descriptor, buffer.data(), wanted, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error(path, errno);
    if (got == 0) return Error::invalid("output", path, "is shorter than its position says");
    digest.add(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
    at += static_cast<std::uint64_t>(got);
  }
  return digest;
}

// Whether this process alone writes the file from now on, until it is closed.
Status hold(const std::string& path, int descriptor) {
  auto taken = [&] {
    return Error(ErrorCode::kUnavailable, path + " is being written by another export");
  };
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return taken();
    return file_error(path, errno);
  }
  // The other may have finished in between: the file then has its name, and is whole.
  struct stat held {};
  struct stat named {};
  if (::fstat(descriptor, &held) != 0) return file_error(path, errno);
  if (::stat(path.c_str(), &named) != 0 || named.st_ino != held.st_ino) return taken();
  return Status();
}

struct Kept {
  ExportState state;
  std::string digest;
};

Result<Kept> read_position(const std::string& path) {
  std::ifstream file(position_path(path), std::ios::binary);
  if (!file) {
    return Error(ErrorCode::kNotFound, "there is no unfinished export of " + path + " to resume");
  }
  std::string text(std::istreambuf_iterator<char>(file), {});
  auto json = nlohmann::json::parse(text, nullptr, false);
  auto malformed = [&] {
    return Error::invalid("output", position_path(path), "is not the position of an export");
  };
  if (!json.is_object()) return malformed();
  Kept kept;
  auto text_of = [&](const char* name, std::string& into) {
    auto found = json.find(name);
    if (found == json.end() || !found->is_string()) return false;
    into = found->get<std::string>();
    return true;
  };
  auto number_of = [&](const char* name, std::uint64_t& into) {
    auto found = json.find(name);
    if (found == json.end() || !found->is_number_unsigned()) return false;
    into = found->get<std::uint64_t>();
    return true;
  };
  ExportState& state = kept.state;
  bool whole = text_of("store", state.store) && text_of("form", state.form) &&
               text_of("position", state.position) && text_of("digest", kept.digest) &&
               number_of("bytes", state.bytes) && number_of("items", state.items) &&
               number_of("unreadable", state.unreadable);
  auto complete = json.find("complete");
  if (!whole || complete == json.end() || !complete->is_boolean()) return malformed();
  state.complete = complete->get<bool>();
  return kept;
}

}  // namespace

ExportFile::ExportFile(std::string path, int descriptor, ExportState state)
    : path_(std::move(path)),
      descriptor_(descriptor),
      state_(std::move(state)),
      next_keep_(std::chrono::steady_clock::now() + kKeepInterval) {}

ExportFile::ExportFile(ExportFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      state_(std::move(other.state_)),
      digest_(other.digest_),
      next_keep_(other.next_keep_) {}

ExportFile::~ExportFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<ExportFile> ExportFile::create(const std::string& path, const std::string& store,
                                      const std::string& form, bool replace) {
  if (!replace && exists(path)) {
    return Error(ErrorCode::kExists, path + " exists; --force replaces it");
  }
  if (!replace && exists(position_path(path))) {
    return Error(ErrorCode::kExists, "an export to " + path +
                                         " is unfinished; --resume goes on with it, --force starts "
                                         "over");
  }
  int descriptor = ::open(data_path(path).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return file_error(data_path(path), errno);
  ExportState state;
  state.store = store;
  state.form = form;
  ExportFile file(path, descriptor, std::move(state));
  if (Status held = hold(data_path(path), descriptor); !held) return held.error();
  // Without its position, nobody takes the rest of another file for the beginning of this one.
  if (::unlink(position_path(path).c_str()) != 0 && errno != ENOENT) {
    return file_error(position_path(path), errno);
  }
  if (::ftruncate(descriptor, 0) != 0) return file_error(data_path(path), errno);
  return file;
}

Result<ExportFile> ExportFile::resume(const std::string& path, const std::string& store,
                                      const std::string& form) {
  Result<Kept> kept = read_position(path);
  if (!kept) return kept.error();
  if (kept->state.store != store) {
    return Error::invalid(
        "store", store, "is not the store of the unfinished export, which is " + kept->state.store);
  }
  if (kept->state.form != form) {
    return Error::invalid("for", form, "the unfinished export was begun for " + kept->state.form);
  }
  std::string data = data_path(path);
  int descriptor = ::open(data.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return file_error(data, errno);
  ExportFile file(path, descriptor, kept->state);
  if (Status held = hold(data, descriptor); !held) return held.error();
  Result<Digest> digest = digest_of(data, descriptor, kept->state.bytes);
  if (!digest) return digest.error();
  if (digest->text() != kept->digest) {
    return Error::invalid("output", data, "has been changed since; --force starts over");
  }
  file.digest_ = *digest;
  // What was written after the position was kept is written again.
  auto end = static_cast<off_t>(kept->state.bytes);
  if (::ftruncate(descriptor, end) != 0) return file_error(data, errno);
  if (::lseek(descriptor, end, SEEK_SET) != end) return file_error(data, errno);
  return file;
}

Status ExportFile::append(std::string_view lines, const std::string& position, std::uint64_t items,
                          std::uint64_t unreadable) {
  if (Status written = write_all(data_path(path_), descriptor_, lines); !written) return written;
  digest_.add(lines);
  state_.bytes += lines.size();
  state_.position = position;
  state_.complete = position.empty();
  state_.items += items;
  state_.unreadable += unreadable;
  if (std::chrono::steady_clock::now() < next_keep_) return Status();
  return keep_position();
}

Status ExportFile::keep_position() {
  next_keep_ = std::chrono::steady_clock::now() + kKeepInterval;
  if (::fdatasync(descriptor_) != 0) return file_error(data_path(path_), errno);
  nlohmann::ordered_json json;
  json["store"] = state_.store;
  json["form"] = state_.form;
  json["position"] = state_.position;
  json["complete"] = state_.complete;
  json["bytes"] = state_.bytes;
  json["items"] = state_.items;
  json["unreadable"] = state_.unreadable;
  json["digest"] = digest_.text();
  // A store's name need not be UTF-8.
  std::string text = json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  std::string draft = position_path(path_) + ".new";
  int descriptor = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) return file_error(draft, errno);
  Status written = write_all(draft, descriptor, text);
  // After a loss of power the name must not stand over nothing.
  if (written && ::fsync(descriptor) != 0) written = file_error(draft, errno);
  if (::close(descriptor) != 0 && written) written = file_error(draft, errno);
  if (!written) return written;
  if (std::rename(draft.c_str(), position_path(path_).c_str()) != 0) {
    return file_error(position_path(path_), errno);
  }
  return Status();
}

Status ExportFile::finish() {
  std::string data = data_path(path_);
  if (::fsync(descriptor_) != 0) return file_error(data, errno);
  if (std::rename(data.c_str(), path_.c_str()) != 0) return file_error(path_, errno);
  if (Status synced = sync_parent(path_); !synced) return synced;
  if (::unlink(position_path(path_).c_str()) != 0 && errno != ENOENT) {
    return file_error(position_path(path_), errno);
  }
  return Status();
}

}  // namespace stint::cli
