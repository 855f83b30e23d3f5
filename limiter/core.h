// What the blocking and the asynchronous limiter have in common: settings, memory, counters, and
// what a finished call means to its caller and to the observer.
#ifndef STINT_LIMITER_CORE_H_
#define STINT_LIMITER_CORE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <forward_list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/random.h"
#include "limiter/caches.h"
#include "limiter/driver.h"
#include "limiter/lease_state.h"
#include "limiter/request_counters.h"
#include "limiter/store_handle.h"
#include "limiter/system_clock.h"
#include "ops/acquire.h"
#include "ops/context.h"
#include "stint/decision.h"
#include "stint/limiter.h"
#include "stint/observer.h"
#include "stint/request.h"
#include "stint/result.h"
#include "stint/store.h"

namespace stint::limiter {

/// What a call answers that its caller has given up, if nothing of it is left.
Error cancelled();

/// Thread-safe. Also ends the leases of blocking callers.
class Core final : public internal::LeaseEnder {
 public:
  using Steady = std::chrono::steady_clock;

  /// Of administration, which may touch many buckets, one after the other: what the options say
  /// bounds each request and not the call. More than a caller may ask for.
  static constexpr Millis kNoTimeout = Millis::max();

  Core(Store store, LimiterOptions options);

  /// What is wrong with the options.
  const Status& options_status() const { return options_status_; }
  const LimiterOptions& options() const { return options_; }
  const store::Capabilities& capabilities() const {
    return store_.handle()->engine->capabilities();
  }
  TimePoint now() const { return clock_->now(); }

  /// Random numbers of one call. They must not meet those of another call, nor of another limiter:
  /// equal nonces would be taken for one.
  Random random_of_call() {
    return Random(mix_hash(seed_, calls_.fetch_add(1, std::memory_order_relaxed)));
  }
  std::uint64_t cache_generation() const { return caches_.generation(); }

  /// What an operation in the namespace `ns` runs with, which outlives it, like `random`.
  ops::Context context(std::string_view ns, std::uint64_t cache_generation, Random& random);
  /// What its driver runs with; `cx` outlives it.
  DriverSetup driver_setup(Steady::time_point deadline, ops::Context& cx);
  /// The same for an operation without a context.
  DriverSetup driver_setup(Steady::time_point deadline);

  /// The id of the namespace, which lives as long as this object; null when it was never looked up,
  /// or too long ago.
  const std::string* known_name_space(Steady::time_point at) const;
  /// Looks the name up. Only the first time may it be registered: a namespace that an administrator
  /// deletes stays deleted, whatever traffic it still has. `random` outlives the operation.
  ops::Op<Result<std::optional<std::string>>> look_up_name_space(Random& random);
  /// Remembers what `look_up_name_space` found at `at`. Errors: those of looking it up; `kNotFound`
  /// where there is none, which says so where it was there before.
  Result<const std::string*> learn_name_space(Result<std::optional<std::string>> found,
                                              Steady::time_point at);
  /// What an operation answers without asking the store, wrong arguments above all. To be asked
  /// before the namespace is looked up for the first time, which may write. Absent: it would ask.
  template <typename Make>
  auto answer_unasked(const Make& make)
      -> std::optional<decltype(make(std::declval<ops::Context&>()).take_result())> {
    if (name_space_.load(std::memory_order_acquire) != nullptr) return std::nullopt;
    Random random(0);
    ops::Context cx = context({}, cache_generation(), random);
    cx.observer = nullptr;  // this is not the call itself
    auto op = make(cx);
    ops::Runner runner;
    op.start(runner);
    for (;;) {
      runner.resume();
      if (runner.done()) return op.take_result();
      if (runner.pending() == ops::Runner::Pending::kCalls) return std::nullopt;
      // Nothing is changed, so that nobody else need be kept from it.
      if (runner.pending() == ops::Runner::Pending::kTurn) runner.answer_turn(now());
    }
  }
  /// Has the next call look the name up again.
  void forget_name_space(const std::string* id);
  /// The id, looked up by a blocking call if need be.
  Result<const std::string*> name_space(Steady::time_point at, Steady::time_point deadline,
                                        Random& random);

  /// Runs `make(context)` to its end on this thread. The result's error type is `Error`.
  template <typename Make>
  auto call(const Make& make, std::optional<Millis> timeout = std::nullopt,
            Steady::time_point start = Steady::now())
      -> decltype(make(std::declval<ops::Context&>()).take_result()) {
    if (!options_status_) return options_status_.error();
    if (!store_.handle()->engine->may_block()) {
      return Error::invalid(
          "call", "",
          "would block a thread of the store: callbacks must use the asynchronous "
          "limiter");
    }
    if (auto answer = answer_unasked(make)) return *std::move(answer);
    Random random = random_of_call();
    Steady::time_point deadline = timeout == kNoTimeout
                                      ? Steady::time_point::max()
                                      : start + timeout.value_or(options_.timeout);
    std::uint64_t generation = cache_generation();
    Result<const std::string*> ns = name_space(start, deadline, random);
    if (!ns) return ns.error();
    for (;;) {
      ops::Context cx = context(**ns, generation, random);
      auto result = run(make(cx), driver_setup(deadline, cx));
      if (!cx.bucket_vanished) return result;
      // Perhaps because its namespace was purged; then the name may stand for another by now.
      forget_name_space(*ns);
      if (result.ok() || result.error().code() != ErrorCode::kInvalidArgument) return result;
      generation = cache_generation();
      Result<const std::string*> present = name_space(start, deadline, random);
      if (!present && present.error().code() == ErrorCode::kNotFound) return present.error();
      if (!present || **present == **ns) return result;
      ns = present;
    }
  }

  /// The same, and tells the observer of an error. `entity` and `resource` are what the call is
  /// about, as far as it is about one of them.
  template <typename Make>
  auto observed_call(std::string_view entity, std::string_view resource, const Make& make,
                     std::optional<Millis> timeout = std::nullopt)
      -> decltype(call(make, timeout)) {
    auto result = call(make, timeout);
    if (!result.ok()) report_failure(entity, resource, result.error());
    return result;
  }

  /// On this thread. `given_up`, if not null: whether its caller has given it up.
  Result<Decision> acquire(const AcquireRequest& request,
                           const std::atomic<bool>* given_up = nullptr);

  /// The decision that a finished operation stands for; `lease` is what it filled in. Tells the
  /// observer.
  Result<Decision> decide(const AcquireRequest& request, Result<ops::Acquired> acquired,
                          internal::LeaseStatePtr lease);
  /// The same for a call that failed, by the policy for outages. The degraded lease ends by
  /// `ender`.
  Result<Decision> fail(const AcquireRequest& request, const Error& error,
                        internal::LeaseEnder& ender);

  /// Whether a call that its caller has given up holds what has to be given back.
  static bool has_to_be_undone(const Result<ops::Acquired>& acquired) {
    return acquired.ok() && acquired->outcome == Outcome::kAdmitted;
  }
  /// What a call answers that its caller has given up and that took nothing, as far as known:
  /// `trouble`, if not null, is what it met. Tells the observer.
  Error end_given_up(const AcquireRequest& request, const Error* trouble);
  /// The same of one that had taken, `undone` being how giving back went. Tells the observer.
  Error end_undone(const AcquireRequest& request, const ops::LeaseRecord& lease,
                   const Status& undone);

  // Leases.
  Status settle_lease(ops::LeaseRecord& lease) override;
  Status roll_back_lease(ops::LeaseRecord& lease) override;
  void report_lease_trouble(const ops::LeaseRecord& lease, const Error& error) noexcept override;
  /// Tells the observer how a lease ended.
  void report_lease_end(EventKind kind, const ops::LeaseRecord& lease, const Status& done);

  void report_failure(std::string_view entity, std::string_view resource, const Error& error);

  void prefetch(std::string_view entity, std::string_view resource) noexcept {
    caches_.prefetch(entity, resource, *store_.handle()->engine);
  }
  RequestStats stats() const { return counters_.total(); }
  void forget_caches() { caches_.clear(); }

 private:
  /// Gives back what a lease holds, on this thread.
  Status undo(ops::LeaseRecord& lease);
  void report(const Event& event) {
    if (options_.observer != nullptr) options_.observer->on_event(event);
  }
  void report(EventKind kind, const AcquireRequest& request, const Error* error = nullptr) {
    report({.kind = kind, .entity = request.entity, .resource = request.resource, .error = error});
  }
  void report_rejection(const AcquireRequest& request, const Rejection& rejection,
                        bool from_memory);

  Store store_;
  LimiterOptions options_;
  Status options_status_;
  SystemClock system_clock_;
  Clock* clock_;
  bool times_store_;
  ops::Settings settings_;
  Caches caches_;
  RequestCounters counters_;
  std::uint64_t seed_;
  std::atomic<std::uint64_t> calls_{0};
  std::timed_mutex resolving_;  // held while the namespace is looked up
  std::mutex name_spaces_mutex_;
  std::forward_list<std::string> name_spaces_;           // all ids there ever were
  std::atomic<const std::string*> name_space_{nullptr};  // one of them
  std::atomic<Steady::rep> resolved_at_{Steady::duration::min().count() / 2};
};

}  // namespace stint::limiter

#endif  // STINT_LIMITER_CORE_H_
