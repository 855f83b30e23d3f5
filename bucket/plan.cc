#include "bucket/plan.h"

#include <algorithm>
#include <cassert>

#include "base/time.h"
#include "base/wide.h"

namespace stint::bucket {
namespace {

std::int64_t minus(std::int64_t a, std::int64_t b) { return saturate(static_cast<Int128>(a) - b); }
std::int64_t plus(std::int64_t a, std::int64_t b) { return saturate(static_cast<Int128>(a) + b); }

constexpr Millis kWriteCapacityRefill{1000};  // after so long `wcu` is full whatever happened

const Demand* find_demand(std::span<const Demand> demands, std::size_t limit) {
  for (const Demand& demand : demands) {
    if (demand.limit == limit) return &demand;
  }
  return nullptr;
}

/// Write capacity is debited by every debit (decision 20), never by a credit (W5).
bool debits(std::span<const Demand> demands) {
  return std::any_of(demands.begin(), demands.end(),
                     [](const Demand& demand) { return demand.amount > 0; });
}

/// A credit that may still touch the balance.
bool lands_in_period(const Demand& demand, const LimitState& limit, TimePoint refilled_at) {
  return !limit.is_quota() || !demand.pin || same_period(*demand.pin, limit, refilled_at);
}

/// Adds `amount` (negative) back: added where that leaves no more than `most`, else filled up to
/// `ceiling`. `gained` is what the same write refills.
void write_credit(std::int64_t amount, std::int64_t balance, std::int64_t gained, std::int64_t most,
                  std::int64_t ceiling, LimitWrite& write) {
  std::int64_t taken = plus(gained, -amount);
  if (balance <= minus(most, taken)) {
    write.change = BalanceChange::kAdd;
    write.value = taken;
    write.at_most = minus(most, taken);
  } else {
    write.change = BalanceChange::kSet;
    write.value = ceiling;
    write.at_least = minus(ceiling, taken);
  }
}

void count(const Demand& demand, const LimitState& limit, bool in_period, LimitWrite& write) {
  write.consumed = demand.amount;
  if (!in_period && limit.consumed_at_fanout) write.consumed_at_fanout = demand.amount;
}

/// A quota whose balance is as stored.
void write_steady_quota(const LimitState& limit, const Worth& worth, const Demand* demand,
                        LimitWrite& write) {
  // Under a schedule line of before, another balance would have been cut elsewhere.
  if (!worth.uniform) write.exactly = limit.balance;
  if (demand == nullptr || demand->amount == 0) {
    if (demand != nullptr && demand->gates) write.at_least = 0;
    return;
  }
  if (demand->amount < 0) {
    write_credit(demand->amount, limit.balance, 0, worth.ceiling, worth.ceiling, write);
    return;
  }
  write.change = BalanceChange::kAdd;
  write.value = -demand->amount;
  write.at_most = worth.ceiling;
  if (demand->gates) write.at_least = demand->amount;
}

void write_drip(const LimitState& limit, const Worth& worth, const Demand* demand,
                LimitWrite& write, std::int64_t& remainder) {
  std::int64_t amount = demand != nullptr ? demand->amount : 0;
  remainder = worth.remainder;
  if (!worth.uniform) {
    // The parameters changed on the way: only this very balance leads to this worth.
    write.exactly = limit.balance;
    write.change = BalanceChange::kSet;
    write.value = std::min(minus(worth.balance, amount), worth.ceiling);
    if (amount < 0 && write.value == worth.ceiling) remainder = 0;
    return;
  }
  bool cut = plus(limit.balance, worth.added) >= worth.ceiling;
  if (cut) {
    write.change = BalanceChange::kSet;
    write.value = std::min(minus(worth.ceiling, amount), worth.ceiling);
    write.at_least = minus(worth.ceiling, worth.added);
    return;
  }
  // Who reaches the ceiling loses the remainder (decision 12): that takes the other branch.
  std::int64_t most = minus(worth.ceiling, remainder > 0 ? 1 : 0);
  if (amount < 0) {
    write_credit(amount, limit.balance, worth.added, most, worth.ceiling, write);
    if (write.change == BalanceChange::kSet) remainder = 0;
    return;
  }
  write.value = minus(worth.added, amount);
  write.change = write.value == 0 ? BalanceChange::kKeep : BalanceChange::kAdd;
  write.at_most = minus(most, worth.added);
  if (demand != nullptr && demand->gates) write.at_least = minus(amount, worth.added);
}

void write_quota(const LimitState& limit, const Worth& worth, const Demand* demand,
                 TimePoint refilled_at, LimitWrite& write) {
  bool in_period =
      demand == nullptr || demand->amount >= 0 || lands_in_period(*demand, limit, refilled_at);
  std::int64_t amount = demand != nullptr && in_period ? demand->amount : 0;
  std::int64_t reduced = minus(worth.balance, std::max<std::int64_t>(amount, 0));
  switch (worth.transition) {
    case Transition::kReset:
      // A credit of the period before went to a balance that this write replaces.
      write.change = BalanceChange::kSet;
      write.value = reduced;
      write.set_grant = true;
      write.clear_top_up = limit.top_up != 0;
      return;
    case Transition::kOpen:
      write.pin_window = demand != nullptr;
      if (amount <= 0) return;
      write.change = BalanceChange::kSet;
      write.value = reduced;
      write.open_window = true;
      write.set_grant = true;
      write.clear_top_up = limit.top_up != 0;
      return;
    case Transition::kRoll:
      write.exactly = limit.balance;
      write.change = BalanceChange::kSet;
      write.value = std::min(minus(worth.balance, amount), worth.ceiling);
      write.apply_window = true;
      write.pin_window = true;
      write.set_grant = true;
      write.clear_top_up = limit.top_up != 0;
      return;
    case Transition::kClamp:
      write.pin_window = demand != nullptr && limit.kind == LimitKind::kSession;
      write.exactly = limit.balance;
      write.change = BalanceChange::kSet;
      write.value = std::min(minus(worth.balance, amount), worth.ceiling);
      return;
    case Transition::kNone:
    case Transition::kRefill:
      if (in_period) {
        write_steady_quota(limit, worth, demand, write);
      }
      write.pin_window = demand != nullptr && limit.kind == LimitKind::kSession;
      return;
  }
}

/// Whether the write finds a balance that is a grant of the current shard count.
bool is_fresh_grant(const LimitState& limit, const Worth& worth) {
  return !limit.is_quota() || worth.transition == Transition::kReset ||
         worth.transition == Transition::kOpen || worth.transition == Transition::kRoll;
}

/// Replaces what the steady write would do by the move to other parameters at `at`.
void write_stamp(const LimitState& limit, const Worth& worth, const Demand* demand,
                 const LimitState& configured, const BucketState& state, TimePoint now,
                 TimePoint at, QuotaCarry carry, LimitWrite& write, std::int64_t& remainder) {
  bool session = configured.kind == LimitKind::kSession;
  // A running window goes on, by its new length.
  bool runs_on = session && worth.window == WindowState::kRunning &&
                 now < *limit.window_start + configured.window_length;
  std::int64_t amount = demand != nullptr ? demand->amount : 0;
  if (amount < 0) {
    bool lands = lands_in_period(*demand, limit, state.refilled_at) &&
                 worth.transition != Transition::kReset && worth.transition != Transition::kOpen &&
                 (runs_on || !session);
    if (!lands) amount = 0;
  }
  bool open = session && !runs_on && amount > 0;
  bool fresh = open || is_fresh_grant(limit, worth);
  write.clear_top_up = limit.top_up != 0 && (fresh || !configured.is_quota());
  std::int64_t divisor =
      fresh || !configured.is_quota() ? state.shard_count : grant_count(limit, state.shard_count);
  std::int64_t share = share_at(configured, at, divisor).capacity;
  std::int64_t ceiling = plus(share, write.clear_top_up ? 0 : limit.top_up);
  std::int64_t balance =
      open ? share : carried_balance(limit, worth, configured, state.shard_count, at, carry);
  write.change = BalanceChange::kSet;
  write.value = std::min(minus(balance, amount), ceiling);
  write.exactly = limit.balance;
  write.at_least.reset();
  write.at_most.reset();
  write.pin_parameters = true;
  write.pin_window = limit.kind == LimitKind::kSession || limit.window_start.has_value();
  write.stamp = &configured;
  write.open_window = open;
  write.apply_window = runs_on && worth.transition == Transition::kRoll;
  write.set_grant = configured.is_quota() && fresh;
  // A window that has ended must not come to life under a longer length, and the marker of another
  // kind's window means nothing.
  write.forget_window = limit.window_start.has_value() && !open && !runs_on;
  bool keeps_unit = !configured.is_quota() && !limit.is_quota() &&
                    share_at(configured, at, 1).period == worth.share.period && balance < share &&
                    write.value < share;
  if (!keeps_unit) remainder = 0;
}

}  // namespace

PeriodPin period_of(const LimitState& limit, TimePoint refilled_at) {
  PeriodPin pin;
  if (limit.kind == LimitKind::kSession) {
    pin.window_start = limit.window_start;
    pin.window_applied = limit.window_applied;
  } else if (limit.kind == LimitKind::kCalendar && limit.resets != nullptr) {
    pin.period_end = limit.resets->next(refilled_at);
    pin.resets_taken = limit.resets_taken;
  }
  return pin;
}

bool same_period(const PeriodPin& pin, const LimitState& limit, TimePoint refilled_at) {
  if (limit.kind == LimitKind::kSession) {
    return pin.window_start && pin.window_start == limit.window_start &&
           pin.window_applied == limit.window_applied;
  }
  if (limit.kind == LimitKind::kCalendar) {
    // Taken from a session window: the limit has become another since.
    if (pin.window_start) return false;
    return pin.resets_taken == limit.resets_taken &&
           (!pin.period_end || refilled_at < *pin.period_end);
  }
  return true;
}

bool Plan::opens_window() const {
  return std::any_of(limits.begin(), limits.end(),
                     [](const LimitWrite& write) { return write.open_window; });
}

void Plan::clear() {
  form = Form::kFast;
  now = TimePoint{};
  limits.clear();
  seeds.clear();
  refilled_since.reset();
  refilled_before.reset();
  pin_validity = false;
  refilled_at = TimePoint{};
  validity = Validity::kKeep;
  valid_until = TimePoint{};
  remainders.clear();
}

std::int64_t carried_balance(const LimitState& stored, const Worth& worth,
                             const LimitState& configured, std::int64_t shard_count, TimePoint at,
                             QuotaCarry carry) {
  if (stored.is_quota() && configured.is_quota()) {
    bool fresh = is_fresh_grant(stored, worth);
    std::int64_t divisor = fresh ? shard_count : grant_count(stored, shard_count);
    std::int64_t share = share_at(configured, at, divisor).capacity;
    if (!fresh && carry == QuotaCarry::kBalance) {
      return std::min(worth.balance, plus(share, stored.top_up));
    }
    return plus(worth.balance, minus(share, share_at(stored, at, divisor).capacity));
  }
  return std::min(worth.balance, share_at(configured, at, shard_count).capacity);
}

std::optional<Millis> burst_tolerance(const BucketState& state, const PlanOptions& options,
                                      TimePoint now) {
  if (options.burst_tolerance_divisor == 0) {
    return any_drip_fills(state, now) ? std::optional(Millis(0)) : std::nullopt;
  }
  std::optional<Millis> full = shortest_time_to_full(state, now);
  if (!full) return std::nullopt;
  return *full / options.burst_tolerance_divisor;
}

bool plan_fast(const BucketState& state, std::span<const Worth> worths,
               std::span<const Demand> demands, const PlanOptions& options, TimePoint now,
               Plan& plan) {
  // The commonest refusal first, before anything is built.
  bool debits_drip = std::any_of(demands.begin(), demands.end(), [&](const Demand& demand) {
    return demand.amount > 0 && !state.limits[demand.limit].is_quota();
  });
  std::optional<Millis> tolerance;
  if (debits_drip) {
    tolerance = burst_tolerance(state, options, now);
    bool recent = !tolerance || state.refilled_at >= now - *tolerance;
    if (!recent && !options.assume_recent) return false;
  }
  plan.clear();
  plan.form = Form::kFast;
  plan.now = now;
  plan.refilled_at = state.refilled_at;
  plan.limits.reserve(demands.size() + 1);
  for (std::size_t i = 0; i < state.limits.size(); ++i) {
    const LimitState& limit = state.limits[i];
    const Worth& worth = worths[i];
    const Demand* demand = find_demand(demands, i);
    if (limit.reserved) {
      if (!debits(demands)) continue;
      // Which the locked form does without, and refills.
      if (limit.balance < kWriteCost) return false;
      LimitWrite write;
      write.limit = i;
      write.change = BalanceChange::kAdd;
      write.value = -kWriteCost;
      write.consumed = kWriteCost;
      write.at_least = kWriteCost;
      plan.limits.push_back(write);
      continue;
    }
    // Whatever happened at a boundary has to be brought about by the locked form first. Softer:
    // what happened to a limit that nobody names and that stays as it is, an ended window.
    if (worth.transition == Transition::kReset || worth.transition == Transition::kRoll ||
        worth.transition == Transition::kClamp || !worth.uniform) {
      return false;
    }
    if (demand == nullptr) continue;
    LimitWrite write;
    write.limit = i;
    write.named = true;
    write.soft_in_force = limit.soft_until && *limit.soft_until > now;
    if (demand->amount < 0) {
      bool in_period = lands_in_period(*demand, limit, state.refilled_at);
      count(*demand, limit, in_period, write);
      if (in_period && worth.transition != Transition::kOpen) {
        // Who reaches the ceiling loses the remainder (decision 12), which only the locked form
        // can take away.
        std::int64_t most = minus(worth.ceiling, limit.remainder > 0 ? 1 : 0);
        if (limit.remainder > 0 && limit.balance > plus(most, demand->amount)) return false;
        write_credit(demand->amount, limit.balance, 0, most, worth.ceiling, write);
        write.pin_parameters = true;
        plan.pin_validity = true;
      }
      if (limit.kind == LimitKind::kSession) write.pin_window = true;
      if (limit.kind == LimitKind::kCalendar && in_period && demand->pin) {
        write.pin_resets = true;
        if (demand->pin->period_end) {
          plan.refilled_before = plan.refilled_before
                                     ? std::min(*plan.refilled_before, *demand->pin->period_end)
                                     : *demand->pin->period_end;
        }
      }
      plan.limits.push_back(write);
      continue;
    }
    if (worth.transition == Transition::kOpen) {
      if (demand->amount > 0) return false;
      write.pin_window = true;
      plan.limits.push_back(write);
      continue;
    }
    if (demand->gates && limit.balance < demand->amount) return false;
    write.change = demand->amount == 0 ? BalanceChange::kKeep : BalanceChange::kAdd;
    write.value = -demand->amount;
    write.consumed = demand->amount;
    if (demand->gates) write.at_least = demand->amount;
    plan.limits.push_back(write);
  }
  if (state.valid_until && *state.valid_until <= now) {
    // Only ended windows, never anything due, may lie behind a boundary that has passed.
    if (to_epoch_ms(*state.valid_until) == 0) return false;
    plan.pin_validity = true;
  }
  if (tolerance) plan.refilled_since = now - *tolerance;
  return true;
}

void plan_locked(const BucketState& state, std::span<const Worth> worths,
                 std::span<const Demand> demands, std::span<const Stamp> stamps,
                 std::span<const Seed> seeds, const PlanOptions& options, TimePoint now,
                 Plan& plan) {
  plan.clear();
  plan.form = Form::kLocked;
  plan.now = now;
  plan.seeds.assign(seeds.begin(), seeds.end());
  plan.remainders.assign(state.limits.size(), 0);
  plan.limits.reserve(state.limits.size());
  TimePoint at = std::max(now, state.refilled_at);
  plan.refilled_at = at;
  for (std::size_t i = 0; i < state.limits.size(); ++i) {
    if (worths[i].transition != Transition::kRoll) continue;
    plan.refilled_at = std::max(plan.refilled_at, *state.limits[i].window_start);
  }
  std::optional<TimePoint> boundary;
  auto ends_at = [&](TimePoint end) { boundary = boundary ? std::min(*boundary, end) : end; };
  bool has_unopened = false;

  for (std::size_t i = 0; i < state.limits.size(); ++i) {
    const LimitState& limit = state.limits[i];
    Worth worth = worths[i];
    if (plan.refilled_at > at && limit.kind != LimitKind::kSession) {
      // The stamp moves on to the start of a window that a faster clock opened; what falls before
      // it would otherwise be lost, an edge as well as a refill (decision 12).
      worth = evaluate(limit, state.refilled_at, state.shard_count, plan.refilled_at);
    }
    const Demand* demand = find_demand(demands, i);
    LimitWrite& write = plan.limits.emplace_back();
    write.limit = i;
    if (limit.reserved) {
      bool full = plan.refilled_at - state.refilled_at >= kWriteCapacityRefill;
      write.change = full ? BalanceChange::kSet : BalanceChange::kAdd;
      std::int64_t charge = debits(demands) ? kWriteCost : 0;
      write.value = minus(full ? worth.ceiling : minus(worth.balance, limit.balance), charge);
      write.consumed = charge;
      continue;
    }
    write.named = demand != nullptr;
    write.soft_in_force = demand != nullptr && limit.soft_until && *limit.soft_until > now;
    if (limit.is_quota()) {
      write_quota(limit, worth, demand, state.refilled_at, write);
    } else {
      write_drip(limit, worth, demand, write, plan.remainders[i]);
    }
    if (demand != nullptr) {
      bool in_period = demand->amount >= 0 || lands_in_period(*demand, limit, state.refilled_at);
      count(*demand, limit, in_period, write);
    }
    const LimitState* after = &limit;
    for (const Stamp& stamp : stamps) {
      if (stamp.limit != i) continue;
      after = stamp.configured;
      write_stamp(limit, worth, demand, *stamp.configured, state, now, plan.refilled_at,
                  options.quota_carry, write, plan.remainders[i]);
    }

    if (std::optional<TimePoint> next = next_boundary(*after, plan.refilled_at)) ends_at(*next);
    if (after->kind == LimitKind::kSession) {
      if (write.open_window) {
        ends_at(now + after->window_length);
      } else if (limit.window_start && !write.forget_window) {
        ends_at(*limit.window_start + after->window_length);
      } else {
        has_unopened = true;
      }
    }
  }
  for (const Seed& seed : seeds) {
    if (std::optional<TimePoint> next = next_boundary(*seed.configured, plan.refilled_at)) {
      ends_at(*next);
    }
    if (seed.configured->kind != LimitKind::kSession) continue;
    if (seed.amount > 0) {
      ends_at(now + seed.configured->window_length);
    } else {
      has_unopened = true;
    }
  }
  if (has_unopened) {
    // A window that was never opened holds the boundary in the past until it opens (decision 21),
    // so that no writer takes its balance for a live one.
    bool marked =
        state.valid_until && to_epoch_ms(*state.valid_until) != 0 && *state.valid_until <= now;
    ends_at(marked ? *state.valid_until : plan.refilled_at);
  }
  if (options.reevaluate) boundary = TimePoint{};
  if (boundary != state.valid_until) {
    plan.validity = boundary ? Validity::kSet : Validity::kRemove;
    if (boundary) plan.valid_until = *boundary;
  }
}

}  // namespace stint::bucket
