// The clock of the machine.
#ifndef STINT_LIMITER_SYSTEM_CLOCK_H_
#define STINT_LIMITER_SYSTEM_CLOCK_H_

#include <chrono>

#include "stint/time.h"

namespace stint::limiter {

class SystemClock final : public Clock {
 public:
  TimePoint now() override {
    return std::chrono::time_point_cast<Millis>(std::chrono::system_clock::now());
  }
};

}  // namespace stint::limiter

#endif  // STINT_LIMITER_SYSTEM_CLOCK_H_
