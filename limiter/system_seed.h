// Random numbers from the system, to seed others with.
#ifndef STINT_LIMITER_SYSTEM_SEED_H_
#define STINT_LIMITER_SYSTEM_SEED_H_

#include <cstdint>
#include <random>

namespace stint::limiter {

inline std::uint64_t system_seed() {
  std::random_device device;
  return static_cast<std::uint64_t>(device()) << 32 | device();
}

}  // namespace stint::limiter

#endif  // STINT_LIMITER_SYSTEM_SEED_H_
