#include "cli/replay/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "cli/instant.h"
#include "cli/number_text.h"
#include "cli/render.h"

namespace stint::cli {
namespace {

constexpr int kBarWidth = 40;

std::string grouped(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, ",");
  return text;
}

std::string grouped_tokens(Int128 tokens) {
  return grouped(static_cast<std::uint64_t>(saturate(tokens)));
}

// Cut, not rounded, so that a limit that was never used up does not look as if it had been.
double per_mille_cut(double share) { return std::floor(share * 1000 + 1e-9) / 1000; }

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

std::string share_of(std::uint64_t part, std::uint64_t all) {
  if (all == 0) return "";
  return percent(static_cast<double>(part) / static_cast<double>(all));
}

// One character for admitted, another for rejected; what occurred at all is never left out.
std::string timeline_bar(const Timeline::Span& span, std::uint64_t most, const Terminal& terminal) {
  const auto width = [most](std::uint64_t count) {
    const std::uint64_t cells = (count * kBarWidth + most - 1) / most;
    return static_cast<std::size_t>(cells);
  };
  const std::size_t total = width(span.admitted + span.rejected);
  std::size_t rejected = std::min(width(span.rejected), total);
  if (span.admitted > 0 && rejected == total) --rejected;
  std::string admitted_text;
  std::string rejected_text;
  for (std::size_t i = rejected; i < total; ++i) admitted_text += terminal.unicode ? "█" : "#";
  for (std::size_t i = 0; i < rejected; ++i) rejected_text += terminal.unicode ? "░" : "-";
  return terminal.paint(Colour::kGreen, admitted_text) +
         terminal.paint(Colour::kRed, rejected_text);
}

void print_totals(std::ostream& out, const ReplayReport& report, const Terminal& terminal) {
  Table totals({Table::Align::kLeft, Table::Align::kRight, Table::Align::kRight});
  totals.add({"admitted", grouped(report.admitted), share_of(report.admitted, report.requests)});
  totals.add({"rejected", grouped(report.rejected), share_of(report.rejected, report.requests)});
  if (report.disabled > 0) totals.add({"by policy", grouped(report.disabled), ""});
  totals.add({"skipped", grouped(report.skipped.count()), ""});
  if (report.backward_steps > 0) {
    totals.add({"steps back in time", grouped(report.backward_steps), ""});
  }
  if (report.decided_late > 0) totals.add({"decided late", grouped(report.decided_late), ""});
  out << totals.text(terminal);
}

void print_limits(std::ostream& out, const ReplayReport& report, const Terminal& terminal) {
  Table limits(
      {Table::Align::kLeft, Table::Align::kRight, Table::Align::kRight, Table::Align::kRight});
  limits.add({"limit", "times short", "tokens granted", "peak use"});
  for (const ReplayReport::LimitTotals& limit : report.limits) {
    limits.add({limit.name, grouped(limit.times_short), grouped_tokens(limit.granted),
                percent(per_mille_cut(limit.peak_use))});
  }
  out << '\n' << limits.text(terminal);
}

void print_most_rejected(std::ostream& out, const ReplayReport& report, const Terminal& terminal) {
  Table entities({Table::Align::kLeft, Table::Align::kRight, Table::Align::kRight});
  entities.add({"most rejected", "rejected", "of requests"});
  for (const ReplayReport::EntityTotals& entity : report.most_rejected) {
    entities.add({entity.id, grouped(entity.rejected), grouped(entity.requests)});
  }
  out << '\n' << entities.text(terminal);
}

void print_timeline(std::ostream& out, const Timeline& timeline, const Terminal& terminal,
                    TimeZone zone) {
  std::uint64_t most = 0;
  for (const Timeline::Span& span : timeline.spans()) {
    most = std::max(most, span.admitted + span.rejected);
  }
  const auto width = std::chrono::duration_cast<std::chrono::seconds>(timeline.width());
  Table spans(
      {Table::Align::kLeft, Table::Align::kRight, Table::Align::kRight, Table::Align::kLeft});
  spans.add({"each " + format_duration(width), "admitted", "rejected", ""});
  for (std::size_t i = 0; i < timeline.spans().size(); ++i) {
    const Timeline::Span& span = timeline.spans()[i];
    spans.add({format_exact(timeline.begin(i), zone), grouped(span.admitted),
               grouped(span.rejected), timeline_bar(span, most, terminal)});
  }
  out << '\n' << spans.text(terminal);
}

// What does not occur in a replay, which has one thread and a store that does not fail, is left
// out.
void print_stats(std::ostream& out, const CounterSnapshot& stats, const Terminal& terminal) {
  const auto units = [](double count) { return fmt::format("{:.1f}", count); };
  Table table({Table::Align::kLeft, Table::Align::kRight, Table::Align::kRight});
  table.add({"store requests", grouped(stats.store.requests), ""});
  table.add({"read units", units(stats.store.read_units), ""});
  table.add({"write units", units(stats.store.write_units), ""});
  table.add({"index write units", units(stats.store.index_write_units), ""});
  table.add({"rejected from memory", grouped(stats.rejected_from_memory),
             share_of(stats.rejected_from_memory, stats.rejected)});
  table.add({"buckets remembered", grouped(stats.view_hits),
             share_of(stats.view_hits, stats.view_hits + stats.view_misses)});
  out << '\n' << table.text(terminal);
}

void write_stats(JsonWriter& json, const CounterSnapshot& stats) {
  json.begin_object();
  json.member("store_requests", stats.store.requests);
  json.member("read_units", stats.store.read_units);
  json.member("write_units", stats.store.write_units);
  json.member("index_write_units", stats.store.index_write_units);
  json.member("rejected_from_memory", stats.rejected_from_memory);
  json.member("view_hits", stats.view_hits);
  json.member("view_misses", stats.view_misses);
  json.member("config_hits", stats.config_hits);
  json.member("config_misses", stats.config_misses);
  json.member("conflicts", stats.conflicts);
  json.member("retries", stats.retries);
  json.end_object();
}

}  // namespace

void SkippedRecords::add(std::uint64_t line, std::string reason) {
  ++count_;
  if (first_.size() < kKept) first_.push_back({line, std::move(reason)});
}

void write_report(JsonWriter& json, const ReplayReport& report) {
  json.begin_object();
  json.member("requests", report.requests);
  json.member("admitted", report.admitted);
  json.member("rejected", report.rejected);
  json.key("rejected_by");
  json.begin_object();
  for (const auto& limit : report.limits) json.member(limit.name, limit.times_short);
  json.end_object();
  json.member("disabled", report.disabled);
  json.key("granted");
  json.begin_object();
  for (const auto& limit : report.limits) json.member(limit.name, saturate(limit.granted));
  json.end_object();
  json.key("peak_use");
  json.begin_object();
  for (const auto& limit : report.limits) {
    json.key(limit.name);
    json.begin_object();
    json.member("share", per_mille_cut(limit.peak_use));
    json.member("at_ms", limit.peak_at);
    json.key("entity");
    if (limit.peak_at) {
      json.value(limit.peak_entity);
    } else {
      json.value(nullptr);
    }
    json.end_object();
  }
  json.end_object();
  json.member("entities", report.entities);
  json.key("most_rejected");
  json.begin_array();
  for (const auto& entity : report.most_rejected) {
    json.begin_object();
    json.member("entity", entity.id);
    json.member("rejected", entity.rejected);
    json.member("requests", entity.requests);
    json.end_object();
  }
  json.end_array();
  json.member("skipped", report.skipped.count());
  json.key("skipped_lines");
  json.begin_array();
  for (const auto& record : report.skipped.first()) {
    json.begin_object();
    json.member("line", record.line);
    json.member("reason", record.reason);
    json.end_object();
  }
  json.end_array();
  json.member("backward_steps", report.backward_steps);
  json.member("decided_late", report.decided_late);
  json.member("first_ms", report.first_time);
  json.member("last_ms", report.last_time);
  json.key("timeline");
  json.begin_object();
  json.member("span_ms", report.timeline.width());
  json.key("spans");
  json.begin_array();
  for (std::size_t i = 0; i < report.timeline.spans().size(); ++i) {
    json.begin_object();
    json.member("begin_ms", report.timeline.begin(i));
    json.member("admitted", report.timeline.spans()[i].admitted);
    json.member("rejected", report.timeline.spans()[i].rejected);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  if (report.stats) {
    json.key("stats");
    write_stats(json, *report.stats);
  }
  json.end_object();
}

void print_report(std::ostream& out, const ReplayReport& report, const Terminal& terminal,
                  TimeZone zone) {
  const auto plural = [](std::uint64_t count, const char* one, const char* many) {
    return grouped(count) + " " + (count == 1 ? one : many);
  };
  out << plural(report.requests, "request", "requests") << " of "
      << plural(report.entities, "entity", "entities");
  if (report.first_time) {
    out << " in " << format_wait(*report.last_time - *report.first_time) << " from "
        << format_exact(*report.first_time, zone);
  }
  out << '\n';
  print_totals(out, report, terminal);
  if (!report.limits.empty()) print_limits(out, report, terminal);
  if (!report.most_rejected.empty()) print_most_rejected(out, report, terminal);
  if (!report.timeline.spans().empty()) print_timeline(out, report.timeline, terminal, zone);
  if (report.stats) print_stats(out, *report.stats, terminal);
}

}  // namespace stint::cli
