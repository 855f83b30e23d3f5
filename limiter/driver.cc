#include "limiter/driver.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <thread>
#include <type_traits>
#include <variant>

namespace stint::limiter {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kWaitSlice{100};

/// The reply that a request of some type expects.
template <typename Request>
struct ReplyOf {
  using type = store::WriteReply;
};
template <>
struct ReplyOf<store::GetRequest> {
  using type = store::GetReply;
};
template <>
struct ReplyOf<store::BatchGetRequest> {
  using type = store::BatchGetReply;
};
template <>
struct ReplyOf<store::TransactRequest> {
  using type = store::TransactReply;
};
template <>
struct ReplyOf<store::QueryRequest> {
  using type = store::QueryReply;
};
template <>
struct ReplyOf<store::ScanRequest> {
  using type = store::ScanReply;
};

/// Answers calls that are not sent because the deadline has passed.
void refuse(std::span<store::Call> calls) {
  for (store::Call& call : calls) {
    std::visit(
        [&](const auto* request) {
          using Request = std::remove_cvref_t<decltype(*request)>;
          typename ReplyOf<Request>::type reply;
          reply.outcome = store::Outcome::kUnavailable;
          reply.message = "the deadline of the call passed before the store was asked";
          call.reply = std::move(reply);
        },
        call.request);
  }
}

store::Cost cost_of(const store::Reply& reply) {
  return std::visit([](const auto& typed) { return typed.cost; }, reply);
}

std::uint64_t halves(double units) { return static_cast<std::uint64_t>(units * 2 + 0.5); }

std::size_t slot_of_thread(std::size_t slots) {
  static std::atomic<std::size_t> threads{0};
  thread_local std::size_t mine = threads.fetch_add(1, std::memory_order_relaxed);
  return mine % slots;
}

}  // namespace

bool BucketQueues::Turn::take(std::span<const std::uint64_t> buckets, Steady::time_point deadline) {
  release();
  // One order for everybody, each stripe once: no two callers can wait for each other.
  assert(buckets.size() <= held_.size());
  std::array<std::size_t, kMostBuckets> wanted{};
  std::size_t count = 0;
  for (std::uint64_t bucket : buckets) {
    std::size_t stripe = bucket % kStripes;
    std::size_t place = count;
    while (place > 0 && wanted[place - 1] > stripe) --place;
    if (place > 0 && wanted[place - 1] == stripe) continue;
    for (std::size_t i = count++; i > place; --i) wanted[i] = wanted[i - 1];
    wanted[place] = stripe;
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::timed_mutex& mutex = queues_->stripes_[wanted[i]].mutex;
    while (!mutex.try_lock()) {
      Steady::duration left = deadline - Steady::now();
      if (left <= Steady::duration::zero()) {
        release();
        return false;
      }
      // Thread checkers understand the wait by the system clock only; in slices, so that a step of
      // that clock cannot hold a caller much past its deadline.
      auto slice = std::min<Steady::duration>(left, kWaitSlice);
      if (mutex.try_lock_until(
              std::chrono::system_clock::now() +
              std::chrono::duration_cast<std::chrono::system_clock::duration>(slice))) {
        break;
      }
    }
    held_[held_count_++] = wanted[i];
  }
  return true;
}

void BucketQueues::Turn::release() {
  while (held_count_ > 0) queues_->stripes_[held_[--held_count_]].mutex.unlock();
}

void RequestCounters::count(std::span<const store::Call> calls) {
  store::Cost cost;
  for (const store::Call& call : calls) cost += cost_of(call.reply);
  Slot& slot = slots_[slot_of_thread(slots_.size())];
  slot.requests.fetch_add(calls.size(), std::memory_order_relaxed);
  if (cost.read_units > 0) {
    slot.half_reads.fetch_add(halves(cost.read_units), std::memory_order_relaxed);
  }
  if (cost.write_units > 0) {
    slot.half_writes.fetch_add(halves(cost.write_units), std::memory_order_relaxed);
  }
  if (cost.index_write_units > 0) {
    slot.half_index_writes.fetch_add(halves(cost.index_write_units), std::memory_order_relaxed);
  }
}

RequestStats RequestCounters::total() const {
  RequestStats stats;
  for (const Slot& slot : slots_) {
    auto units = [](const std::atomic<std::uint64_t>& half) {
      return static_cast<double>(half.load(std::memory_order_relaxed)) / 2;
    };
    stats.requests += slot.requests.load(std::memory_order_relaxed);
    stats.read_units += units(slot.half_reads);
    stats.write_units += units(slot.half_writes);
    stats.index_write_units += units(slot.half_index_writes);
  }
  return stats;
}

void drive(ops::Runner& runner, const DriverSetup& setup) {
  BucketQueues::Turn turn(setup.queues);
  bool queued = !setup.engine.capabilities().shared_writers;
  bool expired = false;
  bool asked_before = false;
  while (!runner.done()) {
    runner.resume();
    if (runner.done()) break;
    switch (runner.pending()) {
      case ops::Runner::Pending::kNothing: break;
      case ops::Runner::Pending::kTurn: {
        // Without its turn the operation may go on, but the store will not be asked.
        if (queued) expired = !turn.take(runner.turn().buckets(), setup.deadline) || expired;
        runner.answer_turn(setup.clock.now());
        break;
      }
      case ops::Runner::Pending::kCalls: {
        // The first request goes out at once; time can only have passed before later ones.
        if (asked_before && !expired) expired = Steady::now() > setup.deadline;
        asked_before = true;
        if (expired && !setup.past_deadline_allowed) {
          refuse(runner.calls());
          break;
        }
        setup.engine.execute(runner.calls());
        setup.counters.count(runner.calls());
        break;
      }
    }
  }
}

}  // namespace stint::limiter
