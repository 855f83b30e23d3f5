#include "store/expression.h"

#include <cassert>
#include <utility>

namespace stint::store {

Operand Operand::literal(Value value) {
  Operand operand(Kind::kLiteral, 0);
  operand.literal_ = std::make_shared<const Value>(std::move(value));
  return operand;
}

Condition& Condition::append(Term term, Join join) {
  assert(join == Join::kClause || !terms_.empty());
  terms_.push_back(JoinedTerm{std::move(term), join});
  return *this;
}

Condition& Condition::require_any(std::vector<std::vector<Term>> alternatives) {
  for (const std::vector<Term>& alternative : alternatives) {
    if (alternative.empty()) return *this;  // holds whatever the item
  }
  if (alternatives.empty()) {
    // No alternative can hold: an item that is there and is not.
    append(Term{Test::kItemExists}, Join::kClause);
    return append(Term{Test::kItemAbsent}, Join::kAnd);
  }
  Join join = Join::kClause;
  for (std::vector<Term>& alternative : alternatives) {
    for (Term& term : alternative) {
      append(std::move(term), join);
      join = Join::kAnd;
    }
    join = Join::kOr;
  }
  return *this;
}

Condition& Condition::require_all(const Condition& other) {
  // By copy first: `other` may be this very condition.
  std::vector<JoinedTerm> added = other.terms_;
  for (JoinedTerm& joined : added) terms_.push_back(std::move(joined));
  return *this;
}

}  // namespace stint::store
