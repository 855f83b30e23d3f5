// Conversions between instants and the integers that items hold.
#ifndef STINT_BASE_TIME_H_
#define STINT_BASE_TIME_H_

#include <cstdint>

#include "stint/time.h"

namespace stint {

constexpr TimePoint from_epoch_ms(std::int64_t ms) { return TimePoint(Millis(ms)); }
constexpr std::int64_t to_epoch_ms(TimePoint t) { return t.time_since_epoch().count(); }
/// Whole seconds since the epoch, rounded down.
constexpr std::int64_t to_epoch_s(TimePoint t) {
  return std::chrono::floor<std::chrono::seconds>(t).time_since_epoch().count();
}

}  // namespace stint

#endif  // STINT_BASE_TIME_H_
