// Time zones as lists of constant-offset periods. The only user of the date library is timezone.cc.
#ifndef STINT_BASE_TIMEZONE_H_
#define STINT_BASE_TIMEZONE_H_

#include <chrono>
#include <string>
#include <string_view>

#include "stint/result.h"
#include "stint/time.h"

namespace stint {

struct ZoneTable;

/// A handle to one IANA zone of the system's zone data; cheap to copy, thread-safe, never dangling.
class TimeZone {
 public:
  /// A stretch of time with one offset from UTC: [begin, end).
  struct Period {
    TimePoint begin;
    TimePoint end;
    std::chrono::seconds offset;
  };

  /// Zone names are case-sensitive. "UTC" is known on every machine.
  /// Errors: `kInvalidArgument` (field "zone") for an unknown name, `kUnavailable` when the machine
  /// has no zone data.
  static Result<TimeZone> find(std::string_view name);

  const std::string& name() const;
  /// The period that holds `utc`; the neighbours of a period have other offsets. Daylight saving
  /// rules without an end are followed to the year 2200. First and last periods reach to the limits
  /// of `TimePoint` divided by two, so that adding offsets cannot overflow.
  Period period_at(TimePoint utc) const;

  friend bool operator==(TimeZone a, TimeZone b) { return a.zone_ == b.zone_; }

 private:
  explicit TimeZone(const ZoneTable* zone) : zone_(zone) {}

  const ZoneTable* zone_;  // kept for the life of the process
};

}  // namespace stint

#endif  // STINT_BASE_TIMEZONE_H_
