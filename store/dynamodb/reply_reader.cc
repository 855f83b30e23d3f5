// Replies of the service as replies of the store.
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "store/dynamodb/json_reader.h"
#include "store/dynamodb/position.h"
#include "store/dynamodb/wire.h"

namespace stint::store::dynamodb {
namespace {

namespace dom = simdjson::dom;

// What a request consumes where the service says only how much.
enum class Use : std::uint8_t { kRead, kWrite };

double read_units(dom::element from, ReadState& state) {
  double units = 0;
  if (from.get(units) != simdjson::SUCCESS || !std::isfinite(units) || units < 0) {
    state.fail("consumed capacity is no number");
    return 0;
  }
  return units;
}

// Units of the table, of one index, or of everything together.
struct Consumed {
  double units = 0;
  double read = 0;
  double write = 0;
  bool told_apart = false;

  // Whether the member belongs here.
  bool take(std::string_view name, dom::element value, ReadState& state) {
    if (name == "CapacityUnits") {
      units = read_units(value, state);
    } else if (name == "ReadCapacityUnits") {
      read = read_units(value, state);
      told_apart = true;
    } else if (name == "WriteCapacityUnits") {
      write = read_units(value, state);
      told_apart = true;
    } else {
      return false;
    }
    return true;
  }

  // Members that say 0 are left out by some servers, those that differ by none.
  double read_part(Use use) const { return told_apart ? read : use == Use::kRead ? units : 0; }
  double write_part(Use use) const { return told_apart ? write : use == Use::kWrite ? units : 0; }
};

// {"CapacityUnits":1,...} of each index.
void read_indexes(dom::element from, Use use, Cost& cost, ReadState& state) {
  read_members(from, "consumed capacity", state, [&](std::string_view, dom::element index) {
    Consumed consumed;
    read_members(index, "consumed capacity", state, [&](std::string_view name, dom::element value) {
      consumed.take(name, value, state);
    });
    cost.read_units += consumed.read_part(use);
    cost.index_write_units += consumed.write_part(use);
  });
}

void read_capacity(dom::element from, Use use, Cost& cost, ReadState& state) {
  Consumed total;
  Consumed table;
  Cost indexes;
  bool apart = false;
  read_members(from, "consumed capacity", state, [&](std::string_view name, dom::element value) {
    if (total.take(name, value, state)) return;
    if (name == "Table") {
      apart = true;
      read_members(
          value, "consumed capacity", state,
          [&](std::string_view part, dom::element units) { table.take(part, units, state); });
    } else if (name == "GlobalSecondaryIndexes" || name == "LocalSecondaryIndexes") {
      apart = true;
      read_indexes(value, use, indexes, state);
    }
  });
  const Consumed& own = apart ? table : total;
  cost += indexes;
  cost.read_units += own.read_part(use);
  cost.write_units += own.write_part(use);
}

// Of one table, or a list of several.
void read_consumed(dom::element from, Use use, Cost& cost, ReadState& state) {
  if (!from.is_array()) return read_capacity(from, use, cost, state);
  read_elements(from, "consumed capacity", state,
                [&](dom::element one) { read_capacity(one, use, cost, state); });
}

// Reads one reply. Members that are not known, or null, are passed by; one that is known must not
// come twice.
class ReplyReader {
 public:
  explicit ReplyReader(std::string_view body) : root_(parse_json(body, state_)) {}

  Status status() const {
    if (!state_.failed()) return Status();
    return Error(ErrorCode::kCorrupt, "reply of the service: " + state_.error());
  }
  ReadState& state() { return state_; }

  // Calls `read(name, value)` for each member but consumed capacity, which is added to `cost`.
  template <typename Read>
  void members(Use use, Cost& cost, Read read) {
    bool counted = false;
    read_members(root_, "the reply", state_, [&](std::string_view name, dom::element value) {
      if (value.is_null()) return;
      if (name != "ConsumedCapacity") return read(name, value);
      once(counted);
      read_consumed(value, use, cost, state_);
    });
  }

  void once(bool& seen) {
    if (std::exchange(seen, true)) state_.fail("a member twice");
  }

 private:
  ReadState state_;
  dom::element root_;
};

// Places of the keys of a batch read, to be found by key.
class Places {
 public:
  Places(std::span<const Key> keys, const std::vector<std::size_t>& asked) : keys_(keys) {
    if (asked.empty()) {
      places_.resize(keys.size());
      for (std::size_t i = 0; i < keys.size(); ++i) places_[i] = i;
    } else {
      places_ = asked;
    }
    std::sort(places_.begin(), places_.end(),
              [this](std::size_t a, std::size_t b) { return keys_[a].hash() < keys_[b].hash(); });
  }

  // Nothing for a key that was not asked for.
  std::optional<std::size_t> find(const Key& key) const {
    auto at = std::lower_bound(
        places_.begin(), places_.end(), key.hash(),
        [this](std::size_t place, std::uint64_t hash) { return keys_[place].hash() < hash; });
    for (; at != places_.end() && keys_[*at].hash() == key.hash(); ++at) {
      if (keys_[*at] == key) return *at;
    }
    return std::nullopt;
  }

 private:
  std::span<const Key> keys_;
  std::vector<std::size_t> places_;
};

std::optional<Key> key_of(const Value::Map& values) {
  auto pk = values.find(name_of(kPk));
  auto sk = values.find(name_of(kSk));
  if (pk == values.end() || sk == values.end()) return std::nullopt;
  const std::string* pk_text = pk->second.as_string();
  const std::string* sk_text = sk->second.as_string();
  if (!pk_text || !sk_text) return std::nullopt;
  return Key(*pk_text, *sk_text);
}

class BatchReader {
 public:
  BatchReader(const BatchGetRequest& request, const std::vector<std::size_t>& asked,
              BatchGetReply& reply, ReadState& state)
      : places_(request.keys(), asked), reply_(reply), state_(state) {
    reply_.images.resize(request.keys().size());
    reply_.unprocessed.clear();
    answered_.resize(request.keys().size());
  }

  void read_responses(dom::element from) {
    read_members(from, "the responses", state_, [this](std::string_view, dom::element items) {
      read_elements(items, "the items of a table", state_, [this](dom::element item) {
        ImagePtr image = read_item(item, state_);
        if (!image) return;
        if (std::optional<std::size_t> place = answer(image->key())) {
          reply_.images[*place] = std::move(image);
        }
      });
    });
  }

  void read_unprocessed(dom::element from) {
    read_members(from, "the unprocessed keys", state_, [this](std::string_view, dom::element of) {
      read_members(of, "the unprocessed keys", state_,
                   [this](std::string_view name, dom::element keys) {
                     if (name == "Keys") read_keys(keys);
                   });
    });
  }

  // Requests are repeated in the order of their keys.
  void finish() { std::sort(reply_.unprocessed.begin(), reply_.unprocessed.end()); }

 private:
  void read_keys(dom::element from) {
    read_elements(from, "the unprocessed keys", state_, [this](dom::element one) {
      std::optional<Key> key = key_of(read_values(one, state_));
      if (!key) return state_.fail("an unprocessed key is no key");
      if (std::optional<std::size_t> place = answer(*key)) reply_.unprocessed.push_back(*place);
    });
  }

  std::optional<std::size_t> answer(const Key& key) {
    std::optional<std::size_t> place = places_.find(key);
    if (!place) {
      state_.fail("answers a key that was not asked for");
    } else if (answered_[*place]) {
      state_.fail("answers a key twice");
    } else {
      answered_[*place] = true;
    }
    return state_.failed() ? std::nullopt : place;
  }

  Places places_;
  BatchGetReply& reply_;
  ReadState& state_;
  std::vector<bool> answered_;
};

void check_key(const ImagePtr& image, const Key& asked, ReadState& state) {
  if (image && (image->pk() != asked.pk() || image->sk() != asked.sk())) {
    state.fail("answers another key");
  }
}

struct Reader {
  std::string_view body;
  Reply& reply;
  const std::vector<std::size_t>& asked;

  Status operator()(const GetRequest* request) const {
    auto& got = std::get<GetReply>(reply);
    ReplyReader reader(body);
    bool seen = false;
    reader.members(Use::kRead, got.cost, [&](std::string_view name, dom::element value) {
      if (name != "Item") return;
      reader.once(seen);
      got.image = read_item(value, reader.state());
      check_key(got.image, request->key(), reader.state());
    });
    return reader.status();
  }

  Status operator()(const BatchGetRequest* request) const {
    auto& got = std::get<BatchGetReply>(reply);
    ReplyReader reader(body);
    BatchReader batch(*request, asked, got, reader.state());
    bool responses = false;
    bool unprocessed = false;
    reader.members(Use::kRead, got.cost, [&](std::string_view name, dom::element value) {
      if (name == "Responses") {
        reader.once(responses);
        batch.read_responses(value);
      } else if (name == "UnprocessedKeys") {
        reader.once(unprocessed);
        batch.read_unprocessed(value);
      }
    });
    batch.finish();
    return reader.status();
  }

  // The service answers the item of an update only; that of a put is the one that was sent.
  Status operator()(const PutRequest* request) const {
    Status read = read_write_without_item();
    if (read.ok()) std::get<WriteReply>(reply).image = request->item();
    return read;
  }
  Status operator()(const DeleteRequest*) const { return read_write_without_item(); }

  Status operator()(const UpdateRequest* request) const {
    auto& written = std::get<WriteReply>(reply);
    ReplyReader reader(body);
    bool seen = false;
    reader.members(Use::kWrite, written.cost, [&](std::string_view name, dom::element value) {
      if (name != "Attributes") return;
      reader.once(seen);
      written.image = read_item(value, reader.state());
      check_key(written.image, request->key(), reader.state());
    });
    const std::vector<Action>& actions = request->program().actions;
    // The service does not make an item only to remove from it.
    bool only_removes = std::all_of(actions.begin(), actions.end(), [](const Action& action) {
      return action.change == Change::kRemove || action.change == Change::kRemoveFromSet;
    });
    if (!seen && !only_removes) reader.state().fail("no item after an update");
    return reader.status();
  }

  Status operator()(const TransactRequest*) const {
    auto& done = std::get<TransactReply>(reply);
    ReplyReader reader(body);
    reader.members(Use::kWrite, done.cost, [](std::string_view, dom::element) {});
    return reader.status();
  }

  Status operator()(const QueryRequest*) const { return read_page(std::get<QueryReply>(reply)); }
  Status operator()(const ScanRequest*) const { return read_page(std::get<ScanReply>(reply)); }

 private:
  Status read_write_without_item() const {
    ReplyReader reader(body);
    reader.members(Use::kWrite, std::get<WriteReply>(reply).cost,
                   [](std::string_view, dom::element) {});
    return reader.status();
  }

  template <typename PageReply>
  Status read_page(PageReply& page) const {
    ReplyReader reader(body);
    ReadState& state = reader.state();
    page.images.clear();
    page.next.reset();
    bool items = false;
    bool last = false;
    reader.members(Use::kRead, page.cost, [&](std::string_view name, dom::element value) {
      if (name == "Items") {
        reader.once(items);
        read_elements(value, "the items", state,
                      [&](dom::element one) { page.images.push_back(read_item(one, state)); });
      } else if (name == "LastEvaluatedKey") {
        reader.once(last);
        page.next = position_text(read_values(value, state));
        if (!page.next) state.fail("the last key is no key");
      }
    });
    return reader.status();
  }
};

}  // namespace

Status read_reply(const RequestRef& request, std::string_view body, Reply& reply,
                  const std::vector<std::size_t>& asked) {
  return std::visit(Reader{body, reply, asked}, request);
}

}  // namespace stint::store::dynamodb
