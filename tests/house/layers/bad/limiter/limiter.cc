#include <fmt/format.h>  // expect: is not allowed

#include <mutex>

#include "cli/output.h"  // expect: cli is above it
#include "store/memory/memory_engine.h"
#include "store/rocksdb/rocksdb_engine.h"  // expect: only limiter/open_embedded*
