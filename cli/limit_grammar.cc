#include "cli/limit_grammar.h"

#include <optional>
#include <utility>
#include <vector>

#include "cli/number_text.h"

namespace stint::cli {

const std::string_view kLimitGrammar =
    "  NAME:AMOUNT/PERIOD[:BURST]          rate              rpm:60/min  rpm:60/5min:90\n"
    "  NAME:AMOUNT@CRON[;CRON...][@ZONE]   calendar quota    'month:500@0 0 1 * *@Europe/Berlin'\n"
    "  NAME:AMOUNT+DURATION                session quota     session:10_000+5h\n"
    "then, if wanted, lines of a schedule with their zone, and !soft:\n"
    "  |CRON=xSCALE                        'rpm:60/min|* 9-17 * * 1-5=x0.5@Europe/Berlin'\n"
    "  |CRON=capacity:N,refill:N/PERIOD    'rpm:60/min|* 0-6 * * *=capacity:90,refill:90/min'\n"
    "  !soft                               'rpm:60/min!soft'\n";

namespace {

constexpr std::string_view kSoftMark = "!soft";

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool remove_suffix(std::string_view& text, std::string_view suffix) {
  if (text.size() < suffix.size() || text.substr(text.size() - suffix.size()) != suffix) {
    return false;
  }
  text.remove_suffix(suffix.size());
  return true;
}

bool remove_prefix(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Cuts "@ZONE" off the end.
std::optional<std::string_view> take_zone(std::string_view& text) {
  std::size_t at = text.rfind('@');
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view zone = text.substr(at + 1);
  text = text.substr(0, at);
  return zone;
}

Result<std::vector<Cron>> parse_crons(std::string_view text) {
  std::vector<Cron> crons;
  for (std::string_view part : split(text, ';')) {
    Result<Cron> cron = Cron::parse(part);
    if (!cron) return cron.error();
    crons.push_back(*std::move(cron));
  }
  return crons;
}

class LimitParser {
 public:
  explicit LimitParser(std::string_view text) : text_(text) {}

  Result<Limit> parse() {
    std::string_view head = text_;
    bool soft = remove_suffix(head, kSoftMark);
    if (head.find('!') != std::string_view::npos) {
      return malformed("\"!\" begins \"!soft\", which stands at the end");
    }
    std::vector<std::string_view> lines = split(head, '|');
    head = lines.front();
    lines.erase(lines.begin());

    Result<Limit> limit = parse_head(head);
    if (!limit) return limit;
    if (!lines.empty()) limit = add_schedule(*limit, lines);
    if (!limit) return limit;
    return limit->as_soft(soft);
  }

 private:
  Error malformed(std::string reason) const {
    return Error::invalid("limit", text_, std::move(reason));
  }

  Result<Limit> parse_head(std::string_view head) const {
    std::size_t colon = head.find(':');
    if (colon == std::string_view::npos)
      return malformed("needs a name and a colon, as in rpm:60/min");
    std::string_view name = head.substr(0, colon);
    std::string_view rest = head.substr(colon + 1);
    std::size_t operation = rest.find_first_of("/@+");
    if (operation == std::string_view::npos) {
      return malformed(
          "says not how it recovers: AMOUNT/PERIOD (rate), AMOUNT@CRON (calendar quota) or "
          "AMOUNT+DURATION (session quota)");
    }
    Result<Tokens> amount = parse_tokens("limit.amount", rest.substr(0, operation));
    if (!amount) return amount.error();
    std::string_view recovery = rest.substr(operation + 1);
    switch (rest[operation]) {
      case '/': return parse_rate(name, *amount, recovery);
      case '@': return parse_calendar(name, *amount, recovery);
      default: return parse_session(name, *amount, recovery);
    }
  }

  Result<Limit> parse_rate(std::string_view name, Tokens amount, std::string_view recovery) const {
    std::size_t colon = recovery.find(':');
    Result<std::chrono::seconds> period = parse_period("limit.period", recovery.substr(0, colon));
    if (!period) return period.error();
    Tokens burst = amount;
    if (colon != std::string_view::npos) {
      Result<Tokens> given = parse_tokens("limit.burst", recovery.substr(colon + 1));
      if (!given) return given.error();
      burst = *given;
    }
    return Limit::rate(name, burst, amount, *period);
  }

  Result<Limit> parse_calendar(std::string_view name, Tokens amount,
                               std::string_view recovery) const {
    std::string_view zone = take_zone(recovery).value_or("UTC");
    Result<std::vector<Cron>> crons = parse_crons(recovery);
    if (!crons) return crons.error();
    return Limit::calendar(name, amount, *std::move(crons), zone);
  }

  Result<Limit> parse_session(std::string_view name, Tokens amount,
                              std::string_view recovery) const {
    Result<std::chrono::seconds> duration = parse_duration("limit.duration", recovery);
    if (!duration) return duration.error();
    return Limit::session(name, amount, *duration);
  }

  Result<Limit> add_schedule(const Limit& limit, std::vector<std::string_view> lines) const {
    std::string_view zone = take_zone(lines.back()).value_or(limit.zone());
    std::vector<LevelEntry> entries;
    for (std::string_view line : lines) {
      std::size_t equals = line.find('=');
      if (equals == std::string_view::npos) {
        return malformed("the schedule line \"" + std::string(line) + "\" needs CRON=CHANGE");
      }
      Result<Cron> cron = Cron::parse(line.substr(0, equals));
      if (!cron) return cron.error();
      Result<LevelEntry> entry = parse_change(*std::move(cron), line.substr(equals + 1));
      if (!entry) return entry.error();
      entries.push_back(*std::move(entry));
    }
    return limit.with_schedule(std::move(entries), zone);
  }

  Result<LevelEntry> parse_change(Cron cron, std::string_view change) const {
    if (remove_prefix(change, "x")) {
      Result<MilliTokens> scale = parse_amount("limit.scale", change);
      if (!scale) return scale.error();
      return LevelEntry::scaled_per_mille(std::move(cron), scale->count());
    }
    LevelEntry::Absolute absolute;
    for (std::string_view part : split(change, ',')) {
      if (std::optional<Error> error = parse_part(part, absolute)) return *std::move(error);
    }
    return LevelEntry::absolute(std::move(cron), absolute);
  }

  std::optional<Error> parse_part(std::string_view part, LevelEntry::Absolute& absolute) const {
    auto twice = [&] { return malformed("\"" + std::string(part) + "\" sets a value twice"); };
    std::string_view value = part;
    if (remove_prefix(value, "capacity:")) {
      if (absolute.capacity) return twice();
      Result<Tokens> capacity = parse_tokens("limit.capacity", value);
      if (!capacity) return capacity.error();
      absolute.capacity = *capacity;
      return std::nullopt;
    }
    if (remove_prefix(value, "refill:")) {
      if (absolute.refill_amount) return twice();
      std::size_t slash = value.find('/');
      Result<Tokens> amount = parse_tokens("limit.refill_amount", value.substr(0, slash));
      if (!amount) return amount.error();
      absolute.refill_amount = *amount;
      if (slash == std::string_view::npos) return std::nullopt;
      value.remove_prefix(slash + 1);
    } else if (!remove_prefix(value, "period:")) {
      return malformed("\"" + std::string(part) +
                       "\" is no change: xSCALE, capacity:N, refill:N/PERIOD or period:PERIOD");
    }
    if (absolute.refill_period) return twice();
    Result<std::chrono::seconds> period = parse_period("limit.refill_period", value);
    if (!period) return period.error();
    absolute.refill_period = *period;
    return std::nullopt;
  }

  std::string_view text_;
};

std::string format_tokens(Tokens tokens) { return std::to_string(tokens.count()); }

}  // namespace

Result<Limit> parse_limit(std::string_view text) { return LimitParser(text).parse(); }

std::string format_change(const LevelEntry& entry) {
  if (entry.per_mille()) return "x" + format_amount(MilliTokens(*entry.per_mille()));
  const LevelEntry::Absolute& absolute = entry.parameters();
  std::string text;
  auto begin_part = [&](std::string_view name) {
    if (!text.empty()) text += ',';
    text += name;
  };
  if (absolute.capacity) {
    begin_part("capacity:");
    text += format_tokens(*absolute.capacity);
  }
  if (absolute.refill_amount) {
    begin_part("refill:");
    text += format_tokens(*absolute.refill_amount);
    if (absolute.refill_period) text += "/" + format_period(*absolute.refill_period);
  } else if (absolute.refill_period) {
    begin_part("period:");
    text += format_period(*absolute.refill_period);
  }
  return text;
}

std::string format_limit(const Limit& limit) {
  std::string text = limit.name() + ":";
  std::string zone = limit.zone() == "UTC" ? "" : "@" + limit.zone();
  switch (limit.kind()) {
    case LimitKind::kRate:
      text += format_tokens(limit.refill_amount()) + "/" + format_period(limit.refill_period());
      if (limit.capacity() != limit.refill_amount()) text += ":" + format_tokens(limit.capacity());
      break;
    case LimitKind::kCalendar:
      text += format_tokens(limit.capacity());
      for (const Cron& cron : limit.resets()) {
        text += (&cron == &limit.resets().front() ? "@" : ";") + cron.text();
      }
      text += zone;
      break;
    case LimitKind::kSession:
      text += format_tokens(limit.capacity()) + "+" + format_duration(limit.reset_after());
      break;
  }
  for (const LevelEntry& entry : limit.schedule()) {
    text += "|" + entry.cron().text() + "=" + format_change(entry);
  }
  if (!limit.schedule().empty() && limit.kind() != LimitKind::kCalendar) text += zone;
  if (limit.soft()) text += kSoftMark;
  return text;
}

}  // namespace stint::cli
