#include "bucket/worth.h"

#include <algorithm>
#include <limits>

#include "base/time.h"
#include "base/wide.h"

namespace stint::bucket {
namespace {

/// No walk over schedule changes or edges goes further than this (decision 12).
constexpr int kMaxSegments = 366;
/// A quota without an edge in reach is looked at again after this long (rules 4.4).
constexpr Millis kNoEdgeCap{366LL * 86'400'000};

std::int64_t scale(std::int64_t amount, std::int64_t per_mille) {
  return std::max<std::int64_t>(1, saturate(static_cast<Int128>(amount) * per_mille / 1000));
}

/// Milli-tokens and remainder after dripping for `elapsed` at `share`, before any ceiling.
struct Drip {
  Int128 added;
  std::int64_t remainder;
};

Drip drip(const Share& share, Millis elapsed, std::int64_t remainder) {
  if (elapsed.count() <= 0 || share.refill == 0) return {0, remainder};
  Int128 gained = static_cast<Int128>(elapsed.count()) * share.refill + remainder;
  std::int64_t period = share.period.count();
  // Nearly always so, and much quicker.
  if (gained <= std::numeric_limits<std::int64_t>::max()) {
    auto small = static_cast<std::int64_t>(gained);
    return {small / period, small % period};
  }
  return {gained / period, static_cast<std::int64_t>(gained % period)};
}

/// A stretch of time with one line of the level schedule in force.
struct Segment {
  TimePoint begin;
  TimePoint end;
  int entry;
};

/// The stretches of [from, to], newest last; at most `kMaxSegments` of them. `older_than` is the
/// begin of the first: later than `from` when there were more.
class Segments {
 public:
  Segments(const model::LevelSchedule& levels, TimePoint from, TimePoint to) {
    Millis cap = model::level_cap(levels.entries());
    TimePoint end = to;
    std::vector<Segment> reversed;
    while (static_cast<int>(reversed.size()) < kMaxSegments) {
      // A stretch includes its begin, and `to` itself is evaluated under its own line.
      std::optional<TimePoint> change = levels.previous_change(end);
      TimePoint begin = change.value_or(end - cap);
      if (begin >= end && change) {
        // `end` is a change itself: it closes the stretch before it.
        if (reversed.empty()) reversed.push_back({end, end, levels.active_at(end)});
        change = levels.previous_change(end - Millis(1));
        begin = change.value_or(end - cap);
      }
      begin = std::max(begin, from);
      reversed.push_back({begin, end, levels.active_at(begin)});
      if (begin <= from) break;
      end = begin;
    }
    segments_.assign(reversed.rbegin(), reversed.rend());
  }

  const std::vector<Segment>& all() const { return segments_; }

 private:
  std::vector<Segment> segments_;
};

/// Whether the line in force at `to` has been in force since `from`.
bool is_uniform(const LimitState& limit, TimePoint from, TimePoint to) {
  if (limit.levels == nullptr || from >= to) return true;
  std::optional<TimePoint> change = limit.levels->previous_change(to);
  if (change) return *change <= from;
  return to - from < model::level_cap(limit.levels->entries());
}

Share least_share(const LimitState& limit, std::int64_t divisor) {
  Share least = share_of(limit, -1, divisor);
  for (int i = 0; i < static_cast<int>(limit.levels->entries().size()); ++i) {
    Share share = share_of(limit, i, divisor);
    // Compared as fractions: refill / period.
    if (static_cast<Int128>(share.refill) * least.period.count() <
        static_cast<Int128>(least.refill) * share.period.count()) {
      least.refill = share.refill;
      least.period = share.period;
    }
    least.capacity = std::min(least.capacity, share.capacity);
  }
  return least;
}

void evaluate_rate(const LimitState& limit, TimePoint refilled_at, std::int64_t shard_count,
                   TimePoint at, Worth& worth) {
  worth.share = share_at(limit, at, shard_count);
  worth.ceiling = worth.share.capacity;
  worth.uniform = is_uniform(limit, refilled_at, at);
  if (worth.uniform) {
    Drip gained = drip(worth.share, at - refilled_at, limit.remainder);
    Int128 sum = limit.balance + gained.added;
    worth.added = saturate(gained.added);
    // So much more than any ceiling that `added` cannot say it.
    if (worth.added != gained.added) worth.uniform = false;
    worth.balance = sum >= worth.ceiling ? worth.ceiling : static_cast<std::int64_t>(sum);
    worth.remainder = sum >= worth.ceiling ? 0 : gained.remainder;
  } else {
    std::int64_t balance = limit.balance;
    std::int64_t remainder = limit.remainder;
    Millis period = share_at(limit, refilled_at, shard_count).period;
    auto pass = [&](const Share& share, Millis elapsed) {
      if (share.period != period) remainder = 0;  // its unit is gone
      period = share.period;
      Drip gained = drip(share, elapsed, remainder);
      Int128 sum = balance + gained.added;
      balance = sum >= share.capacity ? share.capacity : static_cast<std::int64_t>(sum);
      remainder = sum >= share.capacity ? 0 : gained.remainder;
    };
    Segments segments(*limit.levels, refilled_at, at);
    TimePoint known_from = segments.all().front().begin;
    if (known_from > refilled_at) pass(least_share(limit, shard_count), known_from - refilled_at);
    for (const Segment& segment : segments.all()) {
      pass(share_of(limit, segment.entry, shard_count), segment.end - segment.begin);
    }
    pass(worth.share, Millis(0));
    worth.balance = balance;
    worth.remainder = remainder;
    worth.added = saturate(static_cast<Int128>(balance) - limit.balance);
  }
  // A cut counts as one even where the remainder went with it: what is above the ceiling must not
  // be spent by a write that debits the balance as stored.
  if (worth.balance < limit.balance) {
    worth.transition = Transition::kClamp;
  } else if (worth.balance > limit.balance || worth.remainder != limit.remainder) {
    worth.transition = Transition::kRefill;
  }
}

/// The lowest capacity share in force at any time in [from, to]: what a balance that was whole at
/// `from` can still be, since a quota's ceiling that rises again restores nothing.
std::int64_t lowest_capacity(const LimitState& limit, TimePoint from, TimePoint to,
                             std::int64_t divisor) {
  std::int64_t lowest = share_at(limit, to, divisor).capacity;
  if (is_uniform(limit, from, to)) return lowest;
  Segments segments(*limit.levels, from, to);
  for (const Segment& segment : segments.all()) {
    lowest = std::min(lowest, share_of(limit, segment.entry, divisor).capacity);
  }
  if (segments.all().front().begin > from) {
    lowest = std::min(lowest, least_share(limit, divisor).capacity);
  }
  return lowest;
}

/// A quota whose period goes on: cut to what the ceilings since the last refill left of it.
void evaluate_steady_quota(const LimitState& limit, TimePoint refilled_at, std::int64_t shard_count,
                           TimePoint at, Worth& worth) {
  std::int64_t count = grant_count(limit, shard_count);
  worth.share = share_at(limit, at, count);
  worth.ceiling = saturate(static_cast<Int128>(worth.share.capacity) + limit.top_up);
  worth.uniform = is_uniform(limit, refilled_at, at);
  std::int64_t lowest =
      worth.uniform ? worth.share.capacity : lowest_capacity(limit, refilled_at, at, count);
  worth.balance = std::min(limit.balance, saturate(static_cast<Int128>(lowest) + limit.top_up));
  if (worth.balance < limit.balance) worth.transition = Transition::kClamp;
}

void evaluate_calendar(const LimitState& limit, TimePoint refilled_at, std::int64_t shard_count,
                       TimePoint at, Worth& worth) {
  std::optional<TimePoint> edge;
  if (limit.resets != nullptr) edge = limit.resets->previous(at);
  if (edge && *edge > refilled_at) {
    worth.transition = Transition::kReset;
    worth.share = share_at(limit, at, shard_count);
    worth.ceiling = worth.share.capacity;
    worth.balance = lowest_capacity(limit, *edge, at, shard_count);
    return;
  }
  evaluate_steady_quota(limit, refilled_at, shard_count, at, worth);
}

void evaluate_session(const LimitState& limit, TimePoint refilled_at, std::int64_t shard_count,
                      TimePoint now, TimePoint at, Worth& worth) {
  bool live = limit.window_start && now < *limit.window_start + limit.window_length;
  if (!live) {
    worth.transition = Transition::kOpen;
    worth.window = WindowState::kNotStarted;
    worth.share = share_at(limit, at, shard_count);
    worth.ceiling = worth.share.capacity;
    worth.balance = worth.share.capacity;
    return;
  }
  worth.window = WindowState::kRunning;
  worth.window_end = *limit.window_start + limit.window_length;
  // An item of an old writer has no marker: then its last refill tells (rules 5.1).
  bool pending = limit.window_applied ? *limit.window_start > *limit.window_applied
                                      : *limit.window_start > refilled_at;
  if (pending) {
    worth.transition = Transition::kRoll;
    worth.share = share_at(limit, at, shard_count);
    worth.ceiling = worth.share.capacity;
    std::int64_t lowest = lowest_capacity(limit, *limit.window_start, at, shard_count);
    std::int64_t spent_since = limit.consumed - limit.consumed_at_fanout.value_or(limit.consumed);
    worth.balance = saturate(static_cast<Int128>(lowest) - std::max<std::int64_t>(0, spent_since));
    return;
  }
  evaluate_steady_quota(limit, refilled_at, shard_count, at, worth);
}

/// Walks forward until a drip holds `amount`.
std::optional<Millis> wait_for_drip(const LimitState& limit, const Worth& worth, TimePoint at,
                                    std::int64_t shard_count, std::int64_t amount) {
  std::int64_t balance = worth.balance;
  std::int64_t remainder = worth.remainder;
  Millis period = worth.share.period;
  TimePoint begin = at;
  for (int i = 0; i < kMaxSegments; ++i) {
    Share share = share_at(limit, begin, shard_count);
    if (share.period != period) remainder = 0;
    period = share.period;
    if (balance >= share.capacity) {
      balance = share.capacity;
      remainder = 0;
    }
    if (balance >= amount) return begin - at;
    std::optional<TimePoint> end;
    if (limit.levels != nullptr) end = limit.levels->next_change(begin);
    if (share.capacity >= amount && share.refill > 0) {
      Int128 deficit = static_cast<Int128>(amount) - balance;
      Int128 wait = divide_up(deficit * share.period.count() - remainder, share.refill);
      constexpr auto kMostMs = static_cast<Int128>(std::numeric_limits<std::int64_t>::max() / 4);
      if (wait <= kMostMs) {
        TimePoint ready = begin + Millis(static_cast<std::int64_t>(wait));
        if (!end || ready < *end) return ready - at;
      }
    }
    if (!end) return std::nullopt;
    Drip gained = drip(share, *end - begin, remainder);
    Int128 sum = balance + gained.added;
    remainder = sum >= share.capacity ? 0 : gained.remainder;
    balance = sum >= share.capacity ? share.capacity : static_cast<std::int64_t>(sum);
    begin = *end;
  }
  return std::nullopt;
}

/// From `start` on, when a whole share first holds `amount`.
std::optional<TimePoint> first_share_of(const LimitState& limit, TimePoint start,
                                        std::int64_t shard_count, std::int64_t amount) {
  TimePoint at = start;
  for (int i = 0; i < kMaxSegments; ++i) {
    if (share_at(limit, at, shard_count).capacity >= amount) return at;
    if (limit.levels == nullptr) return std::nullopt;
    at = limit.levels->next_change(at);
  }
  return std::nullopt;
}

}  // namespace

Share share_of(const LimitState& limit, int entry, std::int64_t divisor) {
  Share share;
  share.capacity = limit.base.capacity;
  share.refill = limit.base.refill;
  share.period = limit.base.period;
  if (limit.reserved) return share;
  if (entry >= 0) {
    share.entry = entry;
    const LevelEntry& line = limit.levels->entries()[static_cast<std::size_t>(entry)];
    if (line.per_mille()) {
      share.capacity = scale(share.capacity, *line.per_mille());
      if (share.refill > 0) share.refill = scale(share.refill, *line.per_mille());
    } else {
      const LevelEntry::Absolute& absolute = line.parameters();
      if (absolute.capacity) share.capacity = absolute.capacity->count() * 1000;
      if (absolute.refill_amount) share.refill = absolute.refill_amount->count() * 1000;
      if (absolute.refill_period) share.period = *absolute.refill_period;
    }
  }
  if (divisor > 1) {
    share.capacity /= divisor;
    share.refill /= divisor;
  }
  return share;
}

std::int64_t grant_count(const LimitState& limit, std::int64_t shard_count) {
  if (limit.grant_count && *limit.grant_count >= 1) return *limit.grant_count;
  std::int64_t count = shard_count;
  while (count > 1 && limit.base.capacity / count < limit.balance) count /= 2;
  return count;
}

Share share_at(const LimitState& limit, TimePoint at, std::int64_t divisor) {
  int entry = limit.levels != nullptr && !limit.reserved ? limit.levels->active_at(at) : -1;
  return share_of(limit, entry, divisor);
}

std::int64_t highest_capacity(const LimitState& limit, std::int64_t divisor) {
  std::int64_t highest = share_of(limit, -1, divisor).capacity;
  if (limit.levels == nullptr) return highest;
  for (int i = 0; i < static_cast<int>(limit.levels->entries().size()); ++i) {
    highest = std::max(highest, share_of(limit, i, divisor).capacity);
  }
  return highest;
}

Worth evaluate(const LimitState& limit, TimePoint refilled_at, std::int64_t shard_count,
               TimePoint now) {
  Worth worth;
  worth.remainder = limit.remainder;
  TimePoint at = std::max(now, refilled_at);
  switch (limit.kind) {
    case LimitKind::kRate: evaluate_rate(limit, refilled_at, shard_count, at, worth); break;
    case LimitKind::kCalendar: evaluate_calendar(limit, refilled_at, shard_count, at, worth); break;
    case LimitKind::kSession:
      evaluate_session(limit, refilled_at, shard_count, now, at, worth);
      break;
  }
  return worth;
}

Wait wait_for(const LimitState& limit, const Worth& worth, TimePoint refilled_at,
              std::int64_t shard_count, TimePoint now, std::int64_t amount) {
  if (worth.balance >= amount) return {false, Millis(0)};
  // A top-up lasts until the period it was given in is over, and so does the size of the grant.
  bool over = worth.transition == Transition::kOpen || worth.transition == Transition::kReset ||
              worth.transition == Transition::kRoll;
  std::int64_t divisor = limit.is_quota() && !over ? grant_count(limit, shard_count) : shard_count;
  // Of the whole bucket: what is too much for one shard has no wait, but the shards together hold
  // it.
  Int128 top_up = over ? 0 : static_cast<Int128>(limit.top_up) * divisor;
  if (amount > highest_capacity(limit, 1) + top_up) return {true, std::nullopt};
  TimePoint at = std::max(now, refilled_at);
  std::optional<TimePoint> ready;
  switch (limit.kind) {
    case LimitKind::kRate: {
      std::optional<Millis> wait = wait_for_drip(limit, worth, at, shard_count, amount);
      if (wait) ready = at + *wait;
      break;
    }
    case LimitKind::kCalendar: {
      if (limit.resets == nullptr) break;
      std::optional<TimePoint> edge = limit.resets->next(at);
      for (int i = 0; edge && i < kMaxSegments; ++i) {
        if (share_at(limit, *edge, shard_count).capacity >= amount) {
          ready = edge;
          break;
        }
        edge = limit.resets->next(*edge);
      }
      break;
    }
    case LimitKind::kSession: {
      // The window ends by the caller's clock, but no schedule is read before the last refill.
      TimePoint end = worth.window_end.value_or(now);
      TimePoint start = std::max(end, at);
      ready = first_share_of(limit, start, shard_count, amount);
      if (ready == start) ready = end;
      break;
    }
  }
  if (!ready) return {false, std::nullopt};
  return {false, std::max(Millis(0), *ready - now)};
}

Wait wait_for_unused(const LimitState& limit, std::int64_t shard_count, TimePoint now,
                     std::int64_t amount) {
  if (amount > highest_capacity(limit, 1)) return {true, std::nullopt};
  std::optional<TimePoint> ready = first_share_of(limit, now, shard_count, amount);
  if (!ready) return {false, std::nullopt};
  return {false, *ready - now};
}

std::optional<TimePoint> resets_at(const LimitState& limit, const Worth& worth, TimePoint now) {
  if (limit.kind == LimitKind::kSession) return worth.window_end;
  if (limit.kind == LimitKind::kCalendar && limit.resets != nullptr) return limit.resets->next(now);
  return std::nullopt;
}

std::optional<TimePoint> next_boundary(const LimitState& limit, TimePoint at) {
  std::optional<TimePoint> boundary;
  if (limit.levels != nullptr) boundary = limit.levels->next_change(at);
  if (limit.resets != nullptr) {
    TimePoint edge = limit.resets->next(at).value_or(at + kNoEdgeCap);
    boundary = boundary ? std::min(*boundary, edge) : edge;
  }
  return boundary;
}

LimitStatus describe(const LimitState& limit, const Worth& worth, TimePoint refilled_at,
                     std::int64_t shard_count, TimePoint now, std::int64_t requested) {
  LimitStatus status;
  status.name = std::string(limit.name);
  status.kind = limit.kind;
  status.soft = limit.soft_until && *limit.soft_until > now;
  status.capacity = MilliTokens(worth.ceiling);
  status.remaining = MilliTokens(worth.balance);
  status.requested = MilliTokens(requested);
  status.refill_amount = MilliTokens(worth.share.refill);
  status.refill_period = worth.share.period;
  status.window = worth.window;
  Wait wait = wait_for(limit, worth, refilled_at, shard_count, now, requested);
  status.never_fits = !status.soft && wait.never;
  status.exceeded = !status.soft && worth.balance < requested;
  status.retry_after = status.soft ? std::optional<Millis>(Millis(0)) : wait.wait;
  if (!status.never_fits) status.resets_at = resets_at(limit, worth, std::max(now, refilled_at));
  return status;
}

namespace {

/// The share in force at `now` of a drip limit that fills; nothing for other limits.
std::optional<Share> filling_share(const BucketState& bucket, const LimitState& limit,
                                   TimePoint now) {
  if (limit.reserved || limit.is_quota()) return std::nullopt;
  Share share = share_at(limit, std::max(now, bucket.refilled_at), bucket.shard_count);
  if (share.refill == 0) return std::nullopt;
  return share;
}

}  // namespace

std::optional<Millis> shortest_time_to_full(const BucketState& bucket, TimePoint now) {
  std::optional<Millis> shortest;
  for (const LimitState& limit : bucket.limits) {
    std::optional<Share> share = filling_share(bucket, limit, now);
    if (!share) continue;
    Int128 time = static_cast<Int128>(share->capacity) * share->period.count() / share->refill;
    Millis whole(saturate(time));
    shortest = shortest ? std::min(*shortest, whole) : whole;
  }
  return shortest;
}

bool any_drip_fills(const BucketState& bucket, TimePoint now) {
  return std::any_of(bucket.limits.begin(), bucket.limits.end(), [&](const LimitState& limit) {
    return filling_share(bucket, limit, now).has_value();
  });
}

std::int64_t lifetime_s(const LimitState& limit, int multiplier) {
  auto lifetime = [&](Int128 numerator, Int128 denominator) -> std::int64_t {
    return saturate(numerator * multiplier / (denominator * 1000));
  };
  switch (limit.kind) {
    case LimitKind::kCalendar:
      return limit.resets != nullptr ? lifetime(limit.resets->cycle().count(), 1) : 0;
    case LimitKind::kSession: return lifetime(limit.window_length.count(), 1);
    case LimitKind::kRate: break;
  }
  auto drip_lifetime = [&](const Share& share) -> std::int64_t {
    if (share.refill == 0) return 0;
    return lifetime(static_cast<Int128>(share.capacity) * share.period.count(), share.refill);
  };
  std::int64_t longest = drip_lifetime(share_of(limit, -1, 1));
  if (limit.levels == nullptr) return longest;
  for (int i = 0; i < static_cast<int>(limit.levels->entries().size()); ++i) {
    // A scale keeps the ratio of capacity and refill.
    if (limit.levels->entries()[static_cast<std::size_t>(i)].per_mille()) continue;
    longest = std::max(longest, drip_lifetime(share_of(limit, i, 1)));
  }
  return longest;
}

}  // namespace stint::bucket
