#include "model/names.h"
#include "ops/acquire.h"  // expect: ops is above it
#include "schema/item.h"  // expect: schema is above it
#include "stint/limiter.h"  // expect: of limiter
#include "store/memory/memory_engine.h"  // expect: an engine
#include "store/embedded/locks.h"  // expect: an engine
