#include "base/release.h"

#include <cstddef>

namespace stint {
namespace {

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::optional<std::int64_t> take_number(std::string_view& text) {
  constexpr std::size_t kMostDigits = 18;  // cannot overflow
  std::int64_t number = 0;
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
    if (digits == kMostDigits) return std::nullopt;
    number = number * 10 + (text[digits++] - '0');
  }
  if (digits == 0) return std::nullopt;
  text.remove_prefix(digits);
  return number;
}

}  // namespace

std::optional<Release> Release::parse(std::string_view text) {
  text = text.substr(0, text.find('+'));
  take(text, "v");
  Release release(0, 0, 0);
  std::size_t count = 0;
  do {
    std::optional<std::int64_t> number = take_number(text);
    if (!number || count == release.numbers_.size()) return std::nullopt;
    release.numbers_[count++] = *number;
  } while (text.size() > 1 && text[1] >= '0' && text[1] <= '9' && take(text, "."));
  struct Spelling {
    std::string_view text;
    Stage stage;
  };
  for (const Spelling& spelling :
       {Spelling{"rc", kCandidate}, Spelling{"a", kAlpha}, Spelling{"b", kBeta}}) {
    if (!take(text, spelling.text)) continue;
    std::optional<std::int64_t> number = take_number(text);
    if (!number) return std::nullopt;
    release.stage_ = spelling.stage;
    release.stage_number_ = *number;
    break;
  }
  if (take(text, ".dev")) {
    std::optional<std::int64_t> number = take_number(text);
    if (!number) return std::nullopt;
    if (release.stage_ == kFinal) release.stage_ = kOnlyDev;
    release.dev_ = *number;
  }
  if (!text.empty()) return std::nullopt;
  return release;
}

}  // namespace stint
