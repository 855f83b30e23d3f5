#include "stint/store.h"

#include <chrono>

#include "limiter/store_handle.h"
#include "ops/namespaces.h"
#include "store/memory/memory_engine.h"

namespace stint {
namespace {

constexpr std::chrono::seconds kOpenTimeout{10};

class WallClock final : public Clock {
 public:
  TimePoint now() override {
    return std::chrono::time_point_cast<Millis>(std::chrono::system_clock::now());
  }
};

}  // namespace

namespace limiter {

Result<Store> open_store(std::shared_ptr<store::Engine> engine, const StoreOptions& options) {
  schema::StoreRecord fresh;
  fresh.layout = engine->capabilities().index_layout;
  fresh.burst_tolerance_divisor = engine->capabilities().burst_tolerance_divisor;
  fresh.reset_rule = fresh.layout == store::IndexLayout::kCompatible ? ResetRule::kCompatible
                                                                     : ResetRule::kLocalDay;
  WallClock clock;
  BucketQueues queues;
  RequestCounters counters;
  bool no_exemption = false;
  DriverSetup setup{*engine, clock, queues, counters,
                    std::chrono::steady_clock::now() + kOpenTimeout, no_exemption};
  Result<schema::StoreRecord> record = run(
      ops::open_store(fresh, options.reset_rule, options.create_if_missing, clock.now()), setup);
  if (!record) return record.error();
  return Store(std::make_shared<StoreHandle>(std::move(engine), *record));
}

}  // namespace limiter

Result<Store> open_memory(const StoreOptions& options) {
  // A store in memory is always new.
  StoreOptions creating = options;
  creating.create_if_missing = true;
  return limiter::open_store(store::make_memory_engine(), creating);
}

}  // namespace stint
