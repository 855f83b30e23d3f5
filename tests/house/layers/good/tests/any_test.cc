#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <rocksdb/db.h>

#include "ops/acquire.h"
#include "tests/support/seed.h"
