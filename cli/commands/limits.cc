// stint limits set|get|delete [--system | --resource R | --entity E | both]
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "cli/command.h"
#include "cli/contested_resets.h"
#include "cli/exit_codes.h"
#include "cli/limit_grammar.h"
#include "limiter/store_handle.h"
#include "model/names.h"

namespace stint::cli {
namespace {

struct ScopeArguments {
  bool system = false;
  std::string resource;
  std::string entity;
};

struct SetArguments {
  ScopeArguments scope;
  std::vector<std::string> limits;
  std::vector<std::string> soft;
  std::string on_unavailable;
  bool dry_run = false;
};

struct DeleteArguments {
  ScopeArguments scope;
  bool dry_run = false;
};

Result<Scope> parse_scope(const ScopeArguments& arguments) {
  bool resource = !arguments.resource.empty();
  bool entity = !arguments.entity.empty();
  if (arguments.system == (resource || entity)) {
    return Error::invalid("scope", arguments.system ? "--system" : "",
                          "must be --system, --resource R, --entity E, or the last two together");
  }
  if (arguments.system) return Scope::system();
  if (resource) {
    if (Status status = model::validate_resource(arguments.resource); !status) {
      return status.error();
    }
  }
  if (entity) {
    if (Status status = model::validate_entity_id("entity", arguments.entity); !status) {
      return status.error();
    }
  }
  if (!entity) return Scope::resource(arguments.resource);
  if (!resource) return Scope::entity(arguments.entity);
  return Scope::entity_resource(arguments.entity, arguments.resource);
}

Result<std::vector<Limit>> parse_limits(const SetArguments& arguments) {
  std::vector<Limit> limits;
  for (const std::string& text : arguments.limits) {
    Result<Limit> limit = parse_limit(text);
    if (!limit) return limit.error();
    limits.push_back(*std::move(limit));
  }
  for (const std::string& name : arguments.soft) {
    auto found = std::find_if(limits.begin(), limits.end(),
                              [&](const Limit& limit) { return limit.name() == name; });
    if (found == limits.end()) {
      return Error::invalid("soft", name, "is not among the limits given");
    }
    *found = found->as_soft();
  }
  return limits;
}

// One line for each argument that `limits set` would need.
std::vector<std::string> to_arguments(const ScopeConfig& config) {
  std::vector<std::string> lines;
  if (config.on_unavailable) {
    lines.push_back(fmt::format("--on-unavailable={}", to_string(*config.on_unavailable)));
  }
  for (const Limit& limit : config.limits) lines.push_back(format_limit(limit));
  return lines;
}

void print_change(Globals& globals, const Scope& scope, const LimitsChange& change, bool dry_run,
                  const std::vector<ContestedResets>& contested = {}) {
  if (globals.json) {
    JsonWriter json;
    json.begin_object();
    json.key("scope");
    write_scope(json, scope);
    json.member("dry_run", dry_run);
    json.key("before");
    write_config(json, change.before);
    json.key("after");
    write_config(json, change.after);
    json.member("buckets", change.buckets);
    json.key("warnings");
    write_contested(json, contested);
    json.end_object();
    globals.out << json.text() << '\n';
    return;
  }
  for (const ContestedResets& resets : contested) {
    globals.err << "stint: warning: " << describe_contested(resets) << '\n';
  }
  const Terminal& terminal = globals.terminal;
  std::vector<std::string> before = to_arguments(change.before);
  std::vector<std::string> after = to_arguments(change.after);
  auto holds = [](const std::vector<std::string>& lines, const std::string& line) {
    return std::find(lines.begin(), lines.end(), line) != lines.end();
  };
  globals.out << fmt::format("{} for {}:\n", dry_run ? "would change" : "limits",
                             describe_scope(scope));
  for (const std::string& line : before) {
    if (!holds(after, line)) globals.out << terminal.paint(Colour::kRed, "  - " + line) << '\n';
  }
  for (const std::string& line : after) {
    if (holds(before, line)) {
      globals.out << "    " << line << '\n';
    } else {
      globals.out << terminal.paint(Colour::kGreen, "  + " + line) << '\n';
    }
  }
  if (scope.is_entity_level()) {
    globals.out << fmt::format(
        "{} {}\n", change.buckets,
        dry_run ? "buckets would be brought up to date at once" : "buckets brought up to date");
  }
}

Result<int> run_set(const SetArguments& arguments, Globals& globals) {
  Result<Scope> scope = parse_scope(arguments.scope);
  if (!scope) return scope.error();
  globals.hint = "A LIMIT is one of\n" + std::string(kLimitGrammar);
  Result<std::vector<Limit>> limits = parse_limits(arguments);
  if (!limits) return limits.error();
  globals.hint.clear();
  LimitList list(*std::move(limits));
  if (list.error()) return *list.error();
  SetLimitsOptions options;
  options.dry_run = arguments.dry_run;
  if (!arguments.on_unavailable.empty()) {
    bool allow = arguments.on_unavailable == "allow";
    if (!allow && arguments.on_unavailable != "block") {
      return Error::invalid("on_unavailable", arguments.on_unavailable, "must be block or allow");
    }
    if (!arguments.scope.system) {
      return Error::invalid("on_unavailable", arguments.on_unavailable,
                            "can be set for the system only");
    }
    options.on_unavailable = allow ? OnUnavailable::kAllow : OnUnavailable::kBlock;
  }
  if (list.limits().empty() && !options.on_unavailable) {
    return Error::invalid("limits", "",
                          "give at least one limit; `stint limits delete` removes all");
  }

  Result<Store> store =
      globals.open_store(arguments.dry_run ? IfMissing::kFail : IfMissing::kCreate);
  // What would happen can be told without making a store.
  bool nothing_yet = arguments.dry_run && !store && store.error().code() == ErrorCode::kNotFound &&
                     std::holds_alternative<Directory>(globals.store_address);
  if (nothing_yet) store = open_memory();
  if (!store) return store.error();
  ResetRule rule = store->reset_rule();
  Limiter limiter = globals.make_limiter(*std::move(store), !arguments.dry_run);
  Result<LimitsChange> change = limiter.set_limits(*scope, list, options);
  if (!change && arguments.dry_run && change.error().code() == ErrorCode::kNotFound) {
    // Neither does it take the namespace.
    StoreOptions alike;
    alike.reset_rule = rule;
    Result<Store> empty = open_memory(alike);
    if (!empty) return empty.error();
    change = globals.make_limiter(*std::move(empty)).set_limits(*scope, list, options);
  }
  if (!change) return change.error();
  std::vector<ContestedResets> contested;
  if (rule == ResetRule::kCompatible) {
    contested = contested_resets(*scope, list.limits(), globals.now());
  }
  print_change(globals, *scope, *change, arguments.dry_run, contested);
  return kExitOk;
}

Result<int> run_get(const ScopeArguments& arguments, Globals& globals) {
  Result<Scope> scope = parse_scope(arguments);
  if (!scope) return scope.error();
  Result<Limiter> limiter = globals.open_reader();
  if (!limiter) return limiter.error();
  Result<ScopeConfig> config = limiter->get_limits(*scope);
  if (!config) return config.error();
  if (globals.json) {
    JsonWriter json;
    json.begin_object();
    json.key("scope");
    write_scope(json, *scope);
    json.key("config");
    write_config(json, *config);
    json.end_object();
    globals.out << json.text() << '\n';
    return kExitOk;
  }
  for (const std::string& line : to_arguments(*config)) globals.out << line << '\n';
  // Apart from the rest, which is to be read by `limits set`.
  if (config->access) globals.err << "access: " << to_string(*config->access) << '\n';
  if (config->cascade) globals.err << "cascade: " << (*config->cascade ? "yes" : "no") << '\n';
  return kExitOk;
}

Result<int> run_delete(const DeleteArguments& arguments, Globals& globals) {
  Result<Scope> scope = parse_scope(arguments.scope);
  if (!scope) return scope.error();
  Result<Limiter> limiter = globals.open_reader();
  if (!limiter) return limiter.error();
  Result<LimitsChange> change = limiter->delete_limits(*scope, arguments.dry_run);
  if (!change) return change.error();
  print_change(globals, *scope, *change, arguments.dry_run);
  return kExitOk;
}

void add_scope_options(CLI::App& command, ScopeArguments& scope) {
  command.add_flag("--system", scope.system, "For everything that has no limits of its own");
  add_text_option(command, "--resource", scope.resource, "R",
                  "For one resource; with --entity, of that entity");
  add_text_option(command, "--entity", scope.entity, "E",
                  "For one entity, on all resources or on --resource");
}

}  // namespace

void add_limits_command(CLI::App& app, Globals& globals) {
  CLI::App* limits = add_subcommand(app, "limits", "Set, get and delete limits at four levels",
                                    "stint limits set --resource api rpm:60/min");
  limits->require_subcommand(1);

  auto set_arguments = std::make_shared<SetArguments>();
  CLI::App* set = add_subcommand(
      *limits, "set", "Replace the limits of a scope as a whole",
      "stint limits set --entity user-1 --resource api rpm:60/min session:10_000+5h \\\n"
      "      'month:500@0 0 1 * *@Europe/Berlin'\n\nA LIMIT is one of\n" +
          std::string(kLimitGrammar) +
          "PERIOD and DURATION: min, 90s, 5h, 1h30min; units s, min, h, d, w. Amounts are whole\n"
          "tokens, with _ between digits if wanted.");
  add_scope_options(*set, set_arguments->scope);
  set->add_option("LIMIT", set_arguments->limits, "The limits, as below")->type_name("");
  set->add_option("--soft", set_arguments->soft, "Count this limit, but never refuse; repeatable")
      ->type_name("NAME")
      ->allow_extra_args(false);
  add_text_option(
      *set, "--on-unavailable", set_arguments->on_unavailable, "block|allow",
      "What becomes of requests where the store fails; with --system; as it was if not given");
  set->add_flag("--dry-run", set_arguments->dry_run, "Show what would change, change nothing");
  set_action(*set, set_arguments, globals, run_set);

  auto get_arguments = std::make_shared<ScopeArguments>();
  CLI::App* get = add_subcommand(*limits, "get",
                                 "Print the limits of a scope, each as an argument of `limits set`",
                                 "stint limits get --resource api");
  add_scope_options(*get, *get_arguments);
  set_action(*get, get_arguments, globals, run_get);

  auto delete_arguments = std::make_shared<DeleteArguments>();
  CLI::App* remove = add_subcommand(*limits, "delete", "Remove the limits of a scope",
                                    "stint limits delete --entity user-1 --resource api");
  add_scope_options(*remove, delete_arguments->scope);
  remove->add_flag("--dry-run", delete_arguments->dry_run,
                   "Show what would change, change nothing");
  set_action(*remove, delete_arguments, globals, run_delete);
}

}  // namespace stint::cli
