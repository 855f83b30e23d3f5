#include "cli/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/wide.h"
#include "cli/instant.h"
#include "cli/limit_grammar.h"
#include "cli/number_text.h"

namespace stint::cli {
namespace {

constexpr int kBarWidth = 20;

// Characters of a text in UTF-8.
std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

Colour colour_of(const LimitStatus& status) {
  if (status.exceeded || status.remaining.count() <= 0) return Colour::kRed;
  // Below a fifth; divided, so that the product cannot overflow.
  if (status.remaining.count() < status.capacity.count() / 5) return Colour::kYellow;
  return Colour::kGreen;
}

std::string describe_period(std::chrono::seconds period) {
  switch (period.count()) {
    case 1: return "second";
    case 60: return "minute";
    case 3600: return "hour";
    case 86'400: return "day";
    default: return format_wait(period);
  }
}

std::string format_rate(MilliTokens amount, Millis period) {
  std::string every;
  if (period.count() % 1000 == 0) {
    every = format_period(std::chrono::duration_cast<std::chrono::seconds>(period));
  } else {
    every = format_wait(period);
  }
  return format_amount_grouped(amount) + "/" + every;
}

}  // namespace

std::string wrap(std::string_view text, std::size_t width, std::string_view indent) {
  std::string wrapped;
  std::size_t column = 0;
  for (bool first = true;; first = false) {
    std::size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    if (!first) {
      bool fits = column + 1 + display_width(word) <= width;
      wrapped += fits ? std::string(1, ' ') : "\n" + std::string(indent);
      column = fits ? column + 1 : indent.size();
    }
    wrapped += word;
    column += display_width(word);
    if (end == text.size()) break;
    text.remove_prefix(end + 1);
  }
  std::replace(wrapped.begin(), wrapped.end(), kNoBreak, ' ');
  return wrapped;
}

std::string format_bar(MilliTokens remaining, MilliTokens capacity, int width, bool unicode) {
  int steps_per_cell = unicode ? 8 : 1;
  int all = width * steps_per_cell;
  int filled = 0;
  if (capacity.count() > 0 && remaining.count() >= capacity.count()) {
    filled = all;
  } else if (remaining.count() > 0) {
    filled = static_cast<int>(static_cast<Int128>(remaining.count()) * all / capacity.count());
    filled = std::clamp(filled, 1, all - 1);
  }
  std::string bar;
  if (!unicode) {
    bar.append(static_cast<std::size_t>(filled), '#');
    bar.append(static_cast<std::size_t>(all - filled), '.');
    return bar;
  }
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  for (int i = 0; i < filled / 8; ++i) bar += "█";
  bar += kEighths[filled % 8];
  for (int i = (filled + 7) / 8; i < width; ++i) bar += "░";
  return bar;
}

std::string without_controls(std::string_view text) {
  std::string clean;
  for (std::size_t at = 0; at < text.size(); ++at) {
    auto byte = static_cast<unsigned char>(text[at]);
    auto next = static_cast<unsigned char>(at + 1 < text.size() ? text[at + 1] : 0);
    // U+0080 to U+009F, in two bytes, mean to some terminals what an escape and a letter do.
    bool is_second_set = byte == 0xC2 && next >= 0x80 && next < 0xA0;
    bool is_control = byte < 0x20 || byte == 0x7f || is_second_set;
    clean += is_control ? '?' : text[at];
    if (is_second_set) ++at;
  }
  return clean;
}

void Table::add(std::vector<Cell> row) {
  assert(row.size() == columns_.size());
  for (Cell& cell : row) cell.text = without_controls(cell.text);
  rows_.push_back(std::move(row));
}

void Table::add_heads(std::vector<Cell> heads) {
  for (Cell& head : heads) head.colour = Colour::kBold;
  add(std::move(heads));
}

std::string Table::text(const Terminal& terminal, std::string_view indent) const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i].text));
    }
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line(indent);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const Cell& cell = row[i];
      std::string padding(widths[i] - display_width(cell.text), ' ');
      if (columns_[i] == Align::kRight) line += padding;
      line += cell.colour ? terminal.paint(*cell.colour, cell.text) : cell.text;
      if (i + 1 == row.size()) break;
      if (columns_[i] == Align::kLeft) line += padding;
      line += "  ";
    }
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

TimeZone Viewpoint::zone_of(const std::string& entity, const std::string& limit) const {
  auto found = limit_zones.find({entity, limit});
  return zone || found == limit_zones.end() ? zone_or_utc() : found->second;
}

TimeZone Viewpoint::zone_of_wait(const std::vector<LimitStatus>& statuses) const {
  auto longest = std::max_element(
      statuses.begin(), statuses.end(),
      [](const LimitStatus& a, const LimitStatus& b) { return a.retry_after < b.retry_after; });
  return longest == statuses.end() ? zone_or_utc() : zone_of(longest->entity, longest->name);
}

TimeZone Viewpoint::zone_or_utc() const { return zone ? *zone : *TimeZone::find("UTC"); }

std::string describe_state(const LimitStatus& status, const Viewpoint& view) {
  std::vector<std::string> parts;
  auto in = [&](std::string_view what, TimePoint at) {
    parts.push_back(
        fmt::format("{} in {} ({})", what, format_wait(at - view.now),
                    format_moment(at, view.now, view.zone_of(status.entity, status.name))));
  };
  if (status.soft) {
    if (status.overdrawn()) {
      parts.push_back("soft, overdrawn by " +
                      format_amount_grouped(MilliTokens(-status.remaining.count())));
    } else {
      parts.emplace_back("soft");
    }
  }
  if (status.never_fits) {
    parts.push_back(fmt::format("never fits: {} asked, at most {} now",
                                format_amount_grouped(status.requested),
                                format_amount_grouped(status.capacity)));
  } else if (status.exceeded) {
    MilliTokens missing(status.requested.count() - status.remaining.count());
    std::string short_of = format_amount_grouped(missing) + " short";
    if (status.retry_after) {
      parts.push_back(short_of);
      // For a quota this is mostly its next reset, of which the lines below tell.
      if (status.resets_at != view.now + *status.retry_after) {
        in("fits", view.now + *status.retry_after);
      }
    } else {
      parts.push_back(short_of + ", no reset in reach");
    }
  }
  switch (status.kind) {
    case LimitKind::kRate:
      parts.push_back("refills " + format_rate(status.refill_amount, status.refill_period));
      break;
    case LimitKind::kCalendar:
      if (status.resets_at) in("resets", *status.resets_at);
      break;
    case LimitKind::kSession:
      if (status.window == WindowState::kNotStarted) {
        parts.emplace_back("window not started");
      } else if (status.resets_at) {
        in("resets", *status.resets_at);
      }
      break;
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string format_statuses(const std::vector<LimitStatus>& statuses, const Viewpoint& view) {
  bool several = std::any_of(statuses.begin(), statuses.end(), [&](const LimitStatus& status) {
    return status.entity != statuses.front().entity || status.resource != statuses.front().resource;
  });
  std::string text;
  for (std::size_t begin = 0; begin < statuses.size();) {
    const LimitStatus& first = statuses[begin];
    Table table({Table::Align::kLeft, Table::Align::kLeft, Table::Align::kRight,
                 Table::Align::kLeft, Table::Align::kLeft});
    std::size_t end = begin;
    for (; end < statuses.size() && statuses[end].entity == first.entity &&
           statuses[end].resource == first.resource;
         ++end) {
      const LimitStatus& status = statuses[end];
      table.add({status.name,
                 std::string(to_string(status.kind)),
                 format_amount_grouped(status.remaining) + " of " +
                     format_amount_grouped(status.capacity),
                 {format_bar(status.remaining, status.capacity, kBarWidth, view.terminal.unicode),
                  colour_of(status)},
                 describe_state(status, view)});
    }
    if (several) text += fmt::format("{} on {}:\n", first.entity, first.resource);
    text += table.text(view.terminal);
    begin = end;
  }
  return text;
}

std::string describe_limit(const Limit& limit) {
  std::string capacity = format_amount_grouped(MilliTokens(limit.capacity().count() * 1000));
  std::string text;
  switch (limit.kind()) {
    case LimitKind::kRate:
      text = fmt::format("rate: {} flow back every {}, at most {} at once",
                         format_amount_grouped(MilliTokens(limit.refill_amount().count() * 1000)),
                         describe_period(limit.refill_period()), capacity);
      break;
    case LimitKind::kCalendar: {
      std::string crons;
      for (const Cron& cron : limit.resets()) {
        crons += (crons.empty() ? "" : " and ") + ("\"" + cron.text() + "\"");
      }
      text = fmt::format("calendar quota: {}, restored whole at {} in {}", capacity, crons,
                         limit.zone());
      break;
    }
    case LimitKind::kSession:
      text = fmt::format("session quota: {}, restored whole {} after the first use", capacity,
                         format_wait(limit.reset_after()));
      break;
  }
  if (limit.soft()) text += "; soft: counted, even into debt, but never refuses";
  return text;
}

std::string describe_scope(const Scope& scope) {
  bool entity = !scope.entity_id().empty();
  bool resource = !scope.resource_name().empty();
  if (entity && resource) {
    return fmt::format("entity {} and resource {}", scope.entity_id(), scope.resource_name());
  }
  if (entity) return "entity " + scope.entity_id();
  if (resource) return "resource " + scope.resource_name();
  return "the system";
}

std::string_view to_string(AccessPolicy access) {
  switch (access) {
    case AccessPolicy::kEnforce: return "enforce";
    case AccessPolicy::kDisabled: return "disabled";
    case AccessPolicy::kBypass: return "bypass";
  }
  return "unknown";
}

std::string_view to_string(OnUnavailable behaviour) {
  return behaviour == OnUnavailable::kAllow ? "allow" : "block";
}

void write_status(JsonWriter& json, const LimitStatus& status) {
  bool rate = status.kind == LimitKind::kRate;
  json.begin_object();
  json.member("name", status.name);
  json.member("entity", status.entity);
  json.member("resource", status.resource);
  json.member("kind", stint::to_string(status.kind));
  json.member("capacity", status.capacity);
  json.member("remaining", status.remaining);
  json.member("requested", status.requested);
  json.member("resets_at_ms", status.resets_at);
  json.member("retry_after_ms", status.retry_after);
  json.member("exceeded", status.exceeded);
  json.member("never_fits", status.never_fits);
  switch (status.window) {
    case WindowState::kNone: json.member("window", nullptr); break;
    case WindowState::kNotStarted: json.member("window", "not_started"); break;
    case WindowState::kRunning: json.member("window", "running"); break;
  }
  json.member("refill_amount", rate ? std::optional(status.refill_amount) : std::nullopt);
  json.member("refill_period_ms", rate ? std::optional(status.refill_period) : std::nullopt);
  json.member("soft", status.soft);
  json.member("overdrawn", status.overdrawn());
  json.end_object();
}

void write_hindrance(JsonWriter& json, const std::string& hindrance) {
  json.member("hindrance", hindrance.empty() ? std::nullopt : std::optional(hindrance));
}

void write_limit(JsonWriter& json, const Limit& limit) {
  bool rate = limit.kind() == LimitKind::kRate;
  json.begin_object();
  json.member("name", limit.name());
  json.member("kind", stint::to_string(limit.kind()));
  json.member("capacity", limit.capacity());
  json.member("refill_amount", rate ? std::optional(limit.refill_amount()) : std::nullopt);
  json.member("refill_period_s",
              rate ? std::optional(limit.refill_period().count()) : std::nullopt);
  json.member("reset_after_s", limit.kind() == LimitKind::kSession
                                   ? std::optional(limit.reset_after().count())
                                   : std::nullopt);
  json.key("resets");
  json.begin_array();
  for (const Cron& cron : limit.resets()) json.value(cron.text());
  json.end_array();
  json.key("schedule");
  json.begin_array();
  for (const LevelEntry& entry : limit.schedule()) {
    const LevelEntry::Absolute& absolute = entry.parameters();
    json.begin_object();
    json.member("cron", entry.cron().text());
    // A scale is held in thousandths, as amounts are, and written alike.
    json.member("scale",
                entry.per_mille() ? std::optional(MilliTokens(*entry.per_mille())) : std::nullopt);
    json.member("capacity", absolute.capacity);
    json.member("refill_amount", absolute.refill_amount);
    json.member("refill_period_s", absolute.refill_period
                                       ? std::optional(absolute.refill_period->count())
                                       : std::nullopt);
    json.end_object();
  }
  json.end_array();
  json.member("zone", limit.zone());
  json.member("soft", limit.soft());
  json.member("spec", format_limit(limit));
  json.end_object();
}

void write_config(JsonWriter& json, const ScopeConfig& config) {
  json.begin_object();
  json.key("limits");
  json.begin_array();
  for (const Limit& limit : config.limits) write_limit(json, limit);
  json.end_array();
  json.member("access", config.access ? std::optional(to_string(*config.access)) : std::nullopt);
  json.member("cascade", config.cascade);
  json.member("on_unavailable", config.on_unavailable
                                    ? std::optional(to_string(*config.on_unavailable))
                                    : std::nullopt);
  json.end_object();
}

void write_scope(JsonWriter& json, const Scope& scope) {
  auto name = [](const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(text);
  };
  json.begin_object();
  json.member("entity", name(scope.entity_id()));
  json.member("resource", name(scope.resource_name()));
  json.end_object();
}

void write_entity(JsonWriter& json, const Entity& entity) {
  json.begin_object();
  json.member("id", entity.id);
  json.member("name", entity.name);
  json.member("parent", entity.parent);
  json.member("cascade", entity.cascade);
  json.key("metadata");
  json.begin_object();
  for (const auto& [name, text] : entity.metadata) json.member(name, text);
  json.end_object();
  json.member("created_at_ms", entity.created_at);
  json.end_object();
}

}  // namespace stint::cli
