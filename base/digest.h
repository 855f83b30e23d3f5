// A digest of bytes that may be stored: it stays the same in every version.
#ifndef STINT_BASE_DIGEST_H_
#define STINT_BASE_DIGEST_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace stint {

/// Tells by accident different texts apart (FNV-1a, 64 bits); no protection against intent.
class Digest {
 public:
  void add(std::string_view bytes) {
    for (char c : bytes) value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  /// 16 hexadecimal digits.
  std::string text() const {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string digits;
    for (int shift = 60; shift >= 0; shift -= 4) digits += kDigits[value_ >> shift & 15];
    return digits;
  }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

}  // namespace stint

#endif  // STINT_BASE_DIGEST_H_
