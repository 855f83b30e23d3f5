// What a record consumes: whole numbers, fields, and sums of them.
#ifndef STINT_CLI_REPLAY_EXPRESSION_H_
#define STINT_CLI_REPLAY_EXPRESSION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stint/result.h"

namespace stint::cli {

/// A whole number of tokens from 0 to `kMaxTokens`, written in digits only. Nothing otherwise.
std::optional<std::int64_t> parse_whole_tokens(std::string_view text);

/// The EXPR of `--consume LIMIT=EXPR`.
struct Expression {
  /// The sum of its numbers.
  std::int64_t constant = 0;
  /// Names of the fields to add, in the order written; a field may occur twice.
  std::vector<std::string> fields;

  /// Terms with `+` between them; a term of digits is a number, any other is the name of a field.
  /// Blanks around terms do not count. Errors: `kInvalidArgument`.
  static Result<Expression> parse(std::string_view text);
};

/// One `--consume`.
struct ConsumeRule {
  std::string limit;
  Expression amount;

  /// `LIMIT=EXPR`. Errors: `kInvalidArgument`, also for a name that no limit can have.
  static Result<ConsumeRule> parse(std::string_view text);
};

}  // namespace stint::cli

#endif  // STINT_CLI_REPLAY_EXPRESSION_H_
