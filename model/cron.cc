#include <algorithm>
#include <array>
#include <bitset>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stint/limit.h"

namespace stint {
namespace {

constexpr int kWeekdayField = 4;

struct FieldRule {
  const char* name;
  int low;
  int high;
  std::string_view value_names;  // three letters each, the first for `first_named`
  int first_named;
};

constexpr FieldRule kFieldRules[] = {
    {"minute", 0, 59, "", 0},
    {"hour", 0, 23, "", 0},
    {"day of month", 1, 31, "", 0},
    {"month", 1, 12, "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC", 1},
    {"day of week", 0, 7, "SUNMONTUEWEDTHUFRISAT", 0},
};

constexpr int kLongestMonth[] = {0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

std::vector<std::string_view> split_fields(std::string_view text) {
  std::vector<std::string_view> fields;
  std::size_t at = 0;
  while (at < text.size()) {
    if (is_space(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && !is_space(text[end])) ++end;
    fields.push_back(text.substr(at, end - at));
    at = end;
  }
  return fields;
}

std::string upper_case(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return upper;
}

// Reads one field, collecting its values and its text with names replaced.
class FieldParser {
 public:
  FieldParser(const FieldRule& rule, bool weekday) : rule_(rule), weekday_(weekday) {}

  // What is wrong, or nothing.
  std::optional<std::string> parse(std::string_view text) {
    for (std::size_t begin = 0;;) {
      std::size_t end = text.find(',', begin);
      if (auto wrong = parse_item(text.substr(begin, end - begin))) return wrong;
      if (end == std::string_view::npos) return std::nullopt;
      text_ += ',';
      begin = end + 1;
    }
  }

  const std::bitset<60>& values() const { return values_; }
  std::string take_text() { return std::move(text_); }

 private:
  struct Value {
    int number = 0;
    std::string text;
    bool named = false;
  };

  std::optional<std::string> parse_item(std::string_view item) {
    std::size_t slash = item.find('/');
    std::string_view base = item.substr(0, slash);
    bool stepped = slash != std::string_view::npos;
    int step = 1;
    std::string step_text;
    if (stepped) {
      step_text = item.substr(slash);
      std::optional<int> number = parse_number(item.substr(slash + 1));
      if (!number) return "\"" + std::string(item) + "\" has no whole number as its step";
      if (*number == 0) return "\"" + std::string(item) + "\" has the step 0";
      step = *number;
    }

    int low = rule_.low;
    int high = rule_.high;
    if (base == "*") {
      text_ += '*';
    } else {
      std::size_t dash = base.find('-');
      Value first;
      if (auto wrong = parse_value(base.substr(0, dash), first)) return wrong;
      low = first.number;
      if (dash != std::string_view::npos) {
        Value last;
        if (auto wrong = parse_value(base.substr(dash + 1), last)) return wrong;
        high = last.number;
        if (low > high) return "the range \"" + std::string(base) + "\" runs backward";
        text_ += first.text + "-" + last.text;
      } else {
        if (!stepped) high = low;
        // The other package writes a lone Sunday as 7, and 0 wherever it begins something.
        text_ += weekday_ && first.named && first.number == 0 && !stepped ? "7" : first.text;
      }
    }
    text_ += step_text;
    for (int value = low; value <= high; value += step) {
      values_.set(static_cast<std::size_t>(weekday_ ? value % 7 : value));
    }
    return std::nullopt;
  }

  std::optional<std::string> parse_value(std::string_view text, Value& value) {
    std::optional<int> number = parse_number(text);
    if (!number && text.size() == 3) {
      for (std::size_t at = 0; at < rule_.value_names.size(); at += 3) {
        if (rule_.value_names.substr(at, 3) == text) {
          value.number = rule_.first_named + static_cast<int>(at / 3);
          value.text = std::to_string(value.number);
          value.named = true;
          return std::nullopt;
        }
      }
    }
    if (!number) return "\"" + std::string(text) + "\" is not understood";
    if (*number < rule_.low || *number > rule_.high) {
      return std::string(text) + " is not in " + std::to_string(rule_.low) + " to " +
             std::to_string(rule_.high);
    }
    value.number = *number;
    value.text = text;
    return std::nullopt;
  }

  // Up to nine digits: more mean nothing in any field.
  static std::optional<int> parse_number(std::string_view text) {
    if (text.empty() || text.size() > 9) return std::nullopt;
    int number = 0;
    for (char c : text) {
      if (c < '0' || c > '9') return std::nullopt;
      number = number * 10 + (c - '0');
    }
    return number;
  }

  const FieldRule& rule_;
  bool weekday_;
  std::bitset<60> values_;
  std::string text_;
};

template <std::size_t N>
std::bitset<N> narrow(const std::bitset<60>& values) {
  return std::bitset<N>(values.to_ullong());
}

}  // namespace

Result<Cron> Cron::parse(std::string_view text) {
  auto refuse = [&](std::string reason) { return Error::invalid("cron", text, std::move(reason)); };
  std::vector<std::string_view> fields = split_fields(text);
  if (fields.size() != 5) {
    return refuse("must have five fields (minute, hour, day of month, month, day of week), not " +
                  std::to_string(fields.size()));
  }
  Cron cron;
  std::array<std::bitset<60>, 5> values;
  for (std::size_t i = 0; i < 5; ++i) {
    FieldParser parser(kFieldRules[i], i == kWeekdayField);
    if (auto wrong = parser.parse(upper_case(fields[i]))) {
      return refuse(std::string(kFieldRules[i].name) + ": " + *wrong);
    }
    values[i] = parser.values();
    cron.fields_[i] = parser.take_text();
  }
  cron.minutes_ = values[0];
  cron.hours_ = narrow<24>(values[1]);
  cron.days_of_month_ = narrow<32>(values[2]);
  cron.months_ = narrow<13>(values[3]);
  cron.weekdays_ = narrow<7>(values[4]);
  cron.both_days_ = fields[2].front() == '*' || fields[4].front() == '*';

  std::size_t earliest_day = 1;
  while (!cron.days_of_month_[earliest_day]) ++earliest_day;
  int longest_month = 0;
  for (std::size_t month = 1; month <= 12; ++month) {
    if (cron.months_[month]) longest_month = std::max(longest_month, kLongestMonth[month]);
  }
  if (static_cast<int>(earliest_day) > longest_month) {
    return refuse("day of month: no month that is named has a day " + std::to_string(earliest_day));
  }
  return cron;
}

std::string Cron::text() const {
  std::string text = fields_[0];
  for (std::size_t i = 1; i < fields_.size(); ++i) text += " " + fields_[i];
  return text;
}

}  // namespace stint
