#include <rocksdb/db.h>  // expect: is not allowed

#include <mutex>

#include "model/names.h"  // expect: model is above it
#include "stint/decision.h"  // expect: of model
#include "store/rocksdb/rocksdb_engine.h"  // expect: only limiter/open_embedded*
