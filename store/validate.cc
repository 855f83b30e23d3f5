#include <string>
#include <variant>
#include <vector>

#include "store/apply.h"
#include "store/item_rules.h"

namespace stint::store {
namespace {

Status check_key(std::string_view pk, std::string_view sk) {
  if (pk.empty()) return Error::invalid("PK", pk, "a key is not empty");
  if (sk.empty()) return Error::invalid("SK", sk, "a key is not empty");
  if (pk.size() > kMaxPartitionKeyBytes) return Error::invalid("PK", pk, "longer than 2048 bytes");
  if (sk.size() > kMaxSortKeyBytes) return Error::invalid("SK", sk, "longer than 1024 bytes");
  return Status();
}

Status check_item(const ImagePtr& item) {
  if (!item) return Error::invalid("item", "", "there is none");
  if (Status status = check_key(item->pk(), item->sk()); !status) return status;
  if (item->size_bytes() > kMaxItemBytes) {
    return Error::invalid("item", item->pk(), "larger than 400 KB");
  }
  for (const ImageEntry& entry : *item) {
    PendingEntry checked = pending_copy(*item, entry);
    if (const char* problem = attribute_problem(checked)) {
      return Error::invalid(std::string(name_of(entry.id())), checked.text(), problem);
    }
  }
  return Status();
}

struct KeyView {
  std::string_view pk;
  std::string_view sk;
  // Most keys of one request differ in their lengths or at their ends.
  friend bool operator==(KeyView a, KeyView b) {
    return a.pk.size() == b.pk.size() && a.sk.size() == b.sk.size() && a.pk.back() == b.pk.back() &&
           a.pk == b.pk && a.sk == b.sk;
  }
};

// Quadratic, which for at most a hundred keys costs less than sorting them.
bool any_twice(const std::vector<KeyView>& keys) {
  for (std::size_t i = 1; i < keys.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (keys[i] == keys[j]) return true;
    }
  }
  return false;
}

Status check_count(std::size_t count, std::string_view what) {
  if (count == 0) return Error::invalid(std::string(what), "0", "there are none");
  if (count > kMaxItemsPerRequest) {
    return Error::invalid(std::string(what), std::to_string(count), "more than 100");
  }
  return Status();
}

struct Validator {
  Status operator()(const GetRequest* request) const {
    return check_key(request->key().pk(), request->key().sk());
  }

  Status operator()(const BatchGetRequest* request) const {
    if (Status status = check_count(request->keys().size(), "keys"); !status) return status;
    std::vector<KeyView> keys;
    keys.reserve(request->keys().size());
    for (const Key& key : request->keys()) {
      if (Status status = check_key(key.pk(), key.sk()); !status) return status;
      keys.push_back(KeyView{key.pk(), key.sk()});
    }
    if (any_twice(keys)) return Error::invalid("keys", "", "the same key twice");
    return Status();
  }

  Status operator()(const PutRequest* request) const { return check_item(request->item()); }

  Status operator()(const UpdateRequest* request) const {
    return check_key(request->key().pk(), request->key().sk());
  }

  Status operator()(const DeleteRequest* request) const {
    return check_key(request->key().pk(), request->key().sk());
  }

  Status operator()(const TransactRequest* request) const {
    if (Status status = check_count(request->items().size(), "items"); !status) return status;
    std::vector<KeyView> keys;
    for (const TransactItem& item : request->items()) {
      if (const auto* put = std::get_if<PutRequest>(&item)) {
        if (Status status = check_item(put->item()); !status) return status;
        keys.push_back(KeyView{put->item()->pk(), put->item()->sk()});
        continue;
      }
      const Key& key = key_of(item);
      if (Status status = check_key(key.pk(), key.sk()); !status) return status;
      keys.push_back(KeyView{key.pk(), key.sk()});
    }
    if (any_twice(keys)) return Error::invalid("items", "", "the same item twice");
    return Status();
  }

  Status operator()(const QueryRequest* request) const {
    if (request->partition().empty()) return Error::invalid("partition", "", "a key is not empty");
    if (request->partition().size() > kMaxPartitionKeyBytes) {
      return Error::invalid("partition", request->partition(), "longer than 2048 bytes");
    }
    if (request->sort_prefix().size() > kMaxSortKeyBytes) {
      return Error::invalid("sort prefix", request->sort_prefix(), "longer than 1024 bytes");
    }
    if (request->limit() < 1) {
      return Error::invalid("limit", std::to_string(request->limit()), "less than 1");
    }
    return Status();
  }

  Status operator()(const ScanRequest* request) const {
    if (request->limit() < 1) {
      return Error::invalid("limit", std::to_string(request->limit()), "less than 1");
    }
    return Status();
  }

  // Precondition: not a put, which carries its key inside the item.
  static const Key& key_of(const TransactItem& item) {
    if (const auto* update = std::get_if<UpdateRequest>(&item)) return update->key();
    if (const auto* removal = std::get_if<DeleteRequest>(&item)) return removal->key();
    return std::get_if<CheckRequest>(&item)->key();
  }
};

}  // namespace

Status validate(const RequestRef& request) { return std::visit(Validator(), request); }

}  // namespace stint::store
