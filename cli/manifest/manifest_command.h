// stint manifest check FILE
#ifndef STINT_CLI_MANIFEST_MANIFEST_COMMAND_H_
#define STINT_CLI_MANIFEST_MANIFEST_COMMAND_H_

#include "cli/command.h"

namespace stint::cli {

/// Registers `manifest` with its subcommands.
void add_manifest_command(CLI::App& app, Globals& globals);

}  // namespace stint::cli

#endif  // STINT_CLI_MANIFEST_MANIFEST_COMMAND_H_
