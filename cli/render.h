// Limits and their state, for people and as JSON.
#ifndef STINT_CLI_RENDER_H_
#define STINT_CLI_RENDER_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/timezone.h"
#include "cli/json_writer.h"
#include "cli/terminal.h"
#include "stint/decision.h"
#include "stint/limiter.h"
#include "stint/time.h"

namespace stint::cli {

/// A space at which `wrap` ends no line.
inline constexpr char kNoBreak = '\x1f';
/// Breaks a text at spaces into lines of at most `width` characters where its words allow, each but
/// the first after `indent`.
std::string wrap(std::string_view text, std::size_t width, std::string_view indent = "");

/// How full something is, `width` characters: blocks in eighths, or `#` and `.` in ASCII. What is
/// above nothing is never shown as empty, what is below full never as full.
std::string format_bar(MilliTokens remaining, MilliTokens capacity, int width, bool unicode);

/// The text with '?' for each control character, so that what other programs wrote cannot steer a
/// terminal.
std::string without_controls(std::string_view text);

/// Columns set apart by two spaces, the last not padded. Cells are measured in characters, and
/// shown without control characters.
class Table {
 public:
  enum class Align { kLeft, kRight };
  explicit Table(std::vector<Align> columns) : columns_(std::move(columns)) {}

  struct Cell {
    Cell(std::string cell_text) : text(std::move(cell_text)) {}  // NOLINT: implicit by design
    Cell(const char* cell_text) : text(cell_text) {}             // NOLINT: implicit by design
    Cell(std::string cell_text, Colour cell_colour)
        : text(std::move(cell_text)), colour(cell_colour) {}
    std::string text;
    std::optional<Colour> colour = std::nullopt;
  };
  /// As many cells as there are columns.
  void add(std::vector<Cell> row);
  /// A row of column heads, in bold.
  void add_heads(std::vector<Cell> heads);
  /// Lines that end with a line break, each after `indent`.
  std::string text(const Terminal& terminal, std::string_view indent = "  ") const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<Cell>> rows_;
};

/// Where and when statuses are shown.
struct Viewpoint {
  TimePoint now;
  Terminal terminal;
  /// The zone to show instants in, if the reader chose one.
  std::optional<TimeZone> zone;
  /// Zones of limits by entity and name, for a reader who chose none; others are shown in UTC.
  std::map<std::pair<std::string, std::string>, TimeZone> limit_zones = {};

  /// The zone for what concerns one limit.
  TimeZone zone_of(const std::string& entity, const std::string& limit) const;
  /// The zone for when a request fits: that of the limit that makes it wait longest.
  TimeZone zone_of_wait(const std::vector<LimitStatus>& statuses) const;
  /// The zone for everything else.
  TimeZone zone_or_utc() const;
};

/// What there is to say of one limit beside its balance: "resets in 4 h 12 min (14:05
/// Europe/Berlin)", "window not started", "fits in 1.2 s", "never fits".
std::string describe_state(const LimitStatus& status, const Viewpoint& view);

/// One line per limit: name, kind, what is left of how much, bar, `describe_state`; under a heading
/// for each bucket where there is more than one.
std::string format_statuses(const std::vector<LimitStatus>& statuses, const Viewpoint& view);

/// How a limit recovers, in words: "60 a minute, up to 90 at once".
std::string describe_limit(const Limit& limit);

/// "entity user-1 and resource api", "the system", ...
std::string describe_scope(const Scope& scope);

void write_status(JsonWriter& json, const LimitStatus& status);
/// The member `hindrance`: null when there is none.
void write_hindrance(JsonWriter& json, const std::string& hindrance);
/// The fields of a limit and its text in the grammar (`spec`).
void write_limit(JsonWriter& json, const Limit& limit);
void write_config(JsonWriter& json, const ScopeConfig& config);
void write_scope(JsonWriter& json, const Scope& scope);
void write_entity(JsonWriter& json, const Entity& entity);

std::string_view to_string(AccessPolicy access);
std::string_view to_string(OnUnavailable behaviour);

}  // namespace stint::cli

#endif  // STINT_CLI_RENDER_H_
