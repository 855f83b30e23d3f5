#include "store/memory/memory_engine.h"

#include <unistd.h>

#include <mutex>

#include "base/hash.h"
#include "stint/result.h"
#include "store/apply.h"
#include "store/embedded/locks.h"
