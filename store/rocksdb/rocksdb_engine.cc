#include "store/rocksdb/rocksdb_engine.h"
#include "store/reply.h"

#include <rocksdb/db.h>
#include <rocksdb/iterator.h>
#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <forward_list>
#include <mutex>
#include <shared_mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "store/apply.h"
#include "store/embedded/item_table.h"
#include "store/embedded/key_codec.h"
#include "store/embedded/token_memory.h"
#include "store/embedded/write_plan.h"
#include "store/rocksdb/backup.h"
#include "store/rocksdb/committer.h"
#include "store/rocksdb/damage.h"
#include "store/rocksdb/database.h"
#include "store/rocksdb/directory.h"
#include "store/rocksdb/expired_items.h"
#include "store/rocksdb/records.h"
#include "store/serialize.h"
#include "store/value_codec.h"

namespace stint::store {
namespace {

// Many, because a stripe stays locked until its write is durable: callers of different items must
// rarely meet.
constexpr std::size_t kStripes = 1024;

std::string change_record_key(std::uint64_t position) {
  std::string key(1, kChangePrefix);
  for (int shift = 56; shift >= 0; shift -= 8) key += static_cast<char>(position >> shift);
  return key;
}

std::uint64_t change_position(const rocksdb::Slice& key) {
  std::uint64_t position = 0;
  for (std::size_t i = 1; i < key.size(); ++i) {
    position = (position << 8) | static_cast<unsigned char>(key[i]);
  }
  return position;
}

// The least key after all that begin with `prefix`. Precondition: its first byte is below 0xff.
std::string after_prefix(std::string prefix) {
  while (static_cast<unsigned char>(prefix.back()) == 0xff) prefix.pop_back();
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

std::string_view view(const rocksdb::Slice& slice) {
  return std::string_view(slice.data(), slice.size());
}

struct Found {
  Outcome outcome = Outcome::kOk;  // or kUnavailable, kCorrupt
  ImagePtr image;                  // empty: no such item
  std::string message;
};

Found decode_item(std::string_view bytes, std::string_view pk, std::string_view sk) {
  Found found;
  Result<ImagePtr> image = deserialize(bytes);
  if (!image) {
    found.outcome = Outcome::kCorrupt;
    found.message = image.error().message() + " (" + std::string(pk) + ")";
  } else if ((*image)->pk() != pk || (*image)->sk() != sk) {
    found.outcome = Outcome::kCorrupt;
    found.message = "stored item: stands under another key (" + std::string(pk) + ")";
  } else {
    found.image = std::move(*image);
  }
  return found;
}

void set_write_trouble(ReplyBase& reply, const Committed& done) {
  std::string text = done.status.ToString();
  if (done.attempted) return set_trouble(reply, Outcome::kUnknown, "writing: " + text);
  set_trouble(reply, Outcome::kUnavailable,
              "an earlier write failed, and the disk still takes no data; writes are taken again "
              "when it does: " +
                  text);
}

Found read_trouble(const rocksdb::Status& status) {
  Found found;
  found.outcome = status.IsCorruption() ? Outcome::kCorrupt : Outcome::kUnavailable;
  found.message = "reading: " + status.ToString();
  return found;
}

Result<std::uint64_t> find_last_change(rocksdb::DB& db) {
  std::unique_ptr<rocksdb::Iterator> at(db.NewIterator(rocksdb::ReadOptions()));
  at->SeekForPrev(change_record_key(~std::uint64_t{0}));
  if (!at->status().ok()) return Error(ErrorCode::kUnavailable, at->status().ToString());
  if (!at->Valid() || at->key()[0] != kChangePrefix) return std::uint64_t{0};
  return change_position(at->key());
}

// Locks are taken in this order: reopening, open, stripes by number, token memory, change log
// or raising.
class RocksDbEngine final : public Engine {
 public:
  RocksDbEngine(Database database, const std::string& directory, const RocksDbOptions& options,
                std::shared_ptr<ExpiredItems> expired, std::uint64_t last_change)
      : directory_(directory),
        options_(options),
        expired_(std::move(expired)),
        env_(std::move(database.env)),
        db_(std::move(database.db)),
        kept_changes_(options.kept_changes),
        committer_(std::make_unique<Committer>(*db_, options.synced)),
        images_per_stripe_(std::max<std::size_t>(1, options.cached_images / kStripes)),
        last_change_(last_change) {
    capabilities_.index_layout = IndexLayout::kKeysOnly;
    capabilities_.change_stream = options.change_stream;
    if (expired_) sweeper_ = std::thread([this] { remove_expired(); });
  }

  ~RocksDbEngine() override {
    if (expired_) expired_->stop();
    if (sweeper_.joinable()) sweeper_.join();
  }

  const Capabilities& capabilities() const noexcept override { return capabilities_; }

  void prefetch(std::uint64_t key_hash) const noexcept override {
    stripes_[stripe_number(key_hash)].cache.prefetch(key_hash);
  }

  void execute(std::span<Call> calls) noexcept override {
    if (failed_.load(std::memory_order_acquire) && any_write(calls)) reopen();
    std::shared_lock open(open_mutex_);
    if (!db_) {
      for (Call& call : calls) {
        set_trouble(start_matching_reply(call), Outcome::kUnavailable, reopening_trouble_);
      }
      return;
    }
    std::size_t at = 0;
    while (at < calls.size()) {
      std::size_t end = at;
      while (end < calls.size() && is_single_item(calls[end])) ++end;
      if (end > at) {
        serve_single_items(calls.subspan(at, end - at));
        at = end;
      } else {
        serve_other(calls[at++]);
      }
    }
  }

  Status sweep() {
    assert(expired_ != nullptr);
    std::shared_lock open(open_mutex_);
    if (!db_) return Error(ErrorCode::kUnavailable, reopening_trouble_);
    rocksdb::CompactRangeOptions everything;
    everything.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
    rocksdb::Status status = db_->CompactRange(everything, nullptr, nullptr);
    if (!status.ok()) return Error(ErrorCode::kUnavailable, "compacting: " + status.ToString());
    open.unlock();
    expired_->wait_until_idle();
    return Status();
  }

  Result<EngineState> state() override {
    std::shared_lock open(open_mutex_);
    if (!db_) return Error(ErrorCode::kUnavailable, reopening_trouble_);
    EngineState state;
    state.kind = "rocksdb";
    state.location = db_->GetName();
    state.durability = options_.synced ? "a loss of power" : "a killed process";
    std::uint64_t records = 0;
    if (db_->GetIntProperty(rocksdb::DB::Properties::kEstimateNumKeys, &records)) {
      state.estimated_records = records;
    }
    Result<std::uint64_t> bytes = directory_bytes(state.location);
    if (!bytes) return bytes.error();
    state.disk_bytes = *bytes;
    return state;
  }

  Status backup(const std::string& directory) override {
    std::shared_lock open(open_mutex_);
    if (!db_) return Error(ErrorCode::kUnavailable, reopening_trouble_);
    return write_backup(*db_, directory);
  }

  Result<std::vector<ChangeRecord>> changes(std::uint64_t position, int limit) override {
    if (!capabilities_.change_stream) return Engine::changes(position, limit);
    std::shared_lock open(open_mutex_);
    if (!db_) return Error(ErrorCode::kUnavailable, reopening_trouble_);
    std::vector<ChangeRecord> found;
    std::string end = after_prefix(std::string(1, kChangePrefix));
    rocksdb::Slice bound(end);
    rocksdb::ReadOptions options;
    options.iterate_upper_bound = &bound;
    std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator(options));
    // Nothing comes after the last position there is.
    if (position == ~std::uint64_t{0}) return found;
    for (at->Seek(change_record_key(position + 1)); at->Valid() && limit > 0; at->Next(), --limit) {
      Result<ChangeRecord> record = decode_change(at->key(), view(at->value()));
      if (!record) return record.error();
      found.push_back(std::move(*record));
    }
    if (!at->status().ok()) {
      bool damaged = at->status().IsCorruption();
      return Error(damaged ? ErrorCode::kCorrupt : ErrorCode::kUnavailable,
                   at->status().ToString());
    }
    return found;
  }

 private:
  struct alignas(64) Stripe {
    std::mutex mutex;
    ItemTable cache;
  };

  struct Staged {
    const Key* key;
    ImagePtr before;
    ImagePtr after;
  };

  // A valid request for a single item.
  struct SingleCall {
    Call* call;
    const Key* key;
    bool wrote = false;
    bool depends = false;  // answered from what a writer left
  };

  // Memory that a thread needs for every write, kept from one to the next. A thread has one session
  // at a time, and between two of them it holds no images.
  struct Scratch {
    rocksdb::WriteBatch batch;
    std::string record_key;
    std::string value;
    std::vector<Stripe*> locked;
    std::vector<Staged> staged;
    std::vector<SingleCall> calls;
  };
  static Scratch& scratch_of_thread() {
    thread_local Scratch scratch;
    return scratch;
  }

  // The locks of some items, and the changes made to them that are not written yet.
  class Session {
   public:
    Session(RocksDbEngine& engine, std::span<const Key> keys)
        : Session(engine, keys, [](const Key& key) { return &key; }) {}
    Session(RocksDbEngine& engine, std::span<const SingleCall> calls)
        : Session(engine, calls, [](const SingleCall& call) { return call.key; }) {}

    ~Session() {
      for (Stripe* stripe : locked_) stripe->mutex.unlock();
      locked_.clear();
      // After the locks: whoever lets go of the last hold on an image frees it.
      staged_.clear();
      constexpr std::size_t kMostKept = 1 << 20;
      if (batch_.GetDataSize() + scratch_.value.capacity() > kMostKept) {
        batch_ = rocksdb::WriteBatch();
        scratch_.value = std::string();
      }
    }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// The item as changed so far.
    Found read(const Key& key) {
      if (const Staged* staged = find(key)) return Found{Outcome::kOk, staged->after, {}};
      return engine_.read_locked(key);
    }

    /// Whether `read` answered something that `commit` has still to make true.
    bool depends_on_staged(const Key& key) const { return find(key) != nullptr; }

    void stage(const Key& key, const ImagePtr& before, const WritePlan& plan) {
      if (!before && !plan.after) return;
      scratch_.record_key.clear();
      append_item_record_key(scratch_.record_key, key);
      if (plan.after) {
        scratch_.value.clear();
        serialize_to(scratch_.value, *plan.after);
        binary_ = binary_ || scratch_.value.front() == kBinaryImageFormat;
        batch_.Put(scratch_.record_key, scratch_.value);
      } else {
        batch_.Delete(scratch_.record_key);
      }
      if (plan.may_move_in_indexes) move_in_indexes(before, plan.after);
      staged_.push_back(Staged{&key, before, plan.after});
    }

    /// Writes all that was staged, or nothing as far as can be known.
    ///
    /// The locks are held all the while: nobody reads, and so nobody decides by, what a loss of
    /// power might still take back. The image cache learns of a write when it is durable.
    Committed commit() {
      if (staged_.empty()) return Committed();
      if (binary_) {
        Status raised = engine_.raise_format();
        if (!raised) return Committed{rocksdb::Status::IOError(raised.error().reason()), false};
      }
      Committed done = write();
      if (!done.ok()) engine_.failed_.store(true, std::memory_order_release);
      for (const Staged& staged : staged_) {
        if (done.ok()) {
          engine_.remember(*staged.key, staged.after);
        } else if (done.attempted) {
          // Nobody knows what the log holds, not even the database before it is opened anew.
          engine_.remember(*staged.key, ImagePtr());
        }
      }
      return done;
    }

   private:
    template <typename Wanted, typename KeyOf>
    Session(RocksDbEngine& engine, std::span<const Wanted> wanted, KeyOf key_of)
        : engine_(engine),
          scratch_(scratch_of_thread()),
          batch_(scratch_.batch),
          locked_(scratch_.locked),
          staged_(scratch_.staged) {
      assert(locked_.empty() && staged_.empty());
      batch_.Clear();
      for (const Wanted& one : wanted) locked_.push_back(&engine.stripe_of(*key_of(one)));
      // Stripes are in one array: by address is by number.
      if (locked_.size() > 1) {
        std::sort(locked_.begin(), locked_.end());
        locked_.erase(std::unique(locked_.begin(), locked_.end()), locked_.end());
      }
      for (Stripe* stripe : locked_) stripe->mutex.lock();
    }

    const Staged* find(const Key& key) const {
      auto at = std::find_if(staged_.rbegin(), staged_.rend(),
                             [&](const Staged& staged) { return *staged.key == key; });
      return at == staged_.rend() ? nullptr : &*at;
    }

    void move_in_indexes(const ImagePtr& before, const ImagePtr& after) {
      for (int number = 1; number <= kIndexCount; ++number) {
        auto index = static_cast<Index>(number);
        std::optional<std::string> old_entry;
        std::optional<std::string> new_entry;
        if (before) old_entry = encode_entry(*before, index);
        if (after) new_entry = encode_entry(*after, index);
        if (old_entry == new_entry) continue;
        if (old_entry) batch_.Delete(record_key(index, *old_entry));
        if (new_entry) batch_.Put(record_key(index, *new_entry), rocksdb::Slice());
      }
    }

    Committed write() {
      if (!engine_.capabilities_.change_stream) return engine_.committer_->commit(batch_);
      // Held until the write is done: a reader that has seen a position has seen all before it.
      std::lock_guard lock(engine_.changes_mutex_);
      for (const Staged& staged : staged_) {
        engine_.log_change(batch_, staged.before, staged.after);
      }
      return engine_.committer_->commit(batch_);
    }

    RocksDbEngine& engine_;
    Scratch& scratch_;
    rocksdb::WriteBatch& batch_;
    std::vector<Stripe*>& locked_;
    std::vector<Staged>& staged_;
    bool binary_ = false;  // an image of that format was staged
  };

  // Makes the directory's mark say that there are images of `kBinaryImageFormat`.
  Status raise_format() {
    if (raised_.load(std::memory_order_acquire)) return Status();
    std::lock_guard lock(raising_);
    if (Status raised = raise_directory(directory_, kBinaryDirectoryFormat); !raised) {
      return raised;
    }
    raised_.store(true, std::memory_order_release);
    return Status();
  }

  static std::size_t stripe_number(std::uint64_t key_hash) { return key_hash >> 54; }
  static std::size_t stripe_number(const Key& key) { return stripe_number(key.hash()); }
  static_assert(kStripes == std::size_t{1} << (64 - 54));
  Stripe& stripe_of(const Key& key) { return stripes_[stripe_number(key)]; }

  // Precondition: the stripe is locked.
  Found read_locked(const Key& key) {
    Stripe& stripe = stripe_of(key);
    if (const ImagePtr* cached = stripe.cache.find(key)) return Found{Outcome::kOk, *cached, {}};
    rocksdb::PinnableSlice bytes;
    rocksdb::Status status =
        db_->Get(rocksdb::ReadOptions(), db_->DefaultColumnFamily(), item_record_key(key), &bytes);
    if (status.IsNotFound()) return Found();
    if (!status.ok()) return read_trouble(status);
    Found found = decode_item(view(bytes), key.pk(), key.sk());
    if (found.image) remember(key, found.image);
    return found;
  }

  Found read(const Key& key) {
    std::lock_guard lock(stripe_of(key).mutex);
    return read_locked(key);
  }

  // Precondition: the stripe is locked. Empty: forgotten.
  void remember(const Key& key, ImagePtr image) {
    ItemTable& cache = stripe_of(key).cache;
    ImagePtr* place = cache.find(key);
    if (place && image) {
      *place = std::move(image);
    } else if (place) {
      cache.erase(place);
    } else if (image) {
      if (cache.size() >= images_per_stripe_) cache.evict();
      cache.insert(key.hash(), std::move(image));
    }
  }

  // ---- Single items ----

  static bool is_single_item(const Call& call) {
    return !std::holds_alternative<const BatchGetRequest*>(call.request) &&
           !std::holds_alternative<const TransactRequest*>(call.request) &&
           !std::holds_alternative<const QueryRequest*>(call.request) &&
           !std::holds_alternative<const ScanRequest*>(call.request);
  }

  // Null for a put, which carries its key inside the item.
  static const Key* key_of(const RequestRef& request) {
    if (const auto* get = std::get_if<const GetRequest*>(&request)) return &(*get)->key();
    if (const auto* update = std::get_if<const UpdateRequest*>(&request)) return &(*update)->key();
    if (const auto* removal = std::get_if<const DeleteRequest*>(&request)) {
      return &(*removal)->key();
    }
    return nullptr;
  }

  // One write for all of them: the more come together, the less each costs.
  void serve_single_items(std::span<Call> calls) {
    std::vector<SingleCall>& valid = scratch_of_thread().calls;
    valid.clear();
    std::forward_list<Key> put_keys;
    for (Call& call : calls) {
      ReplyBase& reply = start_matching_reply(call);
      if (Status status = validate(call.request); !status) {
        set_trouble(reply, Outcome::kInvalid, status.error().message());
        continue;
      }
      const Key* key = key_of(call.request);
      if (!key) {
        const PutRequest* put = *std::get_if<const PutRequest*>(&call.request);
        key = &put_keys.emplace_front(put->item()->key());
      }
      valid.push_back(SingleCall{&call, key});
    }

    Session session(*this, std::span<const SingleCall>(valid));
    for (SingleCall& one : valid) {
      bool depends = session.depends_on_staged(*one.key);
      one.wrote = serve_single_item(session, *one.key, *one.call);
      one.depends = depends && !one.wrote;
    }
    Committed done = session.commit();
    if (done.ok()) return;
    for (const SingleCall& one : valid) {
      if (one.wrote) set_write_trouble(start_matching_reply(*one.call), done);
      if (!one.depends) continue;
      set_trouble(start_matching_reply(*one.call), Outcome::kUnavailable,
                  "an earlier write of the same batch failed: " + done.status.ToString());
    }
  }

  // Whether a change was staged.
  bool serve_single_item(Session& session, const Key& key, Call& call) {
    Found found = session.read(key);
    if (const auto* get = std::get_if<const GetRequest*>(&call.request)) {
      auto& reply = std::get<GetReply>(call.reply);
      if (found.outcome != Outcome::kOk) {
        set_trouble(reply, found.outcome, std::move(found.message));
        return false;
      }
      reply.cost.read_units =
          read_units(found.image ? found.image->size_bytes() : 0, (*get)->consistency());
      reply.image = std::move(found.image);
      return false;
    }
    auto& reply = std::get<WriteReply>(call.reply);
    if (found.outcome != Outcome::kOk) {
      set_trouble(reply, found.outcome, std::move(found.message));
      return false;
    }
    WritePlan plan = plan_single(call.request, found.image);
    reply.outcome = plan.outcome;
    reply.cost = plan.cost;
    reply.message = std::move(plan.message);
    if (plan.outcome == Outcome::kConditionFailed) reply.image = found.image;
    if (plan.outcome != Outcome::kOk) return false;
    reply.image = plan.after;
    session.stage(key, found.image, plan);
    return found.image || plan.after;
  }

  WritePlan plan_single(const RequestRef& request, const ImagePtr& before) const {
    IndexLayout layout = capabilities_.index_layout;
    if (const auto* put = std::get_if<const PutRequest*>(&request)) {
      return plan_put(**put, before, layout, false);
    }
    if (const auto* update = std::get_if<const UpdateRequest*>(&request)) {
      return plan_update(**update, before, layout, false);
    }
    return plan_delete(**std::get_if<const DeleteRequest*>(&request), before, layout, false);
  }

  // ---- Other requests ----

  void serve_other(Call& call) {
    ReplyBase& reply = start_matching_reply(call);
    if (Status status = validate(call.request); !status) {
      set_trouble(reply, Outcome::kInvalid, status.error().message());
    } else if (const auto* batch = std::get_if<const BatchGetRequest*>(&call.request)) {
      serve(**batch, std::get<BatchGetReply>(call.reply));
    } else if (const auto* query = std::get_if<const QueryRequest*>(&call.request)) {
      serve(**query, std::get<QueryReply>(call.reply));
    } else if (const auto* scan = std::get_if<const ScanRequest*>(&call.request)) {
      serve(**scan, std::get<ScanReply>(call.reply));
    } else {
      serve(**std::get_if<const TransactRequest*>(&call.request),
            std::get<TransactReply>(call.reply));
    }
  }

  // Keeps the first trouble; what could be read is answered all the same.
  static void note_trouble(Found& found, ReplyBase& reply) {
    if (found.outcome == Outcome::kOk || reply.outcome != Outcome::kOk) return;
    set_trouble(reply, found.outcome, std::move(found.message));
  }

  void serve(const BatchGetRequest& request, BatchGetReply& reply) {
    for (const Key& key : request.keys()) {
      Found found = read(key);
      note_trouble(found, reply);
      reply.cost.read_units +=
          read_units(found.image ? found.image->size_bytes() : 0, request.consistency());
      reply.images.push_back(std::move(found.image));
    }
  }

  void serve(const TransactRequest& request, TransactReply& reply) {
    std::span<const TransactItem> items = request.items();
    std::vector<Key> keys;
    keys.reserve(items.size());
    for (const TransactItem& item : items) keys.push_back(transact_key(item));
    Session session(*this, keys);

    std::vector<ImagePtr> before;
    for (const Key& key : keys) {
      Found found = session.read(key);
      note_trouble(found, reply);
      if (reply.outcome != Outcome::kOk) return;
      before.push_back(std::move(found.image));
    }
    if (!claim_token(request, before, reply)) return;

    std::vector<WritePlan> plans;
    plans.reserve(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      plans.push_back(plan_transact_item(items[i], before[i], capabilities_.index_layout));
    }
    if (reply_if_cancelled(items, plans, before, reply)) return forget_token(request);
    for (std::size_t i = 0; i < items.size(); ++i) {
      reply.cost += plans[i].cost;
      reply.images.push_back(is_check(items[i]) ? ImagePtr() : plans[i].after);
      if (!is_check(items[i])) session.stage(keys[i], before[i], plans[i]);
    }
    Committed done = session.commit();
    if (done.ok()) return;
    // Whether the token was spent is as unknown as the rest; a repetition must be let through.
    forget_token(request);
    reply = TransactReply();
    set_write_trouble(reply, done);
  }

  // Whether the transaction is to be carried out; otherwise the reply says why not.
  bool claim_token(const TransactRequest& request, std::span<const ImagePtr> current,
                   TransactReply& reply) {
    if (request.token().empty()) return true;
    std::lock_guard lock(tokens_mutex_);
    switch (tokens_.claim(request.token(), fingerprint(request))) {
      case TokenMemory::Claim::kNew: return true;
      case TokenMemory::Claim::kApplied: reply_to_repetition(current, reply); return false;
      case TokenMemory::Claim::kOther:
        set_trouble(reply, Outcome::kInvalid, kTokenReused);
        return false;
    }
    return false;
  }

  void forget_token(const TransactRequest& request) {
    if (request.token().empty()) return;
    std::lock_guard lock(tokens_mutex_);
    tokens_.forget(request.token());
  }

  void serve(const QueryRequest& request, QueryReply& reply) {
    Index index = request.index();
    std::string prefix =
        record_key(index, encode_prefix(request.partition(), request.sort_prefix()));
    std::string from = prefix;
    if (!request.start().empty()) {
      std::optional<std::string> start = parse_query_start(request);
      if (!start) return set_trouble(reply, Outcome::kInvalid, kForeignPosition);
      // The least key after the position itself.
      from = record_key(index, *start) + '\0';
    }
    std::string end = after_prefix(prefix);
    rocksdb::Slice bound(end);
    rocksdb::ReadOptions options;
    options.iterate_upper_bound = &bound;
    std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator(options));
    std::string last;
    int left = request.limit();
    for (at->Seek(from); at->Valid(); at->Next()) {
      if (left-- == 0) {
        reply.next = position_text(last);
        break;
      }
      last = at->key().ToString().substr(1);
      Found found = item_of_entry(last, index, view(at->value()));
      note_trouble(found, reply);
      if (found.image) reply.images.push_back(std::move(found.image));
    }
    if (!at->status().ok()) {
      // What lies before damage is answered beside it, as beside an item that cannot be read.
      if (!at->status().IsCorruption()) reply = QueryReply();
      Found trouble = read_trouble(at->status());
      set_trouble(reply, trouble.outcome, std::move(trouble.message));
      return;
    }
    reply.cost = query_cost(index, capabilities_.index_layout, reply.images);
  }

  // In the order of the records.
  void serve(const ScanRequest& request, ScanReply& reply) {
    std::string from(1, prefix_of(request.index()));
    if (!request.start().empty()) {
      std::optional<std::string> start = parse_scan_start(request);
      if (!start) return set_trouble(reply, Outcome::kInvalid, kForeignScanPosition);
      from += *start;
    }
    std::string end = after_prefix(std::string(1, prefix_of(request.index())));
    rocksdb::Slice bound(end);
    rocksdb::ReadOptions options;
    options.iterate_upper_bound = &bound;
    // A scan must not drive out of the cache what the callers of the moment need.
    options.fill_cache = false;
    std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator(options));
    std::string last;
    std::int64_t bytes = 0;
    int left = request.limit();
    for (at->Seek(from); at->Valid(); at->Next()) {
      if (left-- == 0 || bytes >= kScanPageBytes) {
        reply.next = scan_position_after(last);
        break;
      }
      last = at->key().ToString().substr(1);
      Found found = scanned_entry(last, request.index(), view(at->value()));
      if (found.image) {
        bytes += found.image->size_bytes();
        reply.images.push_back(std::move(found.image));
        continue;
      }
      std::optional<EntryKey> key = decode_entry(last, request.index());
      reply.unreadable.push_back(
          UnreadableItem{key ? Key(key->pk, key->sk) : Key(), std::move(found.message)});
    }
    if (at->status().IsCorruption()) {
      // A whole block of the file, and no telling what it held.
      if (!last.empty()) from = record_key(request.index(), last) + '\0';
      reply.unreadable.push_back(
          UnreadableItem{Key(), "part of a file: " + at->status().ToString()});
      if (std::optional<std::string> next = find_behind_damage(*db_, from, end)) {
        reply.next = position_text(std::string_view(*next).substr(1));
      }
    } else if (!at->status().ok()) {
      reply = ScanReply();
      set_trouble(reply, Outcome::kUnavailable, "reading: " + at->status().ToString());
      return;
    }
    reply.cost = query_cost(Index::kTable, capabilities_.index_layout, reply.images);
  }

  // An item, or the keys that an entry of an index holds.
  Found scanned_entry(const std::string& entry, Index index, std::string_view value) {
    if (index == Index::kTable) return item_of_entry(entry, index, value);
    std::optional<EntryKey> key = decode_entry(entry, index);
    if (!key) return Found{Outcome::kCorrupt, ImagePtr(), "stored entry of an index: malformed"};
    return Found{Outcome::kOk, entry_image(*key, index), {}};
  }

  // What an entry stands for; empty when the item has left the index since.
  Found item_of_entry(const std::string& entry, Index index, std::string_view value) {
    std::optional<EntryKey> key = decode_entry(entry, index);
    if (!key) return Found{Outcome::kCorrupt, ImagePtr(), "stored entry of an index: malformed"};
    switch (index) {
      case Index::kTable: return decode_item(value, key->pk, key->sk);
      case Index::kGsi3:
      case Index::kGsi4: return Found{Outcome::kOk, entry_image(*key, index), {}};
      case Index::kGsi1:
      case Index::kGsi2: break;
    }
    Found found = read(Key(key->pk, key->sk));
    if (found.image && encode_entry(*found.image, index) != entry) found.image = ImagePtr();
    return found;
  }

  // ---- After a failed write ----

  static bool any_write(std::span<const Call> calls) {
    return std::any_of(calls.begin(), calls.end(), [](const Call& call) {
      return std::holds_alternative<const PutRequest*>(call.request) ||
             std::holds_alternative<const UpdateRequest*>(call.request) ||
             std::holds_alternative<const DeleteRequest*>(call.request) ||
             std::holds_alternative<const TransactRequest*>(call.request);
    });
  }

  // Opens the database anew if the disk takes data again. Until then it stays open as it is, for
  // reading. The database's own way to go on after an error keeps a log whose end is unknown when
  // nothing was written since that log was begun, which is where a full disk is met.
  void reopen() {
    std::unique_lock only(reopening_, std::try_to_lock);
    if (!only.owns_lock() || !failed_.load(std::memory_order_acquire)) return;
    if (db_ && !disk_takes_data(directory_, options_.file_system.get())) return;
    std::lock_guard alone(open_mutex_);
    committer_.reset();
    db_.reset();
    // What failed writes left in the log comes back with it: nothing remembered is sure any more.
    for (Stripe& stripe : stripes_) stripe.cache.clear();
    // The store must be there: an empty directory in its place, as where a disk was taken away,
    // would forget everything. And what of it is damaged is for a person to decide.
    RocksDbOptions again = options_;
    again.create_if_missing = false;
    again.accept_damaged_log = false;
    Result<Database> opened = open_database(directory_, again, expired_);
    if (!opened) {
      reopening_trouble_ = "the store could not be opened again: " + opened.error().reason();
      return;
    }
    env_ = std::move(opened->env);
    db_ = std::move(opened->db);
    committer_ = std::make_unique<Committer>(*db_, options_.synced);
    Result<std::uint64_t> last_change = find_last_change(*db_);
    if (last_change) last_change_ = std::max(last_change_, *last_change);
    failed_.store(false, std::memory_order_release);
  }

  // ---- Expired items ----

  // Runs on a thread of its own until the engine is closed.
  void remove_expired() {
    constexpr std::size_t kAtOnce = 32;
    while (true) {
      std::vector<Key> keys = expired_->take(kAtOnce);
      if (keys.empty()) return;
      std::int64_t cutoff = expired_->cutoff_s();
      std::shared_lock open(open_mutex_);
      if (!db_) continue;
      Session session(*this, keys);
      for (const Key& key : keys) {
        // Another look: it may have been removed or revived since a compaction saw it.
        Found found = session.read(key);
        if (!found.image) continue;
        std::optional<std::int64_t> expires = found.image->number(expired_->attribute());
        if (!expires || *expires > cutoff) continue;
        WritePlan removal;
        removal.may_move_in_indexes = true;
        session.stage(key, found.image, removal);
      }
      // What could not be removed is found again by a later compaction.
      session.commit();
    }
  }

  // ---- Changes ----

  // Precondition: the change log is locked.
  void log_change(rocksdb::WriteBatch& batch, const ImagePtr& before, const ImagePtr& after) {
    std::string value;
    append_text(value, before ? serialize(*before) : std::string());
    if (after) value += serialize(*after);
    batch.Put(change_record_key(++last_change_), value);
    // Dropped in large pieces: every range deletion has to be stepped over by readers.
    std::uint64_t piece = std::max<std::uint64_t>(kept_changes_ / 8, 1);
    if (last_change_ > kept_changes_ && last_change_ % piece == 0) {
      batch.DeleteRange(change_record_key(0), change_record_key(last_change_ - kept_changes_ + 1));
    }
  }

  static Result<ChangeRecord> decode_change(const rocksdb::Slice& key, std::string_view value) {
    ChangeRecord record;
    record.position = change_position(key);
    ByteReader reader(value);
    std::string_view old_bytes = reader.text();
    std::string_view new_bytes = reader.bytes(reader.remaining());
    if (reader.failed() || (old_bytes.empty() && new_bytes.empty())) {
      return Error(ErrorCode::kCorrupt, "stored change: malformed");
    }
    for (auto [bytes, image] :
         {std::pair(old_bytes, &record.old_image), std::pair(new_bytes, &record.new_image)}) {
      if (bytes.empty()) continue;
      Result<ImagePtr> read = deserialize(bytes);
      if (!read) return read.error();
      *image = std::move(*read);
    }
    return record;
  }

  Capabilities capabilities_;
  std::string directory_;
  RocksDbOptions options_;
  std::shared_ptr<ExpiredItems> expired_;
  std::mutex reopening_;
  // Shared by whoever uses the database; held alone to open it anew.
  std::shared_mutex open_mutex_;
  std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<rocksdb::DB> db_;  // null when it could not be opened anew
  std::uint64_t kept_changes_;
  std::unique_ptr<Committer> committer_;
  std::size_t images_per_stripe_;
  std::array<Stripe, kStripes> stripes_;
  std::mutex tokens_mutex_;
  TokenMemory tokens_{kRememberedTokens};
  std::mutex changes_mutex_;
  std::uint64_t last_change_;
  std::atomic<bool> failed_{false};
  std::mutex raising_;
  std::atomic<bool> raised_{false};
  std::string reopening_trouble_;
  std::thread sweeper_;
};

}  // namespace

Result<std::shared_ptr<Engine>> open_rocksdb_engine(const std::string& directory,
                                                    const RocksDbOptions& options) {
  std::shared_ptr<ExpiredItems> expired;
  if (options.expiry) expired = std::make_shared<ExpiredItems>(*options.expiry);
  Result<Database> opened = open_database(directory, options, expired);
  if (!opened) return opened.error();
  Result<std::uint64_t> last_change = find_last_change(*opened->db);
  if (!last_change) return last_change.error();
  std::shared_ptr<Engine> engine = std::make_shared<RocksDbEngine>(
      std::move(*opened), directory, options, std::move(expired), *last_change);
  return engine;
}

Status sweep_expired(Engine& engine) {
  auto* own = dynamic_cast<RocksDbEngine*>(&engine);
  assert(own != nullptr);
  return own->sweep();
}

}  // namespace stint::store
