// Conversions between instants and the integers that items hold.
#ifndef STINT_BASE_TIME_H_
#define STINT_BASE_TIME_H_

#include <algorithm>
#include <cstdint>

#include "stint/time.h"

namespace stint {

constexpr TimePoint from_epoch_ms(std::int64_t ms) { return TimePoint(Millis(ms)); }
constexpr std::int64_t to_epoch_ms(TimePoint t) { return t.time_since_epoch().count(); }
/// Whole seconds since the epoch, rounded down.
constexpr std::int64_t to_epoch_s(TimePoint t) {
  return std::chrono::floor<std::chrono::seconds>(t).time_since_epoch().count();
}

/// The instant so many seconds after the epoch. The number may be anything that another program
/// wrote; beyond the years 0000 to 9999 it stands for the nearest instant within them, which
/// everybody can show.
constexpr TimePoint from_epoch_s(std::int64_t seconds) {
  constexpr std::int64_t kFirst = -62'167'219'200;
  constexpr std::int64_t kLast = 253'402'300'799;
  return from_epoch_ms(std::clamp(seconds, kFirst, kLast) * 1000);
}

}  // namespace stint

#endif  // STINT_BASE_TIME_H_
