#include "cli/manifest/manifest.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <utility>

#include "base/timezone.h"
#include "model/names.h"

namespace stint::cli {
namespace {

constexpr std::int64_t kDefaultRefillPeriodSeconds = 60;  // rules 8.3

using Kind = YamlNode::Kind;
using Keys = std::initializer_list<std::string_view>;

const YamlNode* find(const YamlNode& map, std::string_view key) {
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    if (map.keys[i] == key) return &map.items[i];
  }
  return nullptr;
}

std::string shown(const YamlNode& node) {
  switch (node.kind) {
    case Kind::kNull: return "null";
    case Kind::kScalar: return node.text;
    case Kind::kSequence: return "[...]";
    case Kind::kMap: return "{...}";
    case Kind::kRefused: return "";
  }
  return "";
}

std::string child(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}

bool is_decimal(std::string_view text) {
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const std::string_view rest =
      point == std::string_view::npos ? std::string_view("0") : text.substr(point + 1);
  const auto digits = [](std::string_view part) {
    return !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
  };
  return digits(whole) && digits(rest);
}

// Walks the tree once and turns it into values. A function whose result is empty has reported why.
class ManifestReader {
 public:
  explicit ManifestReader(std::vector<ManifestProblem>& problems) : problems_(problems) {}

  Manifest read(const YamlNode& root) {
    Manifest manifest;
    if (root.kind == Kind::kRefused) return manifest;
    if (root.kind != Kind::kMap) {
      report(root, "manifest", "must be a mapping with namespace, system, resources and entities");
      return manifest;
    }
    check_keys(root, "", {"namespace", "system", "resources", "entities"});
    read_namespace(root, manifest);
    if (const YamlNode* system = find(root, "system"); is_map(system, "system")) {
      check_keys(*system, "system", {"on_unavailable", "limits"});
      ManifestScope scope{Scope::system(), {}, system->line};
      scope.config.on_unavailable = read_on_unavailable(*system);
      scope.config.limits = read_limits(*system, "system");
      manifest.scopes.push_back(std::move(scope));
    }
    if (const YamlNode* resources = find(root, "resources"); is_map(resources, "resources")) {
      read_resources(*resources, manifest);
    }
    if (const YamlNode* entities = find(root, "entities"); is_map(entities, "entities")) {
      read_entities(*entities, manifest);
    }
    return manifest;
  }

 private:
  void report(int line, std::string field, std::string_view value, std::string reason) {
    problems_.push_back({line, Error::invalid(std::move(field), value, std::move(reason))});
  }
  void report(const YamlNode& node, const std::string& path, std::string reason) {
    if (node.kind == Kind::kRefused) return;
    report(node.line, path, shown(node), std::move(reason));
  }
  // An error of the library, for the value at a path.
  void report(const YamlNode& node, const std::string& path, const Error& error) {
    report(node.line, path, error.value(), error.reason());
  }

  void check_keys(const YamlNode& map, const std::string& path, Keys known) {
    for (std::size_t i = 0; i < map.keys.size(); ++i) {
      if (std::find(known.begin(), known.end(), map.keys[i]) != known.end()) continue;
      std::string list;
      for (std::string_view key : known) list += (list.empty() ? "" : ", ") + std::string(key);
      report(map.key_lines[i], child(path, map.keys[i]), map.keys[i],
             "is not known here; known are: " + list);
    }
  }

  // Whether a section is there to be read. Absent is fine, anything but a mapping is not.
  bool is_map(const YamlNode* node, const std::string& path) {
    if (node == nullptr) return false;
    if (node->kind == Kind::kMap) return true;
    report(*node, path, "must be a mapping");
    return false;
  }
  // The same for a list with at least one element.
  bool is_list(const YamlNode* node, const std::string& path) {
    if (node == nullptr) return false;
    if (node->kind == Kind::kSequence && !node->items.empty()) return true;
    report(*node, path, "must be a list with at least one entry");
    return false;
  }

  std::optional<std::int64_t> read_integer(const YamlNode& node, const std::string& path) {
    const std::string_view text = node.text;
    std::int64_t value = 0;
    if (node.kind == Kind::kScalar && !node.quoted) {
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      const std::string_view digits = text.substr(text.substr(0, 1) == "-" ? 1 : 0);
      const bool octal_look = digits.size() > 1 && digits.front() == '0';
      if (end == text.data() + text.size() && !octal_look) {
        if (error == std::errc()) return value;
        if (error == std::errc::result_out_of_range) {
          report(node, path, "is too large");
          return std::nullopt;
        }
      }
    }
    report(node, path, "must be a whole number, written in decimal digits without quotes");
    return std::nullopt;
  }

  // The number of an optional key; `fallback` where it is absent.
  std::optional<std::int64_t> integer_or(const YamlNode& map, const std::string& path,
                                         std::string_view key, std::int64_t fallback) {
    const YamlNode* node = find(map, key);
    return node == nullptr ? fallback : read_integer(*node, child(path, key));
  }

  std::optional<bool> read_bool(const YamlNode& node, const std::string& path) {
    if (node.kind == Kind::kScalar && !node.quoted) {
      if (node.text == "true") return true;
      if (node.text == "false") return false;
    }
    report(node, path, "must be true or false");
    return std::nullopt;
  }

  const std::string* read_text(const YamlNode& node, const std::string& path) {
    if (node.kind == Kind::kScalar && !node.text.empty()) return &node.text;
    report(node, path, "must be a text that is not empty");
    return nullptr;
  }

  void read_namespace(const YamlNode& root, Manifest& manifest) {
    const YamlNode* node = find(root, "namespace");
    if (node == nullptr) {
      report(root.line, "namespace", "", "is required");
      return;
    }
    const std::string* name = read_text(*node, "namespace");
    if (name == nullptr) return;
    if (Status status = model::validate_namespace(*name); !status) {
      report(*node, "namespace", status.error());
      return;
    }
    manifest.name_space = *name;
  }

  std::optional<OnUnavailable> read_on_unavailable(const YamlNode& system) {
    const YamlNode* node = find(system, "on_unavailable");
    if (node == nullptr) return std::nullopt;
    if (node->kind == Kind::kScalar && node->text == "block") return OnUnavailable::kBlock;
    if (node->kind == Kind::kScalar && node->text == "allow") return OnUnavailable::kAllow;
    report(*node, "system.on_unavailable", "must be block or allow");
    return std::nullopt;
  }

  void read_resources(const YamlNode& resources, Manifest& manifest) {
    for (std::size_t i = 0; i < resources.keys.size(); ++i) {
      const std::string& name = resources.keys[i];
      const std::string path = child("resources", name);
      if (Status status = model::validate_resource(name); !status) {
        report(resources.key_lines[i], path, name, status.error().reason());
        continue;
      }
      read_scope(Scope::resource(name), resources.items[i], path, manifest);
    }
  }

  void read_entities(const YamlNode& entities, Manifest& manifest) {
    for (std::size_t i = 0; i < entities.keys.size(); ++i) {
      const std::string& id = entities.keys[i];
      const std::string path = child("entities", id);
      const YamlNode& entity = entities.items[i];
      if (Status status = model::validate_entity_id("entity", id); !status) {
        report(entities.key_lines[i], path, id, status.error().reason());
        continue;
      }
      if (!is_map(&entity, path)) continue;
      check_keys(entity, path, {"resources"});
      const YamlNode* resources = find(entity, "resources");
      if (!is_map(resources, child(path, "resources"))) continue;
      for (std::size_t j = 0; j < resources->keys.size(); ++j) {
        const std::string& name = resources->keys[j];
        const std::string scope_path = child(child(path, "resources"), name);
        const bool entity_wide = name == model::kDefaultResource;
        if (Status status = model::validate_resource(name); !status && !entity_wide) {
          report(resources->key_lines[j], scope_path, name, status.error().reason());
          continue;
        }
        read_scope(entity_wide ? Scope::entity(id) : Scope::entity_resource(id, name),
                   resources->items[j], scope_path, manifest);
      }
    }
  }

  void read_scope(const Scope& scope, const YamlNode& node, const std::string& path,
                  Manifest& manifest) {
    if (!is_map(&node, path)) return;
    check_keys(node, path, {"limits", "disabled", "cascade"});
    ManifestScope read{scope, {}, node.line};
    read.config.access = read_access(node, path);
    // null says the same as leaving the key out.
    if (const YamlNode* cascade = find(node, "cascade");
        cascade != nullptr && cascade->kind != Kind::kNull) {
      read.config.cascade = read_bool(*cascade, child(path, "cascade"));
    }
    read.config.limits = read_limits(node, path);
    manifest.scopes.push_back(std::move(read));
  }

  std::optional<AccessPolicy> read_access(const YamlNode& scope, const std::string& path) {
    const YamlNode* node = find(scope, "disabled");
    if (node == nullptr || node->kind == Kind::kNull) return std::nullopt;
    if (node->kind == Kind::kScalar && !node->quoted) {
      if (node->text == "true") return AccessPolicy::kDisabled;
      if (node->text == "false") return AccessPolicy::kEnforce;
    }
    if (node->kind == Kind::kScalar && node->text == "bypass") return AccessPolicy::kBypass;
    report(*node, child(path, "disabled"), "must be true, false, bypass or null");
    return std::nullopt;
  }

  std::vector<Limit> read_limits(const YamlNode& scope, const std::string& scope_path) {
    std::vector<Limit> limits;
    const YamlNode* node = find(scope, "limits");
    const std::string path = child(scope_path, "limits");
    if (!is_map(node, path)) return limits;
    bool together = true;
    for (std::size_t i = 0; i < node->keys.size(); ++i) {
      const std::string limit_path = child(path, node->keys[i]);
      if (!is_map(&node->items[i], limit_path)) continue;
      std::optional<Limit> limit =
          read_limit(node->keys[i], node->key_lines[i], node->items[i], limit_path);
      if (!limit) continue;
      limits.push_back(*std::move(limit));
      // Whether limits fit together (zone, number) is the set's to say; asked limit by limit, the
      // answer has a line. The first is enough: the rest follows from it.
      const LimitList list(limits);
      if (together && list.error()) {
        together = false;
        report(node->key_lines[i], limit_path, list.error()->value(), list.error()->reason());
      }
    }
    return limits;
  }

  // A zone shared by all schedules of one limit, and where it was first named.
  struct SharedZone {
    std::optional<TimeZone> zone;
    int line = 0;
  };

  std::optional<Limit> read_limit(const std::string& name, int name_line, const YamlNode& node,
                                  const std::string& path) {
    const std::size_t problems_before = problems_.size();
    check_keys(node, path,
               {"capacity", "burst", "refill_amount", "refill_period", "schedule", "reset_schedule",
                "reset_after_seconds", "soft"});
    if (Status status = model::validate_limit_name(name); !status) {
      report(name_line, path, name, status.error().reason());
    }
    const YamlNode* capacity_node = find(node, "capacity");
    if (capacity_node == nullptr) report(name_line, child(path, "capacity"), "", "is required");
    std::optional<std::int64_t> capacity = integer_or(node, path, "capacity", 0);
    // The older spelling of a ceiling above the refill; refill_amount then follows it, too.
    const YamlNode* burst_node = find(node, "burst");
    if (burst_node != nullptr) {
      if (capacity_node != nullptr && capacity && *capacity < 1) {
        report(*capacity_node, child(path, "capacity"), "must be greater than 0");
      }
      capacity = read_integer(*burst_node, child(path, "burst"));
    }

    SharedZone zone;
    const YamlNode* resets_node = find(node, "reset_schedule");
    const YamlNode* after_node = find(node, "reset_after_seconds");
    const YamlNode* schedule_node = find(node, "schedule");
    const bool quota = resets_node != nullptr || after_node != nullptr;
    if (resets_node != nullptr && after_node != nullptr) {
      report(*after_node, child(path, "reset_after_seconds"),
             "a limit has a reset_schedule or reset_after_seconds, not both");
    }
    std::vector<Cron> resets;
    if (is_list(resets_node, child(path, "reset_schedule"))) {
      resets = read_resets(*resets_node, child(path, "reset_schedule"), zone);
    }
    std::optional<std::int64_t> reset_after = integer_or(node, path, "reset_after_seconds", 0);
    std::optional<std::int64_t> refill_amount =
        integer_or(node, path, "refill_amount", quota ? 0 : capacity.value_or(0));
    std::optional<std::int64_t> refill_period =
        integer_or(node, path, "refill_period", kDefaultRefillPeriodSeconds);
    std::vector<LevelEntry> schedule;
    std::vector<int> schedule_lines;
    if (is_list(schedule_node, child(path, "schedule"))) {
      schedule = read_schedule(*schedule_node, child(path, "schedule"), zone, schedule_lines);
    }
    bool soft = false;
    if (const YamlNode* soft_node = find(node, "soft")) {
      soft = read_bool(*soft_node, child(path, "soft")).value_or(false);
    }
    if (quota && refill_amount && *refill_amount != 0) {
      report(*find(node, "refill_amount"), child(path, "refill_amount"),
             "a quota is restored by its resets and does not refill; leave it out or write 0");
    }
    // What follows needs values that can be trusted.
    if (problems_.size() != problems_before) return std::nullopt;

    const std::string zone_name = zone.zone ? zone.zone->name() : "UTC";
    const std::chrono::seconds period(*refill_period);
    Result<Limit> limit = [&]() -> Result<Limit> {
      // The period is without effect on a quota, but a wrong one is a mistake all the same.
      Result<Limit> rate = Limit::rate(name, *capacity, quota ? 1 : *refill_amount, period);
      if (!quota || !rate) return rate;
      if (after_node != nullptr) {
        return Limit::session(name, *capacity, std::chrono::seconds(*reset_after));
      }
      return Limit::calendar(name, *capacity, resets, zone_name);
    }();
    if (!limit) {
      report_limit_error(limit.error(), node, name_line, path);
      return std::nullopt;
    }
    if (!schedule.empty()) {
      limit = with_schedule(*limit, std::move(schedule), zone_name, schedule_lines, path);
      if (!limit) return std::nullopt;
    }
    return limit->as_soft(soft);
  }

  // Adds the schedule, or says which of its lines does not suit the limit.
  Result<Limit> with_schedule(const Limit& limit, std::vector<LevelEntry> schedule,
                              const std::string& zone, const std::vector<int>& lines,
                              const std::string& path) {
    for (std::size_t i = 0; i < schedule.size(); ++i) {
      Result<Limit> alone = limit.with_schedule({schedule[i]}, zone);
      if (alone) continue;
      report(lines[i], child(path, "schedule"), alone.error().value(), alone.error().reason());
      return alone;
    }
    return limit.with_schedule(std::move(schedule), zone);
  }

  // The library names its parameters; the manifest names its keys.
  void report_limit_error(const Error& error, const YamlNode& node, int name_line,
                          const std::string& path) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kKeyOfField = {{
        {"limit.capacity", "burst"},
        {"limit.capacity", "capacity"},
        {"limit.refill_amount", "refill_amount"},
        {"limit.refill_period", "refill_period"},
        {"limit.reset_after", "reset_after_seconds"},
        {"cron", "reset_schedule"},
    }};
    for (const auto& [field, key] : kKeyOfField) {
      const YamlNode* value = find(node, key);
      if (field != error.field() || value == nullptr) continue;
      report(*value, child(path, key), error);
      return;
    }
    report(name_line, path, error.value(), error.reason());
  }

  std::optional<Cron> read_cron(const YamlNode& entry, const std::string& path) {
    const YamlNode* node = find(entry, "cron");
    if (node == nullptr) {
      report(entry.line, child(path, "cron"), "", "is required");
      return std::nullopt;
    }
    const std::string* text = read_text(*node, child(path, "cron"));
    if (text == nullptr) return std::nullopt;
    Result<Cron> cron = Cron::parse(*text);
    if (!cron) {
      report(*node, child(path, "cron"), cron.error());
      return std::nullopt;
    }
    return *cron;
  }

  void read_zone(const YamlNode& entry, const std::string& path, SharedZone& shared) {
    const YamlNode* node = find(entry, "tz");
    const std::string* name = nullptr;
    if (node != nullptr) {
      name = read_text(*node, child(path, "tz"));
      if (name == nullptr) return;
    }
    Result<TimeZone> zone = TimeZone::find(name == nullptr ? "UTC" : *name);
    const YamlNode& place = node == nullptr ? entry : *node;
    if (!zone) {
      report(place, child(path, "tz"), zone.error());
      return;
    }
    if (!shared.zone) {
      shared.zone = *zone;
      shared.line = place.line;
    } else if (!(*shared.zone == *zone)) {
      report(place.line, child(path, "tz"), zone->name(),
             "a limit has one zone, which line " + std::to_string(shared.line) + " says is " +
                 shared.zone->name());
    }
  }

  std::vector<Cron> read_resets(const YamlNode& list, const std::string& path, SharedZone& zone) {
    std::vector<Cron> resets;
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      const YamlNode& entry = list.items[i];
      const std::string entry_path = path + "[" + std::to_string(i) + "]";
      if (!is_map(&entry, entry_path)) continue;
      check_keys(entry, entry_path, {"cron", "tz"});
      read_zone(entry, entry_path, zone);
      if (std::optional<Cron> cron = read_cron(entry, entry_path)) {
        resets.push_back(*std::move(cron));
      }
    }
    return resets;
  }

  std::vector<LevelEntry> read_schedule(const YamlNode& list, const std::string& path,
                                        SharedZone& zone, std::vector<int>& lines) {
    std::vector<LevelEntry> schedule;
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      const YamlNode& entry = list.items[i];
      const std::string entry_path = path + "[" + std::to_string(i) + "]";
      if (!is_map(&entry, entry_path)) continue;
      check_keys(entry, entry_path,
                 {"cron", "tz", "scale", "capacity", "refill_amount", "refill_period_seconds"});
      read_zone(entry, entry_path, zone);
      std::optional<Cron> cron = read_cron(entry, entry_path);
      if (!cron) continue;
      std::optional<LevelEntry> level = read_level(entry, entry_path, *cron);
      if (!level) continue;
      schedule.push_back(*std::move(level));
      lines.push_back(entry.line);
    }
    return schedule;
  }

  std::optional<LevelEntry> read_level(const YamlNode& entry, const std::string& path,
                                       const Cron& cron) {
    const std::size_t problems_before = problems_.size();
    LevelEntry::Absolute absolute;
    const auto number = [&](std::string_view key) -> std::optional<std::int64_t> {
      const YamlNode* node = find(entry, key);
      return node == nullptr ? std::nullopt : read_integer(*node, child(path, key));
    };
    if (const auto capacity = number("capacity")) absolute.capacity = *capacity;
    if (const auto amount = number("refill_amount")) absolute.refill_amount = *amount;
    if (const auto period = number("refill_period_seconds")) {
      absolute.refill_period = std::chrono::seconds(*period);
    }
    if (problems_.size() != problems_before) return std::nullopt;
    const bool any_absolute = absolute.capacity || absolute.refill_amount || absolute.refill_period;
    const YamlNode* scale = find(entry, "scale");
    if (scale == nullptr) {
      Result<LevelEntry> level = LevelEntry::absolute(cron, absolute);
      if (level) return *level;
      report(entry.line, path, level.error().value(), level.error().reason());
      return std::nullopt;
    }
    const std::string scale_path = child(path, "scale");
    if (any_absolute) {
      report(*scale, scale_path, "an entry has a scale or parameters of its own, not both");
      return std::nullopt;
    }
    if (scale->kind != Kind::kScalar || scale->quoted || !is_decimal(scale->text)) {
      report(*scale, scale_path, "must be a decimal number such as 0.5, without quotes");
      return std::nullopt;
    }
    double factor = 0;
    const char* end = scale->text.data() + scale->text.size();
    if (std::from_chars(scale->text.data(), end, factor).ec != std::errc()) {
      report(*scale, scale_path, "is out of range");
      return std::nullopt;
    }
    Result<LevelEntry> level = LevelEntry::scaled(cron.text(), factor);
    if (level) return *level;
    report(*scale, scale_path, level.error());
    return std::nullopt;
  }

  std::vector<ManifestProblem>& problems_;
};

}  // namespace

ReadManifest parse_manifest(std::string_view text) {
  ReadManifest result;
  const YamlNode root = read_yaml(text, result.problems);
  Manifest manifest = ManifestReader(result.problems).read(root);
  std::stable_sort(
      result.problems.begin(), result.problems.end(),
      [](const ManifestProblem& a, const ManifestProblem& b) { return a.line < b.line; });
  if (result.problems.empty()) result.manifest = std::move(manifest);
  return result;
}

Result<std::string> read_manifest_file(const std::string& path) {
  std::error_code code;
  if (std::filesystem::is_directory(path, code)) {
    return Error::invalid("manifest", path, "is a directory");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error::invalid("manifest", path, "cannot be opened");
  // One byte more than is allowed tells that there is more.
  std::string text(kMaxManifestBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return Error::invalid("manifest", path, "cannot be read");
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

Error first_problem(const std::string& path, const std::vector<ManifestProblem>& problems) {
  const ManifestProblem& first = problems.front();
  std::string reason =
      first.error.reason() + " (" + path + ", line " + std::to_string(first.line) + ")";
  if (problems.size() > 1) {
    reason += "; `stint manifest check` shows all " + std::to_string(problems.size()) + " mistakes";
  }
  return Error::invalid(first.error.field(), first.error.value(), std::move(reason));
}

std::vector<ContestedResets> contested_resets(const Manifest& manifest, TimePoint now) {
  std::vector<ContestedResets> contested;
  for (const ManifestScope& scope : manifest.scopes) {
    for (ContestedResets& resets : contested_resets(scope.scope, scope.config.limits, now)) {
      contested.push_back(std::move(resets));
    }
  }
  return contested;
}

}  // namespace stint::cli
