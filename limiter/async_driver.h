// The asynchronous driver: goes on with an operation where and when the store's answer arrives.
#ifndef STINT_LIMITER_ASYNC_DRIVER_H_
#define STINT_LIMITER_ASYNC_DRIVER_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "limiter/driver.h"
#include "ops/op.h"
#include "store/engine.h"

namespace stint::limiter {

/// Runs operations one after the other without ever blocking a thread. For engines whose writers
/// are shared: it waits for nobody's turn.
class AsyncDriver : private store::Completion {
 public:
  AsyncDriver() = default;
  AsyncDriver(const AsyncDriver&) = delete;
  AsyncDriver& operator=(const AsyncDriver&) = delete;
  virtual ~AsyncDriver() = default;

  /// From here on nothing further is written, but for giving back what was taken and by operations
  /// that do not heed it. Any thread.
  void give_up() { given_up_.store(true, std::memory_order_relaxed); }
  /// Whether the operation ended by an exception and so has no result.
  bool broken() const { return broken_; }
  bool given_up() const { return given_up_.load(std::memory_order_relaxed); }

 protected:
  /// Begins the operation that was started on `runner()`. When it is done, `finished` is called
  /// once, on this thread before `drive` returns or on one of the engine's. `heeds_giving_up`:
  /// whether the operation is this caller's alone.
  void drive(const DriverSetup& setup, bool heeds_giving_up = true);
  ops::Runner& runner() { return runner_; }

  /// May drive another operation, or destroy this.
  virtual void finished() noexcept = 0;

 private:
  /// Where an answer meets the thread that asked for it.
  enum class Phase : std::uint8_t {
    kAsking,    ///< `start` of the engine has not returned.
    kWaiting,   ///< It has, without an answer.
    kAnswered,  ///< The answer came first.
  };

  void answered() noexcept override;
  /// Runs until the operation is done or an answer is waited for.
  void advance() noexcept;

  ops::Runner runner_;
  std::optional<DriverSetup> setup_;
  std::optional<Asking> asking_;
  std::atomic<Phase> phase_{Phase::kAsking};
  std::atomic<bool> given_up_{false};
  bool heeds_giving_up_ = true;
  bool broken_ = false;
};

}  // namespace stint::limiter

#endif  // STINT_LIMITER_ASYNC_DRIVER_H_
