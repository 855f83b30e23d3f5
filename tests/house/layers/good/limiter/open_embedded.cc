#include <chrono>
#include <mutex>

#include "ops/setup.h"
#include "stint/store.h"
#include "store/rocksdb/rocksdb_engine.h"

auto read_clock() { return std::chrono::system_clock::now(); }
