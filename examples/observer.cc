// Counts what a limiter does and writes down what somebody has to look into.
#include <stint/stint.h>

#include <cstdio>
#include <string>

namespace {

class Log final : public stint::Observer {
 public:
  // Called on the thread of the request: does little and returns.
  void on_event(const stint::Event& event) noexcept override {
    switch (event.kind) {
      case stint::EventKind::kCallFailed:
      case stint::EventKind::kLeaseTrouble:
      case stint::EventKind::kClockBehind:
        std::fprintf(stderr, "%s: %.*s\n", std::string(stint::to_string(event.kind)).c_str(),
                     static_cast<int>(event.entity.size()), event.entity.data());
        break;
      default: break;  // there are many kinds, and there may be more
    }
  }
};

}  // namespace

int main() {
  stint::Counters counters;
  Log log;
  stint::MultiObserver both({&counters, &log});
  stint::LimiterOptions options;
  options.observer = &both;
  stint::Limiter limiter(stint::open_memory().value(), options);
  limiter.set_limits("user-1", "api", {stint::Limit::per_day("rpd", 3)}).value();
  for (int i = 0; i < 5; ++i) {
    limiter.acquire({.entity = "user-1", .resource = "api", .consume = {{"rpd", 1}}}).value();
  }

  stint::CounterSnapshot counted = counters.snapshot();
  std::printf("admitted: %llu, rejected: %llu, of these from memory: %llu\n",
              static_cast<unsigned long long>(counted.admitted),
              static_cast<unsigned long long>(counted.rejected),
              static_cast<unsigned long long>(counted.rejected_from_memory));
  for (const auto& limit : counted.rejections_by_limit) {
    std::printf("  refused by %s: %llu\n", limit.limit.c_str(),
                static_cast<unsigned long long>(limit.rejections));
  }
  std::printf("store requests: %llu, write units: %.1f\n",
              static_cast<unsigned long long>(counted.store.requests), counted.store.write_units);
  bool as_told = counted.admitted == 3 && counted.rejected == 2 &&
                 counted.rejections_by_limit.size() == 1 &&
                 counted.rejections_by_limit[0].rejections == 2;
  return as_told ? 0 : 1;
}
