// What every measurement needs: a limiter over a fresh store, entities that have buckets, callers.
#ifndef STINT_BENCH_WORLD_H_
#define STINT_BENCH_WORLD_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stint/stint.h"

namespace stint::bench {

/// Ends the program with `what` unless `holds`: a figure of something else than was meant must not
/// come out.
void require(bool holds, const char* what);

/// `count` divided by the environment variable STINT_BENCH_SHRINK, at least 1. Only to see that a
/// benchmark runs: shrunk figures mean nothing.
std::size_t shrunk(std::size_t count);

/// A directory of its own that goes with it.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Moves by `step` whenever it is read. For one caller: not thread-safe.
class SteppingClock final : public Clock {
 public:
  explicit SteppingClock(Millis step) : step_(step) {}
  TimePoint now() override { return now_ += step_; }
  void set_step(Millis step) { step_ = step; }

 private:
  TimePoint now_{Millis(1'800'000'000'000)};
  Millis step_;
};

/// Numbers below `count` in an order without locality, the same in every run.
class Order {
 public:
  Order(std::size_t count, std::uint64_t seed) : count_(count), state_(seed) {}
  std::size_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>(((state_ >> 32) * count_) >> 32);
  }

 private:
  std::uint64_t count_;
  std::uint64_t state_;
};

inline constexpr const char* kResource = "api";

/// Writes "entity-<number>" over `text`. Names are made on the spot, as a program does that reads
/// them from a request; a table of names would add its own cache misses to the figures.
void name_entity(std::size_t number, std::string& text);

/// Allowances that no measurement uses up.
inline constexpr std::int64_t kPlenty = 1'000'000'000'000;
/// A session quota and a rate.
LimitList two_limits(std::int64_t session_tokens = kPlenty);
/// `count` limits, session quotas and rates in turn, called "limit-<number>".
LimitList many_limits(int count);
/// One token of each of the limits.
std::vector<Consume> one_of_each(const LimitList& limits);

struct WorldOptions {
  std::size_t entities = 100;
  /// Opens the store in an empty directory that goes with the world. Absent: a memory store.
  std::function<Store(const std::string& directory)> open = {};
  LimitList limits = two_limits();
  /// How far the clock moves with each reading. A millisecond lets every rate drip between two
  /// decisions, so that each of them takes the refill-locked form, which is the longer one.
  Millis step{1};
  int callers = 1;
  /// Needed by more than one caller: a shared virtual clock would be what they wait for.
  bool system_clock = false;
  /// A year: configuration is read anew by time, and a virtual clock passes much of it.
  Millis config_ttl{365LL * 86'400'000};
  /// Whether the limiter's events are counted.
  bool counted = false;
  /// Buckets that the limiter remembers; 0: all of them.
  std::size_t max_views = 0;
};

/// One caller with its own order of entities and its own request.
struct alignas(128) Caller {
  static constexpr std::size_t kLookAhead = 12;

  Caller(std::size_t entities, std::uint64_t seed);
  /// Makes the request that of the next entity.
  void choose() { name_entity(order.next(), request.entity); }
  /// The same, but the entities of the next twelve requests are known, too; returns the last of
  /// these.
  const std::string& choose_ahead();

  Order order;
  AcquireRequest request;
  std::array<std::string, kLookAhead> ahead;
  std::size_t at = 0;
};

/// A limiter whose resource "api" has the given limits.
class World {
 public:
  explicit World(const WorldOptions& options);
  /// One acquire of one token of each limit for every entity, or the first `most` of them: creates
  /// their buckets, if need be. Shows how far it is on a terminal. More than one thread need the
  /// system's clock.
  void fill(int threads = 1, std::size_t most = SIZE_MAX);
  Caller& caller(int number) { return *callers_[static_cast<std::size_t>(number)]; }

 private:
  std::optional<TemporaryDirectory> directory_;  // outlives the store in it

 public:
  SteppingClock clock;
  Counters counters;
  Limiter limiter;

 private:
  std::size_t entities_;
  std::vector<std::unique_ptr<Caller>> callers_;
};

}  // namespace stint::bench

#endif  // STINT_BENCH_WORLD_H_
