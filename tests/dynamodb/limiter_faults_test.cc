// Limiters on a table that is reached badly: every exchange of every call meets everything that a
// network, a proxy and the service do wrong. Nothing may be taken twice, minted or lost without
// saying so.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "limiter/dynamodb/connection.h"
#include "limiter/store_handle.h"
#include "store/dynamodb/dynamodb_engine.h"
#include "store/dynamodb/retry.h"
#include "store/dynamodb/table_definition.h"
#include "tests/dynamodb/credential_world.h"
#include "tests/dynamodb/proxied_limiter.h"
#include "tests/support/dynamodb_table.h"
#include "tests/support/dynoxide.h"
#include "tests/support/instant.h"
#include "tests/support/scripted_server.h"

namespace stint::test {
namespace {

/// For calls that meet trouble without end.
constexpr Millis kShort{400};
/// Longer than any test may take.
constexpr Millis kNever{600'000};
/// What a client repeats in all as long as nothing succeeds.
constexpr std::uint64_t kMostRepeats =
    store::dynamodb::RetryBudget::kFull / store::dynamodb::RetryBudget::kRepeatCost;
constexpr int kMostRequests = 40;

/// What the caller was told.
struct Answer {
  bool done = false;  // admitted, settled, rolled back
  bool degraded = false;
  std::optional<ErrorCode> error;
  std::string message;
};

Answer answer_of(const Result<Decision>& result) {
  Answer answer;
  if (result) {
    answer.degraded = result->degraded();
    answer.done = static_cast<bool>(*result) && !answer.degraded;
    EXPECT_TRUE(static_cast<bool>(*result)) << "rejected";
  } else {
    answer.error = result.error().code();
    answer.message = result.error().message();
  }
  return answer;
}

Answer answer_of(const Status& status) {
  Answer answer;
  answer.done = status.ok();
  if (!status) {
    answer.error = status.error().code();
    answer.message = status.error().message();
  }
  return answer;
}

/// One call and what it does to balances, in whole tokens, when it is carried out.
struct Scenario {
  const char* name;
  std::function<void(ProxiedLimiter&)> prepare;
  std::function<Answer(ProxiedLimiter&)> act;
  std::int64_t change = 0;
  bool with_parent = false;
  /// Both buckets are written by one transaction, or by none.
  bool all_or_none = false;
  /// The buckets are corrected one after the other; each that is stays so (decision 6).
  bool each_on_its_own = false;
};

Answer take_ten(ProxiedLimiter& world) { return answer_of(world.acquire(10)); }
Answer take_ten_or_degrade(ProxiedLimiter& world) {
  return answer_of(world.acquire(10, OnUnavailable::kAllow));
}
Answer settle_five_more(ProxiedLimiter& world) {
  EXPECT_TRUE(world.lease.adjust("r", 5).ok());
  EXPECT_TRUE(world.lease.adjust("s", 5).ok());
  return answer_of(world.lease.settle());
}
Answer roll_back(ProxiedLimiter& world) { return answer_of(world.lease.roll_back()); }

void cold(ProxiedLimiter& world) { world.configure(ProxiedLimiter::limits()); }
void warm(ProxiedLimiter& world) {
  cold(world);
  EXPECT_TRUE(world.acquire_calmly(1).value());
}
void ended(ProxiedLimiter& world) {
  warm(world);
  world.clock.advance(2h);
}
void holding(ProxiedLimiter& world) {
  cold(world);
  world.lease = std::move(world.acquire_calmly(40).value().lease());
}
/// The rate has room for a part of what is given back.
void holding_since(ProxiedLimiter& world) {
  holding(world);
  world.clock.advance(30s);
}
void cold_pair(ProxiedLimiter& world) {
  world.cascade();
  cold(world);
}
void warm_pair(ProxiedLimiter& world) {
  world.cascade();
  warm(world);
}
void ended_pair(ProxiedLimiter& world) {
  world.cascade();
  ended(world);
}
void holding_pair(ProxiedLimiter& world) {
  world.cascade();
  holding(world);
}

std::vector<Scenario> scenarios() {
  return {
      {"first acquire", cold, take_ten, -10},
      {"warm acquire", warm, take_ten, -10},
      {"warm acquire that may degrade", warm, take_ten_or_degrade, -10},
      {"acquire that opens a window", ended, take_ten, -10},
      {"first acquire of a pair", cold_pair, take_ten, -10, true, true},
      {"warm acquire of a pair", warm_pair, take_ten, -10, true},
      {"acquire of a pair that opens windows", ended_pair, take_ten, -10, true, true},
      {"settle with more", holding, settle_five_more, -5},
      {"roll back", holding, roll_back, 40},
      {"credit above the ceiling", holding_since, roll_back, 40},
      {"roll back of a pair", holding_pair, roll_back, 40, true, false, true},
  };
}
Scenario scenario(const std::string& name) {
  for (Scenario& each : scenarios()) {
    if (each.name == name) return std::move(each);
  }
  ADD_FAILURE() << "no scenario " << name;
  return {};
}

std::vector<std::string> entities(const Scenario& scenario) {
  if (scenario.with_parent) return {kUser, kParent};
  return {kUser};
}

/// What somebody sees who goes straight to the table.
struct Seen {
  std::vector<std::int64_t> balances;
  std::vector<std::optional<TimePoint>> windows;
};

Seen look(ProxiedLimiter& world, const Scenario& scenario) {
  Seen seen;
  for (const std::string& entity : entities(scenario)) {
    seen.balances.push_back(world.left("r", entity));
    seen.balances.push_back(world.left("s", entity));
    seen.windows.push_back(world.window_start(entity));
  }
  return seen;
}

/// A balance is as before or as changed once; which of them, the answer says, or says that it
/// cannot tell.
void check(const Scenario& scenario, bool nothing_delivered, const Answer& answer,
           const ProxiedLimiter& world, const Seen& before, const Seen& after) {
  std::size_t changed = 0;
  for (std::size_t i = 0; i < before.balances.size(); ++i) {
    // A full rate takes no more than it lost.
    const std::int64_t moved = std::min<std::int64_t>(before.balances[i] + scenario.change, 100);
    EXPECT_TRUE(after.balances[i] == before.balances[i] || after.balances[i] == moved)
        << "balance " << i << ": " << before.balances[i] << " became " << after.balances[i];
    if (after.balances[i] == moved) ++changed;
  }
  const bool doubtful = answer.error == ErrorCode::kOutcomeUnknown || answer.degraded ||
                        world.events.count(EventKind::kLeaseTrouble) > 0;
  if (answer.done) {
    EXPECT_EQ(changed, before.balances.size()) << "said to be done";
  } else if (!doubtful && !scenario.each_on_its_own) {
    EXPECT_EQ(changed, 0u) << "said not to be done: " << answer.message;
    EXPECT_EQ(after.windows, before.windows) << "a failed call opened a window";
  }
  if (!answer.done && nothing_delivered && !scenario.with_parent) {
    EXPECT_EQ(changed, 0u) << "nothing was delivered";
  }
  if (scenario.all_or_none) {
    EXPECT_TRUE(changed == 0 || changed == before.balances.size()) << "half done";
  }
  EXPECT_EQ(world.events.count(EventKind::kDegraded), answer.degraded ? 1 : 0);
}

/// Once the way is free again, the same limiter goes on, and counts rightly.
void check_that_it_goes_on(const Scenario& scenario, ProxiedLimiter& world, const Seen& after) {
  Result<Decision> next = world.acquire_calmly(1);
  EXPECT_TRUE(next.ok()) << (next.ok() ? "" : next.error().message());
  if (!next.ok() || !*next) return;
  const Seen later = look(world, scenario);
  for (std::size_t i = 0; i < later.balances.size(); ++i) {
    EXPECT_EQ(later.balances[i], after.balances[i] - 1) << "balance " << i;
  }
}

struct Ran {
  bool struck = false;
  Answer answer;
  /// What the limiter's way took, for the call and what led to it.
  TransportStats way;
};

/// `time`: of calls that meet trouble without end, and nearly that of attempts without an answer.
ProxiedLimiter::Times times_for(const WireFault& fault, bool onwards, Millis time) {
  ProxiedLimiter::Times times;
  if (onwards) times.call = time;
  if (fault.silent) times.attempt = time * 5 / 8;
  return times;
}

Ran run(const Scenario& scenario, const WireFault& fault, int position, bool onwards,
        const ProxiedLimiter::Times& times) {
  ProxiedLimiter world(times);
  scenario.prepare(world);
  const Seen before = look(world, scenario);
  world.events.clear();
  world.proxy->plan(fault, position, onwards);
  Ran ran;
  ran.answer = scenario.act(world);
  if (ran.answer.degraded) {
    ran.answer.message = world.events.last(EventKind::kDegraded).error.value().message();
  }
  ran.struck = world.proxy->struck();
  ran.way = world.store.transport_stats().value();
  // The fault stays for what was given up and only arrives now.
  world.proxy->wait_until_idle();
  const Seen after = look(world, scenario);
  world.proxy->heal();
  // A short deadline may also cut off what was sent before the fault, and let it land.
  const bool nothing_delivered = fault.deliveries == 0 && (position == 1 || !onwards);
  check(scenario, nothing_delivered, ran.answer, world, before, after);
  check_that_it_goes_on(scenario, world, after);
  return ran;
}

/// Does it until it tells something, with ever more time: a busy machine needs it.
template <typename Once, typename Tells>
auto persistently(const Once& once, const Tells& tells) {
  Millis time = kShort;
  auto result = once(time);
  while (!tells(result) && time < kAmpleTime) result = once(time *= 2);
  EXPECT_TRUE(tells(result)) << "the machine is too busy";
  return result;
}

/// Trouble with the first request alone.
Ran run_once(const Scenario& scenario, const WireFault& fault) {
  return persistently(
      [&](Millis time) { return run(scenario, fault, 1, false, times_for(fault, false, time)); },
      [](const Ran& ran) { return ran.struck; });
}

/// Whether the short deadline has cut off what the fault left whole: a write that was under way,
/// whose outcome is then open, or a further request of the call.
bool is_cut_short(const WireFault& fault, const Ran& ran) {
  if (fault.silent) return false;  // nothing else ends those
  const bool write = ran.way.unknown > 0 && fault.onwards != ErrorCode::kOutcomeUnknown;
  return write || ran.answer.message.find("before the store was asked") != std::string::npos;
}

/// Trouble without end from the first request on. The short deadline may also pass before anything
/// is sent, or cut something off, which tells nothing of the fault.
Ran run_onwards(const Scenario& scenario, const WireFault& fault) {
  return persistently(
      [&](Millis time) { return run(scenario, fault, 1, true, times_for(fault, true, time)); },
      [&](const Ran& ran) { return ran.struck && !is_cut_short(fault, ran); });
}

/// What became of a call that was to meet a fault at one of its requests.
struct Met {
  bool struck = false;
  bool done = false;
};

/// At every request of the call, or from every request on.
void check_positions(bool onwards, const std::function<Met(int position, Millis time)>& meet) {
  int position = 1;
  for (; position <= kMostRequests; ++position) {
    SCOPED_TRACE((onwards ? "from request " : "request ") + std::to_string(position));
    // A call that failed before it got there was too slow: there may be more requests of it.
    const Met met = persistently([&](Millis time) { return meet(position, time); },
                                 [](const Met& m) { return m.struck || m.done; });
    if (!met.struck) break;
  }
  EXPECT_GT(position, 1) << "nothing was asked of the table";
  EXPECT_LE(position, kMostRequests) << "a call without end";
}

/// Waiting for deadlines is most of the work: several wait at the same time.
void on_several_threads(std::size_t tasks, const std::function<void(std::size_t)>& task) {
  common_table();  // the server dies with the thread that started it
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (std::size_t mine; (mine = next++) < tasks;) task(mine);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// One of each kind that is told apart: the others need not meet every request of every call.
std::vector<WireFault> typical_faults() {
  std::vector<WireFault> faults;
  for (const char* name :
       {"request lost", "reply lost", "delivered twice", "no answer after the write", "half a JSON",
        "JSON of another service", "wrong checksum", "page as failure", "page as refusal",
        "throttled table", "busy", "server fault after the write", "conflict", "access denied",
        "skewed clock"}) {
    faults.push_back(wire_fault(name));
  }
  return faults;
}

TEST(LimiterFaults, EveryExchangeOfEveryCallGoesWrong) {
  const std::vector<Scenario> all = scenarios();
  const std::vector<WireFault> faults = typical_faults();
  std::atomic<int> runs{0};
  on_several_threads(all.size() * faults.size(), [&](std::size_t task) {
    const Scenario& scenario = all[task / faults.size()];
    const WireFault& fault = faults[task % faults.size()];
    SCOPED_TRACE(scenario.name);
    SCOPED_TRACE(fault.name);
    for (bool onwards : {false, true}) {
      check_positions(onwards, [&](int position, Millis time) {
        const Ran ran = run(scenario, fault, position, onwards, times_for(fault, onwards, time));
        ++runs;
        return Met{ran.struck, ran.answer.done};
      });
    }
  });
  RecordProperty("runs", runs);
}

/// The first call of all, with the limits that it brings along: the namespace is registered, once.
TEST(LimiterFaults, TheFirstCallOfANamespaceGoesWrong) {
  std::vector<WireFault> faults;
  for (const char* name : {"request lost", "reply lost", "half a JSON", "page as failure",
                           "throttled table", "server fault after the write", "access denied"}) {
    faults.push_back(wire_fault(name));
  }
  on_several_threads(faults.size() * 2, [&](std::size_t task) {
    const WireFault& fault = faults[task / 2];
    const bool onwards = task % 2 == 1;
    SCOPED_TRACE(fault.name);
    // Whether the call met the fault.
    const auto meets = [&](int position, Millis time) {
      ProxiedLimiter world;
      AcquireRequest take = ProxiedLimiter::request(10);
      take.limits = ProxiedLimiter::limits();
      take.timeout = onwards ? time : kAmpleTime;
      world.proxy->plan(fault, position, onwards);
      const Result<Decision> first = world.limiter.acquire(take);
      const bool struck = world.proxy->struck();
      world.proxy->heal();
      world.proxy->wait_until_idle();
      take.timeout = kAmpleTime;
      EXPECT_TRUE(world.limiter.acquire(take).value());
      AcquireRequest none = ProxiedLimiter::request(0);
      none.limits = ProxiedLimiter::limits();
      Limiter bystander = world.bystander();
      const Decision seen = bystander.acquire(none).value();
      const std::int64_t left = find_status(seen.limits(), "s").remaining.whole_tokens();
      if (first.ok()) {
        EXPECT_EQ(left, 80);
      } else if (first.error().code() == ErrorCode::kOutcomeUnknown) {
        EXPECT_TRUE(left == 80 || left == 90) << left;
      } else {
        EXPECT_EQ(left, 90) << first.error().message();
      }
      return Met{struck, first.ok()};
    };
    check_positions(onwards, meets);
  });
}

TEST(LimiterFaults, WhatTheWayTookIsCounted) {
  EXPECT_FALSE(open_memory().value().transport_stats());
  ProxiedLimiter world;
  world.configure(ProxiedLimiter::limits());
  ASSERT_TRUE(world.acquire_calmly(1).value());
  const TransportStats before = world.store.transport_stats().value();
  world.proxy->plan(wire_fault("throttled table"), 1, false);
  ASSERT_TRUE(world.acquire_calmly(1).value());
  ASSERT_TRUE(world.proxy->struck());
  const TransportStats after = world.store.transport_stats().value();
  EXPECT_EQ(after.attempts - before.attempts, 2u);
  EXPECT_EQ(after.repeats - before.repeats, 1u);
  EXPECT_EQ(after.throttles - before.throttles, 1u);
  EXPECT_EQ(after.unknown, before.unknown);
  EXPECT_EQ(after.clock_behind, Millis(0));
}

TEST(LimiterFaults, OptionsOutOfRangeAreRefusedByName) {
  using Change = std::function<void(DynamoDbOptions&)>;
  const std::vector<std::pair<std::string, Change>> wrong = {
      {"table", [](DynamoDbOptions& to) { to.table = "no"; }},
      {"region", [](DynamoDbOptions& to) { to.region = "eu west"; }},
      {"endpoint", [](DynamoDbOptions& to) { to.endpoint = "http://h/?x"; }},
      {"endpoint", [](DynamoDbOptions& to) { to.endpoint = "h:8000"; }},
      {"connect_timeout", [](DynamoDbOptions& to) { to.connect_timeout = Millis(0); }},
      {"connect_timeout", [](DynamoDbOptions& to) { to.connect_timeout = std::chrono::hours(1); }},
      {"attempt_timeout", [](DynamoDbOptions& to) { to.attempt_timeout = Millis(-1); }},
      {"max_connections", [](DynamoDbOptions& to) { to.max_connections = 0; }},
      {"max_connections", [](DynamoDbOptions& to) { to.max_connections = 100'000; }}};
  for (const auto& [field, change] : wrong) {
    DynamoDbOptions options = server_options("limits");
    change(options);
    const Result<Store> opened = open_dynamodb(options);
    ASSERT_FALSE(opened.ok()) << field;
    EXPECT_EQ(opened.error().code(), ErrorCode::kInvalidArgument) << opened.error().message();
    EXPECT_EQ(opened.error().field(), field) << opened.error().message();
  }
}

TEST(LimiterFaults, OpeningATableSaysWhatIsWrong) {
  struct Expected {
    const char* fault;
    std::optional<ErrorCode> once;
    ErrorCode onwards;
  };
  using enum ErrorCode;
  const std::vector<Expected> all = {{"request reset", {}, kUnavailable},
                                     {"garbage", {}, kUnavailable},
                                     {"another JSON", kUnavailable, kUnavailable},
                                     {"JSON of another service", {}, kUnavailable},
                                     {"wrong checksum", {}, kUnavailable},
                                     {"page as refusal", kUnavailable, kUnavailable},
                                     {"throttled table", {}, kThrottled},
                                     {"no table", kNotFound, kNotFound},
                                     {"expired token", kAccessDenied, kAccessDenied},
                                     {"skewed clock", {}, kAccessDenied}};
  on_several_threads(all.size(), [&](std::size_t task) {
    const Expected& expected = all[task];
    SCOPED_TRACE(expected.fault);
    FaultyProxy proxy;
    const auto opened = [&](bool onwards) -> std::optional<ErrorCode> {
      proxy.plan(wire_fault(expected.fault), 1, onwards);
      const Result<Store> store = open_dynamodb(proxy.options(common_table()));
      EXPECT_TRUE(proxy.struck());
      if (store.ok()) return std::nullopt;
      return store.error().code();
    };
    EXPECT_EQ(opened(false), expected.once);
    EXPECT_EQ(opened(true), expected.onwards);
  });
}

TEST(LimiterFaults, ErrorsSayWhatHappened) {
  const std::vector<WireFault> faults = wire_faults();
  on_several_threads(faults.size(), [&](std::size_t task) {
    const WireFault& fault = faults[task];
    SCOPED_TRACE(fault.name);
    const Ran once = run_once(scenario("warm acquire"), fault);
    EXPECT_EQ(once.answer.error, fault.once) << once.answer.message;
    EXPECT_EQ(once.answer.done, !fault.once);
    const Ran onwards = run_onwards(scenario("warm acquire"), fault);
    EXPECT_EQ(onwards.answer.error, fault.onwards) << onwards.answer.message;
    // What passes is tried again until the deadline, not until nothing is repeated any more.
    EXPECT_LT(onwards.way.repeats, kMostRepeats);

    // Refusals and lost races are no outage: nobody passes because of them.
    const bool degrades = fault.onwards && *fault.onwards != ErrorCode::kAccessDenied &&
                          *fault.onwards != ErrorCode::kNotFound &&
                          *fault.onwards != ErrorCode::kConflict;
    const Ran open = run_onwards(scenario("warm acquire that may degrade"), fault);
    EXPECT_EQ(open.answer.degraded, degrades);
    if (!degrades) {
      EXPECT_EQ(open.answer.error, fault.onwards);
    }

    for (const char* name : {"settle with more", "roll back"}) {
      SCOPED_TRACE(name);
      const Ran corrected = run_onwards(scenario(name), fault);
      EXPECT_EQ(corrected.answer.error, fault.onwards) << corrected.answer.message;
    }
  });
}

/// No attempt has an end of its own: a call that comes back has kept its deadline.
TEST(LimiterFaults, ACallThatIsNeverAnsweredEndsByItsDeadline) {
  const std::vector<Scenario> all = scenarios();
  on_several_threads(all.size(), [&](std::size_t task) {
    SCOPED_TRACE(all[task].name);
    const Ran ran = persistently(
        [&](Millis time) {
          return run(all[task], wire_fault("no answer"), 1, true,
                     {.call = time, .attempt = kNever});
        },
        [](const Ran& tried) { return tried.struck; });
    EXPECT_TRUE(ran.answer.degraded || ran.answer.error == ErrorCode::kUnavailable ||
                ran.answer.error == ErrorCode::kOutcomeUnknown)
        << ran.answer.message;
  });
}

/// A credit is sent once.
TEST(LimiterFaults, ACreditThatMayHaveLandedIsLookedForAndNeverRepeated) {
  for (const WireFault& fault : wire_faults()) {
    if (fault.onwards != ErrorCode::kOutcomeUnknown) continue;
    SCOPED_TRACE(fault.name);
    const Ran once = run_once(scenario("roll back"), fault);
    if (fault.deliveries == 0) {
      EXPECT_EQ(once.answer.error, ErrorCode::kOutcomeUnknown);
    } else {
      EXPECT_TRUE(once.answer.done) << once.answer.message;
    }
  }
}

TEST(LimiterFaults, AReplyBeyondAllBoundsIsNotTakenIn) {
  WireFault huge = wire_fault("garbage");
  huge.name = "oversized JSON";
  huge.answer = [](const ServerReply&) {
    return Step::reply(200, R"({"Attributes":")" + std::string(std::size_t{25} << 20, 'x') + "\"}");
  };
  const Ran once = run_once(scenario("warm acquire"), huge);
  EXPECT_TRUE(once.answer.done) << once.answer.message;
  const Ran onwards = run_onwards(scenario("warm acquire"), huge);
  EXPECT_EQ(onwards.answer.error, ErrorCode::kOutcomeUnknown);
}

TEST(LimiterFaults, ADegradedLeaseIsMarkedAndWritesNothing) {
  ProxiedLimiter world({.call = kShort, .attempt = kAmpleTime});
  warm(world);
  world.proxy->plan(wire_fault("busy"), 1, true);
  Decision passed = world.acquire(10, OnUnavailable::kAllow).value();
  EXPECT_TRUE(passed);
  EXPECT_TRUE(passed.degraded());
  world.proxy->heal();
  world.proxy->forget();
  EXPECT_TRUE(passed.lease().adjust("s", 5).ok());
  EXPECT_TRUE(passed.lease().settle().ok());
  EXPECT_EQ(world.proxy->count(), 0u);
  EXPECT_EQ(world.left("s"), 99);
}

TEST(LimiterFaults, ThrottledForAWhile) {
  for (const char* name : {"throttled table", "throttled account", "busy"}) {
    SCOPED_TRACE(name);
    ProxiedLimiter world;
    warm(world);
    world.proxy->forget();
    world.proxy->plan_times(wire_fault(name), 5);
    EXPECT_TRUE(world.acquire(10).value());
    EXPECT_EQ(world.proxy->count(), 6u);
    EXPECT_EQ(world.proxy->forwarded(), 1u);
    EXPECT_EQ(world.left("s"), 89);
  }
}

/// Until nothing is repeated any more: a client adds no more than that to the load of a service
/// that asks for less.
TEST(LimiterFaults, ThrottledUntilNothingIsRepeatedAnyMore) {
  const std::pair<const char*, ErrorCode> kinds[] = {{"throttled table", ErrorCode::kThrottled},
                                                     {"throttled account", ErrorCode::kThrottled},
                                                     {"busy", ErrorCode::kUnavailable}};
  constexpr std::size_t kUsers = 40;
  for (const auto& [name, code] : kinds) {
    SCOPED_TRACE(name);
    ProxiedLimiter world({.call = kNever, .attempt = kNever});
    cold(world);
    const auto of_user = [](std::size_t user, std::int64_t amount) {
      AcquireRequest take = ProxiedLimiter::request(amount);
      take.entity = "user-" + std::to_string(user);
      return take;
    };
    for (std::size_t i = 0; i < kUsers; ++i) {
      ASSERT_TRUE(world.limiter.acquire(of_user(i, 1)).value());
    }

    world.proxy->forget();
    world.proxy->plan(wire_fault(name), 1, true);
    std::vector<Answer> answers(kUsers);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kUsers; ++i) {
      threads.emplace_back(
          [&, i] { answers[i] = answer_of(world.limiter.acquire(of_user(i, 10))); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Answer& answer : answers) EXPECT_EQ(answer.error, code) << answer.message;
    EXPECT_EQ(world.proxy->count(), kUsers + kMostRepeats);
    EXPECT_EQ(world.store.transport_stats().value().repeats, kMostRepeats);
    // The next is sent once.
    EXPECT_EQ(answer_of(world.limiter.acquire(of_user(0, 10))).error, code);
    EXPECT_EQ(world.proxy->count(), kUsers + kMostRepeats + 1);
    EXPECT_EQ(world.proxy->forwarded(), 0u);

    world.proxy->heal();
    for (std::size_t i = 0; i < kUsers; ++i) {
      const std::string user = of_user(i, 0).entity;
      EXPECT_EQ(world.left("s", user), 99);
      EXPECT_TRUE(world.limiter.acquire(of_user(i, 10)).value());
      EXPECT_EQ(world.left("s", user), 89);
    }
  }
}

/// The request was slow, not lost: it arrives when its repetition has long been admitted.
TEST(LimiterFaults, ACopyThatArrivesLateTakesNothing) {
  ProxiedLimiter world({.call = kAmpleTime, .attempt = Millis(400)});
  warm(world);
  world.proxy->delay(1);
  EXPECT_TRUE(world.acquire(10).value());
  EXPECT_TRUE(world.proxy->wait_for_delayed());
  EXPECT_EQ(world.left("s"), 89);
  world.proxy->release();
  EXPECT_EQ(world.left("s"), 89);
  EXPECT_EQ(world.left("r"), 89);
}

TEST(LimiterFaults, AReplyThatComesLateIsNotWaitedFor) {
  ProxiedLimiter world({.call = kAmpleTime, .attempt = Millis(400)});
  warm(world);
  world.proxy->delay(1, true);
  EXPECT_TRUE(world.acquire(10).value());
  world.proxy->release();
  EXPECT_EQ(world.left("s"), 89);
}

TEST(LimiterFaults, ConnectionsThatAreClosedAfterEveryReply) {
  ProxiedLimiter world;
  warm(world);
  world.proxy->close_after_replies(true);
  // A connection may end as a request goes out on it. Where that happens to every attempt of a
  // call, the call gives up, and has taken nothing.
  const auto persistent = [&](std::int64_t amount) {
    Result<Decision> taken = world.acquire(amount);
    for (int again = 0; again < 20 && !taken; ++again) {
      EXPECT_EQ(taken.error().code(), ErrorCode::kConflict) << taken.error().message();
      taken = world.acquire(amount);
    }
    return std::move(taken).value();
  };
  for (int i = 0; i < 30; ++i) EXPECT_TRUE(persistent(1));
  EXPECT_EQ(world.left("s"), 69);
  Decision held = persistent(10);
  const Status given_back = held.lease().roll_back();
  if (given_back) {
    EXPECT_EQ(world.left("s"), 69);
  } else {
    EXPECT_EQ(given_back.error().code(), ErrorCode::kOutcomeUnknown);
    EXPECT_EQ(world.left("s"), 59);
  }
}

TEST(LimiterFaults, NobodyListens) {
  ProxiedLimiter world({.call = kShort, .attempt = kAmpleTime});
  warm(world);
  world.proxy.reset();
  const Result<Decision> blocked = world.acquire(10);
  ASSERT_FALSE(blocked.ok());
  EXPECT_EQ(blocked.error().code(), ErrorCode::kUnavailable);
  EXPECT_TRUE(world.acquire(10, OnUnavailable::kAllow).value().degraded());
  EXPECT_EQ(world.left("s"), 99);
}

/// `set_limits` has no timeout as a whole; each of its requests has the limiter's.
TEST(LimiterFaults, ChangesOfLimitsFailCleanlyAndMayBeRepeated) {
  std::vector<std::pair<WireFault, bool>> sweeps;
  for (WireFault& fault : wire_faults()) sweeps.emplace_back(std::move(fault), false);
  for (WireFault& fault : typical_faults()) sweeps.emplace_back(std::move(fault), true);
  on_several_threads(sweeps.size(), [&](std::size_t task) {
    const WireFault& fault = sweeps[task].first;
    const bool onwards = sweeps[task].second;
    SCOPED_TRACE(fault.name);
    check_positions(onwards, [&](int position, Millis time) {
      ProxiedLimiter world(times_for(fault, onwards, time));
      warm(world);
      world.bystander().set_limits(Scope::entity(kUser), ProxiedLimiter::limits(90)).value();
      world.proxy->plan(fault, position, onwards);
      const auto change = [&](Limiter& by) {
        return by.set_limits(Scope::entity(kUser), ProxiedLimiter::limits(50));
      };
      const Result<LimitsChange> first = change(world.limiter);
      const Met met{world.proxy->struck(), first.ok()};
      world.proxy->heal();
      world.proxy->wait_until_idle();
      if (!met.struck) return met;
      if (onwards && fault.onwards) {
        EXPECT_FALSE(first.ok()) << "trouble without end went unnoticed";
      }
      // A store whose attempts are that short fails on a busy machine without any fault.
      LimiterOptions patient = world.options();
      patient.timeout = kAmpleTime;
      Limiter calm = fault.silent ? world.bystander() : Limiter(world.store, patient);
      const Result<LimitsChange> second = change(calm);
      EXPECT_TRUE(second.ok()) << (second.ok() ? "" : second.error().message());
      // A table that other programs may share cuts the balance to a lower capacity.
      EXPECT_EQ(world.left("s"), 50);
      return met;
    });
  });
}

TEST(LimiterFaults, ATableThatIsDeletedUnderARunningLimiter) {
  const std::string name = new_table_name();
  const DynamoDbOptions options = server_options(name);
  const Result<Store> too_early = open_dynamodb(options);
  ASSERT_FALSE(too_early.ok());
  EXPECT_EQ(too_early.error().code(), ErrorCode::kNotFound);

  create_table(options, TableLayout::kCompatible).value();
  FakeClock clock(instant("2027-03-10T12:00Z"));
  Limiter limiter(open_dynamodb(options).value(), {.clock = &clock});
  limiter.set_limits(Scope::system(), ProxiedLimiter::limits()).value();
  ASSERT_TRUE(limiter.acquire(ProxiedLimiter::request(1)).value());
  ASSERT_TRUE(delete_table(options).ok());

  const Result<Decision> blocked = limiter.acquire(ProxiedLimiter::request(1));
  ASSERT_FALSE(blocked.ok());
  EXPECT_EQ(blocked.error().code(), ErrorCode::kNotFound);
  EXPECT_NE(blocked.error().message().find("there is no table " + name + " in "), std::string::npos)
      << blocked.error().message();
  // Somebody has to mend that: no outage, which would let everything pass until then.
  const Result<Decision> open = limiter.acquire(ProxiedLimiter::request(1, OnUnavailable::kAllow));
  ASSERT_FALSE(open.ok());
  EXPECT_EQ(open.error().code(), ErrorCode::kNotFound);
}

/// A container's endpoint of credentials, and a clock by which they expire.
class ExpiringCredentials {
 public:
  ExpiringCredentials() : server_([this](const ServedRequest&) { return answer(); }) {}

  store::dynamodb::Surroundings surroundings() {
    store::dynamodb::Surroundings made;
    made.variable = [url = server_.url()](const std::string& name) {
      return name == "AWS_CONTAINER_CREDENTIALS_FULL_URI" ? url + "/keys" : std::string();
    };
    made.now = [this] {
      return instant("2027-03-10T12:00Z") + Millis(std::chrono::hours(2)) * expired_.load();
    };
    return made;
  }
  void answer_with_status(int status) { status_ = status; }
  /// Goes past the end of what is at hand, and past any pause after a failure. At most five times.
  void expire() { ++expired_; }

 private:
  Step answer() {
    if (status_ != 200) return Step::reply(status_);
    const std::string hour = std::to_string(13 + 2 * expired_.load());
    return Step::reply(200, key_document("BOX", "2027-03-10T" + hour + ":00:00Z"));
  }

  std::atomic<int> expired_{0};
  std::atomic<int> status_{200};
  ScriptedServer server_;
};

TEST(LimiterFaults, ASourceOfCredentialsThatFailsIsAnOutageAndOneThatRefusesIsNone) {
  ExpiringCredentials keys;
  DynamoDbOptions options = server_options(common_table());
  options.keys.reset();
  limiter::DynamoDbConnection connection =
      limiter::connect_dynamodb(options, keys.surroundings()).value();
  FakeClock clock(instant("2027-03-10T12:00Z"));
  StoreOptions as_it_is;
  as_it_is.create_if_missing = false;
  Limiter limiter(
      limiter::open_store(store::dynamodb::make_table_engine(connection.http, connection.client,
                                                             connection.table, connection.place()),
                          as_it_is)
          .value(),
      {.name_space = new_table_name(), .clock = &clock});
  limiter.set_limits(Scope::system(), ProxiedLimiter::limits()).value();
  const AcquireRequest take = ProxiedLimiter::request(1, OnUnavailable::kAllow);
  ASSERT_FALSE(limiter.acquire(take).value().degraded());

  keys.expire();
  keys.answer_with_status(403);
  const Result<Decision> refused = limiter.acquire(take);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kAccessDenied);
  EXPECT_NE(refused.error().message().find("answered with status 403"), std::string::npos)
      << refused.error().message();

  keys.expire();
  keys.answer_with_status(503);
  EXPECT_TRUE(limiter.acquire(take).value().degraded());

  keys.expire();
  keys.answer_with_status(200);
  EXPECT_FALSE(limiter.acquire(take).value().degraded());
}

void remove_index(const DynamoDbOptions& options, int number) {
  const limiter::DynamoDbConnection connection = limiter::connect_dynamodb(options).value();
  const store::dynamodb::CallResult removed = connection.client->call(
      "UpdateTable",
      R"({"TableName":")" + options.table +
          R"(","GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":")" +
          store::dynamodb::index_name(number) + R"("}}]})",
      store::dynamodb::Effect::kWrite, store::dynamodb::Steady::now() + kAmpleTime);
  ASSERT_TRUE(std::holds_alternative<std::string>(removed))
      << std::get<store::dynamodb::CallTrouble>(removed).message;
}

/// What needs the index fails, and nothing else.
template <typename Done>
void expect_done_unless(bool lacking, const Result<Done>& done) {
  EXPECT_EQ(done.ok(), !lacking) << (done.ok() ? "" : done.error().message());
  if (done.ok()) return;
  EXPECT_EQ(done.error().code(), ErrorCode::kUnavailable) << done.error().message();
  EXPECT_NE(done.error().message().find("lacks an index"), std::string::npos)
      << done.error().message();
}

TEST(LimiterFaults, AnIndexThatIsMissing) {
  std::vector<Limit> soft = ProxiedLimiter::limits().limits();
  for (Limit& limit : soft) limit = limit.as_soft();
  const std::pair<Scope, int> indexes_of_scopes[] = {
      {Scope::resource(kApi), 2}, {Scope::entity(kUser), 3}, {Scope::system(), 4}};
  for (int number = 1; number <= 4; ++number) {
    SCOPED_TRACE(store::dynamodb::index_name(number));
    const DynamoDbOptions options = server_options(new_table_name());
    create_table(options, TableLayout::kCompatible).value();
    remove_index(options, number);
    FakeClock clock(instant("2027-03-10T12:00Z"));
    Limiter limiter(open_dynamodb(options).value(), {.clock = &clock});
    limiter.set_limits(Scope::system(), ProxiedLimiter::limits()).value();
    limiter.create_entity(kUser, {.parent = kParent}).value();
    limiter.create_entity("other").value();
    // Deciding needs no index.
    EXPECT_TRUE(limiter.acquire(ProxiedLimiter::request(1)).value());
    expect_done_unless(number == 1, limiter.list_children(kParent));
    expect_done_unless(number == 4, limiter.list_entities());
    expect_done_unless(number == 3, limiter.delete_entity("other"));
    // Nothing of it was removed.
    EXPECT_EQ(limiter.get_entity("other").ok(), number == 3);

    for (const auto& [scope, index] : indexes_of_scopes) {
      SCOPED_TRACE(index);
      expect_done_unless(number == index, limiter.set_limits(scope, soft));
      expect_done_unless(number == index, limiter.set_limits(scope, soft));
      if (number != index) continue;
      EXPECT_TRUE(limiter.get_limits(scope).value().limits.front().soft());
      create_table(options, TableLayout::kCompatible).value();
      EXPECT_EQ(limiter.set_limits(scope, soft).value().buckets, 1);
      remove_index(options, number);
    }
    Limiter other(open_dynamodb(options).value(), {.clock = &clock});
    EXPECT_TRUE(other.acquire(ProxiedLimiter::request(1'000)).value());
  }
}

}  // namespace
}  // namespace stint::test
