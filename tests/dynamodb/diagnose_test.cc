// What the diagnosis and errors say of the way to the service, whatever stands in it.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/dynamodb/connection.h"
#include "stint/dynamodb.h"
#include "tests/dynamodb/credential_world.h"
#include "tests/support/scripted_server.h"
#include "tests/support/temp_directory.h"

namespace stint {
namespace {

using test::ScriptedServer;
using test::ServedRequest;
using test::Step;
using Verdict = Diagnosis::Verdict;

/// An environment without any setting of this machine; `url`: a container's endpoint of keys.
class Surroundings {
 public:
  explicit Surroundings(const std::string& url = "") {
    for (const char* name : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE",
                             "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONFIG_FILE",
                             "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"}) {
      unsetenv(name);
    }
    setenv("HOME", home_.path().c_str(), 1);
    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url.c_str(), 1);
  }

 private:
  test::TempDirectory home_;
};

DynamoDbOptions options_for(const std::string& endpoint) {
  DynamoDbOptions options;
  options.table = "limits";
  options.region = "eu-central-1";
  options.endpoint = endpoint;
  return options;
}

/// The questions that were answered with "bad", which is at most one.
Diagnosis only_bad(const std::vector<Diagnosis>& answers) {
  std::vector<Diagnosis> bad;
  for (const Diagnosis& answer : answers) {
    if (answer.verdict == Verdict::kBad) bad.push_back(answer);
  }
  EXPECT_EQ(bad.size(), 1u);
  return bad.empty() ? Diagnosis() : bad.front();
}

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(DiagnoseDynamoDb, OptionsOutOfTheirRange) {
  Surroundings surroundings;
  DynamoDbOptions options = options_for("http://127.0.0.1:1");
  options.max_connections = 0;
  Diagnosis found = only_bad(diagnose_dynamodb(options));
  EXPECT_EQ(found.question, "endpoint");
  EXPECT_TRUE(holds(found.finding, "max_connections")) << found.finding;
  EXPECT_FALSE(holds(found.remedy, "profile")) << found.remedy;
  options.max_connections = 1;
  options.attempt_timeout = std::chrono::milliseconds(0);
  EXPECT_EQ(only_bad(diagnose_dynamodb(options)).question, "endpoint");
}

/// To know the type of an object the sanitizer opens files of its own.
constexpr bool checks_types_by_files() {
#if defined(__has_feature)
#if __has_feature(undefined_behavior_sanitizer)
  return true;
#endif
#endif
  return false;
}

TEST(DiagnoseDynamoDb, AShortageOfTheMachine) {
  if (checks_types_by_files()) GTEST_SKIP() << "no files are left, which this sanitizer needs";
  Surroundings surroundings;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  std::vector<Diagnosis> answers = diagnose_dynamodb(options_for("http://127.0.0.1:1"));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  Diagnosis found = only_bad(answers);
  EXPECT_EQ(found.question, "endpoint");
  EXPECT_TRUE(holds(found.finding, "Too many open files")) << found.finding;
  EXPECT_TRUE(holds(found.remedy, "try again")) << found.remedy;
}

// The service refuses the first keys, and there are no others.
TEST(DiagnoseDynamoDb, CredentialsThatAreLostOnTheWay) {
  std::atomic<int> asked{0};
  ScriptedServer server([&](const ServedRequest& request) {
    if (request.method == "POST") {
      return Step::reply(400, "{\"__type\":\"x#ExpiredTokenException\",\"message\":\"old\"}");
    }
    if (request.target != "/keys") return Step::reply(200, "healthy");
    return ++asked == 1 ? Step::reply(200, test::key_document("BOX", "2999-01-01T00:00:00Z"))
                        : Step::reply(403);
  });
  Surroundings surroundings(server.url() + "/keys");
  Diagnosis found = only_bad(diagnose_dynamodb(options_for(server.url())));
  EXPECT_EQ(found.question, "credentials");
  EXPECT_TRUE(holds(found.finding, "ExpiredTokenException")) << found.finding;
  EXPECT_TRUE(holds(found.finding, "answered with status 403")) << found.finding;
}

TEST(DiagnoseDynamoDb, ThePathOfAnEndpointIsNotShown) {
  Surroundings surroundings;
  test::ClosedPort closed;
  ScriptedServer server(std::vector<Step>{Step::reply(403, "no")});
  for (const std::string& origin : {closed.url(), server.url()}) {
    DynamoDbOptions options = options_for(origin + "/HUSH-tenant");
    options.keys = AccessKeys{"AKID", "secret", ""};
    for (const Diagnosis& answer : diagnose_dynamodb(options)) {
      EXPECT_FALSE(holds(answer.finding + answer.remedy, "HUSH")) << answer.finding;
      EXPECT_TRUE(answer.question != "endpoint" || holds(answer.finding, origin));
    }
    limiter::DynamoDbConnection connection = limiter::connect_dynamodb(options).value();
    EXPECT_EQ(connection.place(), "table limits in eu-central-1 at " + origin);
  }
  for (const ServedRequest& request : server.requests()) {
    EXPECT_EQ(request.target.rfind("/HUSH-tenant", 0), 0u) << request.target;
  }
  EXPECT_GT(server.request_count(), 1u);
}

}  // namespace
}  // namespace stint
