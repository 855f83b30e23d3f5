#include "cli/replay/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace stint::cli {
namespace {

constexpr std::chrono::milliseconds kInterval(200);
// Back to the first column, and erase to the end of the line.
constexpr std::string_view kRewind = "\r\x1b[K";

}  // namespace

ProgressLine::ProgressLine(std::ostream& err, std::optional<std::uint64_t> total_bytes)
    : err_(err), total_bytes_(total_bytes), next_(std::chrono::steady_clock::now() + kInterval) {}

ProgressLine::~ProgressLine() {
  if (shown_) err_ << kRewind << std::flush;
}

void ProgressLine::show(const ReplayProgress& progress) {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + kInterval;
  shown_ = true;
  err_ << kRewind << fmt::format("read {}", progress.read);
  if (total_bytes_ && *total_bytes_ > 0) {
    err_ << fmt::format(" ({} %)", progress.bytes_read * 100 / *total_bytes_);
  }
  err_ << fmt::format(", decided {}", progress.decided) << std::flush;
}

bool error_stream_is_terminal() {
  const char* kind = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

}  // namespace stint::cli
