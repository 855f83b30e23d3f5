#include "cli/manifest/reset_rule.h"

namespace stint::cli {

Result<ResetRule> parse_reset_rule(std::string_view text) {
  if (text == "local_day") return ResetRule::kLocalDay;
  if (text == "compatible") return ResetRule::kCompatible;
  return Error::invalid("reset-rule", text, "must be local_day or compatible");
}

}  // namespace stint::cli
