#include "cli/store/store_command.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/exit_codes.h"
#include "cli/json_writer.h"
#include "cli/store/watch.h"
#include "schema/records.h"
#include "stint/maintenance.h"

namespace stint::cli {
namespace {

// So many problems are listed in JSON, which is printed as a whole; all are counted.
constexpr std::size_t kMostListed = 1000;

struct InfoArguments {
  bool quick = false;
  bool progress = false;
};

struct CheckArguments {
  bool progress = false;
};

struct BackupArguments {
  std::string directory;
};

void write_counts(JsonWriter& json, const StoreCounts& counts) {
  json.begin_object();
  json.member("items", counts.items);
  json.member("bytes", counts.bytes);
  json.member("expired", counts.expired);
  json.member("unreadable", counts.unreadable);
  json.key("largest");
  json.begin_object();
  json.member("pk", counts.largest_pk);
  json.member("sk", counts.largest_sk);
  json.member("bytes", counts.largest_bytes);
  json.end_object();
  json.key("by_kind");
  json.begin_array();
  for (const ItemCount& count : counts.by_kind) {
    json.begin_object();
    json.member("namespace", count.name_space);
    json.member("kind", count.kind);
    json.member("items", count.items);
    json.member("bytes", count.bytes);
    json.end_object();
  }
  json.end_array();
  json.member("complete", counts.complete);
  json.end_object();
}

void write_info(JsonWriter& json, const StoreInfo& info) {
  json.begin_object();
  json.member("kind", info.kind);
  json.member("location", info.location);
  json.member("survives", info.durability);
  json.key("settings");
  json.begin_object();
  json.member("format", info.settings.format);
  json.member("reset_rule", schema::to_string(info.settings.reset_rule));
  json.member("layout", info.settings.layout);
  json.member("burst_tolerance_divisor", info.settings.burst_tolerance_divisor);
  json.end_object();
  json.member("disk_bytes", info.disk_bytes);
  json.member("estimated_records", info.estimated_records);
  json.key("unfinished_import");
  if (info.unfinished_import) {
    json.begin_object();
    json.member("source", info.unfinished_import->source);
    json.member("lines", info.unfinished_import->lines);
    json.member("started_at", info.unfinished_import->started_at);
    json.end_object();
  } else {
    json.value(nullptr);
  }
  json.key("counts");
  if (info.counts) {
    write_counts(json, *info.counts);
  } else {
    json.value(nullptr);
  }
  json.end_object();
}

void print_info(std::ostream& out, const StoreInfo& info) {
  auto row = [&](const char* name, const std::string& value) {
    out << fmt::format("{:<16}{}\n", name, value);
  };
  row("store", fmt::format("{} ({})", info.location, info.kind));
  row("format", std::to_string(info.settings.format));
  row("layout", info.settings.layout);
  row("reset rule", std::string(schema::to_string(info.settings.reset_rule)));
  int divisor = info.settings.burst_tolerance_divisor;
  row("burst tolerance", divisor == 0 ? "0" : fmt::format("1/{}", divisor));
  row("survives", info.durability);
  if (info.disk_bytes) row("on disk", size_text(static_cast<double>(*info.disk_bytes)));
  if (info.estimated_records) {
    row("records", fmt::format("about {}, index entries included", *info.estimated_records));
  }
  if (info.unfinished_import) {
    row("import", fmt::format("unfinished: {} lines of {}, begun {}", info.unfinished_import->lines,
                              info.unfinished_import->source, info.unfinished_import->started_at));
  }
  if (!info.counts) return;
  const StoreCounts& counts = *info.counts;
  row("items",
      fmt::format("{}{}, {} by the rule that size is charged by", counts.items,
                  counts.complete ? "" : " so far", size_text(static_cast<double>(counts.bytes))));
  row("expired", std::to_string(counts.expired));
  if (counts.unreadable > 0) {
    row("unreadable", fmt::format("{}; `stint store check` names them", counts.unreadable));
  }
  row("largest",
      fmt::format("{} bytes: {} {}", counts.largest_bytes, counts.largest_pk, counts.largest_sk));
  out << fmt::format("\n{:<24}{:<24}{:>12}{:>12}\n", "namespace", "kind", "items", "size");
  for (const ItemCount& count : counts.by_kind) {
    out << fmt::format("{:<24}{:<24}{:>12}{:>12}\n", count.name_space, count.kind, count.items,
                       size_text(static_cast<double>(count.bytes)));
  }
}

Result<int> run_info(const InfoArguments& arguments, Globals& globals) {
  Result<Store> store = globals.open_store(IfMissing::kFail);
  if (!store) return store.error();
  Watch watch(globals.err, arguments.progress);
  InspectOptions options;
  options.count_items = !arguments.quick;
  options.now = globals.now();
  options.on_progress = watch.callback();
  Result<StoreInfo> info = inspect_store(*store, options);
  watch.end_line();
  if (!info) return info.error();
  if (globals.json) {
    JsonWriter json;
    write_info(json, *info);
    globals.out << json.text() << '\n';
  } else {
    print_info(globals.out, *info);
  }
  if (!info->counts || info->counts->complete) return kExitOk;
  globals.err << "stint: interrupted; the counts are of a part of the items\n";
  return kExitInterrupted;
}

Result<int> run_check(const CheckArguments& arguments, Globals& globals) {
  Result<Store> store = globals.open_store(IfMissing::kFail);
  if (!store) return store.error();
  Watch watch(globals.err, arguments.progress);
  std::vector<StoreProblem> listed;
  CheckOptions options;
  options.now = globals.now();
  options.on_progress = watch.callback();
  options.on_problem = [&](const StoreProblem& problem) {
    if (!globals.json) {
      globals.out << problem_line(problem) << '\n' << std::flush;
    } else if (listed.size() < kMostListed) {
      listed.push_back(problem);
    }
  };
  Result<CheckReport> report = check_store(*store, options);
  watch.end_line();
  if (!report) return report.error();
  if (globals.json) {
    JsonWriter json;
    json.begin_object();
    json.member("items", report->items);
    json.member("index_entries", report->index_entries);
    json.member("problem_count", report->problems);
    json.member("unreadable", report->unreadable);
    json.member("lists_compared", report->lists_compared);
    json.member("complete", report->complete);
    json.key("problems");
    json.begin_array();
    for (const StoreProblem& problem : listed) write_problem(json, problem);
    json.end_array();
    json.end_object();
    globals.out << json.text() << '\n';
  } else {
    globals.out << fmt::format("{} items and {} index entries checked: {} problems\n",
                               report->items, report->index_entries, report->problems);
    if (!report->lists_compared) {
      globals.out << "too many namespaces and resources to compare with the lists of them\n";
    }
  }
  if (!report->complete) {
    globals.err << "stint: interrupted; only a part was checked\n";
    return kExitInterrupted;
  }
  return report->problems == 0 ? kExitOk : kExitProblems;
}

Result<int> run_backup(const BackupArguments& arguments, Globals& globals) {
  if (std::holds_alternative<Directory>(globals.store_address)) {
    globals.hint =
        "A directory is open in one process at a time. While a program of yours has it open, only "
        "that\nprogram can make the backup, and need not stop for it: stint::backup_store "
        "(docs/guide/care.md).\n";
  }
  Result<Store> store = globals.open_store(IfMissing::kFail);
  if (!store && store.error().code() != ErrorCode::kUnavailable) globals.hint.clear();
  if (!store) return store.error();
  globals.hint.clear();
  if (Status made = backup_store(*store, arguments.directory); !made) return made.error();
  if (globals.json) {
    JsonWriter json;
    json.begin_object();
    json.member("store", globals.store_name);
    json.member("backup", arguments.directory);
    json.end_object();
    globals.out << json.text() << '\n';
  } else {
    globals.out << fmt::format("backup of {} in {}\n", globals.store_name, arguments.directory);
  }
  return kExitOk;
}

}  // namespace

void add_store_command(CLI::App& app, Globals& globals) {
  CLI::App* store = add_subcommand(app, "store", "Look after a store: size, soundness, copies",
                                   "stint store check");
  store->require_subcommand(1);

  auto info_arguments = std::make_shared<InfoArguments>();
  CLI::App* info =
      add_subcommand(*store, "info", "Show what the store is and what it holds; reads all items",
                     "stint store info --quick");
  info->add_flag("--quick", info_arguments->quick, "Do not count: only the engine's own figures");
  add_progress_option(*info, info_arguments->progress);
  set_action(*info, info_arguments, globals, run_info);

  auto check_arguments = std::make_shared<CheckArguments>();
  CLI::App* check = add_subcommand(
      *store, "check", "Look for what cannot be read or cannot be right; changes nothing",
      "stint store check\n\nExit code 7 when there are problems: items that cannot be understood, "
      "values out of bounds,\nindexes and lists that do not agree with the items.");
  add_progress_option(*check, check_arguments->progress);
  set_action(*check, check_arguments, globals, run_check);

  auto backup_arguments = std::make_shared<BackupArguments>();
  CLI::App* backup = add_subcommand(
      *store, "backup", "Copy the store into a new directory, which is a store itself",
      "stint store backup /backup/stint-2027-01-13 --store /var/lib/stint");
  add_text_option(*backup, "DIR", backup_arguments->directory, "",
                  "Where the copy goes; must not exist, or be empty")
      ->required();
  set_action(*backup, backup_arguments, globals, run_backup);

  add_export_command(*store, globals);
  add_import_command(*store, globals);
}

}  // namespace stint::cli
