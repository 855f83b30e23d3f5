// The asynchronous limiter for users of Boost.Asio: completion tokens of any kind. Header only;
// needs the component `asio`.
//
//     boost::asio::awaitable<void> serve(stint::AsyncLimiter& limiter) {
//       stint::Result<stint::Decision> decision = co_await stint::async_acquire(
//           limiter, request, boost::asio::use_awaitable);
//
// Handlers run on their associated executor, never inside of the function that begins the call.
// Without one that is the system's. Cancellation of any type is that of `PendingCall::cancel`: the
// operation completes, with `kCancelled`, once nothing of it stays taken.
#ifndef STINT_ASIO_H_
#define STINT_ASIO_H_

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>

#include "stint/async.h"
#include "stint/decision.h"
#include "stint/request.h"
#include "stint/result.h"

namespace stint {
namespace internal {

/// A handler on its way through a call, with what keeps its executor at work meanwhile.
template <typename Handler>
class AsioCompletion {
 public:
  explicit AsioCompletion(Handler handler)
      : handler_(std::move(handler)),
        executor_(boost::asio::prefer(boost::asio::get_associated_executor(handler_),
                                      boost::asio::execution::outstanding_work.tracked)) {}

  auto slot() const { return boost::asio::get_associated_cancellation_slot(handler_); }

  /// Completes on the handler's executor. To be called once.
  template <typename T>
  void complete(T result) {
    // The executor would not keep itself alive.
    auto executor = executor_;
    boost::asio::post(executor, Invocation<T>(std::move(handler_), std::move(result)));
  }

 private:
  template <typename T>
  class Invocation {
   public:
    Invocation(Handler handler, T result)
        : handler_(std::move(handler)), result_(std::move(result)) {}
    void operator()() {
      auto slot = boost::asio::get_associated_cancellation_slot(handler_);
      if (slot.is_connected()) slot.clear();
      std::move(handler_)(std::move(result_));
    }

   private:
    Handler handler_;
    T result_;
  };

  // Decayed: what prefers an executor that has the property already answers a reference to it.
  using Executor = std::decay_t<decltype(boost::asio::prefer(
      boost::asio::get_associated_executor(std::declval<const Handler&>()),
      boost::asio::execution::outstanding_work.tracked))>;

  Handler handler_;
  Executor executor_;
};

/// Begins a call by `begin(callback)`, whose callback takes a T, for a completion token.
template <typename T, typename Begin, typename CompletionToken>
auto begin_with_token(Begin begin, CompletionToken&& token) {
  auto initiate = [](auto handler, Begin begin_call) {
    using Completion = AsioCompletion<decltype(handler)>;
    // Callbacks are copied, handlers need not be.
    auto completion = std::make_shared<Completion>(std::move(handler));
    auto slot = completion->slot();
    // Connected before the call begins: it may end at once, and then the slot is cleared.
    auto pending = std::make_shared<PendingCall>();
    if (slot.is_connected()) {
      slot.assign([pending](boost::asio::cancellation_type /*type*/) { pending->cancel(); });
    }
    *pending = begin_call([completion](T result) { completion->complete(std::move(result)); });
  };
  return boost::asio::async_initiate<CompletionToken, void(T)>(std::move(initiate), token,
                                                               std::move(begin));
}

}  // namespace internal

/// As `AsyncLimiter::acquire`, completing with `Result<Decision>`. The limiter must outlive the
/// operation.
template <typename CompletionToken>
auto async_acquire(AsyncLimiter& limiter, AcquireRequest request, CompletionToken&& token) {
  auto begin = [&limiter, request = std::move(request)](auto done) mutable {
    return limiter.acquire(std::move(request), std::move(done));
  };
  return internal::begin_with_token<Result<Decision>>(std::move(begin),
                                                      std::forward<CompletionToken>(token));
}

/// As `AsyncLimiter::settle`, completing with `Settled`.
template <typename CompletionToken>
auto async_settle(AsyncLimiter& limiter, Lease lease, CompletionToken&& token) {
  auto begin = [&limiter, lease = std::move(lease)](auto done) mutable {
    return limiter.settle(std::move(lease), std::move(done));
  };
  return internal::begin_with_token<Settled>(std::move(begin),
                                             std::forward<CompletionToken>(token));
}

/// As `AsyncLimiter::roll_back`, completing with `Settled`.
template <typename CompletionToken>
auto async_roll_back(AsyncLimiter& limiter, Lease lease, CompletionToken&& token) {
  auto begin = [&limiter, lease = std::move(lease)](auto done) mutable {
    return limiter.roll_back(std::move(lease), std::move(done));
  };
  return internal::begin_with_token<Settled>(std::move(begin),
                                             std::forward<CompletionToken>(token));
}

/// As `AsyncLimiter::available`, completing with `Result<Availability>`.
template <typename CompletionToken>
auto async_available(AsyncLimiter& limiter, std::string entity, std::string resource,
                     std::vector<Consume> need, CompletionToken&& token) {
  auto begin = [&limiter, entity = std::move(entity), resource = std::move(resource),
                need = std::move(need)](auto done) mutable {
    return limiter.available(std::move(entity), std::move(resource), std::move(need),
                             std::move(done));
  };
  return internal::begin_with_token<Result<Availability>>(std::move(begin),
                                                          std::forward<CompletionToken>(token));
}

}  // namespace stint

#endif  // STINT_ASIO_H_
