// Ends what a thread waits for.
#ifndef STINT_STORE_DYNAMODB_CREDENTIALS_INTERRUPTION_H_
#define STINT_STORE_DYNAMODB_CREDENTIALS_INTERRUPTION_H_

#include <condition_variable>
#include <mutex>

#include "store/dynamodb/http.h"

namespace stint::store::dynamodb {

/// Set once, when a thread is to end; every wait through it returns then. Thread-safe.
class Interruption {
 public:
  void set() {
    change([this] { set_ = true; });
  }
  bool is_set() const {
    std::lock_guard lock(mutex_);
    return set_;
  }

  /// Waits until `ready()` holds, which `change` brings about, or until set. Returns `ready()`.
  template <typename Ready>
  bool wait(Ready ready) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return set_ || ready(); });
    return ready();
  }
  /// Waits until `at`, or until set.
  void wait_until(Steady::time_point at) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, at, [&] { return set_; });
  }
  /// Runs `action`, which changes what a `wait` looks at.
  template <typename Action>
  void change(Action action) {
    // Notified under the lock: the waiting side may destroy what it looked at as soon as it wakes.
    std::lock_guard lock(mutex_);
    action();
    changed_.notify_all();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
};

}  // namespace stint::store::dynamodb

#endif  // STINT_STORE_DYNAMODB_CREDENTIALS_INTERRUPTION_H_
