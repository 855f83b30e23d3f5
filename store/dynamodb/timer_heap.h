// Entries by time, removable from anywhere.
#ifndef STINT_STORE_DYNAMODB_TIMER_HEAP_H_
#define STINT_STORE_DYNAMODB_TIMER_HEAP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "store/dynamodb/http.h"

namespace stint::store::dynamodb {

/// Something that is due at an instant. Stands in one heap at most and must leave it before it
/// dies.
struct Timed {
  Steady::time_point at;

 private:
  friend class TimerHeap;
  static constexpr std::size_t kNowhere = ~std::size_t{0};
  std::size_t place_ = kNowhere;
  std::uint64_t order_ = 0;
};

/// Knows which entry is due first; of those due at the same instant, the one that was added first.
/// Adding and removing costs a logarithm. Owns nothing. Not thread-safe.
class TimerHeap {
 public:
  bool empty() const { return heap_.empty(); }
  /// Precondition: not empty.
  Timed& first() const { return *heap_.front(); }

  /// Precondition: `entry` stands in no heap; its instant does not change while it stands here.
  void add(Timed& entry);
  /// Does nothing when `entry` is not here.
  void remove(Timed& entry);

 private:
  static bool before(const Timed& a, const Timed& b);
  void put(Timed& entry, std::size_t place);
  void rise(Timed& entry, std::size_t place);
  void sink(Timed& entry, std::size_t place);

  std::vector<Timed*> heap_;
  std::uint64_t added_ = 0;
};

}  // namespace stint::store::dynamodb

#endif  // STINT_STORE_DYNAMODB_TIMER_HEAP_H_
