// Kills a process that works on a durable store, again and again, and looks what became of it.
//
//     build/dev/tests/kill_campaign --kills 1000 --seed 1
//     build/dev/tests/kill_campaign --kills 1000 --seed 1 --durability machine
//     build/dev/tests/kill_campaign --seed 1 --iteration 17          # one iteration alone
//     build/dev/tests/kill_campaign --kills 40 --seed 1 --control power     # must find losses
//     build/dev/tests/kill_campaign --kills 40 --seed 1 --control early     # must find losses
//
// An iteration is a fresh directory and three children on it, one after the other. Each is killed
// at a moment that the seed decides: when it has been told of so many calls, or at the nth event of
// a kind in the file system. Campaign and iteration together are the seed, so one can be repeated
// alone; what the threads of a child do meanwhile is up to the machine. At `machine` a kill also
// loses everything that was not synced. The controls plant a mistake: the losses of `machine` at
// `process`, and calls that count as acknowledged before they are made.
//
// Progress goes to standard error, a summary in JSON to standard output. Exit code 0: nothing lost,
// nothing wrong (with a control: losses were found); 1: otherwise; 2: malformed arguments.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "tests/kill/check.h"
#include "tests/kill/journal.h"
#include "tests/kill/worker.h"
#include "tests/support/temp_directory.h"

namespace stint::test {
namespace {

constexpr int kRounds = 3;
constexpr std::int64_t kStartMs = 1'800'000'000'000;

struct Campaign {
  std::int64_t kills = 20;
  std::uint64_t seed = 1;
  std::optional<std::int64_t> iteration;
  bool machine = false;
  std::string control;
};

[[noreturn]] void usage(const std::string& problem) {
  std::cerr << "kill_campaign: " << problem
            << "\nusage: kill_campaign [--kills N] [--seed S] [--iteration I]"
               " [--durability process|machine] [--control power|early]\n";
  std::exit(2);
}

std::uint64_t number_of(const std::string& name, std::string_view text) {
  std::uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) usage(name + " needs a number");
  return value;
}

// The nth event that a child dies at is drawn up to here: what is rare is met early.
std::uint64_t most_events(FileEvent event) {
  switch (event) {
    case FileEvent::kLogAppend: return 900;
    case FileEvent::kLogSync: return 500;
    case FileEvent::kTableAppend: return 8;
    default: return 5;
  }
}

struct Plan {
  WorkerOptions worker;
  /// The parent kills when so many calls are acknowledged; absent: the child dies by itself.
  std::optional<std::int64_t> kill_after;
};

Plan draw_plan(const Campaign& campaign, std::mt19937_64& random, const std::string& directory) {
  auto draw = [&random](std::uint64_t from, std::uint64_t to) {
    return std::uniform_int_distribution<std::uint64_t>(from, to)(random);
  };
  Plan plan;
  plan.worker.directory = directory;
  plan.worker.seed = random();
  plan.worker.synced = campaign.machine;
  plan.worker.power_loss = campaign.machine || campaign.control == "power";
  plan.worker.early = campaign.control == "early";
  plan.worker.most_calls = 1500;
  std::uint64_t event = draw(0, kFileEvents - 1);
  std::uint64_t nth = draw(0, ~std::uint64_t{0});
  bool after = draw(0, 1) == 1;
  auto calls = static_cast<std::int64_t>(draw(0, 1200));
  if (draw(0, 1) == 0) {
    plan.kill_after = calls;
  } else {
    KillPoint point;
    point.event = static_cast<FileEvent>(event);
    point.nth = 1 + nth % most_events(point.event);
    point.after = after;
    plan.worker.point = point;
  }
  return plan;
}

std::vector<std::string> child_arguments(const Plan& plan, const std::string& journal) {
  const WorkerOptions& worker = plan.worker;
  std::vector<std::string> arguments = {"kill_campaign",
                                        "--child",
                                        worker.directory,
                                        journal,
                                        std::to_string(worker.seed),
                                        worker.synced ? "1" : "0",
                                        worker.power_loss ? "1" : "0",
                                        worker.early ? "1" : "0",
                                        std::to_string(worker.most_calls)};
  if (worker.point) {
    arguments.push_back(std::to_string(static_cast<int>(worker.point->event)));
    arguments.push_back(std::to_string(worker.point->nth));
    arguments.emplace_back(worker.point->after ? "1" : "0");
  }
  return arguments;
}

[[noreturn]] void be_child(const std::vector<std::string>& arguments) {
  WorkerOptions options;
  options.directory = arguments.at(1);
  options.seed = number_of("seed", arguments.at(3));
  options.synced = arguments.at(4) == "1";
  options.power_loss = arguments.at(5) == "1";
  options.early = arguments.at(6) == "1";
  options.most_calls = static_cast<std::int64_t>(number_of("calls", arguments.at(7)));
  if (arguments.size() > 8) {
    KillPoint point;
    point.event = static_cast<FileEvent>(number_of("event", arguments.at(8)));
    point.nth = number_of("nth", arguments.at(9));
    point.after = arguments.at(10) == "1";
    options.point = point;
  }
  MappedJournal journal(arguments.at(2));
  run_worker(options, *journal);
}

// How the child ended: empty when it was killed as it should be.
std::string run_child(const Plan& plan, const std::string& journal_path, Journal& journal) {
  std::vector<std::string> arguments = child_arguments(plan, journal_path);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  journal.calls = 0;
  pid_t child = ::fork();
  if (child == 0) {
    ::execv("/proc/self/exe", pointers.data());
    std::_Exit(127);
  }
  if (child < 0) return "no process could be started";
  int status = 0;
  while (plan.kill_after) {
    if (::waitpid(child, &status, WNOHANG) == child) break;
    if (journal.calls >= *plan.kill_after && journal.opened != 0) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      break;
    }
    ::usleep(100);
  }
  if (!plan.kill_after) ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return "";
  return "the child ended by itself, with status " + std::to_string(status);
}

struct Totals {
  std::int64_t kills = 0;
  std::int64_t at_points = 0;
  std::int64_t acknowledged = 0;
  std::int64_t checked = 0;
  std::int64_t maybe = 0;
  std::int64_t lost = 0;
  std::int64_t wrong = 0;
};

void run_iteration(const Campaign& campaign, std::int64_t iteration, Totals& totals) {
  std::seed_seq seeds{campaign.seed, static_cast<std::uint64_t>(iteration)};
  std::mt19937_64 random(seeds);
  TempDirectory directory;
  std::string journal_path = directory.path() + "/journal";
  MappedJournal journal(journal_path);
  journal->clock_ms = kStartMs;
  auto report = [&](const char* what, const std::vector<std::string>& lines) {
    if (campaign.control.empty()) {
      for (const std::string& line : lines) {
        std::cerr << "iteration " << iteration << ": " << what << ": " << line << '\n';
      }
    }
  };
  for (int round = 0; round < kRounds && totals.kills < campaign.kills; ++round) {
    Plan plan = draw_plan(campaign, random, directory.path() + "/store");
    std::string trouble = run_child(plan, journal_path, *journal);
    ++totals.kills;
    totals.at_points += plan.worker.point ? 1 : 0;
    Findings findings = check_store(plan.worker.directory, *journal);
    if (!trouble.empty()) findings.wrong.push_back(trouble);
    report("lost", findings.lost);
    report("wrong", findings.wrong);
    totals.checked += findings.checked;
    totals.maybe += findings.maybe;
    totals.lost += static_cast<std::int64_t>(findings.lost.size());
    totals.wrong += static_cast<std::int64_t>(findings.wrong.size());
    // What was lost once would be missed again.
    if (!findings.lost.empty() || !findings.wrong.empty()) break;
  }
  totals.acknowledged += journal->acknowledged;
}

int run(const Campaign& campaign) {
  bool shown = ::isatty(STDERR_FILENO) != 0;
  Totals totals;
  std::int64_t iteration = campaign.iteration.value_or(0);
  do {
    run_iteration(campaign, iteration++, totals);
    if (shown) {
      std::cerr << '\r' << totals.kills << " of " << campaign.kills << " kills, " << totals.lost
                << " lost, " << totals.wrong << " wrong " << std::flush;
    }
  } while (totals.kills < campaign.kills && !campaign.iteration);
  if (shown) std::cerr << '\n';
  std::cout << "{\"durability\":\"" << (campaign.machine ? "machine" : "process")
            << "\",\"control\":\"" << campaign.control << "\",\"seed\":" << campaign.seed
            << ",\"iterations\":" << iteration << ",\"kills\":" << totals.kills
            << ",\"kills_at_points\":" << totals.at_points
            << ",\"acknowledged\":" << totals.acknowledged << ",\"checked\":" << totals.checked
            << ",\"maybe\":" << totals.maybe << ",\"lost\":" << totals.lost
            << ",\"wrong\":" << totals.wrong << "}\n";
  if (!campaign.control.empty()) return totals.lost > 0 ? 0 : 1;
  return totals.lost == 0 && totals.wrong == 0 ? 0 : 1;
}

Campaign parse(const std::vector<std::string>& arguments) {
  Campaign campaign;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    const std::string& name = arguments[i];
    if (i + 1 == arguments.size()) usage(name + " needs a value");
    const std::string& value = arguments[i + 1];
    if (name == "--kills") {
      campaign.kills = static_cast<std::int64_t>(number_of(name, value));
    } else if (name == "--seed") {
      campaign.seed = number_of(name, value);
    } else if (name == "--iteration") {
      campaign.iteration = static_cast<std::int64_t>(number_of(name, value));
    } else if (name == "--durability" && (value == "process" || value == "machine")) {
      campaign.machine = value == "machine";
    } else if (name == "--control" && (value == "power" || value == "early")) {
      campaign.control = value;
    } else {
      usage("what is " + name + " " + value + "?");
    }
  }
  if (campaign.machine && !campaign.control.empty()) usage("controls run at process");
  return campaign;
}

}  // namespace
}  // namespace stint::test

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments[0] == "--child") stint::test::be_child(arguments);
  return stint::test::run(stint::test::parse(arguments));
}
