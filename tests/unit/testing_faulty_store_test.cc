#include "testing/faulty_store.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "store/memory/memory_engine.h"
#include "testing/fake_clock.h"
#include "tests/support/table.h"

namespace stint::test {
namespace {

using store::Key;
using store::Outcome;

const Key kKey("p", "s");

class FaultyStoreTest : public testing::Test {
 protected:
  store::WriteReply add(std::int64_t n) {
    store::UpdateProgram count = program({{store::Change::kAdd, store::intern("n"), number(0)}});
    return table_.update(kKey, count, {{n}, {}});
  }
  std::int64_t stored() {
    store::ImagePtr image = inner_.image(kKey);
    return image ? *image->number(store::intern("n")) : 0;
  }

  std::shared_ptr<store::Engine> engine_ = store::make_memory_engine();
  std::shared_ptr<FaultyStore> faulty_ = std::make_shared<FaultyStore>(engine_);
  Table inner_{engine_};
  Table table_{faulty_};
};

TEST_F(FaultyStoreTest, LostRequestIsNotApplied) {
  faulty_->plan(Fault::request_lost());
  EXPECT_EQ(add(1).outcome, Outcome::kUnknown);
  EXPECT_EQ(stored(), 0);
  EXPECT_EQ(add(1).outcome, Outcome::kOk);
  EXPECT_EQ(stored(), 1);
}

TEST_F(FaultyStoreTest, LostReplyIsApplied) {
  faulty_->plan(Fault::reply_lost());
  store::WriteReply reply = add(1);
  EXPECT_EQ(reply.outcome, Outcome::kUnknown);
  EXPECT_FALSE(reply.image);
  EXPECT_EQ(stored(), 1);
}

TEST_F(FaultyStoreTest, TwofoldDeliveryIsAppliedTwiceAndCounted) {
  faulty_->plan(Fault::delivered_twice());
  EXPECT_EQ(add(1).outcome, Outcome::kOk);
  EXPECT_EQ(stored(), 2);
  EXPECT_EQ(faulty_->requests(), 1);
  EXPECT_EQ(faulty_->cost().write_units, 2);
  ASSERT_EQ(faulty_->log().size(), 1u);
  EXPECT_EQ(faulty_->log()[0].deliveries, 2);
}

TEST_F(FaultyStoreTest, RefusalsApplyNothing) {
  faulty_->plan(Fault::throttled().at(1));
  faulty_->plan(Fault::unavailable().at(2));
  faulty_->plan(Fault::conflict().at(3));
  EXPECT_EQ(add(1).outcome, Outcome::kThrottled);
  EXPECT_EQ(add(1).outcome, Outcome::kUnavailable);
  EXPECT_EQ(add(1).outcome, Outcome::kConflict);
  EXPECT_EQ(add(1).outcome, Outcome::kOk);
  EXPECT_EQ(stored(), 1);
  EXPECT_FALSE(faulty_->pending());
}

TEST_F(FaultyStoreTest, TheNthOfItsKind) {
  faulty_->plan(Fault::unavailable().on(RequestKind::kUpdate, 2));
  EXPECT_EQ(table_.get(kKey).outcome, Outcome::kOk);
  EXPECT_EQ(add(1).outcome, Outcome::kOk);
  EXPECT_EQ(table_.get(kKey).outcome, Outcome::kOk);
  EXPECT_TRUE(faulty_->pending());
  EXPECT_EQ(add(1).outcome, Outcome::kUnavailable);
  EXPECT_EQ(add(1).outcome, Outcome::kOk);
}

TEST_F(FaultyStoreTest, FromThenOnUntilHealed) {
  faulty_->plan(Fault::throttled().at(2).onwards());
  EXPECT_EQ(add(1).outcome, Outcome::kOk);
  EXPECT_EQ(add(1).outcome, Outcome::kThrottled);
  EXPECT_EQ(table_.get(kKey).outcome, Outcome::kThrottled);
  EXPECT_FALSE(faulty_->pending());
  faulty_->heal();
  EXPECT_EQ(add(1).outcome, Outcome::kOk);
  EXPECT_EQ(stored(), 2);
}

TEST_F(FaultyStoreTest, TransactionsAreCancelledWithReasons) {
  faulty_->plan(Fault::conflict().on(RequestKind::kTransact));
  Key other("q", "s");
  store::TransactReply reply =
      table_.transact({store::DeleteRequest(kKey, nullptr), store::DeleteRequest(other, nullptr)});
  EXPECT_EQ(reply.outcome, Outcome::kConflict);
  ASSERT_EQ(reply.reasons.size(), 2u);
  EXPECT_EQ(reply.reasons[0].outcome, Outcome::kConflict);
  EXPECT_EQ(reply.reasons[1].outcome, Outcome::kOk);
}

TEST_F(FaultyStoreTest, UnprocessedKeys) {
  add(1);
  faulty_->plan(Fault::keys_unprocessed(1));
  store::BatchGetReply reply = table_.batch_get({Key("a", "s"), kKey});
  EXPECT_EQ(reply.outcome, Outcome::kOk);
  EXPECT_EQ(reply.unprocessed, std::vector<std::size_t>{1});
  EXPECT_FALSE(reply.images[1]);
  EXPECT_TRUE(table_.batch_get({Key("a", "s"), kKey}).images[1]);
}

TEST_F(FaultyStoreTest, InsideABatchTheOthersGoThroughInOrder) {
  faulty_->plan(Fault::reply_lost().at(2));
  store::UpdateProgram count = program({{store::Change::kAdd, store::intern("n"), number(0)}});
  Values one{{1}, {}};
  store::UpdateRequest request(kKey, count, one.params());
  std::vector<store::Call> calls(3, store::Call{&request, {}});
  faulty_->execute(calls);
  auto reply = [&](std::size_t i) { return std::get<store::WriteReply>(calls[i].reply); };
  EXPECT_EQ(reply(0).image->number(store::intern("n")), 1);
  EXPECT_EQ(reply(1).outcome, Outcome::kUnknown);
  EXPECT_EQ(reply(2).image->number(store::intern("n")), 3);
}

TEST_F(FaultyStoreTest, CountsAndLogs) {
  add(1);
  add(1);
  table_.get(kKey);
  table_.query(store::Index::kGsi4, "list", "pre");
  table_.remove(kKey);
  table_.scan();
  EXPECT_EQ(faulty_->requests(), 6);
  EXPECT_EQ(faulty_->requests(RequestKind::kScan), 1);
  EXPECT_EQ(faulty_->requests(RequestKind::kUpdate), 2);
  EXPECT_EQ(faulty_->requests(RequestKind::kPut), 0);
  EXPECT_EQ(faulty_->cost(), (store::Cost{2, 3, 0}));
  std::vector<LoggedCall> log = faulty_->log();
  ASSERT_EQ(log.size(), 6u);
  EXPECT_EQ(log[2].kind, RequestKind::kGet);
  EXPECT_EQ(log[2].pk, "p");
  EXPECT_EQ(log[3].kind, RequestKind::kQuery);
  EXPECT_EQ(log[3].pk, "list");
  EXPECT_EQ(log[3].sk, "pre");
  EXPECT_EQ(log[5].kind, RequestKind::kScan);
  EXPECT_EQ(log[5].pk, "");
  faulty_->reset_counters();
  EXPECT_EQ(faulty_->requests(), 0);
  EXPECT_EQ(faulty_->cost(), store::Cost());
  EXPECT_TRUE(faulty_->log().empty());
}

TEST(FakeClock, ShowsWhatItIsTold) {
  FakeClock clock(TimePoint(Millis(1000)));
  EXPECT_EQ(clock.now(), TimePoint(Millis(1000)));
  clock.advance(Millis(5));
  EXPECT_EQ(clock.now(), TimePoint(Millis(1005)));
  clock.advance(Millis(-10));
  EXPECT_EQ(clock.now(), TimePoint(Millis(995)));
  clock.set(TimePoint(Millis(7)));
  EXPECT_EQ(clock.now(), TimePoint(Millis(7)));
}

}  // namespace
}  // namespace stint::test
