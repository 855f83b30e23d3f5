#include "store/dynamodb/credentials/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include "store/dynamodb/credentials/system_error.h"

extern char** environ;

namespace stint::store::dynamodb {
namespace {

// How often an interruption is looked for while a program runs.
constexpr std::chrono::milliseconds kSlice{50};

Error failed(std::string reason) { return Error(ErrorCode::kAccessDenied, std::move(reason)); }
Error in_the_way(std::string reason) { return Error(ErrorCode::kUnavailable, std::move(reason)); }

Error not_started(int code) {
  return Error(code_of_errno(code),
               "could not be started (" + std::generic_category().message(code) + ")");
}

/// What a child is started with. Each call returns 0 or an errno.
class SpawnSettings {
 public:
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  int prepare(int output) {
    sigset_t none;
    sigemptyset(&none);
    // Programs expect to die of a closed pipe, whatever this process does about it.
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    int code = posix_spawnattr_setsigmask(&attributes_, &none);
    if (code == 0) code = posix_spawnattr_setsigdefault(&attributes_, &defaults);
    if (code == 0) code = posix_spawnattr_setpgroup(&attributes_, 0);
    if (code == 0) {
      code = posix_spawnattr_setflags(
          &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    }
    if (code == 0) code = posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    for (int stream : {STDIN_FILENO, STDERR_FILENO}) {
      if (code != 0) break;
      code = posix_spawn_file_actions_addopen(&actions_, stream, "/dev/null",
                                              stream == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0);
    }
    // Connections and files of this process are none of its business.
    if (code == 0) code = posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    return code;
  }

  int spawn(pid_t& child, const std::vector<std::string>& command) {
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    return posix_spawnp(&child, arguments[0], &actions_, &attributes_, arguments.data(), environ);
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

/// A running child and its output.
class Child {
 public:
  Child(pid_t id, int output) : id_(id), output_(output) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    ::close(output_);
    if (id_ <= 0) return;
    ::kill(-id_, SIGKILL);
    while (::waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  /// Reads to the end of the output.
  Result<std::string> read(const ProcessLimits& limits, Steady::time_point deadline,
                           const Interruption& interruption) {
    std::string text;
    char buffer[4096];
    for (;;) {
      if (Status still = may_go_on(limits, deadline, interruption); !still) return still.error();
      pollfd waiting{output_, POLLIN, 0};
      int ready = ::poll(&waiting, 1, static_cast<int>(kSlice.count()));
      if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
      ssize_t got = ::read(output_, buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return failed("wrote something that cannot be read");
      if (got == 0) return text;
      text.append(buffer, static_cast<std::size_t>(got));
      if (text.size() > limits.output_bytes) {
        return failed("wrote more than " + std::to_string(limits.output_bytes) + " bytes");
      }
    }
  }

  /// Waits for its end.
  Status finish(const ProcessLimits& limits, Steady::time_point deadline,
                Interruption& interruption) {
    std::chrono::milliseconds pause{1};
    for (;;) {
      int status = 0;
      pid_t ended = ::waitpid(id_, &status, WNOHANG);
      if (ended < 0 && errno == EINTR) continue;
      if (ended < 0) {
        // Somebody else in this process takes in all children, so that nobody can tell how it
        // ended; what it wrote has to do.
        id_ = 0;
        return Status();
      }
      if (ended == id_) {
        id_ = 0;
        return judge(status);
      }
      if (Status still = may_go_on(limits, deadline, interruption); !still) return still;
      interruption.wait_until(std::min(Steady::now() + pause, deadline));
      pause = std::min(2 * pause, kSlice);
    }
  }

 private:
  static Status may_go_on(const ProcessLimits& limits, Steady::time_point deadline,
                          const Interruption& interruption) {
    if (interruption.is_set()) return in_the_way("was ended, as this client is being closed");
    if (Steady::now() < deadline) return Status();
    return in_the_way("did not end within " + std::to_string(limits.time.count()) + " ms");
  }

  static Status judge(int status) {
    if (WIFSIGNALED(status)) {
      return in_the_way("was killed by signal " + std::to_string(WTERMSIG(status)));
    }
    if (WEXITSTATUS(status) != 0) {
      return failed("ended with status " + std::to_string(WEXITSTATUS(status)) +
                    "; run it by hand to see what it says");
    }
    return Status();
  }

  pid_t id_;
  int output_;
};

}  // namespace

Result<std::vector<std::string>> split_command(std::string_view command) {
  std::vector<std::string> words;
  std::optional<std::string> word;
  char quote = '\0';
  for (std::size_t at = 0; at < command.size(); ++at) {
    char c = command[at];
    if (quote == '\'') {
      if (c == quote) {
        quote = '\0';
      } else {
        *word += c;
      }
      continue;
    }
    bool white = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (quote == '\0' && white) {
      if (word) words.push_back(*std::move(word));
      word.reset();
      continue;
    }
    if (!word) word.emplace();
    bool more = at + 1 < command.size();
    if (c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == '\\' && more &&
               (quote == '\0' || command[at + 1] == '"' || command[at + 1] == '\\')) {
      *word += command[++at];
    } else {
      *word += c;
    }
  }
  if (quote != '\0') {
    return Error(ErrorCode::kInvalidArgument, "the command has a quote that is not closed");
  }
  if (word) words.push_back(*std::move(word));
  if (words.empty() || words.front().empty()) {
    return Error(ErrorCode::kInvalidArgument, "the command is empty");
  }
  return words;
}

Result<std::string> run_process(const std::vector<std::string>& command,
                                const ProcessLimits& limits, Interruption& interruption) {
  Steady::time_point deadline = Steady::now() + limits.time;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return not_started(errno);
  SpawnSettings settings;
  pid_t id = 0;
  int code = settings.prepare(ends[1]);
  if (code == 0) code = settings.spawn(id, command);
  ::close(ends[1]);
  if (code != 0) {
    ::close(ends[0]);
    return not_started(code);
  }
  Child child(id, ends[0]);
  Result<std::string> output = child.read(limits, deadline, interruption);
  if (!output) return output;
  if (Status ended = child.finish(limits, deadline, interruption); !ended) return ended.error();
  return output;
}

}  // namespace stint::store::dynamodb
