#include "cli/replay/expression.h"

#include <utility>

#include "model/names.h"
#include "stint/amount.h"

namespace stint::cli {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

bool all_digits(std::string_view text) {
  return text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::optional<std::int64_t> parse_whole_tokens(std::string_view text) {
  if (text.empty()) return std::nullopt;
  std::int64_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
    if (value > kMaxTokens) return std::nullopt;
  }
  return value;
}

Result<Expression> Expression::parse(std::string_view text) {
  Expression expression;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find('+', begin);
    const std::string_view term =
        trimmed(text.substr(begin, end == std::string_view::npos ? end : end - begin));
    if (term.empty()) {
      return Error::invalid("consume", text,
                            "expected a whole number, a field, or a sum of them such as a+b");
    }
    if (all_digits(term)) {
      const std::optional<std::int64_t> number = parse_whole_tokens(term);
      if (!number || *number > kMaxTokens - expression.constant) {
        return Error::invalid("consume", text,
                              "is more than " + std::to_string(kMaxTokens) + " tokens");
      }
      expression.constant += *number;
    } else {
      expression.fields.emplace_back(term);
    }
    if (end == std::string_view::npos) return expression;
    begin = end + 1;
  }
}

Result<ConsumeRule> ConsumeRule::parse(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return Error::invalid("consume", text, "expected LIMIT=EXPR, for example tokens=in+out");
  }
  const std::string_view limit = text.substr(0, equals);
  if (Status status = model::validate_limit_name(limit); !status) return status.error();
  Result<Expression> amount = Expression::parse(text.substr(equals + 1));
  if (!amount) return amount.error();
  return ConsumeRule{std::string(limit), std::move(*amount)};
}

}  // namespace stint::cli
