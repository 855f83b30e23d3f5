// Recorded traffic through the shipped limiter at its recorded times (decision 18).
#ifndef STINT_CLI_REPLAY_REPLAY_H_
#define STINT_CLI_REPLAY_REPLAY_H_

#include <atomic>
#include <cstdint>
#include <functional>

#include "cli/replay/decision_writer.h"
#include "cli/replay/report.h"
#include "cli/replay/request_reader.h"
#include "stint/limiter.h"
#include "stint/result.h"
#include "stint/time.h"

namespace stint::cli {

/// Shows the instant that it was last set to.
class ReplayClock final : public Clock {
 public:
  TimePoint now() override { return TimePoint(Millis(now_.load(std::memory_order_relaxed))); }
  void set(TimePoint now) { now_.store(now.time_since_epoch().count(), std::memory_order_relaxed); }

 private:
  std::atomic<Millis::rep> now_{0};
};

/// How far a replay is.
struct ReplayProgress {
  std::uint64_t bytes_read = 0;
  std::uint64_t read = 0;
  std::uint64_t decided = 0;
};

struct ReplaySettings {
  /// The input is in order of time: decide while reading, in memory that does not grow with the
  /// number of records. A record older than the one before is decided at the latest time seen.
  bool sorted = false;
  /// Stop at the first record that cannot be used.
  bool strict = false;
  /// May be null.
  DecisionWriter* decisions = nullptr;
  /// Called now and then; may be empty.
  std::function<void(const ReplayProgress&)> on_progress = {};
};

/// Decides every request of `input` with `limiter`, whose clock is `clock`. Requests are decided in
/// order of time, equal times in the order of the input; an admitted request's lease is settled at
/// once. Requests that the limiter refuses as invalid are skipped.
/// Errors: `kInvalidArgument` when the input cannot be read or, with `strict`, when a record cannot
/// be used; otherwise what the limiter's store reports.
Result<ReplayReport> replay(Limiter& limiter, ReplayClock& clock, RequestReader& input,
                            const ReplaySettings& settings);

}  // namespace stint::cli

#endif  // STINT_CLI_REPLAY_REPLAY_H_
