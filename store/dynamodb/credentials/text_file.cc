#include "store/dynamodb/credentials/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "store/dynamodb/credentials/system_error.h"
#include "store/dynamodb/text.h"

namespace stint::store::dynamodb {
namespace {

constexpr std::size_t kMaxTokenBytes = 64 * 1024;

Error unreadable(const std::string& path, const std::string& why) {
  return Error(ErrorCode::kAccessDenied, path + " " + why);
}

Error unreadable(const std::string& path, int code) {
  return Error(code_of_errno(code),
               path + " cannot be read (" + std::generic_category().message(code) + ")");
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

Result<std::string> read_text_file(const std::string& path, std::size_t max_bytes) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.number() < 0) {
    int code = errno;
    if (code == ENOENT || code == ENOTDIR) {
      return Error(ErrorCode::kNotFound, path + " does not exist");
    }
    return unreadable(path, code);
  }
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) return unreadable(path, errno);
  // /dev/null stands for "no file" in many a script.
  if (!S_ISREG(status.st_mode) && !S_ISCHR(status.st_mode)) {
    return unreadable(path, "is not a file");
  }
  std::string text;
  char buffer[4096];
  for (;;) {
    ssize_t got = ::read(file.number(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable(path, errno);
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.size() > max_bytes) {
      return unreadable(path, "is longer than " + std::to_string(max_bytes) + " bytes");
    }
  }
}

Result<std::string> read_token_file(const std::string& path) {
  Result<std::string> text = read_text_file(path, kMaxTokenBytes);
  if (!text) return text;
  std::string token(trimmed(*text));
  if (token.empty()) return unreadable(path, "is empty");
  if (!is_header_text(token)) {
    return unreadable(path, "holds more than one line, or characters that no token has");
  }
  return token;
}

}  // namespace stint::store::dynamodb
