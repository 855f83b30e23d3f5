// Engines whose answers come when a test says so.
#ifndef STINT_TESTS_LIMITER_LATER_ENGINE_H_
#define STINT_TESTS_LIMITER_LATER_ENGINE_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include "store/engine.h"
#include "store/key.h"
#include "store/request.h"

namespace stint::test {

/// Keeps what it was asked for until `answer_one` carries it out on the test's own thread.
class LaterEngine final : public store::Engine {
 public:
  explicit LaterEngine(std::shared_ptr<store::Engine> inner) : inner_(std::move(inner)) {}

  const store::Capabilities& capabilities() const noexcept override {
    return inner_->capabilities();
  }
  void execute(std::span<store::Call> calls) noexcept override { inner_->execute(calls); }
  void start(std::span<store::Call> calls, std::chrono::steady_clock::time_point /*deadline*/,
             store::Completion& completion) noexcept override {
    waiting_.push_back({calls, &completion});
    ++started_;
    last_get_.reset();
    if (calls.size() != 1) return;
    if (const auto* const* get = std::get_if<const store::GetRequest*>(&calls[0].request)) {
      last_get_ = (*get)->key();
    }
  }

  std::size_t waiting() const { return waiting_.size(); }
  int started() const { return started_; }
  /// What the last hand-over was to read, if that was one item.
  const std::optional<store::Key>& last_get() const { return last_get_; }
  /// Answers one of the hand-overs, the first unless said otherwise.
  void answer_one(std::size_t which = 0) {
    auto place = waiting_.begin() + static_cast<std::ptrdiff_t>(which);
    Waiting next = *place;
    waiting_.erase(place);
    inner_->execute(next.calls);
    next.completion->answered();
  }
  void answer_all() {
    while (!waiting_.empty()) answer_one();
  }

 private:
  struct Waiting {
    std::span<store::Call> calls;
    store::Completion* completion;
  };
  std::shared_ptr<store::Engine> inner_;
  std::deque<Waiting> waiting_;
  int started_ = 0;
  std::optional<store::Key> last_get_;
};

/// Answers at once, but keeps whoever asks waiting between `hold` and `release`.
class HeldEngine final : public store::Engine {
 public:
  explicit HeldEngine(std::shared_ptr<store::Engine> inner) : inner_(std::move(inner)) {}

  const store::Capabilities& capabilities() const noexcept override {
    return inner_->capabilities();
  }
  void execute(std::span<store::Call> calls) noexcept override {
    {
      std::unique_lock lock(mutex_);
      if (holding_) {
        held_ = true;
        changed_.notify_all();
      }
      changed_.wait(lock, [this] { return !holding_; });
    }
    inner_->execute(calls);
  }

  void hold() {
    std::lock_guard lock(mutex_);
    holding_ = true;
    held_ = false;
  }
  void wait_until_held() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return held_; });
  }
  void release() {
    std::lock_guard lock(mutex_);
    holding_ = false;
    changed_.notify_all();
  }

 private:
  std::shared_ptr<store::Engine> inner_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool holding_ = false;
  bool held_ = false;
};

}  // namespace stint::test

#endif  // STINT_TESTS_LIMITER_LATER_ENGINE_H_
