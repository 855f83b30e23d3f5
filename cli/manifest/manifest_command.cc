#include "cli/manifest/manifest_command.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/exit_codes.h"
#include "cli/json_writer.h"
#include "cli/limit_grammar.h"
#include "cli/manifest/manifest.h"
#include "cli/manifest/reset_rule.h"
#include "cli/render.h"

namespace stint::cli {
namespace {

struct CheckArguments {
  std::string file;
  std::string reset_rule = "local_day";
};

void write_problem(JsonWriter& json, const ManifestProblem& problem) {
  json.begin_object();
  json.member("line", problem.line);
  json.member("code", stint::to_string(problem.error.code()));
  json.member("field", problem.error.field());
  json.member("value", problem.error.value());
  json.member("reason", problem.error.reason());
  json.member("message", problem.error.message());
  json.end_object();
}

// Beside `error`, which all commands print, `errors` holds every mistake.
int refuse(const std::string& file, const std::vector<ManifestProblem>& problems,
           Globals& globals) {
  if (globals.json) {
    JsonWriter json;
    json.begin_object();
    json.member("valid", false);
    json.key("error");
    write_problem(json, problems.front());
    json.key("errors");
    json.begin_array();
    for (const ManifestProblem& problem : problems) write_problem(json, problem);
    json.end_array();
    json.end_object();
    globals.out << json.text() << '\n';
    return kExitUsage;
  }
  for (const ManifestProblem& problem : problems) {
    globals.err << fmt::format("{}:{}: {}\n", file, problem.line, problem.error.message());
  }
  globals.err << fmt::format("stint: {} {} in {}\n", problems.size(),
                             problems.size() == 1 ? "mistake" : "mistakes", file);
  return kExitUsage;
}

void print_config(std::ostream& out, const ManifestScope& scope) {
  const ScopeConfig& config = scope.config;
  out << describe_scope(scope.scope) << ":\n";
  if (config.on_unavailable == OnUnavailable::kBlock) {
    out << "  when the store fails, requests fail\n";
  } else if (config.on_unavailable == OnUnavailable::kAllow) {
    out << "  when the store fails, requests are admitted uncounted\n";
  }
  if (config.access == AccessPolicy::kDisabled) {
    out << "  access is disabled: every request is refused\n";
  } else if (config.access == AccessPolicy::kBypass) {
    out << "  access is bypassed: every request passes, consumption is counted\n";
  } else if (config.access == AccessPolicy::kEnforce) {
    out << "  access is enforced, whatever a lower level says\n";
  }
  if (config.cascade) {
    out << (*config.cascade ? "  debits also debit the parent\n"
                            : "  debits never debit the parent\n");
  }
  for (const Limit& limit : config.limits) {
    out << "  " << limit.name() << ": " << describe_limit(limit) << '\n';
    for (const LevelEntry& entry : limit.schedule()) {
      out << fmt::format("    while \"{}\" matches in {}: {}\n", entry.cron().text(), limit.zone(),
                         format_change(entry));
    }
  }
  if (config.limits.empty()) out << "  no limits of its own\n";
}

void print_manifest(std::ostream& out, const std::string& file, const Manifest& manifest) {
  out << fmt::format("{} is in order. It is for the namespace {}.\n", file, manifest.name_space);
  if (manifest.scopes.empty()) out << "It configures nothing.\n";
  for (const ManifestScope& scope : manifest.scopes) print_config(out, scope);
}

void write_manifest(JsonWriter& json, const Manifest& manifest,
                    const std::vector<ContestedResets>& contested) {
  json.begin_object();
  json.member("valid", true);
  json.member("namespace", manifest.name_space);
  json.key("scopes");
  json.begin_array();
  for (const ManifestScope& scope : manifest.scopes) {
    json.begin_object();
    json.member("line", scope.line);
    json.key("scope");
    write_scope(json, scope.scope);
    json.key("config");
    write_config(json, scope.config);
    json.end_object();
  }
  json.end_array();
  json.key("warnings");
  write_contested(json, contested);
  json.end_object();
}

Result<int> run_check(const CheckArguments& arguments, Globals& globals) {
  Result<ResetRule> rule = parse_reset_rule(arguments.reset_rule);
  if (!rule) return rule.error();
  Result<std::string> text = read_manifest_file(arguments.file);
  if (!text) return text.error();
  const ReadManifest read = parse_manifest(*text);
  if (!read.manifest) return refuse(arguments.file, read.problems, globals);
  std::vector<ContestedResets> contested;
  if (*rule == ResetRule::kCompatible) {
    contested = contested_resets(*read.manifest, globals.now());
  }
  if (globals.json) {
    JsonWriter json;
    write_manifest(json, *read.manifest, contested);
    globals.out << json.text() << '\n';
    return kExitOk;
  }
  print_manifest(globals.out, arguments.file, *read.manifest);
  for (const ContestedResets& resets : contested) {
    globals.err << "stint: warning: " << describe_contested(resets) << '\n';
  }
  return kExitOk;
}

}  // namespace

void add_manifest_command(CLI::App& app, Globals& globals) {
  CLI::App* manifest = add_subcommand(app, "manifest", "Work with policies written as files",
                                      "stint manifest check policy.yaml");
  manifest->require_subcommand(1);
  auto arguments = std::make_shared<CheckArguments>();
  CLI::App* check =
      add_subcommand(*manifest, "check", "Check a manifest and say in words what it configures",
                     "stint manifest check policy.yaml --reset-rule compatible");
  check->add_option("FILE", arguments->file, "The manifest, a YAML file")
      ->type_name("FILE")
      ->required();
  check
      ->add_option(
          "--reset-rule", arguments->reset_rule,
          "How resets are read where local time skips or repeats them; compatible warns of "
          "the dates that it drops or repeats")
      ->type_name("local_day|compatible")
      ->capture_default_str();
  set_action(*check, arguments, globals, run_check);
}

}  // namespace stint::cli
