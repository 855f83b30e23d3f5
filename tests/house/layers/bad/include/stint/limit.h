#include <fmt/format.h>  // expect: is not allowed
#include <stint/amount.h>  // expect: with quotes

#include <mutex>  // expect: public header

#include "model/names.h"  // expect: public headers only
#include "stint/limiter.h"  // expect: belongs to model
#include "stint/secret.h"  // expect: not known
