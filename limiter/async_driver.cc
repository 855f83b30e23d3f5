#include "limiter/async_driver.h"

namespace stint::limiter {

void AsyncDriver::drive(const DriverSetup& setup, bool heeds_giving_up) {
  setup_.emplace(setup);
  heeds_giving_up_ = heeds_giving_up;
  asking_.emplace(*setup_);
  broken_ = false;
  advance();
}

// A loop instead of recursion: an engine may answer before `start` returns, any number of times.
void AsyncDriver::advance() noexcept {
  for (;;) {
    try {
      runner_.resume();
      if (runner_.pending() == ops::Runner::Pending::kTurn) {
        runner_.answer_turn(setup_->clock.now());
      }
    } catch (...) {
      // Memory ran out, or the caller's clock failed. There is no caller above to be told.
      broken_ = true;
    }
    if (broken_ || runner_.done()) {
      finished();
      return;
    }
    if (runner_.pending() != ops::Runner::Pending::kCalls) continue;
    if (!asking_->admit(runner_.calls(), false, heeds_giving_up_ && given_up())) continue;
    phase_.store(Phase::kAsking, std::memory_order_relaxed);
    setup_->engine.start(runner_.calls(), asking_->deadline(), *this);
    Phase asking = Phase::kAsking;
    // From a successful exchange on, this may be gone at any time.
    if (phase_.compare_exchange_strong(asking, Phase::kWaiting, std::memory_order_acq_rel)) return;
    asking_->answered(runner_.calls());
  }
}

void AsyncDriver::answered() noexcept {
  if (phase_.exchange(Phase::kAnswered, std::memory_order_acq_rel) == Phase::kAsking) return;
  asking_->answered(runner_.calls());
  advance();
}

}  // namespace stint::limiter
