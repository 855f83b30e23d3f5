// Completions for shells.
#ifndef STINT_CLI_GENERATE_COMPLETION_H_
#define STINT_CLI_GENERATE_COMPLETION_H_

#include <string>

#include "cli/generate/command_tree.h"

namespace stint::cli {

/// A script that teaches the shell to complete `stint`: commands, options, values from a list,
/// files and directories. It asks the program nothing.
std::string bash_completion(const Command& program);
std::string zsh_completion(const Command& program);
std::string fish_completion(const Command& program);

}  // namespace stint::cli

#endif  // STINT_CLI_GENERATE_COMPLETION_H_
