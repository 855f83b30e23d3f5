// An engine in the short words of a test.
#ifndef STINT_TESTS_SUPPORT_TABLE_H_
#define STINT_TESTS_SUPPORT_TABLE_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "store/engine.h"

namespace stint::test {

/// `store::Test` is hidden inside a test, which is a class derived from another `Test`.
using Op = store::Test;

/// Parameters that own their values.
struct Values {
  std::vector<std::int64_t> numbers{};
  std::vector<std::string> strings{};
  store::Params params() const { return store::Params{numbers, strings}; }
};

/// Sends one request at a time.
class Table {
 public:
  explicit Table(std::shared_ptr<store::Engine> engine) : engine_(std::move(engine)) {}

  store::Engine& engine() const { return *engine_; }

  template <typename Reply, typename Request>
  Reply ask(const Request& request) const {
    store::Call call{&request, {}};
    engine_->execute(std::span<store::Call>(&call, 1));
    return std::get<Reply>(call.reply);
  }

  store::GetReply get(const store::Key& key,
                      store::Consistency consistency = store::Consistency::kStrong) const {
    return ask<store::GetReply>(store::GetRequest(key, consistency));
  }
  store::ImagePtr image(const store::Key& key) const { return get(key).image; }

  store::WriteReply put(const store::ImagePtr& item, const store::Condition* condition = nullptr,
                        const Values& values = {}) const {
    return ask<store::WriteReply>(store::PutRequest(item, condition, values.params()));
  }
  store::WriteReply update(const store::Key& key, const store::UpdateProgram& program,
                           const Values& values = {}) const {
    return ask<store::WriteReply>(store::UpdateRequest(key, program, values.params()));
  }
  store::WriteReply remove(const store::Key& key, const store::Condition* condition = nullptr,
                           const Values& values = {}) const {
    return ask<store::WriteReply>(store::DeleteRequest(key, condition, values.params()));
  }
  store::TransactReply transact(const std::vector<store::TransactItem>& items,
                                const std::string& token = "") const {
    return ask<store::TransactReply>(store::TransactRequest(items, token));
  }
  store::BatchGetReply batch_get(const std::vector<store::Key>& keys) const {
    return ask<store::BatchGetReply>(store::BatchGetRequest(keys, store::Consistency::kEventual));
  }
  store::QueryReply query(store::Index index, const std::string& partition,
                          const std::string& prefix = "", int limit = 1000,
                          const std::string& start = "") const {
    return ask<store::QueryReply>(store::QueryRequest(index, partition, prefix, limit, start));
  }

  store::ScanReply scan(int limit = 1000, const std::string& start = "",
                        store::Index index = store::Index::kTable) const {
    return ask<store::ScanReply>(store::ScanRequest(limit, start, index));
  }

  /// All items, or entries of an index, as texts in order of the texts, read in pages of that size.
  std::vector<std::string> scanned(int page = 1000,
                                   store::Index index = store::Index::kTable) const {
    std::vector<std::string> found;
    std::string start;
    while (true) {
      store::ScanReply reply = scan(page, start, index);
      if (reply.outcome != store::Outcome::kOk) found.push_back("error: " + reply.message);
      for (const store::ImagePtr& image : reply.images) found.push_back(to_dynamo_json(*image));
      for (const store::UnreadableItem& item : reply.unreadable) {
        found.push_back("unreadable: " + item.key.pk() + ": " + item.message);
      }
      if (!reply.next) break;
      start = *reply.next;
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  /// The sort keys that a query finds, page by page.
  std::vector<std::string> sort_keys(store::Index index, const std::string& partition,
                                     const std::string& prefix = "", int page = 1000) const {
    store::AttrId attribute =
        index == store::Index::kTable ? store::kSk : store::index_sk(static_cast<int>(index));
    std::vector<std::string> found;
    std::string start;
    while (true) {
      store::QueryReply reply = query(index, partition, prefix, page, start);
      if (reply.outcome != store::Outcome::kOk) {
        found.push_back("error: " + reply.message);
        return found;
      }
      for (const store::ImagePtr& image : reply.images) {
        found.emplace_back(image->string(attribute).value());
      }
      if (!reply.next) return found;
      start = *reply.next;
    }
  }

 private:
  std::shared_ptr<store::Engine> engine_;
};

inline store::Condition when(store::Term term) {
  store::Condition condition;
  condition.require(std::move(term));
  return condition;
}

inline store::UpdateProgram program(std::vector<store::Action> actions,
                                    store::Condition condition = {}) {
  store::UpdateProgram made;
  made.condition = std::move(condition);
  made.actions = std::move(actions);
  return made;
}

inline store::Operand number(int index) { return store::Operand::number_param(index); }
inline store::Operand text(int index) { return store::Operand::string_param(index); }

}  // namespace stint::test

namespace stint::store {

/// How test failures show these.
inline void PrintTo(const ImagePtr& image, std::ostream* out) {
  *out << (image ? to_dynamo_json(*image) : "no item");
}
inline const char* name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOk: return "kOk";
    case Outcome::kConditionFailed: return "kConditionFailed";
    case Outcome::kConflict: return "kConflict";
    case Outcome::kThrottled: return "kThrottled";
    case Outcome::kUnavailable: return "kUnavailable";
    case Outcome::kUnknown: return "kUnknown";
    case Outcome::kInvalid: return "kInvalid";
    case Outcome::kCorrupt: return "kCorrupt";
    case Outcome::kDenied: return "kDenied";
    case Outcome::kMissing: return "kMissing";
  }
  return "no outcome";
}
inline void PrintTo(Outcome outcome, std::ostream* out) { *out << name_of(outcome); }
inline void PrintTo(const Cost& cost, std::ostream* out) {
  *out << "read " << cost.read_units << ", write " << cost.write_units << ", index "
       << cost.index_write_units;
}

}  // namespace stint::store

#endif  // STINT_TESTS_SUPPORT_TABLE_H_
