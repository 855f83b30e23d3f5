#include <string>

Op<Decision> bad(Context& cx, Key key) {
  auto a = co_await ask(Get{key});  // expect: brace initialiser
  auto b = co_await Awaiter{key};  // expect: brace initialiser
  P c{co_await ask(key), T("z")};  // expect: brace initialiser
  auto d = P{1, f(co_await ask(key))};  // expect: brace initialiser
  f(std::array<T, 2>{key, key}, co_await ask(key));  // expect: brace initialiser
  f(co_await ask(key), [&] { return key; });  // expect: brace initialiser | lambda: name it first
  auto e = co_await ask([key](int) { return key; });  // expect: brace initialiser | lambda: name it
  if (P{1}.ok(co_await ask(key))) {  // expect: brace initialiser
    return;
  }
  auto [f, g] = co_await ask(key);  // expect: taken apart
  auto body = [key]() -> Op<int> {
    auto h = co_await ask(key);  // expect: inside a lambda
    co_return h;
  };
  auto i = co_await  // expect: brace initialiser
      ask(  // a statement may take several lines
          Get{key});
  co_yield Get{key};  // expect: brace initialiser
  co_return P{co_await ask(key)};  // expect: brace initialiser
}
// The awaiting line itself is named, not that of the brace.

auto attribute = store::intern("rf");  // expect: ops names an attribute
