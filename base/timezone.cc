#include "base/timezone.h"

#include <date/tz.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace stint {

struct ZoneTable {
  struct Stretch {
    std::int64_t begin_s;
    std::int64_t offset_s;
  };
  std::string name;
  std::vector<Stretch> stretches;  // ascending; the first also holds all time before it
  const ZoneTable* next = nullptr;
};

namespace {

constexpr std::int64_t kSecondsPerDay = 86'400;
constexpr int kLastRuleYear = 2200;

// The rule that a zone file states for the time after its last transition, as POSIX writes it in
// the variable TZ: "EST5EDT,M3.2.0,M11.1.0". The date library does not read it, so that its zones
// lose daylight saving after 2037, and at once where zone files are written in the short form.
class EndlessRule {
 public:
  // Nothing when the text has no change of offset, or one that is not understood.
  static std::optional<EndlessRule> parse(std::string_view text) {
    EndlessRule rule;
    Reader reader{text};
    std::int64_t behind = 0;  // POSIX counts offsets westward
    if (!reader.skip_abbreviation() || !reader.read_time(behind)) return std::nullopt;
    rule.standard_s_ = -behind;
    if (!reader.skip_abbreviation()) return std::nullopt;
    behind -= 3600;
    if (!reader.at(',') && !reader.read_time(behind)) return std::nullopt;
    rule.daylight_s_ = -behind;
    if (!rule.begin_.read(reader) || !rule.end_.read(reader)) return std::nullopt;
    if (!reader.text.empty()) return std::nullopt;
    return rule;
  }

  // The two changes of one year, in order of time.
  std::vector<ZoneTable::Stretch> changes(int year) const {
    ZoneTable::Stretch daylight{begin_.local_s(year) - standard_s_, daylight_s_};
    ZoneTable::Stretch standard{end_.local_s(year) - daylight_s_, standard_s_};
    if (daylight.begin_s < standard.begin_s) return {daylight, standard};
    return {standard, daylight};
  }

 private:
  struct Reader {
    std::string_view text;

    bool at(char c) const { return !text.empty() && text.front() == c; }
    bool skip(char c) {
      if (!at(c)) return false;
      text.remove_prefix(1);
      return true;
    }
    bool skip_abbreviation() {
      std::size_t length = 0;
      if (at('<')) {
        length = text.find('>');
        if (length == std::string_view::npos) return false;
        ++length;
      } else {
        while (length < text.size() && is_letter(text[length])) ++length;
      }
      text.remove_prefix(length);
      return length >= 3;
    }
    bool read_number(std::int64_t& number) {
      std::size_t length = 0;
      number = 0;
      while (length < text.size() && length < 4 && text[length] >= '0' && text[length] <= '9') {
        number = number * 10 + (text[length] - '0');
        ++length;
      }
      text.remove_prefix(length);
      return length > 0;
    }
    // [+-]hours[:minutes[:seconds]]; hours may exceed a day.
    bool read_time(std::int64_t& seconds) {
      bool negative = skip('-');
      if (!negative) skip('+');
      std::int64_t unit = 3600;
      seconds = 0;
      do {
        std::int64_t number = 0;
        if (!read_number(number)) return false;
        seconds += number * unit;
        unit /= 60;
      } while (unit > 0 && skip(':'));
      if (negative) seconds = -seconds;
      return true;
    }
    static bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }
  };

  // ",M3.2.0/2", ",J60/2" or ",59/2".
  struct Day {
    enum class Form { kWeekday, kWithoutLeapDay, kWithLeapDay };
    Form form = Form::kWeekday;
    std::int64_t month = 0;
    std::int64_t week = 0;
    std::int64_t day = 0;
    std::int64_t time_s = 7200;

    bool read(Reader& reader) {
      if (!reader.skip(',')) return false;
      if (reader.skip('M')) {
        if (!reader.read_number(month) || !reader.skip('.') || !reader.read_number(week) ||
            !reader.skip('.') || !reader.read_number(day)) {
          return false;
        }
        if (month < 1 || month > 12 || week < 1 || week > 5 || day > 6) return false;
      } else {
        form = reader.skip('J') ? Form::kWithoutLeapDay : Form::kWithLeapDay;
        if (!reader.read_number(day) || day > 365) return false;
      }
      return !reader.skip('/') || reader.read_time(time_s);
    }

    std::int64_t local_s(int year) const {
      date::year y(year);
      date::local_days local{y / date::January / 1};
      if (form == Form::kWithLeapDay) {
        local += date::days(day);
      } else if (form == Form::kWithoutLeapDay) {
        local += date::days(day - 1 + (y.is_leap() && day >= 60 ? 1 : 0));
      } else {
        date::month m(static_cast<unsigned>(month));
        date::weekday weekday(static_cast<unsigned>(day));
        if (week == 5) {
          local = date::local_days{y / m / weekday[date::last]};
        } else {
          local = date::local_days{y / m / weekday[static_cast<unsigned>(week)]};
        }
      }
      return local.time_since_epoch().count() * kSecondsPerDay + time_s;
    }
  };

  std::int64_t standard_s_ = 0;
  std::int64_t daylight_s_ = 0;
  Day begin_;
  Day end_;
};

// The last line of a zone file (RFC 8536, section 3.3). Nothing when there is none.
std::optional<std::string> read_footer(const std::string& name) {
  std::string path = "/usr/share/zoneinfo/" + name;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                       &std::fclose);
  if (file == nullptr) return std::nullopt;
  std::string content;
  char buffer[4096];
  while (std::size_t count = std::fread(buffer, 1, sizeof buffer, file.get())) {
    content.append(buffer, count);
  }
  if (content.size() < 44 || content.compare(0, 4, "TZif") != 0 || content[4] < '2') {
    return std::nullopt;
  }
  if (content.back() != '\n') return std::nullopt;
  content.pop_back();
  std::size_t line = content.rfind('\n');
  if (line == std::string::npos) return std::nullopt;
  return content.substr(line + 1);
}

void append(std::vector<ZoneTable::Stretch>& stretches, ZoneTable::Stretch stretch) {
  // A change of abbreviation alone is none here.
  if (!stretches.empty() && stretches.back().offset_s == stretch.offset_s) return;
  stretches.push_back(stretch);
}

void extend_by_rule(std::vector<ZoneTable::Stretch>& stretches, std::int64_t after_s,
                    const EndlessRule& rule) {
  date::sys_seconds after{std::chrono::seconds(after_s)};
  int year = static_cast<int>(date::year_month_day(date::floor<date::days>(after)).year());
  for (; year <= kLastRuleYear; ++year) {
    for (const ZoneTable::Stretch& change : rule.changes(year)) {
      if (change.begin_s > after_s) append(stretches, change);
    }
  }
}

std::vector<ZoneTable::Stretch> read_stretches(const date::time_zone& zone) {
  constexpr date::sys_seconds kEarliest{date::sys_days{date::year(1700) / 1 / 1}};
  constexpr date::sys_seconds kLatest{date::sys_days{date::year(9999) / 1 / 1}};
  std::vector<ZoneTable::Stretch> stretches;
  std::int64_t last_change_s = kEarliest.time_since_epoch().count();
  for (date::sys_seconds at = kEarliest; at < kLatest;) {
    date::sys_info info = zone.get_info(at);
    append(stretches, {at.time_since_epoch().count(), info.offset.count()});
    last_change_s = at.time_since_epoch().count();
    if (info.end <= at) break;
    at = info.end;
  }
  if (std::optional<std::string> footer = read_footer(zone.name())) {
    if (std::optional<EndlessRule> rule = EndlessRule::parse(*footer)) {
      extend_by_rule(stretches, last_change_s, *rule);
    }
  }
  return stretches;
}

Result<std::unique_ptr<ZoneTable>> load(std::string_view name) {
  auto table = std::make_unique<ZoneTable>();
  table->name = name;
  if (name == "UTC") {
    table->stretches.push_back({0, 0});
    return table;
  }
  Error unknown = Error::invalid("zone", name, "no such time zone");
  // The first counts leap seconds, which no other clock here does; the second is another zone on
  // each machine, so that machines which share a store would disagree.
  if (name.substr(0, 6) == "right/" || name == "localtime") return unknown;
  try {
    date::get_tzdb();
  } catch (const std::exception&) {
    return Error(ErrorCode::kUnavailable, "this machine has no time zone data (package tzdata)");
  }
  try {
    table->stretches = read_stretches(*date::locate_zone(name));
  } catch (const std::exception&) {
    return unknown;
  }
  return table;
}

// Zones in use, newest first. Never shrinks: handles point into it.
constinit std::atomic<const ZoneTable*> loaded_zones{nullptr};

const ZoneTable* look_up(const ZoneTable* zone, std::string_view name) {
  while (zone != nullptr && zone->name != name) zone = zone->next;
  return zone;
}

const ZoneTable* publish(std::unique_ptr<ZoneTable> table) {
  table->next = loaded_zones.load(std::memory_order_acquire);
  for (;;) {
    // Another thread may have loaded the same zone; handles compare by address.
    if (const ZoneTable* other = look_up(table->next, table->name)) return other;
    if (loaded_zones.compare_exchange_weak(table->next, table.get(), std::memory_order_acq_rel,
                                           std::memory_order_acquire)) {
      return table.release();
    }
  }
}

}  // namespace

Result<TimeZone> TimeZone::find(std::string_view name) {
  const ZoneTable* zone = look_up(loaded_zones.load(std::memory_order_acquire), name);
  if (zone == nullptr) {
    Result<std::unique_ptr<ZoneTable>> table = load(name);
    if (!table) return table.error();
    zone = publish(std::move(*table));
  }
  return TimeZone(zone);
}

const std::string& TimeZone::name() const { return zone_->name; }

TimeZone::Period TimeZone::period_at(TimePoint utc) const {
  const auto& stretches = zone_->stretches;
  std::int64_t utc_s = std::chrono::floor<std::chrono::seconds>(utc).time_since_epoch().count();
  auto after = std::upper_bound(
      stretches.begin() + 1, stretches.end(), utc_s,
      [](std::int64_t at, const ZoneTable::Stretch& stretch) { return at < stretch.begin_s; });
  auto holder = after - 1;
  Period period;
  period.begin = holder == stretches.begin() ? TimePoint(TimePoint::min().time_since_epoch() / 2)
                                             : TimePoint(std::chrono::seconds(holder->begin_s));
  period.end = after == stretches.end() ? TimePoint(TimePoint::max().time_since_epoch() / 2)
                                        : TimePoint(std::chrono::seconds(after->begin_s));
  period.offset = std::chrono::seconds(holder->offset_s);
  return period;
}

}  // namespace stint
