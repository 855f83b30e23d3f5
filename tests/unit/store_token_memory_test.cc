// Client tokens: remembered up to a bound, and forgotten when their transaction was not applied.
#include "store/embedded/token_memory.h"

#include <gtest/gtest.h>

namespace stint::store {
namespace {

using Claim = TokenMemory::Claim;

constexpr Fingerprint kThis{1, 2};
constexpr Fingerprint kAnother{3, 4};

TEST(TokenMemory, RepetitionIsToldFromOtherContents) {
  TokenMemory memory(2);
  EXPECT_EQ(memory.claim("a", kThis), Claim::kNew);
  EXPECT_EQ(memory.claim("a", kThis), Claim::kApplied);
  EXPECT_EQ(memory.claim("a", kAnother), Claim::kOther);
}

TEST(TokenMemory, OldestGivesWay) {
  TokenMemory memory(2);
  memory.claim("a", kThis);
  memory.claim("b", kThis);
  memory.claim("c", kThis);
  EXPECT_EQ(memory.claim("b", kThis), Claim::kApplied);
  EXPECT_EQ(memory.claim("a", kThis), Claim::kNew);
}

TEST(TokenMemory, TokenClaimedAgainAfterItWasForgottenLivesAsLongAsOthers) {
  TokenMemory memory(2);
  memory.claim("a", kThis);
  memory.claim("b", kThis);
  memory.forget("a");
  EXPECT_EQ(memory.claim("a", kThis), Claim::kNew);
  memory.claim("c", kThis);
  EXPECT_EQ(memory.claim("a", kThis), Claim::kApplied);
}

}  // namespace
}  // namespace stint::store
