// The limiter for programs that must not block: callbacks and futures. See stint/asio.h for
// completion tokens.
#ifndef STINT_ASYNC_H_
#define STINT_ASYNC_H_

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stint/decision.h"
#include "stint/export.h"
#include "stint/limiter.h"
#include "stint/request.h"
#include "stint/result.h"
#include "stint/store.h"

namespace stint {

namespace internal {
class PendingState;
}

/// A call under way. Cheap to copy, thread-safe, of no effect on the call's life.
class STINT_EXPORT PendingCall {
 public:
  PendingCall() = default;
  /// For the library's own use; `PendingState` is not public.
  explicit PendingCall(std::weak_ptr<internal::PendingState> state) : state_(std::move(state)) {}

  /// Gives the call up: it writes nothing more, gives back what it has taken, and then ends with
  /// `kCancelled`, unless it was just ending otherwise, or with `kOutcomeUnknown` where it cannot
  /// be told whether a debit arrived, or what arrived could not be given back. A request that is
  /// under way, repetitions included, goes on until it is answered or its time is over. Does
  /// nothing afterwards.
  void cancel() const;

 private:
  std::weak_ptr<internal::PendingState> state_;
};

/// How a lease was ended.
struct Settled {
  Status status;
  /// Open if something of it may be tried again.
  Lease lease;
};

struct AsyncOptions {
  /// Threads that carry out calls on a store of this process, whose engine answers at once. A
  /// synced store wants as many as callers are to share one write to the disk. Stores across a
  /// network need none.
  int workers = 4;
};

/// Takes and gives back without blocking; thousands of calls may be in flight at once. Thread-safe.
///
/// A call checks its arguments, and may look at what is remembered, on the thread that begins it.
/// Callbacks run on the thread where the call ended: one of the store's or of the workers, or the
/// beginning thread itself before the function returns. They must not block, throw, or destroy the
/// limiter. Errors, costs and deadlines are those of `Limiter`; besides `kCancelled`.
///
/// A lease of this limiter that goes out of scope open ends in the background, as `Lease` says.
class STINT_EXPORT AsyncLimiter {
 public:
  template <typename T>
  using Callback = std::function<void(T)>;

  explicit AsyncLimiter(Store store, LimiterOptions options = {}, AsyncOptions async = {});
  /// Waits until all calls in flight have ended, which their timeouts bound. Not to be run by a
  /// callback.
  ~AsyncLimiter();
  AsyncLimiter(const AsyncLimiter&) = delete;
  AsyncLimiter& operator=(const AsyncLimiter&) = delete;

  /// As `Limiter::acquire`.
  PendingCall acquire(AcquireRequest request, Callback<Result<Decision>> done);
  std::future<Result<Decision>> acquire(AcquireRequest request);

  /// As `Lease::settle`. Once begun, a cancellation is of no effect. Errors also:
  /// `kInvalidArgument` for a lease of another limiter, which stays open.
  PendingCall settle(Lease lease, Callback<Settled> done);
  std::future<Settled> settle(Lease lease);
  /// As `Lease::roll_back`. The lease of the answer has always ended, unless it is another
  /// limiter's.
  PendingCall roll_back(Lease lease, Callback<Settled> done);
  std::future<Settled> roll_back(Lease lease);

  /// As `Limiter::available`.
  PendingCall available(std::string entity, std::string resource, std::vector<Consume> need,
                        Callback<Result<Availability>> done);
  std::future<Result<Availability>> available(std::string entity, std::string resource,
                                              std::vector<Consume> need = {});

  /// The blocking limiter with the same settings and memory, for everything else. Its calls must
  /// not be made by callbacks.
  Limiter& blocking();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stint

#endif  // STINT_ASYNC_H_
