// Reading the times of recorded traffic.
#ifndef STINT_CLI_REPLAY_TIME_TEXT_H_
#define STINT_CLI_REPLAY_TIME_TEXT_H_

#include <optional>
#include <string_view>

#include "stint/time.h"

namespace stint::cli {

/// Understands, for times from 1970 to 9999:
///
/// - ISO 8601: `2023-11-16T18:17:03.9799600+01:00`. Space or T; seconds, fraction (any number of
///   digits) and offset (`Z`, `UTC`, `+hh:mm`, `+hhmm`, `+hh`) may be absent; no offset means UTC.
/// - The form of web server logs: `17/May/2015:10:05:03 +0000`.
/// - A decimal number since the epoch: seconds below 10^11, milliseconds from there on, so that
///   seconds reach to the year 5138 and milliseconds begin in 1973.
///
/// What is finer than a millisecond is cut off. A 60th second counts as the next one.
/// Nothing for any other text.
std::optional<TimePoint> parse_time(std::string_view text);

}  // namespace stint::cli

#endif  // STINT_CLI_REPLAY_TIME_TEXT_H_
