#include "store/expression.h"

#include <utility>

namespace stint::store {

Operand Operand::literal(Value value) {
  Operand operand(Kind::kLiteral, 0);
  operand.literal_ = std::make_shared<const Value>(std::move(value));
  return operand;
}

Condition& Condition::require(Term term) {
  std::vector<std::vector<Term>> clause(1);
  clause.front().push_back(std::move(term));
  clauses_.push_back(std::move(clause));
  return *this;
}

Condition& Condition::require_any(std::vector<std::vector<Term>> alternatives) {
  clauses_.push_back(std::move(alternatives));
  return *this;
}

Condition& Condition::require_all(const Condition& other) {
  // By copy first: `other` may be this very condition.
  std::vector<std::vector<std::vector<Term>>> added = other.clauses_;
  for (auto& clause : added) clauses_.push_back(std::move(clause));
  return *this;
}

}  // namespace stint::store
