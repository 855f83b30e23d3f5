// The sources of credentials that are servers, by the real client over real connections.
#include <gtest/gtest.h>

#include <fstream>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "store/dynamodb/credentials.h"
#include "store/dynamodb/http.h"
#include "tests/dynamodb/credential_world.h"
#include "tests/support/scripted_server.h"

namespace stint::store::dynamodb {
namespace {

using test::ClosedPort;
using test::CredentialWorld;
using test::key_document;
using test::role_answer;
using test::ScriptedServer;
using test::ServedRequest;
using test::Step;

constexpr const char* kLater = "2026-12-01T18:00:00Z";
constexpr const char* kEarlier = "2026-12-01T11:59:59Z";

class CredentialServers : public testing::Test {
 protected:
  std::shared_ptr<CredentialProvider> provider(const HttpOptions& http = {}) {
    return standard_credentials(make_http_client(http).value(), {}, world.surroundings());
  }
  /// The key id, or the reason why there is none.
  std::string fetch(const HttpOptions& http = {}) {
    Result<CredentialsPtr> result = CredentialWorld::get(*provider(http));
    return result ? (*result)->access_key_id : result.error().reason();
  }
  void expect_reason(const std::string& part, const HttpOptions& http = {}) {
    std::string reason = fetch(http);
    EXPECT_NE(reason.find(part), std::string::npos) << reason;
  }

  CredentialWorld world;
};

// What a server of any kind can do wrong. Each is tried once more before it counts.
std::vector<std::pair<std::string, Step>> bad_steps() {
  return {{"answered with status 302", Step::reply(302, "", {{"Location", "http://127.0.0.1:1/"}})},
          {"answered with status 404", Step::reply(404, "{}")},
          {"answered with status 503", Step::reply(503)},
          {"did not answer (", Step::reset()},
          {"did not answer (", Step::close()},
          {"did not answer (", Step::truncated("{\"AccessKeyId\":", 100)},
          {"did not answer (", Step::bytes("HUSH\r\n\r\n").then_close()},
          {"did not answer (", Step::reply(200, std::string(300'000, ' '))}};
}

TEST_F(CredentialServers, Container) {
  ScriptedServer server([](const ServedRequest& request) {
    bool right = request.method == "GET" && request.target == "/keys?a=b" &&
                 request.header("authorization") == "the-token";
    return right ? Step::reply(200, key_document("BOX", kLater)) : Step::reply(401);
  });
  world.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.url() + "/keys?a=b");
  expect_reason("container endpoint: " + server.url() + " answered with status 401");
  world.set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", world.write("token", "the-token"));
  EXPECT_EQ(fetch(), "BOX");
}

TEST_F(CredentialServers, ContainerThatIsGoneOrBroken) {
  {
    ClosedPort closed;
    world.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", closed.url() + "/keys");
    expect_reason("container endpoint: " + closed.url() + " did not answer (");
  }
  for (auto& [reason, step] : bad_steps()) {
    ScriptedServer server(std::vector<Step>{step});
    world.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.url() + "/keys");
    expect_reason("container endpoint: " + server.url() + " " + reason);
  }
  ScriptedServer garbage(std::vector<Step>{Step::reply(200, "<html>")});
  world.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", garbage.url() + "/keys");
  expect_reason(garbage.url() + " gave something that is no JSON object");
  ScriptedServer expired(std::vector<Step>{Step::reply(200, key_document("BOX", kEarlier))});
  world.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", expired.url() + "/keys");
  expect_reason(expired.url() + " gave credentials that have expired already");
}

TEST_F(CredentialServers, ContainerBehindTls) {
  test::Certificate certificate = test::make_certificate();
  ScriptedServer server(
      [](const ServedRequest&) { return Step::reply(200, key_document("BOX", kLater)); },
      certificate);
  world.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.url() + "/keys");
  expect_reason("container endpoint: " + server.url() + " did not answer (");
  EXPECT_EQ(server.request_count(), 0u);
  HttpOptions http;
  http.ca_file = world.write("ca.pem", certificate.certificate);
  EXPECT_EQ(fetch(http), "BOX");
}

TEST_F(CredentialServers, AServerThatNeverAnswersDoesNotHoldTheProviderUp) {
  ScriptedServer server(std::vector<Step>{Step::never()});
  world.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.url() + "/keys");
  std::promise<std::string> answer;
  std::shared_ptr<CredentialProvider> asked = provider();
  asked->get([&answer](Result<CredentialsPtr> result) {
    answer.set_value(result ? "keys" : result.error().reason());
  });
  server.wait_for_requests(1);
  asked.reset();
  EXPECT_NE(answer.get_future().get().find("this client is being closed"), std::string::npos);
}

class MetadataServer : public CredentialServers {
 protected:
  Step serve(const ServedRequest& request) {
    std::lock_guard lock(mutex);
    const std::string roles = "/latest/meta-data/iam/security-credentials/";
    if (request.method == "PUT" && request.target == "/latest/api/token" &&
        request.header("x-aws-ec2-metadata-token-ttl-seconds") == "21600") {
      return token;
    }
    if (request.header("x-aws-ec2-metadata-token") != "metadata-token") return Step::reply(401);
    if (request.target == roles) return role;
    if (request.target == roles + "my-role") return keys;
    return Step::reply(404);
  }

  /// Changes one of the answers.
  void answer(Step& which, Step step) {
    std::lock_guard lock(mutex);
    which = std::move(step);
  }

  std::mutex mutex;
  Step token = Step::reply(200, "metadata-token");
  Step role = Step::reply(200, "my-role");
  Step keys = Step::reply(200, key_document("EC2", kLater));
  ScriptedServer server{[this](const ServedRequest& request) { return serve(request); }};
};

TEST_F(MetadataServer, Good) {
  world.set("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.url());
  EXPECT_EQ(fetch(), "EC2");
  EXPECT_EQ(server.request_count(), 3u);
  // By the seam of the surroundings, too.
  world.set("AWS_EC2_METADATA_SERVICE_ENDPOINT", "");
  Surroundings surroundings = world.surroundings();
  surroundings.metadata_endpoint = server.url();
  auto other = standard_credentials(make_http_client().value(), {}, surroundings);
  EXPECT_TRUE(CredentialWorld::get(*other).ok());
}

TEST_F(MetadataServer, GoneOrBroken) {
  {
    ClosedPort closed;
    world.set("AWS_EC2_METADATA_SERVICE_ENDPOINT", closed.url());
    expect_reason("instance metadata: " + closed.url() + " did not answer (");
  }
  world.set("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.url());
  answer(keys, Step::reply(200, key_document("EC2", kEarlier)));
  expect_reason("instance metadata: " + server.url() + " gave credentials that have expired");
  for (auto& [reason, step] : bad_steps()) {
    answer(keys, step);
    expect_reason("instance metadata: " + server.url() + " " + reason);
  }
  answer(role, Step::reply(404));
  expect_reason("instance metadata: no role is attached to this instance");
  answer(token, Step::reply(403));
  expect_reason(server.url() + " answered with status 403 when asked for a token");
}

TEST_F(MetadataServer, Slow) {
  answer(token, Step::never());
  world.set("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.url());
  expect_reason("instance metadata: " + server.url() + " did not answer (");
  EXPECT_EQ(server.request_count(), 2u);
}

TEST_F(CredentialServers, TokenService) {
  ScriptedServer server([](const ServedRequest& request) {
    bool web = request.body.find("WebIdentityToken=web.token") != std::string::npos;
    bool is_signed =
        request.header("authorization").starts_with("AWS4-HMAC-SHA256 Credential=BASE/");
    if (request.method != "POST" || request.target != "/" || web == is_signed) {
      return Step::reply(400);
    }
    return Step::reply(200, role_answer(web ? "AssumeRoleWithWebIdentity" : "AssumeRole",
                                        web ? "WEB" : "ROLE", kLater));
  });
  world.set("AWS_ENDPOINT_URL_STS", server.url());
  world.write_config(
      "[default]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = base\n"
      "[profile base]\naws_access_key_id = BASE\naws_secret_access_key = s\n");
  EXPECT_EQ(fetch(), "ROLE");
  world.set("AWS_ROLE_ARN", "arn:aws:iam::1:role/r");
  world.set("AWS_WEB_IDENTITY_TOKEN_FILE", world.write("token", "web.token"));
  EXPECT_EQ(fetch(), "WEB");
}

TEST_F(CredentialServers, TokenServiceThatIsGoneOrBroken) {
  world.set("AWS_ROLE_ARN", "arn:aws:iam::1:role/r");
  world.set("AWS_WEB_IDENTITY_TOKEN_FILE", world.write("token", "web.token"));
  {
    ClosedPort closed;
    world.set("AWS_ENDPOINT_URL_STS", closed.url());
    expect_reason("web identity: " + closed.url() + " did not answer (");
  }
  for (auto& [reason, step] : bad_steps()) {
    ScriptedServer server(std::vector<Step>{step});
    world.set("AWS_ENDPOINT_URL_STS", server.url());
    expect_reason("web identity: " + server.url() + " " + reason);
  }
}

}  // namespace
}  // namespace stint::store::dynamodb
