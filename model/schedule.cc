#include "model/schedule.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "base/time.h"

namespace stint::model {
namespace {

constexpr std::int64_t kDayS = 86'400;
// Under kLocalDay a reset is looked for over two leap years.
constexpr std::int64_t kLocalDayReachS = 2922 * kDayS;
// A zone may shift an edge by up to a day against the periods of rules 4.4, which are counted in
// equal days: a month with an autumn night is an hour longer than 31 days.
constexpr std::int64_t kShiftS = kDayS;
// No local time is further than this from UTC.
constexpr std::int64_t kMaxOffsetS = 2 * kDayS;
// No edge is looked for beyond (the years -4000 to 8000), and no line begins or ends there.
constexpr std::int64_t kFarthestS = 190'000'000'000;

// Whole seconds, within the years that a calendar is good for.
std::int64_t seconds_of(TimePoint at) {
  return std::clamp(to_epoch_s(at), -kFarthestS, kFarthestS);
}

TimePoint instant_of(std::int64_t utc_s) { return TimePoint(std::chrono::seconds(utc_s)); }

TimePoint add(TimePoint at, Millis duration) {
  return at > TimePoint::max() - duration ? TimePoint::max() : at + duration;
}

// A stretch of one offset, [begin, end), in seconds.
struct Stretch {
  std::int64_t begin_s;
  std::int64_t end_s;
  std::int64_t offset_s;
};

Stretch stretch_at(TimeZone zone, std::int64_t utc_s) {
  TimeZone::Period period = zone.period_at(instant_of(utc_s));
  return {to_epoch_s(period.begin), to_epoch_s(period.end), period.offset.count()};
}

// The two functions below read the local time off each instant (rules 4.3). So a stretch can begin
// within a match or cease one, at its first instant and whatever the minute.
bool is_edge_between(const CronEdges& edges, Edge edge, const Stretch& before,
                     const Stretch& after) {
  bool matched = edges.matches(before.end_s - 1 + before.offset_s);
  bool matches = edges.matches(after.begin_s + after.offset_s);
  return matched != matches && matches == (edge == Edge::kRise);
}

std::optional<std::int64_t> next_real(const CronEdges& edges, Edge edge, TimeZone zone,
                                      std::int64_t after_s, std::int64_t limit_s) {
  Stretch stretch = stretch_at(zone, after_s);
  for (;;) {
    std::int64_t last_s = std::min(limit_s, stretch.end_s - 1);
    if (auto local_s = edges.next(edge, after_s + stretch.offset_s, last_s + stretch.offset_s)) {
      return *local_s - stretch.offset_s;
    }
    if (stretch.end_s > limit_s) return std::nullopt;
    Stretch following = stretch_at(zone, stretch.end_s);
    if (is_edge_between(edges, edge, stretch, following)) return following.begin_s;
    after_s = following.begin_s;
    stretch = following;
  }
}

std::optional<std::int64_t> previous_real(const CronEdges& edges, Edge edge, TimeZone zone,
                                          std::int64_t at_s, std::int64_t limit_s) {
  Stretch stretch = stretch_at(zone, at_s);
  for (;;) {
    std::int64_t first_s = std::max(limit_s, stretch.begin_s + 1);
    if (auto local_s = edges.previous(edge, at_s + stretch.offset_s, first_s + stretch.offset_s)) {
      return *local_s - stretch.offset_s;
    }
    if (stretch.begin_s < limit_s) return std::nullopt;
    Stretch preceding = stretch_at(zone, stretch.begin_s - 1);
    if (is_edge_between(edges, edge, preceding, stretch)) return stretch.begin_s;
    at_s = stretch.begin_s - 1;
    stretch = preceding;
  }
}

// The latest local second that any instant up to `at_s` has shown.
std::int64_t latest_local(TimeZone zone, std::int64_t at_s) {
  Stretch stretch = stretch_at(zone, at_s);
  std::int64_t latest_s = at_s + stretch.offset_s;
  while (stretch.begin_s > at_s - 2 * kMaxOffsetS) {
    stretch = stretch_at(zone, stretch.begin_s - 1);
    latest_s = std::max(latest_s, stretch.end_s - 1 + stretch.offset_s);
  }
  return latest_s;
}

// The first instant whose local time is `local_s` or later.
std::int64_t first_reaching(TimeZone zone, std::int64_t local_s) {
  Stretch stretch = stretch_at(zone, local_s - kMaxOffsetS);
  while (stretch.end_s + stretch.offset_s <= local_s) stretch = stretch_at(zone, stretch.end_s);
  return std::max(stretch.begin_s, local_s - stretch.offset_s);
}

// An expression of every hour follows real time under both rules (decision 7).
bool follows_real_time(const CronEdges& edges, ResetRule rule) {
  return rule == ResetRule::kCompatible || edges.cron().hours().all();
}

constexpr Millis days(std::int64_t count) { return Millis(count * kDayS * 1000); }

// The finest field that is not `*`.
Millis cap_of(bool minute, bool hour) { return days(minute ? 7 : hour ? 31 : 366); }

Millis cycle_of(const Cron& cron) {
  if (!cron.is_wildcard(3)) return days(366);
  if (!cron.is_wildcard(2)) return days(31);
  if (!cron.is_wildcard(4)) return days(7);
  if (!cron.is_wildcard(1)) return days(1);
  if (!cron.is_wildcard(0)) return std::chrono::hours(1);
  return std::chrono::minutes(1);
}

std::int64_t reach_of(const Cron& cron, ResetRule rule) {
  if (rule == ResetRule::kLocalDay) return kLocalDayReachS;
  Millis reach = std::max(cap_of(!cron.is_wildcard(0), !cron.is_wildcard(1)), cycle_of(cron));
  return reach.count() / 1000 + kShiftS;
}

}  // namespace

std::optional<SpanMemo::Span> SpanMemo::find(std::int64_t at_ms) const {
  std::uint32_t version = version_.load(std::memory_order_acquire);
  if (version % 2 != 0) return std::nullopt;
  // Acquire: the second look at the version must come after these.
  Span span{begin_.load(std::memory_order_acquire), end_.load(std::memory_order_acquire),
            answer_.load(std::memory_order_acquire)};
  if (version_.load(std::memory_order_relaxed) != version) return std::nullopt;
  if (at_ms < span.begin_ms || at_ms >= span.end_ms) return std::nullopt;
  return span;
}

void SpanMemo::remember(const Span& span) const {
  std::uint32_t version = version_.load(std::memory_order_relaxed);
  // While another thread writes, this answer is dropped: remembering is not worth a wait.
  if (version % 2 != 0 ||
      !version_.compare_exchange_strong(version, version + 1, std::memory_order_acq_rel)) {
    return;
  }
  // Release: who reads one of these must see the odd version.
  begin_.store(span.begin_ms, std::memory_order_release);
  end_.store(span.end_ms, std::memory_order_release);
  answer_.store(span.answer, std::memory_order_release);
  version_.store(version + 2, std::memory_order_release);
}

Millis level_cap(const std::vector<LevelEntry>& entries) {
  bool minute = false;
  bool hour = false;
  for (const LevelEntry& entry : entries) {
    minute = minute || !entry.cron().is_wildcard(0);
    hour = hour || !entry.cron().is_wildcard(1);
  }
  return cap_of(minute, hour);
}

LevelSchedule::LevelSchedule(std::vector<LevelEntry> entries, TimeZone zone)
    : entries_(std::move(entries)), zone_(zone), cap_(level_cap(entries_)) {
  edges_.reserve(entries_.size());
  for (const LevelEntry& entry : entries_) edges_.emplace_back(entry.cron());
}

int LevelSchedule::index_at(std::int64_t utc_s) const {
  std::int64_t local_s = utc_s + stretch_at(zone_, utc_s).offset_s;
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    if (edges_[i].matches(local_s)) return static_cast<int>(i);
  }
  return -1;
}

LevelSchedule::Stay LevelSchedule::stay_at(TimePoint at) const {
  // The answer of the memo: the index plus one, doubled, and one more if the span ends in a change.
  if (auto span = memo_.find(to_epoch_ms(at)); span && span->answer % 2 != 0) {
    return {static_cast<int>(span->answer / 2) - 1, from_epoch_ms(span->end_ms), true};
  }
  std::int64_t at_s = seconds_of(at);
  std::int64_t limit_s = std::min(at_s + cap_.count() / 1000, kFarthestS);
  int index = index_at(at_s);
  // The line in force ends with its match, or where one that goes before it begins to match.
  auto before = index < 0 ? edges_.size() : static_cast<std::size_t>(index);
  std::optional<std::int64_t> change_s;
  auto consider = [&](const CronEdges& edges, Edge edge) {
    if (auto found = next_real(edges, edge, zone_, at_s, change_s.value_or(limit_s))) {
      change_s = found;
    }
  };
  for (std::size_t i = 0; i < before; ++i) consider(edges_[i], Edge::kRise);
  if (index >= 0) consider(edges_[before], Edge::kFall);

  Stay stay{index, change_s ? instant_of(*change_s) : add(at, cap_), change_s.has_value()};
  memo_.remember({to_epoch_ms(at), to_epoch_ms(stay.end),
                  (std::int64_t{index} + 1) * 2 + (stay.changes ? 1 : 0)});
  return stay;
}

int LevelSchedule::active_at(TimePoint at) const {
  if (auto span = memo_.find(to_epoch_ms(at))) return static_cast<int>(span->answer / 2) - 1;
  return stay_at(at).index;
}

TimePoint LevelSchedule::next_change(TimePoint at) const { return stay_at(at).end; }

std::optional<TimePoint> LevelSchedule::previous_change(TimePoint at) const {
  std::int64_t at_s = seconds_of(at);
  std::int64_t limit_s = std::max(at_s - cap_.count() / 1000, -kFarthestS);
  int index = index_at(at_s);
  auto before = index < 0 ? edges_.size() : static_cast<std::size_t>(index);
  std::optional<std::int64_t> change_s;
  auto consider = [&](const CronEdges& edges, Edge edge) {
    if (auto found = previous_real(edges, edge, zone_, at_s, change_s.value_or(limit_s))) {
      change_s = found;
    }
  };
  for (std::size_t i = 0; i < before; ++i) consider(edges_[i], Edge::kFall);
  if (index >= 0) consider(edges_[before], Edge::kRise);
  if (!change_s) return std::nullopt;
  return instant_of(*change_s);
}

ResetSchedule::ResetSchedule(std::vector<Cron> crons, TimeZone zone, ResetRule rule)
    : crons_(std::move(crons)), zone_(zone), rule_(rule) {
  entries_.reserve(crons_.size());
  for (const Cron& cron : crons_) entries_.push_back({CronEdges(cron), reach_of(cron, rule_)});
}

std::optional<std::int64_t> ResetSchedule::next_edge(const CronEdges& edges, ResetRule rule,
                                                     std::int64_t at_s,
                                                     std::int64_t limit_s) const {
  if (follows_real_time(edges, rule)) return next_real(edges, Edge::kRise, zone_, at_s, limit_s);
  auto local_s = edges.next(Edge::kRise, latest_local(zone_, at_s), limit_s + kMaxOffsetS);
  if (!local_s) return std::nullopt;
  std::int64_t edge_s = first_reaching(zone_, *local_s);
  if (edge_s > limit_s) return std::nullopt;
  return edge_s;
}

std::optional<std::int64_t> ResetSchedule::previous_edge(const CronEdges& edges, ResetRule rule,
                                                         std::int64_t at_s,
                                                         std::int64_t limit_s) const {
  if (follows_real_time(edges, rule)) {
    return previous_real(edges, Edge::kRise, zone_, at_s, limit_s);
  }
  auto local_s = edges.previous(Edge::kRise, latest_local(zone_, at_s), limit_s - kMaxOffsetS);
  if (!local_s) return std::nullopt;
  std::int64_t edge_s = first_reaching(zone_, *local_s);
  if (edge_s < limit_s) return std::nullopt;
  return edge_s;
}

ResetSchedule::Neighbours ResetSchedule::neighbours(TimePoint at) const {
  if (auto span = memo_.find(to_epoch_ms(at))) {
    return {from_epoch_ms(span->begin_ms), from_epoch_ms(span->end_ms)};
  }
  std::int64_t at_s = to_epoch_s(at);
  if (at_s < -kFarthestS || at_s > kFarthestS) return {};
  std::optional<std::int64_t> previous_s;
  std::optional<std::int64_t> next_s;
  bool settled = true;
  for (const Entry& entry : entries_) {
    auto before_s = previous_edge(entry.edges, rule_, at_s, at_s - entry.reach_s);
    auto after_s = next_edge(entry.edges, rule_, at_s, at_s + entry.reach_s);
    if (before_s && (!previous_s || *before_s > *previous_s)) previous_s = before_s;
    if (after_s && (!next_s || *after_s < *next_s)) next_s = after_s;
    // Where every edge can be seen from every instant between it and its neighbour, the answer does
    // not depend on the instant of the question.
    settled = settled && before_s && after_s && *after_s - *before_s <= entry.reach_s;
  }
  Neighbours found;
  if (previous_s) found.previous = instant_of(*previous_s);
  if (next_s) found.next = instant_of(*next_s);
  if (settled && previous_s && next_s) {
    memo_.remember({to_epoch_ms(*found.previous), to_epoch_ms(*found.next), 0});
  }
  return found;
}

std::optional<TimePoint> ResetSchedule::previous(TimePoint at) const {
  return neighbours(at).previous;
}

std::optional<TimePoint> ResetSchedule::next(TimePoint at) const { return neighbours(at).next; }

Millis ResetSchedule::cycle() const {
  Millis least = days(366);
  for (const Cron& cron : crons_) least = std::min(least, cycle_of(cron));
  return least;
}

std::vector<std::int64_t> ResetSchedule::edges_between(ResetRule rule, std::int64_t first_s,
                                                       std::int64_t last_s) const {
  std::vector<std::int64_t> found;
  for (const Entry& entry : entries_) {
    std::int64_t at_s = first_s - 1;
    while (auto edge_s = next_edge(entry.edges, rule, at_s, last_s)) {
      found.push_back(*edge_s);
      at_s = *edge_s;
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<TimePoint> ResetSchedule::contested_edges(TimePoint at) const {
  constexpr std::int64_t kYearsS = 731 * kDayS;
  constexpr std::size_t kMost = 10;
  std::vector<TimePoint> contested;
  std::int64_t until_s = seconds_of(at) + kYearsS;
  Stretch stretch = stretch_at(zone_, seconds_of(at));
  while (stretch.end_s <= until_s) {
    Stretch following = stretch_at(zone_, stretch.end_s);
    // The readings part at the first instant after a change, and for as long as local time repeats
    // itself.
    std::int64_t shift_s = std::abs(following.offset_s - stretch.offset_s);
    auto compatible =
        edges_between(ResetRule::kCompatible, following.begin_s, following.begin_s + shift_s);
    auto local_day =
        edges_between(ResetRule::kLocalDay, following.begin_s, following.begin_s + shift_s);
    std::vector<std::int64_t> different;
    std::set_symmetric_difference(compatible.begin(), compatible.end(), local_day.begin(),
                                  local_day.end(), std::back_inserter(different));
    for (std::int64_t edge_s : different) {
      if (contested.size() == kMost) return contested;
      contested.push_back(instant_of(edge_s));
    }
    stretch = following;
  }
  return contested;
}

}  // namespace stint::model
