#include "store/number_text.h"

#include <charconv>
#include <string>

namespace stint::store {
namespace {

constexpr int kMaxSignificantDigits = 38;
constexpr std::int64_t kMaxExponent = 126;
constexpr std::int64_t kMinExponent = -130;
// Longer texts cannot be within the bounds unless they are padded with zeros.
constexpr std::size_t kMaxTextBytes = 256;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A number as sign * 0.DIGITS * 10^exponent, without leading or trailing zeros among the digits.
struct Parts {
  bool negative = false;
  std::string digits;  // empty: zero
  std::int64_t exponent = 0;
};

std::optional<Parts> parse(std::string_view text) {
  if (text.size() > kMaxTextBytes) return std::nullopt;
  Parts parts;
  std::size_t at = 0;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) parts.negative = text[at++] == '-';
  bool any_digit = false;
  std::int64_t point = 0;  // digits before the decimal point, leading zeros left out
  for (; at < text.size() && is_digit(text[at]); ++at) {
    any_digit = true;
    if (parts.digits.empty() && text[at] == '0') continue;
    parts.digits += text[at];
    ++point;
  }
  if (at < text.size() && text[at] == '.') {
    for (++at; at < text.size() && is_digit(text[at]); ++at) {
      any_digit = true;
      if (parts.digits.empty() && text[at] == '0') {
        --point;
        continue;
      }
      parts.digits += text[at];
    }
  }
  if (!any_digit) return std::nullopt;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && text[at] == '+') {
      ++at;
      if (at < text.size() && text[at] == '-') return std::nullopt;
    }
    int exponent = 0;
    const char* end = text.data() + text.size();
    auto [stop, error] = std::from_chars(text.data() + at, end, exponent);
    if (error != std::errc() || stop != end) return std::nullopt;
    point += exponent;
    at = text.size();
  }
  if (at != text.size()) return std::nullopt;
  while (!parts.digits.empty() && parts.digits.back() == '0') parts.digits.pop_back();
  if (parts.digits.empty()) return Parts();
  parts.exponent = point;
  return parts;
}

}  // namespace

bool is_number_text(std::string_view text) {
  std::optional<Parts> parts = parse(text);
  if (!parts) return false;
  if (parts->digits.empty()) return true;
  return parts->digits.size() <= kMaxSignificantDigits && parts->exponent <= kMaxExponent &&
         parts->exponent > kMinExponent;
}

std::optional<std::int64_t> canonical_integer(std::string_view text) {
  std::string_view digits = text;
  if (!digits.empty() && digits[0] == '-') digits.remove_prefix(1);
  if (digits.empty() || !is_digit(digits[0])) return std::nullopt;
  if (digits[0] == '0' && text.size() != 1) return std::nullopt;
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::strong_ordering compare_numbers(std::string_view a_text, std::string_view b_text) {
  Parts a = parse(a_text).value_or(Parts());
  Parts b = parse(b_text).value_or(Parts());
  auto sign = [](const Parts& p) { return p.digits.empty() ? 0 : p.negative ? -1 : 1; };
  if (sign(a) != sign(b)) return sign(a) <=> sign(b);
  if (sign(a) == 0) return std::strong_ordering::equal;
  std::strong_ordering magnitude =
      a.exponent != b.exponent ? a.exponent <=> b.exponent : a.digits <=> b.digits;
  return a.negative ? 0 <=> magnitude : magnitude;
}

int number_text_size_bytes(std::string_view text) {
  Parts parts = parse(text).value_or(Parts());
  if (parts.digits.empty()) return 1;
  return 1 + static_cast<int>((parts.digits.size() + 1) / 2) + (parts.negative ? 1 : 0);
}

}  // namespace stint::store
