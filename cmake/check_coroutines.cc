// The shape of every operation in ops/: requests with constructors go out, replies come in, a loop
// drives. Ends with 0 if each object that was made was destroyed exactly once.
#include <coroutine>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace {

int alive = 0;

class Tracked {
 public:
  explicit Tracked(std::string text) : text_(std::make_unique<std::string>(std::move(text))) {
    ++alive;
  }
  Tracked(const Tracked& other) : text_(std::make_unique<std::string>(*other.text_)) { ++alive; }
  Tracked(Tracked&& other) noexcept : text_(std::move(other.text_)) { ++alive; }
  Tracked& operator=(const Tracked&) = delete;
  Tracked& operator=(Tracked&&) = delete;
  ~Tracked() { --alive; }
  std::size_t size() const { return text_ ? text_->size() : 0; }

 private:
  std::unique_ptr<std::string> text_;
};

class Get {
 public:
  explicit Get(Tracked key) : key_(std::move(key)) {}
  std::size_t size() const { return key_.size(); }

 private:
  Tracked key_;
};

class Put {
 public:
  Put(Tracked key, Tracked value) : key_(std::move(key)), value_(std::move(value)) {}
  std::size_t size() const { return key_.size() + value_.size(); }

 private:
  Tracked key_;
  Tracked value_;
};

using Request = std::variant<std::monostate, Get, Put>;

class Op {
 public:
  struct promise_type {
    Request request;
    std::optional<Tracked> reply;
    std::optional<std::size_t> result;

    struct Ask {
      promise_type* promise;
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<>) const noexcept {}
      Tracked await_resume() const {
        Tracked reply = std::move(*promise->reply);
        promise->reply.reset();
        return reply;
      }
    };

    template <typename R>
    Ask await_transform(R asked) {
      request.emplace<R>(std::move(asked));
      return Ask{this};
    }
    Op get_return_object() { return Op(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_value(std::size_t value) { result = value; }
    void unhandled_exception() { std::terminate(); }
  };

  explicit Op(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Op(Op&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Op& operator=(Op&&) = delete;
  ~Op() {
    if (handle_) handle_.destroy();
  }

  // Resumes at most `steps` times; returns the result if the end was reached.
  std::optional<std::size_t> drive(int steps) {
    for (int i = 0; i < steps && !handle_.done(); ++i) {
      handle_.resume();
      if (handle_.done()) break;
      promise_type& promise = handle_.promise();
      const std::size_t asked = promise.request.index() == 1
                                    ? std::get<Get>(promise.request).size()
                                    : std::get<Put>(promise.request).size();
      promise.request.emplace<std::monostate>();
      promise.reply.emplace(std::string(asked, 'r'));
    }
    return handle_.promise().result;
  }

 private:
  std::coroutine_handle<promise_type> handle_;
};

Get make_get(const Tracked& key) { return Get(key); }

Op operation(Tracked key, int rounds) {
  std::size_t total = 0;
  for (int i = 0; i < rounds; ++i) {
    Get get(key);
    auto first = co_await std::move(get);
    auto second = co_await make_get(first);
    Put put(first, second);
    auto third = co_await put;
    if (third.size() != 2 * key.size()) co_return 0;
    total += third.size();
  }
  co_return total;
}

}  // namespace

int main() {
  constexpr int kRounds = 20;
  // Longer than any small-string buffer, so that a second destruction touches the heap.
  const std::string text(100, 'k');
  for (int steps = 0; steps <= 3 * kRounds + 1; ++steps) {
    Op op = operation(Tracked(text), kRounds);
    const std::optional<std::size_t> result = op.drive(steps);
    const bool finished = steps == 3 * kRounds + 1;
    if (result.has_value() != finished || (finished && *result != 2 * 100 * kRounds)) {
      std::printf("wrong result after %d steps\n", steps);
      return 1;
    }
  }
  if (alive != 0) {
    std::printf("%d objects too many or too few were destroyed\n", alive);
    return 1;
  }
  return 0;
}
