#include "store/rocksdb/rocksdb_engine.h"

#include <rocksdb/db.h>

#include <filesystem>
#include <mutex>

#include "store/apply.h"
