// The asynchronous limiter on an engine that answers when the test says so, and on engines of this
// process.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "limiter/store_handle.h"
#include "schema/keys.h"
#include "schema/records.h"
#include "stint/async.h"
#include "store/memory/memory_engine.h"
#include "testing/fake_clock.h"
#include "testing/faulty_store.h"
#include "tests/limiter/later_engine.h"
#include "tests/limiter/support.h"
#include "tests/support/seed.h"

namespace stint::test {
namespace {

class AsyncLater : public ::testing::Test {
 protected:
  AsyncLater() {
    // Set up by a blocking limiter, past the engine that waits.
    limiter->blocking()
        .set_limits("user", "api", {Limit::per_hour("rph", 100), Limit::session("s", 50, 1h)})
        .value();
  }

  AcquireRequest request(std::int64_t tokens = 10) {
    return {.entity = "user",
            .resource = "api",
            .consume = {{"rph", Tokens(tokens)}, {"s", Tokens(tokens)}}};
  }
  std::int64_t left(const std::string& limit) {
    Availability seen = limiter->blocking().available("user", "api").value();
    for (const LimitStatus& status : seen.limits) {
      if (status.name == limit) return status.remaining.count() / 1000;
    }
    ADD_FAILURE() << "no limit " << limit;
    return -1;
  }
  store::Reply execute(store::RequestRef request) {
    store::Call call;
    call.request = request;
    faulty->execute(std::span<store::Call>(&call, 1));
    return std::move(call.reply);
  }
  /// Begins an acquire and keeps what it answers.
  PendingCall begin(std::optional<Result<Decision>>& answer, std::int64_t tokens = 10) {
    return limiter->acquire(request(tokens),
                            [&answer](Result<Decision> got) { answer.emplace(std::move(got)); });
  }

  /// Of a limiter that has to look the namespace up.
  LimiterOptions fresh_options() { return {.clock = &clock, .seed = seed() + 1}; }
  /// Begins an acquire of one token that may take so long, and keeps what it answers.
  void begin_within(AsyncLimiter& by, Millis timeout, std::optional<Result<Decision>>& answer) {
    AcquireRequest take = request(1);
    take.timeout = timeout;
    by.acquire(std::move(take),
               [&answer](Result<Decision> got) { answer.emplace(std::move(got)); });
  }

  /// Past the engine that waits.
  store::ImagePtr item(const store::Key& key) {
    store::GetRequest get(key, store::Consistency::kStrong);
    return std::get<store::GetReply>(execute(&get)).image;
  }
  void remove_item(const store::Key& key) {
    store::DeleteRequest remove(key, nullptr);
    execute(&remove);
  }
  std::string namespace_id() {
    return schema::decode_namespace(*item(schema::namespace_name_key("default")))->id;
  }

  FakeClock clock{instant("2026-11-01T10:00:00Z")};
  std::shared_ptr<FaultyStore> faulty =
      std::make_shared<FaultyStore>(store::make_memory_engine(lean_table()));
  std::shared_ptr<LaterEngine> engine = std::make_shared<LaterEngine>(faulty);
  Events events;
  std::unique_ptr<AsyncLimiter> limiter = std::make_unique<AsyncLimiter>(
      limiter::open_store(engine, StoreOptions()).value(),
      LimiterOptions{.clock = &clock, .observer = &events, .seed = seed()});
};

TEST_F(AsyncLater, AnAcquireEndsWhenTheStoreHasAnswered) {
  std::optional<Result<Decision>> answer;
  begin(answer);
  EXPECT_FALSE(answer);
  EXPECT_GE(engine->waiting(), 1u);
  engine->answer_all();
  ASSERT_TRUE(answer);
  ASSERT_TRUE(answer->ok()) << answer->error().message();
  EXPECT_TRUE(**answer);
  EXPECT_EQ(left("rph"), 90);
  std::optional<Settled> ended;
  limiter->roll_back(std::move((*answer)->lease()),
                     [&](Settled settled) { ended.emplace(std::move(settled)); });
  EXPECT_FALSE(ended);
  engine->answer_all();
  ASSERT_TRUE(ended);
  EXPECT_TRUE(ended->status);
  EXPECT_EQ(left("rph"), 100);
  EXPECT_EQ(left("s"), 50);
}

TEST_F(AsyncLater, ADeletedNamespaceIsNotRegisteredAgain) {
  std::optional<Result<Decision>> answer;
  begin(answer);
  engine->answer_all();
  ASSERT_TRUE(answer && answer->ok());
  const store::Key by_name = schema::namespace_name_key("default");
  const std::string id = namespace_id();
  for (const store::Key& key :
       {by_name, schema::bucket_key(id, "user", "api", 0), schema::config_key(id, "user", "api")}) {
    remove_item(key);
  }

  for (int i = 0; i < 2; ++i) {
    begin(answer);
    engine->answer_all();
    ASSERT_TRUE(answer && !answer->ok());
    EXPECT_EQ(answer->error().code(), ErrorCode::kNotFound) << answer->error().message();
    EXPECT_NE(answer->error().reason().find("was deleted"), std::string::npos);
  }
  EXPECT_FALSE(item(by_name));
}

TEST_F(AsyncLater, ALimitThatVanishedWithItsBucketIsLookedForOnceInANamespaceThatIsStillThere) {
  std::optional<Result<Decision>> answer;
  begin(answer);
  engine->answer_all();
  ASSERT_TRUE(answer && answer->ok());
  const std::string id = namespace_id();
  for (const store::Key& key :
       {schema::bucket_key(id, "user", "api", 0), schema::config_key(id, "user", "api")}) {
    remove_item(key);
  }
  begin(answer);
  engine->answer_all();
  ASSERT_TRUE(answer && !answer->ok());
  EXPECT_EQ(answer->error().code(), ErrorCode::kInvalidArgument) << answer->error().message();
  EXPECT_EQ(engine->last_get(), schema::namespace_name_key("default"));
}

TEST_F(AsyncLater, ALeaseOfAnotherLimiterIsNotEnded) {
  std::optional<Result<Decision>> answer;
  begin(answer);
  engine->answer_all();
  ASSERT_TRUE(answer && answer->ok() && **answer);
  {
    AsyncLimiter other(limiter::open_store(faulty, StoreOptions()).value(),
                       LimiterOptions{.name_space = "other", .clock = &clock, .seed = 1});
    std::optional<Settled> refused;
    other.roll_back(std::move((*answer)->lease()),
                    [&](Settled settled) { refused.emplace(std::move(settled)); });
    ASSERT_TRUE(refused);
    ASSERT_FALSE(refused->status);
    EXPECT_EQ(refused->status.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_TRUE(refused->lease.open());
    limiter->roll_back(std::move(refused->lease), [&](Settled settled) {
      EXPECT_TRUE(settled.status) << settled.status.error().message();
    });
    engine->answer_all();
  }
  EXPECT_EQ(left("rph"), 100);
}

TEST_F(AsyncLater, ManyCallsInFlightAdmitWhatThereIsInAnyOrderOfAnswers) {
  Random random(seed());
  std::vector<std::optional<Result<Decision>>> answers(40);
  for (auto& answer : answers) begin(answer);
  while (engine->waiting() > 0) engine->answer_one(random.below(engine->waiting()));
  int admitted = 0;
  int conflicts = 0;
  for (auto& answer : answers) {
    ASSERT_TRUE(answer);
    if (answer->ok()) {
      admitted += **answer ? 1 : 0;
    } else {
      // Other writers won five attempts: nothing of it may stay taken.
      EXPECT_EQ(answer->error().code(), ErrorCode::kConflict);
      ++conflicts;
    }
  }
  EXPECT_GE(admitted, 1);
  EXPECT_LE(admitted, 5);
  EXPECT_EQ(left("s"), 50 - 10 * admitted) << conflicts << " conflicts";
  EXPECT_EQ(left("rph"), 100 - 10 * admitted);
}

TEST_F(AsyncLater, ACancelledCallThatIsAdmittedGivesBackBeforeItEnds) {
  std::optional<Result<Decision>> warm;
  begin(warm);
  engine->answer_all();
  ASSERT_TRUE(warm && warm->ok());
  std::optional<Result<Decision>> answer;
  PendingCall call = begin(answer);
  ASSERT_EQ(engine->waiting(), 1u);
  call.cancel();
  engine->answer_one();  // the debit lands
  EXPECT_FALSE(answer) << "ended with its debit in place";
  ASSERT_EQ(engine->waiting(), 1u) << "nothing gives back";
  engine->answer_all();
  ASSERT_TRUE(answer);
  ASSERT_FALSE(answer->ok());
  EXPECT_EQ(answer->error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(left("rph"), 90);
  EXPECT_EQ(left("s"), 40);
}

TEST_F(AsyncLater, ACancelledCallIsToldOnce) {
  std::optional<Result<Decision>> answer;
  begin(answer);
  engine->answer_all();
  events.clear();
  PendingCall call = begin(answer);
  call.cancel();
  engine->answer_all();
  EXPECT_EQ(events.count(EventKind::kAdmitted), 0);
  EXPECT_EQ(events.count(EventKind::kCallFailed), 1);
  EXPECT_EQ(events.count(EventKind::kRolledBack), 1);
}

TEST_F(AsyncLater, ACancelledCallThatCannotGiveBackSaysSo) {
  std::optional<Result<Decision>> answer;
  begin(answer);
  engine->answer_all();
  events.clear();
  PendingCall call = begin(answer);
  call.cancel();
  engine->answer_one();  // the debit lands
  faulty->plan(Fault::unavailable().onwards());
  engine->answer_all();
  ASSERT_TRUE(answer && !answer->ok());
  EXPECT_EQ(answer->error().code(), ErrorCode::kOutcomeUnknown);
  EXPECT_NE(answer->error().message().find("could not be given back"), std::string::npos)
      << answer->error().message();
  EXPECT_EQ(events.count(EventKind::kLeaseTrouble), 1);
  EXPECT_EQ(events.count(EventKind::kCallFailed), 1);
  faulty->heal();
  EXPECT_EQ(left("s"), 30);
}

TEST_F(AsyncLater, ACallCancelledAtAnyPointLeavesNothingTaken) {
  // The first use asks the store several times: cancel before each of its answers.
  for (int point = 0;; ++point) {
    SCOPED_TRACE(point);
    limiter->blocking().forget_caches();
    std::optional<Result<Decision>> answer;
    PendingCall call = begin(answer);
    for (int i = 0; i < point && engine->waiting() > 0; ++i) engine->answer_one();
    bool ended_before = answer.has_value();
    call.cancel();
    engine->answer_all();
    ASSERT_TRUE(answer);
    if (ended_before) {
      ASSERT_TRUE(answer->ok());
      EXPECT_EQ((*answer)->lease().roll_back().ok(), true);
    } else {
      ASSERT_FALSE(answer->ok());
      EXPECT_EQ(answer->error().code(), ErrorCode::kCancelled);
    }
    EXPECT_EQ(left("rph"), 100);
    EXPECT_EQ(left("s"), 50);
    if (ended_before) break;
    ASSERT_LT(point, 10);
  }
}

TEST_F(AsyncLater, ACancelledCallLooksUpWhatBecameOfItsWrite) {
  std::optional<Result<Decision>> warm;
  begin(warm);
  engine->answer_all();
  for (const Fault& fault : {Fault::request_lost(), Fault::reply_lost()}) {
    std::optional<Result<Decision>> answer;
    PendingCall call = begin(answer);
    faulty->plan(fault.on(RequestKind::kUpdate));
    call.cancel();
    engine->answer_all();
    ASSERT_TRUE(answer);
    ASSERT_FALSE(answer->ok());
    EXPECT_EQ(answer->error().code(), ErrorCode::kCancelled);
    EXPECT_EQ(left("rph"), 90);
  }
  // Where not even that can be read, nobody knows.
  std::optional<Result<Decision>> answer;
  PendingCall call = begin(answer);
  faulty->plan(Fault::reply_lost().on(RequestKind::kUpdate));
  faulty->plan(Fault::unavailable().on(RequestKind::kGet));
  call.cancel();
  engine->answer_all();
  ASSERT_TRUE(answer);
  ASSERT_FALSE(answer->ok());
  EXPECT_EQ(answer->error().code(), ErrorCode::kOutcomeUnknown);
}

TEST_F(AsyncLater, OneCallLooksTheNamespaceUpForAll) {
  AsyncLimiter fresh(limiter::open_store(engine, StoreOptions()).value(), fresh_options());
  int started = engine->started();
  std::vector<std::optional<Result<Decision>>> answers(20);
  for (auto& answer : answers) {
    fresh.acquire(request(1), [&answer](Result<Decision> got) { answer.emplace(std::move(got)); });
  }
  EXPECT_EQ(engine->started(), started + 1);
  engine->answer_all();
  for (auto& answer : answers) {
    ASSERT_TRUE(answer && answer->ok());
    EXPECT_TRUE(**answer);
  }
  EXPECT_EQ(left("s"), 30);
}

TEST_F(AsyncLater, ACallThatMayNotWaitSoLongLooksTheNamespaceUpItself) {
  AsyncLimiter fresh(limiter::open_store(engine, StoreOptions()).value(), fresh_options());
  std::optional<Result<Decision>> patient;
  begin_within(fresh, Millis(60'000), patient);
  std::optional<Result<Decision>> hasty;
  begin_within(fresh, Millis(30'000), hasty);
  ASSERT_EQ(engine->waiting(), 2u);
  engine->answer_one(1);
  while (engine->waiting() > 1) engine->answer_one(1);
  EXPECT_FALSE(patient);
  ASSERT_TRUE(hasty && hasty->ok());
  EXPECT_TRUE(**hasty);
  engine->answer_all();
  ASSERT_TRUE(patient && patient->ok());
  EXPECT_TRUE(**patient);
}

TEST_F(AsyncLater, ALookUpThatFailedInLessTimeIsMadeAnewByACallThatHasMore) {
  AsyncLimiter fresh(limiter::open_store(engine, StoreOptions()).value(), fresh_options());
  std::optional<Result<Decision>> hasty;
  begin_within(fresh, Millis(30'000), hasty);
  std::optional<Result<Decision>> patient;
  begin_within(fresh, Millis(60'000), patient);
  ASSERT_EQ(engine->waiting(), 1u);
  faulty->plan(Fault::unavailable());
  engine->answer_one();
  ASSERT_TRUE(hasty && !hasty->ok());
  EXPECT_EQ(hasty->error().code(), ErrorCode::kUnavailable);
  EXPECT_FALSE(patient);
  engine->answer_all();
  ASSERT_TRUE(patient && patient->ok());
  EXPECT_TRUE(**patient);
}

TEST_F(AsyncLater, ACallThatIsGivenUpStillRegistersTheNamespaceForTheOthers) {
  AsyncLimiter fresh(limiter::open_store(engine, StoreOptions()).value(),
                     LimiterOptions{.name_space = "fresh", .clock = &clock, .seed = seed() + 1});
  AcquireRequest take = request(1);
  take.limits = {Limit::per_hour("rph", 100), Limit::session("s", 50, 1h)};
  std::optional<Result<Decision>> first;
  PendingCall call =
      fresh.acquire(take, [&](Result<Decision> got) { first.emplace(std::move(got)); });
  std::optional<Result<Decision>> second;
  fresh.acquire(take, [&](Result<Decision> got) { second.emplace(std::move(got)); });
  ASSERT_EQ(engine->waiting(), 1u);
  engine->answer_one();  // there is none of that name
  call.cancel();
  engine->answer_all();
  ASSERT_TRUE(first && !first->ok());
  EXPECT_EQ(first->error().code(), ErrorCode::kCancelled);
  ASSERT_TRUE(second && second->ok()) << (second ? second->error().message() : "");
  EXPECT_TRUE(**second);
}

TEST_F(AsyncLater, AStoreThatIsGoneIsNotTakenForADeletedNamespace) {
  std::optional<Result<Decision>> answer;
  begin(answer);
  engine->answer_all();
  const std::string id = namespace_id();
  for (const store::Key& key :
       {schema::bucket_key(id, "user", "api", 0), schema::config_key(id, "user", "api")}) {
    remove_item(key);
  }
  faulty->plan(Fault{.outcome = store::Outcome::kMissing}.on(RequestKind::kGet));
  begin(answer);
  engine->answer_all();
  ASSERT_TRUE(answer && !answer->ok());
  EXPECT_EQ(answer->error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(answer->error().message().find("was deleted"), std::string::npos)
      << answer->error().message();
}

class ThrowingClock final : public Clock {
 public:
  explicit ThrowingClock(Clock& inner) : inner_(inner) {}
  TimePoint now() override {
    if (readings_left >= 0 && readings_left-- == 0) throw std::runtime_error("no time");
    return inner_.now();
  }
  int readings_left = -1;

 private:
  Clock& inner_;
};

TEST_F(AsyncLater, AClockThatThrowsEndsTheCallAndNotTheProgram) {
  ThrowingClock throwing(clock);
  AsyncLimiter fresh(limiter::open_store(engine, StoreOptions()).value(),
                     LimiterOptions{.clock = &throwing, .seed = seed() + 2});
  for (int readings = 0; readings < 3; ++readings) {
    throwing.readings_left = readings;
    std::optional<Result<Decision>> answer;
    fresh.acquire(request(1), [&](Result<Decision> got) { answer.emplace(std::move(got)); });
    engine->answer_all();
    ASSERT_TRUE(answer) << readings;
    const bool threw = throwing.readings_left < 0;
    throwing.readings_left = -1;
    ASSERT_EQ(answer->ok(), !threw) << readings;
    if (!threw) continue;
    const ErrorCode code = answer->error().code();
    EXPECT_TRUE(code == ErrorCode::kUnavailable || code == ErrorCode::kOutcomeUnknown)
        << answer->error().message();
    // "Nothing was applied" must be true.
    if (code == ErrorCode::kUnavailable) {
      EXPECT_EQ(left("s"), 50);
    }
  }
}

TEST_F(AsyncLater, ALeaseThatGoesOutOfScopeIsSettledInTheBackground) {
  std::optional<Result<Decision>> answer;
  begin(answer);
  engine->answer_all();
  ASSERT_TRUE(answer->ok());
  ASSERT_TRUE((*answer)->lease().adjust("rph", Tokens(5)));
  answer.reset();
  ASSERT_EQ(engine->waiting(), 1u);
  engine->answer_all();
  EXPECT_EQ(left("rph"), 85);
  EXPECT_EQ(events.count(EventKind::kSettled), 1);
}

TEST_F(AsyncLater, TroubleOfALeaseOutOfScopeIsReported) {
  std::optional<Result<Decision>> answer;
  begin(answer);
  engine->answer_all();
  ASSERT_TRUE((*answer)->lease().adjust("rph", Tokens(5)));
  faulty->plan(Fault::unavailable().onwards());
  answer.reset();
  engine->answer_all();
  EXPECT_EQ(events.count(EventKind::kLeaseTrouble), 1);
  faulty->heal();
}

TEST_F(AsyncLater, ALeaseWithNothingToWriteEndsAtOnce) {
  std::optional<Result<Decision>> answer;
  begin(answer);
  engine->answer_all();
  int started = engine->started();
  std::optional<Settled> ended;
  limiter->settle(std::move((*answer)->lease()),
                  [&](Settled settled) { ended.emplace(std::move(settled)); });
  ASSERT_TRUE(ended);
  EXPECT_TRUE(ended->status);
  EXPECT_FALSE(ended->lease.open());
  EXPECT_EQ(engine->started(), started);
}

TEST_F(AsyncLater, ASettleThatFailedWithoutATraceMayBeTriedAgain) {
  std::optional<Result<Decision>> answer;
  begin(answer);
  engine->answer_all();
  ASSERT_TRUE((*answer)->lease().adjust("rph", Tokens(5)));
  faulty->plan(Fault::unavailable());
  std::optional<Settled> ended;
  limiter->settle(std::move((*answer)->lease()),
                  [&](Settled settled) { ended.emplace(std::move(settled)); });
  engine->answer_all();
  ASSERT_TRUE(ended);
  ASSERT_FALSE(ended->status);
  EXPECT_EQ(ended->status.error().code(), ErrorCode::kUnavailable);
  ASSERT_TRUE(ended->lease.open());
  Lease again = std::move(ended->lease);
  ended.reset();
  limiter->settle(std::move(again), [&](Settled settled) { ended.emplace(std::move(settled)); });
  engine->answer_all();
  ASSERT_TRUE(ended);
  EXPECT_TRUE(ended->status);
  EXPECT_EQ(left("rph"), 85);
}

TEST_F(AsyncLater, AWrongRequestIsAnsweredBeforeAnythingIsAsked) {
  int started = engine->started();
  std::optional<Result<Decision>> answer;
  limiter->acquire({.entity = "user", .resource = "", .consume = {{"rph", Tokens(1)}}},
                   [&](Result<Decision> got) { answer.emplace(std::move(got)); });
  ASSERT_TRUE(answer);
  ASSERT_FALSE(answer->ok());
  EXPECT_EQ(answer->error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(engine->started(), started);
}

TEST_F(AsyncLater, AnOutageIsPassedByWhoeverAllowsIt) {
  std::optional<Result<Decision>> warm;
  begin(warm);
  engine->answer_all();
  faulty->plan(Fault::unavailable().onwards());
  AcquireRequest open_request = request();
  open_request.on_unavailable = OnUnavailable::kAllow;
  std::optional<Result<Decision>> answer;
  limiter->acquire(std::move(open_request),
                   [&](Result<Decision> got) { answer.emplace(std::move(got)); });
  engine->answer_all();
  ASSERT_TRUE(answer && answer->ok());
  EXPECT_TRUE((*answer)->degraded());
  faulty->heal();
}

TEST_F(AsyncLater, AvailabilityTakesNothing) {
  std::optional<Result<Availability>> answer;
  limiter->available("user", "api", {{"s", Tokens(51)}},
                     [&](Result<Availability> got) { answer.emplace(std::move(got)); });
  engine->answer_all();
  ASSERT_TRUE(answer && answer->ok());
  EXPECT_TRUE((*answer)->never_fits);
  EXPECT_EQ(left("s"), 50);
}

class AsyncAtOnce : public LimiterTest {};
STINT_ON_EVERY_ENGINE(AsyncAtOnce);

TEST_P(AsyncAtOnce, FuturesOfManyCallsAdmitExactlyWhatIsThere) {
  limiter->set_limits(kUser, kApi, {Limit::session("s", 100, 1h)}).value();
  AsyncLimiter async(store(), options());
  std::vector<std::future<Result<Decision>>> futures;
  for (int i = 0; i < 300; ++i) {
    futures.push_back(
        async.acquire({.entity = kUser, .resource = kApi, .consume = {{"s", Tokens(1)}}}));
  }
  int admitted = 0;
  std::vector<Lease> leases;
  for (auto& future : futures) {
    Decision decision = future.get().value();
    if (!decision) continue;
    ++admitted;
    leases.push_back(std::move(decision.lease()));
  }
  EXPECT_EQ(admitted, 100);
  EXPECT_EQ(left("s"), 0);
  for (Lease& lease : leases) EXPECT_TRUE(async.roll_back(std::move(lease)).get().status);
  EXPECT_EQ(left("s"), 100);
}

TEST_P(AsyncAtOnce, TheDestructorWaitsForCallsInFlight) {
  limiter->set_limits(kUser, kApi, {Limit::session("s", 100, 1h)}).value();
  std::atomic<int> answered{0};
  {
    AsyncLimiter async(store(), options());
    for (int i = 0; i < 50; ++i) {
      async.acquire({.entity = kUser, .resource = kApi, .consume = {{"s", Tokens(1)}}},
                    [&](Result<Decision>) { ++answered; });
    }
  }
  EXPECT_EQ(answered, 50);
  EXPECT_EQ(left("s"), 50);
}

TEST_P(AsyncAtOnce, AClockThatThrowsEndsTheCallAndNotTheProgram) {
  limiter->set_limits(kUser, kApi, {Limit::session("s", 100, 1h)}).value();
  ThrowingClock throwing(clock);
  LimiterOptions with = options();
  with.clock = &throwing;
  AsyncLimiter async(store(), with);
  const AcquireRequest take{.entity = kUser, .resource = kApi, .consume = {{"s", Tokens(1)}}};
  throwing.readings_left = 0;
  Result<Decision> broken = async.acquire(take).get();
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().code(), ErrorCode::kOutcomeUnknown) << broken.error().message();
  throwing.readings_left = -1;
  EXPECT_TRUE(async.acquire(take).get().value());
}

TEST(AsyncWorkers, ACancelledCallOfAWorkerLeavesNothingTaken) {
  FakeClock clock{instant("2026-11-01T10:00:00Z")};
  Events events;
  auto engine = std::make_shared<HeldEngine>(store::make_memory_engine());
  AsyncLimiter async(limiter::open_store(engine, StoreOptions()).value(),
                     LimiterOptions{.clock = &clock, .observer = &events}, {.workers = 1});
  async.blocking().set_limits("user", "api", {Limit::session("s", 100, 1h)}).value();
  const AcquireRequest take{.entity = "user", .resource = "api", .consume = {{"s", Tokens(1)}}};
  ASSERT_TRUE(async.acquire(take).get().value());
  events.clear();

  std::promise<Result<Decision>> begun;
  std::promise<Result<Decision>> queued;
  engine->hold();
  PendingCall first =
      async.acquire(take, [&](Result<Decision> got) { begun.set_value(std::move(got)); });
  PendingCall second =
      async.acquire(take, [&](Result<Decision> got) { queued.set_value(std::move(got)); });
  engine->wait_until_held();
  first.cancel();
  second.cancel();
  engine->release();
  for (std::promise<Result<Decision>>* answer : {&begun, &queued}) {
    Result<Decision> got = answer->get_future().get();
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().code(), ErrorCode::kCancelled);
  }
  EXPECT_EQ(events.count(EventKind::kAdmitted), 0);
  EXPECT_EQ(events.count(EventKind::kCallFailed), 2);
  EXPECT_EQ(events.count(EventKind::kRolledBack), 1);
  Availability seen = async.blocking().available("user", "api").value();
  EXPECT_EQ(seen.limits.at(0).remaining.count(), 99'000);
}

}  // namespace
}  // namespace stint::test
