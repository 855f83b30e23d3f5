// Limits that the program passes with the call: nothing has to be configured in the store.
#include <stint/stint.h>

#include <cstdio>
#include <string>

namespace {

// Ten requests at once, one more every six seconds.
const stint::LimitList& login_limits() {
  static const stint::LimitList limits = {stint::Limit::per_minute("attempts", 10)};
  return limits;
}

bool may_try_to_log_in(stint::Limiter& limiter, const std::string& address) {
  auto decision = limiter.acquire({.entity = address,
                                   .resource = "login",
                                   .consume = {{"attempts", 1}},
                                   .limits = login_limits()});
  return static_cast<bool>(decision.value());
}

}  // namespace

int main() {
  stint::Limiter limiter(stint::open_memory().value());
  int admitted = 0;
  for (int i = 0; i < 12; ++i) admitted += may_try_to_log_in(limiter, "192.0.2.7") ? 1 : 0;
  bool other = may_try_to_log_in(limiter, "192.0.2.8");
  std::printf("%d of 12 attempts admitted; another address: %s\n", admitted,
              other ? "admitted" : "rejected");
  return admitted == 10 && other ? 0 : 1;
}
