// The reference engine: everything in this process's memory.
#ifndef STINT_STORE_MEMORY_MEMORY_ENGINE_H_
#define STINT_STORE_MEMORY_MEMORY_ENGINE_H_

#include <memory>

#include "store/engine.h"

namespace stint::store {

/// Capabilities may be set freely, so that tests can run the operations as they run elsewhere.
/// Thread-safe: single-item writes lock one of many shards of the table.
std::shared_ptr<Engine> make_memory_engine(const Capabilities& capabilities = Capabilities());

}  // namespace stint::store

#endif  // STINT_STORE_MEMORY_MEMORY_ENGINE_H_
