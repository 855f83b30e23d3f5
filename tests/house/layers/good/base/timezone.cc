#include <date/tz.h>

#include <vector>

#include "base/hash.h"
#include "stint/result.h"
