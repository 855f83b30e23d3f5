// What the service says instead of a result, and what it means for the caller.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "store/dynamodb/reply_of_error.h"
#include "store/dynamodb/wire.h"
#include "tests/support/table.h"

namespace stint::store::dynamodb {
namespace {

using Trouble = ServiceTrouble;

const Key kKey("p", "s");
const std::string kItem = R"({"PK":{"S":"p"},"SK":{"S":"s"},"n":{"N":"7"}})";

std::string error_body(const std::string& code, const std::string& text,
                       const std::string& more = std::string()) {
  return R"({"__type":"com.amazonaws.dynamodb.v20120810#)" + code + R"(","message":")" + text +
         "\"" + more + "}";
}

ServiceError read(int status, const std::string& code, const std::string& text = "text",
                  const std::string& more = std::string()) {
  return read_error(status, error_body(code, text, more));
}

struct CodeCase {
  int status;
  const char* code;
  const char* text;
  Trouble trouble;
  Outcome of_read;
  Outcome of_write;
};

const std::vector<CodeCase>& code_cases() {
  static const std::vector<CodeCase> cases = {
      {400, "ConditionalCheckFailedException", "The conditional request failed",
       Trouble::kConditionFailed, Outcome::kConditionFailed, Outcome::kConditionFailed},
      {400, "TransactionConflictException", "Transaction is ongoing for the item",
       Trouble::kTransactionConflict, Outcome::kConflict, Outcome::kConflict},
      {400, "ReplicatedWriteConflictException", "x", Trouble::kTransactionConflict,
       Outcome::kConflict, Outcome::kConflict},
      {400, "TransactionInProgressException",
       "Transaction with the given request token is already in progress.",
       Trouble::kTransactionInProgress, Outcome::kUnavailable, Outcome::kUnknown},
      {400, "IdempotentParameterMismatchException", "x", Trouble::kTokenMismatch, Outcome::kInvalid,
       Outcome::kInvalid},
      {400, "ProvisionedThroughputExceededException",
       "The level of configured provisioned throughput for the table was exceeded. Consider "
       "increasing your provisioning level with the UpdateTable API.",
       Trouble::kThrottledByTable, Outcome::kThrottled, Outcome::kThrottled},
      {400, "ProvisionedThroughputExceededException", "", Trouble::kThrottledByTable,
       Outcome::kThrottled, Outcome::kThrottled},
      {400, "ProvisionedThroughputExceededException",
       "Exceeded the throughput limits of a Partition of the table", Trouble::kThrottledByPartition,
       Outcome::kThrottled, Outcome::kThrottled},
      {400, "ThrottlingException", "Rate of requests exceeds the allowed throughput.",
       Trouble::kThrottledByAccount, Outcome::kThrottled, Outcome::kThrottled},
      {400, "ThrottlingException",
       "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically "
       "scaling your table or index so please try again shortly.",
       Trouble::kThrottledByTable, Outcome::kThrottled, Outcome::kThrottled},
      {400, "Throttling", "x", Trouble::kThrottledByAccount, Outcome::kThrottled,
       Outcome::kThrottled},
      {400, "RequestLimitExceeded",
       "Throughput exceeds the current throughput limit for your account.",
       Trouble::kThrottledByAccount, Outcome::kThrottled, Outcome::kThrottled},
      {400, "LimitExceededException", "Subscriber limit exceeded: too many control operations",
       Trouble::kThrottledByAccount, Outcome::kThrottled, Outcome::kThrottled},
      {400, "ValidationException", "One or more parameter values were invalid",
       Trouble::kValidation, Outcome::kInvalid, Outcome::kInvalid},
      {400, "ValidationException", "Item size has exceeded the maximum allowed size",
       Trouble::kTooLarge, Outcome::kInvalid, Outcome::kInvalid},
      {400, "ValidationException", "Item size to update has exceeded the maximum allowed size",
       Trouble::kTooLarge, Outcome::kInvalid, Outcome::kInvalid},
      {400, "ValidationException", "Transaction request cannot be larger than 4 MB",
       Trouble::kTooLarge, Outcome::kInvalid, Outcome::kInvalid},
      {400, "SerializationException", "x", Trouble::kValidation, Outcome::kInvalid,
       Outcome::kInvalid},
      {400, "UnknownOperationException", "x", Trouble::kValidation, Outcome::kInvalid,
       Outcome::kInvalid},
      {400, "ItemCollectionSizeLimitExceededException", "x", Trouble::kTooLarge, Outcome::kInvalid,
       Outcome::kInvalid},
      {413, "RequestEntityTooLarge", "x", Trouble::kTooLarge, Outcome::kInvalid, Outcome::kInvalid},
      {400, "AccessDeniedException", "User is not authorized to perform: dynamodb:PutItem",
       Trouble::kAccessDenied, Outcome::kDenied, Outcome::kDenied},
      {400, "ExpiredTokenException", "The security token included in the request is expired",
       Trouble::kExpiredCredentials, Outcome::kDenied, Outcome::kDenied},
      {403, "ExpiredToken", "x", Trouble::kExpiredCredentials, Outcome::kDenied, Outcome::kDenied},
      {400, "UnrecognizedClientException", "The security token included in the request is invalid.",
       Trouble::kUnknownCredentials, Outcome::kDenied, Outcome::kDenied},
      {403, "InvalidClientTokenId", "x", Trouble::kUnknownCredentials, Outcome::kDenied,
       Outcome::kDenied},
      {400, "InvalidSignatureException",
       "The request signature we calculated does not match the signature you provided.",
       Trouble::kUnknownCredentials, Outcome::kDenied, Outcome::kDenied},
      {400, "InvalidSignatureException",
       "Signature expired: 20261201T040000Z is now earlier than 20261201T041500Z",
       Trouble::kClockSkewed, Outcome::kDenied, Outcome::kDenied},
      {400, "InvalidSignatureException",
       "Signature not yet current: 20261201T050000Z is still later than 20261201T044000Z",
       Trouble::kClockSkewed, Outcome::kDenied, Outcome::kDenied},
      {403, "RequestTimeTooSkewed", "x", Trouble::kClockSkewed, Outcome::kDenied, Outcome::kDenied},
      {400, "RequestExpired", "x", Trouble::kClockSkewed, Outcome::kDenied, Outcome::kDenied},
      {400, "MissingAuthenticationTokenException", "Request is missing Authentication Token",
       Trouble::kUnknownCredentials, Outcome::kDenied, Outcome::kDenied},
      {400, "IncompleteSignatureException", "x", Trouble::kUnknownCredentials, Outcome::kDenied,
       Outcome::kDenied},
      {400, "ResourceNotFoundException", "Requested resource not found", Trouble::kNoSuchTable,
       Outcome::kMissing, Outcome::kMissing},
      {400, "ValidationException", "The table does not have the specified index: GSI4",
       Trouble::kNoSuchIndex, Outcome::kUnavailable, Outcome::kUnavailable},
      {400, "ValidationException", "Cannot read from backfilling global secondary index: GSI4",
       Trouble::kNoSuchIndex, Outcome::kUnavailable, Outcome::kUnavailable},
      {400, "ResourceInUseException", "x", Trouble::kTableBusy, Outcome::kUnavailable,
       Outcome::kUnavailable},
      {500, "InternalServerError", "The request processing has failed", Trouble::kServerFault,
       Outcome::kUnavailable, Outcome::kUnknown},
      {500, "InternalFailure", "x", Trouble::kServerFault, Outcome::kUnavailable,
       Outcome::kUnknown},
      {503, "ServiceUnavailable", "x", Trouble::kUnavailable, Outcome::kUnavailable,
       Outcome::kUnavailable},
      // Something in front of the service may have passed the request on.
      {503, "NeverHeardOf", "x", Trouble::kServerFault, Outcome::kUnavailable, Outcome::kUnknown},
      {502, "NeverHeardOf", "x", Trouble::kServerFault, Outcome::kUnavailable, Outcome::kUnknown},
      {429, "NeverHeardOf", "x", Trouble::kThrottledByAccount, Outcome::kThrottled,
       Outcome::kThrottled},
      {400, "NeverHeardOf", "x", Trouble::kOther, Outcome::kUnavailable, Outcome::kUnavailable},
  };
  return cases;
}

TEST(WireError, CodesAreToldApart) {
  for (const CodeCase& one : code_cases()) {
    ServiceError error = read(one.status, one.code, one.text);
    EXPECT_EQ(error.trouble, one.trouble) << one.code << ": " << one.text;
    EXPECT_EQ(error.status, one.status);
    EXPECT_EQ(error.code, one.code);
    EXPECT_EQ(error.message, one.text);
    EXPECT_TRUE(error.reasons.empty());
  }
}

TEST(WireError, CodesAreFoundHoweverTheyAreSpelt) {
  for (const char* type :
       {"ValidationException", "com.amazon.coral.validate#ValidationException",
        "aws.x#y#ValidationException", "ValidationException:http://internal.example/",
        "a#ValidationException:http://internal.example/#b"}) {
    ServiceError error =
        read_error(400, std::string(R"({"__type":")") + type + R"(","Message":"upper case"})");
    if (std::string(type).find("#b") != std::string::npos) continue;
    EXPECT_EQ(error.trouble, Trouble::kValidation) << type;
    EXPECT_EQ(error.code, "ValidationException") << type;
    EXPECT_EQ(error.message, "upper case");
  }
}

TEST(WireError, ThrottlingReasonsSayMoreThanTexts) {
  struct Case {
    const char* reason;
    Trouble trouble;
  };
  for (const Case& one :
       std::vector<Case>{{"TableWriteKeyRangeThroughputExceeded", Trouble::kThrottledByPartition},
                         {"IndexReadKeyRangeThroughputExceeded", Trouble::kThrottledByPartition},
                         {"TableReadProvisionedThroughputExceeded", Trouble::kThrottledByTable},
                         {"IndexWriteProvisionedThroughputExceeded", Trouble::kThrottledByTable},
                         {"TableWriteMaxOnDemandThroughputExceeded", Trouble::kThrottledByTable},
                         {"TableWriteAccountLimitExceeded", Trouble::kThrottledByAccount}}) {
    for (const char* code : {"ProvisionedThroughputExceededException", "ThrottlingException",
                             "RequestLimitExceeded"}) {
      std::string more = std::string(R"(,"ThrottlingReasons":[{"reason":")") + one.reason +
                         R"(","resource":"arn:aws:dynamodb:eu-west-1:1:table/t"}])";
      EXPECT_EQ(read(400, code, "table", more).trouble, one.trouble) << one.reason;
    }
  }
  EXPECT_EQ(read(400, "ProvisionedThroughputExceededException", "",
                 R"(,"ThrottlingReasons":[{"reason":"SomethingNew"}])")
                .trouble,
            Trouble::kThrottledByTable);
  EXPECT_EQ(read(400, "ValidationException", "",
                 R"(,"ThrottlingReasons":[{"reason":"TableWriteAccountLimitExceeded"}])")
                .trouble,
            Trouble::kValidation);
}

TEST(WireError, OldItemOfAFailedCondition) {
  ServiceError failed = read(400, "ConditionalCheckFailedException", "x", ",\"Item\":" + kItem);
  ASSERT_TRUE(failed.old_item);
  EXPECT_EQ(failed.old_item->number(intern("n")), 7);
  EXPECT_FALSE(read(400, "ConditionalCheckFailedException").old_item);
  EXPECT_FALSE(
      read(400, "ConditionalCheckFailedException", "x", R"(,"Item":{"PK":{"S":"p"}})").old_item)
      << "an item that cannot be read is none, but the condition did fail";
  EXPECT_FALSE(read(400, "ValidationException", "x", ",\"Item\":" + kItem).old_item);
}

TEST(WireError, ReasonsOfACancelledTransaction) {
  ServiceError error = read_error(
      400,
      R"({"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",)"
      R"("Message":"Transaction cancelled, please refer cancellation reasons for specific reasons [x]",)"
      R"("CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed","Message":)"
      R"("The conditional request failed","Item":)" +
          kItem +
          R"(},{"Code":"TransactionConflict"},{"Code":"ProvisionedThroughputExceeded","Message":"x"},)"
          R"({"Code":"ThrottlingError","Message":"a table"},{"Code":"ValidationError","Message":"bad"},)"
          R"({"Code":"ItemCollectionSizeLimitExceeded"},{"Code":"SomethingNew"},{},{"Code":null}]})");
  EXPECT_EQ(error.trouble, Trouble::kTransactionCancelled);
  std::vector<std::optional<Trouble>> troubles;
  for (const ServiceError::Member& member : error.reasons) troubles.push_back(member.trouble);
  EXPECT_EQ(troubles,
            (std::vector<std::optional<Trouble>>{
                std::nullopt, Trouble::kConditionFailed, Trouble::kTransactionConflict,
                Trouble::kThrottledByTable, Trouble::kThrottledByTable, Trouble::kValidation,
                Trouble::kTooLarge, Trouble::kOther, std::nullopt, std::nullopt}));
  EXPECT_EQ(error.reasons[1].old_item->number(intern("n")), 7);
  EXPECT_EQ(error.reasons[1].message, "The conditional request failed");
  EXPECT_EQ(error.reasons[2].message, "TransactionConflict");
}

TEST(WireError, ReasonsThatStandInTheTextOnly) {
  ServiceError error = read(400, "TransactionCanceledException",
                            "Transaction cancelled, please refer cancellation reasons for "
                            "specific reasons [None, ConditionalCheckFailed,TransactionConflict]");
  ASSERT_EQ(error.reasons.size(), 3u);
  EXPECT_FALSE(error.reasons[0].trouble);
  EXPECT_EQ(error.reasons[1].trouble, Trouble::kConditionFailed);
  EXPECT_EQ(error.reasons[2].trouble, Trouble::kTransactionConflict);
  for (const char* text : {"", "[", "]", "][", "[]", "no brackets"}) {
    EXPECT_TRUE(read(400, "TransactionCanceledException", text).reasons.empty()) << text;
  }
}

TEST(WireError, WhatIsNotTheService) {
  for (const char* body : {"<html><body>502 Bad Gateway</body></html>", "Forbidden", "[]", "1",
                           "\"x\"", "{\"__type\":\"ValidationExc", "\xff\xfe", ""}) {
    for (int status : {302, 400, 403, 404, 407, 500, 502, 504}) {
      ServiceError error = read_error(status, body);
      EXPECT_EQ(error.trouble, Trouble::kNotTheService) << status << " " << body;
      EXPECT_EQ(error.status, status);
      EXPECT_NE(error.message.find(std::to_string(status)), std::string::npos);
      EXPECT_EQ(may_have_applied(error), status >= 500) << status;
    }
  }
  EXPECT_EQ(read_error(307, error_body("ValidationException", "x")).trouble,
            Trouble::kNotTheService);
  for (const char* body : {"", "<html>"}) {
    EXPECT_EQ(read_error(503, body).trouble, Trouble::kNotTheService);
    EXPECT_TRUE(may_have_applied(read_error(503, body)));
  }
  ServiceError page = read_error(403, "<b>\r\n\x1b[31m" + std::string(5000, 'x'));
  EXPECT_LT(page.message.size(), 120u) << "a page is not repeated whole";
  for (char c : page.message) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
}

TEST(WireError, WrongTypesAreAsGoodAsAbsent) {
  for (
      const char* body :
      {"{}", R"({"__type":1,"message":2,"Item":3,"CancellationReasons":4,"ThrottlingReasons":5})",
       R"({"__type":null,"message":{},"CancellationReasons":[1,[],null],"ThrottlingReasons":[1,{}]})"}) {
    EXPECT_EQ(read_error(400, body).trouble, Trouble::kOther) << body;
    EXPECT_EQ(read_error(500, body).trouble, Trouble::kServerFault) << body;
    EXPECT_EQ(read_error(503, body).trouble, Trouble::kServerFault) << body;
    EXPECT_EQ(read_error(500, body).code, "");
  }
}

TEST(WireError, TextsArePrintableAndShort) {
  std::string text = "line\\none\\u0000\\u001b[31m";
  for (int i = 0; i < 1000; ++i) text += "\xc3\xa4";
  ServiceError error = read(400, "ValidationException", text);
  EXPECT_LE(error.message.size(), 1024u);
  EXPECT_EQ(error.message.substr(0, 14), "line one  [31m");
  EXPECT_EQ(error.message.substr(error.message.size() - 2), "\xc3\xa4");
}

// ---- Replies of the store ----

TEST(ReplyOfError, OutcomesOfSingleRequests) {
  GetRequest get(kKey, Consistency::kStrong);
  std::vector<Key> keys = {kKey};
  BatchGetRequest batch(keys, Consistency::kStrong);
  QueryRequest query(Index::kTable, "p", "", 1);
  ScanRequest scan(1);
  PutRequest put(ImageBuilder(kKey).build(), nullptr);
  UpdateProgram program;
  UpdateRequest update(kKey, program, Params());
  DeleteRequest removal(kKey, nullptr);
  for (const CodeCase& one : code_cases()) {
    ServiceError error = read(one.status, one.code, one.text);
    for (RequestRef request :
         {RequestRef(&get), RequestRef(&batch), RequestRef(&query), RequestRef(&scan)}) {
      Call call{request, {}};
      answer_with(error, "table tokens in eu-1", call);
      Outcome outcome =
          std::visit([](const ReplyBase& reply) { return reply.outcome; }, call.reply);
      EXPECT_EQ(outcome, one.of_read) << one.code;
    }
    for (RequestRef request : {RequestRef(&put), RequestRef(&update), RequestRef(&removal)}) {
      Call call{request, {}};
      answer_with(error, "table tokens in eu-1", call);
      const auto& reply = std::get<WriteReply>(call.reply);
      EXPECT_EQ(reply.outcome, one.of_write) << one.code;
      EXPECT_NE(reply.message.find(one.code), std::string::npos) << reply.message;
      EXPECT_NE(reply.message.find(one.text), std::string::npos) << reply.message;
      EXPECT_EQ(one.of_write == Outcome::kUnknown, may_have_applied(error)) << one.code;
    }
  }
}

TEST(ReplyOfError, NamesTheTableThatIsNot) {
  GetRequest get(kKey, Consistency::kStrong);
  Call call{&get, {}};
  answer_with(read(400, "ResourceNotFoundException"), "table tokens in eu-1", call);
  EXPECT_NE(std::get<GetReply>(call.reply).message.find("no table tokens in eu-1"),
            std::string::npos);
}

TEST(ReplyOfError, AFailedConditionBringsTheOldItem) {
  DeleteRequest removal(kKey, nullptr);
  Call call{&removal, {}};
  answer_with(read(400, "ConditionalCheckFailedException", "x", ",\"Item\":" + kItem), "t", call);
  EXPECT_EQ(std::get<WriteReply>(call.reply).image->number(intern("n")), 7);
  EXPECT_EQ(std::get<WriteReply>(call.reply).cost, (Cost{0, 1, 0}));
  answer_with(read(400, "ConditionalCheckFailedException"), "t", call);
  EXPECT_FALSE(std::get<WriteReply>(call.reply).image);
}

class CancelledTransaction : public ::testing::Test {
 protected:
  TransactReply answered(const std::string& reasons) {
    Call call{&request, {}};
    ServiceError error =
        read(400, "TransactionCanceledException", "text", ",\"CancellationReasons\":" + reasons);
    answer_with(error, "t", call);
    return std::get<TransactReply>(call.reply);
  }
  static std::vector<Outcome> outcomes(const TransactReply& reply) {
    std::vector<Outcome> found;
    for (const CancelReason& reason : reply.reasons) found.push_back(reason.outcome);
    return found;
  }

  Key other{"p", "t"};
  std::vector<TransactItem> items = {DeleteRequest(kKey, nullptr), DeleteRequest(other, nullptr)};
  TransactRequest request{items, "token"};
};

TEST_F(CancelledTransaction, IsAsItsFirstFailedMember) {
  TransactReply failed =
      answered(R"([{"Code":"None"},{"Code":"ConditionalCheckFailed","Item":)" + kItem + "}]");
  EXPECT_EQ(failed.outcome, Outcome::kConditionFailed);
  EXPECT_EQ(outcomes(failed), (std::vector<Outcome>{Outcome::kOk, Outcome::kConditionFailed}));
  EXPECT_FALSE(failed.reasons[0].image);
  EXPECT_EQ(failed.reasons[1].image->number(intern("n")), 7);
  EXPECT_EQ(failed.cost, (Cost{0, 4, 0}));

  TransactReply both =
      answered(R"([{"Code":"TransactionConflict"},{"Code":"ConditionalCheckFailed"}])");
  EXPECT_EQ(both.outcome, Outcome::kConflict);
  EXPECT_EQ(outcomes(both), (std::vector<Outcome>{Outcome::kConflict, Outcome::kConditionFailed}));

  EXPECT_EQ(answered(R"([{"Code":"ThrottlingError"},{"Code":"None"}])").outcome,
            Outcome::kThrottled);
  EXPECT_EQ(answered(R"([{"Code":"None"},{"Code":"ProvisionedThroughputExceeded"}])").outcome,
            Outcome::kThrottled);
  TransactReply invalid =
      answered(R"([{"Code":"ValidationError","Message":"bad"},{"Code":"None"}])");
  EXPECT_EQ(invalid.outcome, Outcome::kInvalid);
  EXPECT_NE(invalid.message.find("bad"), std::string::npos) << invalid.message;
}

TEST_F(CancelledTransaction, HasAReasonForEachMemberWhateverWasSaid) {
  for (const char* reasons :
       {"[]", "null", R"([{"Code":"None"}])", R"([{"Code":"None"},{"Code":"None"}])",
        R"([{"Code":"None"},{"Code":"None"},{"Code":"ConditionalCheckFailed"}])"}) {
    TransactReply reply = answered(reasons);
    EXPECT_EQ(reply.outcome, Outcome::kConflict) << reasons;
    EXPECT_EQ(outcomes(reply), (std::vector<Outcome>{Outcome::kOk, Outcome::kOk})) << reasons;
  }
}

TEST_F(CancelledTransaction, OtherErrorsOfATransaction) {
  for (const CodeCase& one : code_cases()) {
    Call call{&request, {}};
    answer_with(read(one.status, one.code, one.text), "t", call);
    EXPECT_EQ(std::get<TransactReply>(call.reply).outcome, one.of_write) << one.code;
    EXPECT_TRUE(std::get<TransactReply>(call.reply).reasons.empty());
  }
}

}  // namespace
}  // namespace stint::store::dynamodb
