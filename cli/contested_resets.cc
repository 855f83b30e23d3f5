#include "cli/contested_resets.h"

#include <fmt/format.h>

#include <utility>

#include "base/timezone.h"
#include "cli/instant.h"
#include "cli/render.h"
#include "model/schedule.h"

namespace stint::cli {

std::vector<ContestedResets> contested_resets(const Scope& scope, const std::vector<Limit>& limits,
                                              TimePoint now) {
  std::vector<ContestedResets> contested;
  for (const Limit& limit : limits) {
    if (limit.kind() != LimitKind::kCalendar) continue;
    Result<TimeZone> zone = TimeZone::find(limit.zone());
    if (!zone) continue;
    const model::ResetSchedule schedule(limit.resets(), *zone, ResetRule::kCompatible);
    std::vector<TimePoint> edges = schedule.contested_edges(now);
    if (edges.empty()) continue;
    contested.push_back({scope, limit.name(), limit.zone(), std::move(edges)});
  }
  return contested;
}

std::string describe_contested(const ContestedResets& contested) {
  Result<TimeZone> zone = TimeZone::find(contested.zone);
  std::string dates;
  for (TimePoint edge : contested.edges) {
    dates += (dates.empty() ? "" : ", ") +
             (zone ? format_exact(edge, *zone) : std::to_string(edge.time_since_epoch().count()));
  }
  return fmt::format(
      "{}, limit {}: local time in {} skips or repeats these resets, so that the rule "
      "\"compatible\" drops them or lets them happen twice: {}",
      describe_scope(contested.scope), contested.limit, contested.zone, dates);
}

void write_contested(JsonWriter& json, const std::vector<ContestedResets>& contested) {
  json.begin_array();
  for (const ContestedResets& resets : contested) {
    json.begin_object();
    json.key("scope");
    write_scope(json, resets.scope);
    json.member("limit", resets.limit);
    json.member("message", describe_contested(resets));
    json.key("contested_at_ms");
    json.begin_array();
    for (TimePoint edge : resets.edges) json.value(edge);
    json.end_array();
    json.end_object();
  }
  json.end_array();
}

}  // namespace stint::cli
