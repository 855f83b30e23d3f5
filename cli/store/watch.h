// What the long commands of `stint store` share: progress, interruption, and how problems look.
#ifndef STINT_CLI_STORE_WATCH_H_
#define STINT_CLI_STORE_WATCH_H_

#include <chrono>
#include <optional>
#include <ostream>
#include <string>

#include "cli/command.h"
#include "cli/interruption.h"
#include "cli/json_writer.h"
#include "cli/progress_line.h"
#include "stint/store_report.h"

namespace stint::cli {

/// Watches work while it lives: shows progress on a terminal, or where it was asked for, and notes
/// signals.
class Watch {
 public:
  Watch(std::ostream& err, bool progress_asked);

  /// Shows how far the work is. False: it is to stop.
  bool tell(const MaintenanceProgress& progress);
  OnProgress callback();
  bool interrupted() const { return interruption_.requested(); }
  /// Removes the line, so that other text can follow.
  void end_line() { line_.reset(); }

 private:
  Interruption interruption_;
  std::optional<ProgressLine> line_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::string phase_;
};

/// Adds --progress to a command.
void add_progress_option(CLI::App& command, bool& asked);

/// "PK SK: what; advice", on one line whatever the key holds.
std::string problem_line(const StoreProblem& problem);
void write_problem(JsonWriter& json, const StoreProblem& problem);

/// "1.5 MB". Thousands, not 1024.
std::string size_text(double bytes);

}  // namespace stint::cli

#endif  // STINT_CLI_STORE_WATCH_H_
