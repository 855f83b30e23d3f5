// stint entity create|show|list|children|delete
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/instant.h"
#include "model/names.h"

namespace stint::cli {
namespace {

struct CreateArguments {
  std::string id;
  std::string name;
  std::string parent;
  bool cascade = false;
  std::vector<std::string> metadata;
};

struct ListArguments {
  std::string parent;
  std::string from;
  int max = 100;
  bool all = false;
};

void print_entity(Globals& globals, const Entity& entity) {
  if (globals.json) {
    JsonWriter json;
    write_entity(json, entity);
    globals.out << json.text() << '\n';
    return;
  }
  Viewpoint view{globals.now(), globals.terminal, globals.zone};
  Table table({Table::Align::kLeft, Table::Align::kLeft});
  table.add({"id", entity.id});
  table.add({"name", entity.name});
  table.add({"parent", entity.parent.value_or("none")});
  table.add({"cascade", entity.cascade ? "yes: what it uses, its parent uses too" : "no"});
  for (const auto& [key, value] : entity.metadata) table.add({"metadata " + key, value});
  table.add({"created", format_exact(entity.created_at, view.zone_or_utc())});
  globals.out << table.text(globals.terminal, "");
}

Result<int> run_create(const CreateArguments& arguments, Globals& globals) {
  if (Status status = model::validate_entity_id("entity", arguments.id); !status) {
    return status.error();
  }
  EntityOptions options;
  options.cascade = arguments.cascade;
  if (!arguments.name.empty()) options.name = arguments.name;
  if (!arguments.parent.empty()) {
    if (Status status = model::validate_entity_id("parent", arguments.parent); !status) {
      return status.error();
    }
    options.parent = arguments.parent;
  }
  for (const std::string& pair : arguments.metadata) {
    std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error::invalid("metadata", pair, "must be KEY=VALUE");
    }
    if (!options.metadata.emplace(pair.substr(0, equals), pair.substr(equals + 1)).second) {
      return Error::invalid("metadata", pair, "has a key that was given before");
    }
  }
  Result<Limiter> limiter = globals.open_limiter(IfMissing::kCreate);
  if (!limiter) return limiter.error();
  Result<Entity> entity = limiter->create_entity(arguments.id, options);
  if (!entity) return entity.error();
  print_entity(globals, *entity);
  return kExitOk;
}

Result<int> run_show(const std::string& id, Globals& globals) {
  if (Status status = model::validate_entity_id("entity", id); !status) return status.error();
  Result<Limiter> limiter = globals.open_reader();
  if (!limiter) return limiter.error();
  Result<Entity> entity = limiter->get_entity(id);
  if (!entity) return entity.error();
  print_entity(globals, *entity);
  return kExitOk;
}

// Pages of a listing until `max` entities are found; all of them without `max`.
Result<EntityPage> read_pages(Limiter& limiter, const ListArguments& arguments) {
  constexpr int kPageSize = 1000;
  EntityPage found;
  if (!arguments.from.empty()) found.next = arguments.from;
  for (;;) {
    int room = arguments.max - static_cast<int>(found.entities.size());
    int size = arguments.all ? kPageSize : std::min(kPageSize, room);
    Result<EntityPage> page = arguments.parent.empty()
                                  ? limiter.list_entities(found.next, size)
                                  : limiter.list_children(arguments.parent, found.next, size);
    if (!page) return page.error();
    found.entities.insert(found.entities.end(), page->entities.begin(), page->entities.end());
    found.next = page->next;
    bool full = !arguments.all && static_cast<int>(found.entities.size()) >= arguments.max;
    if (full || !found.next) return found;
  }
}

Result<int> run_list(const ListArguments& arguments, Globals& globals) {
  if (!arguments.parent.empty()) {
    if (Status status = model::validate_entity_id("entity", arguments.parent); !status) {
      return status.error();
    }
  }
  if (arguments.max < 1) {
    return Error::invalid("max", std::to_string(arguments.max), "must be at least 1");
  }
  Result<Limiter> limiter = globals.open_reader();
  if (!limiter) return limiter.error();
  Result<EntityPage> page = read_pages(*limiter, arguments);
  if (!page) return page.error();

  if (globals.json) {
    JsonWriter json;
    json.begin_object();
    json.key("entities");
    json.begin_array();
    for (const Entity& entity : page->entities) write_entity(json, entity);
    json.end_array();
    json.member("next", page->next);
    json.end_object();
    globals.out << json.text() << '\n';
    return kExitOk;
  }
  Table table({Table::Align::kLeft, Table::Align::kLeft, Table::Align::kLeft});
  for (const Entity& entity : page->entities) {
    std::string parent;
    if (entity.parent) {
      parent = (entity.cascade ? "cascades to " : "child of ") + *entity.parent;
    }
    table.add({entity.id, entity.name == entity.id ? "" : entity.name, parent});
  }
  globals.out << table.text(globals.terminal, "");
  if (page->next) {
    globals.err << "there are more: repeat with --from=" << shell_quoted(*page->next) << '\n';
  }
  return kExitOk;
}

Result<int> run_delete(const std::string& id, Globals& globals) {
  if (Status status = model::validate_entity_id("entity", id); !status) return status.error();
  Result<Limiter> limiter = globals.open_reader();
  if (!limiter) return limiter.error();
  Result<std::int64_t> removed = limiter->delete_entity(id);
  if (!removed) return removed.error();
  if (globals.json) {
    JsonWriter json;
    json.begin_object();
    json.member("id", id);
    json.member("items_removed", *removed);
    json.end_object();
    globals.out << json.text() << '\n';
  } else {
    globals.out << fmt::format("deleted {} ({} items)\n", id, *removed);
  }
  return kExitOk;
}

void add_create(CLI::App& entity, Globals& globals) {
  auto arguments = std::make_shared<CreateArguments>();
  CLI::App* command =
      add_subcommand(entity, "create", "Create an entity",
                     "stint entity create user-1 --parent org-1 --cascade --metadata plan=pro");
  command->add_option("ID", arguments->id, "Its id")->required();
  add_text_option(*command, "--name", arguments->name, "TEXT",
                  "What to show people; the id if absent");
  add_text_option(*command, "--parent", arguments->parent, "ID", "The entity above it");
  command->add_flag("--cascade", arguments->cascade, "What it uses, its parent uses too");
  command->add_option("--metadata", arguments->metadata, "A remark of your own; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  set_action(*command, arguments, globals, run_create);
}

void add_one_id(CLI::App& entity, Globals& globals, const std::string& name,
                const std::string& description,
                Result<int> (*function)(const std::string&, Globals&)) {
  auto id = std::make_shared<std::string>();
  CLI::App* command = add_subcommand(entity, name, description, "stint entity " + name + " user-1");
  command->add_option("ID", *id, "The entity")->required();
  set_action(*command, id, globals, function);
}

void add_list(CLI::App& entity, Globals& globals, bool of_parent) {
  auto arguments = std::make_shared<ListArguments>();
  CLI::App* command = of_parent
                          ? add_subcommand(entity, "children", "List the children of an entity",
                                           "stint entity children org-1")
                          : add_subcommand(entity, "list", "List entities in order of id",
                                           "stint entity list --max 20");
  if (of_parent) command->add_option("ID", arguments->parent, "The parent")->required();
  command->add_option("--max", arguments->max, "At most so many")
      ->type_name("N")
      ->capture_default_str();
  add_text_option(*command, "--from", arguments->from, "NEXT", "Continue where a listing ended");
  command->add_flag("--all", arguments->all, "All of them");
  set_action(*command, arguments, globals, run_list);
}

}  // namespace

void add_entity_command(CLI::App& app, Globals& globals) {
  CLI::App* entity = add_subcommand(app, "entity", "Create, show, list and delete entities",
                                    "stint entity create user-1 --parent org-1 --cascade");
  entity->require_subcommand(1);
  add_create(*entity, globals);
  add_one_id(*entity, globals, "show", "Show an entity", run_show);
  add_list(*entity, globals, false);
  add_list(*entity, globals, true);
  add_one_id(*entity, globals, "delete", "Delete an entity with its buckets, limits and usage",
             run_delete);
}

}  // namespace stint::cli
