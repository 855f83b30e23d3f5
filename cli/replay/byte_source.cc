#include "cli/replay/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace stint::cli {
namespace {

Error input_error(const std::string& path, int number) {
  return Error::invalid("input", path, std::strerror(number));
}

class FileSource final : public ByteSource {
 public:
  FileSource(std::string path, int descriptor, bool owned, std::optional<std::uint64_t> size)
      : path_(std::move(path)), descriptor_(descriptor), owned_(owned), size_(size) {}
  ~FileSource() override {
    if (owned_) ::close(descriptor_);
  }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  Result<std::size_t> read(std::span<char> into) override {
    while (true) {
      const ssize_t got = ::read(descriptor_, into.data(), into.size());
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) return input_error(path_, errno);
    }
  }
  std::optional<std::uint64_t> size() const override { return size_; }

 private:
  std::string path_;
  int descriptor_;
  bool owned_;
  std::optional<std::uint64_t> size_;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> open_input(const std::string& path) {
  const bool standard = path == "-";
  const int descriptor = standard ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return input_error(path, errno);
  auto source = [&](std::optional<std::uint64_t> size) -> std::unique_ptr<ByteSource> {
    return std::make_unique<FileSource>(path, descriptor, !standard, size);
  };
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    // A directory fails at the first read, with the system's own words.
    return source(std::nullopt);
  }
  return source(static_cast<std::uint64_t>(status.st_size));
}

Result<std::size_t> TextSource::read(std::span<char> into) {
  const std::size_t count = std::min({into.size(), piece_, text_.size() - position_});
  std::copy_n(text_.data() + position_, count, into.data());
  position_ += count;
  return count;
}

}  // namespace stint::cli
