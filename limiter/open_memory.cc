#include "limiter/store_handle.h"
#include "stint/store.h"
#include "store/memory/memory_engine.h"

namespace stint {

Result<Store> open_memory(const StoreOptions& options) {
  // A store in memory is always new.
  StoreOptions creating = options;
  creating.create_if_missing = true;
  return limiter::open_store(store::make_memory_engine(), creating);
}

}  // namespace stint
