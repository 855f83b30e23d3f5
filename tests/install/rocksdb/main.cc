// A user of the installed component `rocksdb`: what was taken stays taken when the store is opened
// again. The argument is an empty directory.
#include <stint/stint.h>

#include <cstdio>
#include <string>

namespace {

bool failed(const char* what, const stint::Error& error) {
  std::fprintf(stderr, "%s: %s\n", what, error.message().c_str());
  return false;
}

// Opens the store, asks for `amount` of ten an hour and expects the given answer.
bool take(const std::string& directory, int amount, bool expected) {
  auto store = stint::open_embedded(directory);
  if (!store) return failed("open", store.error());
  stint::Limiter limiter(*store);
  if (expected) {
    auto change = limiter.set_limits("user-1", "api", {stint::Limit::per_hour("rph", 10)});
    if (!change) return failed("set_limits", change.error());
  }
  auto decision =
      limiter.acquire({.entity = "user-1", .resource = "api", .consume = {{"rph", amount}}});
  if (!decision) return failed("acquire", decision.error());
  if (static_cast<bool>(*decision) != expected) {
    std::fprintf(stderr, "%d: %s\n", amount, expected ? "refused" : "admitted");
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: consumer DIRECTORY\n");
    return 2;
  }
  const std::string directory = argv[1];
  return take(directory, 8, true) && take(directory, 8, false) ? 0 : 1;
}
