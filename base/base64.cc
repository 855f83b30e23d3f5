#include "base/base64.h"

#include <array>
#include <cstdint>

namespace stint {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNoDigit = 64;

constexpr std::array<std::uint8_t, 256> kValues = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (std::size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}();

std::uint32_t byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

}  // namespace

void append_base64(std::string& out, std::string_view bytes) {
  auto put = [&out](std::uint32_t group, int digits) {
    for (int i = 0; i < digits; ++i) out += kDigits[(group >> (18 - 6 * i)) & 63];
    out.append(static_cast<std::size_t>(4 - digits), '=');
  };
  std::size_t at = 0;
  for (; at + 3 <= bytes.size(); at += 3) {
    put(byte_at(bytes, at) << 16 | byte_at(bytes, at + 1) << 8 | byte_at(bytes, at + 2), 4);
  }
  if (bytes.size() - at == 2) put(byte_at(bytes, at) << 16 | byte_at(bytes, at + 1) << 8, 3);
  if (bytes.size() - at == 1) put(byte_at(bytes, at) << 16, 2);
}

std::optional<std::string> parse_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t digits = text.size();
  for (int i = 0; i < 2 && digits > 0 && text[digits - 1] == '='; ++i) --digits;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  int held = 0;
  for (char c : text.substr(0, digits)) {
    std::uint8_t value = kValues[static_cast<unsigned char>(c)];
    if (value == kNoDigit) return std::nullopt;
    bits = (bits << 6 | value) & 0xffff;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held);
  }
  if ((bits & ((1u << held) - 1)) != 0) return std::nullopt;
  return bytes;
}

}  // namespace stint
