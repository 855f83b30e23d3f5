// A seeded source of random numbers whose sequence is the same on every platform.
#ifndef STINT_BASE_RANDOM_H_
#define STINT_BASE_RANDOM_H_

#include <cstdint>
#include <string>

#include "base/component.h"

namespace stint {

/// xoshiro256** seeded by splitmix64 (Blackman and Vigna, public domain reference algorithms).
/// Not for secrets. Not thread-safe.
class STINT_COMPONENT Random {
 public:
  explicit Random(std::uint64_t seed);

  std::uint64_t next();
  /// Uniform in [0, bound), without modulo bias. Precondition: bound > 0.
  std::uint64_t below(std::uint64_t bound);
  /// Uniform in [0, 2^63): fits a stored number.
  std::int64_t next_int63() { return static_cast<std::int64_t>(next() >> 1); }
  /// `bytes` random bytes as lower-case hex digits.
  std::string hex(int bytes);

 private:
  std::uint64_t state_[4];
};

}  // namespace stint

#endif  // STINT_BASE_RANDOM_H_
