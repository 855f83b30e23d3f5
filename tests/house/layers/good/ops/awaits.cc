// Statements that g++ 12 compiles correctly. A comment may say co_await Get{key} or [&] freely.
#include <string>
#include <vector>

#include "schema/item.h"
#include "stint/decision.h"

Op<Decision> plain(Context& cx, std::vector<Key> keys) {
  Get request(keys[0]);
  auto reply = co_await ask(request);
  if (co_await ask(request)) {
    auto second = co_await ask(make_get(keys[1], "text with {braces} and [brackets]"));
    cx.add(second);
  }
  for (auto item = co_await ask(request); item.ok(); item = co_await ask(request)) {
    cx.add(item);
  }
  while (co_await ask(request)) cx.count += 10'000;
  switch (co_await ask(request)) {
    case 1: {
      auto again = co_await ask(request);
      cx.add(again);
      break;
    }
    default:
      co_await ask(request);
  }
  std::vector<int> numbers{1, 2, 3};
  auto add = [&cx](int n) { cx.count += n; };
  for (int n : numbers) add(n);
  auto last = co_await ask(request);
  co_return Decision{last};
}

auto operator co_await(const Ask& ask) { return Awaiter{ask}; }
