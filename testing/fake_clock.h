// A clock that shows what it is told.
#ifndef STINT_TESTING_FAKE_CLOCK_H_
#define STINT_TESTING_FAKE_CLOCK_H_

#include <atomic>
#include <cstdint>

#include "stint/time.h"

namespace stint::test {

/// Thread-safe. Stands still until it is set or advanced.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(TimePoint start = TimePoint()) : ms_(start.time_since_epoch().count()) {}

  TimePoint now() override { return TimePoint(Millis(ms_.load())); }
  void set(TimePoint now) { ms_.store(now.time_since_epoch().count()); }
  /// By a negative duration: back.
  void advance(Millis by) { ms_.fetch_add(by.count()); }

 private:
  std::atomic<std::int64_t> ms_;
};

}  // namespace stint::test

#endif  // STINT_TESTING_FAKE_CLOCK_H_
