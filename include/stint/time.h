// Time as stint knows it: instants of the Unix clock in whole milliseconds.
#ifndef STINT_TIME_H_
#define STINT_TIME_H_

#include <chrono>

#include "stint/export.h"

namespace stint {

using Millis = std::chrono::milliseconds;
/// An instant, milliseconds since 1970-01-01T00:00:00Z (no leap seconds).
using TimePoint = std::chrono::sys_time<std::chrono::milliseconds>;

/// Where a limiter reads the time, once per attempt of a call. Implementations must be thread-safe.
class STINT_EXPORT Clock {
 public:
  virtual ~Clock() = default;
  /// The current instant. May step back; stint never lets that restore an allowance.
  virtual TimePoint now() = 0;
};

}  // namespace stint

#endif  // STINT_TIME_H_
