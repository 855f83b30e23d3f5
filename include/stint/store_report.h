// What the maintenance of a store reports: values without behaviour. See maintenance.h.
#ifndef STINT_STORE_REPORT_H_
#define STINT_STORE_REPORT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stint/limit.h"

namespace stint {

/// How far long work is.
struct MaintenanceProgress {
  /// What is being done, such as "items" or "index 2"; valid during the call.
  std::string_view phase;
  /// Items, entries or lines of this phase that are done.
  std::uint64_t done = 0;
};

/// Called between two requests of long work, on the thread that does it. False: stop there; what
/// was done so far is reported, marked as not complete. Must not throw. An empty function is never
/// called.
using OnProgress = std::function<bool(const MaintenanceProgress&)>;

/// Properties of a store that are fixed when it is created.
struct StoreSettings {
  std::int64_t format = 1;
  ResetRule reset_rule = ResetRule::kLocalDay;
  /// "lean": the indexes hold keys only; "compatible": as tables of the other package.
  std::string layout;
  /// Tolerance of the burst bound as 1/n of the shortest time to full; 0: none.
  int burst_tolerance_divisor = 0;
  friend bool operator==(const StoreSettings&, const StoreSettings&) = default;
};

/// Items of one namespace and one kind.
struct ItemCount {
  /// The namespace's name; its id where it has none; "_": of the store itself.
  std::string name_space;
  /// "bucket", "entity", "entity limits" and so on.
  std::string kind;
  std::uint64_t items = 0;
  /// By the rule that size is charged by: names and values of attributes.
  std::int64_t bytes = 0;
};

/// What a count of all items found.
struct StoreCounts {
  std::uint64_t items = 0;
  std::int64_t bytes = 0;
  /// Items past their expiry: treated as absent, and removed at some time.
  std::uint64_t expired = 0;
  /// Places that could not be read; `check_store` names them.
  std::uint64_t unreadable = 0;
  std::string largest_pk;
  std::string largest_sk;
  std::int64_t largest_bytes = 0;
  /// In order of namespace and kind.
  std::vector<ItemCount> by_kind;
  /// False when the caller stopped the count.
  bool complete = true;
};

/// An import that was begun and not finished.
struct UnfinishedImport {
  std::string source;  ///< As named when it was started.
  std::uint64_t lines = 0;
  std::string started_at;  ///< ISO text, UTC.
};

struct StoreInfo {
  std::string kind;        ///< "memory" or "rocksdb".
  std::string location;    ///< The directory; empty in memory.
  std::string durability;  ///< What an acknowledged write survives, in words.
  StoreSettings settings;
  /// Of all its files.
  std::optional<std::uint64_t> disk_bytes;
  /// Items and index entries together, by the engine's own estimate.
  std::optional<std::uint64_t> estimated_records;
  std::optional<UnfinishedImport> unfinished_import;
  /// Absent unless asked for.
  std::optional<StoreCounts> counts;
};

/// One thing that is wrong with a store.
struct StoreProblem {
  /// The key of the item; empty where it is not known.
  std::string pk;
  std::string sk;
  std::string what;
  /// What to do about it.
  std::string advice;
};

struct CheckReport {
  std::uint64_t items = 0;
  std::uint64_t index_entries = 0;
  std::uint64_t problems = 0;
  /// Of these, places that could not be read at all.
  std::uint64_t unreadable = 0;
  /// False where there were more namespaces or resources than are compared with their lists.
  bool lists_compared = true;
  /// False when the caller stopped the check.
  bool complete = true;
};

/// For which kind of store an export is made.
enum class ItemForm : std::uint8_t {
  kAsStored,
  kDynamoDb,  ///< Buckets carry the reserved limit `wcu`; the store's own record is left out.
  kEmbedded,  ///< Buckets do not.
};

struct ExportReport {
  std::uint64_t items = 0;
  /// Places that could not be read and are missing from the export.
  std::uint64_t unreadable = 0;
  bool complete = true;
};

struct ImportReport {
  /// Whether anything was sent to the store, by this run or by the one that it resumes. The store
  /// may then hold a part of the items, and says so until the import is finished.
  bool begun = false;
  /// Whether the store held items when this run began.
  bool target_holds_items = false;
  /// Lines with an item that this run looked at.
  std::uint64_t lines = 0;
  /// Written by this run; in a dry run, those that would be. Of a batch that failed nothing is
  /// counted, though some of it may be written.
  std::uint64_t written = 0;
  /// Were there already with the same content.
  std::uint64_t already_there = 0;
  /// Lines of an earlier run that were not written again.
  std::uint64_t resumed = 0;
  /// The store's own records, which an import leaves as they are.
  std::uint64_t left_out = 0;
};

}  // namespace stint

#endif  // STINT_STORE_REPORT_H_
