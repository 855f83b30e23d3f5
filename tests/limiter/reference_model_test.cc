// The limiter against a model that knows no items, images or writes: exact rational refill, windows
// and periods, one call after the other.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/wide.h"
#include "limiter/store_handle.h"
#include "store/memory/memory_engine.h"
#include "testing/fake_clock.h"
#include "tests/limiter/support.h"

namespace stint::test {
namespace {

std::int64_t floor_div(Int128 a, std::int64_t b) {
  Int128 quotient = a / b;
  if (a % b < 0) --quotient;
  return static_cast<std::int64_t>(quotient);
}
std::int64_t ceil_div(Int128 a, std::int64_t b) { return -floor_div(-a, b); }

/// How long until an amount fits; `never` beats all.
struct ModelWait {
  bool never = false;
  std::int64_t ms = 0;
};

/// A token bucket whose level is a fraction with the period as denominator: nothing is rounded.
class RateModel {
 public:
  RateModel(std::int64_t capacity, std::int64_t refill, std::int64_t period, std::int64_t now)
      : capacity_(capacity), refill_(refill), period_(period), at_(now), level_(full()) {}

  std::int64_t worth(std::int64_t now) {
    drip(now);
    return floor_div(level_, period_);
  }
  void debit(std::int64_t amount, std::int64_t now) {
    drip(now);
    level_ -= static_cast<Int128>(amount) * period_;
  }
  void credit(std::int64_t amount, std::int64_t now) {
    drip(now);
    level_ = std::min(full(), level_ + static_cast<Int128>(amount) * period_);
  }
  ModelWait wait(std::int64_t amount, std::int64_t now) {
    drip(now);
    if (amount > capacity_) return {true, 0};
    Int128 missing = static_cast<Int128>(amount) * period_ - level_;
    return {false, missing > 0 ? ceil_div(missing, refill_) : 0};
  }
  /// Parts of a thousandth are kept only as long as the period they are parts by.
  void change(std::int64_t capacity, std::int64_t refill, std::int64_t period, std::int64_t now) {
    drip(now);
    if (period != period_) {
      level_ = static_cast<Int128>(floor_div(level_, period_)) * period;
      period_ = period;
    }
    capacity_ = capacity;
    refill_ = refill;
    level_ = std::min(full(), level_);
  }

 private:
  Int128 full() const { return static_cast<Int128>(capacity_) * period_; }
  void drip(std::int64_t now) {
    level_ = std::min(full(), level_ + static_cast<Int128>(now - at_) * refill_);
    at_ = now;
  }

  std::int64_t capacity_;
  std::int64_t refill_;
  std::int64_t period_;
  std::int64_t at_;
  Int128 level_;
};

class SessionModel {
 public:
  SessionModel(std::int64_t capacity, std::int64_t length) : capacity_(capacity), length_(length) {}

  std::optional<std::int64_t> window(std::int64_t now) const {
    return start_ && now < *start_ + length_ ? start_ : std::nullopt;
  }
  std::optional<std::int64_t> end(std::int64_t now) const {
    if (!window(now)) return std::nullopt;
    return *start_ + length_;
  }
  std::int64_t worth(std::int64_t now) const { return window(now) ? balance_ : capacity_; }
  void debit(std::int64_t amount, std::int64_t now) {
    if (amount == 0) return;
    if (!window(now)) {
      start_ = now;
      balance_ = capacity_;
    }
    balance_ -= amount;
  }
  void credit(std::int64_t amount, std::optional<std::int64_t> taken_in, std::int64_t now) {
    if (taken_in && window(now) == taken_in) balance_ = std::min(capacity_, balance_ + amount);
  }
  ModelWait wait(std::int64_t amount, std::int64_t now) const {
    if (amount > capacity_) return {true, 0};
    if (worth(now) >= amount) return {};
    return {false, *end(now) - now};
  }
  void change(std::int64_t capacity, std::int64_t length, std::int64_t now) {
    if (!window(now)) start_.reset();
    balance_ += capacity - capacity_;
    capacity_ = capacity;
    length_ = length;
    if (!window(now)) start_.reset();
  }

 private:
  std::int64_t capacity_;
  std::int64_t length_;
  std::optional<std::int64_t> start_;
  std::int64_t balance_ = 0;
};

constexpr std::int64_t kHourMs = 3'600'000;

/// Restored at every full hour.
class HourlyModel {
 public:
  HourlyModel(std::int64_t capacity, std::int64_t now)
      : capacity_(capacity), hour_(now / kHourMs), balance_(capacity) {}

  std::int64_t hour(std::int64_t now) {
    turn(now);
    return hour_;
  }
  std::int64_t worth(std::int64_t now) {
    turn(now);
    return balance_;
  }
  void debit(std::int64_t amount, std::int64_t now) {
    turn(now);
    balance_ -= amount;
  }
  void credit(std::int64_t amount, std::int64_t taken_in, std::int64_t now) {
    turn(now);
    if (taken_in == hour_) balance_ = std::min(capacity_, balance_ + amount);
  }
  ModelWait wait(std::int64_t amount, std::int64_t now) {
    turn(now);
    if (amount > capacity_) return {true, 0};
    if (balance_ >= amount) return {};
    return {false, (hour_ + 1) * kHourMs - now};
  }
  void change(std::int64_t capacity, std::int64_t now) {
    turn(now);
    balance_ += capacity - capacity_;
    capacity_ = capacity;
  }

 private:
  void turn(std::int64_t now) {
    if (now / kHourMs == hour_) return;
    hour_ = now / kHourMs;
    balance_ = capacity_;
  }

  std::int64_t capacity_;
  std::int64_t hour_;
  std::int64_t balance_;
};

/// Parameters of the three limits of an entity, in whole tokens and seconds.
struct Parameters {
  int capacity = 10;
  int refill = 1;
  int period = 1;
  int session = 10;
  int length = 3600;
  int hourly = 10;

  LimitList limits() const {
    return {Limit::rate("rate", capacity, refill, std::chrono::seconds(period)),
            Limit::session("session", session, std::chrono::seconds(length)),
            Limit::calendar("hourly", hourly, "0 * * * *")};
  }
};

constexpr std::array<const char*, 3> kNames = {"rate", "session", "hourly"};
/// In milli-tokens, in the order of the names; nothing: not named.
using Amounts = std::array<std::optional<std::int64_t>, 3>;

struct EntityModel {
  EntityModel(const Parameters& p, std::int64_t now)
      : rate(p.capacity * 1000, p.refill * 1000, p.period * 1000, now),
        session(p.session * 1000, p.length * 1000),
        hourly(p.hourly * 1000, now) {}

  void change(const Parameters& p, std::int64_t now) {
    if (!used) {
      *this = EntityModel(p, now);
      return;
    }
    rate.change(p.capacity * 1000, p.refill * 1000, p.period * 1000, now);
    session.change(p.session * 1000, p.length * 1000, now);
    hourly.change(p.hourly * 1000, now);
  }
  std::int64_t worth(std::size_t limit, std::int64_t now) {
    if (limit == 0) return rate.worth(now);
    return limit == 1 ? session.worth(now) : hourly.worth(now);
  }
  ModelWait wait(std::size_t limit, std::int64_t amount, std::int64_t now) {
    if (limit == 0) return rate.wait(amount, now);
    return limit == 1 ? session.wait(amount, now) : hourly.wait(amount, now);
  }
  void debit(std::size_t limit, std::int64_t amount, std::int64_t now) {
    used = used || amount > 0;
    if (limit == 0) {
      rate.debit(amount, now);
    } else if (limit == 1) {
      session.debit(amount, now);
    } else {
      hourly.debit(amount, now);
    }
  }

  RateModel rate;
  SessionModel session;
  HourlyModel hourly;
  bool used = false;  // there is a bucket, to which changes are carried over
};

/// What a lease took, as the model knows it.
struct HeldModel {
  std::size_t entity = 0;
  Amounts taken;
  std::optional<std::int64_t> window;
  std::int64_t hour = 0;
  Lease lease;
};

struct Step {
  enum Kind { kAcquire, kSettle, kRollBack, kSetLimits, kWait } kind = kAcquire;
  std::size_t entity = 0;
  Amounts amounts;
  std::size_t pick = 0;
  std::array<int, 3> deltas{};
  Parameters parameters;
  std::int64_t wait_ms = 0;
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
  out << "step " << step.kind << " entity " << step.entity << " amounts";
  for (const auto& amount : step.amounts) out << " " << (amount ? *amount : -1);
  const Parameters& p = step.parameters;
  return out << " pick " << step.pick << " deltas " << step.deltas[0] << " " << step.deltas[1]
             << " " << step.deltas[2] << " parameters " << p.capacity << " " << p.refill << "/"
             << p.period << " " << p.session << "/" << p.length << " " << p.hourly << " wait "
             << step.wait_ms;
}

rc::Gen<std::optional<std::int64_t>> any_amount() {
  return rc::gen::weightedOneOf<std::optional<std::int64_t>>(
      {{2, rc::gen::just(std::optional<std::int64_t>())},
       {1, rc::gen::just(std::optional<std::int64_t>(0))},
       {6, rc::gen::map(rc::gen::inRange<std::int64_t>(1, 6'000),
                        [](std::int64_t n) { return std::optional<std::int64_t>(n); })},
       {1, rc::gen::map(rc::gen::inRange<std::int64_t>(6'000, 25'000),
                        [](std::int64_t n) { return std::optional<std::int64_t>(n); })}});
}

rc::Gen<Parameters> any_parameters() {
  return rc::gen::build<Parameters>(
      rc::gen::set(&Parameters::capacity, rc::gen::inRange(1, 20)),
      rc::gen::set(&Parameters::refill, rc::gen::inRange(1, 12)),
      rc::gen::set(&Parameters::period, rc::gen::element(1, 2, 3, 7, 60)),
      rc::gen::set(&Parameters::session, rc::gen::inRange(1, 20)),
      rc::gen::set(&Parameters::length, rc::gen::element(1, 60, 3600, 7200)),
      rc::gen::set(&Parameters::hourly, rc::gen::inRange(1, 20)));
}

rc::Gen<Step> any_step() {
  auto wait =
      rc::gen::weightedOneOf<std::int64_t>({{2, rc::gen::inRange<std::int64_t>(0, 3)},
                                            {4, rc::gen::inRange<std::int64_t>(0, 3'000)},
                                            {2, rc::gen::inRange<std::int64_t>(0, 100'000)},
                                            {1, rc::gen::inRange<std::int64_t>(0, 9'000'000)}});
  return rc::gen::build<Step>(
      rc::gen::set(&Step::kind, rc::gen::weightedElement<Step::Kind>({{8, Step::kAcquire},
                                                                      {3, Step::kSettle},
                                                                      {2, Step::kRollBack},
                                                                      {1, Step::kSetLimits},
                                                                      {6, Step::kWait}})),
      rc::gen::set(&Step::entity, rc::gen::inRange<std::size_t>(0, 2)),
      rc::gen::set(&Step::amounts, rc::gen::container<Amounts>(any_amount())),
      rc::gen::set(&Step::pick, rc::gen::inRange<std::size_t>(0, 100)),
      rc::gen::set(&Step::deltas,
                   rc::gen::container<std::array<int, 3>>(rc::gen::inRange(-6'000, 4'000))),
      rc::gen::set(&Step::parameters, any_parameters()),
      rc::gen::set(&Step::wait_ms, std::move(wait)));
}

/// Runs steps through the limiter and the model side by side.
class SideBySide {
 public:
  explicit SideBySide(const store::Capabilities& capabilities)
      : store_(limiter::open_store(store::make_memory_engine(capabilities), {}).value()),
        limiter_(store_, options()) {
    for (const char* entity : kEntities) {
      limiter_.set_limits(entity, kApi, Parameters().limits()).value();
      models_.emplace_back(Parameters(), now());
    }
  }

  void run(const Step& step) {
    switch (step.kind) {
      case Step::kAcquire: acquire(step); break;
      case Step::kSettle: settle(step); break;
      case Step::kRollBack: roll_back(step); break;
      case Step::kSetLimits:
        limiter_.set_limits(kEntities[step.entity], kApi, step.parameters.limits()).value();
        models_[step.entity].change(step.parameters, now());
        break;
      case Step::kWait: clock_.advance(Millis(step.wait_ms)); break;
    }
    for (std::size_t entity = 0; entity < kEntities.size(); ++entity) compare(entity);
  }

  void end_all_leases() {
    while (!held_.empty()) {
      Step last;
      roll_back(last);
    }
    for (std::size_t entity = 0; entity < kEntities.size(); ++entity) compare(entity);
  }

 private:
  static constexpr std::array<const char*, 2> kEntities = {"alice", "bob"};

  LimiterOptions options() {
    LimiterOptions made;
    made.clock = &clock_;
    made.seed = 1;
    return made;
  }
  std::int64_t now() { return clock_.now().time_since_epoch().count(); }

  void acquire(const Step& step) {
    AcquireRequest request;
    request.entity = kEntities[step.entity];
    request.resource = kApi;
    EntityModel& model = models_[step.entity];
    bool fits = true;
    ModelWait longest;
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      if (!step.amounts[i]) continue;
      request.consume.push_back({kNames[i], MilliTokens(*step.amounts[i])});
      if (model.worth(i, now()) >= *step.amounts[i]) continue;
      fits = false;
      ModelWait wait = model.wait(i, *step.amounts[i], now());
      longest.never = longest.never || wait.never;
      longest.ms = std::max(longest.ms, wait.ms);
    }
    if (request.consume.empty()) return;
    Decision decision = limiter_.acquire(request).value();
    RC_ASSERT(static_cast<bool>(decision) == fits);
    if (!decision) {
      RC_ASSERT(decision.rejection().never_fits == longest.never);
      RC_ASSERT(decision.rejection().retry_after.has_value() == !longest.never);
      if (!longest.never) RC_ASSERT(decision.rejection().retry_after->count() == longest.ms);
      return;
    }
    HeldModel held;
    held.entity = step.entity;
    held.taken = step.amounts;
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      if (step.amounts[i]) model.debit(i, *step.amounts[i], now());
    }
    if (step.amounts[1].value_or(0) > 0) held.window = model.session.window(now());
    held.hour = model.hourly.hour(now());
    held.lease = std::move(decision.lease());
    for (const LimitStatus& status : decision.limits()) {
      for (std::size_t i = 0; i < kNames.size(); ++i) {
        if (status.name == kNames[i]) RC_ASSERT(status.remaining.count() == model.worth(i, now()));
      }
    }
    held_.push_back(std::move(held));
  }

  void correct(HeldModel& held, std::size_t limit, std::int64_t delta) {
    EntityModel& model = models_[held.entity];
    if (delta > 0) {
      model.debit(limit, delta, now());
    } else if (limit == 0) {
      model.rate.credit(-delta, now());
    } else if (limit == 1) {
      model.session.credit(-delta, held.window, now());
    } else {
      model.hourly.credit(-delta, held.hour, now());
    }
  }

  void settle(const Step& step) {
    if (held_.empty()) return;
    auto chosen = held_.begin() + static_cast<std::ptrdiff_t>(step.pick % held_.size());
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      if (!chosen->taken[i]) {
        RC_ASSERT(!chosen->lease.adjust(kNames[i], 1).ok());
        continue;
      }
      std::int64_t delta = std::max<std::int64_t>(step.deltas[i], -*chosen->taken[i]);
      RC_ASSERT(chosen->lease.adjust(kNames[i], MilliTokens(delta)).ok());
      if (delta != 0) correct(*chosen, i, delta);
    }
    RC_ASSERT(chosen->lease.settle().ok());
    held_.erase(chosen);
  }

  void roll_back(const Step& step) {
    if (held_.empty()) return;
    auto chosen = held_.begin() + static_cast<std::ptrdiff_t>(step.pick % held_.size());
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      if (chosen->taken[i].value_or(0) > 0) correct(*chosen, i, -*chosen->taken[i]);
    }
    RC_ASSERT(chosen->lease.roll_back().ok());
    held_.erase(chosen);
  }

  void compare(std::size_t entity) {
    EntityModel& model = models_[entity];
    Availability available = limiter_.available(kEntities[entity], kApi).value();
    RC_ASSERT(available.limits.size() == kNames.size());
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      LimitStatus status = find_status(available.limits, kNames[i], kEntities[entity]);
      if (status.remaining.count() != model.worth(i, now())) {
        RC_FAIL(std::string(kEntities[entity]) + "'s " + kNames[i] + " is " +
                std::to_string(status.remaining.count()) + ", by the model " +
                std::to_string(model.worth(i, now())));
      }
      if (i != 1) continue;
      std::optional<std::int64_t> end = model.session.end(now());
      RC_ASSERT(status.resets_at.has_value() == end.has_value());
      if (end) RC_ASSERT(status.resets_at->time_since_epoch().count() == *end);
      RC_ASSERT(status.window == (end ? WindowState::kRunning : WindowState::kNotStarted));
    }
  }

  FakeClock clock_{instant("2027-03-10T12:00Z")};
  Store store_;
  Limiter limiter_;
  std::vector<EntityModel> models_;
  std::deque<HeldModel> held_;
};

void answers_like_the_model(const store::Capabilities& capabilities) {
  auto steps = *rc::gen::scale(3.0, rc::gen::container<std::vector<Step>>(any_step()));
  SideBySide both{capabilities};
  for (const Step& step : steps) both.run(step);
  both.end_all_leases();
}

RC_GTEST_PROP(ReferenceModel, EmbeddedStoreAnswersLikeTheModel, ()) {
  answers_like_the_model(store::Capabilities());
}

RC_GTEST_PROP(ReferenceModel, SharedTableWithoutToleranceAnswersLikeTheModel, ()) {
  store::Capabilities capabilities;
  capabilities.shared_writers = true;
  capabilities.partition_write_ceiling = 1000;
  answers_like_the_model(capabilities);
}

// ---- several writers with clocks that disagree
// ----------------------------------------------------

struct Ask {
  std::size_t node = 0;
  std::int64_t amount = 0;
  std::int64_t pause_ms = 0;
  bool give_back = false;
};

std::ostream& operator<<(std::ostream& out, const Ask& ask) {
  return out << "node " << ask.node << " amount " << ask.amount << " pause " << ask.pause_ms
             << (ask.give_back ? " given back" : "");
}

struct Flow {
  std::int64_t at;
  std::int64_t amount;
};

/// In every interval at most C + r(δ + D) + r·t (decision 15), by the true time. The least of C and
/// r(δ + D) would not do where clocks differ by more than the time to full: between two of them a
/// third may empty the bucket again.
/// What is wrong, or nothing.
std::string beyond_bound(const std::vector<Flow>& flows, std::int64_t capacity, std::int64_t refill,
                         std::int64_t period, std::int64_t tolerance_and_spread) {
  Int128 full = static_cast<Int128>(capacity) * period;
  Int128 extra = static_cast<Int128>(refill) * tolerance_and_spread;
  for (std::size_t first = 0; first < flows.size(); ++first) {
    Int128 sum = 0;
    for (std::size_t last = first; last < flows.size(); ++last) {
      sum += static_cast<Int128>(flows[last].amount) * period;
      Int128 dripped = static_cast<Int128>(refill) * (flows[last].at - flows[first].at);
      if (sum > full + extra + dripped) {
        return "admitted " + std::to_string(floor_div(sum, period)) + " thousandths within " +
               std::to_string(flows[last].at - flows[first].at) + " ms, more than " +
               std::to_string(floor_div(full + extra + dripped, period));
      }
    }
  }
  return "";
}

void bound_holds(const store::Capabilities& capabilities) {
  constexpr std::size_t kNodes = 3;
  auto capacity = *rc::gen::inRange<std::int64_t>(1, 100);
  auto refill = *rc::gen::inRange<std::int64_t>(1, 40);
  auto period_s = *rc::gen::element<std::int64_t>(1, 2, 7);
  auto offsets = *rc::gen::container<std::array<std::int64_t, kNodes>>(
      rc::gen::weightedOneOf<std::int64_t>({{1, rc::gen::just<std::int64_t>(0)},
                                            {2, rc::gen::inRange<std::int64_t>(-2'000, 2'000)}}));
  std::int64_t to_full_ms = capacity * period_s * 1000 / refill;
  // Rests that fill the bucket in part, wholly, or not at all.
  auto asks = *rc::gen::scale(
      4.0,
      rc::gen::container<std::vector<Ask>>(rc::gen::build<Ask>(
          rc::gen::set(&Ask::node, rc::gen::inRange<std::size_t>(0, kNodes)),
          rc::gen::set(&Ask::amount, rc::gen::inRange<std::int64_t>(
                                         1, std::max<std::int64_t>(2, capacity * 400))),
          rc::gen::set(&Ask::pause_ms,
                       rc::gen::weightedOneOf<std::int64_t>(
                           {{6, rc::gen::just<std::int64_t>(0)},
                            {3, rc::gen::inRange<std::int64_t>(0, 20)},
                            {1, rc::gen::inRange<std::int64_t>(0, 2 * to_full_ms + 2)}})),
          rc::gen::set(&Ask::give_back, rc::gen::weightedElement<bool>({{5, false}, {1, true}})))));

  std::shared_ptr<store::Engine> engine = store::make_memory_engine(capabilities);
  std::array<FakeClock, kNodes> clocks;
  std::vector<Limiter> nodes;
  TimePoint truth = instant("2027-03-10T12:00Z");
  auto show_time = [&] {
    for (std::size_t i = 0; i < kNodes; ++i) clocks[i].set(truth + Millis(offsets[i]));
  };
  show_time();
  for (std::size_t i = 0; i < kNodes; ++i) {
    LimiterOptions options;
    options.clock = &clocks[i];
    options.seed = i << 32;
    nodes.emplace_back(limiter::open_store(engine, {}).value(), options);
  }
  nodes[0]
      .set_limits(kUser, kApi, {Limit::rate("r", capacity, refill, std::chrono::seconds(period_s))})
      .value();

  std::vector<Flow> flows;
  std::int64_t at = 0;
  for (const Ask& ask : asks) {
    at += ask.pause_ms;
    truth += Millis(ask.pause_ms);
    show_time();
    Decision decision =
        nodes[ask.node]
            .acquire(
                {.entity = kUser, .resource = kApi, .consume = {{"r", MilliTokens(ask.amount)}}})
            .value();
    if (!decision) continue;
    flows.push_back({at, ask.amount});
    if (!ask.give_back) continue;
    RC_ASSERT(decision.lease().roll_back().ok());
    flows.push_back({at, -ask.amount});
  }
  auto [least, most] = std::minmax_element(offsets.begin(), offsets.end());
  int divisor = capabilities.burst_tolerance_divisor;
  std::int64_t tolerance = divisor == 0 ? 0 : to_full_ms / divisor;
  std::string wrong = beyond_bound(flows, capacity * 1000, refill * 1000, period_s * 1000,
                                   tolerance + *most - *least);
  if (!wrong.empty()) RC_FAIL(wrong);
}

RC_GTEST_PROP(BurstBound, Decision15_HoldsOnAnEmbeddedStore, ()) {
  bound_holds(store::Capabilities());
}

RC_GTEST_PROP(BurstBound, Decision15_P94_HoldsOnASharedTable, ()) { bound_holds(lean_table()); }

TEST(BurstBound, R91_ABucketSpentTwiceIsBeyondTheBound) {
  // 190 of a bucket of 100 that refills 20 a second, within 50 ms.
  std::vector<Flow> flows;
  for (int i = 0; i < 10; ++i) flows.push_back({i, 10'000});
  EXPECT_EQ(beyond_bound(flows, 100'000, 20'000, 1'000, 0), "");
  for (int i = 41; i < 50; ++i) flows.push_back({i, 10'000});
  EXPECT_NE(beyond_bound(flows, 100'000, 20'000, 1'000, 0), "");
  EXPECT_NE(beyond_bound(flows, 100'000, 20'000, 1'000, 312), "");
}

}  // namespace
}  // namespace stint::test
