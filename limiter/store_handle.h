// What a `Store` refers to: the engine, its record, and the queues of its buckets.
#ifndef STINT_LIMITER_STORE_HANDLE_H_
#define STINT_LIMITER_STORE_HANDLE_H_

#include <chrono>
#include <memory>
#include <utility>

#include "base/component.h"
#include "limiter/driver.h"
#include "limiter/system_clock.h"
#include "schema/records.h"
#include "stint/result.h"
#include "stint/store.h"
#include "store/engine.h"

namespace stint {

class StoreHandle {
 public:
  StoreHandle(std::shared_ptr<store::Engine> store_engine, schema::StoreRecord store_record)
      : engine(std::move(store_engine)), record(store_record) {}

  /// Whether programs of the other package may use the store beside this one.
  bool is_shared_table() const {
    return engine->capabilities().shared_writers &&
           record.layout == store::IndexLayout::kCompatible;
  }

  std::shared_ptr<store::Engine> engine;
  schema::StoreRecord record;
  limiter::BucketQueues queues;
};

namespace limiter {

/// Runs an operation that belongs to no limiter, by the system's clock; what it asks is counted
/// nowhere.
template <typename T>
T run_alone(store::Engine& engine, BucketQueues& queues, ops::Op<T> op,
            std::chrono::steady_clock::time_point deadline) {
  SystemClock clock;
  RequestCounters counters;
  bool no_exemption = false;
  return run(std::move(op), DriverSetup{engine, clock, queues, counters, deadline, no_exemption});
}

/// Reads or writes the store's record through the engine.
STINT_COMPONENT Result<Store> open_store(std::shared_ptr<store::Engine> engine,
                                         const StoreOptions& options);

}  // namespace limiter
}  // namespace stint

#endif  // STINT_LIMITER_STORE_HANDLE_H_
