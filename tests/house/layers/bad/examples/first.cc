#include <stint/stint.h>

#include "ops/acquire.h"  // expect: public headers only
