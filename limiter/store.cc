#include "stint/store.h"

#include <chrono>

#include "limiter/store_handle.h"
#include "limiter/system_clock.h"
#include "ops/namespaces.h"

namespace stint {
namespace limiter {
namespace {

constexpr std::chrono::seconds kOpenTimeout{10};

}  // namespace

Result<Store> open_store(std::shared_ptr<store::Engine> engine, const StoreOptions& options) {
  schema::StoreRecord fresh;
  fresh.layout = engine->capabilities().index_layout;
  fresh.burst_tolerance_divisor = engine->capabilities().burst_tolerance_divisor;
  fresh.reset_rule = fresh.layout == store::IndexLayout::kCompatible ? ResetRule::kCompatible
                                                                     : ResetRule::kLocalDay;
  BucketQueues queues;
  Result<schema::StoreRecord> record =
      run_alone(*engine, queues,
                ops::open_store(fresh, options.reset_rule, options.create_if_missing,
                                engine->capabilities().shared_writers, SystemClock().now()),
                std::chrono::steady_clock::now() + kOpenTimeout);
  if (!record) return record.error();
  return Store(std::make_shared<StoreHandle>(std::move(engine), *record));
}

}  // namespace limiter

std::string_view to_string(Durability durability) {
  return durability == Durability::kMachine ? "machine" : "process";
}

Result<Durability> parse_durability(std::string_view text) {
  for (Durability known : {Durability::kProcess, Durability::kMachine}) {
    if (text == to_string(known)) return known;
  }
  return Error::invalid("durability", text, "must be process or machine");
}

ResetRule Store::reset_rule() const { return handle_->record.reset_rule; }

std::optional<TransportStats> Store::transport_stats() const {
  return handle_->engine->transport_stats();
}

}  // namespace stint
