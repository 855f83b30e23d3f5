// stint audit list ENTITY|--system|--resource R
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/instant.h"
#include "model/names.h"

namespace stint::cli {
namespace {

struct ListArguments {
  std::string entity;
  std::string resource;
  bool system = false;
  std::string from;
  int max = 100;
  bool all = false;
};

Result<Scope> parse_subject(const ListArguments& arguments) {
  int given = (arguments.system ? 1 : 0) + (arguments.resource.empty() ? 0 : 1) +
              (arguments.entity.empty() ? 0 : 1);
  if (given != 1) {
    return Error::invalid("subject", arguments.entity,
                          "must be one of ENTITY, --resource R and --system");
  }
  if (arguments.system) return Scope::system();
  if (!arguments.resource.empty()) {
    if (Status status = model::validate_resource(arguments.resource); !status) {
      return status.error();
    }
    return Scope::resource(arguments.resource);
  }
  if (Status status = model::validate_entity_id("entity", arguments.entity); !status) {
    return status.error();
  }
  return Scope::entity(arguments.entity);
}

Result<AuditPage> read_pages(Limiter& limiter, const Scope& subject,
                             const ListArguments& arguments) {
  constexpr int kPageSize = 1000;
  AuditPage found;
  if (!arguments.from.empty()) found.next = arguments.from;
  for (;;) {
    int room = arguments.max - static_cast<int>(found.events.size());
    int size = arguments.all ? kPageSize : std::min(kPageSize, room);
    Result<AuditPage> page = limiter.list_audit_events(subject, found.next, size);
    if (!page) return page.error();
    found.events.insert(found.events.end(), page->events.begin(), page->events.end());
    found.unreadable.insert(found.unreadable.end(), page->unreadable.begin(),
                            page->unreadable.end());
    found.next = page->next;
    bool full = !arguments.all && static_cast<int>(found.events.size()) >= arguments.max;
    if (full || !found.next) return found;
  }
}

void write_event(JsonWriter& json, const AuditEvent& event) {
  json.begin_object();
  json.member("id", event.id);
  json.member("subject", event.subject);
  json.member("action", event.action);
  json.member("at_ms", event.at);
  json.member("principal", event.principal);
  json.member("resource", event.resource);
  json.key("details");
  json.value_of_json(event.details);
  json.member("expires_at_ms", event.expires_at);
  json.end_object();
}

Result<int> run_list(const ListArguments& arguments, Globals& globals) {
  Result<Scope> subject = parse_subject(arguments);
  if (!subject) return subject.error();
  if (arguments.max < 1) {
    return Error::invalid("max", std::to_string(arguments.max), "must be at least 1");
  }
  Result<Limiter> limiter = globals.open_reader();
  if (!limiter) return limiter.error();
  Result<AuditPage> page = read_pages(*limiter, *subject, arguments);
  if (!page) return page.error();
  report_left_out(globals, page->unreadable);

  if (globals.json) {
    JsonWriter json;
    json.begin_object();
    json.key("events");
    json.begin_array();
    for (const AuditEvent& event : page->events) write_event(json, event);
    json.end_array();
    json.member("next", page->next);
    json.end_object();
    globals.out << json.text() << '\n';
    return kExitOk;
  }
  if (page->events.empty() && page->unreadable.empty() && !page->next) {
    bool always_left = std::holds_alternative<DynamoDbOptions>(globals.store_address);
    globals.err << "no events"
                << (always_left ? "" : "; here only changes made with --audit leave any") << '\n';
    return kExitOk;
  }
  Viewpoint view{globals.now(), globals.terminal, globals.zone};
  Table table({Table::Align::kLeft, Table::Align::kLeft, Table::Align::kLeft, Table::Align::kLeft,
               Table::Align::kLeft});
  table.add_heads({"TIME", "ACTION", "RESOURCE", "PRINCIPAL", "DETAILS"});
  for (const AuditEvent& event : page->events) {
    table.add({format_exact(event.at, view.zone_or_utc()), event.action,
               event.resource.value_or(""), event.principal.value_or(""), event.details});
  }
  globals.out << table.text(globals.terminal, "");
  if (page->next) {
    globals.err << "there are more: repeat with --from=" << shell_quoted(*page->next) << '\n';
  }
  return kExitOk;
}

}  // namespace

void add_audit_command(CLI::App& app, Globals& globals) {
  CLI::App* audit = add_subcommand(app, "audit", "Show who changed entities and limits, and when",
                                   "stint audit list user-1");
  audit->require_subcommand(1);
  auto arguments = std::make_shared<ListArguments>();
  CLI::App* command = add_subcommand(*audit, "list", "List changes, the oldest first",
                                     "stint audit list --resource api --max 20");
  command->add_option("ENTITY", arguments->entity, "Changes of this entity and of its limits");
  add_text_option(*command, "--resource", arguments->resource, "R",
                  "Changes of this resource's limits");
  command->add_flag("--system", arguments->system, "Changes of the system's limits");
  command->add_option("--max", arguments->max, "At most so many")
      ->type_name("N")
      ->capture_default_str();
  add_text_option(*command, "--from", arguments->from, "NEXT", "Continue where a listing ended");
  command->add_flag("--all", arguments->all, "All of them");
  set_action(*command, arguments, globals, run_list);
}

}  // namespace stint::cli
