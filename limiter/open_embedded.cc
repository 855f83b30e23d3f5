#include <chrono>

#include "limiter/store_handle.h"
#include "limiter/system_clock.h"
#include "schema/attributes.h"
#include "stint/store.h"
#include "store/rocksdb/rocksdb_engine.h"

namespace stint {
namespace {

Clock& clock_of(const StoreOptions& options) {
  static limiter::SystemClock system;
  return options.clock != nullptr ? *options.clock : system;
}

}  // namespace

Result<Store> open_embedded(const std::string& directory, const StoreOptions& options) {
  store::RocksDbOptions engine_options;
  engine_options.create_if_missing = options.create_if_missing;
  engine_options.synced = options.durability == Durability::kMachine;
  engine_options.cached_images = options.cached_items;
  engine_options.block_cache_bytes = options.block_cache_bytes;
  engine_options.accept_damaged_log = options.accept_damaged_log;
  engine_options.expiry = store::Expiry{
      schema::kExpiryAttr, [&clock = clock_of(options)] {
        return std::chrono::floor<std::chrono::seconds>(clock.now()).time_since_epoch().count();
      }};
  Result<std::shared_ptr<store::Engine>> engine =
      store::open_rocksdb_engine(directory, engine_options);
  if (!engine) return engine.error();
  return limiter::open_store(std::move(*engine), options);
}

}  // namespace stint
