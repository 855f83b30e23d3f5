// Ask without taking: what is left, and when a given amount will fit. Time is the program's own.
#include <stint/stint.h>

#include <atomic>
#include <chrono>
#include <cstdio>

namespace {

using namespace std::chrono_literals;

class ManualClock final : public stint::Clock {
 public:
  stint::TimePoint now() override { return stint::TimePoint(stint::Millis(now_ms_.load())); }
  void advance(stint::Millis by) { now_ms_ += by.count(); }

 private:
  std::atomic<stint::Millis::rep> now_ms_{1'800'000'000'000};
};

}  // namespace

int main() {
  ManualClock clock;
  stint::LimiterOptions options;
  options.clock = &clock;
  stint::Limiter limiter(stint::open_memory().value(), options);
  // 60 a minute: one token a second.
  limiter.set_limits("user-1", "api", {stint::Limit::per_minute("rpm", 60)}).value();
  auto take = [&](int amount) {
    return static_cast<bool>(
        limiter.acquire({.entity = "user-1", .resource = "api", .consume = {{"rpm", amount}}})
            .value());
  };
  if (!take(50)) return 1;

  stint::Availability availability = limiter.available("user-1", "api", {{"rpm", 25}}).value();
  if (availability.fits || !availability.wait) return 1;
  std::printf("25 fit in %lld ms\n", static_cast<long long>(availability.wait->count()));

  // The wait is exact: a millisecond earlier is too early.
  clock.advance(*availability.wait - 1ms);
  if (take(25)) return 1;
  clock.advance(1ms);
  return take(25) ? 0 : 1;
}
