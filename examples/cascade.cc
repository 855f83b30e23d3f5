// A team and its members: what a member takes, the team takes too, all or none.
#include <stint/stint.h>

#include <cstdio>
#include <string>

int main() {
  stint::Limiter limiter(stint::open_memory().value());
  // Before their first use: a bucket keeps the parent that it was created with.
  limiter.create_entity("team").value();
  for (const char* member : {"ann", "bob"}) {
    limiter.create_entity(member, {.parent = "team", .cascade = true}).value();
    limiter.set_limits(member, "api", {stint::Limit::per_hour("rph", 80)}).value();
  }
  limiter.set_limits("team", "api", {stint::Limit::per_hour("rph", 100)}).value();

  auto take = [&](const std::string& member, int amount) {
    return limiter.acquire({.entity = member, .resource = "api", .consume = {{"rph", amount}}})
        .value();
  };
  bool ann = static_cast<bool>(take("ann", 70));
  // Bob has 80 of his own, but the team has 30 left.
  stint::Decision bob = take("bob", 40);
  for (const stint::LimitStatus& limit : bob.limits()) {
    std::printf("%s: %lld left%s\n", limit.entity.c_str(),
                static_cast<long long>(limit.remaining.whole_tokens()),
                limit.exceeded ? ", short" : "");
  }
  bool bob_kept_all =
      limiter.available("bob", "api").value().limits.at(0).remaining == stint::MilliTokens(80'000);
  return ann && !bob && bob_kept_all ? 0 : 1;
}
