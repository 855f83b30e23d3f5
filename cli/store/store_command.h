// stint store info|check|backup|export|import
#ifndef STINT_CLI_STORE_STORE_COMMAND_H_
#define STINT_CLI_STORE_STORE_COMMAND_H_

#include "cli/command.h"

namespace stint::cli {

/// Registers `store` with its subcommands.
void add_store_command(CLI::App& app, Globals& globals);

/// Of `store`, each in a file of its own.
void add_export_command(CLI::App& store, Globals& globals);
void add_import_command(CLI::App& store, Globals& globals);

}  // namespace stint::cli

#endif  // STINT_CLI_STORE_STORE_COMMAND_H_
