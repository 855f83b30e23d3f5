#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "tests/support/seed.h"

namespace stint::test {
namespace {

// GoogleTest takes seeds from 1 to 99,999.
constexpr std::uint32_t kMaxSeed = 99'999;

std::uint32_t choose_seed() {
  const char* given = std::getenv("STINT_TEST_SEED");
  if (given == nullptr) return std::random_device()() % kMaxSeed + 1;
  char* end = nullptr;
  const unsigned long value = std::strtoul(given, &end, 10);
  if (end == given || *end != '\0' || value < 1 || value > kMaxSeed) {
    std::fprintf(stderr, "STINT_TEST_SEED must be a number from 1 to %u, not \"%s\"\n", kMaxSeed,
                 given);
    std::exit(2);
  }
  return static_cast<std::uint32_t>(value);
}

}  // namespace

std::uint32_t seed() {
  static const std::uint32_t chosen = choose_seed();
  return chosen;
}

}  // namespace stint::test

int main(int argc, char** argv) {
  const std::uint32_t seed = stint::test::seed();
  const std::string text = std::to_string(seed);
  std::printf("seed %s (repeat with STINT_TEST_SEED=%s)\n", text.c_str(), text.c_str());

  // Death tests start this program again; the child has to make the same choices.
  setenv("STINT_TEST_SEED", text.c_str(), 1);
  // A seed that was given for the properties alone, as in RapidCheck's own advice, is kept.
  const char* given = std::getenv("RC_PARAMS");
  std::string params = given == nullptr ? "" : given;
  if (params.find("seed=") == std::string::npos && params.find("reproduce=") == std::string::npos) {
    params += (params.empty() ? "seed=" : " seed=") + text;
    setenv("RC_PARAMS", params.c_str(), 1);
  }

  GTEST_FLAG_SET(shuffle, true);
  GTEST_FLAG_SET(random_seed, static_cast<std::int32_t>(seed));
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
  if (!GTEST_FLAG_GET(list_tests) && testing::UnitTest::GetInstance()->test_to_run_count() == 0) {
    std::fprintf(stderr, "no test was run\n");
    return 1;
  }
  return result;
}
