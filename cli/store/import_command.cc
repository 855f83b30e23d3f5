// stint store import FILE|- and stint store import --abandon
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/exit_codes.h"
#include "cli/json_writer.h"
#include "cli/replay/byte_source.h"
#include "cli/replay/line_reader.h"
#include "cli/store/store_command.h"
#include "cli/store/watch.h"
#include "stint/maintenance.h"

namespace stint::cli {
namespace {

// An item has at most 400 KB; escapes make its text longer, at worst sixfold.
constexpr std::size_t kMostLineBytes = std::size_t{4} << 20;
constexpr std::uint64_t kLinesBetweenLooks = 256;
constexpr std::uint64_t kMostShown = 20;

struct ImportArguments {
  std::string file;
  bool resume = false;
  bool abandon = false;
  bool force = false;
  bool other_settings = false;
  bool dry_run = false;
  bool progress = false;
};

// The lines of the file. The first is looked at before there is a store.
class Lines {
 public:
  explicit Lines(ByteSource& source) : reader_(source, kMostLineBytes) {}

  /// Goes to the next line. False at the end.
  Result<bool> next() {
    switch (reader_.next()) {
      case LineReader::Outcome::kLine: return true;
      case LineReader::Outcome::kEnd: return false;
      case LineReader::Outcome::kFailed: return *reader_.error();
      case LineReader::Outcome::kTooLong: break;
    }
    return Error::invalid(fmt::format("line {}", reader_.line()), "",
                          "is longer than any item can be");
  }
  std::string_view text() const { return reader_.text(); }
  std::uint64_t number() const { return reader_.line(); }

 private:
  LineReader reader_;
};

// What an error of a line says in a report of all of them.
std::string in_short(const Error& error) {
  if (error.code() != ErrorCode::kInvalidArgument) return error.reason();
  std::string text = error.field() + ": ";
  if (!error.value().empty()) text += "\"" + error.value() + "\" ";
  return text + error.reason();
}

Result<Store> open_target(const ImportArguments& arguments, Globals& globals,
                          const std::optional<StoreSettings>& settings) {
  StoreOptions options;
  options.create_if_missing = false;
  Result<Store> store = globals.open_store(options);
  bool missing = !store && store.error().code() == ErrorCode::kNotFound;
  bool can_be_made = std::holds_alternative<Directory>(globals.store_address);
  if (!missing || arguments.resume || !can_be_made) return store;
  // A new store takes over what can be chosen.
  if (settings) options.reset_rule = settings->reset_rule;
  options.create_if_missing = true;
  return arguments.dry_run ? open_memory(options) : globals.open_store(options);
}

// The lines that a dry run found bad.
struct BadLines {
  std::uint64_t count = 0;
  std::vector<std::string> first;
};

void print_report(Globals& globals, const ImportArguments& arguments, const ImportReport& report,
                  bool complete, const BadLines& bad) {
  if (globals.json) {
    JsonWriter json;
    json.begin_object();
    json.member("file", arguments.file);
    json.member("dry_run", arguments.dry_run);
    json.member("items", report.lines);
    json.member("written", report.written);
    json.member("already_there", report.already_there);
    json.member("resumed_lines", report.resumed);
    json.member("left_out", report.left_out);
    json.member("bad_lines", bad.count);
    json.key("first_bad_lines");
    json.begin_array();
    for (const std::string& text : bad.first) json.value(text);
    json.end_array();
    json.member("target_holds_items", report.target_holds_items);
    json.member("complete", complete);
    json.end_object();
    globals.out << json.text() << '\n';
    return;
  }
  if (arguments.dry_run) {
    globals.out << fmt::format("{} items are good, {} lines are not\n", report.lines, bad.count);
    return;
  }
  if (!complete) return;
  globals.out << fmt::format("{} items written", report.written);
  if (report.already_there > 0)
    globals.out << fmt::format(", {} there already", report.already_there);
  if (report.resumed > 0) globals.out << fmt::format(", {} lines done before", report.resumed);
  globals.out << '\n';
}

std::string how_to_go_on(const ImportReport& report) {
  if (!report.begun) return "Nothing was written.\n";
  return "The store holds a part of the items until `stint store import --resume` with the same "
         "file has\ngone on to the end; lines behind that part may be mended before.\n";
}

Result<int> import_lines(Importer& importer, Lines& lines, const ImportArguments& arguments,
                         Watch& watch, Globals& globals) {
  BadLines bad;
  // A dry run counts all bad lines and shows the first, anything else ends at the first.
  auto tolerated = [&](const Error& error) {
    if (!arguments.dry_run || error.code() == ErrorCode::kUnavailable) return false;
    if (++bad.count > kMostShown) return true;
    bad.first.push_back(in_short(error));
    globals.err << "stint: " << bad.first.back() << '\n';
    return true;
  };
  auto fail = [&](const Error& error) {
    watch.end_line();
    globals.hint = how_to_go_on(importer.report());
    return error;
  };
  bool more = true;
  while (more) {
    Status added = importer.add(lines.text());
    if (!added && !tolerated(added.error())) return fail(added.error());
    for (;;) {
      Result<bool> next = lines.next();
      if (next) {
        more = *next;
        break;
      }
      // A line that is too long is passed over; a file that cannot be read is not.
      bool line_only = next.error().field() != "input";
      if (!line_only || !tolerated(next.error())) return fail(next.error());
      // In its place, so that the lines behind it keep their numbers.
      if (Status counted = importer.add(""); !counted) return fail(counted.error());
    }
    if (lines.number() % kLinesBetweenLooks != 0) continue;
    if (watch.tell({"lines", lines.number()})) continue;
    watch.end_line();
    print_report(globals, arguments, importer.report(), false, bad);
    globals.err << "stint: interrupted at line " << lines.number() << '\n';
    if (!arguments.dry_run) globals.err << how_to_go_on(importer.report());
    return kExitInterrupted;
  }
  if (!arguments.dry_run || bad.count == 0) {
    Result<ImportReport> report = importer.finish();
    if (!report) return fail(report.error());
  }
  watch.end_line();
  if (bad.count > kMostShown) {
    globals.err << fmt::format("stint: {} more bad lines\n", bad.count - kMostShown);
  }
  print_report(globals, arguments, importer.report(), true, bad);
  if (bad.count > 0) return kExitUsage;
  if (arguments.dry_run && !arguments.force && importer.report().target_holds_items) {
    globals.err << "stint: the store holds items already; only --force imports into it\n";
    return kExitConflict;
  }
  return kExitOk;
}

Result<int> run_abandon(const ImportArguments& arguments, Globals& globals) {
  if (!arguments.file.empty() || arguments.resume || arguments.dry_run || arguments.force) {
    return Error::invalid("abandon", "", "stands alone; import afterwards");
  }
  Result<Store> store = globals.open_store(IfMissing::kFail);
  if (!store) return store.error();
  InspectOptions quick;
  quick.count_items = false;
  Result<StoreInfo> info = inspect_store(*store, quick);
  if (!info) return info.error();
  if (Status abandoned = abandon_import(*store); !abandoned) return abandoned.error();
  UnfinishedImport given_up = info->unfinished_import.value_or(UnfinishedImport());
  if (globals.json) {
    JsonWriter json;
    json.begin_object();
    json.member("abandoned", given_up.source);
    json.member("lines", given_up.lines);
    json.end_object();
    globals.out << json.text() << '\n';
  } else {
    globals.out << fmt::format("abandoned; at least the first {} lines of {} stay\n",
                               given_up.lines, given_up.source);
  }
  return kExitOk;
}

Result<int> run_import(const ImportArguments& arguments, Globals& globals) {
  if (arguments.abandon) return run_abandon(arguments, globals);
  if (arguments.file.empty()) return Error::invalid("FILE", "", "is missing");
  if (std::holds_alternative<InMemory>(globals.store_address)) {
    return Error::invalid("store", globals.store_name, "would be gone at once; name a directory");
  }
  if (arguments.resume && arguments.dry_run) {
    return Error::invalid("resume", "", "means nothing in a dry run");
  }
  Result<std::unique_ptr<ByteSource>> source = open_input(arguments.file);
  if (!source) return source.error();
  Lines lines(**source);
  Result<bool> any = lines.next();
  if (!any) return any.error();
  if (!*any) return Error::invalid("input", arguments.file, "is empty");
  Result<std::optional<StoreSettings>> settings = exported_settings(lines.text());
  if (!settings && !arguments.dry_run) {
    return Error::invalid("line 1", settings.error().value(), settings.error().reason());
  }
  globals.hint.clear();
  Result<Store> store =
      open_target(arguments, globals, settings ? *settings : std::optional<StoreSettings>());
  if (!store) return store.error();
  ImportOptions options;
  options.resume = arguments.resume;
  options.replace = arguments.force;
  options.other_settings = arguments.other_settings;
  options.dry_run = arguments.dry_run;
  options.source = arguments.file;
  Result<Importer> importer = Importer::start(*store, options);
  if (!importer) {
    if (importer.error().code() == ErrorCode::kExists) {
      globals.hint =
          "--resume goes on with an unfinished import of the same file, --abandon gives it up. "
          "--force imports\ninto a store that holds items: those of the file replace items of "
          "equal "
          "key, the others stay.\n";
    }
    return importer.error();
  }
  Watch watch(globals.err, arguments.progress);
  return import_lines(*importer, lines, arguments, watch, globals);
}

}  // namespace

void add_import_command(CLI::App& store, Globals& globals) {
  auto arguments = std::make_shared<ImportArguments>();
  CLI::App* command = add_subcommand(
      store, "import", "Take the items of an export into an empty store, made if need be",
      "stint store import items.jsonl --store new-data\n\nStops at the first line that is no item. "
      "--dry-run counts all such lines and shows the first 20.");
  command->add_option("FILE", arguments->file, "What `store export` wrote; - is standard input");
  command->add_flag("--dry-run", arguments->dry_run,
                    "Check every line by itself, write nothing; keys that occur twice or are taken "
                    "in the store are not looked for");
  command->add_flag("--resume", arguments->resume, "Go on with an import that was interrupted");
  command->add_flag(
      "--abandon", arguments->abandon,
      "Give up an interrupted import, without FILE: what it has written stays, and is "
      "taken for whole");
  command->add_flag("--force", arguments->force,
                    "Into a store that holds items: those of FILE replace items of equal key, the "
                    "others stay; the last of equal lines counts");
  command->add_flag("--other-settings", arguments->other_settings,
                    "From a store with another reset rule, burst tolerance or layout; those of "
                    "the target stay");
  add_progress_option(*command, arguments->progress);
  set_action(*command, arguments, globals, run_import);
}

}  // namespace stint::cli
