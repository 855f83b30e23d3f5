// A table that is as far away as one across a network, and counts what it is asked.
#ifndef STINT_BENCH_DISTANT_TABLE_H_
#define STINT_BENCH_DISTANT_TABLE_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "base/random.h"
#include "store/engine.h"

namespace stint::bench {

using Steady = std::chrono::steady_clock;

/// Runs functions when their time has come, on a thread of its own. Thread-safe.
class Alarm {
 public:
  Alarm();
  /// Drops what is not due yet.
  ~Alarm();
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  void call_at(Steady::time_point at, std::function<void()> function);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::multimap<Steady::time_point, std::function<void()>> due_;
  std::thread thread_;
};

/// How long one way takes: drawn evenly between two bounds for each way anew.
struct Distance {
  std::chrono::microseconds shortest{0};
  std::chrono::microseconds longest{0};
};

struct TableCounts {
  std::uint64_t requests = 0;
  /// Writes that were refused because the item was not as they expected.
  std::uint64_t failed_conditions = 0;
  /// Neither carried out nor refused for that: throttled, in conflict, unknown and so on.
  std::uint64_t troubles = 0;
};

/// Passes on every call after a delay and every answer after another. No delay takes place where
/// the longest is zero.
class DistantTable final : public store::Engine {
 public:
  DistantTable(std::shared_ptr<store::Engine> table, Distance distance, std::uint64_t seed);

  TableCounts counts() const;

  const store::Capabilities& capabilities() const noexcept override;
  void execute(std::span<store::Call> calls) noexcept override;
  void execute_until(std::span<store::Call> calls, Steady::time_point deadline) noexcept override;
  void start(std::span<store::Call> calls, Steady::time_point deadline,
             store::Completion& completion) noexcept override;
  Result<store::EngineState> state() override { return table_->state(); }

 private:
  class Journey;

  Steady::time_point arrival();
  void count(const store::Call& call);

  const std::shared_ptr<store::Engine> table_;
  const Distance distance_;
  std::mutex random_mutex_;
  Random random_;
  std::atomic<std::uint64_t> requests_{0};
  std::atomic<std::uint64_t> failed_conditions_{0};
  std::atomic<std::uint64_t> troubles_{0};
  Alarm alarm_;  // last, so that its thread ends first
};

}  // namespace stint::bench

#endif  // STINT_BENCH_DISTANT_TABLE_H_
