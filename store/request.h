// What operations ask of a store and what it answers. Requests refer to keys, programs and
// parameters owned by the asker, who keeps them until the reply is there.
#ifndef STINT_STORE_REQUEST_H_
#define STINT_STORE_REQUEST_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "store/expression.h"
#include "store/image.h"
#include "store/key.h"

namespace stint::store {

/// What became of a request.
enum class Outcome : std::uint8_t {
  kOk,
  kConditionFailed,  ///< Nothing was applied; the reply holds the old image if there is one.
  kConflict,         ///< A transaction was in the way; nothing was applied.
  kThrottled,        ///< Nothing was applied.
  kUnavailable,      ///< Nothing was applied.
  kUnknown,          ///< It may or may not have been applied.
  kInvalid,          ///< The store refuses the request itself; nothing was applied.
  kCorrupt,          ///< A stored item could not be decoded; nothing was applied.
  kDenied,           ///< The store refuses its caller; nothing was applied.
  kMissing,          ///< There is no such store (any more); nothing was applied.
};

/// Capacity units by DynamoDB's rules, the table and its indexes apart (decision 23).
struct Cost {
  double read_units = 0;
  double write_units = 0;
  double index_write_units = 0;

  Cost& operator+=(const Cost& other) {
    read_units += other.read_units;
    write_units += other.write_units;
    index_write_units += other.index_write_units;
    return *this;
  }
  friend bool operator==(const Cost&, const Cost&) = default;
};

enum class Consistency : std::uint8_t { kEventual, kStrong };

// Request classes have constructors on purpose: aggregates inside an awaiting expression are
// miscompiled by g++ 12.2.

class GetRequest {
 public:
  GetRequest(const Key& key, Consistency consistency) : key_(&key), consistency_(consistency) {}
  const Key& key() const { return *key_; }
  Consistency consistency() const { return consistency_; }

 private:
  const Key* key_;
  Consistency consistency_;
};

/// At most 100 distinct keys.
class BatchGetRequest {
 public:
  BatchGetRequest(std::span<const Key> keys, Consistency consistency)
      : keys_(keys), consistency_(consistency) {}
  std::span<const Key> keys() const { return keys_; }
  Consistency consistency() const { return consistency_; }

 private:
  std::span<const Key> keys_;
  Consistency consistency_;
};

/// Replaces the whole item. The key is the image's own.
class PutRequest {
 public:
  /// `condition` may be null: unconditional.
  PutRequest(ImagePtr item, const Condition* condition, Params params = Params())
      : item_(std::move(item)), condition_(condition), params_(params) {}
  const ImagePtr& item() const { return item_; }
  const Condition* condition() const { return condition_; }
  const Params& params() const { return params_; }

 private:
  ImagePtr item_;
  const Condition* condition_;
  Params params_;
};

class UpdateRequest {
 public:
  /// `planned_from`: an image, kept alive by the asker, of which the condition is known to hold. An
  /// engine of the same process that still has this very image need not evaluate the condition.
  UpdateRequest(const Key& key, const UpdateProgram& program, Params params,
                const Image* planned_from = nullptr)
      : key_(&key), program_(&program), params_(params), planned_from_(planned_from) {}
  const Key& key() const { return *key_; }
  const UpdateProgram& program() const { return *program_; }
  const Params& params() const { return params_; }
  const Image* planned_from() const { return planned_from_; }

 private:
  const Key* key_;
  const UpdateProgram* program_;
  Params params_;
  const Image* planned_from_;
};

class DeleteRequest {
 public:
  DeleteRequest(const Key& key, const Condition* condition, Params params = Params())
      : key_(&key), condition_(condition), params_(params) {}
  const Key& key() const { return *key_; }
  const Condition* condition() const { return condition_; }
  const Params& params() const { return params_; }

 private:
  const Key* key_;
  const Condition* condition_;
  Params params_;
};

/// A condition on an item that a transaction does not change.
class CheckRequest {
 public:
  CheckRequest(const Key& key, const Condition& condition, Params params = Params())
      : key_(&key), condition_(&condition), params_(params) {}
  const Key& key() const { return *key_; }
  const Condition& condition() const { return *condition_; }
  const Params& params() const { return params_; }

 private:
  const Key* key_;
  const Condition* condition_;
  Params params_;
};

using TransactItem = std::variant<PutRequest, UpdateRequest, DeleteRequest, CheckRequest>;

/// Up to 100 writes and checks on distinct items, all or none. With a token, a repetition within
/// ten minutes succeeds without being applied again.
class TransactRequest {
 public:
  TransactRequest(std::span<const TransactItem> items, std::string token)
      : items_(items), token_(std::move(token)) {}
  std::span<const TransactItem> items() const { return items_; }
  /// Empty: none.
  const std::string& token() const { return token_; }

 private:
  std::span<const TransactItem> items_;
  std::string token_;
};

/// 0 is the table itself, 1 to 4 are GSI1 to GSI4.
enum class Index : std::uint8_t { kTable = 0, kGsi1 = 1, kGsi2 = 2, kGsi3 = 3, kGsi4 = 4 };
inline constexpr int kIndexCount = 4;

/// Items of one partition of the table or an index in order of the sort key (ties of an index in
/// order of the item's key). Indexes are read eventually consistently.
class QueryRequest {
 public:
  QueryRequest(Index index, std::string partition, std::string sort_prefix, int limit,
               std::string start = std::string())
      : index_(index),
        partition_(std::move(partition)),
        sort_prefix_(std::move(sort_prefix)),
        limit_(limit),
        start_(std::move(start)) {}
  Index index() const { return index_; }
  const std::string& partition() const { return partition_; }
  const std::string& sort_prefix() const { return sort_prefix_; }
  int limit() const { return limit_; }
  /// Position from an earlier reply; empty: from the beginning.
  const std::string& start() const { return start_; }

 private:
  Index index_;
  std::string partition_;
  std::string sort_prefix_;
  int limit_;
  std::string start_;
};

/// All items of the table, or all entries of an index, a page at a time, in an order of the
/// engine's own. What exists from the first page to the last is answered exactly once whatever is
/// written meanwhile, as it stood when its page was read; what comes or goes meanwhile at most
/// once.
///
/// Of an index, what the index itself holds is answered, also where it does not agree with the
/// items: at least the key attributes of item and index.
class ScanRequest {
 public:
  explicit ScanRequest(int limit, std::string start = std::string(), Index index = Index::kTable)
      : limit_(limit), start_(std::move(start)), index_(index) {}
  /// A page holds at most that many items. It ends earlier where it would grow far beyond
  /// `kScanPageBytes`.
  int limit() const { return limit_; }
  /// Position from an earlier reply; empty: from the beginning. Positions stay good when the store
  /// is closed and opened again.
  const std::string& start() const { return start_; }
  Index index() const { return index_; }

 private:
  int limit_;
  std::string start_;
  Index index_;
};
inline constexpr std::int64_t kScanPageBytes = 1 << 20;

/// Common to all replies. `message` says for people what went wrong; empty when all is well.
struct ReplyBase {
  Outcome outcome = Outcome::kOk;
  Cost cost;
  std::string message;
};

struct GetReply : ReplyBase {
  ImagePtr image;  ///< Empty when there is no such item.
};

struct BatchGetReply : ReplyBase {
  std::vector<ImagePtr> images;          ///< One per key, in order; empty when absent.
  std::vector<std::size_t> unprocessed;  ///< Indices of keys to ask for again.
};

/// Reply to put, update and delete.
struct WriteReply : ReplyBase {
  ImagePtr
      image;  ///< After success of put and update the new image; on a failed condition the old.
};

struct CancelReason {
  Outcome outcome = Outcome::kOk;  ///< `kOk` for items that would have succeeded.
  ImagePtr image;                  ///< The old image where a condition failed.
};

struct TransactReply : ReplyBase {
  /// One per item when the transaction was cancelled (`outcome` is then that of the first failed
  /// item); empty otherwise.
  std::vector<CancelReason> reasons;
  /// The new images, one per item (empty for checks and deletes), where the engine knows them;
  /// DynamoDB does not tell and leaves this empty.
  std::vector<ImagePtr> images;
};

/// Where stored data is damaged the outcome is `kCorrupt`, beside what lies before the damage.
struct QueryReply : ReplyBase {
  /// What the index projects: whole items from the table, GSI1 and GSI2; key attributes from
  /// GSI3 and GSI4.
  std::vector<ImagePtr> images;
  std::optional<std::string> next;
};

/// Something that a scan met and could not read.
struct UnreadableItem {
  Key key;  ///< Empty where even that is not known.
  std::string message;
};

/// Damage does not end a scan: it is listed, and `next` lies past it.
struct ScanReply : ReplyBase {
  std::vector<ImagePtr> images;
  std::vector<UnreadableItem> unreadable;
  /// Where the next page begins; nothing: that was the last. A page may be empty and not the last.
  std::optional<std::string> next;
};

using RequestRef = std::variant<const GetRequest*, const BatchGetRequest*, const PutRequest*,
                                const UpdateRequest*, const DeleteRequest*, const TransactRequest*,
                                const QueryRequest*, const ScanRequest*>;
/// Whether the store may change because of the request.
inline bool is_write(const RequestRef& request) {
  return std::holds_alternative<const PutRequest*>(request) ||
         std::holds_alternative<const UpdateRequest*>(request) ||
         std::holds_alternative<const DeleteRequest*>(request) ||
         std::holds_alternative<const TransactRequest*>(request);
}

using Reply =
    std::variant<GetReply, BatchGetReply, WriteReply, TransactReply, QueryReply, ScanReply>;

/// One request on its way through an engine, and its answer.
struct Call {
  RequestRef request;
  Reply reply;
};

}  // namespace stint::store

#endif  // STINT_STORE_REQUEST_H_
