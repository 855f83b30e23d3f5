// Prepared conditions and updates: built once per limit set and form of write, applied many times
// with fresh parameters. Semantics are DynamoDB's: a comparison with an absent attribute, or with
// one of another type, is false; an update of a missing item creates it.
#ifndef STINT_STORE_EXPRESSION_H_
#define STINT_STORE_EXPRESSION_H_

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/component.h"
#include "store/attribute.h"
#include "store/value.h"

namespace stint::store {

/// Values that a request supplies to a prepared expression. Views: the arrays must live until the
/// reply is there.
struct Params {
  std::span<const std::int64_t> numbers;
  std::span<const std::string> strings;
};

/// A constant, or a place in the request's parameters.
class Operand {
 public:
  /// The next number / string of the parameters; indices are assigned by the builders in order.
  static Operand number_param(int index) { return Operand(Kind::kNumberParam, index); }
  static Operand string_param(int index) { return Operand(Kind::kStringParam, index); }
  static Operand literal(Value value);

  enum class Kind : std::uint8_t { kNumberParam, kStringParam, kLiteral };
  Kind kind() const { return kind_; }
  int index() const { return index_; }
  const Value& literal_value() const { return *literal_; }

  /// The operand's number, if it is one.
  const std::int64_t* number(const Params& params) const {
    if (kind_ == Kind::kNumberParam) {
      assert(static_cast<std::size_t>(index_) < params.numbers.size());
      return &params.numbers[static_cast<std::size_t>(index_)];
    }
    return kind_ == Kind::kLiteral ? literal_->as_number() : nullptr;
  }
  /// The operand's string, if it is one.
  const std::string* string(const Params& params) const {
    if (kind_ == Kind::kStringParam) {
      assert(static_cast<std::size_t>(index_) < params.strings.size());
      return &params.strings[static_cast<std::size_t>(index_)];
    }
    return kind_ == Kind::kLiteral ? literal_->as_string() : nullptr;
  }

 private:
  Operand(Kind kind, int index) : kind_(kind), index_(index) {}

  Kind kind_;
  int index_;
  std::shared_ptr<const Value> literal_;
};

enum class Test : std::uint8_t {
  kItemExists,
  kItemAbsent,
  kPresent,  ///< The attribute exists.
  kAbsent,
  kEqual,
  kNotEqual,  ///< True only for a present attribute of another value; DynamoDB's own `<>` is true
              ///< of an absent one, too.
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
};

/// One elementary test.
struct Term {
  Test test;
  AttrId attribute{};                          // unused by the item tests
  Operand operand = Operand::number_param(0);  // unused by presence tests
  PositionHint hint{};                         // never set by hand
};

/// A conjunction of clauses; a clause is a disjunction of alternatives; an alternative is a
/// conjunction of terms. An empty condition holds. Kept as one list, which is quick to walk.
class Condition {
 public:
  /// How a term joins the one before.
  enum class Join : std::uint8_t {
    kClause,  ///< It begins a new clause.
    kOr,      ///< It begins another alternative of the same clause.
    kAnd,     ///< It belongs to the same alternative.
  };
  struct JoinedTerm {
    Term term;
    Join join;
  };

  /// Adds a term. Precondition: the first one begins a clause.
  STINT_COMPONENT Condition& append(Term term, Join join);
  /// Adds a clause of a single term.
  Condition& require(Term term) { return append(std::move(term), Join::kClause); }
  /// Adds a clause that holds when all terms of any one alternative hold.
  STINT_COMPONENT Condition& require_any(std::vector<std::vector<Term>> alternatives);
  /// Adds another condition's clauses.
  Condition& require_all(const Condition& other);

  bool empty() const { return terms_.empty(); }
  std::span<const JoinedTerm> terms() const { return terms_; }

 private:
  std::vector<JoinedTerm> terms_;
};

enum class Change : std::uint8_t {
  kSet,
  kSetIfAbsent,
  kAdd,  ///< Number: adds, an absent one counts as 0. String operand: adds to the set.
  kRemove,
  kRemoveFromSet,
};

struct Action {
  Change change;
  AttrId attribute;
  Operand operand = Operand::number_param(0);  // unused by kRemove
  PositionHint hint{};                         // never set by hand
};

/// A condition and the changes made when it holds. Immutable once shared; thread-safe then.
/// Precondition as in DynamoDB: each attribute is changed at most once.
class UpdateProgram {
 public:
  Condition condition;
  std::vector<Action> actions;
};

}  // namespace stint::store

#endif  // STINT_STORE_EXPRESSION_H_
