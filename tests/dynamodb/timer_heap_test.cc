#include "store/dynamodb/timer_heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "base/random.h"
#include "tests/support/seed.h"

namespace stint::store::dynamodb {
namespace {

struct Entry : Timed {
  int number = 0;
};

TEST(TimerHeap, GivesTheEarliestAndOfEqualsTheOldest) {
  Random random(test::seed());
  TimerHeap heap;
  std::vector<std::unique_ptr<Entry>> all;
  std::vector<Entry*> model;  // in order of instant and age
  for (int step = 0; step < 5'000; ++step) {
    const std::uint64_t choice = random.below(10);
    if (choice < 5) {
      auto entry = std::make_unique<Entry>();
      entry->number = step;
      // Few instants, so that many are equal.
      entry->at = Steady::time_point(std::chrono::milliseconds(random.below(50)));
      heap.add(*entry);
      auto later = [](const Entry* a, const Entry* b) { return a->at < b->at; };
      model.insert(std::upper_bound(model.begin(), model.end(), entry.get(), later), entry.get());
      all.push_back(std::move(entry));
    } else if (choice < 8 && !model.empty()) {
      const std::size_t place = random.below(model.size());
      heap.remove(*model[place]);
      heap.remove(*model[place]);  // Not there any more: nothing happens.
      model.erase(model.begin() + static_cast<std::ptrdiff_t>(place));
    } else if (!model.empty()) {
      Entry& first = static_cast<Entry&>(heap.first());
      ASSERT_EQ(first.number, model.front()->number);
      heap.remove(first);
      model.erase(model.begin());
    }
    ASSERT_EQ(heap.empty(), model.empty());
  }
  for (Entry* expected : model) {
    Entry& first = static_cast<Entry&>(heap.first());
    ASSERT_EQ(first.number, expected->number);
    heap.remove(first);
  }
  EXPECT_TRUE(heap.empty());
}

}  // namespace
}  // namespace stint::store::dynamodb
