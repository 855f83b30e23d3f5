// When a level schedule's lines are active and when a calendar quota resets (rules 4, decision 7).
#ifndef STINT_MODEL_SCHEDULE_H_
#define STINT_MODEL_SCHEDULE_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/timezone.h"
#include "model/cron_edges.h"
#include "stint/limit.h"
#include "stint/time.h"

namespace stint::model {

/// Remembers one answer that holds for a stretch of time, so that the cron scan runs once per
/// stretch and not once per decision. Lock-free (a sequence lock of atomics); thread-safe.
class SpanMemo {
 public:
  struct Span {
    std::int64_t begin_ms;  // the answer holds for begin <= t < end
    std::int64_t end_ms;
    std::int64_t answer;
  };
  std::optional<Span> find(std::int64_t at_ms) const;
  void remember(const Span& span) const;

 private:
  mutable std::atomic<std::uint32_t> version_{0};
  mutable std::atomic<std::int64_t> begin_{0};
  mutable std::atomic<std::int64_t> end_{0};
  mutable std::atomic<std::int64_t> answer_{0};
};

/// The lines of one limit's level schedule in one zone. Immutable, thread-safe.
class LevelSchedule {
 public:
  LevelSchedule(std::vector<LevelEntry> entries, TimeZone zone);

  const std::vector<LevelEntry>& entries() const { return entries_; }
  TimeZone zone() const { return zone_; }

  /// Index of the line in force at an instant: the first that matches; -1 when none does.
  int active_at(TimePoint at) const;
  /// The first instant after `at` at which `active_at` changes, or `at` plus the cap of rules 4.4
  /// (7, 31 or 366 days by the finest constrained field of all lines) when none is in reach.
  TimePoint next_change(TimePoint at) const;
  /// The latest instant at or before `at` at which `active_at` changed; nothing within the cap.
  std::optional<TimePoint> previous_change(TimePoint at) const;

 private:
  // How long the answer found at an instant holds.
  struct Stay {
    int index;
    TimePoint end;
    bool changes;  // at `end`; otherwise no change is in reach
  };
  Stay stay_at(TimePoint at) const;
  int index_at(std::int64_t utc_s) const;

  std::vector<LevelEntry> entries_;
  std::vector<CronEdges> edges_;
  TimeZone zone_;
  Millis cap_;
  SpanMemo memo_;
};

/// The reset expressions of one calendar quota in one zone. Immutable, thread-safe.
class ResetSchedule {
 public:
  ResetSchedule(std::vector<Cron> crons, TimeZone zone, ResetRule rule);

  const std::vector<Cron>& crons() const { return crons_; }
  TimeZone zone() const { return zone_; }
  ResetRule rule() const { return rule_; }

  /// The latest edge at or before `at`. Under `kLocalDay` up to 8 years back, under `kCompatible`
  /// as far as rules 4.4 look and a day more; nothing when no edge is in reach.
  std::optional<TimePoint> previous(TimePoint at) const;
  /// The first edge after `at`, with the same reach.
  std::optional<TimePoint> next(TimePoint at) const;
  /// How long a full turn of the quickest expression takes at most (rules 3.6), for expiry.
  Millis cycle() const;
  /// Edges within two years of `at` that fall into a gap or an overlap of the zone, where the two
  /// reset rules disagree: what `kCompatible` is to warn of. Oldest first, at most 10.
  std::vector<TimePoint> contested_edges(TimePoint at) const;

 private:
  // One expression and how far its edges are looked for, to both sides.
  struct Entry {
    CronEdges edges;
    std::int64_t reach_s;
  };
  struct Neighbours {
    std::optional<TimePoint> previous;
    std::optional<TimePoint> next;
  };
  Neighbours neighbours(TimePoint at) const;
  std::optional<std::int64_t> next_edge(const CronEdges& edges, ResetRule rule, std::int64_t at_s,
                                        std::int64_t limit_s) const;
  std::optional<std::int64_t> previous_edge(const CronEdges& edges, ResetRule rule,
                                            std::int64_t at_s, std::int64_t limit_s) const;
  std::vector<std::int64_t> edges_between(ResetRule rule, std::int64_t first_s,
                                          std::int64_t last_s) const;

  std::vector<Cron> crons_;
  std::vector<Entry> entries_;
  TimeZone zone_;
  ResetRule rule_;
  SpanMemo memo_;  // of a span from one edge to the next
};

/// How long the level schedule of rules 4.4 looks ahead before re-evaluating, by its finest field.
Millis level_cap(const std::vector<LevelEntry>& entries);

}  // namespace stint::model

#endif  // STINT_MODEL_SCHEDULE_H_
