// Where threads wait for each other, so that what they do together has one beginning and one end.
#ifndef STINT_BENCH_TURN_H_
#define STINT_BENCH_TURN_H_

#include <barrier>
#include <chrono>

namespace stint::bench {

class Turn {
 public:
  explicit Turn(int callers) : barrier_(callers, Stamp{this}) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  /// Waits for all callers and returns when the last of them came, the same to each. A reading of
  /// its own would leave out how long a caller took to wake up, while others worked already.
  std::chrono::steady_clock::time_point wait() {
    barrier_.arrive_and_wait();
    return at_;
  }

 private:
  struct Stamp {
    Turn* turn;
    void operator()() noexcept { turn->at_ = std::chrono::steady_clock::now(); }
  };

  std::barrier<Stamp> barrier_;
  std::chrono::steady_clock::time_point at_;  // written while all callers wait
};

}  // namespace stint::bench

#endif  // STINT_BENCH_TURN_H_
