#include "limiter/store_handle.h"
#include "stint/store.h"
#include "store/rocksdb/rocksdb_engine.h"

namespace stint {

Result<Store> open_embedded(const std::string& directory, const StoreOptions& options) {
  store::RocksDbOptions engine_options;
  engine_options.create_if_missing = options.create_if_missing;
  Result<std::shared_ptr<store::Engine>> engine =
      store::open_rocksdb_engine(directory, engine_options);
  if (!engine) return engine.error();
  return limiter::open_store(std::move(*engine), options);
}

}  // namespace stint
