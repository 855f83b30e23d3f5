// What happens on the way to a store across a network.
#ifndef STINT_TRANSPORT_STATS_H_
#define STINT_TRANSPORT_STATS_H_

#include <cstdint>

#include "stint/time.h"

namespace stint {

/// What the way to a store across a network has done since the store was opened. It tells what
/// `Observer` does not: a request that was sent again and then answered is one request there.
struct TransportStats {
  std::uint64_t attempts = 0;   ///< Requests that were sent or meant to be.
  std::uint64_t repeats = 0;    ///< Those of them that repeated another, for whatever reason.
  std::uint64_t throttles = 0;  ///< Replies by which the service asked to slow down.
  std::uint64_t unknown = 0;    ///< Writes that ended without anybody knowing whether they landed.
  /// How far this machine's clock is behind the service's, or ahead if negative; zero below two
  /// seconds, as replies tell no more. Signatures allow for it; windows and refills do not.
  Millis clock_behind{0};
};

}  // namespace stint

#endif  // STINT_TRANSPORT_STATS_H_
