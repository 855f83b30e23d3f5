#include "cli/replay/replay_command.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/exit_codes.h"
#include "cli/json_writer.h"
#include "cli/manifest/apply.h"
#include "cli/manifest/manifest.h"
#include "cli/manifest/reset_rule.h"
#include "cli/progress_line.h"
#include "cli/replay/decision_writer.h"
#include "cli/replay/replay.h"
#include "cli/replay/report.h"
#include "cli/replay/request_reader.h"

namespace stint::cli {
namespace {

// Nobody else changes the configuration while a replay runs, so that it need never be read again.
constexpr Millis kForever = std::chrono::hours(24 * 36'500);

struct ReplayArguments {
  std::string input;
  std::string manifest;
  std::string format = "csv";
  std::string time;
  std::string entity;
  std::string resource;
  std::vector<std::string> consume;
  std::string decisions;
  std::string reset_rule;
  bool sorted = false;
  bool strict = false;
  bool force = false;
  bool stats = false;
  /// Whether --store is on the command line: a replay does not write into the store that happens to
  /// be the environment's.
  bool store_given = false;
};

Result<TrafficFormat> parse_format(std::string_view text) {
  if (text == "csv") return TrafficFormat::kCsv;
  if (text == "jsonl") return TrafficFormat::kJsonLines;
  if (text == "combined") return TrafficFormat::kCombined;
  return Error::invalid("format", text, "must be csv, jsonl or combined");
}

Result<RequestRules> parse_rules(const ReplayArguments& arguments) {
  Result<TrafficFormat> format = parse_format(arguments.format);
  if (!format) return format.error();
  RequestRules rules;
  rules.format = *format;
  if (*format == TrafficFormat::kCombined) {
    rules.entity.text = "client";
    rules.resource = TextRule{true, "web"};
  }
  if (!arguments.time.empty()) rules.time_field = arguments.time;
  if (!arguments.entity.empty()) {
    Result<TextRule> entity = TextRule::parse("entity", arguments.entity);
    if (!entity) return entity.error();
    rules.entity = *entity;
  }
  if (!arguments.resource.empty()) {
    Result<TextRule> resource = TextRule::parse("resource", arguments.resource);
    if (!resource) return resource.error();
    rules.resource = *resource;
  }
  for (const std::string& argument : arguments.consume) {
    for (std::string_view rest = argument;;) {
      const std::size_t comma = rest.find(',');
      Result<ConsumeRule> rule = ConsumeRule::parse(rest.substr(0, comma));
      if (!rule) return rule.error();
      rules.consume.push_back(std::move(*rule));
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return rules;
}

bool in_memory(const ReplayArguments& arguments, const Globals& globals) {
  return !arguments.store_given || std::holds_alternative<InMemory>(globals.store_address);
}

Status check_store_empty(const ReplayArguments& arguments, const Globals& globals) {
  if (in_memory(arguments, globals) || arguments.force) return {};
  const auto* directory = std::get_if<Directory>(&globals.store_address);
  if (directory == nullptr) {
    return Error::invalid("store", globals.store_name,
                          "may hold what is ahead of the recorded times, and others may use it; "
                          "add --force for a table that is there for the replay alone");
  }
  std::error_code code;
  if (!std::filesystem::exists(directory->path, code) ||
      std::filesystem::is_empty(directory->path, code)) {
    return {};
  }
  return Error::invalid("store", globals.store_name,
                        "is not empty, and what it holds may be ahead of the recorded times; name "
                        "a new directory, or add --force");
}

Result<Manifest> load_manifest(const std::string& path) {
  Result<std::string> text = read_manifest_file(path);
  if (!text) return text.error();
  ReadManifest read = parse_manifest(*text);
  if (!read.manifest) return first_problem(path, read.problems);
  return std::move(*read.manifest);
}

std::string describe(const ReplayProgress& progress, std::optional<std::uint64_t> total_bytes) {
  std::string text = fmt::format("read {}", progress.read);
  if (total_bytes && *total_bytes > 0) {
    text += fmt::format(" ({} %)", progress.bytes_read * 100 / *total_bytes);
  }
  return text + fmt::format(", decided {}", progress.decided);
}

void print_skipped(std::ostream& err, const SkippedRecords& skipped) {
  for (const SkippedRecords::Record& record : skipped.first()) {
    err << fmt::format("stint: skipped line {}: {}\n", record.line, record.reason);
  }
  if (skipped.count() > skipped.first().size()) {
    err << fmt::format("stint: skipped {} more\n", skipped.count() - skipped.first().size());
  }
}

Result<int> run_replay(const ReplayArguments& arguments, Globals& globals) {
  Result<RequestRules> rules = parse_rules(arguments);
  if (!rules) return rules.error();
  StoreOptions store_options;
  if (!arguments.reset_rule.empty()) {
    Result<ResetRule> rule = parse_reset_rule(arguments.reset_rule);
    if (!rule) return rule.error();
    store_options.reset_rule = *rule;
  }
  Result<Manifest> manifest = load_manifest(arguments.manifest);
  if (!manifest) return manifest.error();
  Result<std::unique_ptr<ByteSource>> source = open_input(arguments.input);
  if (!source) return source.error();
  Result<std::unique_ptr<RequestReader>> reader = RequestReader::open(std::move(*rules), **source);
  if (!reader) return reader.error();

  if (Status status = check_store_empty(arguments, globals); !status) return status.error();
  std::unique_ptr<DecisionWriter> decisions;
  if (!arguments.decisions.empty()) {
    Result<std::unique_ptr<DecisionWriter>> writer = DecisionWriter::open(arguments.decisions);
    if (!writer) return writer.error();
    decisions = std::move(*writer);
  }
  Result<Store> store = in_memory(arguments, globals) ? open_memory(store_options)
                                                      : globals.open_store(store_options);
  if (!store) return store.error();
  ReplayClock clock;
  LimiterOptions options;
  options.name_space = manifest->name_space;
  options.clock = &clock;
  options.config_ttl = kForever;
  {
    // By a limiter of its own, which is not counted.
    Limiter configured(*store, options);
    if (Status status = apply_manifest(configured, *manifest); !status) return status.error();
  }
  Counters counters;
  if (arguments.stats) options.observer = &counters;
  Limiter limiter(std::move(*store), options);

  std::optional<ProgressLine> progress;
  ReplaySettings settings{arguments.sorted, arguments.strict, decisions.get()};
  if (error_stream_is_terminal()) {
    progress.emplace(globals.err, true);
    settings.on_progress = [&progress, total = (*source)->size()](const ReplayProgress& now) {
      if (progress->due()) progress->show(describe(now, total));
    };
  }
  Result<ReplayReport> report = replay(limiter, clock, **reader, settings);
  progress.reset();
  // What was decided before an error is of use, and of the two errors the first is the cause.
  Status written = decisions == nullptr ? Status() : decisions->finish();
  if (!report) return report.error();
  if (!written) return written.error();
  if (arguments.stats) report->stats = counters.snapshot();

  if (globals.json) {
    JsonWriter json;
    write_report(json, *report);
    globals.out << json.text() << '\n';
    return kExitOk;
  }
  print_skipped(globals.err, report->skipped);
  Result<TimeZone> utc = TimeZone::find("UTC");
  if (!utc) return utc.error();
  print_report(globals.out, *report, globals.terminal, globals.zone.value_or(*utc));
  return kExitOk;
}

}  // namespace

void add_replay_command(CLI::App& app, Globals& globals) {
  auto arguments = std::make_shared<ReplayArguments>();
  CLI::App* command = add_subcommand(
      app, "replay", "Run recorded traffic through a policy, at its recorded times",
      "stint replay --manifest policy.yaml --consume requests=1 --consume tokens=in+out calls.csv");
  command->add_option("INPUT", arguments->input, "Recorded traffic; - is standard input")
      ->type_name("FILE")
      ->required();
  command->add_option("--manifest", arguments->manifest, "The policy (see `stint manifest`)")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--format", arguments->format,
                   "csv with a header, jsonl (one object a line), or combined (a web server's "
                   "log, with the fields client, path, status, bytes)")
      ->type_name("csv|jsonl|combined")
      ->capture_default_str();
  command
      ->add_option("--time", arguments->time,
                   "Field with the time: ISO 8601, seconds or milliseconds since 1970, or as in "
                   "web logs. Default: time")
      ->type_name("FIELD");
  command
      ->add_option("--entity", arguments->entity,
                   "Field with the entity, or = and one for all. Default: entity; client")
      ->type_name("FIELD|=ID");
  command
      ->add_option("--resource", arguments->resource,
                   "Field with the resource, or = and one for all. Default: resource; =web")
      ->type_name("FIELD|=NAME");
  add_amounts_option(*command, "--consume", arguments->consume,
                     "What a record takes of a limit: a whole number, a field, or a sum such as "
                     "in+out. With jsonl, records may bring their own amounts in a field consume")
      ->type_name("LIMIT=EXPR ...");
  command->add_flag("--sorted", arguments->sorted,
                    "The input is in order of time: decide while reading, whatever its size");
  command->add_flag("--strict", arguments->strict, "Stop at the first record that cannot be used");
  command
      ->add_option("--decisions", arguments->decisions,
                   "Write one JSON line per decision to this file")
      ->type_name("FILE");
  command->add_flag("--stats", arguments->stats,
                    "Also tell what deciding took: store requests, capacity units, cache hits");
  command
      ->add_option(
          "--reset-rule", arguments->reset_rule,
          "How resets are read where local time skips or repeats them. Default: as the store "
          "says; local_day in memory")
      ->type_name("local_day|compatible");
  command->add_flag("--force", arguments->force, "Replay into a --store that is not empty");
  const CLI::Option* store = app.get_option("--store");
  command->callback([arguments, &globals, store] {
    arguments->store_given = store->count() > 0;
    globals.action = [arguments, &globals] { return run_replay(*arguments, globals); };
  });
}

}  // namespace stint::cli
