// Where an expression begins and ceases to match, on a calendar without time zone shifts.
#ifndef STINT_MODEL_CRON_EDGES_H_
#define STINT_MODEL_CRON_EDGES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "stint/limit.h"

namespace stint::model {

/// Whether no minute of any year fails to match. Such an expression has no edges.
bool always_matches(const Cron& cron);

enum class Edge {
  kRise,  ///< A minute that matches after one that does not.
  kFall,  ///< A minute that does not match after one that does.
};

/// The edges of one expression. Local times are whole seconds from 1970-01-01T00:00 of the local
/// calendar; edges are at full minutes. Days that do not match are skipped whole.
class CronEdges {
 public:
  explicit CronEdges(const Cron& cron);

  const Cron& cron() const { return cron_; }
  /// Whether the minute that holds `local_s` matches.
  bool matches(std::int64_t local_s) const;
  /// The first edge after `local_s`, if not after `limit_s`.
  std::optional<std::int64_t> next(Edge edge, std::int64_t local_s, std::int64_t limit_s) const;
  /// The last edge at or before `local_s`, if not before `limit_s`.
  std::optional<std::int64_t> previous(Edge edge, std::int64_t local_s, std::int64_t limit_s) const;

 private:
  // Whether a day has the edge at its midnight, and within.
  bool at_midnight(Edge edge, bool day_before, bool day) const;
  const std::vector<std::int16_t>& within_day(Edge edge) const {
    return edge == Edge::kRise ? rises_ : falls_;
  }

  Cron cron_;
  bool always_;
  // Of a day that matches: minutes 1 to 1439 at which the time of day begins or ceases to match.
  std::vector<std::int16_t> rises_;
  std::vector<std::int16_t> falls_;
  bool first_minute_ = false;
  bool last_minute_ = false;
};

}  // namespace stint::model

#endif  // STINT_MODEL_CRON_EDGES_H_
