// The interface that every store engine implements.
#ifndef STINT_STORE_ENGINE_H_
#define STINT_STORE_ENGINE_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/component.h"
#include "stint/result.h"
#include "stint/transport_stats.h"
#include "store/request.h"

namespace stint::store {

/// What the global secondary index 2 holds beside keys; decides what a debit costs (decision 23).
enum class IndexLayout : std::uint8_t {
  kKeysOnly,    ///< Embedded engines and `lean` tables: whole items are fetched by key.
  kCompatible,  ///< GSI1 and GSI2 project all attributes, as in the other package's tables.
};

/// What an engine can and cannot do. Code asks these, never the engine's name.
struct Capabilities {
  /// Writes a second that one partition takes; buckets then carry the reserved limit `wcu`.
  std::optional<int> partition_write_ceiling;
  /// Other processes write the same items: conditions must pin everything a plan relied on.
  /// When false, the driver queues the callers of one bucket and lean conditions suffice.
  bool shared_writers = false;
  /// Tolerance of the strict burst bound as 1/n of the shortest time-to-full; 0: none (decision
  /// 15).
  int burst_tolerance_divisor = 0;
  IndexLayout index_layout = IndexLayout::kKeysOnly;
  /// Whether `changes` may be called.
  bool change_stream = false;
};

/// One change of one item.
struct ChangeRecord {
  std::uint64_t position = 0;
  ImagePtr old_image;  ///< Empty for a created item.
  ImagePtr new_image;  ///< Empty for a deleted item.
};

/// What an engine tells about itself without reading items.
struct EngineState {
  std::string kind;        ///< "memory", "rocksdb"
  std::string location;    ///< The directory; empty: none.
  std::string durability;  ///< What an acknowledged write survives, in words.
  std::optional<std::uint64_t> disk_bytes;
  /// Items and index entries together, roughly.
  std::optional<std::uint64_t> estimated_records;
};

/// Told when calls that were started are answered.
class Completion {
 public:
  /// Called exactly once, on any thread, perhaps before `Engine::start` returns.
  virtual void answered() noexcept = 0;

 protected:
  ~Completion() = default;
};

/// A table of items with four secondary indexes. All members are thread-safe.
class STINT_COMPONENT Engine {
 public:
  virtual ~Engine() = default;

  virtual const Capabilities& capabilities() const noexcept = 0;

  /// Carries out every call and stores its reply. Each is answered on its own; calls of one batch
  /// on the same item take effect in their order. Blocks until all are answered. Never throws:
  /// trouble is an `Outcome`.
  virtual void execute(std::span<Call> calls) noexcept = 0;

  /// The same, and gives up at `deadline`: what is not known to be applied by then is answered with
  /// `kThrottled`, `kUnavailable` or `kUnknown`. An engine of this process has nothing to wait for.
  virtual void execute_until(std::span<Call> calls,
                             std::chrono::steady_clock::time_point deadline) noexcept;

  /// The same without blocking. The calls, with what they refer to, and `completion` must live
  /// until it is told. An engine of this process answers before this returns.
  virtual void start(std::span<Call> calls, std::chrono::steady_clock::time_point deadline,
                     Completion& completion) noexcept;

  /// Whether the calling thread may wait for this engine: not one that it needs itself.
  virtual bool may_block() const noexcept { return true; }

  /// A hint that the item whose key has this hash is used next. Does nothing by default.
  virtual void prefetch(std::uint64_t key_hash) const noexcept { static_cast<void>(key_hash); }

  /// Errors: `kUnavailable`, what the file system says.
  virtual Result<EngineState> state();

  /// Absent for an engine of this process.
  virtual std::optional<TransportStats> transport_stats() const { return std::nullopt; }

  /// Writes a copy into a directory that does not exist or is empty, while calls go on: every write
  /// acknowledged before, and a prefix of those that come meanwhile. The copy appears whole or not
  /// at all. Errors: `kInvalidArgument` for an engine without files; `kExists` for a directory that
  /// is not empty; `kUnavailable`.
  virtual Status backup(const std::string& directory);

  /// Changes after `position` (0: from the oldest kept), oldest first, at most `limit`.
  /// Errors: `kInvalidArgument` when the engine was opened without a change stream.
  virtual Result<std::vector<ChangeRecord>> changes(std::uint64_t position, int limit);
};

}  // namespace stint::store

#endif  // STINT_STORE_ENGINE_H_
