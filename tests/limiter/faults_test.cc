// Every store request of every operation fails once, and from then on, in every way; other writers
// interfere before every request. Nothing may be admitted twice, minted or lost without saying so.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "limiter/store_handle.h"
#include "store/memory/memory_engine.h"
#include "testing/faulty_store.h"
#include "tests/limiter/support.h"

namespace stint::test {
namespace {

constexpr const char* kParent = "parent";
constexpr int kMostRequests = 60;

/// A limiter on a store that fails on command, and others that see it healthy.
class World {
 public:
  explicit World(const store::Capabilities& capabilities)
      : healthy(store::make_memory_engine(capabilities)),
        faulty(std::make_shared<FaultyStore>(healthy)),
        limiter(limiter::open_store(faulty, {}).value(), options()) {
    limiter.set_limits(Scope::system(), limits(100)).value();
  }

  static LimitList limits(std::int64_t capacity) {
    return {Limit::rate("r", capacity, 1, 1s), Limit::session("s", capacity, 1h)};
  }
  LimiterOptions options() {
    LimiterOptions made;
    made.clock = &clock;
    made.observer = &events;
    made.seed = ++seeds_given_ << 32;
    // What a limiter remembers must not answer for the store that fails.
    made.rejection_ttl = Millis(0);
    return made;
  }
  Limiter bystander() {
    LimiterOptions made = options();
    made.observer = nullptr;
    return Limiter(limiter::open_store(healthy, {}).value(), made);
  }
  void cascade() {
    limiter.create_entity(kParent).value();
    limiter.create_entity(kUser, {.parent = kParent, .cascade = true}).value();
  }
  Result<Decision> acquire(std::int64_t amount, OnUnavailable policy = OnUnavailable::kBlock) {
    return limiter.acquire({.entity = kUser,
                            .resource = kApi,
                            .consume = {{"r", amount}, {"s", amount}},
                            .on_unavailable = policy});
  }
  void hold(std::int64_t amount) { lease = std::move(acquire(amount).value().lease()); }
  std::int64_t left(const std::string& entity, const std::string& limit) {
    Limiter fresh = bystander();
    return find_status(fresh.available(entity, kApi).value().limits, limit, entity)
        .remaining.whole_tokens();
  }

  FakeClock clock{instant("2027-03-10T12:00Z")};
  Events events;

 private:
  std::uint64_t seeds_given_ = 0;

 public:
  std::shared_ptr<store::Engine> healthy;
  std::shared_ptr<FaultyStore> faulty;
  Limiter limiter;
  Lease lease;
};

/// What the caller was told.
struct Answer {
  bool done = false;     // admitted, settled, rolled back, set
  bool refused = false;  // rejected
  bool degraded = false;
  std::optional<ErrorCode> error;
};

Answer answer_of(const Result<Decision>& result) {
  Answer answer;
  if (!result) {
    answer.error = result.error().code();
  } else {
    answer.degraded = result->degraded();
    answer.done = static_cast<bool>(*result) && !answer.degraded;
    answer.refused = !*result;
  }
  return answer;
}

Answer answer_of(const Status& status) {
  Answer answer;
  answer.done = status.ok();
  if (!status) answer.error = status.error().code();
  return answer;
}

/// One operation and what it does to balances, in whole tokens, when it is carried out.
struct Scenario {
  const char* name;
  std::function<void(World&)> prepare;
  std::function<Answer(World&)> act;
  std::int64_t change = 0;
  bool with_parent = false;
  /// The buckets are corrected one after the other; each that is stays so (decision 6).
  bool each_on_its_own = false;
};

Answer acquire_ten(World& world) { return answer_of(world.acquire(10)); }
Answer acquire_ten_or_degrade(World& world) {
  return answer_of(world.acquire(10, OnUnavailable::kAllow));
}
Answer settle(World& world, std::int64_t delta) {
  EXPECT_TRUE(world.lease.adjust("r", delta).ok());
  EXPECT_TRUE(world.lease.adjust("s", delta).ok());
  return answer_of(world.lease.settle());
}
Answer settle_five_more(World& world) { return settle(world, 5); }
Answer give_five_back(World& world) { return settle(world, -5); }
Answer roll_back(World& world) { return answer_of(world.lease.roll_back()); }

void cold(World&) {}
void warm(World& world) { EXPECT_TRUE(world.acquire(1).value()); }
void rested(World& world) {
  warm(world);
  world.clock.advance(50s);
}
void ended(World& world) {
  warm(world);
  world.clock.advance(2h);
}
void forgotten(World& world) {
  warm(world);
  world.limiter.forget_caches();
}
void holding(World& world) { world.hold(10); }
void holding_from_before(World& world) {
  world.hold(10);
  world.clock.advance(5s);
}
void seeded_later(World& world) {
  world.limiter.set_limits(Scope::system(), {Limit::rate("r", 100, 1, 1s)}).value();
  EXPECT_TRUE(
      world.limiter.acquire({.entity = kUser, .resource = kApi, .consume = {{"r", 1}}}).value());
  world.limiter.set_limits(Scope::system(), World::limits(100)).value();
}
void with_parent(World& world, void (*prepare)(World&)) {
  world.cascade();
  prepare(world);
}
void cold_pair(World& world) { with_parent(world, cold); }
void warm_pair(World& world) { with_parent(world, warm); }
void rested_pair(World& world) { with_parent(world, rested); }
void ended_pair(World& world) { with_parent(world, ended); }
void holding_pair(World& world) { with_parent(world, holding); }
void short_parent(World& world) {
  warm_pair(world);
  Limiter other = world.bystander();
  EXPECT_TRUE(
      other.acquire({.entity = kParent, .resource = kApi, .consume = {{"r", 95}, {"s", 95}}})
          .value());
}

std::vector<Scenario> scenarios() {
  return {
      {"first acquire", cold, acquire_ten, -10},
      {"warm acquire", warm, acquire_ten, -10},
      {"warm acquire that may degrade", warm, acquire_ten_or_degrade, -10},
      {"acquire after a rest", rested, acquire_ten, -10},
      {"acquire that opens a window", ended, acquire_ten, -10},
      {"acquire without memory", forgotten, acquire_ten, -10},
      {"acquire that adds a limit", seeded_later, acquire_ten, -10},
      {"first acquire of a pair", cold_pair, acquire_ten, -10, true},
      {"warm acquire of a pair", warm_pair, acquire_ten, -10, true},
      {"warm acquire of a pair that may degrade", warm_pair, acquire_ten_or_degrade, -10, true},
      {"acquire of a pair after a rest", rested_pair, acquire_ten, -10, true},
      {"acquire of a pair that opens windows", ended_pair, acquire_ten, -10, true},
      {"acquire whose parent is short", short_parent, acquire_ten, -10, true},
      {"settle with more", holding, settle_five_more, -5},
      {"settle with more after a rest", holding_from_before, settle_five_more, -5},
      {"settle with less", holding, give_five_back, 5},
      {"settle with less after a rest", holding_from_before, give_five_back, 5},
      {"roll back", holding, roll_back, 10},
      {"settle of a pair with more", holding_pair, settle_five_more, -5, true, true},
      {"settle of a pair with less", holding_pair, give_five_back, 5, true, true},
      {"roll back of a pair", holding_pair, roll_back, 10, true, true},
  };
}

struct NamedFault {
  const char* name;
  Fault fault;
};

std::vector<NamedFault> faults() {
  return {{"request lost", Fault::request_lost()},       {"reply lost", Fault::reply_lost()},
          {"delivered twice", Fault::delivered_twice()}, {"throttled", Fault::throttled()},
          {"unavailable", Fault::unavailable()},         {"conflict", Fault::conflict()}};
}

struct Place {
  const char* entity;
  const char* limit;
};

std::vector<Place> places(const Scenario& scenario) {
  std::vector<Place> places = {{kUser, "r"}, {kUser, "s"}};
  if (scenario.with_parent) {
    places.push_back({kParent, "r"});
    places.push_back({kParent, "s"});
  }
  return places;
}

std::vector<std::int64_t> balances(World& world, const Scenario& scenario) {
  std::vector<std::int64_t> found;
  for (Place place : places(scenario)) found.push_back(world.left(place.entity, place.limit));
  return found;
}

/// A balance is as before or as changed once; which of them, the answer says, or says that it
/// cannot tell.
void check(const Scenario& scenario, const Answer& answer, const World& world,
           const std::vector<std::int64_t>& before, const std::vector<std::int64_t>& after) {
  std::size_t changed = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    // A full rate takes no more than it lost.
    std::int64_t moved = std::min<std::int64_t>(before[i] + scenario.change, 100);
    EXPECT_TRUE(after[i] == before[i] || after[i] == moved)
        << places(scenario)[i].entity << " " << places(scenario)[i].limit << ": " << before[i]
        << " became " << after[i];
    if (after[i] == moved) ++changed;
  }
  bool doubtful = answer.error == ErrorCode::kOutcomeUnknown || answer.degraded ||
                  world.events.count(EventKind::kLeaseTrouble) > 0;
  if (answer.done) {
    EXPECT_EQ(changed, before.size()) << "said to be done";
  } else if (!doubtful && !scenario.each_on_its_own) {
    EXPECT_EQ(changed, 0u) << "said not to be done";
  }
}

class FaultSweep : public testing::TestWithParam<bool> {
 protected:
  static store::Capabilities capabilities() {
    return GetParam() ? lean_table() : store::Capabilities();
  }

  /// One run with one fault. Whether the fault struck.
  static bool run(const Scenario& scenario, const Fault& fault) {
    World world(capabilities());
    scenario.prepare(world);
    std::vector<std::int64_t> before = balances(world, scenario);
    world.events.clear();
    world.faulty->plan(fault);
    Answer answer = scenario.act(world);
    bool struck = !world.faulty->pending();
    world.faulty->heal();
    std::vector<std::int64_t> after = balances(world, scenario);
    check(scenario, answer, world, before, after);
    EXPECT_TRUE(answer.done || answer.refused || answer.degraded || answer.error);
    EXPECT_EQ(world.events.count(EventKind::kDegraded), answer.degraded ? 1 : 0);

    // Once the store is well again, the same limiter goes on, and counts rightly.
    Result<Decision> next = world.acquire(1);
    EXPECT_TRUE(next.ok()) << (next.ok() ? "" : next.error().message());
    if (next.ok() && *next) {
      std::vector<std::int64_t> later = balances(world, scenario);
      for (std::size_t i = 0; i < later.size(); ++i) EXPECT_EQ(later[i], after[i] - 1);
    }
    return struck;
  }
};

TEST_P(FaultSweep, P46_P47_P73_EveryRequestFailsInEveryWay) {
  for (const Scenario& scenario : scenarios()) {
    SCOPED_TRACE(scenario.name);
    for (const NamedFault& kind : faults()) {
      SCOPED_TRACE(kind.name);
      int position = 1;
      for (; position <= kMostRequests; ++position) {
        SCOPED_TRACE("request " + std::to_string(position));
        bool struck = run(scenario, kind.fault.at(position));
        struck = run(scenario, kind.fault.at(position).onwards()) || struck;
        if (!struck) break;
      }
      EXPECT_GT(position, 1) << "nothing was asked of the store";
      EXPECT_LE(position, kMostRequests) << "an operation without end";
    }
  }
}

TEST_P(FaultSweep, KeysOfABatchAreLeftOut) {
  for (const Scenario& scenario : scenarios()) {
    SCOPED_TRACE(scenario.name);
    for (int position = 1; position <= kMostRequests; ++position) {
      SCOPED_TRACE("batch " + std::to_string(position));
      Fault fault = Fault::keys_unprocessed(1).on(RequestKind::kBatchGet, position);
      bool struck = run(scenario, fault);
      struck = run(scenario, fault.onwards()) || struck;
      if (!struck) break;
    }
  }
}

/// What a caller must be told, not merely may be.
TEST_P(FaultSweep, ErrorsSayWhatHappened) {
  struct Expected {
    Fault fault;
    std::optional<ErrorCode> once;
    ErrorCode onwards;
  };
  for (const Expected& expected : std::vector<Expected>{
           {Fault::throttled(), ErrorCode::kThrottled, ErrorCode::kThrottled},
           {Fault::unavailable(), ErrorCode::kUnavailable, ErrorCode::kUnavailable},
           {Fault::denied(), ErrorCode::kAccessDenied, ErrorCode::kAccessDenied},
           {Fault::conflict(), std::nullopt, ErrorCode::kConflict},
           {Fault::request_lost(), std::nullopt, ErrorCode::kOutcomeUnknown},
           {Fault::reply_lost(), std::nullopt, ErrorCode::kOutcomeUnknown}}) {
    World once(capabilities());
    warm(once);
    once.faulty->plan(expected.fault);
    EXPECT_EQ(acquire_ten(once).error, expected.once);
    World onwards(capabilities());
    warm(onwards);
    onwards.faulty->plan(expected.fault.onwards());
    EXPECT_EQ(acquire_ten(onwards).error, expected.onwards);
  }
}

TEST_P(FaultSweep, ACreditWhoseRequestWasLostIsUnknownAndNotRepeated) {
  World world(capabilities());
  world.hold(10);
  world.faulty->plan(Fault::request_lost().on(RequestKind::kUpdate));
  int before = world.faulty->requests(RequestKind::kUpdate);
  EXPECT_EQ(give_five_back(world).error, ErrorCode::kOutcomeUnknown);
  EXPECT_EQ(world.faulty->requests(RequestKind::kUpdate), before + 1);
  EXPECT_EQ(world.left(kUser, "s"), 90);
}

TEST_P(FaultSweep, ACreditWhoseReplyWasLostIsFound) {
  World world(capabilities());
  world.hold(10);
  world.faulty->plan(Fault::reply_lost().on(RequestKind::kUpdate));
  EXPECT_TRUE(give_five_back(world).done);
  EXPECT_EQ(world.left(kUser, "s"), 95);
}

TEST_P(FaultSweep, AdministrationFailsCleanly) {
  struct Task {
    const char* name;
    std::function<Status(World&)> act;
  };
  auto status = [](const auto& result) { return result.ok() ? Status() : Status(result.error()); };
  std::vector<Task> tasks = {
      {"set_limits",
       [&](World& w) {
         return status(w.limiter.set_limits(Scope::entity(kUser), World::limits(50)));
       }},
      {"create_entity",
       [&](World& w) {
         // A repetition after a lost reply finds what the first one made.
         Result<Entity> made = w.limiter.create_entity(kUser);
         if (!made && made.error().code() == ErrorCode::kExists) return Status();
         return status(made);
       }},
      {"delete_entity",
       [&](World& w) {
         Result<std::int64_t> gone = w.limiter.delete_entity(kUser);
         if (!gone && gone.error().code() == ErrorCode::kNotFound) return Status();
         return status(gone);
       }},
      {"delete_limits",
       [&](World& w) {
         Result<LimitsChange> gone = w.limiter.delete_limits(Scope::system());
         if (!gone && gone.error().code() == ErrorCode::kNotFound) return Status();
         return status(gone);
       }},
      {"available", [&](World& w) { return status(w.limiter.available(kUser, kApi)); }},
      {"explain", [&](World& w) { return status(w.limiter.explain(kUser, kApi)); }},
      {"list", [&](World& w) { return status(w.limiter.list_entities()); }},
  };
  for (const Task& task : tasks) {
    SCOPED_TRACE(task.name);
    for (const NamedFault& kind : faults()) {
      SCOPED_TRACE(kind.name);
      for (int position = 1; position <= kMostRequests; ++position) {
        SCOPED_TRACE("request " + std::to_string(position));
        World world(capabilities());
        if (std::string(task.name) == "delete_entity") world.limiter.create_entity(kUser).value();
        EXPECT_TRUE(world.acquire(10).value());
        world.faulty->plan(kind.fault.at(position).onwards());
        Status first = task.act(world);
        bool struck = !world.faulty->pending();
        world.faulty->heal();
        bool once_only = kind.fault.deliveries == 2;
        EXPECT_TRUE(!struck || once_only || !first) << "a failing store went unnoticed";
        Status second = task.act(world);
        EXPECT_TRUE(second.ok()) << (second ? "" : second.error().message());
        if (!struck) break;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, FaultSweep, testing::Bool(), [](const auto& param_info) {
  return std::string(param_info.param ? "shared" : "embedded");
});

/// Lets somebody else act right before a request.
class Interference final : public store::Engine {
 public:
  explicit Interference(std::shared_ptr<store::Engine> inner) : inner_(std::move(inner)) {}

  void plan(int before_request, std::function<void()> act) {
    due_ = before_request;
    act_ = std::move(act);
  }
  bool pending() const { return due_ > 0; }

  const store::Capabilities& capabilities() const noexcept override {
    return inner_->capabilities();
  }
  void execute(std::span<store::Call> calls) noexcept override {
    for (store::Call& call : calls) {
      if (due_ > 0 && --due_ == 0) act_();
      inner_->execute(std::span<store::Call>(&call, 1));
    }
  }

 private:
  std::shared_ptr<store::Engine> inner_;
  int due_ = 0;
  std::function<void()> act_;
};

/// Two processes on one table; the second acts once before the n-th request of the first.
class Race {
 public:
  Race()
      : engine_(store::make_memory_engine(lean_table())),
        between_(std::make_shared<Interference>(engine_)),
        mine(limiter::open_store(between_, {}).value(), options()),
        theirs(limiter::open_store(engine_, {}).value(), options()) {
    mine.set_limits(Scope::entity(kUser), World::limits(capacity)).value();
    mine.set_limits(Scope::system(), World::limits(1000)).value();
  }

  LimiterOptions options() {
    LimiterOptions made;
    made.clock = &clock;
    made.seed = ++seeds_given_ << 32;
    return made;
  }
  static Result<Decision> acquire(Limiter& by, std::int64_t amount) {
    return by.acquire(
        {.entity = kUser, .resource = kApi, .consume = {{"r", amount}, {"s", amount}}});
  }
  std::int64_t left(const std::string& limit) {
    Limiter fresh(limiter::open_store(engine_, {}).value(), options());
    return find_status(fresh.available(kUser, kApi).value().limits, limit).remaining.whole_tokens();
  }
  void interfere(int before_request, std::function<void()> act) {
    between_->plan(before_request, std::move(act));
  }
  bool interfered() const { return !between_->pending(); }

  std::int64_t capacity = 100;
  FakeClock clock{instant("2027-03-10T12:00Z")};

 private:
  std::uint64_t seeds_given_ = 0;
  std::shared_ptr<store::Engine> engine_;
  std::shared_ptr<Interference> between_;

 public:
  Limiter mine;
  Limiter theirs;
};

struct Opponent {
  const char* name;
  /// Acts and returns what it took in the end.
  std::function<std::int64_t(Race&)> act;
};

std::vector<Opponent> opponents() {
  return {
      {"takes three",
       [](Race& race) { return Race::acquire(race.theirs, 3).value() ? std::int64_t{3} : 0; }},
      {"takes nearly all",
       [](Race& race) { return Race::acquire(race.theirs, 85).value() ? std::int64_t{85} : 0; }},
      {"settles into debt",
       [](Race& race) -> std::int64_t {
         Decision decision = Race::acquire(race.theirs, 0).value();
         if (!decision) return 0;
         EXPECT_TRUE(decision.lease().adjust("r", 150).ok());
         EXPECT_TRUE(decision.lease().adjust("s", 150).ok());
         EXPECT_TRUE(decision.lease().settle().ok());
         return 150;
       }},
      {"takes and gives back",
       [](Race& race) -> std::int64_t {
         Decision decision = Race::acquire(race.theirs, 7).value();
         if (!decision) return 0;
         EXPECT_TRUE(decision.lease().roll_back().ok());
         return 0;
       }},
      {"changes the limits",
       [](Race& race) -> std::int64_t {
         race.capacity = 60;
         race.theirs.set_limits(Scope::entity(kUser), World::limits(60)).value();
         return 0;
       }},
  };
}

struct Situation {
  const char* name;
  bool bucket_exists;
  Millis rest;
};

TEST(RaceSweep, P44_P46_AnotherWriterActsBeforeEveryRequest) {
  for (Situation situation : {Situation{"first", false, 0ms}, Situation{"recent", true, 0ms},
                              Situation{"rested", true, 50s}, Situation{"ended", true, 2h}}) {
    SCOPED_TRACE(situation.name);
    for (const Opponent& opponent : opponents()) {
      SCOPED_TRACE(opponent.name);
      for (int position = 1; position <= kMostRequests; ++position) {
        SCOPED_TRACE("request " + std::to_string(position));
        Race race;
        if (situation.bucket_exists) {
          EXPECT_TRUE(Race::acquire(race.mine, 0).ok());
          Decision held = Race::acquire(race.mine, 10).value();
          // Back to a full bucket that exists, with a window that runs.
          EXPECT_TRUE(held.lease().roll_back().ok());
        }
        race.clock.advance(situation.rest);
        std::int64_t theirs = 0;
        race.interfere(position, [&] { theirs = opponent.act(race); });
        Decision decision = Race::acquire(race.mine, 20).value();
        bool interfered = race.interfered();
        std::int64_t mine = decision ? 20 : 0;
        for (const char* limit : {"r", "s"}) {
          std::int64_t expected = race.capacity - mine - theirs;
          // Used before the capacity sank, a rate is only cut to the new one (decision 27).
          if (limit[0] == 'r' && race.capacity == 60 && race.left("r") == 60 && mine == 20) {
            expected = 60;
          }
          EXPECT_EQ(race.left(limit), expected) << limit;
        }
        EXPECT_TRUE(decision || theirs + 20 > race.capacity) << "refused without reason";
        EXPECT_TRUE(!decision || mine + theirs <= race.capacity || theirs == 150)
            << "admitted too much";
        if (!interfered) break;
      }
    }
  }
}

TEST(RaceSweep, AnotherWriterActsBeforeEveryRequestOfASettle) {
  for (std::int64_t delta : {+5, -5}) {
    for (Millis rest : {Millis(0), Millis(5s)}) {
      for (const Opponent& opponent : opponents()) {
        SCOPED_TRACE(opponent.name);
        for (int position = 1; position <= kMostRequests; ++position) {
          SCOPED_TRACE("request " + std::to_string(position));
          Race race;
          Decision decision = Race::acquire(race.mine, 10).value();
          race.clock.advance(rest);
          std::int64_t theirs = 0;
          race.interfere(position, [&] { theirs = opponent.act(race); });
          ASSERT_TRUE(decision.lease().adjust("s", delta).ok());
          EXPECT_TRUE(decision.lease().settle().ok());
          EXPECT_EQ(race.left("s"), race.capacity - 10 - delta - theirs);
          if (!race.interfered()) break;
        }
      }
    }
  }
}

}  // namespace
}  // namespace stint::test
