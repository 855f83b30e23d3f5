#include "base/hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace stint {
namespace {

TEST(HashBytes, EqualTextsHashEqually) {
  std::string a = "a key that is longer than two words";
  std::string b = a;
  EXPECT_EQ(hash_bytes(a), hash_bytes(b));
  EXPECT_EQ(hash_bytes(a, 7), hash_bytes(b, 7));
}

TEST(HashBytes, SeedLengthAndEveryByteCount) {
  EXPECT_NE(hash_bytes("key", 1), hash_bytes("key", 2));
  // Texts that a hash of padded words would confuse.
  EXPECT_NE(hash_bytes(std::string("ab")), hash_bytes(std::string("ab\0", 3)));
  EXPECT_NE(hash_bytes(""), hash_bytes(std::string(8, '\0')));
  std::string text(40, 'x');
  std::set<std::uint64_t> hashes{hash_bytes(text)};
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string other = text;
      other[i] = static_cast<char>(other[i] ^ (1 << bit));
      EXPECT_TRUE(hashes.insert(hash_bytes(other)).second) << "byte " << i << " bit " << bit;
    }
  }
}

TEST(HashBytes, LowBitsSpread) {
  int counts[16] = {};
  for (int i = 0; i < 16'000; ++i) ++counts[hash_bytes("entity-" + std::to_string(i)) % 16];
  for (int count : counts) {
    EXPECT_GT(count, 800);
    EXPECT_LT(count, 1200);
  }
}

}  // namespace
}  // namespace stint
