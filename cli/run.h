// The whole program without its `main`.
#ifndef STINT_CLI_RUN_H_
#define STINT_CLI_RUN_H_

#include <ostream>
#include <string>
#include <vector>

#include "cli/terminal.h"

namespace stint::cli {

/// Runs one command line (without the program's name) and returns the exit code. Reads the
/// environment variables STINT_STORE and TZ.
int run(std::vector<std::string> arguments, std::ostream& out, std::ostream& err,
        Terminal out_terminal);

}  // namespace stint::cli

#endif  // STINT_CLI_RUN_H_
