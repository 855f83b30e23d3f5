// Instants as people type and read them.
#ifndef STINT_CLI_INSTANT_H_
#define STINT_CLI_INSTANT_H_

#include <string>
#include <string_view>

#include "base/timezone.h"
#include "stint/result.h"
#include "stint/time.h"

namespace stint::cli {

/// What `parse_time` understands, before the year 2200, as far as the zone data reaches.
/// Errors: `kInvalidArgument` with `field`.
Result<TimePoint> parse_instant(std::string_view field, std::string_view text);

/// To the millisecond, with what tells repeated local times apart:
/// `2027-03-14 08:00:00.250 +01:00 Europe/Berlin`; milliseconds only when there are any.
std::string format_exact(TimePoint at, TimeZone zone);

/// When something that happens at `at` will surely have happened, for a reader at `now`:
/// `14:05 Europe/Berlin`, with the date unless it is today, with seconds when it is within an hour.
/// What lies between two shown instants is shown as the later.
std::string format_moment(TimePoint at, TimePoint now, TimeZone zone);

/// How long something lasts at most: `250 ms`, `1.2 s`, `42 s`, `4 h 12 min`, `3 d 4 h`; what lies
/// between is rounded up.
std::string format_wait(Millis wait);

}  // namespace stint::cli

#endif  // STINT_CLI_INSTANT_H_
