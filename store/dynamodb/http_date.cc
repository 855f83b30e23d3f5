#include "store/dynamodb/http_date.h"

#include <algorithm>
#include <chrono>

namespace stint::store::dynamodb {
namespace {

constexpr std::string_view kForm = "Day, 00 Mon 0000 00:00:00 GMT";
constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";

std::optional<int> digits(std::string_view text) {
  int number = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + (c - '0');
  }
  return number;
}

}  // namespace

std::optional<TimePoint> read_http_date(std::string_view text) {
  if (text.size() != kForm.size()) return std::nullopt;
  for (std::size_t at = 0; at < kForm.size(); ++at) {
    bool fixed = kForm[at] == ',' || kForm[at] == ' ' || kForm[at] == ':';
    if (fixed && text[at] != kForm[at]) return std::nullopt;
  }
  if (text.substr(26) != "GMT") return std::nullopt;
  std::size_t month = kMonths.find(text.substr(8, 3));
  if (month == std::string_view::npos || month % 3 != 0) return std::nullopt;
  std::optional<int> day = digits(text.substr(5, 2));
  std::optional<int> year = digits(text.substr(12, 4));
  std::optional<int> hour = digits(text.substr(17, 2));
  std::optional<int> minute = digits(text.substr(20, 2));
  std::optional<int> second = digits(text.substr(23, 2));
  if (!day || !year || !hour || !minute || !second) return std::nullopt;
  std::chrono::year_month_day date(std::chrono::year(*year),
                                   std::chrono::month(static_cast<unsigned>(month / 3 + 1)),
                                   std::chrono::day(static_cast<unsigned>(*day)));
  // A leap second is the first of the next minute.
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  return TimePoint(std::chrono::sys_days(date)) + std::chrono::hours(*hour) +
         std::chrono::minutes(*minute) + std::chrono::seconds(*second);
}

}  // namespace stint::store::dynamodb
