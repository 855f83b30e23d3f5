// A line on a terminal that says how far a replay is.
#ifndef STINT_CLI_REPLAY_PROGRESS_H_
#define STINT_CLI_REPLAY_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <ostream>

#include "cli/replay/replay.h"

namespace stint::cli {

/// Rewrites one line at most five times a second, and removes it when it is destroyed.
class ProgressLine {
 public:
  /// `total_bytes` is the size of the input, where it is known.
  ProgressLine(std::ostream& err, std::optional<std::uint64_t> total_bytes);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const ReplayProgress& progress);

 private:
  std::ostream& err_;
  std::optional<std::uint64_t> total_bytes_;
  std::chrono::steady_clock::time_point next_;
  bool shown_ = false;
};

/// Whether progress may be shown on the error stream: it is a terminal that understands it.
bool error_stream_is_terminal();

}  // namespace stint::cli

#endif  // STINT_CLI_REPLAY_PROGRESS_H_
