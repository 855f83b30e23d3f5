// The seed of the running test program.
#ifndef STINT_TESTS_SUPPORT_SEED_H_
#define STINT_TESTS_SUPPORT_SEED_H_

#include <cstdint>

namespace stint::test {

/// The number that decides the order of the tests and all their random values: the environment's
/// STINT_TEST_SEED, else a fresh one. Printed at the start of every run.
std::uint32_t seed();

}  // namespace stint::test

#endif  // STINT_TESTS_SUPPORT_SEED_H_
