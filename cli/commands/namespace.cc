// stint namespace register|list|show
#include "stint/namespaces.h"

#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/instant.h"
#include "cli/json_writer.h"
#include "model/names.h"

namespace stint::cli {
namespace {

struct ListArguments {};

void write_namespace(JsonWriter& json, const NamespaceInfo& info) {
  json.member("name", info.name);
  json.member("id", info.id);
  json.member("status", to_string(info.status));
  json.member("created_at_ms", info.created_at);
  json.member("deleted_at_ms", info.deleted_at);
}

Result<int> run_register(const std::string& name, Globals& globals) {
  if (Status valid = model::validate_namespace(name); !valid) return valid.error();
  Result<Store> store = globals.open_store(IfMissing::kFail);
  if (!store) return store.error();
  Result<NamespaceRegistration> registered = register_namespace(*store, name, globals.now());
  if (!registered) return registered.error();
  if (globals.json) {
    JsonWriter json;
    json.begin_object();
    write_namespace(json, registered->info);
    json.member("is_new", registered->is_new);
    json.end_object();
    globals.out << json.text() << '\n';
  } else {
    globals.out << registered->info.name << ' '
                << (registered->is_new ? "registered" : "was registered before") << ", id "
                << registered->info.id << '\n';
  }
  return kExitOk;
}

Result<int> run_list(const ListArguments&, Globals& globals) {
  Result<Store> store = globals.open_store(IfMissing::kFail);
  if (!store) return store.error();
  Result<NamespaceList> found = list_namespaces(*store);
  if (!found) return found.error();
  report_left_out(globals, found->unreadable);
  if (globals.json) {
    JsonWriter json;
    json.begin_object();
    json.key("namespaces");
    json.begin_array();
    for (const NamespaceInfo& info : found->namespaces) {
      json.begin_object();
      write_namespace(json, info);
      json.end_object();
    }
    json.end_array();
    json.end_object();
    globals.out << json.text() << '\n';
    return kExitOk;
  }
  Table table({Table::Align::kLeft, Table::Align::kLeft, Table::Align::kLeft});
  for (const NamespaceInfo& info : found->namespaces) {
    table.add({info.name, info.id, std::string(to_string(info.status))});
  }
  globals.out << table.text(globals.terminal, "");
  return kExitOk;
}

Result<int> run_show(const std::string& name, Globals& globals) {
  if (Status valid = model::validate_namespace(name); !valid) return valid.error();
  Result<Store> store = globals.open_store(IfMissing::kFail);
  if (!store) return store.error();
  Result<NamespaceInfo> info = find_namespace(*store, name);
  if (!info) return info.error();
  if (globals.json) {
    JsonWriter json;
    json.begin_object();
    write_namespace(json, *info);
    json.end_object();
    globals.out << json.text() << '\n';
    return kExitOk;
  }
  Viewpoint view{globals.now(), globals.terminal, globals.zone};
  Table table({Table::Align::kLeft, Table::Align::kLeft});
  table.add({"name", info->name});
  table.add({"id", info->id});
  table.add({"status", std::string(to_string(info->status))});
  table.add({"created", format_exact(info->created_at, view.zone_or_utc())});
  globals.out << table.text(globals.terminal, "");
  return kExitOk;
}

void add_one_name(CLI::App& group, Globals& globals, const std::string& command_name,
                  const std::string& description,
                  Result<int> (*function)(const std::string&, Globals&)) {
  auto name = std::make_shared<std::string>();
  CLI::App* command = add_subcommand(group, command_name, description,
                                     "stint namespace " + command_name + " tenant-1");
  command->add_option("NAME", *name, "The namespace")->required();
  set_action(*command, name, globals, function);
}

}  // namespace

void add_namespace_command(CLI::App& app, Globals& globals) {
  CLI::App* group =
      add_subcommand(app, "namespace", "Register, list and show the namespaces of a store",
                     "stint namespace register tenant-1");
  group->require_subcommand(1);
  add_one_name(*group, globals, "register",
               "Register a namespace beforehand; its first use would do so, too", run_register);
  CLI::App* list =
      add_subcommand(*group, "list", "List all namespaces, also deleted ones that can be recovered",
                     "stint namespace list");
  set_action(*list, std::make_shared<ListArguments>(), globals, run_list);
  add_one_name(*group, globals, "show", "Show a namespace", run_show);
}

}  // namespace stint::cli
