// Programs that print credentials.
#ifndef STINT_STORE_DYNAMODB_CREDENTIALS_PROCESS_H_
#define STINT_STORE_DYNAMODB_CREDENTIALS_PROCESS_H_

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "stint/result.h"
#include "store/dynamodb/credentials/interruption.h"

namespace stint::store::dynamodb {

/// The words of a command as a shell splits them: at white space, with "..." and '...' and
/// backslashes as usual. Nothing else has a meaning: no variable, pipe or wildcard is expanded.
/// Errors: `kInvalidArgument` for an open quote and for no word at all; the reason does not show
/// the command, which may hold a secret.
Result<std::vector<std::string>> split_command(std::string_view command);

struct ProcessLimits {
  std::chrono::milliseconds time{60'000};
  std::size_t output_bytes = 64 * 1024;
};

/// Runs a program without a shell, looked up in PATH, with the environment of this process, and
/// returns what it wrote to its standard output. Its standard input is empty, what it writes to
/// standard error is dropped. It leads a process group of its own, which is killed when it takes
/// too long, writes too much, or `interruption` is set. Blocks. Errors, with a clause to follow
/// "the program": `kUnavailable` when it took too long, was killed, or the machine is short of
/// something; `kAccessDenied` when it is not there, failed, or wrote too much. Reasons show neither
/// the command nor its output.
Result<std::string> run_process(const std::vector<std::string>& command,
                                const ProcessLimits& limits, Interruption& interruption);

}  // namespace stint::store::dynamodb

#endif  // STINT_STORE_DYNAMODB_CREDENTIALS_PROCESS_H_
