// stint store export [FILE|-]
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cli/exit_codes.h"
#include "cli/json_writer.h"
#include "cli/store/export_file.h"
#include "cli/store/store_command.h"
#include "cli/store/watch.h"
#include "stint/maintenance.h"

namespace stint::cli {
namespace {

struct ExportArguments {
  std::string file = "-";
  std::string form = "as-stored";
  bool resume = false;
  bool force = false;
  bool progress = false;
};

Result<ItemForm> parse_form(const std::string& text) {
  if (text == "as-stored") return ItemForm::kAsStored;
  if (text == "dynamodb") return ItemForm::kDynamoDb;
  if (text == "embedded") return ItemForm::kEmbedded;
  return Error::invalid("for", text, "must be dynamodb, embedded or as-stored");
}

void report_unreadable(Globals& globals, const ExportPage& page) {
  for (const StoreProblem& problem : page.unreadable) {
    globals.err << "stint: left out: " << problem_line(problem) << '\n';
  }
}

void print_summary(Globals& globals, const ExportArguments& arguments, const ExportState& state,
                   bool complete) {
  if (globals.json) {
    JsonWriter json;
    json.begin_object();
    json.member("file", arguments.file);
    json.member("items", state.items);
    json.member("bytes", state.bytes);
    json.member("unreadable", state.unreadable);
    json.member("complete", complete);
    json.end_object();
    globals.out << json.text() << '\n';
  } else if (complete) {
    globals.out << fmt::format("{} items in {} ({})\n", state.items, arguments.file,
                               size_text(static_cast<double>(state.bytes)));
  }
}

int exit_code_of(std::uint64_t unreadable, Globals& globals) {
  if (unreadable == 0) return kExitOk;
  globals.err << fmt::format("stint: {} places of the store could not be read and are left out\n",
                             unreadable);
  return kExitCorrupt;
}

Result<int> export_to_output(const Store& store, const ExportOptions& options, Watch& watch,
                             Globals& globals) {
  auto sink = [&](const ExportPage& page) -> Status {
    report_unreadable(globals, page);
    globals.out << page.lines;
    if (globals.out) return Status();
    return Error::invalid("output", "-", "cannot be written");
  };
  Result<ExportReport> report = export_items(store, sink, options);
  watch.end_line();
  if (!report) return report.error();
  globals.out.flush();
  if (!report->complete) {
    globals.err << "stint: interrupted; the output is a part, and cannot be gone on with\n";
    return kExitInterrupted;
  }
  return exit_code_of(report->unreadable, globals);
}

Result<int> export_to_file(const Store& store, ExportOptions options, ExportFile& file,
                           const ExportArguments& arguments, Watch& watch, Globals& globals) {
  const std::string resume = "`stint store export --resume` with the same arguments goes on";
  auto finish = [&]() -> Result<int> {
    if (Status finished = file.finish(); !finished) {
      if (file.keep_position()) globals.hint = "The items are kept; " + resume + ".\n";
      return finished.error();
    }
    print_summary(globals, arguments, file.state(), true);
    return exit_code_of(file.state().unreadable, globals);
  };
  if (file.state().complete) return finish();
  options.start = file.state().position;
  auto sink = [&](const ExportPage& page) {
    report_unreadable(globals, page);
    return file.append(page.lines, page.next, page.items, page.unreadable.size());
  };
  Result<ExportReport> report = export_items(store, sink, options);
  watch.end_line();
  if (!report) {
    Status kept = file.keep_position();
    if (kept) globals.hint = "The unfinished export is kept; " + resume + ".\n";
    return report.error();
  }
  if (!report->complete) {
    if (Status kept = file.keep_position(); !kept) return kept.error();
    print_summary(globals, arguments, file.state(), false);
    globals.err << fmt::format("stint: interrupted after {} items; {}\n", file.state().items,
                               resume);
    return kExitInterrupted;
  }
  return finish();
}

Result<int> run_export(const ExportArguments& arguments, Globals& globals) {
  Result<ItemForm> form = parse_form(arguments.form);
  if (!form) return form.error();
  bool to_output = arguments.file == "-";
  if (to_output && arguments.resume) {
    return Error::invalid("resume", "", "needs a FILE to go on with");
  }
  if (to_output && globals.json) {
    return Error::invalid("json", "", "needs a FILE, because the items go to the output");
  }
  Result<Store> store = globals.open_store(IfMissing::kFail);
  if (!store) return store.error();
  Watch watch(globals.err, arguments.progress);
  ExportOptions options;
  options.form = *form;
  options.on_progress = watch.callback();
  if (to_output) return export_to_output(*store, options, watch, globals);

  std::string name = globals.store_name;
  if (const auto* directory = std::get_if<Directory>(&globals.store_address)) {
    std::error_code code;
    name = std::filesystem::absolute(directory->path, code).lexically_normal().string();
  }
  Result<ExportFile> file =
      arguments.resume ? ExportFile::resume(arguments.file, name, arguments.form)
                       : ExportFile::create(arguments.file, name, arguments.form, arguments.force);
  if (!file) return file.error();
  return export_to_file(*store, options, *file, arguments, watch, globals);
}

}  // namespace

void add_export_command(CLI::App& store, Globals& globals) {
  auto arguments = std::make_shared<ExportArguments>();
  CLI::App* command =
      add_subcommand(store, "export", "Write every item as a line of DynamoDB's JSON",
                     "stint store export items.jsonl --for dynamodb");
  command->add_option("FILE", arguments->file, "Where to; - is the output")->capture_default_str();
  command
      ->add_option("--for", arguments->form,
                   "dynamodb: for a table, whose buckets carry the limit wcu; embedded: without "
                   "it; as-stored. `store import` adapts items itself")
      ->type_name("KIND")
      ->capture_default_str();
  command->add_flag("--resume", arguments->resume, "Go on with an export that was interrupted");
  command->add_flag("--force", arguments->force, "Replace a FILE, or an unfinished export to it");
  add_progress_option(*command, arguments->progress);
  set_action(*command, arguments, globals, run_export);
}

}  // namespace stint::cli
