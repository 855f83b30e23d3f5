#include "cli/replay/timeline.h"

#include <array>
#include <cassert>
#include <chrono>
#include <utility>

namespace stint::cli {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

// Each divides the next; the last is long enough for every time that can be read.
constexpr std::array<seconds, 18> kWidths = {
    seconds(1),  seconds(5),    seconds(10),    seconds(30),    minutes(1),      minutes(5),
    minutes(10), minutes(30),   hours(1),       hours(3),       hours(6),        hours(12),
    hours(24),   hours(24 * 7), hours(24 * 28), hours(24 * 84), hours(24 * 840), hours(24 * 84000),
};

}  // namespace

Millis Timeline::width() const { return kWidths[step_]; }

TimePoint Timeline::begin(std::size_t index) const {
  return TimePoint((first_ + static_cast<std::int64_t>(index)) * width());
}

void Timeline::widen() {
  assert(step_ + 1 < kWidths.size());
  const std::int64_t factor = kWidths[step_ + 1] / kWidths[step_];
  const std::int64_t old_first = first_;
  first_ /= factor;
  std::vector<Span> wider;
  for (std::size_t i = 0; i < spans_.size(); ++i) {
    const std::int64_t position = (old_first + static_cast<std::int64_t>(i)) / factor - first_;
    wider.resize(static_cast<std::size_t>(position) + 1);
    wider.back().admitted += spans_[i].admitted;
    wider.back().rejected += spans_[i].rejected;
  }
  spans_ = std::move(wider);
  ++step_;
}

void Timeline::count(TimePoint at, bool admitted) {
  if (spans_.empty()) first_ = at.time_since_epoch() / width();
  std::int64_t position = at.time_since_epoch() / width() - first_;
  assert(position >= 0);
  while (position >= static_cast<std::int64_t>(kMaxSpans)) {
    widen();
    position = at.time_since_epoch() / width() - first_;
  }
  const auto index = static_cast<std::size_t>(position);
  if (index >= spans_.size()) spans_.resize(index + 1);
  if (admitted) {
    ++spans_[index].admitted;
  } else {
    ++spans_[index].rejected;
  }
}

}  // namespace stint::cli
