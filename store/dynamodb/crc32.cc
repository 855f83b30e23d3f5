// The checksum of IEEE 802.3, eight bytes a step.
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "store/dynamodb/wire.h"

namespace stint::store::dynamodb {
namespace {

constexpr std::uint32_t kPolynomial = 0xedb88320;  // lowest bit first
constexpr std::size_t kStep = 8;

// [n][b]: what byte b does to the checksum with n bytes of zero after it.
constexpr std::array<std::array<std::uint32_t, 256>, kStep> kTables = [] {
  std::array<std::array<std::uint32_t, 256>, kStep> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = rest;
  }
  for (std::size_t n = 1; n < kStep; ++n) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      std::uint32_t before = tables[n - 1][byte];
      tables[n][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}();

}  // namespace

std::uint32_t crc32(std::string_view body) {
  static_assert(std::endian::native == std::endian::little, "words are read lowest byte first");
  std::uint32_t rest = ~std::uint32_t{0};
  for (; body.size() >= kStep; body.remove_prefix(kStep)) {
    std::uint64_t word = 0;
    std::memcpy(&word, body.data(), kStep);
    word ^= rest;
    rest = 0;
    for (std::size_t i = 0; i < kStep; ++i) {
      rest ^= kTables[kStep - 1 - i][(word >> (8 * i)) & 0xff];
    }
  }
  for (char c : body) {
    rest = (rest >> 8) ^ kTables[0][(rest ^ static_cast<unsigned char>(c)) & 0xff];
  }
  return ~rest;
}

}  // namespace stint::store::dynamodb
