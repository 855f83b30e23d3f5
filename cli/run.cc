#include "cli/run.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/generate/generate_command.h"
#include "cli/instant.h"
#include "cli/json_writer.h"
#include "cli/manifest/manifest_command.h"
#include "cli/render.h"
#include "cli/replay/replay_command.h"
#include "cli/store/store_command.h"
#include "model/names.h"
#include "schema/records.h"
#include "stint/version.h"

namespace stint::cli {
namespace {

constexpr const char* kDefaultStore = "./stint-data";

constexpr const char* kFooter =
    "Exit codes:\n"
    "  0   done, or admitted\n"
    "  2   malformed command line, argument or input file; nothing was written\n"
    "  3   the store cannot be used or did not answer\n"
    "  4   store, entity or limits not found\n"
    "  5   exists already, or lost against other writers\n"
    "  6   a stored item is corrupt\n"
    "  7   a check of the store or its table found problems\n"
    "  10  rejected, or refused by policy\n"
    "  130 interrupted by a signal\n"
    "\n"
    "Environment:\n"
    "  STINT_STORE       read where --store is not given\n"
    "  STINT_DURABILITY  read where --durability is not given\n"
    "  AWS_...           region, profile and keys for dynamodb://, as other programs read them\n"
    "  TZ                read where --tz is not given\n"
    "  NO_COLOR          if set, no colours\n"
    "\n"
    "Example:\n"
    "  stint limits set --resource api rpm:60/min session:10_000+5h\n"
    "  stint acquire user-1 api --consume rpm=1 session=1500\n"
    "  stint explain user-1 api\n"
    "  stint table create --store 'dynamodb://limits?region=eu-central-1'\n"
    "\n"
    "Ids that begin with \"-\" go after \"--\".";

// Wraps descriptions, which the library's formatter does not.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override {
    constexpr std::size_t kWidth = 100;
    return wrap(CLI::Formatter::make_option_desc(option), kWidth - get_column_width());
  }
};

// What is wrong with a command line. The parser complains about missing arguments first, also where
// the reason is that one was not recognised.
std::string describe_problem(const CLI::App& app, const CLI::ParseError& error) {
  for (const std::string& argument : app.remaining(true)) {
    if (argument.size() < 2 || argument.front() != '-' || argument == "--") continue;
    return "there is no option " + argument + " here; ids that begin with - go after --";
  }
  return error.what();
}

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

// Puts the command line into the form that the parser reads: an amount that follows another gets
// the name of its option, and an empty value given by "--name=" an argument of its own (the parser
// would take the next one).
std::vector<std::string> normalise(const std::vector<std::string>& arguments) {
  static constexpr std::string_view kAmountOptions[] = {"--consume", "--settle", "--need"};
  std::vector<std::string> result;
  std::string amounts_of;
  bool value_expected = false;
  for (auto argument = arguments.begin(); argument != arguments.end(); ++argument) {
    if (*argument == "--") {
      result.insert(result.end(), argument, arguments.end());
      break;
    }
    std::size_t equals = argument->find('=');
    std::string name = argument->substr(0, equals);
    if (std::find(std::begin(kAmountOptions), std::end(kAmountOptions), name) !=
        std::end(kAmountOptions)) {
      amounts_of = name;
      value_expected = equals == std::string::npos;
    } else if (!amounts_of.empty() && !value_expected && argument->front() != '-' &&
               equals != std::string::npos) {
      result.push_back(amounts_of);
    } else if (!value_expected) {
      amounts_of.clear();
    } else {
      value_expected = false;
    }
    if (argument->rfind("--", 0) == 0 && equals == argument->size() - 1) {
      result.push_back(name);
      result.emplace_back();
    } else {
      result.push_back(*argument);
    }
  }
  return result;
}

int report(const Error& error, bool json, std::string_view hint, std::ostream& out,
           std::ostream& err) {
  if (json) {
    auto given = [&](const std::string& text) {
      bool known = error.code() == ErrorCode::kInvalidArgument;
      return known ? std::optional(text) : std::nullopt;
    };
    JsonWriter writer;
    writer.begin_object();
    writer.key("error");
    writer.begin_object();
    writer.member("code", to_string(error.code()));
    writer.member("field", given(error.field()));
    writer.member("value", given(error.value()));
    writer.member("reason", error.reason());
    writer.member("message", error.message());
    writer.end_object();
    writer.end_object();
    out << writer.text() << '\n';
  } else {
    err << "stint: " << error.message() << '\n' << hint;
  }
  return exit_code(error.code());
}

Status apply_options(Globals& globals, const std::string& now, const std::string& zone,
                     const std::string& durability) {
  Result<StoreAddress> address = parse_store_address(globals.store_name);
  if (!address) return address.error();
  globals.store_address = *std::move(address);
  Result<Durability> survives = parse_durability(durability);
  if (!survives) return survives.error();
  globals.durability = *survives;
  if (Status status = model::validate_namespace(globals.name_space); !status) return status;
  if (!globals.principal.empty()) {
    if (Status status = model::validate_principal(globals.principal); !status) return status;
  }
  if (!now.empty()) {
    Result<TimePoint> at = parse_instant("now", now);
    if (!at) return at.error();
    globals.fixed_now = *at;
  }
  if (!zone.empty()) {
    Result<TimeZone> found = TimeZone::find(zone);
    if (!found) return found.error();
    globals.zone = *found;
  } else if (std::optional<std::string> name = variable("TZ")) {
    // POSIX allows a colon before a zone's name, and rules in place of names, which are not read.
    Result<TimeZone> found = TimeZone::find(name->front() == ':' ? name->substr(1) : *name);
    if (found) globals.zone = *found;
  }
  return {};
}

// What to do about an error that a command has no hint of its own for.
std::string hint_of(const Error& error, const Globals& globals) {
  bool concerns_table =
      error.code() == ErrorCode::kUnavailable || error.code() == ErrorCode::kAccessDenied;
  bool is_table = std::holds_alternative<DynamoDbOptions>(globals.store_address);
  if (!globals.hint.empty() || !concerns_table || !is_table) return globals.hint;
  return "`stint doctor` looks for what is wrong.\n";
}

bool asks_for_json(const std::vector<std::string>& arguments) {
  auto end = std::find(arguments.begin(), arguments.end(), "--");
  return std::find(arguments.begin(), end, "--json") != end;
}

void print_version(std::ostream& out) {
  JsonWriter json;
  json.begin_object();
  json.member("version", version());
  json.member("store_format", schema::kStoreFormatVersion);
  json.end_object();
  out << json.text() << '\n';
}

}  // namespace

int run(std::vector<std::string> arguments, std::ostream& out, std::ostream& err,
        Terminal out_terminal) {
  Globals globals(out, err, out_terminal);
  globals.store_name = variable("STINT_STORE").value_or(kDefaultStore);
  std::string durability = variable("STINT_DURABILITY").value_or("process");
  std::string now;
  std::string zone;

  CLI::App app(
      "Rate limits, calendar quotas and session quotas: may this entity use this much of "
      "this resource now, and if not, when?",
      "stint");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", fmt::format("stint {}", version()),
                       "Print the version and exit");
  add_text_option(
      app, "--store", globals.store_name, "STORE",
      "Where everything is kept: a directory, "
      "dynamodb://TABLE?region=R&endpoint=URL&profile=P (in quotes), or memory: for a store that "
      "is gone when the command ends")
      ->capture_default_str();
  add_text_option(app, "--durability", durability, "LEVEL",
                  "What an acknowledged write survives: process (a killed process) or machine (a "
                  "loss of power, too; every write waits for the disk)")
      ->capture_default_str();
  add_text_option(app, "--namespace", globals.name_space, "NAME",
                  "Separates tenants that share a store")
      ->capture_default_str();
  app.add_flag("--audit", globals.audit,
               "Leave an audit event of every change; tables on DynamoDB always do");
  add_text_option(app, "--principal", globals.principal, "NAME",
                  "Whom audit events name: an id, or a text that begins with arn:");
  app.add_flag("--json", globals.json, "Print one JSON object");
  add_text_option(app, "--tz", zone, "ZONE", "Show instants in this time zone");
  add_text_option(
      app, "--now", now, "INSTANT",
      "Act as if the clock showed this instant (for tests and what-if; never on a store "
      "that others use)");
  app.require_subcommand(1);
  app.footer(kFooter);

  add_acquire_command(app, globals);
  add_audit_command(app, globals);
  add_available_command(app, globals);
  add_explain_command(app, globals);
  add_entity_command(app, globals);
  add_limits_command(app, globals);
  add_manifest_command(app, globals);
  add_namespace_command(app, globals);
  add_replay_command(app, globals);
  add_store_command(app, globals);
  add_table_command(app, globals);
  add_doctor_command(app, globals);
  add_completion_command(app, globals);
  add_help_man_command(app, globals);

  std::vector<std::string> normalised = normalise(arguments);
  std::reverse(normalised.begin(), normalised.end());  // as the parser wants them
  try {
    app.parse(std::move(normalised));
  } catch (const CLI::CallForHelp& request) {
    return app.exit(request, out, err) == 0 ? kExitOk : kExitUsage;
  } catch (const CLI::CallForVersion& request) {
    if (asks_for_json(arguments)) {
      print_version(out);
      return kExitOk;
    }
    return app.exit(request, out, err) == 0 ? kExitOk : kExitUsage;
  } catch (const CLI::ParseError& error) {
    std::string reason = describe_problem(app, error);
    if (asks_for_json(arguments)) {
      std::string given = fmt::format("{}", fmt::join(arguments, " "));
      return report(Error::invalid("arguments", given, reason), true, "", out, err);
    }
    err << "stint: " << reason << "\nRun `stint --help` or `stint COMMAND --help`.\n";
    return kExitUsage;
  }

  if (Status status = apply_options(globals, now, zone, durability); !status) {
    return report(status.error(), globals.json, "", out, err);
  }
  Result<int> code = globals.action();
  if (!code) return report(code.error(), globals.json, hint_of(code.error(), globals), out, err);
  out.flush();
  if (!out) {
    err << "stint: the output could not be written\n";
    return kExitUnavailable;
  }
  return *code;
}

}  // namespace stint::cli
