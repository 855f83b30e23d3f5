// stint table create|describe|delete
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/json_writer.h"
#include "cli/manifest/reset_rule.h"
#include "cli/progress_line.h"
#include "cli/store/watch.h"
#include "stint/dynamodb.h"
#include "stint/namespaces.h"

namespace stint::cli {
namespace {

struct CreateArguments {
  std::string layout = "compatible";
  std::string reset_rule;
  bool empty = false;
};

struct DescribeArguments {};

struct DeleteArguments {
  bool yes = false;
};

// What is being waited for: one line that is rewritten on a terminal, otherwise a line for each.
TableProgress shown_by(std::optional<ProgressLine>& line) {
  return [&line](std::string_view state) { line->show(state); };
}

void write_table(JsonWriter& json, const TableDescription& table) {
  json.begin_object();
  json.member("table", table.name);
  json.member("arn", table.arn);
  json.member("status", table.status);
  json.member("billing", table.billing);
  json.key("layout");
  if (table.layout) {
    json.value(to_string(*table.layout));
  } else {
    json.value(nullptr);
  }
  json.member("items", table.item_count);
  json.member("bytes", table.size_bytes);
  json.key("indexes");
  json.begin_array();
  for (const TableDescription::Index& index : table.indexes) {
    json.begin_object();
    json.member("name", index.name);
    json.member("status", index.status);
    json.member("projection", index.projection);
    json.end_object();
  }
  json.end_array();
  json.key("expiry");
  json.begin_object();
  json.member("enabled", table.ttl_enabled);
  json.member("attribute", table.ttl_attribute);
  json.end_object();
  json.member("stream", table.stream_view);
  json.key("problems");
  json.begin_array();
  for (const std::string& problem : table.problems) json.value(problem);
  json.end_array();
  json.end_object();
}

void print_table(Globals& globals, const TableDescription& table) {
  if (globals.json) {
    JsonWriter json;
    write_table(json, table);
    globals.out << json.text() << '\n';
    return;
  }
  Table rows({Table::Align::kLeft, Table::Align::kLeft});
  rows.add({"table", table.name});
  rows.add({"arn", table.arn});
  rows.add({"status", table.status});
  rows.add({"layout", table.layout ? std::string(to_string(*table.layout)) : "neither"});
  rows.add({"billing", table.billing});
  rows.add({"items", fmt::format("{}, {}; counted by the service every few hours", table.item_count,
                                 size_text(static_cast<double>(table.size_bytes)))});
  rows.add({"expiry", table.ttl_enabled ? "by " + table.ttl_attribute : "off"});
  rows.add({"stream", table.stream_view.empty() ? "off" : table.stream_view});
  for (const TableDescription::Index& index : table.indexes) {
    rows.add({index.name, index.projection + (index.status.empty() ? "" : ", " + index.status)});
  }
  for (const std::string& problem : table.problems) rows.add({"problem", problem});
  globals.out << rows.text(globals.terminal, "");
}

Result<int> run_create(const CreateArguments& arguments, Globals& globals) {
  Result<TableLayout> layout = parse_table_layout(arguments.layout);
  if (!layout) return layout.error();
  StoreOptions options;
  if (!arguments.reset_rule.empty()) {
    Result<ResetRule> rule = parse_reset_rule(arguments.reset_rule);
    if (!rule) return rule.error();
    options.reset_rule = *rule;
  }
  Result<DynamoDbOptions> dynamodb = globals.table_options();
  if (!dynamodb) return dynamodb.error();
  std::optional<ProgressLine> line(std::in_place, globals.err, error_stream_is_terminal());
  Result<TableDescription> table = create_table(*dynamodb, *layout, options, shown_by(line));
  line.reset();
  bool is_whole = !table && table.error().code() == ErrorCode::kExists;
  if (!table && !is_whole) return table.error();
  if (!arguments.empty) {
    // Other programs expect theirs to be there.
    Result<Store> store = globals.open_store(IfMissing::kFail);
    if (!store) return store.error();
    Result<NamespaceRegistration> registered =
        register_namespace(*store, globals.name_space, globals.now());
    if (!registered) return registered.error();
    // An earlier creation was stopped just before.
    if (is_whole && registered->is_new) table = describe_table(*dynamodb);
  }
  if (!table) return table.error();
  print_table(globals, *table);
  return kExitOk;
}

Result<int> run_describe(const DescribeArguments&, Globals& globals) {
  Result<DynamoDbOptions> dynamodb = globals.table_options();
  if (!dynamodb) return dynamodb.error();
  Result<TableDescription> table = describe_table(*dynamodb);
  if (!table) return table.error();
  print_table(globals, *table);
  return table->problems.empty() ? kExitOk : kExitProblems;
}

Result<int> run_delete(const DeleteArguments& arguments, Globals& globals) {
  Result<DynamoDbOptions> dynamodb = globals.table_options();
  if (!dynamodb) return dynamodb.error();
  if (!arguments.yes) {
    return Error::invalid(
        "yes", "",
        "add --yes to delete: with the table go all limits, balances and namespaces in it, "
        "and those of other programs that share it");
  }
  std::optional<ProgressLine> line(std::in_place, globals.err, error_stream_is_terminal());
  Status deleted = delete_table(*dynamodb, shown_by(line));
  line.reset();
  if (!deleted) return deleted.error();
  if (globals.json) {
    JsonWriter json;
    json.begin_object();
    json.member("table", dynamodb->table);
    json.member("deleted", true);
    json.end_object();
    globals.out << json.text() << '\n';
  } else {
    globals.out << "deleted " << dynamodb->table << '\n';
  }
  return kExitOk;
}

}  // namespace

void add_table_command(CLI::App& app, Globals& globals) {
  CLI::App* table =
      add_subcommand(app, "table", "Make, describe and delete the DynamoDB table of a store",
                     "stint table create --store 'dynamodb://limits?region=eu-central-1'");
  table->require_subcommand(1);

  auto create_arguments = std::make_shared<CreateArguments>();
  CLI::App* create = add_subcommand(
      *table, "create",
      "Create the table and --namespace in it, or complete a table that was begun",
      "stint table create --store 'dynamodb://limits?region=eu-central-1' --layout lean");
  create
      ->add_option("--layout", create_arguments->layout,
                   "compatible: the Python package zae-limiter can share the table; lean: for "
                   "stint alone, where a debit costs one write unit in place of two")
      ->type_name("compatible|lean")
      ->capture_default_str();
  create
      ->add_option("--reset-rule", create_arguments->reset_rule,
                   "How resets are read where a time zone skips or repeats a local time. Default: "
                   "compatible, or local_day with --layout lean")
      ->type_name("local_day|compatible");
  create->add_flag("--empty", create_arguments->empty,
                   "Register no namespace: for a table that `store import` is to fill");
  set_action(*create, create_arguments, globals, run_create);

  CLI::App* describe = add_subcommand(
      *table, "describe", "Show the table, and in what it differs from what a limiter needs",
      "stint table describe --store 'dynamodb://limits?region=eu-central-1'");
  set_action(*describe, std::make_shared<DescribeArguments>(), globals, run_describe);

  auto delete_arguments = std::make_shared<DeleteArguments>();
  CLI::App* remove =
      add_subcommand(*table, "delete", "Delete the table with everything in it",
                     "stint table delete --store 'dynamodb://limits?region=eu-central-1' --yes");
  remove->add_flag("--yes", delete_arguments->yes, "Without it nothing is deleted");
  set_action(*remove, delete_arguments, globals, run_delete);
}

}  // namespace stint::cli
