// The option --reset-rule.
#ifndef STINT_CLI_MANIFEST_RESET_RULE_H_
#define STINT_CLI_MANIFEST_RESET_RULE_H_

#include <string_view>

#include "stint/limit.h"
#include "stint/result.h"

namespace stint::cli {

/// `local_day` or `compatible`. Errors: `kInvalidArgument`.
Result<ResetRule> parse_reset_rule(std::string_view text);

}  // namespace stint::cli

#endif  // STINT_CLI_MANIFEST_RESET_RULE_H_
