// stint acquire ENTITY RESOURCE --consume LIMIT=N... [--settle LIMIT=N...]
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/instant.h"
#include "cli/number_text.h"

namespace stint::cli {
namespace {

struct AcquireArguments {
  std::string entity;
  std::string resource;
  std::vector<std::string> consume;
  std::vector<std::string> settle;
};

const Consume* find_amount(const std::vector<Consume>& amounts, const std::string& limit) {
  auto found = std::find_if(amounts.begin(), amounts.end(),
                            [&](const Consume& amount) { return amount.limit == limit; });
  return found == amounts.end() ? nullptr : &*found;
}

Status settle(Lease& lease, const std::vector<Consume>& taken, const std::vector<Consume>& used) {
  for (const Consume& amount : used) {
    std::int64_t declared = find_amount(taken, amount.limit)->amount.milli().count();
    MilliTokens difference(amount.amount.milli().count() - declared);
    if (Status status = lease.adjust(amount.limit, difference); !status) return status;
  }
  return lease.settle();
}

// The statuses of a decision, brought up to date after its lease was settled.
Result<std::vector<LimitStatus>> statuses_after_settling(Limiter& limiter,
                                                         const AcquireRequest& request,
                                                         std::vector<LimitStatus> statuses) {
  Result<Availability> after = limiter.available(request.entity, request.resource);
  if (!after) return after.error();
  for (LimitStatus& status : statuses) {
    for (LimitStatus& current : after->limits) {
      if (current.entity != status.entity || current.name != status.name) continue;
      current.requested = status.requested;
      status = std::move(current);
      break;
    }
  }
  return statuses;
}

std::string describe_rejection(const Decision& decision, const Viewpoint& view) {
  const Rejection& rejection = decision.rejection();
  std::vector<std::string> short_limits;
  for (const LimitStatus& status : decision.limits()) {
    if (status.exceeded || status.never_fits) short_limits.push_back(status.name);
  }
  std::string text = fmt::format("{} short", fmt::join(short_limits, ", "));
  if (rejection.never_fits) return text + "; never fits";
  if (!rejection.retry_after) return text + "; no reset in reach";
  return text + fmt::format("; fits in {} ({})", format_wait(*rejection.retry_after),
                            format_moment(view.now + *rejection.retry_after, view.now,
                                          view.zone_of_wait(decision.limits())));
}

void print_text(std::ostream& out, const Decision& decision, bool degraded,
                const std::vector<LimitStatus>& statuses, const Viewpoint& view) {
  const Terminal& terminal = view.terminal;
  switch (decision.outcome()) {
    case Outcome::kAdmitted:
      out << terminal.paint(Colour::kGreen, "admitted");
      if (degraded) out << terminal.paint(Colour::kYellow, ", but not counted: the store failed");
      break;
    case Outcome::kRejected:
      out << terminal.paint(Colour::kRed, "rejected") << ": " << describe_rejection(decision, view);
      break;
    case Outcome::kDisabled:
      out << terminal.paint(Colour::kRed, "disabled") << ": access of "
          << decision.disabled_entity() << " to " << decision.disabled_resource()
          << " is switched off (level " << decision.disabled_level() << ")";
      break;
  }
  out << '\n' << format_statuses(statuses, view);
}

void print_json(std::ostream& out, const Decision& decision, bool degraded,
                const std::vector<LimitStatus>& statuses, const std::vector<Consume>& settled) {
  bool rejected = decision.outcome() == Outcome::kRejected;
  JsonWriter json;
  json.begin_object();
  json.member("admitted", static_cast<bool>(decision));
  switch (decision.outcome()) {
    case Outcome::kAdmitted: json.member("outcome", "admitted"); break;
    case Outcome::kRejected: json.member("outcome", "rejected"); break;
    case Outcome::kDisabled: json.member("outcome", "disabled"); break;
  }
  json.key("limits");
  json.begin_array();
  for (const LimitStatus& status : statuses) write_status(json, status);
  json.end_array();
  json.member("retry_after_ms", rejected ? decision.rejection().retry_after : std::nullopt);
  json.member("never_fits", rejected && decision.rejection().never_fits);
  json.member("degraded", degraded);
  json.key("settled");
  if (settled.empty()) {
    json.value(nullptr);
  } else {
    json.begin_object();
    for (const Consume& amount : settled) json.member(amount.limit, amount.amount.milli());
    json.end_object();
  }
  json.key("disabled");
  if (decision.outcome() == Outcome::kDisabled) {
    json.begin_object();
    json.member("entity", decision.disabled_entity());
    json.member("resource", decision.disabled_resource());
    json.member("level", decision.disabled_level());
    json.end_object();
  } else {
    json.value(nullptr);
  }
  json.end_object();
  out << json.text() << '\n';
}

Result<int> run_acquire(const AcquireArguments& arguments, Globals& globals) {
  if (Status status = check_target(arguments.entity, arguments.resource); !status) {
    return status.error();
  }
  Result<std::vector<Consume>> consume = parse_amounts("consume", arguments.consume);
  if (!consume) return consume.error();
  Result<std::vector<Consume>> used = parse_amounts("settle", arguments.settle);
  if (!used) return used.error();
  for (const Consume& amount : *used) {
    if (find_amount(*consume, amount.limit) == nullptr) {
      return Error::invalid("settle", amount.limit, "is not among the limits of --consume");
    }
  }

  Result<Limiter> limiter = globals.open_limiter(IfMissing::kFail);
  if (!limiter) return limiter.error();
  AcquireRequest request;
  request.entity = arguments.entity;
  request.resource = arguments.resource;
  request.consume = *consume;
  Result<Decision> decision = limiter->acquire(request);
  if (!decision) return decision.error();
  std::vector<LimitStatus> statuses = decision->limits();
  bool degraded = decision->degraded();
  std::vector<Consume> settled;
  if (*decision) {
    if (Status status = settle(decision->lease(), *consume, *used); !status) return status.error();
    if (!used->empty() && !degraded) {
      settled = *used;
      Result<std::vector<LimitStatus>> after =
          statuses_after_settling(*limiter, request, std::move(statuses));
      if (!after) return after.error();
      statuses = *std::move(after);
    }
  }

  if (globals.json) {
    print_json(globals.out, *decision, degraded, statuses, settled);
  } else {
    print_text(globals.out, *decision, degraded, statuses, globals.view(*limiter, statuses));
  }
  return exit_code(decision->outcome());
}

}  // namespace

void add_acquire_command(CLI::App& app, Globals& globals) {
  auto arguments = std::make_shared<AcquireArguments>();
  CLI::App* command =
      add_subcommand(app, "acquire", "Take amounts from all named limits, or from none",
                     "stint acquire user-1 api --consume rpm=1 tokens=1500 --settle tokens=1230.5");
  command->add_option("ENTITY", arguments->entity, "Who uses")->required();
  command->add_option("RESOURCE", arguments->resource, "What is used")->required();
  add_amounts_option(*command, "--consume", arguments->consume,
                     "How much to take of each limit; 0 asks that it be not overdrawn")
      ->required();
  add_amounts_option(*command, "--settle", arguments->settle,
                     "What was really used, if admitted: the difference is written");
  set_action(*command, arguments, globals, run_acquire);
}

}  // namespace stint::cli
