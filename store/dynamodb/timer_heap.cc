#include "store/dynamodb/timer_heap.h"

#include <cassert>

namespace stint::store::dynamodb {

bool TimerHeap::before(const Timed& a, const Timed& b) {
  return a.at != b.at ? a.at < b.at : a.order_ < b.order_;
}

void TimerHeap::put(Timed& entry, std::size_t place) {
  heap_[place] = &entry;
  entry.place_ = place;
}

void TimerHeap::rise(Timed& entry, std::size_t place) {
  while (place > 0) {
    const std::size_t parent = (place - 1) / 2;
    if (!before(entry, *heap_[parent])) break;
    put(*heap_[parent], place);
    place = parent;
  }
  put(entry, place);
}

void TimerHeap::sink(Timed& entry, std::size_t place) {
  for (;;) {
    std::size_t child = 2 * place + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && before(*heap_[child + 1], *heap_[child])) ++child;
    if (!before(*heap_[child], entry)) break;
    put(*heap_[child], place);
    place = child;
  }
  put(entry, place);
}

void TimerHeap::add(Timed& entry) {
  assert(entry.place_ == Timed::kNowhere);
  entry.order_ = added_++;
  heap_.push_back(&entry);
  rise(entry, heap_.size() - 1);
}

void TimerHeap::remove(Timed& entry) {
  const std::size_t place = entry.place_;
  if (place == Timed::kNowhere) return;
  assert(place < heap_.size() && heap_[place] == &entry);
  entry.place_ = Timed::kNowhere;
  Timed& last = *heap_.back();
  heap_.pop_back();
  if (&last == &entry) return;
  // Whoever takes the place may belong above or below it.
  rise(last, place);
  sink(last, last.place_);
}

}  // namespace stint::store::dynamodb
