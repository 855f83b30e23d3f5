// Ids that sort by the time at which they were made.
#ifndef STINT_BASE_ULID_H_
#define STINT_BASE_ULID_H_

#include <string>

#include "base/random.h"
#include "stint/time.h"

namespace stint {

/// A ULID: 26 characters of Crockford's base 32, ten for the milliseconds since 1970, sixteen for
/// 80 random bits. Instants before 1970 count as 1970.
std::string make_ulid(TimePoint at, Random& random);

}  // namespace stint

#endif  // STINT_BASE_ULID_H_
