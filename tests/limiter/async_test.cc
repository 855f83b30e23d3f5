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
#include "tests/limiter/support.h"
#include "tests/support/seed.h"

namespace stint::test {
namespace {

/// Keeps what it was asked for until `answer_one` carries it out on the test's own thread.
class LaterEngine final : public store::Engine {
 public:
  explicit LaterEngine(std::shared_ptr<store::Engine> inner) : inner_(std::move(inner)) {}

  const store::Capabilities& capabilities() const noexcept override {
    return inner_->capabilities();
  }
  void execute(std::span<store::Call> calls) noexcept override { inner_->execute(calls); }
  void start(std::span<store::Call> calls, std::chrono::steady_clock::time_point /*deadline*/,
             store::Completion& completion) noexcept override {
    waiting_.push_back({calls, &completion});
    ++started_;
  }

  std::size_t waiting() const { return waiting_.size(); }
  int started() const { return started_; }
  /// Answers one of the hand-overs, the first unless said otherwise.
  void answer_one(std::size_t which = 0) {
    auto place = waiting_.begin() + static_cast<std::ptrdiff_t>(which);
    Waiting next = *place;
    waiting_.erase(place);
    inner_->execute(next.calls);
    next.completion->answered();
  }
  void answer_all() {
    while (!waiting_.empty()) answer_one();
  }

 private:
  struct Waiting {
    std::span<store::Call> calls;
    store::Completion* completion;
  };
  std::shared_ptr<store::Engine> inner_;
  std::deque<Waiting> waiting_;
  int started_ = 0;
};

store::Capabilities across_a_network() {
  store::Capabilities capabilities;
  capabilities.shared_writers = true;
  capabilities.partition_write_ceiling = 1000;
  capabilities.burst_tolerance_divisor = 16;
  return capabilities;
}

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
  /// Begins an acquire and keeps what it answers.
  PendingCall begin(std::optional<Result<Decision>>& answer, std::int64_t tokens = 10) {
    return limiter->acquire(request(tokens),
                            [&answer](Result<Decision> got) { answer.emplace(std::move(got)); });
  }

  FakeClock clock{instant("2026-11-01T10:00:00Z")};
  std::shared_ptr<FaultyStore> faulty =
      std::make_shared<FaultyStore>(store::make_memory_engine(across_a_network()));
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
  auto execute = [this](store::RequestRef request) {
    store::Call call;
    call.request = request;
    faulty->execute(std::span<store::Call>(&call, 1));
    return std::move(call.reply);
  };
  store::Key by_name = schema::namespace_name_key("default");
  store::GetRequest get(by_name, store::Consistency::kStrong);
  store::ImagePtr record = std::get<store::GetReply>(execute(&get)).image;
  ASSERT_TRUE(record);
  std::string id = schema::decode_namespace(*record)->id;
  for (const store::Key& key :
       {by_name, schema::bucket_key(id, "user", "api", 0), schema::config_key(id, "user", "api")}) {
    store::DeleteRequest remove(key, nullptr);
    execute(&remove);
  }

  for (int i = 0; i < 2; ++i) {
    begin(answer);
    engine->answer_all();
    ASSERT_TRUE(answer && !answer->ok());
    EXPECT_EQ(answer->error().code(), ErrorCode::kNotFound) << answer->error().message();
    EXPECT_NE(answer->error().reason().find("was deleted"), std::string::npos);
  }
  EXPECT_FALSE(std::get<store::GetReply>(execute(&get)).image);
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

TEST_F(AsyncLater, ACancelledCallOfUnknownOutcomeSaysSo) {
  std::optional<Result<Decision>> warm;
  begin(warm);
  engine->answer_all();
  std::optional<Result<Decision>> answer;
  PendingCall call = begin(answer);
  faulty->plan(Fault::request_lost().on(RequestKind::kUpdate));
  call.cancel();
  engine->answer_all();
  ASSERT_TRUE(answer);
  ASSERT_FALSE(answer->ok());
  EXPECT_EQ(answer->error().code(), ErrorCode::kOutcomeUnknown);
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
}

}  // namespace
}  // namespace stint::test
