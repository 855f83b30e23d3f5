#include <date/tz.h>  // expect: <date/tz.h> is not allowed
#include <sys/stat.h>  // expect: is not allowed
#include <unistd.h>  // expect: is not allowed

#include <fstream>  // expect: below limiter
#include <mutex>  // expect: below limiter
#include <random>  // expect: below limiter
#include <ranges>  // expect: clang 14
#include <thread>  // expect: below limiter

#include "hash.h"  // expect: start at the root
#include "store/key.h"  // expect: store is above it
#include "stint/limit.h"  // expect: may not include stint/limit.h of model
#include "tests/support/seed.h"  // expect: may not include tests

auto a = std::chrono::system_clock::now();  // expect: reads a clock
int b = std::rand();  // expect: random source
std::random_device c;  // expect: random source
auto d = std::hash<int>()(1);  // expect: std::hash
const char* e = getenv("HOME");  // expect: environment
// A comment about std::rand() and system_clock::now() is no use of them.
const char* f = "std::rand()";
