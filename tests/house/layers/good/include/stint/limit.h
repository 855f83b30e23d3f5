#include <vector>

#include "stint/amount.h"
#include "stint/result.h"
