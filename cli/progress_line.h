// A line on a terminal that says how far long work is.
#ifndef STINT_CLI_PROGRESS_LINE_H_
#define STINT_CLI_PROGRESS_LINE_H_

#include <chrono>
#include <ostream>
#include <string_view>

namespace stint::cli {

/// On a terminal rewrites one line, and removes it when it is destroyed; elsewhere writes a line
/// every few seconds.
class ProgressLine {
 public:
  ProgressLine(std::ostream& err, bool on_terminal);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Whether it is time to show something new.
  bool due();
  void show(std::string_view text);

 private:
  std::ostream& err_;
  bool on_terminal_;
  std::chrono::steady_clock::time_point next_;
  bool shown_ = false;
};

/// Whether progress may be shown on the error stream: it is a terminal that understands it.
bool error_stream_is_terminal();

}  // namespace stint::cli

#endif  // STINT_CLI_PROGRESS_LINE_H_
