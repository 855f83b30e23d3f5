// Limits as one line of text (docs/limit-grammar.md).
//
//   LIMIT    = NAME ":" AMOUNT RECOVERY { "|" CRON "=" CHANGE } [ "@" ZONE ] [ "!soft" ]
//   RECOVERY = "/" PERIOD [ ":" BURST ]               rate
//            | "@" CRON { ";" CRON } [ "@" ZONE ]     calendar quota
//            | "+" DURATION                           session quota
//   CHANGE   = "x" SCALE
//            | PART { "," PART }
//   PART     = "capacity:" AMOUNT | "refill:" AMOUNT [ "/" PERIOD ] | "period:" PERIOD
#ifndef STINT_CLI_LIMIT_GRAMMAR_H_
#define STINT_CLI_LIMIT_GRAMMAR_H_

#include <string>
#include <string_view>

#include "stint/limit.h"
#include "stint/result.h"

namespace stint::cli {

/// The grammar in a few lines, for --help and beside errors.
extern const std::string_view kLimitGrammar;

/// Errors: `kInvalidArgument`; field "limit" for a text that is no limit, otherwise the field of
/// the limit that is out of bounds.
Result<Limit> parse_limit(std::string_view text);

/// The canonical text: `parse_limit` makes the same limit of it.
std::string format_limit(const Limit& limit);

/// How one line of a level schedule changes a limit: the CHANGE of the grammar.
std::string format_change(const LevelEntry& entry);

}  // namespace stint::cli

#endif  // STINT_CLI_LIMIT_GRAMMAR_H_
