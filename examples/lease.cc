// Take an estimate first, write the true cost afterwards; give everything back when the work fails.
#include <stint/stint.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace {

using namespace std::chrono_literals;

std::int64_t answer(const std::string& prompt) {
  if (prompt.empty()) throw std::invalid_argument("nothing was asked");
  return static_cast<std::int64_t>(prompt.size()) * 100;  // what it cost
}

void serve(stint::Limiter& limiter, const std::string& prompt) {
  constexpr std::int64_t kEstimate = 4'000;
  stint::Decision decision =
      limiter.acquire({.entity = "user-1", .resource = "chat", .consume = {{"tokens", kEstimate}}})
          .value();
  if (!decision) throw std::runtime_error("rejected");
  std::int64_t cost = answer(prompt);  // throws: the lease gives back all that it took
  decision.lease().adjust("tokens", cost - kEstimate).value();
}  // here the lease settles: one write for all corrections

std::int64_t remaining(stint::Limiter& limiter) {
  return limiter.available("user-1", "chat").value().limits.at(0).remaining.whole_tokens();
}

}  // namespace

int main() {
  stint::Limiter limiter(stint::open_memory().value());
  limiter.set_limits("user-1", "chat", {stint::Limit::session("tokens", 10'000, 5h)}).value();

  serve(limiter, "how far is the moon?");  // 2,000 tokens
  std::int64_t after_work = remaining(limiter);
  std::printf("after an answer: %lld\n", static_cast<long long>(after_work));
  try {
    serve(limiter, "");
  } catch (const std::invalid_argument& error) {
    std::printf("%s\n", error.what());
  }
  std::int64_t after_failure = remaining(limiter);
  std::printf("after a failure: %lld\n", static_cast<long long>(after_failure));
  return after_work == 8'000 && after_failure == 8'000 ? 0 : 1;
}
