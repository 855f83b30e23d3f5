// 128-bit intermediate products (decision 11: balances are 64-bit, products 128-bit).
#ifndef STINT_BASE_WIDE_H_
#define STINT_BASE_WIDE_H_

#include <cstdint>
#include <limits>

namespace stint {

__extension__ typedef __int128 Int128;

/// Cuts a wide value to the range of a stored number instead of wrapping.
constexpr std::int64_t saturate(Int128 value) {
  if (value > std::numeric_limits<std::int64_t>::max()) {
    return std::numeric_limits<std::int64_t>::max();
  }
  if (value < std::numeric_limits<std::int64_t>::min()) {
    return std::numeric_limits<std::int64_t>::min();
  }
  return static_cast<std::int64_t>(value);
}

/// Rounds up. Preconditions: numerator >= 0, denominator > 0.
constexpr Int128 divide_up(Int128 numerator, Int128 denominator) {
  return (numerator + denominator - 1) / denominator;
}

}  // namespace stint

#endif  // STINT_BASE_WIDE_H_
