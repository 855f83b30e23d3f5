#include "store/memory/memory_engine.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "store/apply.h"
#include "store/embedded/item_table.h"
#include "store/embedded/key_codec.h"
#include "store/embedded/token_memory.h"
#include "store/embedded/write_plan.h"
#include "store/reply.h"

namespace stint::store {
namespace {

constexpr std::size_t kShards = 64;
// Partitions of an index are spread over that many ordered sets, each with its own lock.
constexpr std::size_t kIndexStripes = 16;

// Locks are taken in this order: shards by number, token memory, index stripes, change log. A
// query holds one at a time.
class MemoryEngine final : public Engine {
 public:
  explicit MemoryEngine(const Capabilities& capabilities) : capabilities_(capabilities) {}

  const Capabilities& capabilities() const noexcept override { return capabilities_; }

  void execute(std::span<Call> calls) noexcept override {
    if (calls.size() > 1) {
      for (const Call& call : calls) prefetch_call(call);
    }
    for (Call& call : calls) {
      if (Status status = validate(call.request); !status) {
        set_trouble(start_matching_reply(call), Outcome::kInvalid, status.error().message());
        continue;
      }
      std::visit([&](const auto* request) { serve(*request, call); }, call.request);
    }
  }

  void prefetch(std::uint64_t key_hash) const noexcept override {
    shard_of(key_hash).table.prefetch(key_hash);
  }

  Result<EngineState> state() override {
    EngineState state;
    state.kind = "memory";
    state.durability = "none: everything is gone with this process";
    std::uint64_t records = 0;
    for (auto& stripes : indexes_) {
      for (IndexStripe& stripe : stripes) {
        std::lock_guard lock(stripe.mutex);
        records += stripe.entries.size();
      }
    }
    state.estimated_records = records;
    return state;
  }

  Result<std::vector<ChangeRecord>> changes(std::uint64_t position, int limit) override {
    if (!capabilities_.change_stream) return Engine::changes(position, limit);
    std::lock_guard lock(changes_mutex_);
    std::vector<ChangeRecord> found;
    // Positions count from 1 without gaps.
    for (std::uint64_t i = position; i < changes_.size() && limit > 0; ++i, --limit) {
      found.push_back(changes_[static_cast<std::size_t>(i)]);
    }
    return found;
  }

 private:
  struct alignas(64) Shard {
    std::mutex mutex;
    ItemTable table;
  };
  struct alignas(64) IndexStripe {
    std::mutex mutex;
    std::set<std::string, std::less<>> entries;
  };

  static std::size_t shard_number(std::uint64_t hash) { return hash >> 58; }
  static_assert(kShards == std::size_t{1} << (64 - 58));
  Shard& shard_of(std::uint64_t hash) { return shards_[shard_number(hash)]; }
  const Shard& shard_of(std::uint64_t hash) const { return shards_[shard_number(hash)]; }

  static std::size_t index_stripe_number(std::string_view partition) {
    return hash_bytes(partition) % kIndexStripes;
  }
  IndexStripe& index_stripe(Index index, std::string_view partition) {
    return indexes_[static_cast<std::size_t>(index)][index_stripe_number(partition)];
  }

  void prefetch_call(const Call& call) const {
    if (const auto* update = std::get_if<const UpdateRequest*>(&call.request)) {
      prefetch((*update)->key().hash());
    } else if (const auto* get = std::get_if<const GetRequest*>(&call.request)) {
      prefetch((*get)->key().hash());
    }
  }

  ImagePtr read(const Key& key) {
    Shard& shard = shard_of(key.hash());
    std::lock_guard lock(shard.mutex);
    const ImagePtr* place = shard.table.find(key);
    return place ? *place : ImagePtr();
  }

  void serve(const GetRequest& request, Call& call) {
    auto& reply = start_reply<GetReply>(call);
    reply.image = read(request.key());
    reply.cost.read_units =
        read_units(reply.image ? reply.image->size_bytes() : 0, request.consistency());
  }

  void serve(const BatchGetRequest& request, Call& call) {
    auto& reply = start_reply<BatchGetReply>(call);
    for (const Key& key : request.keys()) {
      const ImagePtr& image = reply.images.emplace_back(read(key));
      reply.cost.read_units += read_units(image ? image->size_bytes() : 0, request.consistency());
    }
  }

  void serve(const PutRequest& request, Call& call) {
    write(request.item()->key(), call, [&](const ImagePtr& before) {
      return plan_put(request, before, capabilities_.index_layout, false);
    });
  }

  void serve(const UpdateRequest& request, Call& call) {
    write(request.key(), call, [&](const ImagePtr& before) {
      return plan_update(request, before, capabilities_.index_layout, false);
    });
  }

  void serve(const DeleteRequest& request, Call& call) {
    write(request.key(), call, [&](const ImagePtr& before) {
      return plan_delete(request, before, capabilities_.index_layout, false);
    });
  }

  template <typename Plan>
  void write(const Key& key, Call& call, Plan plan_write) {
    auto& reply = start_reply<WriteReply>(call);
    ImagePtr before;  // outlives the lock: the old block is freed outside of it
    Shard& shard = shard_of(key.hash());
    std::lock_guard lock(shard.mutex);
    ImagePtr* place = shard.table.find(key);
    if (place) before = *place;
    WritePlan plan = plan_write(before);
    reply.outcome = plan.outcome;
    reply.cost = plan.cost;
    if (plan.outcome != Outcome::kOk) {
      reply.message = std::move(plan.message);
      if (plan.outcome == Outcome::kConditionFailed) reply.image = std::move(before);
      return;
    }
    reply.image = plan.after;
    commit(shard, key, place, before, std::move(plan));
  }

  // Precondition: the shard is locked and `place` is the item's place in it, if it has one.
  void commit(Shard& shard, const Key& key, ImagePtr* place, const ImagePtr& before,
              WritePlan&& plan) {
    if (plan.may_move_in_indexes) move_in_indexes(before, plan.after);
    if (capabilities_.change_stream && (before || plan.after)) {
      std::lock_guard lock(changes_mutex_);
      changes_.push_back(ChangeRecord{changes_.size() + 1, before, plan.after});
    }
    if (place && plan.after) {
      *place = std::move(plan.after);
    } else if (place) {
      shard.table.erase(place);
    } else if (plan.after) {
      shard.table.insert(key.hash(), std::move(plan.after));
    }
  }

  void move_in_indexes(const ImagePtr& before, const ImagePtr& after) {
    for (int number = 0; number <= kIndexCount; ++number) {
      auto index = static_cast<Index>(number);
      std::optional<std::string> old_entry;
      std::optional<std::string> new_entry;
      if (before) old_entry = encode_entry(*before, index);
      if (after) new_entry = encode_entry(*after, index);
      if (old_entry == new_entry) continue;
      if (old_entry) {
        IndexStripe& stripe = index_stripe(index, partition_of(*before, index));
        std::lock_guard lock(stripe.mutex);
        stripe.entries.erase(*old_entry);
      }
      if (new_entry) {
        IndexStripe& stripe = index_stripe(index, partition_of(*after, index));
        std::lock_guard lock(stripe.mutex);
        stripe.entries.insert(std::move(*new_entry));
      }
    }
  }

  static std::string_view partition_of(const Image& item, Index index) {
    if (index == Index::kTable) return item.pk();
    return index_entry(item, static_cast<int>(index))->partition;
  }

  void serve(const TransactRequest& request, Call& call) {
    auto& reply = start_reply<TransactReply>(call);
    std::span<const TransactItem> items = request.items();
    std::vector<Key> keys;
    for (const TransactItem& item : items) keys.push_back(transact_key(item));

    std::vector<ImagePtr> before(items.size());  // outlives the locks
    std::vector<std::unique_lock<std::mutex>> locks = lock_shards(keys);
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (const ImagePtr* place = shard_of(keys[i].hash()).table.find(keys[i])) before[i] = *place;
    }
    if (!claim_token(request, before, reply)) return;

    std::vector<WritePlan> plans;
    plans.reserve(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      plans.push_back(plan_transact_item(items[i], before[i], capabilities_.index_layout));
    }
    if (reply_if_cancelled(items, plans, before, reply)) {
      if (!request.token().empty()) {
        std::lock_guard lock(tokens_mutex_);
        tokens_.forget(request.token());
      }
      return;
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      reply.cost += plans[i].cost;
      if (is_check(items[i])) {
        reply.images.emplace_back();
        continue;
      }
      reply.images.push_back(plans[i].after);
      Shard& shard = shard_of(keys[i].hash());
      commit(shard, keys[i], shard.table.find(keys[i]), before[i], std::move(plans[i]));
    }
  }

  // Whether the transaction is to be carried out; otherwise the reply says why not.
  bool claim_token(const TransactRequest& request, std::span<const ImagePtr> current,
                   TransactReply& reply) {
    if (request.token().empty()) return true;
    TokenMemory::Claim claim;
    {
      std::lock_guard lock(tokens_mutex_);
      claim = tokens_.claim(request.token(), fingerprint(request));
    }
    switch (claim) {
      case TokenMemory::Claim::kNew: return true;
      case TokenMemory::Claim::kApplied: reply_to_repetition(current, reply); return false;
      case TokenMemory::Claim::kOther:
        set_trouble(reply, Outcome::kInvalid, kTokenReused);
        return false;
    }
    return false;
  }

  std::vector<std::unique_lock<std::mutex>> lock_shards(const std::vector<Key>& keys) {
    std::vector<std::size_t> numbers;
    for (const Key& key : keys) numbers.push_back(shard_number(key.hash()));
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    std::vector<std::unique_lock<std::mutex>> locks;
    for (std::size_t number : numbers) locks.emplace_back(shards_[number].mutex);
    return locks;
  }

  void serve(const QueryRequest& request, Call& call) {
    auto& reply = start_reply<QueryReply>(call);
    std::string prefix = encode_prefix(request.partition(), request.sort_prefix());
    std::string after;  // empty: from the beginning
    if (!request.start().empty()) {
      std::optional<std::string> start = parse_query_start(request);
      if (!start) return set_trouble(reply, Outcome::kInvalid, kForeignPosition);
      after = std::move(*start);
    }
    std::vector<std::string> entries;
    {
      IndexStripe& stripe = index_stripe(request.index(), request.partition());
      std::lock_guard lock(stripe.mutex);
      auto at =
          after.empty() ? stripe.entries.lower_bound(prefix) : stripe.entries.upper_bound(after);
      auto limit = static_cast<std::size_t>(request.limit());
      for (; at != stripe.entries.end() && at->starts_with(prefix); ++at) {
        if (entries.size() == limit) {
          reply.next = position_text(entries.back());
          break;
        }
        entries.push_back(*at);
      }
    }
    for (const std::string& entry : entries) {
      if (ImagePtr image = image_of_entry(entry, request.index())) {
        reply.images.push_back(std::move(image));
      }
    }
    reply.cost = query_cost(request.index(), capabilities_.index_layout, reply.images);
  }

  // In the order of the stripes, within a stripe in that of the entries.
  void serve(const ScanRequest& request, Call& call) {
    auto& reply = start_reply<ScanReply>(call);
    std::size_t stripe = 0;
    std::string from;
    if (!request.start().empty()) {
      std::optional<std::string> start = parse_scan_start(request);
      std::optional<std::string> partition = start ? partition_of_entry(*start) : std::nullopt;
      if (!partition) return set_trouble(reply, Outcome::kInvalid, kForeignScanPosition);
      stripe = index_stripe_number(*partition);
      from = std::move(*start);
    }
    std::int64_t bytes = 0;
    int left = request.limit();
    for (; stripe < kIndexStripes; ++stripe, from.clear()) {
      for (const std::string& entry : entries_of(request.index(), stripe, from, left)) {
        if (left == 0 || bytes >= kScanPageBytes) break;
        from = entry;
        --left;
        ImagePtr image = scanned_entry(entry, request.index());
        if (!image) continue;
        bytes += image->size_bytes();
        reply.images.push_back(std::move(image));
      }
      if (left > 0 && bytes < kScanPageBytes) continue;
      // The stripe may end here: then the next page finds nothing more in it.
      reply.next = scan_position_after(from);
      break;
    }
    reply.cost = query_cost(Index::kTable, capabilities_.index_layout, reply.images);
  }

  ImagePtr scanned_entry(const std::string& entry, Index index) {
    if (index == Index::kTable) return image_of_entry(entry, index);
    return entry_image(*decode_entry(entry, index), index);
  }

  std::vector<std::string> entries_of(Index index, std::size_t number, const std::string& from,
                                      int limit) {
    IndexStripe& stripe = indexes_[static_cast<std::size_t>(index)][number];
    std::lock_guard lock(stripe.mutex);
    std::vector<std::string> entries;
    for (auto at = stripe.entries.lower_bound(from); at != stripe.entries.end() && limit > 0;
         ++at, --limit) {
      entries.push_back(*at);
    }
    return entries;
  }

  // The item or its keys; empty when the item has left the index since the entry was read.
  ImagePtr image_of_entry(const std::string& entry, Index index) {
    std::optional<EntryKey> key = decode_entry(entry, index);
    assert(key);
    if (index == Index::kGsi3 || index == Index::kGsi4) return entry_image(*key, index);
    ImagePtr image = read(Key(key->pk, key->sk));
    if (!image || encode_entry(*image, index) != entry) return ImagePtr();
    return image;
  }

  const Capabilities capabilities_;
  std::array<Shard, kShards> shards_;
  std::array<std::array<IndexStripe, kIndexStripes>, kIndexCount + 1> indexes_;
  std::mutex tokens_mutex_;
  TokenMemory tokens_{kRememberedTokens};
  std::mutex changes_mutex_;
  std::vector<ChangeRecord> changes_;
};

}  // namespace

std::shared_ptr<Engine> make_memory_engine(const Capabilities& capabilities) {
  return std::make_shared<MemoryEngine>(capabilities);
}

}  // namespace stint::store
