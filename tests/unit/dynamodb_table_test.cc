#include "store/dynamodb/table.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace stint::store::dynamodb {
namespace {

using namespace std::chrono_literals;

CallTrouble trouble(ServiceTrouble kind) {
  CallTrouble trouble;
  trouble.service.emplace();
  trouble.service->trouble = kind;
  trouble.service->message = "as it says";
  return trouble;
}

CallTrouble reply_lost() {
  CallTrouble trouble;
  trouble.maybe_applied = true;
  trouble.message = "the reply was lost";
  return trouble;
}

// Answers in a fixed order, each for the operation that it is meant for.
class ScriptedClient : public Client {
 public:
  void expect(std::string operation, CallResult answer) {
    script_.emplace_back(std::move(operation), std::move(answer));
  }

  void start(std::string_view operation, std::string body, Effect effect, Steady::time_point,
             Done done) override {
    if (script_.empty()) {
      ADD_FAILURE() << "not expected: " << operation;
      done(trouble(ServiceTrouble::kOther));
      return;
    }
    auto [wanted, answer] = std::move(script_.front());
    script_.pop_front();
    EXPECT_EQ(operation, wanted);
    EXPECT_EQ(effect == Effect::kRead, wanted.rfind("Describe", 0) == 0) << operation;
    EXPECT_NE(body.find("\"limits\""), std::string::npos);
    done(std::move(answer));
  }

  bool is_needed_thread() const noexcept override { return false; }
  TransportStats stats() const override { return {}; }

  bool all_asked() const { return script_.empty(); }

 private:
  std::deque<std::pair<std::string, CallResult>> script_;
};

std::string with_status(std::string body, const std::string& status) {
  return R"({"Table":{"TableStatus":")" + status + "\"," + body.substr(1) + "}";
}

class TableLife : public testing::Test {
 protected:
  void describes(const std::string& status, IndexLayout layout = IndexLayout::kCompatible) {
    client.expect("DescribeTable", with_status(create_table_body("limits", layout), status));
  }
  void describes_nothing() {
    client.expect("DescribeTable", trouble(ServiceTrouble::kNoSuchTable));
  }
  void describes_without(const std::string& text) {
    std::string body = with_status(create_table_body("limits", IndexLayout::kCompatible), "ACTIVE");
    std::size_t at = body.find(text);
    ASSERT_NE(at, std::string::npos);
    body.replace(at, text.size(), "\"Left\":true");
    client.expect("DescribeTable", body);
  }
  void expires(const std::string& status) {
    std::string attribute = status == "DISABLED" ? "" : R"(,"AttributeName":"ttl")";
    client.expect("DescribeTimeToLive", R"({"TimeToLiveDescription":{"TimeToLiveStatus":")" +
                                            status + "\"" + attribute + "}}");
  }
  void accepts(const std::string& operation) { client.expect(operation, std::string("{}")); }

  TableTask task() {
    TableTask task{client, "limits", start + 10min, {}, {}};
    task.pace.now = [this] { return now; };
    task.pace.wait_until = [this](Steady::time_point at) {
      EXPECT_GT(at, now);
      pauses.push_back(std::chrono::duration_cast<std::chrono::milliseconds>(at - now));
      now = at;
    };
    task.progress = [this](std::string_view state) { states.emplace_back(state); };
    return task;
  }
  Result<bool> complete(IndexLayout layout = IndexLayout::kCompatible) {
    return complete_table(task(), layout, "ttl");
  }

  ScriptedClient client;
  Steady::time_point start = Steady::time_point(1h);
  Steady::time_point now = start;
  std::vector<std::chrono::milliseconds> pauses;
  std::vector<std::string> states;
};

void expect_done(const Result<bool>& result, bool changed) {
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(*result, changed);
}

void expect_error(const Status& status, ErrorCode code) {
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), code) << status.error().message();
}
template <typename T>
void expect_error(const Result<T>& result, ErrorCode code) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), code) << result.error().message();
}

TEST_F(TableLife, CreationWaitsForTableAndExpiry) {
  describes_nothing();
  accepts("CreateTable");
  describes_nothing();  // descriptions lag behind
  describes("CREATING");
  describes("CREATING");
  describes("ACTIVE");
  expires("DISABLED");
  accepts("UpdateTimeToLive");
  expect_done(complete(), true);
  EXPECT_TRUE(client.all_asked());
  EXPECT_EQ(states, (std::vector<std::string>{"creating the table", "table not yet there",
                                              "table CREATING", "switching expiry on"}));
  ASSERT_EQ(pauses.size(), 3);
  EXPECT_LT(pauses[0], pauses[1]);
  EXPECT_LT(pauses[1], pauses[2]);
}

TEST_F(TableLife, AWholeTableIsLeftAlone) {
  describes("ACTIVE");
  expires("ENABLED");
  expect_done(complete(), false);
  EXPECT_TRUE(client.all_asked());
}

TEST_F(TableLife, ATableThatSomebodyElseIsCreatingIsAwaited) {
  describes_nothing();
  client.expect("CreateTable", trouble(ServiceTrouble::kTableBusy));
  describes("ACTIVE");
  expires("ENABLING");
  expect_done(complete(), true);
  EXPECT_TRUE(client.all_asked());
}

TEST_F(TableLife, ALostReplyToTheCreationIsNoError) {
  describes_nothing();
  client.expect("CreateTable", reply_lost());
  describes("ACTIVE");
  expires("ENABLED");
  expect_done(complete(), true);
  EXPECT_TRUE(client.all_asked());
}

TEST_F(TableLife, ALostCreationIsSentAgain) {
  describes_nothing();
  client.expect("CreateTable", reply_lost());
  describes_nothing();
  client.expect("CreateTable", reply_lost());
  describes_nothing();
  accepts("CreateTable");
  describes_nothing();
  describes("ACTIVE");
  expires("ENABLED");
  expect_done(complete(), true);
  EXPECT_TRUE(client.all_asked());
  EXPECT_EQ(states, (std::vector<std::string>{"creating the table", "table not yet there"}));
}

TEST_F(TableLife, ACreationThatArrivedUnheardIsTaken) {
  describes_nothing();
  client.expect("CreateTable", reply_lost());
  describes_nothing();  // descriptions lag behind
  client.expect("CreateTable", trouble(ServiceTrouble::kTableBusy));
  describes("CREATING");
  describes("ACTIVE");
  expires("ENABLED");
  expect_done(complete(), true);
  EXPECT_TRUE(client.all_asked());
}

TEST_F(TableLife, ARefusedCreationIsAnError) {
  describes_nothing();
  client.expect("CreateTable", trouble(ServiceTrouble::kAccessDenied));
  Result<bool> result = complete();
  expect_error(result, ErrorCode::kAccessDenied);
  EXPECT_EQ(result.error().reason().rfind("creating the table: ", 0), 0);
  EXPECT_NE(result.error().reason().find("as it says"), std::string::npos);
}

TEST_F(TableLife, WhatIsMissingIsMade) {
  describes_without(R"("StreamEnabled":true)");
  expires("DISABLED");
  accepts("UpdateTable");
  describes_without(R"("StreamEnabled":true)");  // not shown yet
  describes("UPDATING");
  describes("ACTIVE");
  accepts("UpdateTimeToLive");
  expect_done(complete(), true);
  EXPECT_TRUE(client.all_asked());
}

TEST_F(TableLife, AMissingIndexIsAddedWhenTheTableIsFree) {
  describes_without(R"("IndexName":"GSI3")");
  expires("ENABLED");
  client.expect("UpdateTable", trouble(ServiceTrouble::kTableBusy));
  describes_without(R"("IndexName":"GSI3")");
  accepts("UpdateTable");
  describes_without(R"("IndexName":"GSI3")");
  describes("UPDATING");
  describes("ACTIVE");
  expect_done(complete(), true);
  EXPECT_TRUE(client.all_asked());
}

TEST_F(TableLife, ATableOfAnotherDefinitionIsNotTouched) {
  // Expiry could be switched on, but that would not make it a table of the wanted layout.
  describes("ACTIVE", IndexLayout::kKeysOnly);
  expires("DISABLED");
  Result<bool> result = complete(IndexLayout::kCompatible);
  expect_error(result, ErrorCode::kConflict);
  EXPECT_NE(result.error().reason().find("GSI1 projects KEYS_ONLY"), std::string::npos);
  EXPECT_TRUE(client.all_asked());
}

TEST_F(TableLife, ATableThatIsBeingDeletedIsNotWaitedFor) {
  describes("DELETING");
  expect_error(complete(), ErrorCode::kConflict);
}

TEST_F(TableLife, ExpiryThatIsBeingSwitchedOffIsSwitchedOnAfterwards) {
  describes("ACTIVE");
  expires("DISABLING");
  client.expect("UpdateTimeToLive", trouble(ServiceTrouble::kValidation));
  expires("DISABLING");
  client.expect("UpdateTimeToLive", trouble(ServiceTrouble::kValidation));
  expires("DISABLING");
  accepts("UpdateTimeToLive");
  expect_done(complete(), true);
  EXPECT_TRUE(client.all_asked());
}

TEST_F(TableLife, ExpirySwitchedOnByALostCallCounts) {
  describes("ACTIVE");
  expires("DISABLED");
  client.expect("UpdateTimeToLive", reply_lost());
  expires("ENABLING");
  expect_done(complete(), true);
  EXPECT_TRUE(client.all_asked());
}

TEST_F(TableLife, TheDeadlineEndsTheWait) {
  describes_nothing();
  accepts("CreateTable");
  for (int i = 0; i < 200; ++i) describes("CREATING");
  Result<bool> result = complete();
  expect_error(result, ErrorCode::kUnavailable);
  EXPECT_NE(result.error().reason().find("table CREATING"), std::string::npos);
  EXPECT_LE(now, start + 10min);
  EXPECT_FALSE(client.all_asked());
  EXPECT_EQ(pauses.back(), 5s);
}

TEST_F(TableLife, AnAnswerThatCannotBeUnderstoodIsAnError) {
  client.expect("DescribeTable", std::string("<html>"));
  expect_error(complete(), ErrorCode::kCorrupt);
}

TEST_F(TableLife, DeletionWaitsUntilTheTableIsGone) {
  describes("ACTIVE");
  accepts("DeleteTable");
  describes("DELETING");
  describes("DELETING");
  describes_nothing();
  Status removed = remove_table(task());
  EXPECT_TRUE(removed);
  EXPECT_TRUE(client.all_asked());
}

TEST_F(TableLife, AnAcceptedDeletionIsNotSentAgain) {
  describes("ACTIVE");
  accepts("DeleteTable");
  // What was read before the deletion, or a table that somebody else has made since.
  describes("ACTIVE");
  describes("ACTIVE");
  describes_nothing();
  EXPECT_TRUE(remove_table(task()));
  EXPECT_TRUE(client.all_asked());
}

TEST_F(TableLife, ADeletionBySomebodyElseIsNotSentAgain) {
  describes("DELETING");
  // What was read before the deletion, or a table that somebody has made since.
  describes("ACTIVE");
  describes_nothing();
  EXPECT_TRUE(remove_table(task()));
  EXPECT_TRUE(client.all_asked());
}

TEST_F(TableLife, ALostDeletionThatIsUnderWayIsNotSentAgain) {
  describes("ACTIVE");
  client.expect("DeleteTable", reply_lost());
  describes("DELETING");
  describes("ACTIVE");
  describes_nothing();
  EXPECT_TRUE(remove_table(task()));
  EXPECT_TRUE(client.all_asked());
}

TEST_F(TableLife, DeletionWaitsForATableThatIsBusy) {
  describes("CREATING");
  client.expect("DeleteTable", trouble(ServiceTrouble::kTableBusy));
  describes("ACTIVE");
  client.expect("DeleteTable", reply_lost());
  describes_nothing();
  Status removed = remove_table(task());
  EXPECT_TRUE(removed);
  EXPECT_TRUE(client.all_asked());
}

TEST_F(TableLife, DeletionOfNothingIsNotFound) {
  describes_nothing();
  expect_error(remove_table(task()), ErrorCode::kNotFound);
}

TEST_F(TableLife, ARefusedDeletionIsAnError) {
  describes("ACTIVE");
  client.expect("DeleteTable", trouble(ServiceTrouble::kValidation));
  Status removed = remove_table(task());
  expect_error(removed, ErrorCode::kUnavailable);
  EXPECT_EQ(removed.error().reason().rfind("deleting the table: ", 0), 0);
}

TEST(TableErrors, FollowTheKindOfTrouble) {
  auto code = [](const CallTrouble& trouble) { return error_of(trouble, "limits", "x").code(); };
  EXPECT_EQ(code(trouble(ServiceTrouble::kThrottledByAccount)), ErrorCode::kThrottled);
  EXPECT_EQ(code(trouble(ServiceTrouble::kTableBusy)), ErrorCode::kConflict);
  EXPECT_EQ(code(trouble(ServiceTrouble::kNoSuchTable)), ErrorCode::kNotFound);
  EXPECT_EQ(code(trouble(ServiceTrouble::kExpiredCredentials)), ErrorCode::kAccessDenied);
  EXPECT_EQ(code(trouble(ServiceTrouble::kServerFault)), ErrorCode::kUnavailable);
  EXPECT_EQ(code(reply_lost()), ErrorCode::kOutcomeUnknown);
  EXPECT_EQ(code(CallTrouble{}), ErrorCode::kUnavailable);
  EXPECT_EQ(error_of(reply_lost(), "limits", "x").reason(), "x: the reply was lost");
}

}  // namespace
}  // namespace stint::store::dynamodb
