#include "store/embedded/token_memory.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <variant>

#include "base/hash.h"
#include "store/value_codec.h"

namespace stint::store {
namespace {

// Spells a transaction out, parameters filled in, as an unambiguous text to hash.
class Speller {
 public:
  std::string take() { return std::move(out_); }

  void operator()(const PutRequest& put) {
    tag('p');
    // Of this process only, so that names may stand as ids.
    append_varint(out_, put.item()->entry_count());
    for (const ImageEntry& entry : *put.item()) {
      append_varint(out_, entry.id_and_type);
      std::string_view text = put.item()->text_or_empty(entry);
      append_varint(out_, text.size());
      out_ += text;
      if (text.empty()) out_.append(reinterpret_cast<const char*>(&entry.number), 8);
    }
    condition(put.condition(), put.params());
  }

  void operator()(const UpdateRequest& update) {
    tag('u');
    key(update.key());
    append_varint(out_, update.program().actions.size());
    for (const Action& action : update.program().actions) {
      tag(static_cast<char>(action.change));
      append_varint(out_, index_of(action.attribute));
      if (action.change != Change::kRemove) operand(action.operand, update.params());
    }
    condition(&update.program().condition, update.params());
  }

  void operator()(const DeleteRequest& removal) {
    tag('d');
    key(removal.key());
    condition(removal.condition(), removal.params());
  }

  void operator()(const CheckRequest& check) {
    tag('c');
    key(check.key());
    condition(&check.condition(), check.params());
  }

 private:
  void tag(char c) { out_ += c; }

  void key(const Key& key) {
    append_text(out_, key.pk());
    append_text(out_, key.sk());
  }

  void append_value(const Value& value) {
    tag(static_cast<char>(value.type()));
    append_payload(out_, value);
  }

  void operand(const Operand& operand, const Params& params) {
    if (const std::int64_t* number = operand.number(params)) {
      append_value(Value::number(*number));
    } else if (const std::string* text = operand.string(params)) {
      append_value(Value::string(*text));
    } else {
      append_value(operand.literal_value());
    }
  }

  void condition(const Condition* condition, const Params& params) {
    if (!condition) return append_varint(out_, 0);
    append_varint(out_, condition->terms().size());
    for (const Condition::JoinedTerm& joined : condition->terms()) {
      tag(static_cast<char>(joined.join));
      term(joined.term, params);
    }
  }

  void term(const Term& term, const Params& params) {
    tag(static_cast<char>(term.test));
    if (term.test == Test::kItemExists || term.test == Test::kItemAbsent) return;
    append_varint(out_, index_of(term.attribute));
    if (term.test != Test::kPresent && term.test != Test::kAbsent) operand(term.operand, params);
  }

  std::string out_;
};

}  // namespace

Fingerprint fingerprint(const TransactRequest& request) {
  Speller speller;
  for (const TransactItem& item : request.items()) std::visit(speller, item);
  std::string text = speller.take();
  return Fingerprint{hash_bytes(text, 1), hash_bytes(text, 2)};
}

TokenMemory::Claim TokenMemory::claim(const std::string& token, const Fingerprint& print) {
  auto [at, added] = prints_.emplace(token, print);
  if (!added) return at->second == print ? Claim::kApplied : Claim::kOther;
  order_.push_back(token);
  while (order_.size() > capacity_) {
    prints_.erase(order_.front());
    order_.pop_front();
  }
  return Claim::kNew;
}

void TokenMemory::forget(const std::string& token) {
  prints_.erase(token);
  // Nearly always the newest. Left behind, it would take a later claim of the same token with it.
  auto place = std::find(order_.rbegin(), order_.rend(), token);
  if (place != order_.rend()) order_.erase(std::next(place).base());
}

}  // namespace stint::store
