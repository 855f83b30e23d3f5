// Counts over time, in at most so many spans, without knowing the end beforehand.
#ifndef STINT_CLI_REPLAY_TIMELINE_H_
#define STINT_CLI_REPLAY_TIMELINE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stint/time.h"

namespace stint::cli {

/// Spans of equal length, beginning at one second; whenever they become too many, longer ones, each
/// a whole multiple of the one before, so that nothing has to be split.
class Timeline {
 public:
  static constexpr std::size_t kMaxSpans = 48;

  struct Span {
    std::uint64_t admitted = 0;
    std::uint64_t rejected = 0;
  };

  /// Precondition: `at` is not before the first instant that was counted.
  void count(TimePoint at, bool admitted);

  const std::vector<Span>& spans() const { return spans_; }
  /// Where span `index` begins: a multiple of `width` since the epoch.
  TimePoint begin(std::size_t index) const;
  Millis width() const;

 private:
  void widen();

  std::vector<Span> spans_;
  std::int64_t first_ = 0;  // begin of the first span in widths since the epoch
  std::size_t step_ = 0;
};

}  // namespace stint::cli

#endif  // STINT_CLI_REPLAY_TIMELINE_H_
