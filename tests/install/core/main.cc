// A user of the installed component `core`: ten a minute, the eleventh is refused.
#include <stint/stint.h>

#include <chrono>
#include <cstdio>

int main() {
  using namespace std::chrono_literals;

  auto store = stint::open_memory();
  if (!store) {
    std::fprintf(stderr, "open: %s\n", store.error().message().c_str());
    return 1;
  }
  stint::Limiter limiter(*store);
  auto change = limiter.set_limits(
      "user-1", "api",
      {stint::Limit::per_hour("rph", 10), stint::Limit::session("session", 1'000, 5h)});
  if (!change) {
    std::fprintf(stderr, "set_limits: %s\n", change.error().message().c_str());
    return 1;
  }

  int admitted = 0;
  for (int i = 0; i < 11; ++i) {
    auto decision = limiter.acquire(
        {.entity = "user-1", .resource = "api", .consume = {{"rph", 1}, {"session", 50}}});
    if (!decision) {
      std::fprintf(stderr, "acquire: %s\n", decision.error().message().c_str());
      return 1;
    }
    if (*decision) {
      ++admitted;
      const stint::Status settled = decision->lease().settle();
      if (!settled) {
        std::fprintf(stderr, "settle: %s\n", settled.error().message().c_str());
        return 1;
      }
    }
  }
  if (admitted != 10) {
    std::fprintf(stderr, "%d of 11 were admitted, not 10\n", admitted);
    return 1;
  }
  return 0;
}
