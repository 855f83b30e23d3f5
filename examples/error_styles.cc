// The same call in both error styles. A rejection is an answer in either, never an error.
#include <stint/stint.h>

#include <cstdio>

namespace {

// Errors as values.
int by_result(stint::Limiter& limiter, const stint::AcquireRequest& request) {
  stint::Result<stint::Decision> decision = limiter.acquire(request);
  if (!decision) {
    std::printf("error: %s\n", decision.error().message().c_str());
    return decision.error().code() == stint::ErrorCode::kInvalidArgument ? 2 : 3;
  }
  return *decision ? 0 : 1;
}

// Errors as exceptions.
int by_exception(stint::Limiter& limiter, const stint::AcquireRequest& request) {
  try {
    stint::Decision decision = limiter.acquire(request).value();
    return decision ? 0 : 1;
  } catch (const stint::ErrorException& exception) {
    std::printf("exception: %s\n", exception.what());
    return exception.error().code() == stint::ErrorCode::kInvalidArgument ? 2 : 3;
  }
}

}  // namespace

int main() {
  stint::Limiter limiter(stint::open_memory().value());
  limiter.set_limits("user-1", "api", {stint::Limit::per_minute("rpm", 60)}).value();

  stint::AcquireRequest good{.entity = "user-1", .resource = "api", .consume = {{"rpm", 1}}};
  stint::AcquireRequest large{.entity = "user-1", .resource = "api", .consume = {{"rpm", 61}}};
  stint::AcquireRequest unknown{.entity = "user-1", .resource = "api", .consume = {{"tpm", 1}}};
  bool alike = true;
  int expected[] = {0, 1, 2};
  const stint::AcquireRequest* requests[] = {&good, &large, &unknown};
  for (int i = 0; i < 3; ++i) {
    alike = alike && by_result(limiter, *requests[i]) == expected[i] &&
            by_exception(limiter, *requests[i]) == expected[i];
  }
  return alike ? 0 : 1;
}
