// The synchronous driver: runs an operation to its end on the calling thread.
#ifndef STINT_LIMITER_DRIVER_H_
#define STINT_LIMITER_DRIVER_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "limiter/request_counters.h"
#include "ops/op.h"
#include "stint/observer.h"
#include "stint/time.h"
#include "store/engine.h"

namespace stint::limiter {

/// Locks, or answers false when `deadline` has passed.
bool lock_until(std::timed_mutex& mutex, std::chrono::steady_clock::time_point deadline);

/// Queues the callers of one bucket in this process, so that none of their writes is lost to
/// another of them. Buckets share stripes; a caller holds those of all its buckets or none.
class BucketQueues {
 public:
  static constexpr std::size_t kStripes = 1024;
  /// An entity's bucket and its parent's.
  static constexpr std::size_t kMostBuckets = 2;

  /// Waits for the stripes of some buckets. Releases them when destroyed or taken anew.
  class Turn {
   public:
    explicit Turn(BucketQueues& queues) : queues_(&queues) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() { release(); }
    /// False when the wait took longer than until `deadline`; then nothing is held.
    bool take(std::span<const std::uint64_t> buckets,
              std::chrono::steady_clock::time_point deadline);
    void release();
    /// How long the last `take` waited for others; zero when it need not.
    std::chrono::steady_clock::duration waited() const { return waited_; }

   private:
    BucketQueues* queues_;
    std::chrono::steady_clock::duration waited_{0};
    std::array<std::size_t, kMostBuckets> held_{};
    std::size_t held_count_ = 0;
  };

 private:
  struct alignas(64) Stripe {
    std::timed_mutex mutex;
  };
  std::vector<Stripe> stripes_ = std::vector<Stripe>(kStripes);
};

/// What one call runs with.
struct DriverSetup {
  store::Engine& engine;
  Clock& clock;
  BucketQueues& queues;
  RequestCounters& counters;
  /// The greatest there is: the call has none.
  std::chrono::steady_clock::time_point deadline;
  /// While true, the deadline is not enforced: what was taken is being given back.
  const bool& past_deadline_allowed;
  /// Null: nobody is told.
  Observer* observer = nullptr;
  /// Whether the observer wants to know how long the store takes.
  bool times_store = false;
  /// If not null, set with the first request.
  bool* store_asked = nullptr;
  /// If not null, set when the operation did not get its turn.
  bool* turn_missed = nullptr;
  /// What each request of a call without a deadline may take.
  std::chrono::steady_clock::duration request_time = std::chrono::seconds(60);
};

/// What both drivers do around handing requests to the store.
class Asking {
 public:
  /// `setup` outlives it.
  explicit Asking(const DriverSetup& setup);

  /// Whether a further request may be sent at all; if not, `calls` have been answered. The first
  /// request goes out at once: time can only have passed before later ones.
  /// When the caller has given up, only reads are: they tell what became of a write.
  bool admit(std::span<store::Call> calls, bool expired, bool given_up = false);
  /// Until when the store may take for the calls just admitted.
  std::chrono::steady_clock::time_point deadline() const;
  /// To be called with the answered calls: counts and reports them.
  void answered(std::span<const store::Call> calls);

 private:
  const DriverSetup* setup_;
  bool asked_before_ = false;
  std::chrono::steady_clock::time_point start_;
};

/// Answers what `runner` asks for until its operation is done.
void drive(ops::Runner& runner, const DriverSetup& setup);

/// Runs an operation to its end.
template <typename T>
T run(ops::Op<T> op, const DriverSetup& setup) {
  ops::Runner runner;
  op.start(runner);
  drive(runner, setup);
  return op.take_result();
}

}  // namespace stint::limiter

#endif  // STINT_LIMITER_DRIVER_H_
