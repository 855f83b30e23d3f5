// stint replay --manifest FILE --consume LIMIT=EXPR... INPUT
#ifndef STINT_CLI_REPLAY_REPLAY_COMMAND_H_
#define STINT_CLI_REPLAY_REPLAY_COMMAND_H_

#include "cli/command.h"

namespace stint::cli {

void add_replay_command(CLI::App& app, Globals& globals);

}  // namespace stint::cli

#endif  // STINT_CLI_REPLAY_REPLAY_COMMAND_H_
