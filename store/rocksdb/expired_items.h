// Items whose time is over: compactions find them, the engine removes them.
#ifndef STINT_STORE_ROCKSDB_EXPIRED_ITEMS_H_
#define STINT_STORE_ROCKSDB_EXPIRED_ITEMS_H_

#include <rocksdb/compaction_filter.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "store/key.h"
#include "store/rocksdb/rocksdb_engine.h"

namespace stint::store {

/// The keys that compactions came across, until the engine takes them. Thread-safe.
///
/// The filter of a compaction removes nothing itself: it sees one old version of one record and
/// knows neither newer versions nor the entries of indexes nor the image cache. So it only tells,
/// and the removal is an ordinary write under the item's lock, after another look at the item.
class ExpiredItems {
 public:
  explicit ExpiredItems(const Expiry& expiry) : expiry_(expiry) {}

  AttrId attribute() const { return expiry_.attribute; }
  /// Items that expired at this second or before are to go.
  std::int64_t cutoff_s() const { return expiry_.now_s() - expiry_.margin_s; }

  /// Remembers a key. While very many wait it is dropped; a later compaction finds it again.
  void add(Key key);
  /// Waits for keys and takes some of them. Empty: `stop` was called. The caller is busy until it
  /// calls again.
  std::vector<Key> take(std::size_t most);
  /// Waits until no key is left and the one who takes them waits for more.
  void wait_until_idle();
  void stop();

 private:
  Expiry expiry_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Key> keys_;
  bool busy_ = false;
  bool stopped_ = false;
};

/// Makes the filters that look for expired items.
std::shared_ptr<rocksdb::CompactionFilterFactory> make_expiry_filter(
    std::shared_ptr<ExpiredItems> expired);

}  // namespace stint::store

#endif  // STINT_STORE_ROCKSDB_EXPIRED_ITEMS_H_
