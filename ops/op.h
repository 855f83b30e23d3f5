// Operations as coroutines that never do I/O: they ask for store requests and for their turn at a
// bucket, and a driver answers. See docs/design/operations.md.
//
// g++ 12.2 miscompiles aggregates and lambdas inside awaiting expressions. So requests are named
// locals of classes with constructors, `ask` takes them by reference and refuses temporaries, and
// every awaiting statement has the plain form `auto reply = co_await ask(request);`.
#ifndef STINT_OPS_OP_H_
#define STINT_OPS_OP_H_

#include <cassert>
#include <coroutine>
#include <cstddef>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/recycled_memory.h"
#include "stint/time.h"
#include "store/request.h"

namespace stint::ops {

/// Asks to be the only caller of some buckets of this process, where the engine's writers are all
/// in this process; elsewhere just for the time. The answer is the clock, read after all waiting.
class TurnRequest {
 public:
  /// `view_hash`es of the buckets; those of other namespaces with the same names queue along.
  /// Replaces the turn held before.
  explicit TurnRequest(std::span<const std::uint64_t> buckets) : buckets_(buckets) {}
  std::span<const std::uint64_t> buckets() const { return buckets_; }

 private:
  std::span<const std::uint64_t> buckets_;
};

/// Where an operation and its driver meet. The driver alternates: resume `current()`, then answer
/// what is pending, until `done()`. A loop, so that no chain of resumptions grows the stack.
class Runner {
 public:
  enum class Pending {
    kNothing,  ///< Resume again.
    kCalls,    ///< Carry out `calls()` and store the replies.
    kTurn,     ///< Wait for `turn()`, then give the clock reading to `answer_turn`.
  };

  bool done() const { return !current_; }
  /// Runs until something is pending, a sub-operation begins or ends, or all is done.
  void resume() {
    pending_ = Pending::kNothing;
    current_.resume();
  }
  Pending pending() const { return pending_; }
  std::span<store::Call> calls() const { return calls_; }
  const TurnRequest& turn() const { return *turn_; }
  void answer_turn(TimePoint now) { now_ = now; }

 private:
  template <typename T>
  friend class Op;
  friend class PromiseBase;
  template <typename Reply>
  friend class AskAwaiter;
  friend class AskAllAwaiter;
  friend class TurnAwaiter;

  std::coroutine_handle<> current_;
  Pending pending_ = Pending::kNothing;
  std::span<store::Call> calls_;
  const TurnRequest* turn_ = nullptr;
  TimePoint now_;
};

template <typename T>
class Op;
template <typename Reply>
class AskAwaiter;
class AskAllAwaiter;
class TurnAwaiter;

template <typename T>
inline constexpr bool kMayBeAwaited = false;
template <typename T>
inline constexpr bool kMayBeAwaited<Op<T>> = true;
template <typename Reply>
inline constexpr bool kMayBeAwaited<AskAwaiter<Reply>> = true;
template <>
inline constexpr bool kMayBeAwaited<AskAllAwaiter> = true;
template <>
inline constexpr bool kMayBeAwaited<TurnAwaiter> = true;

/// Frames are larger than what the general allocator is quick at, and the same few sizes come again
/// with every call.
using FrameMemory = RecycledMemory<struct FrameUse, 256, 32, 32 * 1024>;

class PromiseBase {
 public:
  static void* operator new(std::size_t size) { return FrameMemory::allocate(size); }
  static void operator delete(void* memory, std::size_t size) noexcept {
    FrameMemory::release(memory, size);
  }

  std::suspend_always initial_suspend() noexcept { return {}; }

  struct FinalAwaiter {
    bool await_ready() noexcept { return false; }
    template <typename Promise>
    void await_suspend(std::coroutine_handle<Promise> self) noexcept {
      self.promise().runner->current_ = self.promise().parent;
    }
    void await_resume() noexcept {}
  };
  FinalAwaiter final_suspend() noexcept { return {}; }

  /// Allocation failure and broken invariants reach the driver's caller; the frames are released
  /// by the root operation.
  void unhandled_exception() { throw; }

  template <typename Awaitable>
  Awaitable&& await_transform(Awaitable&& awaitable) {
    static_assert(kMayBeAwaited<std::remove_cvref_t<Awaitable>>,
                  "operations await sub-operations, ask(), ask_all() and turn() only");
    static_assert(!std::is_aggregate_v<std::remove_cvref_t<Awaitable>>);
    return std::forward<Awaitable>(awaitable);
  }

  Runner* runner = nullptr;
  std::coroutine_handle<> parent;
};

/// An operation with a result of type T. Lazy: runs when a driver starts it or another operation
/// awaits it. Owns its frame, sub-operations included; may be abandoned at any suspension.
template <typename T>
class [[nodiscard]] Op {
 public:
  class promise_type : public PromiseBase {
   public:
    Op get_return_object() { return Op(std::coroutine_handle<promise_type>::from_promise(*this)); }
    template <typename Value>
    void return_value(Value&& value) {
      result.emplace(std::forward<Value>(value));
    }
    std::optional<T> result;
  };

  Op(Op&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Op& operator=(Op&&) = delete;
  ~Op() {
    if (handle_) handle_.destroy();
  }

  /// For drivers: makes this the operation that `runner` runs.
  void start(Runner& runner) {
    handle_.promise().runner = &runner;
    runner.current_ = handle_;
  }
  /// For drivers: the result. Precondition: the runner is done.
  T take_result() { return std::move(*handle_.promise().result); }

  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    handle_.promise().runner = parent.promise().runner;
    handle_.promise().parent = parent;
    handle_.promise().runner->current_ = handle_;
  }
  T await_resume() { return take_result(); }

 private:
  explicit Op(std::coroutine_handle<promise_type> handle) : handle_(handle) {}

  std::coroutine_handle<promise_type> handle_;
};

/// Suspends with one request; resumes with its reply.
template <typename Reply>
class AskAwaiter {
 public:
  explicit AskAwaiter(store::RequestRef request) { call_.request = request; }
  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> self) noexcept {
    Runner& runner = *self.promise().runner;
    runner.calls_ = std::span<store::Call>(&call_, 1);
    runner.pending_ = Runner::Pending::kCalls;
  }
  Reply await_resume() { return std::get<Reply>(std::move(call_.reply)); }

 private:
  store::Call call_;
};

class AskAllAwaiter {
 public:
  explicit AskAllAwaiter(std::span<store::Call> calls) : calls_(calls) {}
  bool await_ready() const noexcept { return calls_.empty(); }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> self) noexcept {
    Runner& runner = *self.promise().runner;
    runner.calls_ = calls_;
    runner.pending_ = Runner::Pending::kCalls;
  }
  void await_resume() const noexcept {}

 private:
  std::span<store::Call> calls_;
};

class TurnAwaiter {
 public:
  explicit TurnAwaiter(const TurnRequest& request) : request_(&request) {}
  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> self) noexcept {
    runner_ = self.promise().runner;
    runner_->turn_ = request_;
    runner_->pending_ = Runner::Pending::kTurn;
  }
  TimePoint await_resume() const noexcept { return runner_->now_; }

 private:
  const TurnRequest* request_;
  Runner* runner_ = nullptr;
};

inline AskAwaiter<store::GetReply> ask(const store::GetRequest& request) {
  return AskAwaiter<store::GetReply>(&request);
}
inline AskAwaiter<store::BatchGetReply> ask(const store::BatchGetRequest& request) {
  return AskAwaiter<store::BatchGetReply>(&request);
}
inline AskAwaiter<store::WriteReply> ask(const store::PutRequest& request) {
  return AskAwaiter<store::WriteReply>(&request);
}
inline AskAwaiter<store::WriteReply> ask(const store::UpdateRequest& request) {
  return AskAwaiter<store::WriteReply>(&request);
}
inline AskAwaiter<store::WriteReply> ask(const store::DeleteRequest& request) {
  return AskAwaiter<store::WriteReply>(&request);
}
inline AskAwaiter<store::TransactReply> ask(const store::TransactRequest& request) {
  return AskAwaiter<store::TransactReply>(&request);
}
inline AskAwaiter<store::QueryReply> ask(const store::QueryRequest& request) {
  return AskAwaiter<store::QueryReply>(&request);
}
inline AskAwaiter<store::ScanReply> ask(const store::ScanRequest& request) {
  return AskAwaiter<store::ScanReply>(&request);
}
/// A temporary would not live until the reply.
template <typename Request>
void ask(const Request&& request) = delete;

/// Calls of requests of one kind, in their order. The requests must live until the replies are
/// there.
template <typename Request>
std::vector<store::Call> calls_of(const std::vector<Request>& requests) {
  std::vector<store::Call> calls(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) calls[i].request = &requests[i];
  return calls;
}

/// Suspends with several requests to be done together; the replies are in `calls` afterwards.
inline AskAllAwaiter ask_all(std::vector<store::Call>& calls) { return AskAllAwaiter(calls); }

inline TurnAwaiter turn(const TurnRequest& request) { return TurnAwaiter(request); }
void turn(const TurnRequest&& request) = delete;

}  // namespace stint::ops

#endif  // STINT_OPS_OP_H_
