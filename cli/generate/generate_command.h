// stint completion SHELL, and stint help-man DIRECTORY, which is for the build
#ifndef STINT_CLI_GENERATE_GENERATE_COMMAND_H_
#define STINT_CLI_GENERATE_GENERATE_COMMAND_H_

#include "cli/command.h"

namespace stint::cli {

/// Both read the commands of `app` when they are run, whenever those were added.
void add_completion_command(CLI::App& app, Globals& globals);
void add_help_man_command(CLI::App& app, Globals& globals);

}  // namespace stint::cli

#endif  // STINT_CLI_GENERATE_GENERATE_COMMAND_H_
