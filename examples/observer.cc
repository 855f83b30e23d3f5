// Counts the events that a limiter reports, as a program would for its metrics.
#include <stint/stint.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <string>

namespace {

class Counters final : public stint::Observer {
 public:
  // Called on the thread of the request: counts and returns.
  void on_event(const stint::Event& event) noexcept override { ++slot(event.kind); }
  int count(stint::EventKind kind) { return slot(kind); }

 private:
  std::atomic<int>& slot(stint::EventKind kind) {
    return counts_.at(static_cast<std::size_t>(kind));
  }
  std::array<std::atomic<int>, static_cast<std::size_t>(stint::EventKind::kFanoutIncomplete) + 1>
      counts_{};
};

}  // namespace

int main() {
  Counters counters;
  stint::LimiterOptions options;
  options.observer = &counters;
  stint::Limiter limiter(stint::open_memory().value(), options);
  limiter.set_limits("user-1", "api", {stint::Limit::per_day("rpd", 3)}).value();
  for (int i = 0; i < 5; ++i) {
    limiter.acquire({.entity = "user-1", .resource = "api", .consume = {{"rpd", 1}}}).value();
  }
  for (stint::EventKind kind : {stint::EventKind::kAdmitted, stint::EventKind::kRejected}) {
    std::printf("%s: %d\n", std::string(stint::to_string(kind)).c_str(), counters.count(kind));
  }
  stint::RequestStats stats = limiter.stats();
  std::printf("store requests: %llu, write units: %.1f\n",
              static_cast<unsigned long long>(stats.requests), stats.write_units);
  bool as_counted = counters.count(stint::EventKind::kAdmitted) == 3 &&
                    counters.count(stint::EventKind::kRejected) == 2;
  return as_counted ? 0 : 1;
}
