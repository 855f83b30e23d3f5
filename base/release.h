// Versions of programs as the table's version record spells them.
#ifndef STINT_BASE_RELEASE_H_
#define STINT_BASE_RELEASE_H_

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace stint {

/// Up to four numbers with points between, and what may follow: "0.17.0", "v1.2", "0.17.1a2",
/// "0.18.0.dev3+g1a2b3c". Pre-releases come before their release, in the order dev, a, b, rc.
class Release {
 public:
  /// A leading v and a part after "+" mean nothing. Nothing for any other text.
  static std::optional<Release> parse(std::string_view text);
  constexpr Release(std::int64_t major, std::int64_t minor, std::int64_t patch)
      : numbers_{major, minor, patch, 0} {}

  std::int64_t major_number() const { return numbers_[0]; }
  /// The same without what makes it a pre-release.
  Release final_release() const {
    Release release = *this;
    release.stage_ = kFinal;
    release.stage_number_ = 0;
    release.dev_ = kNotDev;
    return release;
  }

  friend auto operator<=>(const Release&, const Release&) = default;

 private:
  enum Stage : std::uint8_t { kOnlyDev, kAlpha, kBeta, kCandidate, kFinal };
  static constexpr std::int64_t kNotDev = INT64_MAX;  // comes after all of its previews

  // In the order in which they are compared.
  std::array<std::int64_t, 4> numbers_{};
  Stage stage_ = kFinal;
  std::int64_t stage_number_ = 0;
  std::int64_t dev_ = kNotDev;
};

}  // namespace stint

#endif  // STINT_BASE_RELEASE_H_
