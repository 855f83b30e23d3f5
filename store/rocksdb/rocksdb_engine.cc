#include "store/rocksdb/rocksdb_engine.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/iterator.h>
#include <rocksdb/metadata.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <mutex>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "store/apply.h"
#include "store/embedded/item_table.h"
#include "store/embedded/key_codec.h"
#include "store/embedded/reply.h"
#include "store/embedded/token_memory.h"
#include "store/embedded/write_plan.h"
#include "store/rocksdb/backup.h"
#include "store/rocksdb/directory.h"
#include "store/value_codec.h"

// Records of the database, by the first byte of their keys:
//   t  an item under its table entry (key_codec.h), as `serialize` writes it
//   1 to 4  an entry of an index, without a value
//   c  a change under its position, eight bytes, highest first: length of the old image, old, new

namespace stint::store {
namespace {

constexpr std::size_t kStripes = 64;
constexpr std::size_t kBlockCacheBytes = 64 << 20;
constexpr double kBloomBitsPerKey = 10;
constexpr char kChangePrefix = 'c';

char prefix_of(Index index) {
  return index == Index::kTable ? 't' : static_cast<char>('0' + static_cast<int>(index));
}

std::string record_key(Index index, std::string_view entry) {
  std::string key(1, prefix_of(index));
  key += entry;
  return key;
}

std::string item_record_key(const Key& key) {
  return record_key(Index::kTable, encode_table_entry(key.pk(), key.sk()));
}

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

Found read_trouble(const rocksdb::Status& status) {
  Found found;
  found.outcome = Outcome::kUnavailable;
  found.message = "reading: " + status.ToString();
  return found;
}

// Locks are taken in this order: stripes by number, token memory or change log.
class RocksDbEngine final : public Engine {
 public:
  RocksDbEngine(std::unique_ptr<rocksdb::DB> db, const RocksDbOptions& options,
                std::uint64_t last_change)
      : db_(std::move(db)),
        kept_changes_(options.kept_changes),
        images_per_stripe_(std::max<std::size_t>(1, options.cached_images / kStripes)),
        last_change_(last_change) {
    capabilities_.index_layout = IndexLayout::kKeysOnly;
    capabilities_.change_stream = options.change_stream;
    // Acknowledged writes survive a killed process: logged, not synced.
    write_options_.sync = false;
  }

  const Capabilities& capabilities() const noexcept override { return capabilities_; }

  void prefetch(std::uint64_t key_hash) const noexcept override {
    stripes_[stripe_number(key_hash)].cache.prefetch(key_hash);
  }

  void execute(std::span<Call> calls) noexcept override {
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

  Result<EngineState> state() override {
    EngineState state;
    state.kind = "rocksdb";
    state.location = db_->GetName();
    state.durability = write_options_.sync ? "a loss of power" : "a killed process";
    std::uint64_t records = 0;
    if (db_->GetIntProperty(rocksdb::DB::Properties::kEstimateNumKeys, &records)) {
      state.estimated_records = records;
    }
    Result<std::uint64_t> bytes = directory_bytes(state.location);
    if (!bytes) return bytes.error();
    state.disk_bytes = *bytes;
    return state;
  }

  Status backup(const std::string& directory) override { return write_backup(*db_, directory); }

  Result<std::vector<ChangeRecord>> changes(std::uint64_t position, int limit) override {
    if (!capabilities_.change_stream) return Engine::changes(position, limit);
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
    if (!at->status().ok()) return Error(ErrorCode::kUnavailable, at->status().ToString());
    return found;
  }

 private:
  struct alignas(64) Stripe {
    std::mutex mutex;
    ItemTable cache;
  };

  // The locks of some items, and the changes made to them that are not written yet.
  class Session {
   public:
    Session(RocksDbEngine& engine, std::span<const Key> keys) : engine_(engine) {
      std::vector<std::size_t> numbers;
      for (const Key& key : keys) numbers.push_back(stripe_number(key));
      std::sort(numbers.begin(), numbers.end());
      numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
      for (std::size_t number : numbers) locks_.emplace_back(engine.stripes_[number].mutex);
    }

    /// The item as changed so far.
    Found read(const Key& key) {
      if (const Staged* staged = find(key)) return Found{Outcome::kOk, staged->after, {}};
      return engine_.read_locked(key);
    }

    /// Whether `read` answered something that `commit` has still to make true.
    bool depends_on_staged(const Key& key) const { return find(key) != nullptr; }

    void stage(const Key& key, const ImagePtr& before, const WritePlan& plan) {
      if (!before && !plan.after) return;
      if (plan.after) {
        batch_.Put(item_record_key(key), serialize(*plan.after));
      } else {
        batch_.Delete(item_record_key(key));
      }
      if (plan.may_move_in_indexes) move_in_indexes(before, plan.after);
      staged_.push_back(Staged{&key, before, plan.after});
    }

    /// Writes all that was staged, or nothing as far as can be known.
    rocksdb::Status commit() {
      if (staged_.empty()) return rocksdb::Status::OK();
      rocksdb::Status status = write();
      for (const Staged& staged : staged_) {
        // After a failed write nobody knows what the log holds: only the database may answer.
        engine_.remember(*staged.key, status.ok() ? staged.after : ImagePtr());
      }
      return status;
    }

   private:
    struct Staged {
      const Key* key;
      ImagePtr before;
      ImagePtr after;
    };

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

    rocksdb::Status write() {
      if (!engine_.capabilities_.change_stream) {
        return engine_.db_->Write(engine_.write_options_, &batch_);
      }
      // Held until the write is done: a reader that has seen a position has seen all before it.
      std::lock_guard lock(engine_.changes_mutex_);
      for (const Staged& staged : staged_) {
        engine_.log_change(batch_, staged.before, staged.after);
      }
      return engine_.db_->Write(engine_.write_options_, &batch_);
    }

    RocksDbEngine& engine_;
    std::vector<std::unique_lock<std::mutex>> locks_;
    std::vector<Staged> staged_;
    rocksdb::WriteBatch batch_;
  };

  static std::size_t stripe_number(std::uint64_t key_hash) { return key_hash >> 58; }
  static std::size_t stripe_number(const Key& key) { return stripe_number(key.hash()); }
  static_assert(kStripes == std::size_t{1} << (64 - 58));
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

  static Key key_of(const RequestRef& request) {
    if (const auto* get = std::get_if<const GetRequest*>(&request)) return (*get)->key();
    if (const auto* put = std::get_if<const PutRequest*>(&request)) return (*put)->item()->key();
    if (const auto* update = std::get_if<const UpdateRequest*>(&request)) return (*update)->key();
    return (*std::get_if<const DeleteRequest*>(&request))->key();
  }

  // One write for all of them: the more come together, the less each costs.
  void serve_single_items(std::span<Call> calls) {
    std::vector<Call*> valid;
    std::vector<Key> keys;
    valid.reserve(calls.size());
    keys.reserve(calls.size());
    for (Call& call : calls) {
      ReplyBase& reply = start_matching_reply(call);
      if (Status status = validate(call.request); !status) {
        set_trouble(reply, Outcome::kInvalid, status.error().message());
        continue;
      }
      valid.push_back(&call);
      keys.push_back(key_of(call.request));
    }

    Session session(*this, keys);
    std::vector<std::size_t> writers;    // of `valid`
    std::vector<std::size_t> dependent;  // answered from what the writers left
    for (std::size_t i = 0; i < valid.size(); ++i) {
      bool depends = session.depends_on_staged(keys[i]);
      bool wrote = serve_single_item(session, keys[i], *valid[i]);
      if (wrote) {
        writers.push_back(i);
      } else if (depends) {
        dependent.push_back(i);
      }
    }
    rocksdb::Status status = session.commit();
    if (status.ok()) return;
    for (std::size_t i : writers) {
      set_trouble(start_matching_reply(*valid[i]), Outcome::kUnknown,
                  "writing: " + status.ToString());
    }
    for (std::size_t i : dependent) {
      set_trouble(start_matching_reply(*valid[i]), Outcome::kUnavailable,
                  "an earlier write of the same batch failed: " + status.ToString());
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
    reply.message = plan.message;
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
    rocksdb::Status status = session.commit();
    if (status.ok()) return;
    // Whether the token was spent is as unknown as the rest; a repetition must be let through.
    forget_token(request);
    reply = TransactReply();
    set_trouble(reply, Outcome::kUnknown, "writing: " + status.ToString());
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
      reply = QueryReply();
      set_trouble(reply, Outcome::kUnavailable, "reading: " + at->status().ToString());
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
      // A whole block of the file, and no telling what it held: go on where a file is known to have
      // an item.
      if (!last.empty()) from = record_key(request.index(), last);
      reply.unreadable.push_back(
          UnreadableItem{Key(), "part of a file: " + at->status().ToString()});
      if (std::optional<std::string> next = next_edge_of_a_file(from, end)) {
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

  // The least record between the two, both excluded, with which a file of the database begins or
  // ends.
  std::optional<std::string> next_edge_of_a_file(const std::string& from, const std::string& end) {
    std::vector<rocksdb::LiveFileMetaData> files;
    db_->GetLiveFilesMetaData(&files);
    std::optional<std::string> next;
    for (const rocksdb::LiveFileMetaData& file : files) {
      for (const std::string& edge : {file.smallestkey, file.largestkey}) {
        if (edge > from && edge < end && (!next || edge < *next)) next = edge;
      }
    }
    return next;
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
  rocksdb::WriteOptions write_options_;
  std::unique_ptr<rocksdb::DB> db_;
  std::uint64_t kept_changes_;
  std::size_t images_per_stripe_;
  std::array<Stripe, kStripes> stripes_;
  std::mutex tokens_mutex_;
  TokenMemory tokens_{kRememberedTokens};
  std::mutex changes_mutex_;
  std::uint64_t last_change_;
};

rocksdb::Options database_options() {
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kBloomBitsPerKey));
  table.block_cache = rocksdb::NewLRUCache(kBlockCacheBytes);
  rocksdb::Options options;
  options.create_if_missing = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  options.keep_log_file_num = 3;
  return options;
}

Error open_error(const std::string& directory, const rocksdb::Status& status) {
  std::string text = status.ToString();
  if (status.IsIOError() && text.find("/LOCK") != std::string::npos) {
    bool own = text.find("current process") != std::string::npos;
    if (own || text.find("lock file") != std::string::npos) {
      return Error(ErrorCode::kUnavailable, directory + (own ? " is in use by this process already"
                                                             : " is in use by another process"));
    }
  }
  ErrorCode code = status.IsCorruption() ? ErrorCode::kCorrupt : ErrorCode::kUnavailable;
  return Error(code, directory + ": " + text);
}

Result<std::uint64_t> find_last_change(rocksdb::DB& db) {
  std::unique_ptr<rocksdb::Iterator> at(db.NewIterator(rocksdb::ReadOptions()));
  at->SeekForPrev(change_record_key(~std::uint64_t{0}));
  if (!at->status().ok()) return Error(ErrorCode::kUnavailable, at->status().ToString());
  if (!at->Valid() || at->key()[0] != kChangePrefix) return std::uint64_t{0};
  return change_position(at->key());
}

}  // namespace

Result<std::shared_ptr<Engine>> open_rocksdb_engine(const std::string& directory,
                                                    const RocksDbOptions& options) {
  if (Status status = prepare_directory(directory, options.create_if_missing); !status) {
    return status.error();
  }
  rocksdb::DB* opened = nullptr;
  rocksdb::Status status = rocksdb::DB::Open(database_options(), directory, &opened);
  std::unique_ptr<rocksdb::DB> db(opened);
  if (!status.ok()) return open_error(directory, status);
  Result<std::uint64_t> last_change = find_last_change(*db);
  if (!last_change) return last_change.error();
  std::shared_ptr<Engine> engine =
      std::make_shared<RocksDbEngine>(std::move(db), options, *last_change);
  return engine;
}

}  // namespace stint::store
