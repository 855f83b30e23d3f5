#include "limiter/driver.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <thread>
#include <type_traits>
#include <variant>

#include "ops/context.h"
#include "store/reply.h"

namespace stint::limiter {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kWaitSlice{100};

/// What was taken is given back even past the deadline of the call, but not for ever.
constexpr std::chrono::seconds kGiveBackTime{5};

/// Answers calls that are not sent because the deadline has passed.
void refuse(std::span<store::Call> calls) {
  for (store::Call& call : calls) {
    store::set_trouble(store::start_matching_reply(call), store::Outcome::kUnavailable,
                       "the deadline of the call passed before the store was asked");
  }
}

store::Cost cost_of(const store::Reply& reply) {
  return std::visit([](const auto& typed) { return typed.cost; }, reply);
}

RequestStats asked_with(std::span<const store::Call> calls) {
  store::Cost cost;
  for (const store::Call& call : calls) cost += cost_of(call.reply);
  return {calls.size(), cost.read_units, cost.write_units, cost.index_write_units};
}

bool is_failure(store::Outcome outcome) {
  switch (outcome) {
    case store::Outcome::kOk:
    case store::Outcome::kConditionFailed:
    case store::Outcome::kConflict: return false;
    default: return true;
  }
}

/// The names that every request of a call goes by are known to the operation only.
void report_asked(const DriverSetup& setup, std::span<const store::Call> calls,
                  const RequestStats& asked, Steady::duration took) {
  setup.observer->on_event(
      {.kind = EventKind::kStoreAsked, .count = asked.requests, .store = &asked, .duration = took});
  for (const store::Call& call : calls) {
    const store::ReplyBase& reply =
        std::visit([](const auto& typed) -> const store::ReplyBase& { return typed; }, call.reply);
    if (!is_failure(reply.outcome)) continue;
    Error error = ops::error_of(reply);
    setup.observer->on_event({.kind = EventKind::kStoreError, .error = &error});
  }
}

}  // namespace

Asking::Asking(const DriverSetup& setup) : setup_(&setup) {}

bool Asking::admit(std::span<store::Call> calls, bool expired, bool given_up) {
  bool late =
      expired || (given_up && std::any_of(calls.begin(), calls.end(), [](const store::Call& call) {
                    return store::is_write(call.request);
                  }));
  if (asked_before_ && !late) late = Steady::now() > setup_->deadline;
  asked_before_ = true;
  if (late && !setup_->past_deadline_allowed) {
    refuse(calls);
    return false;
  }
  if (setup_->store_asked != nullptr) *setup_->store_asked = true;
  bool timed = setup_->observer != nullptr && setup_->times_store;
  if (timed) start_ = Steady::now();
  return true;
}

Steady::time_point Asking::deadline() const {
  if (setup_->deadline == Steady::time_point::max()) return Steady::now() + setup_->request_time;
  if (!setup_->past_deadline_allowed) return setup_->deadline;
  return std::max(setup_->deadline, Steady::now() + kGiveBackTime);
}

void Asking::answered(std::span<const store::Call> calls) {
  bool timed = setup_->observer != nullptr && setup_->times_store;
  Steady::duration took = timed ? Steady::now() - start_ : Steady::duration::zero();
  RequestStats asked = asked_with(calls);
  setup_->counters.count(asked);
  if (setup_->observer != nullptr) report_asked(*setup_, calls, asked, took);
}

bool lock_until(std::timed_mutex& mutex, Steady::time_point deadline) {
  while (!mutex.try_lock()) {
    Steady::duration left = deadline - Steady::now();
    if (left <= Steady::duration::zero()) return false;
    // Thread checkers understand the wait by the system clock only; in slices, so that a step of
    // that clock cannot hold a caller much past its deadline.
    auto slice = std::min<Steady::duration>(left, kWaitSlice);
    if (mutex.try_lock_until(
            std::chrono::system_clock::now() +
            std::chrono::duration_cast<std::chrono::system_clock::duration>(slice))) {
      break;
    }
  }
  return true;
}

bool BucketQueues::Turn::take(std::span<const std::uint64_t> buckets, Steady::time_point deadline) {
  release();
  waited_ = Steady::duration::zero();
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
    if (mutex.try_lock()) {
      held_[held_count_++] = wanted[i];
      continue;
    }
    Steady::time_point start = Steady::now();
    bool locked = lock_until(mutex, deadline);
    waited_ += Steady::now() - start;
    if (!locked) {
      release();
      return false;
    }
    held_[held_count_++] = wanted[i];
  }
  return true;
}

void BucketQueues::Turn::release() {
  while (held_count_ > 0) queues_->stripes_[held_[--held_count_]].mutex.unlock();
}

void drive(ops::Runner& runner, const DriverSetup& setup) {
  BucketQueues::Turn turn(setup.queues);
  bool queued = !setup.engine.capabilities().shared_writers;
  bool expired = false;
  Asking asking(setup);
  while (!runner.done()) {
    runner.resume();
    if (runner.done()) break;
    switch (runner.pending()) {
      case ops::Runner::Pending::kNothing: break;
      case ops::Runner::Pending::kTurn: {
        // Without its turn the operation may go on, but the store will not be asked.
        if (queued && !turn.take(runner.turn().buckets(), setup.deadline)) {
          expired = true;
          if (setup.turn_missed != nullptr) *setup.turn_missed = true;
        }
        if (setup.observer != nullptr && turn.waited() > Steady::duration::zero()) {
          setup.observer->on_event({.kind = EventKind::kWaited, .duration = turn.waited()});
        }
        runner.answer_turn(setup.clock.now());
        break;
      }
      case ops::Runner::Pending::kCalls: {
        if (!asking.admit(runner.calls(), expired)) break;
        setup.engine.execute_until(runner.calls(), asking.deadline());
        asking.answered(runner.calls());
        break;
      }
    }
  }
}

}  // namespace stint::limiter
