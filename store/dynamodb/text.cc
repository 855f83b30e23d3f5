#include "store/dynamodb/text.h"

#include <algorithm>
#include <chrono>

namespace stint::store::dynamodb {
namespace {

constexpr std::string_view kWhite = " \t\r\n\v\f";

/// Takes `width` digits off the front.
std::optional<int> take_number(std::string_view& text, std::size_t width) {
  if (text.size() < width) return std::nullopt;
  int value = 0;
  for (char c : text.substr(0, width)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(width);
  return value;
}

bool take(std::string_view& text, std::string_view expected) {
  if (text.empty() || expected.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

/// The offset from UTC at the end of an instant.
std::optional<std::chrono::minutes> read_offset(std::string_view text) {
  if (text == "Z" || text == "z") return std::chrono::minutes(0);
  if (text.empty() || (text.front() != '+' && text.front() != '-')) return std::nullopt;
  int sign = text.front() == '-' ? -1 : 1;
  text.remove_prefix(1);
  std::optional<int> hours = take_number(text, 2);
  take(text, ":");
  std::optional<int> minutes = take_number(text, 2);
  if (!hours || !minutes || !text.empty() || *hours > 23 || *minutes > 59) return std::nullopt;
  return std::chrono::minutes(sign * (*hours * 60 + *minutes));
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  std::size_t start = std::min(text.find_first_not_of(kWhite), text.size());
  text.remove_prefix(start);
  text.remove_suffix(text.size() - (text.find_last_not_of(kWhite) + 1));
  return text;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

bool is_header_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

bool is_key_text(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

bool is_true(std::string_view text) { return lower_case(text) == "true"; }

std::optional<TimePoint> read_instant(std::string_view text) {
  std::optional<int> year = take_number(text, 4);
  if (!year || !take(text, "-")) return std::nullopt;
  std::optional<int> month = take_number(text, 2);
  if (!month || !take(text, "-")) return std::nullopt;
  std::optional<int> day = take_number(text, 2);
  if (!day || !take(text, "Tt ")) return std::nullopt;
  std::optional<int> hour = take_number(text, 2);
  if (!hour || !take(text, ":")) return std::nullopt;
  std::optional<int> minute = take_number(text, 2);
  if (!minute || !take(text, ":")) return std::nullopt;
  std::optional<int> second = take_number(text, 2);
  if (!second || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  if (take(text, ".")) {
    // An instant of expiry may be taken a little early.
    std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits == 0) return std::nullopt;
    text.remove_prefix(digits);
  }
  std::optional<std::chrono::minutes> offset = read_offset(text);
  std::chrono::year_month_day date(std::chrono::year(*year),
                                   std::chrono::month(static_cast<unsigned>(*month)),
                                   std::chrono::day(static_cast<unsigned>(*day)));
  if (!offset || !date.ok()) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
         std::chrono::seconds(*second) - *offset;
}

}  // namespace stint::store::dynamodb
