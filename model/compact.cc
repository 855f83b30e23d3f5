#include "model/compact.h"

#include <cassert>
#include <optional>
#include <utility>

namespace stint::model {
namespace {

constexpr std::string_view kVersion = "1";
constexpr std::string_view kFieldTags = "mhDMw";  // in the order of a cron expression
constexpr std::string_view kModifierTags = "scap";

void append_fields(std::string& text, const Cron& cron) {
  for (std::size_t i = 0; i < kFieldTags.size(); ++i) {
    if (cron.is_wildcard(static_cast<int>(i))) continue;
    text += kFieldTags[i];
    text += cron.field(static_cast<int>(i));
  }
}

Error corrupt(std::string_view text, const std::string& reason) {
  // Borrows the rule of how much of a foreign value is shown.
  return Error(ErrorCode::kCorrupt,
               "schedule \"" + Error::invalid("", text, "").value() + "\": " + reason);
}

struct Entry {
  std::string fields[5] = {"*", "*", "*", "*", "*"};
  std::optional<std::int64_t> modifiers[4];  // in the order of kModifierTags

  bool has_modifier() const {
    for (const auto& modifier : modifiers) {
      if (modifier) return true;
    }
    return false;
  }
  std::string cron() const {
    std::string text = fields[0];
    for (int i = 1; i < 5; ++i) text += " " + fields[i];
    return text;
  }
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::optional<std::int64_t> parse_modifier(std::string_view digits) {
  // 16 digits hold the largest amount, and no sum of theirs overflows.
  if (digits.empty() || digits.size() > 16) return std::nullopt;
  std::int64_t number = 0;
  for (char c : digits) {
    if (!is_digit(c)) return std::nullopt;
    number = number * 10 + (c - '0');
  }
  return number;
}

Result<Entry> parse_entry(std::string_view whole, std::string_view text) {
  Entry entry;
  bool seen[9] = {};
  for (std::size_t at = 0; at < text.size();) {
    char tag = text[at++];
    std::size_t end = at;
    while (end < text.size() && (is_digit(text[end]) || text[end] == ',' || text[end] == '-' ||
                                 text[end] == '/' || text[end] == '*')) {
      ++end;
    }
    std::string_view value = text.substr(at, end - at);
    at = end;

    std::size_t field = kFieldTags.find(tag);
    std::size_t modifier = kModifierTags.find(tag);
    bool is_field = field != std::string_view::npos;
    if (!is_field && modifier == std::string_view::npos) {
      return corrupt(whole, std::string("unknown tag '") +
                                (static_cast<unsigned char>(tag) < 0x20 ? '?' : tag) + "'");
    }
    bool& seen_before = seen[is_field ? field : 5 + modifier];
    if (seen_before) return corrupt(whole, std::string("duplicate tag '") + tag + "'");
    seen_before = true;
    if (value.empty()) return corrupt(whole, std::string("no value after '") + tag + "'");
    if (is_field) {
      entry.fields[field] = value;
    } else {
      entry.modifiers[modifier] = parse_modifier(value);
      if (!entry.modifiers[modifier]) {
        return corrupt(whole, std::string("no whole number after '") + tag + "'");
      }
    }
  }
  return entry;
}

// Strips the version and cuts the rest into entries.
Result<std::vector<Entry>> parse_entries(std::string_view text) {
  std::size_t digits = 0;
  while (digits < text.size() && is_digit(text[digits])) ++digits;
  std::string_view version = text.substr(0, digits);
  if (version.empty()) return corrupt(text, "no version");
  if (version != kVersion) {
    return corrupt(text, version.find_first_not_of('0') == std::string_view::npos
                             ? "unknown version"
                             : "newer version than this program knows");
  }
  std::vector<Entry> entries;
  for (std::size_t begin = digits;;) {
    std::size_t end = text.find(';', begin);
    Result<Entry> entry = parse_entry(text, text.substr(begin, end - begin));
    if (!entry) return entry.error();
    entries.push_back(*std::move(entry));
    if (end == std::string_view::npos) return entries;
    begin = end + 1;
  }
}

Result<Cron> parse_cron(std::string_view whole, const Entry& entry) {
  Result<Cron> cron = Cron::parse(entry.cron());
  if (!cron) return corrupt(whole, cron.error().reason());
  return cron;
}

Result<LevelEntry> make_level(std::string_view whole, const Entry& entry) {
  if (!entry.has_modifier()) return corrupt(whole, "an entry without scale or parameters");
  Result<Cron> cron = parse_cron(whole, entry);
  if (!cron) return cron.error();
  const auto& [scale, capacity, amount, period] = entry.modifiers;
  if (scale && (capacity || amount || period)) {
    return corrupt(whole, "an entry with both scale and parameters");
  }
  LevelEntry::Absolute parameters;
  if (capacity) parameters.capacity = Tokens(*capacity);
  if (amount) parameters.refill_amount = Tokens(*amount);
  if (period) parameters.refill_period = std::chrono::seconds(*period);
  Result<LevelEntry> level = scale ? LevelEntry::scaled_per_mille(*std::move(cron), *scale)
                                   : LevelEntry::absolute(*std::move(cron), parameters);
  if (!level) {
    return corrupt(
        whole, level.error().field() + " " + level.error().value() + " " + level.error().reason());
  }
  return level;
}

}  // namespace

std::string encode_levels(const std::vector<LevelEntry>& entries) {
  assert(!entries.empty());
  std::string text(kVersion);
  for (const LevelEntry& entry : entries) {
    if (&entry != &entries.front()) text += ';';
    append_fields(text, entry.cron());
    if (entry.per_mille()) {
      text += 's' + std::to_string(*entry.per_mille());
      continue;
    }
    const LevelEntry::Absolute& parameters = entry.parameters();
    if (parameters.capacity) text += 'c' + std::to_string(parameters.capacity->count());
    if (parameters.refill_amount) text += 'a' + std::to_string(parameters.refill_amount->count());
    if (parameters.refill_period) text += 'p' + std::to_string(parameters.refill_period->count());
  }
  return text;
}

std::string encode_resets(const std::vector<Cron>& crons) {
  assert(!crons.empty());
  std::string text(kVersion);
  for (const Cron& cron : crons) {
    if (&cron != &crons.front()) text += ';';
    std::size_t before = text.size();
    append_fields(text, cron);
    assert(text.size() > before);
    static_cast<void>(before);
  }
  return text;
}

Result<std::vector<LevelEntry>> decode_levels(std::string_view text) {
  Result<std::vector<Entry>> entries = parse_entries(text);
  if (!entries) return entries.error();
  std::vector<LevelEntry> levels;
  for (const Entry& entry : *entries) {
    Result<LevelEntry> level = make_level(text, entry);
    if (!level) return level.error();
    levels.push_back(*std::move(level));
  }
  return levels;
}

Result<std::vector<Cron>> decode_resets(std::string_view text) {
  Result<std::vector<Entry>> entries = parse_entries(text);
  if (!entries) return entries.error();
  std::vector<Cron> crons;
  for (const Entry& entry : *entries) {
    if (entry.has_modifier()) return corrupt(text, "a reset with a scale or parameters");
    Result<Cron> cron = parse_cron(text, entry);
    if (!cron) return cron.error();
    if (cron->text() == "* * * * *") return corrupt(text, "a reset at every minute is none");
    crons.push_back(*std::move(cron));
  }
  return crons;
}

}  // namespace stint::model
