// What a replay found.
#ifndef STINT_CLI_REPLAY_REPORT_H_
#define STINT_CLI_REPLAY_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "base/timezone.h"
#include "base/wide.h"
#include "cli/json_writer.h"
#include "cli/replay/timeline.h"
#include "cli/terminal.h"
#include "stint/counters.h"
#include "stint/time.h"

namespace stint::cli {

/// Records that could not be used: all counted, the first few kept.
class SkippedRecords {
 public:
  static constexpr std::size_t kKept = 10;

  struct Record {
    std::uint64_t line;
    std::string reason;
  };

  void add(std::uint64_t line, std::string reason);
  std::uint64_t count() const { return count_; }
  const std::vector<Record>& first() const { return first_; }

 private:
  std::uint64_t count_ = 0;
  std::vector<Record> first_;
};

struct ReplayReport {
  struct LimitTotals {
    std::string name;
    /// Rejected requests for which this limit was short.
    std::uint64_t times_short = 0;
    /// Tokens of admitted requests; wide, because soft limits admit without end.
    Int128 granted = 0;
    /// The greatest part of its capacity that was in use after any decision; 1 is all of it, more
    /// is debt.
    double peak_use = 0;
    /// When that was, and whose bucket.
    std::optional<TimePoint> peak_at;
    std::string peak_entity;
  };
  struct EntityTotals {
    std::string id;
    std::uint64_t requests = 0;
    std::uint64_t rejected = 0;
  };

  /// Decided requests: `admitted` and `rejected` together.
  std::uint64_t requests = 0;
  std::uint64_t admitted = 0;
  std::uint64_t rejected = 0;
  /// Rejected by access policy, not by a limit; part of `rejected`.
  std::uint64_t disabled = 0;
  /// Entities with at least one decided request.
  std::uint64_t entities = 0;
  /// Times that a record was older than the one before it in the input.
  std::uint64_t backward_steps = 0;
  /// Requests of a sorted input that were decided at a later instant than recorded.
  std::uint64_t decided_late = 0;
  std::optional<TimePoint> first_time;
  std::optional<TimePoint> last_time;
  /// In the order in which they were first consumed.
  std::vector<LimitTotals> limits;
  /// At most ten, the most rejected first.
  std::vector<EntityTotals> most_rejected;
  Timeline timeline;
  SkippedRecords skipped;
  /// What the limiter did to decide, if that was asked for.
  std::optional<CounterSnapshot> stats;
};

/// The object of `--json`.
void write_report(JsonWriter& json, const ReplayReport& report);

/// For people; instants in `zone`.
void print_report(std::ostream& out, const ReplayReport& report, const Terminal& terminal,
                  TimeZone zone);

}  // namespace stint::cli

#endif  // STINT_CLI_REPLAY_REPORT_H_
