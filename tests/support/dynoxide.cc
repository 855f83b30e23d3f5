#include "tests/support/dynoxide.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

namespace stint::test {
namespace {

constexpr std::chrono::seconds kPatience{20};
constexpr int kPollMs = 5;
// The state of a listening socket in /proc/net/tcp.
constexpr std::string_view kListening = "0A";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string binary() {
  const std::string named = variable("STINT_DYNOXIDE");
  if (!named.empty()) return named;
  std::string tools = variable("STINT_TOOLS_DIR");
  if (tools.empty()) tools = variable("HOME") + "/.cache/stint-tools";
  return tools + "/dynoxide/dynoxide";
}

/// Whether a child that was just forked runs this program still, with all sockets of this program.
bool runs_this_program(pid_t child) {
  std::error_code ended;
  const std::string files = "/proc/" + std::to_string(child) + "/exe";
  return std::filesystem::read_symlink(files, ended) ==
         std::filesystem::read_symlink("/proc/self/exe", ended);
}

/// The sockets that a process holds, by the kernel's numbers.
std::vector<std::string> sockets_of(pid_t process) {
  constexpr std::string_view kPrefix = "socket:[";
  std::vector<std::string> numbers;
  std::error_code ended;
  const std::string files = "/proc/" + std::to_string(process) + "/fd";
  for (std::filesystem::directory_iterator file(files, ended), end; !ended && file != end;
       file.increment(ended)) {
    std::error_code closed;
    const std::string target = std::filesystem::read_symlink(file->path(), closed).string();
    if (target.rfind(kPrefix, 0) == 0) {
      numbers.push_back(target.substr(kPrefix.size(), target.size() - kPrefix.size() - 1));
    }
  }
  return numbers;
}

/// The port that a process listens on. The server was told to take any free one, so that no two
/// test programs ever want the same, and does not say which it got.
std::optional<std::uint16_t> listening_port(pid_t process) {
  if (runs_this_program(process)) return std::nullopt;
  const std::vector<std::string> sockets = sockets_of(process);
  std::ifstream table("/proc/" + std::to_string(process) + "/net/tcp");
  std::string line;
  std::getline(table, line);  // the heading
  while (std::getline(table, line)) {
    std::istringstream fields(line);
    // Number, local and remote address, state, queues, timer, retransmits, user, timeout, socket.
    std::string slot, local, remote, state, queues, timer, retransmits, user, timeout, socket;
    fields >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> user >>
        timeout >> socket;
    if (state != kListening) continue;
    if (std::find(sockets.begin(), sockets.end(), socket) == sockets.end()) continue;
    return static_cast<std::uint16_t>(
        std::strtoul(local.substr(local.find(':') + 1).c_str(), nullptr, 16));
  }
  return std::nullopt;
}

/// In the child, where only calls that are safe after a fork are allowed.
[[noreturn]] void become_server(const char* program, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // it died before the call above
  const int nothing = open("/dev/null", O_RDWR);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  execl(program, program, "--host", "127.0.0.1", "--port", "0", static_cast<char*>(nullptr));
  _exit(127);
}

}  // namespace

Result<std::unique_ptr<Dynoxide>> Dynoxide::start() {
  const std::string program = binary();
  if (access(program.c_str(), X_OK) != 0) {
    return Error(ErrorCode::kUnavailable,
                 "no DynamoDB server at " + program + ": run scripts/fetch-dynoxide");
  }
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return Error(ErrorCode::kUnavailable, "no process for the DynamoDB server");
  if (child == 0) become_server(program.c_str(), parent);

  std::unique_ptr<Dynoxide> server(new Dynoxide(child));
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    if (const std::optional<std::uint16_t> port = listening_port(child)) {
      server->port_ = *port;
      server->endpoint_ = "http://127.0.0.1:" + std::to_string(*port);
      return server;
    }
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) {
      server->child_ = 0;
      return Error(ErrorCode::kUnavailable, "the DynamoDB server " + program + " ended at once");
    }
    if (std::chrono::steady_clock::now() > deadline) {
      return Error(ErrorCode::kUnavailable, "the DynamoDB server " + program + " does not listen");
    }
    poll(nullptr, 0, kPollMs);
  }
}

Dynoxide& Dynoxide::shared() {
  // Destroyed at exit, which kills the server.
  static const std::unique_ptr<Dynoxide> server = [] {
    Result<std::unique_ptr<Dynoxide>> started = start();
    if (!started) {
      std::fprintf(stderr, "stint test: %s\n", started.error().message().c_str());
      std::_Exit(1);
    }
    return std::move(started).value();
  }();
  return *server;
}

Dynoxide::~Dynoxide() {
  if (child_ == 0) return;
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
}

}  // namespace stint::test
