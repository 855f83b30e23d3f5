// Everything that can go wrong between a call and the service, against a server that does it.
#include "store/dynamodb/client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "store/dynamodb/retry.h"
#include "store/dynamodb/signer.h"
#include "tests/dynamodb/credential_world.h"
#include "tests/support/instant.h"
#include "tests/support/scripted_server.h"

namespace stint::store::dynamodb {
namespace {

using namespace std::chrono_literals;
using test::Headers;
using test::ScriptedServer;
using test::ServedRequest;
using test::Step;

// So long that no test gets there.
constexpr auto kNever = std::chrono::minutes(10);
// For the tests whose subject it is.
constexpr auto kSoon = 300ms;
// A third of it is enough for an exchange, on a busy machine, too.
constexpr auto kAmple = 2'400ms;

const char kResult[] = "{\"Item\":{}}";

Credentials keys(const std::string& name) {
  Credentials made;
  made.access_key_id = "AKID" + name;
  made.secret_access_key = "secret-of-" + name;
  made.session_token = "token-of-" + name;
  made.source = "the test";
  return made;
}

// Gives one set of keys after the other, a further one whenever the last was refused.
class TestProvider : public CredentialProvider {
 public:
  explicit TestProvider(std::vector<Credentials> all) {
    for (Credentials& one : all) all_.push_back(std::make_shared<const Credentials>(one));
  }

  void get(Done done) override {
    std::unique_lock lock(mutex_);
    CredentialsPtr now = all_[std::min(refused_, all_.size() - 1)];
    lock.unlock();
    done(now);
  }
  void refused(const CredentialsPtr& which) override {
    std::lock_guard lock(mutex_);
    if (refused_ < all_.size() && all_[refused_] == which) ++refused_;
    ++refusals_;
  }
  int refusals() const {
    std::lock_guard lock(mutex_);
    return refusals_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<CredentialsPtr> all_;
  std::size_t refused_ = 0;
  int refusals_ = 0;
};

// Keeps whoever asks until the test answers.
class SlowProvider : public CredentialProvider {
 public:
  void get(Done done) override {
    std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(done));
    if (asked_) asked_->set_value();
    asked_.reset();
  }
  void refused(const CredentialsPtr&) override {}

  std::future<void> when_asked() {
    std::lock_guard lock(mutex_);
    asked_.emplace();
    return asked_->get_future();
  }
  void answer(const Result<CredentialsPtr>& with) {
    std::vector<Done> all;
    {
      std::lock_guard lock(mutex_);
      all.swap(waiting_);
    }
    for (Done& done : all) done(with);
  }

 private:
  std::mutex mutex_;
  std::vector<Done> waiting_;
  std::optional<std::promise<void>> asked_;
};

// Gives keys once. Afterwards it gives an error, or does not answer at all.
class OnceProvider : public CredentialProvider {
 public:
  OnceProvider() = default;
  explicit OnceProvider(Error afterwards) : afterwards_(std::move(afterwards)) {}

  void get(Done done) override {
    if (!given_.exchange(true)) return done(std::make_shared<const Credentials>(keys("one")));
    if (afterwards_) return done(*afterwards_);
    std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(done));
  }
  void refused(const CredentialsPtr&) override {}

 private:
  const std::optional<Error> afterwards_;
  std::atomic<bool> given_{false};
  std::mutex mutex_;
  std::vector<Done> waiting_;
};

std::shared_ptr<TestProvider> one_key() {
  return std::make_shared<TestProvider>(std::vector<Credentials>{keys("one")});
}

std::shared_ptr<Client> client_of(const std::string& endpoint,
                                  std::shared_ptr<CredentialProvider> provider = one_key(),
                                  std::chrono::milliseconds attempt_timeout = kNever) {
  ClientOptions options;
  options.region = "eu-central-1";
  options.endpoint = endpoint;
  options.attempt_timeout = attempt_timeout;
  return make_client(make_http_client().value(), std::move(provider), options);
}

CallResult read(Client& client, std::chrono::milliseconds time = kNever) {
  return client.call("GetItem", "{\"read\":1}", Effect::kRead, Steady::now() + time);
}
CallResult write(Client& client, std::chrono::milliseconds time = kNever) {
  return client.call("UpdateItem", "{\"write\":1}", Effect::kWrite, Steady::now() + time);
}

std::string body_of(const CallResult& result) {
  if (const auto* trouble = std::get_if<CallTrouble>(&result)) return "!" + trouble->message;
  return std::get<std::string>(result);
}

CallTrouble trouble_of(const CallResult& result) {
  if (const auto* trouble = std::get_if<CallTrouble>(&result)) return *trouble;
  ADD_FAILURE() << "no trouble, but " << body_of(result);
  return CallTrouble();
}

#define EXPECT_HOLDS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

Step fine() { return Step::reply(200, kResult, {{"x-amz-crc32", std::to_string(crc32(kResult))}}); }

Step refusal(int status, const std::string& code, const std::string& message = "because",
             Headers headers = {}) {
  return Step::reply(status,
                     "{\"__type\":\"com.amazonaws.dynamodb.v20120810#" + code +
                         "\",\"message\":\"" + message + "\"}",
                     std::move(headers));
}

TimePoint local_now() {
  return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

std::string http_date(TimePoint at) {
  const std::time_t seconds =
      std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count();
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return text;
}

// The time of a signature: "20261201T050000Z".
TimePoint time_of(const ServedRequest& request) {
  std::string date(request.header("x-amz-date"));
  if (date.size() != 16) return TimePoint();
  return test::instant(date.substr(0, 4) + "-" + date.substr(4, 2) + "-" + date.substr(6, 5) + ":" +
                       date.substr(11, 2) + ":" + date.substr(13, 2) + "Z");
}

TEST(Client, SignsAndSends) {
  ScriptedServer server(std::vector<Step>{fine()});
  std::shared_ptr<Client> client = client_of(server.url() + "/under");
  EXPECT_EQ(body_of(write(*client)), kResult);
  ASSERT_EQ(server.request_count(), 1u);
  const ServedRequest request = server.requests()[0];
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/under");
  EXPECT_EQ(request.body, "{\"write\":1}");
  EXPECT_EQ(request.header("x-amz-target"), "DynamoDB_20120810.UpdateItem");
  EXPECT_EQ(request.header("content-type"), "application/x-amz-json-1.0");
  EXPECT_EQ(request.header("host"), "127.0.0.1:" + std::to_string(server.port()));
  EXPECT_EQ(request.header("x-amz-security-token"), "token-of-one");

  // What arrived is what was signed.
  const std::vector<HttpHeader> arrived = {
      {"host", std::string(request.header("host"))},
      {"content-type", std::string(request.header("content-type"))},
      {"x-amz-target", std::string(request.header("x-amz-target"))}};
  SignedParts parts;
  parts.method = request.method;
  parts.path = request.target;
  parts.headers = arrived;
  parts.body = request.body;
  std::string expected;
  for (const HttpHeader& header :
       Signer("eu-central-1", "dynamodb").sign(parts, keys("one"), time_of(request))) {
    if (header.name == "authorization") expected = header.value;
  }
  EXPECT_EQ(request.header("authorization"), expected);
  EXPECT_EQ(client->stats().attempts, 1u);
  EXPECT_EQ(client->stats().repeats, 0u);
}

TEST(Client, WhatCannotBeSentAtAll) {
  for (const char* endpoint : {"nonsense", "http://user:pass@127.0.0.1", "http://127.0.0.1/?a=1"}) {
    CallTrouble trouble = trouble_of(write(*client_of(endpoint)));
    EXPECT_HOLDS(trouble.message, "endpoint");
    EXPECT_EQ(trouble.message.find("pass"), std::string::npos) << trouble.message;
    EXPECT_FALSE(trouble.maybe_applied);
  }
  for (const char* region : {"", "eu central"}) {
    ClientOptions options;
    options.region = region;
    std::shared_ptr<Client> client = make_client(make_http_client().value(), one_key(), options);
    EXPECT_HOLDS(trouble_of(read(*client)).message, "region");
  }
}

TEST(Client, NobodyThere) {
  test::ClosedPort port;
  std::shared_ptr<Client> client = client_of(port.url());
  for (bool writes : {false, true}) {
    CallTrouble trouble = trouble_of(writes ? write(*client, kSoon) : read(*client, kSoon));
    EXPECT_FALSE(trouble.service);
    EXPECT_FALSE(trouble.maybe_applied);
    EXPECT_HOLDS(trouble.message, "onnect");
    EXPECT_HOLDS(trouble.message, "deadline");
  }
  // What was not sent was tried again, for writes, too.
  EXPECT_GT(client->stats().repeats, 1u);
  EXPECT_EQ(client->stats().unknown, 0u);
}

TEST(Client, NeverAnswered) {
  ScriptedServer server(std::vector<Step>{fine(), Step::never()});
  std::shared_ptr<Client> client = client_of(server.url());
  // With a connection at hand, the time is that of the exchange alone.
  EXPECT_EQ(body_of(read(*client)), kResult);
  CallTrouble lost = trouble_of(write(*client, kSoon));
  EXPECT_TRUE(lost.maybe_applied);
  EXPECT_FALSE(lost.service);
  EXPECT_HOLDS(lost.message, "UpdateItem");
  EXPECT_EQ(server.request_count(), 2u);
  EXPECT_EQ(client->stats().unknown, 1u);

  CallTrouble unread = trouble_of(read(*client, kSoon));
  EXPECT_FALSE(unread.maybe_applied);
  EXPECT_HOLDS(unread.message, "deadline");
}

TEST(Client, AttemptsHaveATimeOfTheirOwn) {
  ScriptedServer server(std::vector<Step>{Step::never(), Step::never(), fine()});
  std::shared_ptr<Client> client = client_of(server.url(), one_key(), 100ms);
  EXPECT_EQ(body_of(read(*client)), kResult);
  EXPECT_GE(server.request_count(), 3u);
}

// Everything that leaves the outcome open: a read is repeated, a write never.
TEST(Client, OutcomeUnknown) {
  struct Case {
    const char* name;
    Step step;
  };
  const std::string long_reply(kMaxReplyBytes + 1, ' ');
  const std::vector<Case> cases = {
      {"closed", Step::close()},
      {"reset", Step::reset()},
      {"garbage", Step::bytes("\x01\x02 garbage\r\n\r\n").then_close()},
      {"truncated", Step::truncated("{\"Item\":")},
      {"oversized", Step::reply(200, long_reply)},
      {"wrong checksum", Step::reply(200, kResult, {{"x-amz-crc32", "1"}})},
      {"no checksum", Step::reply(200, kResult, {{"x-amz-crc32", "xyz"}})},
      {"wrong checksum of an error",
       refusal(400, "ValidationException", "m", {{"x-amz-crc32", "1"}})},
      {"page", Step::reply(200, "<html><body>Please log in</body></html>")},
      {"cut JSON", Step::reply(200, "{\"Item\":{")},
      {"nothing", Step::reply(200, "")},
      {"server fault", refusal(500, "InternalServerError")},
      {"gateway", Step::reply(502, "<html>Bad gateway</html>")},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    ScriptedServer server(std::vector<Step>{each.step, fine()});
    std::shared_ptr<Client> client = client_of(server.url());
    CallTrouble trouble = trouble_of(write(*client));
    EXPECT_TRUE(trouble.maybe_applied);
    EXPECT_NE(trouble.message, "UpdateItem: ");
    EXPECT_EQ(server.request_count(), 1u);
    EXPECT_EQ(body_of(write(*client)), kResult);

    ScriptedServer other(std::vector<Step>{each.step, fine()});
    EXPECT_EQ(body_of(read(*client_of(other.url()))), kResult);
    EXPECT_EQ(other.request_count(), 2u);
  }
}

// The same on a connection that was in use before, where libcurl would repeat it by itself.
TEST(Client, ReplyLostAfterTheWriteLanded) {
  for (const Step& lost : {Step::close(), Step::reset()}) {
    std::atomic<int> landed{0};
    ScriptedServer server([&](const ServedRequest& request) {
      if (request.body != "{\"write\":1}") return fine();
      ++landed;
      return lost;
    });
    std::shared_ptr<Client> client = client_of(server.url());
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(body_of(read(*client)), kResult);
      EXPECT_TRUE(trouble_of(write(*client)).maybe_applied);
      EXPECT_EQ(landed, i + 1);
      EXPECT_EQ(server.requests().back().connection, static_cast<std::size_t>(i));
    }
    EXPECT_EQ(server.request_count(), 10u);
    EXPECT_EQ(server.connection_count(), 5u);
  }
}

TEST(Client, RedirectsAndPagesOfProxies) {
  ScriptedServer other(std::vector<Step>{fine()});
  for (const Step& step :
       {Step::reply(307, "", {{"Location", other.url()}}), Step::reply(403, "<html>No</html>")}) {
    for (bool writes : {false, true}) {
      ScriptedServer server(std::vector<Step>{step});
      std::shared_ptr<Client> client = client_of(server.url());
      CallTrouble trouble = trouble_of(writes ? write(*client) : read(*client));
      EXPECT_FALSE(trouble.maybe_applied);
      ASSERT_TRUE(trouble.service);
      EXPECT_EQ(trouble.service->trouble, ServiceTrouble::kNotTheService);
      EXPECT_HOLDS(trouble.message, "not the service");
      EXPECT_EQ(server.request_count(), 1u);
    }
  }
  EXPECT_EQ(other.connection_count(), 0u);
}

TEST(Client, AResultHasTheTypeOfTheService) {
  const std::pair<const char*, bool> types[] = {{"application/x-amz-json-1.0", true},
                                                {"Application/X-AMZ-JSON-1.1; charset=UTF-8", true},
                                                {"application/json", false},
                                                {"text/plain", false}};
  for (const auto& [type, good] : types) {
    SCOPED_TRACE(type);
    // A read is tried again.
    ScriptedServer server(
        std::vector<Step>{Step::reply(200, "{}", {{"content-type", type}}), fine()});
    std::shared_ptr<Client> client = client_of(server.url());
    EXPECT_EQ(body_of(read(*client)), good ? "{}" : kResult);
    ScriptedServer last(std::vector<Step>{Step::reply(200, "{}", {{"content-type", type}})});
    CallResult written = write(*client_of(last.url()));
    if (good) {
      EXPECT_EQ(body_of(written), "{}");
    } else {
      EXPECT_TRUE(trouble_of(written).maybe_applied);
      EXPECT_EQ(trouble_of(written).service->trouble, ServiceTrouble::kNotTheService);
      EXPECT_EQ(last.request_count(), 1u);
    }
  }
}

TEST(Client, AnswersThatNoRepetitionCanMend) {
  const std::pair<const char*, ServiceTrouble> kinds[] = {
      {"ConditionalCheckFailedException", ServiceTrouble::kConditionFailed},
      {"TransactionConflictException", ServiceTrouble::kTransactionConflict},
      {"ValidationException", ServiceTrouble::kValidation},
      {"AccessDeniedException", ServiceTrouble::kAccessDenied},
      {"ResourceNotFoundException", ServiceTrouble::kNoSuchTable},
      {"ResourceInUseException", ServiceTrouble::kTableBusy},
      {"IdempotentParameterMismatchException", ServiceTrouble::kTokenMismatch},
      {"SomethingNewException", ServiceTrouble::kOther},
  };
  for (const auto& [code, kind] : kinds) {
    ScriptedServer server(std::vector<Step>{refusal(400, code)});
    std::shared_ptr<Client> client = client_of(server.url());
    CallTrouble trouble = trouble_of(write(*client));
    ASSERT_TRUE(trouble.service);
    EXPECT_EQ(trouble.service->trouble, kind) << code;
    EXPECT_FALSE(trouble.maybe_applied);
    EXPECT_EQ(trouble.message, std::string("UpdateItem: ") + code + ": because");
    EXPECT_EQ(server.request_count(), 1u);
  }
}

TEST(Client, ThrottledForAWhile) {
  const std::string code = "ProvisionedThroughputExceededException";
  ScriptedServer server(std::vector<Step>{refusal(400, code), refusal(400, "ThrottlingException"),
                                          refusal(503, "ServiceUnavailable"), refusal(400, code),
                                          fine()});
  std::shared_ptr<Client> client = client_of(server.url());
  EXPECT_EQ(body_of(write(*client)), kResult);
  EXPECT_EQ(server.request_count(), 5u);
  EXPECT_EQ(client->stats().attempts, 5u);
  EXPECT_EQ(client->stats().repeats, 4u);
  EXPECT_EQ(client->stats().throttles, 3u);
}

TEST(Client, ThrottledPastTheDeadline) {
  ScriptedServer server(std::vector<Step>{refusal(400, "ThrottlingException", "too fast")});
  std::shared_ptr<Client> client = client_of(server.url());
  CallTrouble trouble;
  // The deadline may also end an attempt that is under way, and then the outcome is open.
  for (int i = 0; i < 10 && !trouble.service; ++i) {
    trouble = trouble_of(write(*client, kSoon));
    EXPECT_HOLDS(trouble.message, "deadline");
    EXPECT_FALSE(trouble.maybe_applied && trouble.service);
  }
  ASSERT_TRUE(trouble.service);
  EXPECT_EQ(trouble.service->trouble, ServiceTrouble::kThrottledByAccount);
  EXPECT_HOLDS(trouble.message, "too fast");
}

TEST(Client, RepetitionsAreBounded) {
  ScriptedServer server(std::vector<Step>{refusal(503, "ServiceUnavailable")});
  std::shared_ptr<Client> client = client_of(server.url());
  constexpr int kCalls = 40;
  struct Ended {
    std::atomic<int> left{kCalls};
    std::atomic<bool> right{true};
    std::promise<void> all;
  };
  // Shared: the test may go on while the client's thread is still about to leave `set_value`.
  auto ended = std::make_shared<Ended>();
  for (int i = 0; i < kCalls; ++i) {
    client->start("GetItem", "{}", Effect::kRead, Steady::now() + kNever,
                  [ended](CallResult result) {
                    const auto* trouble = std::get_if<CallTrouble>(&result);
                    if (!trouble || trouble->message.find("too many") == std::string::npos) {
                      ended->right = false;
                    }
                    if (--ended->left == 0) ended->all.set_value();
                  });
  }
  ended->all.get_future().get();
  EXPECT_TRUE(ended->right);
  const int repeats = RetryBudget::kFull / RetryBudget::kRepeatCost;
  EXPECT_EQ(server.request_count(), static_cast<std::size_t>(kCalls + repeats));
}

TEST(Client, TransactionInProgress) {
  auto write = [](Client& client, std::chrono::milliseconds time = kNever) {
    return client.call("TransactWriteItems", "{\"token\":1}", Effect::kTokenWrite,
                       Steady::now() + time);
  };
  ScriptedServer server(std::vector<Step>{refusal(400, "TransactionInProgressException"), fine()});
  std::shared_ptr<Client> client = client_of(server.url());
  EXPECT_EQ(body_of(write(*client)), kResult);
  ASSERT_EQ(server.request_count(), 2u);
  EXPECT_EQ(server.requests()[0].body, server.requests()[1].body);

  // Whatever is met afterwards: it may be applied.
  ScriptedServer busy(std::vector<Step>{refusal(400, "TransactionInProgressException"),
                                        refusal(400, "ThrottlingException")});
  CallTrouble trouble = trouble_of(write(*client_of(busy.url()), kSoon));
  EXPECT_TRUE(trouble.maybe_applied);
  // Unless the service says that it is not.
  ScriptedServer cancelled(std::vector<Step>{refusal(400, "TransactionInProgressException"),
                                             refusal(400, "TransactionCanceledException")});
  EXPECT_FALSE(trouble_of(write(*client_of(cancelled.url()))).maybe_applied);
  // Without a token nothing is sent again.
  ScriptedServer plain(std::vector<Step>{refusal(400, "TransactionInProgressException"), fine()});
  CallTrouble once = trouble_of(
      client_of(plain.url())->call("UpdateItem", "{}", Effect::kWrite, Steady::now() + kNever));
  EXPECT_TRUE(once.maybe_applied);
  EXPECT_EQ(plain.request_count(), 1u);
}

TEST(Client, AWriteIsGivenUpInTimeToLookItUp) {
  // Two thirds of what is left: the rest is for whoever has to find out what became of it.
  ScriptedServer server([](const ServedRequest& request) {
    return request.header("x-amz-target").find("Update") != std::string::npos ? Step::never()
                                                                              : fine();
  });
  std::shared_ptr<Client> client = client_of(server.url());
  const Steady::time_point deadline = Steady::now() + kAmple;
  CallTrouble lost = trouble_of(client->call("UpdateItem", "{}", Effect::kWrite, deadline));
  EXPECT_TRUE(lost.maybe_applied);
  EXPECT_EQ(body_of(client->call("GetItem", "{}", Effect::kRead, deadline)), kResult);
}

TEST(Client, WritesWithATokenAreSentAgain) {
  auto take = [](const std::string& url, std::chrono::milliseconds time) {
    return client_of(url)->call("TransactWriteItems", "{\"token\":1}", Effect::kTokenWrite,
                                Steady::now() + time);
  };
  // A reply that is lost is asked for once more, by the same body.
  ScriptedServer lost(std::vector<Step>{Step::close(), fine()});
  EXPECT_EQ(body_of(take(lost.url(), kNever)), kResult);
  ASSERT_EQ(lost.request_count(), 2u);
  EXPECT_EQ(lost.requests()[0].body, lost.requests()[1].body);

  // What never gets an answer, or only one that says nothing of earlier attempts, may be applied.
  ScriptedServer silent(std::vector<Step>{Step::never()});
  EXPECT_TRUE(trouble_of(take(silent.url(), kSoon)).maybe_applied);
  ScriptedServer throttled(
      std::vector<Step>{Step::close(), refusal(400, "ProvisionedThroughputExceededException")});
  EXPECT_TRUE(trouble_of(take(throttled.url(), kSoon)).maybe_applied);
  ScriptedServer denied(std::vector<Step>{Step::close(), refusal(400, "AccessDeniedException")});
  EXPECT_TRUE(trouble_of(take(denied.url(), kNever)).maybe_applied);
  // Had the first attempt been applied, the second would have succeeded.
  ScriptedServer cancelled(
      std::vector<Step>{Step::close(), refusal(400, "TransactionCanceledException")});
  EXPECT_FALSE(trouble_of(take(cancelled.url(), kNever)).maybe_applied);
}

TEST(Client, ExpiredCredentials) {
  for (const char* code : {"ExpiredTokenException", "UnrecognizedClientException"}) {
    ScriptedServer server([code](const ServedRequest& request) {
      return request.header("x-amz-security-token") == "token-of-old" ? refusal(400, code) : fine();
    });
    auto provider =
        std::make_shared<TestProvider>(std::vector<Credentials>{keys("old"), keys("new")});
    std::shared_ptr<Client> client = client_of(server.url(), provider);
    EXPECT_EQ(body_of(write(*client)), kResult);
    EXPECT_EQ(server.request_count(), 2u);
    EXPECT_EQ(body_of(write(*client)), kResult);
    EXPECT_EQ(server.request_count(), 3u);
    EXPECT_EQ(provider->refusals(), 1);
  }
}

TEST(Client, CredentialsThatAreNeverTaken) {
  // One set: nothing else to try. Two: the second, and no more.
  for (std::size_t sets : {1u, 3u}) {
    ScriptedServer server(std::vector<Step>{refusal(400, "UnrecognizedClientException")});
    std::vector<Credentials> all = {keys("a"), keys("b"), keys("c")};
    all.resize(sets);
    std::shared_ptr<Client> client =
        client_of(server.url(), std::make_shared<TestProvider>(std::move(all)));
    CallTrouble trouble = trouble_of(write(*client));
    ASSERT_TRUE(trouble.service);
    EXPECT_EQ(trouble.service->trouble, ServiceTrouble::kUnknownCredentials);
    EXPECT_FALSE(trouble.maybe_applied);
    EXPECT_HOLDS(trouble.message, "UnrecognizedClientException");
    EXPECT_EQ(server.request_count(), sets == 1 ? 1u : 2u);
    // What was not sent is no repetition.
    EXPECT_EQ(client->stats().attempts, server.request_count());
    EXPECT_EQ(client->stats().repeats, server.request_count() - 1);
  }
}

TEST(Client, SecretsInRefusalsAreNotTold) {
  ScriptedServer server([](const ServedRequest& request) {
    return refusal(400, "InvalidSignatureException",
                   "No match of " + std::string(request.header("x-amz-security-token")) +
                       ". The Canonical String should have been 'POST\\nhost:x\\n" +
                       "x-amz-security-token:token-of-o");
  });
  std::shared_ptr<Client> client = client_of(server.url());
  CallTrouble trouble = trouble_of(write(*client));
  ASSERT_TRUE(trouble.service);
  for (const std::string& text : {trouble.message, trouble.service->message}) {
    EXPECT_HOLDS(text, "No match");
    EXPECT_EQ(text.find("token-of"), std::string::npos) << text;
    EXPECT_EQ(text.find("secret-of"), std::string::npos) << text;
  }
}

// A service whose clock is ahead of this machine's, or behind it.
TEST(Client, SkewedClock) {
  for (const auto skew : {20min, -20min}) {
    for (const char* code :
         {"RequestTimeTooSkewed", "InvalidSignatureException", "SignatureDoesNotMatch"}) {
      ScriptedServer server([=](const ServedRequest& request) {
        const TimePoint now = local_now() + skew;
        const Headers date = {{"Date", http_date(now)}};
        if (std::chrono::abs(time_of(request) - now) > 5min) {
          return code == std::string("SignatureDoesNotMatch")
                     ? refusal(403, code, "no match", date)
                     : refusal(400, code, "Signature expired: it is late", date);
        }
        return Step::reply(200, kResult, date);
      });
      std::shared_ptr<Client> client = client_of(server.url());
      EXPECT_EQ(client->stats().clock_behind, 0ms);
      EXPECT_EQ(body_of(write(*client)), kResult) << code;
      EXPECT_EQ(server.request_count(), 2u);
      EXPECT_LE(std::chrono::abs(client->stats().clock_behind - skew), 1min);
      // Learnt once.
      EXPECT_EQ(body_of(write(*client)), kResult);
      EXPECT_EQ(server.request_count(), 3u);
    }
  }
}

TEST(Client, SkewedClockThatCannotBeCorrected) {
  const std::vector<Headers> dates = {
      {}, {{"Date", "yesterday-ish"}}, {{"Date", http_date(local_now())}}};
  for (const Headers& date : dates) {
    ScriptedServer server(
        std::vector<Step>{refusal(400, "RequestTimeTooSkewed", "your clock", date)});
    CallTrouble trouble = trouble_of(write(*client_of(server.url())));
    ASSERT_TRUE(trouble.service);
    EXPECT_EQ(trouble.service->trouble, ServiceTrouble::kClockSkewed);
    EXPECT_EQ(server.request_count(), 1u);
  }
  // Still refused with the right time: once more, and no more.
  ScriptedServer server(std::vector<Step>{
      refusal(400, "RequestTimeTooSkewed", "your clock", {{"Date", http_date(local_now() + 1h)}})});
  EXPECT_FALSE(trouble_of(write(*client_of(server.url()))).maybe_applied);
  EXPECT_EQ(server.request_count(), 2u);
}

TEST(Client, OffsetIsSeenWithoutAnError) {
  ScriptedServer server([](const ServedRequest&) {
    return Step::reply(200, kResult, {{"Date", http_date(local_now() + 2min)}});
  });
  std::shared_ptr<Client> client = client_of(server.url());
  EXPECT_EQ(body_of(read(*client)), kResult);
  EXPECT_LE(std::chrono::abs(client->stats().clock_behind - 2min), 1min);
}

TEST(Client, NoCredentials) {
  ScriptedServer server(std::vector<Step>{fine()});
  auto provider = std::make_shared<SlowProvider>();
  std::shared_ptr<Client> client = client_of(server.url(), provider);

  CallTrouble late = trouble_of(write(*client, kSoon));
  EXPECT_HOLDS(late.message, "no credentials");
  EXPECT_HOLDS(late.message, "deadline");
  EXPECT_FALSE(late.maybe_applied);
  // They come after all, and nobody waits for them any more.
  provider->answer(std::make_shared<const Credentials>(keys("late")));
  EXPECT_EQ(server.request_count(), 0u);

  using Failure = std::optional<ErrorCode>;
  for (Failure failure :
       {Failure(ErrorCode::kUnavailable), Failure(ErrorCode::kAccessDenied), Failure()}) {
    std::future<void> asked = provider->when_asked();
    std::thread other([&] {
      asked.get();
      if (!failure) return provider->answer(std::make_shared<const Credentials>(keys("one")));
      provider->answer(Error(*failure, "no credentials: tried this and that"));
    });
    CallResult result = write(*client);
    other.join();
    if (!failure) {
      EXPECT_EQ(body_of(result), kResult);
    } else {
      EXPECT_HOLDS(trouble_of(result).message, "tried this and that");
      EXPECT_EQ(trouble_of(result).no_credentials, failure == ErrorCode::kAccessDenied);
    }
  }
  EXPECT_EQ(server.request_count(), 1u);
}

// What the service said of an earlier attempt does not decide, whichever it was.
TEST(Client, CredentialsThatAreLostOnTheWay) {
  const std::pair<const char*, Step> refusals[] = {
      {"ExpiredTokenException", refusal(400, "ExpiredTokenException")},
      {"ThrottlingException", refusal(400, "ThrottlingException")}};
  for (const auto& [code, step] : refusals) {
    for (ErrorCode lack : {ErrorCode::kUnavailable, ErrorCode::kAccessDenied}) {
      SCOPED_TRACE(code);
      ScriptedServer server(std::vector<Step>{step});
      auto provider = std::make_shared<OnceProvider>(Error(lack, "no credentials: tried this"));
      CallTrouble trouble = trouble_of(write(*client_of(server.url(), provider)));
      EXPECT_FALSE(trouble.service);
      EXPECT_EQ(trouble.no_credentials, lack == ErrorCode::kAccessDenied);
      EXPECT_FALSE(trouble.maybe_applied);
      EXPECT_HOLDS(trouble.message, code);
      EXPECT_HOLDS(trouble.message, "no credentials: tried this");
      EXPECT_EQ(server.request_count(), 1u);
    }
  }
}

// A source that hangs is no refusal, although the service refused what it gave before.
TEST(Client, CredentialsThatDoNotComeAnew) {
  ScriptedServer server(std::vector<Step>{refusal(400, "ExpiredTokenException")});
  auto provider = std::make_shared<OnceProvider>();
  CallTrouble trouble = trouble_of(write(*client_of(server.url(), provider), kSoon));
  EXPECT_FALSE(trouble.service);
  EXPECT_FALSE(trouble.no_credentials);
  EXPECT_HOLDS(trouble.message, "ExpiredTokenException");
  EXPECT_HOLDS(trouble.message, "no credentials came before the deadline");
}

TEST(Client, EndsWithCallsUnderWay) {
  ScriptedServer server(std::vector<Step>{Step::never()});
  auto provider = std::make_shared<SlowProvider>();
  std::vector<CallResult> results;
  {
    std::shared_ptr<Client> client = client_of(server.url());
    for (int i = 0; i < 4; ++i) {
      client->start(i % 2 == 0 ? "GetItem" : "UpdateItem", "{}",
                    i % 2 != 0 ? Effect::kWrite : Effect::kRead, Steady::now() + kNever,
                    [&results](CallResult result) { results.push_back(std::move(result)); });
    }
    server.wait_for_requests(4);
  }
  // The destructor waited for the client's thread.
  ASSERT_EQ(results.size(), 4u);
  int unknown = 0;
  for (const CallResult& result : results) {
    CallTrouble trouble = trouble_of(result);
    unknown += trouble.maybe_applied ? 1 : 0;
    EXPECT_HOLDS(trouble.message, "shut down");
  }
  EXPECT_EQ(unknown, 2);
}

/// Counts the threads that have ended of those that were marked.
struct EndMark {
  std::atomic<int>* ended = nullptr;
  ~EndMark() {
    if (ended != nullptr) ++*ended;
  }
};
thread_local EndMark end_mark;

TEST(Client, ItsThreadsHaveEndedWhenItsOwnerLetsGo) {
  ScriptedServer server(std::vector<Step>{fine()});
  ScriptedServer source([](const ServedRequest&) {
    return Step::reply(200, test::key_document("BOX", "2099-01-01T00:00:00Z"));
  });
  std::atomic<int> ended{0};
  Surroundings surroundings = Surroundings::of_process();
  surroundings.variable = [url = source.url()](const std::string& name) {
    return name == "AWS_CONTAINER_CREDENTIALS_FULL_URI" ? url + "/keys" : std::string();
  };
  surroundings.now = [&ended, tester = std::this_thread::get_id()] {
    if (std::this_thread::get_id() != tester) end_mark.ended = &ended;
    return local_now();
  };
  // The reply may wake the owner before the client's thread has let go of what it used.
  for (int i = 0; i < 100; ++i) {
    ended = 0;
    std::shared_ptr<HttpClient> http = make_http_client().value();
    ClientOptions options;
    options.region = "eu-central-1";
    options.endpoint = server.url();
    std::shared_ptr<Client> client =
        make_client(http, standard_credentials(http, {}, surroundings), options);
    http.reset();
    auto answered = std::make_shared<std::promise<std::string>>();
    client->start("GetItem", "{}", Effect::kRead, Steady::now() + kNever,
                  [&ended, answered](const CallResult& result) {
                    end_mark.ended = &ended;
                    answered->set_value(body_of(result));
                  });
    EXPECT_EQ(answered->get_future().get(), kResult);
    client.reset();
    ASSERT_EQ(ended, 2) << i;
  }
}

TEST(Client, EndsWhileItWaitsToTryAgain) {
  // So many failed before that the next wait is a long one, as far as chance allows.
  ScriptedServer server(std::vector<Step>{refusal(400, "ThrottlingException")});
  std::promise<CallResult> done;
  {
    std::shared_ptr<Client> client = client_of(server.url());
    client->start("UpdateItem", "{}", Effect::kWrite, Steady::now() + kNever,
                  [&done](CallResult result) { done.set_value(std::move(result)); });
    server.wait_for_requests(5);
  }
  CallTrouble trouble = trouble_of(done.get_future().get());
  EXPECT_HOLDS(trouble.message, "shut down");
}

// The last owner lets go in the function that is told.
TEST(Client, EndsOnItsOwnThread) {
  ScriptedServer server([](const ServedRequest& request) {
    return request.body == "{\"first\":1}" ? fine().held() : Step::never();
  });
  struct Owner {
    std::shared_ptr<Client> client;
  };
  auto owner = std::make_shared<Owner>(Owner{client_of(server.url())});
  std::promise<bool> other_ended;
  std::promise<std::string> first_ended;
  {
    std::shared_ptr<Client> client = owner->client;
    client->start(
        "UpdateItem", "{}", Effect::kWrite, Steady::now() + kNever,
        [&](CallResult result) { other_ended.set_value(trouble_of(result).maybe_applied); });
    client->start("UpdateItem", "{\"first\":1}", Effect::kWrite, Steady::now() + kNever,
                  [&first_ended, owner](CallResult result) {
                    owner->client.reset();
                    first_ended.set_value(body_of(result));
                  });
  }
  owner.reset();
  server.wait_for_requests(2);
  server.release();
  EXPECT_EQ(first_ended.get_future().get(), kResult);
  EXPECT_TRUE(other_ended.get_future().get());
}

TEST(Client, ManyCallsAtOnce) {
  ScriptedServer server([](const ServedRequest& request) {
    return Step::reply(200, request.body, {{"x-amz-crc32", std::to_string(crc32(request.body))}});
  });
  std::shared_ptr<Client> client = client_of(server.url());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string body = "{\"n\":" + std::to_string(t * 1000 + i) + "}";
        EXPECT_EQ(body_of(client->call("PutItem", body, Effect::kWrite, Steady::now() + kNever)),
                  body);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(client->stats().attempts, 200u);
  EXPECT_EQ(client->stats().repeats, 0u);
}

}  // namespace
}  // namespace stint::store::dynamodb
