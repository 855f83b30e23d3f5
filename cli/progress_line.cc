#include "cli/progress_line.h"

#include <unistd.h>

#include <cstdlib>

namespace stint::cli {
namespace {

constexpr std::chrono::milliseconds kTerminalInterval(200);
constexpr std::chrono::milliseconds kPlainInterval(5000);
// Back to the first column, and erase to the end of the line.
constexpr std::string_view kRewind = "\r\x1b[K";

}  // namespace

ProgressLine::ProgressLine(std::ostream& err, bool on_terminal)
    : err_(err),
      on_terminal_(on_terminal),
      next_(std::chrono::steady_clock::now() + kTerminalInterval) {}

ProgressLine::~ProgressLine() {
  if (shown_ && on_terminal_) err_ << kRewind << std::flush;
}

bool ProgressLine::due() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return false;
  next_ = now + (on_terminal_ ? kTerminalInterval : kPlainInterval);
  return true;
}

void ProgressLine::show(std::string_view text) {
  shown_ = true;
  if (on_terminal_) {
    err_ << kRewind << text << std::flush;
  } else {
    err_ << text << std::endl;
  }
}

bool error_stream_is_terminal() {
  const char* kind = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

}  // namespace stint::cli
