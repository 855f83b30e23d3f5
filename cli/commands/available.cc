// stint available ENTITY RESOURCE [--need LIMIT=N...]
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/instant.h"

namespace stint::cli {
namespace {

struct AvailableArguments {
  std::string entity;
  std::string resource;
  std::vector<std::string> need;
};

void print_text(std::ostream& out, const Availability& availability, bool asked,
                const Viewpoint& view) {
  const Terminal& terminal = view.terminal;
  if (availability.access == AccessPolicy::kDisabled) {
    out << terminal.paint(Colour::kRed, "access is disabled") << '\n';
  } else if (availability.access == AccessPolicy::kBypass) {
    out << terminal.paint(Colour::kYellow, "access is bypassed: every request passes") << '\n';
  }
  if (asked && availability.access == AccessPolicy::kEnforce) {
    if (availability.fits) {
      out << terminal.paint(Colour::kGreen, "fits now");
    } else if (availability.never_fits) {
      out << terminal.paint(Colour::kRed, "never fits");
    } else if (!availability.hindrance.empty()) {
      out << terminal.paint(Colour::kRed, "does not fit: ") << availability.hindrance;
    } else if (availability.wait) {
      out << terminal.paint(Colour::kYellow, "fits in " + format_wait(*availability.wait))
          << fmt::format(" ({})", format_moment(view.now + *availability.wait, view.now,
                                                view.zone_of_wait(availability.limits)));
    } else {
      out << terminal.paint(Colour::kRed, "does not fit, and no reset is in reach");
    }
    out << '\n';
  }
  if (availability.limits.empty()) out << "no limits are configured\n";
  out << format_statuses(availability.limits, view);
}

Result<int> run_available(const AvailableArguments& arguments, Globals& globals) {
  if (Status status = check_target(arguments.entity, arguments.resource); !status) {
    return status.error();
  }
  Result<std::vector<Consume>> need = parse_amounts("need", arguments.need);
  if (!need) return need.error();
  Result<Limiter> limiter = globals.open_reader();
  if (!limiter) return limiter.error();
  Result<Availability> availability =
      limiter->available(arguments.entity, arguments.resource, *need);
  if (!availability) return availability.error();

  if (!globals.json) {
    print_text(globals.out, *availability, !need->empty(),
               globals.view(*limiter, availability->limits));
    return kExitOk;
  }
  JsonWriter json;
  json.begin_object();
  json.member("entity", arguments.entity);
  json.member("resource", arguments.resource);
  json.member("now_ms", globals.now());
  json.member("fits", availability->fits);
  json.member("wait_ms", availability->wait);
  json.member("never_fits", availability->never_fits);
  write_hindrance(json, availability->hindrance);
  json.member("access", to_string(availability->access));
  json.key("limits");
  json.begin_array();
  for (const LimitStatus& status : availability->limits) write_status(json, status);
  json.end_array();
  json.end_object();
  globals.out << json.text() << '\n';
  return kExitOk;
}

}  // namespace

void add_available_command(CLI::App& app, Globals& globals) {
  auto arguments = std::make_shared<AvailableArguments>();
  CLI::App* command = add_subcommand(
      app, "available", "Show what is left, and when an amount would fit; takes nothing",
      "stint available user-1 api --need tokens=5000");
  command->add_option("ENTITY", arguments->entity, "Who would use")->required();
  command->add_option("RESOURCE", arguments->resource, "What would be used")->required();
  add_amounts_option(*command, "--need", arguments->need, "An amount that should fit");
  set_action(*command, arguments, globals, run_available);
}

}  // namespace stint::cli
