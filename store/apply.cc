#include "store/apply.h"

#include <algorithm>
#include <cassert>
#include <compare>
#include <string>
#include <utility>

#include "store/image_block.h"
#include "store/item_rules.h"
#include "store/number_text.h"
#include "store/value_codec.h"

namespace stint::store {
namespace {

// ---- Conditions ----

bool compares(Test test, std::strong_ordering order) {
  switch (test) {
    case Test::kEqual: return order == 0;
    case Test::kNotEqual: return order != 0;
    case Test::kLess: return order < 0;
    case Test::kLessOrEqual: return order <= 0;
    case Test::kGreater: return order > 0;
    case Test::kGreaterOrEqual: return order >= 0;
    case Test::kItemExists:
    case Test::kItemAbsent:
    case Test::kPresent:
    case Test::kAbsent: break;
  }
  assert(false);
  return false;
}

bool is_number(ValueType type) { return type == ValueType::kNumber || type == ValueType::kDecimal; }

std::string number_text(const Image& image, const ImageEntry& entry) {
  if (entry.type() == ValueType::kNumber) return std::to_string(entry.number);
  return std::string(image.text(entry));
}

// Equality by the table's rules, where "1.0" and "1" are one number. Precondition: of one type.
bool same(const Value& a, const Value& b) {
  const Value::NumberSet* left = a.as_number_set();
  if (!left) return a == b;
  const Value::NumberSet* right = b.as_number_set();
  return left->size() == right->size() &&
         std::equal(left->begin(), left->end(), right->begin(),
                    [](const std::string& one, const std::string& other) {
                      return compare_numbers(one, other) == 0;
                    });
}

// Everything but 64-bit numbers and strings.
bool compares_slowly(Test test, const Image& image, const ImageEntry& entry, const Operand& operand,
                     const Params& params) {
  const Value* literal =
      operand.kind() == Operand::Kind::kLiteral ? &operand.literal_value() : nullptr;
  const std::int64_t* number = operand.number(params);
  if (is_number(entry.type()) && (number || (literal && literal->as_decimal()))) {
    std::string right = number ? std::to_string(*number) : literal->as_decimal()->text;
    return compares(test, compare_numbers(number_text(image, entry), right));
  }
  if (literal && literal->as_binary() && entry.type() == ValueType::kBinary) {
    return compares(test, image.text(entry) <=> std::string_view(literal->as_binary()->bytes));
  }
  // Only these have an order; values of different types are merely unequal.
  bool equal = literal && literal->type() == entry.type() && same(image.value(entry), *literal);
  return (test == Test::kEqual && equal) || (test == Test::kNotEqual && !equal);
}

bool term_holds(const Term& term, const Image* item, const Params& params) {
  if (term.test == Test::kItemExists) return item != nullptr;
  if (term.test == Test::kItemAbsent) return item == nullptr;
  const ImageEntry* entry = item ? item->find(term.attribute, term.hint) : nullptr;
  if (term.test == Test::kPresent) return entry != nullptr;
  if (term.test == Test::kAbsent) return entry == nullptr;
  if (!entry) return false;
  if (entry->type() == ValueType::kNumber) {
    if (const std::int64_t* number = term.operand.number(params)) {
      return compares(term.test, entry->number <=> *number);
    }
  } else if (entry->type() == ValueType::kString) {
    if (const std::string* text = term.operand.string(params)) {
      return compares(term.test, item->text(*entry) <=> std::string_view(*text));
    }
  }
  return compares_slowly(term.test, *item, *entry, term.operand, params);
}

// ---- Updates ----

Error refused(AttrId attribute, std::string_view value, std::string reason) {
  return Error::invalid(std::string(name_of(attribute)), value, std::move(reason));
}

Error out_of_range(AttrId attribute) {
  return refused(attribute, "", "the sum does not fit 64 bits");
}

// Numbers set or added where numbers stand: the form of nearly every write, which needs no more
// than a copy of the block. Null: this update is of another form.
ImagePtr patch_numbers(const std::vector<Action>& actions, const Image& item, const Params& params,
                       std::optional<Error>& error) {
  for (const Action& action : actions) {
    bool sets = action.change == Change::kSet || action.change == Change::kAdd;
    if (!sets || !action.operand.number(params) || action.attribute == kPk ||
        action.attribute == kSk) {
      return ImagePtr();
    }
  }
  ImageAssembler copy(item);
  for (const Action& action : actions) {
    ImageEntry* entry = copy.find(action.attribute, action.hint);
    if (!entry || entry->type() != ValueType::kNumber) return ImagePtr();
    std::int64_t number = *action.operand.number(params);
    if (action.change == Change::kAdd && __builtin_add_overflow(entry->number, number, &number)) {
      error = out_of_range(action.attribute);
      return ImagePtr();
    }
    if (number != entry->number) copy.patch(*entry, number);
  }
  return copy.finish();
}

// The general form: attributes of the item and changes merged by id into a new block.
class Merge {
 public:
  Merge(const std::vector<Action>& actions, const Params& params) : params_(params) {
    ordered_.reserve(actions.size());
    for (const Action& action : actions) ordered_.push_back(&action);
    std::sort(ordered_.begin(), ordered_.end(), [](const Action* a, const Action* b) {
      return index_of(a->attribute) < index_of(b->attribute);
    });
    assert(
        std::adjacent_find(ordered_.begin(), ordered_.end(), [](const Action* a, const Action* b) {
          return a->attribute == b->attribute;
        }) == ordered_.end());
    texts_.reserve(actions.size());
  }

  Result<ImagePtr> run(const Key& key, const Image* item) {
    PendingEntry keys[2] = {pending_text(kPk, ValueType::kString, key.pk()),
                            pending_text(kSk, ValueType::kString, key.sk())};
    std::size_t existing = item ? item->entry_count() : 2;
    entries_.reserve(existing + ordered_.size());
    if (item) size_ = item->size_bytes();

    auto action = ordered_.begin();
    for (std::size_t i = 0; i < existing; ++i) {
      PendingEntry old = item ? pending_copy(*item, item->begin()[i]) : keys[i];
      if (!item) size_ += attribute_size_bytes(old);
      while (action != ordered_.end() && index_of((*action)->attribute) < index_of(old.id)) {
        change(**action++, nullptr);
      }
      if (action != ordered_.end() && (*action)->attribute == old.id) {
        change(**action++, &old);
      } else {
        entries_.push_back(old);
      }
    }
    while (action != ordered_.end()) change(**action++, nullptr);
    if (error_) return std::move(*error_);
    return ImageAssembler::assemble(entries_, size_);
  }

 private:
  // Appends what `action` makes of the attribute `old` (null: absent).
  void change(const Action& action, const PendingEntry* old) {
    if (action.attribute == kPk || action.attribute == kSk) {
      return fail(refused(action.attribute, "", "a key attribute cannot be changed"));
    }
    switch (action.change) {
      case Change::kSet: return replace(old, operand_entry(action));
      case Change::kSetIfAbsent: return replace(old, old ? *old : operand_entry(action));
      case Change::kAdd: return add(action, old);
      case Change::kRemove: return remove(old);
      case Change::kRemoveFromSet: return remove_from_set(action, old);
    }
  }

  void add(const Action& action, const PendingEntry* old) {
    if (const std::int64_t* number = action.operand.number(params_)) {
      if (!old) return replace(old, operand_entry(action));
      if (old->type == ValueType::kDecimal) {
        return fail(refused(action.attribute, old->text(), "not a number of 64 bits"));
      }
      if (old->type != ValueType::kNumber) {
        return fail(refused(action.attribute, "", "a number cannot be added to another type"));
      }
      std::int64_t sum = 0;
      if (__builtin_add_overflow(old->number, *number, &sum)) {
        return fail(out_of_range(action.attribute));
      }
      return replace(old, pending_number(action.attribute, sum));
    }
    std::optional<Value::StringSet> added = operand_set(action);
    if (!added) {
      return fail(
          refused(action.attribute, "", "only whole numbers and sets of strings can be added"));
    }
    if (old && old->type != ValueType::kStringSet) {
      return fail(refused(action.attribute, "", "a string cannot be added to another type"));
    }
    if (old) added->merge(stored_set(*old));
    replace(old, set_entry(action.attribute, std::move(*added)));
  }

  void remove_from_set(const Action& action, const PendingEntry* old) {
    std::optional<Value::StringSet> removed = operand_set(action);
    if (!removed) return fail(refused(action.attribute, "", "only strings can be removed"));
    if (!old) return;
    if (old->type != ValueType::kStringSet) {
      return fail(refused(action.attribute, "", "a string cannot be removed from another type"));
    }
    Value::StringSet left = stored_set(*old);
    for (const std::string& text : *removed) left.erase(text);
    // There is no empty set in the table.
    if (left.empty()) return remove(old);
    replace(old, set_entry(action.attribute, std::move(left)));
  }

  void replace(const PendingEntry* old, const PendingEntry& entry) {
    if (const char* problem = attribute_problem(entry)) {
      return fail(refused(entry.id, entry.text(), problem));
    }
    remove(old);
    size_ += attribute_size_bytes(entry);
    entries_.push_back(entry);
  }

  void remove(const PendingEntry* old) {
    if (old) size_ -= attribute_size_bytes(*old);
  }

  PendingEntry operand_entry(const Action& action) {
    if (const std::int64_t* number = action.operand.number(params_)) {
      return pending_number(action.attribute, *number);
    }
    if (const std::string* text = action.operand.string(params_)) {
      return pending_text(action.attribute, ValueType::kString, *text);
    }
    const Value& literal = action.operand.literal_value();
    if (const bool* boolean = literal.as_bool()) return pending_bool(action.attribute, *boolean);
    if (const std::string* text = literal.plain_text()) {
      return pending_text(action.attribute, literal.type(), *text);
    }
    append_payload(texts_.emplace_back(), literal);
    return pending_text(action.attribute, literal.type(), texts_.back());
  }

  std::optional<Value::StringSet> operand_set(const Action& action) const {
    if (const std::string* text = action.operand.string(params_)) return Value::StringSet{*text};
    if (action.operand.kind() != Operand::Kind::kLiteral) return std::nullopt;
    const Value::StringSet* set = action.operand.literal_value().as_string_set();
    if (!set || set->empty()) return std::nullopt;
    return *set;
  }

  static Value::StringSet stored_set(const PendingEntry& entry) {
    ByteReader reader(entry.text());
    return *read_payload(reader, entry.type).as_string_set();
  }

  PendingEntry set_entry(AttrId attribute, Value::StringSet set) {
    append_payload(texts_.emplace_back(), Value::string_set(std::move(set)));
    return pending_text(attribute, ValueType::kStringSet, texts_.back());
  }

  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }

  const Params& params_;
  std::vector<const Action*> ordered_;
  std::vector<PendingEntry> entries_;
  std::vector<std::string> texts_;  // never reallocated: entries refer to it
  std::int64_t size_ = 0;
  std::optional<Error> error_;
};

}  // namespace

bool holds(const Condition& condition, const Image* item, const Params& params) {
  using Join = Condition::Join;
  std::span<const Condition::JoinedTerm> terms = condition.terms();
  std::size_t at = 0;
  while (at < terms.size()) {
    bool clause = false;
    do {
      bool alternative = term_holds(terms[at].term, item, params);
      for (++at; at < terms.size() && terms[at].join == Join::kAnd; ++at) {
        alternative = alternative && term_holds(terms[at].term, item, params);
      }
      clause = clause || alternative;
    } while (!clause && at < terms.size() && terms[at].join == Join::kOr);
    if (!clause) return false;
    while (at < terms.size() && terms[at].join != Join::kClause) ++at;
  }
  return true;
}

Result<ImagePtr> apply(const std::vector<Action>& actions, const Key& key, const Image* item,
                       const Params& params) {
  assert(!item || (item->pk() == key.pk() && item->sk() == key.sk()));
  ImagePtr after;
  if (item) {
    std::optional<Error> error;
    after = patch_numbers(actions, *item, params, error);
    if (error) return std::move(*error);
  }
  if (!after) {
    Result<ImagePtr> merged = Merge(actions, params).run(key, item);
    if (!merged) return merged;
    after = std::move(*merged);
  }
  if (after->size_bytes() > kMaxItemBytes) {
    return Error::invalid("item", key.pk(), "would be larger than 400 KB");
  }
  return after;
}

bool touches_index_keys(const std::vector<Action>& actions) {
  return std::any_of(actions.begin(), actions.end(),
                     [](const Action& action) { return is_index_key(action.attribute); });
}

std::optional<IndexEntry> index_entry(const Image& item, int index) {
  std::optional<std::string_view> partition = item.string(index_pk(index));
  if (!partition) return std::nullopt;
  std::optional<std::string_view> sort = item.string(index_sk(index));
  if (!sort) return std::nullopt;
  return IndexEntry{*partition, *sort};
}

ImagePtr project(const ImagePtr& item, Index index) {
  if (index == Index::kTable || index == Index::kGsi1 || index == Index::kGsi2) return item;
  int number = static_cast<int>(index);
  PendingEntry entries[4];
  std::size_t count = 0;
  std::int64_t size = 0;
  for (const ImageEntry& entry : *item) {
    AttrId id = entry.id();
    if (id != kPk && id != kSk && id != index_pk(number) && id != index_sk(number)) continue;
    entries[count] = pending_copy(*item, entry);
    size += attribute_size_bytes(entries[count]);
    ++count;
  }
  return ImageAssembler::assemble(std::span<const PendingEntry>(entries, count), size);
}

}  // namespace stint::store
