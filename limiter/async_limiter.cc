#include <atomic>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "limiter/async_driver.h"
#include "limiter/core.h"
#include "ops/inspect.h"
#include "ops/lease.h"
#include "stint/async.h"

namespace stint {

/// What a `PendingCall` refers to.
class internal::PendingState {
 public:
  virtual ~PendingState() = default;
  virtual void cancel() noexcept = 0;
};

void PendingCall::cancel() const {
  if (std::shared_ptr<internal::PendingState> state = state_.lock()) state->cancel();
}

namespace {

using Steady = std::chrono::steady_clock;

/// Memory ran out, or the caller's clock threw.
Error broken_off(bool store_asked) {
  return Error(store_asked ? ErrorCode::kOutcomeUnknown : ErrorCode::kUnavailable,
               "the call broke off: memory ran out, or the clock failed");
}

/// Counts the calls in flight.
class InFlight {
 public:
  void enter() {
    std::lock_guard lock(mutex_);
    ++count_;
  }
  void leave() {
    std::lock_guard lock(mutex_);
    // Under the lock: whoever waits destroys this.
    if (--count_ == 0) none_.notify_all();
  }
  void wait_for_none() {
    std::unique_lock lock(mutex_);
    none_.wait(lock, [this] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  std::size_t count_ = 0;
};

/// Calls that need the namespace looked up: one of them does it for those that can wait for it.
class Resolutions {
 public:
  /// `deadline`: that of the look-up.
  using Waiting = std::function<void(const Status& resolved, Steady::time_point deadline)>;
  enum class Role : std::uint8_t {
    kFirst,  ///< It has to look up, and to tell the others, itself among them, by `end`.
    kWaits,  ///< It will be told.
    kAlone,  ///< A look-up is under way that may last longer than this call: it makes its own.
  };

  Role join(Steady::time_point deadline, Waiting waiting) {
    std::lock_guard lock(mutex_);
    bool first = waiting_.empty();
    if (!first && deadline < deadline_) return Role::kAlone;
    waiting_.push_back(std::move(waiting));
    if (first) deadline_ = deadline;
    return first ? Role::kFirst : Role::kWaits;
  }
  void end(const Status& resolved) noexcept {
    std::vector<Waiting> waiting;
    Steady::time_point deadline;
    {
      std::lock_guard lock(mutex_);
      waiting.swap(waiting_);
      deadline = deadline_;
    }
    for (const Waiting& one : waiting) one(resolved, deadline);
  }

 private:
  std::mutex mutex_;
  std::vector<Waiting> waiting_;
  Steady::time_point deadline_;  // of the look-up under way
};

/// What calls of one limiter share.
struct Shared {
  limiter::Core& core;
  InFlight& in_flight;
  Resolutions& resolutions;
};

/// Threads for calls that block, started with the first of them.
class Workers {
 public:
  explicit Workers(std::size_t count) : count_(count) {}
  ~Workers() {
    {
      std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  /// False, and `task` is not run, where no thread can be started.
  bool run(std::function<void()> task) {
    {
      std::lock_guard lock(mutex_);
      start_threads();
      if (threads_.empty()) return false;
      tasks_.push_back(std::move(task));
    }
    wake_.notify_one();
    return true;
  }

 private:
  void start_threads() {
    try {
      while (threads_.size() < count_) threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // Fewer do it, too; the next task tries again.
    }
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
    }
  }

  std::size_t count_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  bool ending_ = false;
};

/// One call on an engine that answers later. Keeps itself alive while it is in flight.
template <typename T>
class AsyncCall : public internal::PendingState, private limiter::AsyncDriver {
 public:
  AsyncCall(const Shared& shared, std::optional<Millis> timeout)
      : core_(shared.core),
        in_flight_(shared.in_flight),
        resolutions_(shared.resolutions),
        random_(core_.random_of_call()),
        start_(Steady::now()),
        deadline_(start_ + timeout.value_or(core_.options().timeout)) {
    in_flight_.enter();
  }
  ~AsyncCall() override { in_flight_.leave(); }

  static PendingCall begin(std::shared_ptr<AsyncCall> call) {
    PendingCall pending{std::weak_ptr<internal::PendingState>(call)};
    AsyncCall& begun = *call;
    begun.self_ = std::move(call);
    begun.go_on();
    return pending;
  }

  void cancel() noexcept override { give_up(); }

 protected:
  limiter::Core& core() { return core_; }
  Steady::time_point begun_at() const { return start_; }
  using limiter::AsyncDriver::given_up;

  virtual ops::Op<T> make(ops::Context& cx) = 0;
  /// The last to be called.
  virtual void ended(T result) = 0;
  /// Whether what the operation does is itself a giving back.
  virtual bool gives_back() const { return false; }

 private:
  /// Begins what is to be done next: looking the namespace up, or the operation itself.
  void go_on() noexcept {
    if (Status valid = core_.options_status(); !valid) return end(valid.error());
    generation_ = core_.cache_generation();
    const std::string* known = core_.known_name_space(start_);
    if (known != nullptr) return go_on_in(known);
    bool told = false;  // whether this call hears by `end` of the resolutions
    try {
      auto unasked = core_.answer_unasked([this](ops::Context& cx) { return make(cx); });
      if (unasked) return end(*std::move(unasked));
      Resolutions::Role role =
          resolutions_.join(deadline_, [this](const Status& resolved, Steady::time_point deadline) {
            take_resolution(resolved, deadline);
          });
      // Told already, perhaps, and gone.
      if (role == Resolutions::Role::kWaits) return;
      told = role == Resolutions::Role::kFirst;
      role_ = role;
      resolving_.emplace(core_.look_up_name_space(random_));
      resolving_->start(runner());
      // Others may wait for it, so that it goes on when this call is given up.
      drive(core_.driver_setup(deadline_), false);
    } catch (...) {
      if (!told) return end(broken_off(false));
      resolutions_.end(broken_off(false));
    }
  }

  /// What another call, or this one, has learnt of the namespace until `deadline`.
  void take_resolution(const Status& resolved, Steady::time_point deadline) noexcept {
    const std::string* known = resolved ? core_.known_name_space(start_) : nullptr;
    if (known != nullptr) return go_on_in(known);
    // Another call's time was over, or its memory: that is no reason to fail.
    bool has_more_time = deadline < deadline_;
    if (!resolved && has_more_time && may_pass(resolved.error().code())) return go_on();
    if (!resolved && (!first_result_ || resolved.error().code() == ErrorCode::kNotFound)) {
      return end(resolved.error());
    }
    // It could not be looked up anew, or was just forgotten again.
    end(first_result_ ? *std::move(first_result_) : T(broken_off(false)));
  }

  static bool may_pass(ErrorCode code) {
    return code == ErrorCode::kUnavailable || code == ErrorCode::kThrottled ||
           code == ErrorCode::kOutcomeUnknown || code == ErrorCode::kConflict;
  }

  void go_on_in(const std::string* ns) noexcept {
    // In the same namespace the operation would find the same.
    if (first_result_ && *ns == *ns_) return end(*std::move(first_result_));
    ns_ = ns;
    try {
      run();
    } catch (...) {
      end(broken_off(false));
    }
  }

  void run() {
    cx_.emplace(core_.context(*ns_, generation_, random_));
    cx_->past_deadline_allowed = gives_back();
    op_.emplace(make(*cx_));
    op_->start(runner());
    drive(core_.driver_setup(deadline_, *cx_));
  }

  void finished() noexcept override {
    if (resolving_) {
      Status resolved;
      if (broken()) {
        resolved = broken_off(false);
      } else {
        Result<const std::string*> ns = core_.learn_name_space(resolving_->take_result(), start_);
        if (!ns) resolved = ns.error();
      }
      resolving_.reset();
      if (role_ == Resolutions::Role::kAlone) return take_resolution(resolved, deadline_);
      // This call is one of those that wait.
      return resolutions_.end(resolved);
    }
    if (broken()) return end(broken_off(cx_ && cx_->store_asked));
    T result = op_->take_result();
    op_.reset();
    if (cx_->bucket_vanished) {
      // Perhaps because its namespace was purged; then the name may stand for another by now.
      core_.forget_name_space(ns_);
      bool may_be_another = !result.ok() && result.error().code() == ErrorCode::kInvalidArgument;
      if (may_be_another && !first_result_) {
        first_result_.emplace(std::move(result));
        return go_on();
      }
    }
    end(std::move(result));
  }

  void end(T result) noexcept {
    std::shared_ptr<AsyncCall> last = std::move(self_);
    ended(std::move(result));
  }

  limiter::Core& core_;
  InFlight& in_flight_;
  Resolutions& resolutions_;
  Random random_;
  Steady::time_point start_;
  Steady::time_point deadline_;
  std::uint64_t generation_ = 0;
  const std::string* ns_ = nullptr;
  // Of an operation in a namespace that is looked up anew.
  std::optional<T> first_result_;
  Resolutions::Role role_ = Resolutions::Role::kAlone;
  std::optional<ops::Op<Result<std::optional<std::string>>>> resolving_;
  std::optional<ops::Context> cx_;
  std::optional<ops::Op<T>> op_;
  std::shared_ptr<AsyncCall> self_;  // while in flight
};

/// Ends a lease.
class LeaseCall final : public AsyncCall<Status> {
 public:
  enum class How {
    kSettle,
    kRollBack,
    kUndo,  ///< Of a call that was given up: whoever began it reports it.
  };
  using Done = std::function<void(Status, internal::LeaseStatePtr)>;

  LeaseCall(const Shared& shared, How how, internal::LeaseStatePtr lease, Done done)
      : AsyncCall(shared, std::nullopt),
        how_(how),
        lease_(std::move(lease)),
        done_(std::move(done)) {}

  /// Giving back is what a cancellation waits for.
  void cancel() noexcept override {}

 private:
  ops::Op<Status> make(ops::Context& cx) override {
    return how_ == How::kSettle ? ops::settle(cx, lease_->record())
                                : ops::roll_back(cx, lease_->record());
  }
  bool gives_back() const override { return how_ != How::kSettle; }
  void ended(Status status) override {
    if (how_ != How::kUndo) {
      EventKind kind = how_ == How::kSettle ? EventKind::kSettled : EventKind::kRolledBack;
      core().report_lease_end(kind, lease_->record(), status);
    }
    done_(std::move(status), std::move(lease_));
  }

  How how_;
  internal::LeaseStatePtr lease_;
  Done done_;
};

}  // namespace

class AsyncLimiter::Impl final : public internal::LeaseEnder {
 public:
  Impl(Store store, LimiterOptions options, AsyncOptions async)
      : core_(std::make_shared<limiter::Core>(std::move(store), std::move(options))),
        workers_(static_cast<std::size_t>(std::max(1, async.workers))),
        blocking_(core_) {}
  ~Impl() override { in_flight_.wait_for_none(); }

  Limiter& blocking() { return blocking_; }

  PendingCall acquire(AcquireRequest request, Callback<Result<Decision>> done);
  PendingCall end_lease(LeaseCall::How how, Lease lease, Callback<Settled> done);
  PendingCall available(std::string entity, std::string resource, std::vector<Consume> need,
                        Callback<Result<Availability>> done);

  Status settle_lease(ops::LeaseRecord& lease) override { return core_->settle_lease(lease); }
  Status roll_back_lease(ops::LeaseRecord& lease) override { return core_->roll_back_lease(lease); }
  void report_lease_trouble(const ops::LeaseRecord& lease, const Error& error) noexcept override {
    core_->report_lease_trouble(lease, error);
  }
  bool ends_in_background() const override { return answers_later(); }
  void end_in_background(internal::LeaseStatePtr lease, bool roll_back) override {
    LeaseCall::How how = roll_back ? LeaseCall::How::kRollBack : LeaseCall::How::kSettle;
    begin_lease_call(how, std::move(lease), [this](Status status, internal::LeaseStatePtr ended) {
      if (!status) core_->report_lease_trouble(ended->record(), status.error());
    });
  }

 private:
  class AcquireCall;
  class AvailableCall;
  class BlockingCall;

  Shared shared() { return {*core_, in_flight_, resolutions_}; }
  bool answers_later() const { return core_->capabilities().shared_writers; }
  PendingCall begin_lease_call(LeaseCall::How how, internal::LeaseStatePtr lease,
                               LeaseCall::Done done) {
    return LeaseCall::begin(
        std::make_shared<LeaseCall>(shared(), how, std::move(lease), std::move(done)));
  }
  /// Answers what `work` returns on a worker; it is told whether its caller has given it up. Where
  /// it breaks off, or there is no worker, what `failed` makes of the error.
  template <typename T>
  PendingCall run_blocking(std::function<T(const std::atomic<bool>& given_up)> work,
                           std::function<T(Error)> failed, Callback<T> done);

  std::shared_ptr<limiter::Core> core_;
  InFlight in_flight_;
  Resolutions resolutions_;
  Workers workers_;
  Limiter blocking_;
};

class AsyncLimiter::Impl::AcquireCall final : public AsyncCall<Result<ops::Acquired>> {
 public:
  AcquireCall(Impl& impl, AcquireRequest request, Callback<Result<Decision>> done)
      : AsyncCall(impl.shared(), request.timeout),
        impl_(impl),
        request_(std::move(request)),
        lease_(internal::new_lease_state(impl)),
        done_(std::move(done)) {}

  /// Whether the call may begin; if not, it has ended.
  bool check() {
    Status valid = ops::validate_acquire(request_);
    if (!valid) done_(core().fail(request_, valid.error(), impl_));
    return valid.ok();
  }

 private:
  ops::Op<Result<ops::Acquired>> make(ops::Context& cx) override {
    lease_->record().clear();
    return ops::acquire(cx, request_, lease_->record());
  }

  void ended(Result<ops::Acquired> acquired) override {
    if (!given_up()) {
      done_(core().decide(request_, std::move(acquired), std::move(lease_)));
      return;
    }
    if (!limiter::Core::has_to_be_undone(acquired)) {
      done_(core().end_given_up(request_, acquired ? nullptr : &acquired.error()));
      return;
    }
    impl_.begin_lease_call(LeaseCall::How::kUndo, std::move(lease_),
                           [&core = core(), request = std::move(request_), done = std::move(done_)](
                               Status undone, internal::LeaseStatePtr lease) {
                             done(core.end_undone(request, lease->record(), undone));
                           });
  }

  Impl& impl_;
  AcquireRequest request_;
  internal::LeaseStatePtr lease_;
  Callback<Result<Decision>> done_;
};

class AsyncLimiter::Impl::AvailableCall final : public AsyncCall<Result<Availability>> {
 public:
  AvailableCall(Impl& impl, std::string entity, std::string resource, std::vector<Consume> need,
                Callback<Result<Availability>> done)
      : AsyncCall(impl.shared(), std::nullopt),
        entity_(std::move(entity)),
        resource_(std::move(resource)),
        need_(std::move(need)),
        done_(std::move(done)) {}

 private:
  ops::Op<Result<Availability>> make(ops::Context& cx) override {
    return ops::available(cx, entity_, resource_, need_);
  }
  void ended(Result<Availability> result) override {
    if (!result && given_up()) result = limiter::cancelled();
    if (!result) core().report_failure(entity_, resource_, result.error());
    done_(std::move(result));
  }

  std::string entity_;
  std::string resource_;
  std::vector<Consume> need_;
  Callback<Result<Availability>> done_;
};

/// A call that blocks a worker.
class AsyncLimiter::Impl::BlockingCall final : public internal::PendingState {
 public:
  explicit BlockingCall(InFlight& in_flight) : in_flight_(in_flight) { in_flight_.enter(); }
  ~BlockingCall() override { in_flight_.leave(); }
  void cancel() noexcept override { given_up_.store(true, std::memory_order_relaxed); }
  const std::atomic<bool>& given_up() const { return given_up_; }

 private:
  InFlight& in_flight_;
  std::atomic<bool> given_up_{false};
};

template <typename T>
PendingCall AsyncLimiter::Impl::run_blocking(
    std::function<T(const std::atomic<bool>& given_up)> work, std::function<T(Error)> failed,
    Callback<T> done) {
  auto call = std::make_shared<BlockingCall>(in_flight_);
  PendingCall pending{std::weak_ptr<internal::PendingState>(call)};
  bool runs = workers_.run([call, work = std::move(work), failed, done] {
    std::optional<T> result;
    try {
      result.emplace(work(call->given_up()));
    } catch (...) {
      result.emplace(failed(broken_off(true)));
    }
    done(*std::move(result));
  });
  if (!runs) {
    done(failed(Error(ErrorCode::kUnavailable, "no thread could be started for the call")));
  }
  return pending;
}

PendingCall AsyncLimiter::Impl::acquire(AcquireRequest request, Callback<Result<Decision>> done) {
  if (answers_later()) {
    auto call = std::make_shared<AcquireCall>(*this, std::move(request), std::move(done));
    if (!call->check()) return PendingCall();
    return AcquireCall::begin(std::move(call));
  }
  auto shared = std::make_shared<const AcquireRequest>(std::move(request));
  return run_blocking<Result<Decision>>(
      [this, shared](const std::atomic<bool>& given_up) {
        return core_->acquire(*shared, &given_up);
      },
      [this, shared](const Error& error) { return core_->fail(*shared, error, *core_); },
      std::move(done));
}

PendingCall AsyncLimiter::Impl::end_lease(LeaseCall::How how, Lease lease, Callback<Settled> done) {
  internal::LeaseStatePtr state = internal::take_state(std::move(lease));
  if (state == nullptr || !state->open()) {
    done(Settled{Error::invalid("lease", "", "has ended"), Lease(std::move(state))});
    return PendingCall();
  }
  if (&state->ender() != this && &state->ender() != core_.get()) {
    done(Settled{Error::invalid("lease", "", "belongs to another limiter"),
                 Lease(std::move(state))});
    return PendingCall();
  }
  bool settles = how == LeaseCall::How::kSettle;
  if (answers_later()) {
    if (!settles) state->end();
    if (!internal::has_to_write(*state, !settles)) {
      state->end();
      done(Settled{Status(), Lease(std::move(state))});
      return PendingCall();
    }
    return begin_lease_call(
        how, std::move(state),
        [settles, done = std::move(done)](Status status, internal::LeaseStatePtr ended) {
          internal::conclude(*ended, status, !settles);
          done(Settled{std::move(status), Lease(std::move(ended))});
        });
  }
  // A task is copied, a lease is not.
  auto shared = std::make_shared<Lease>(std::move(state));
  return run_blocking<Settled>(
      [settles, shared](const std::atomic<bool>& /*given_up*/) {
        Status status = settles ? shared->settle() : shared->roll_back();
        return Settled{std::move(status), std::move(*shared)};
      },
      [shared](Error error) {
        return Settled{std::move(error), std::move(*shared)};
      },
      std::move(done));
}

PendingCall AsyncLimiter::Impl::available(std::string entity, std::string resource,
                                          std::vector<Consume> need,
                                          Callback<Result<Availability>> done) {
  if (answers_later()) {
    return AvailableCall::begin(std::make_shared<AvailableCall>(
        *this, std::move(entity), std::move(resource), std::move(need), std::move(done)));
  }
  return run_blocking<Result<Availability>>(
      [this, entity = std::move(entity), resource = std::move(resource),
       need = std::move(need)](const std::atomic<bool>& given_up) -> Result<Availability> {
        if (given_up) return limiter::cancelled();
        return blocking_.available(entity, resource, need);
      },
      [](Error error) -> Result<Availability> { return error; }, std::move(done));
}

AsyncLimiter::AsyncLimiter(Store store, LimiterOptions options, AsyncOptions async)
    : impl_(std::make_unique<Impl>(std::move(store), std::move(options), async)) {}
AsyncLimiter::~AsyncLimiter() = default;

namespace {

/// A callback that fulfils a promise, and its future.
template <typename T>
std::pair<std::function<void(T)>, std::future<T>> promised() {
  auto promise = std::make_shared<std::promise<T>>();
  std::future<T> future = promise->get_future();
  return {[promise](T value) { promise->set_value(std::move(value)); }, std::move(future)};
}

}  // namespace

PendingCall AsyncLimiter::acquire(AcquireRequest request, Callback<Result<Decision>> done) {
  return impl_->acquire(std::move(request), std::move(done));
}
std::future<Result<Decision>> AsyncLimiter::acquire(AcquireRequest request) {
  auto [done, future] = promised<Result<Decision>>();
  impl_->acquire(std::move(request), std::move(done));
  return std::move(future);
}

PendingCall AsyncLimiter::settle(Lease lease, Callback<Settled> done) {
  return impl_->end_lease(LeaseCall::How::kSettle, std::move(lease), std::move(done));
}
std::future<Settled> AsyncLimiter::settle(Lease lease) {
  auto [done, future] = promised<Settled>();
  impl_->end_lease(LeaseCall::How::kSettle, std::move(lease), std::move(done));
  return std::move(future);
}

PendingCall AsyncLimiter::roll_back(Lease lease, Callback<Settled> done) {
  return impl_->end_lease(LeaseCall::How::kRollBack, std::move(lease), std::move(done));
}
std::future<Settled> AsyncLimiter::roll_back(Lease lease) {
  auto [done, future] = promised<Settled>();
  impl_->end_lease(LeaseCall::How::kRollBack, std::move(lease), std::move(done));
  return std::move(future);
}

PendingCall AsyncLimiter::available(std::string entity, std::string resource,
                                    std::vector<Consume> need,
                                    Callback<Result<Availability>> done) {
  return impl_->available(std::move(entity), std::move(resource), std::move(need), std::move(done));
}
std::future<Result<Availability>> AsyncLimiter::available(std::string entity, std::string resource,
                                                          std::vector<Consume> need) {
  auto [done, future] = promised<Result<Availability>>();
  impl_->available(std::move(entity), std::move(resource), std::move(need), std::move(done));
  return std::move(future);
}

Limiter& AsyncLimiter::blocking() { return impl_->blocking(); }

}  // namespace stint
