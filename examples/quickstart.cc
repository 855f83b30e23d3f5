// A store on disk, two limits, one request, and the correction of an estimate.
#include <stint/stint.h>

#include <chrono>
#include <cstdio>

int main() {
  using namespace std::chrono_literals;

  stint::Limiter limiter(stint::open_embedded("stint-data").value());
  limiter
      .set_limits(
          "user-123", "chat",
          {stint::Limit::per_minute("rpm", 60), stint::Limit::session("session", 10'000, 5h)})
      .value();

  auto decision = limiter
                      .acquire({.entity = "user-123",
                                .resource = "chat",
                                .consume = {{"rpm", 1}, {"session", 1'500}}})
                      .value();
  if (!decision) {
    for (const stint::LimitStatus& limit : decision.limits()) {
      if (limit.exceeded) std::printf("%s is short\n", limit.name.c_str());
    }
    return 0;
  }
  // 1,500 was an estimate. The work turns out to have cost 1,230.
  stint::Lease& lease = decision.lease();
  lease.adjust("session", -270).value();
  std::printf("admitted, %lld tokens used\n",
              static_cast<long long>(lease.consumed("session").whole_tokens()));
  lease.settle().value();
}
