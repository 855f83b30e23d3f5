// Amounts with their unit in the type.
#ifndef STINT_AMOUNT_H_
#define STINT_AMOUNT_H_

#include <compare>
#include <concepts>
#include <cstdint>

namespace stint {

/// Integers that count something: not truth values, not characters.
template <typename T>
concept WholeNumber = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char>;

/// Whole tokens: the unit of configuration.
class Tokens {
 public:
  constexpr Tokens() = default;
  template <WholeNumber Integer>
  constexpr Tokens(Integer count)  // NOLINT: implicit by design
      : count_(static_cast<std::int64_t>(count)) {}
  constexpr std::int64_t count() const { return count_; }
  friend constexpr auto operator<=>(Tokens, Tokens) = default;

 private:
  std::int64_t count_ = 0;
};

/// Thousandths of a token: the unit of balances and of every computation.
class MilliTokens {
 public:
  constexpr MilliTokens() = default;
  constexpr explicit MilliTokens(std::int64_t count) : count_(count) {}
  constexpr std::int64_t count() const { return count_; }
  /// Whole tokens, rounded down (towards minus infinity), so that what is shown can be spent.
  constexpr std::int64_t whole_tokens() const {
    return count_ / 1000 - ((count_ % 1000) < 0 ? 1 : 0);
  }
  friend constexpr auto operator<=>(MilliTokens, MilliTokens) = default;

 private:
  std::int64_t count_ = 0;
};

/// No amount, balance or capacity exceeds this many whole tokens.
inline constexpr std::int64_t kMaxTokens = 9'000'000'000'000'000;
/// Configured amounts are at most this many whole tokens.
inline constexpr std::int64_t kMaxConfiguredTokens = 1'000'000'000'000'000;

/// What a call asks for: made from a whole number (tokens), `Tokens` or `MilliTokens`.
/// An amount beyond `kMaxTokens` is kept as out of range and refused by the call that receives it.
class Amount {
 public:
  constexpr Amount() = default;
  template <WholeNumber Integer>
  constexpr Amount(Integer tokens) {  // NOLINT: implicit by design
    if constexpr (std::unsigned_integral<Integer>) {
      set(tokens > static_cast<std::uint64_t>(kMaxTokens) ? kMaxTokens + 1
                                                          : static_cast<std::int64_t>(tokens));
    } else {
      set(static_cast<std::int64_t>(tokens));
    }
  }
  constexpr Amount(Tokens tokens) { set(tokens.count()); }  // NOLINT: implicit by design
  constexpr Amount(MilliTokens milli)                       // NOLINT: implicit by design
      : milli_(milli.count()),
        in_range_(milli.count() <= kMaxTokens * 1000 && milli.count() >= -kMaxTokens * 1000) {}

  constexpr MilliTokens milli() const { return MilliTokens(milli_); }
  constexpr bool in_range() const { return in_range_; }
  friend constexpr bool operator==(Amount, Amount) = default;

 private:
  constexpr void set(std::int64_t tokens) {
    in_range_ = tokens <= kMaxTokens && tokens >= -kMaxTokens;
    milli_ = in_range_ ? tokens * 1000 : 0;
  }

  std::int64_t milli_ = 0;
  bool in_range_ = true;
};

}  // namespace stint

#endif  // STINT_AMOUNT_H_
