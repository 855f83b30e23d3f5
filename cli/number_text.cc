#include "cli/number_text.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace stint::cli {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Digits with single underscores between them. Nothing when the text is anything else; a number
// that does not fit becomes one above every limit.
std::optional<std::int64_t> read_whole(std::string_view text) {
  constexpr std::int64_t kTooLarge = kMaxTokens + 1;
  if (text.empty() || !is_digit(text.front()) || !is_digit(text.back())) return std::nullopt;
  std::int64_t number = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '_') {
      if (text[i - 1] == '_') return std::nullopt;
      continue;
    }
    if (!is_digit(text[i])) return std::nullopt;
    if (number < kTooLarge) number = number * 10 + (text[i] - '0');
    if (number > kTooLarge) number = kTooLarge;
  }
  return number;
}

Error too_large(std::string_view field, std::string_view text) {
  return Error::invalid(std::string(field), text, "must be at most " + std::to_string(kMaxTokens));
}

struct Unit {
  std::string_view name;
  std::int64_t seconds;
};

// The first name of each length is the one that is printed.
constexpr std::array<Unit, 10> kUnits{{{"s", 1},
                                       {"sec", 1},
                                       {"min", 60},
                                       {"m", 60},
                                       {"h", 3600},
                                       {"hour", 3600},
                                       {"d", 86'400},
                                       {"day", 86'400},
                                       {"w", 604'800},
                                       {"week", 604'800}}};

const Unit* find_unit(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

constexpr std::string_view kDurationForm =
    "must be whole numbers with units (s, min, h, d, w), such as 90s, 5h or 1h30min";

// Weeks are read but not printed: nobody writes a session of one week and expects "1w" rather
// than "7d" when days are the common unit.
const Unit& largest_printed_unit(std::int64_t seconds) {
  const Unit* best = &kUnits[0];
  for (std::string_view name : {"min", "h", "d"}) {
    const Unit* unit = find_unit(name);
    if (seconds % unit->seconds == 0) best = unit;
  }
  return *best;
}

}  // namespace

Result<Tokens> parse_tokens(std::string_view field, std::string_view text) {
  std::optional<std::int64_t> number = read_whole(text);
  if (!number) {
    return Error::invalid(std::string(field), text,
                          "must be a whole number, such as 500 or 1_000_000");
  }
  if (*number > kMaxTokens) return too_large(field, text);
  return Tokens(*number);
}

Result<MilliTokens> parse_amount(std::string_view field, std::string_view text) {
  std::size_t point = text.find('.');
  std::optional<std::int64_t> whole = read_whole(text.substr(0, point));
  std::int64_t thousandths = 0;
  bool well_formed = whole.has_value();
  if (well_formed && point != std::string_view::npos) {
    std::string_view fraction = text.substr(point + 1);
    well_formed = !fraction.empty() && fraction.size() <= 3;
    std::int64_t weight = 100;
    for (char c : fraction) {
      if (!is_digit(c)) well_formed = false;
      if (!well_formed) break;
      thousandths += weight * (c - '0');
      weight /= 10;
    }
  }
  if (!well_formed) {
    return Error::invalid(std::string(field), text,
                          "must be a number of at least 0 with at most three digits after the "
                          "point, such as 500, 1_000 or 1.5");
  }
  if (*whole > kMaxTokens || (*whole == kMaxTokens && thousandths > 0)) {
    return too_large(field, text);
  }
  return MilliTokens(*whole * 1000 + thousandths);
}

Result<std::chrono::seconds> parse_duration(std::string_view field, std::string_view text) {
  constexpr std::int64_t kLongest = 1'000'000'000;  // rules 3.9
  Error malformed = Error::invalid(std::string(field), text, std::string(kDurationForm));
  Error too_long = Error::invalid(std::string(field), text,
                                  "must be at most " + std::to_string(kLongest) + " seconds");
  if (text.empty()) return malformed;
  std::int64_t total = 0;
  for (std::string_view rest = text; !rest.empty();) {
    std::size_t digits = 0;
    while (digits < rest.size() && (is_digit(rest[digits]) || rest[digits] == '_')) ++digits;
    std::size_t end = digits;
    while (end < rest.size() && rest[end] >= 'a' && rest[end] <= 'z') ++end;
    std::optional<std::int64_t> count = read_whole(rest.substr(0, digits));
    const Unit* unit = find_unit(rest.substr(digits, end - digits));
    if (!count || unit == nullptr) return malformed;
    if (*count > kLongest / unit->seconds) return too_long;
    total += *count * unit->seconds;
    if (total > kLongest) return too_long;
    rest.remove_prefix(end);
  }
  return std::chrono::seconds(total);
}

Result<std::chrono::seconds> parse_period(std::string_view field, std::string_view text) {
  if (const Unit* unit = find_unit(text)) return std::chrono::seconds(unit->seconds);
  return parse_duration(field, text);
}

std::string format_amount(MilliTokens amount) {
  bool negative = amount.count() < 0;
  // Unsigned, so that the least value has a magnitude.
  std::uint64_t magnitude = static_cast<std::uint64_t>(amount.count());
  if (negative) magnitude = ~magnitude + 1;
  std::string text = (negative ? "-" : "") + std::to_string(magnitude / 1000);
  if (std::uint64_t fraction = magnitude % 1000; fraction != 0) {
    std::string digits = std::to_string(1000 + fraction).substr(1);
    digits.resize(digits.find_last_not_of('0') + 1);
    text += "." + digits;
  }
  return text;
}

std::string format_amount_grouped(MilliTokens amount) {
  std::string text = format_amount(amount);
  std::size_t first = text.front() == '-' ? 1 : 0;
  std::size_t end = std::min(text.find('.'), text.size());
  while (end > first + 3) {
    end -= 3;
    text.insert(end, 1, ',');
  }
  return text;
}

std::string format_duration(std::chrono::seconds duration) {
  const Unit& unit = largest_printed_unit(duration.count());
  return std::to_string(duration.count() / unit.seconds) + std::string(unit.name);
}

std::string format_period(std::chrono::seconds period) {
  const Unit& unit = largest_printed_unit(period.count());
  if (period.count() == unit.seconds) return std::string(unit.name);
  return format_duration(period);
}

}  // namespace stint::cli
