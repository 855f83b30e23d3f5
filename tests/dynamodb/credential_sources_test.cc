// Each source of credentials: good, missing, broken, slow, expired.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "store/dynamodb/credentials.h"
#include "store/dynamodb/signer.h"
#include "store/dynamodb/url.h"
#include "tests/dynamodb/credential_world.h"

namespace stint::store::dynamodb {
namespace {

using test::CredentialWorld;
using test::header_of;
using test::key_document;
using test::no_reply;
using test::reply_of;
using test::role_answer;

constexpr const char* kLater = "2026-12-01T18:00:00Z";
constexpr const char* kEarlier = "2026-12-01T11:59:59Z";

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class CredentialSources : public testing::Test {
 protected:
  /// The credentials, after a look at all parts.
  Credentials keys(const std::string& id, CredentialOptions options = {}) {
    Result<CredentialsPtr> result = world.fetch(std::move(options));
    EXPECT_TRUE(result.ok()) << result.error().reason();
    if (!result) return Credentials();
    EXPECT_EQ((*result)->access_key_id, id);
    EXPECT_EQ((*result)->secret_access_key, "secret-of-" + id);
    return **result;
  }
  /// Of what somebody has to mend.
  void expect_reason(const std::string& part, CredentialOptions options = {}) {
    expect_error(ErrorCode::kAccessDenied, part, std::move(options));
  }
  /// Of what may pass by itself.
  void expect_outage(const std::string& part, CredentialOptions options = {}) {
    expect_error(ErrorCode::kUnavailable, part, std::move(options));
  }
  void expect_error(ErrorCode code, const std::string& part, CredentialOptions options = {}) {
    Result<CredentialsPtr> result = world.fetch(std::move(options));
    ASSERT_FALSE(result.ok()) << part;
    EXPECT_EQ(result.error().code(), code) << result.error().reason();
    EXPECT_TRUE(holds(result.error().reason(), part)) << result.error().reason();
  }
  static CredentialOptions profile(const std::string& name) {
    CredentialOptions options;
    options.profile = name;
    return options;
  }

  CredentialWorld world;
};

TEST_F(CredentialSources, FixedKeysAreTheOnlySource) {
  world.set("AWS_ACCESS_KEY_ID", "ENV");
  CredentialOptions options;
  options.fixed.emplace();
  options.fixed->access_key_id = "FIXED";
  options.fixed->secret_access_key = "secret-of-FIXED";
  EXPECT_EQ(keys("FIXED", options).source, "given by the program");
  options.fixed->secret_access_key = "with blank";
  expect_reason("the program gave a secret access key with white space", options);
  options.fixed->secret_access_key = "";
  expect_reason("the keys given by the program are incomplete", options);
}

TEST_F(CredentialSources, Environment) {
  world.set("AWS_ACCESS_KEY_ID", "ENV");
  expect_reason("environment: AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not");
  world.set("AWS_SECRET_ACCESS_KEY", "secret-of-ENV");
  EXPECT_EQ(keys("ENV").session_token, "");
  world.set("AWS_SESSION_TOKEN", "the-token");
  Credentials credentials = keys("ENV");
  EXPECT_EQ(credentials.session_token, "the-token");
  EXPECT_EQ(credentials.source, "environment");
  EXPECT_FALSE(credentials.expires_at.has_value());
  world.set("AWS_SECRET_ACCESS_KEY", "secret-of-ENV\n");
  expect_reason("its variables hold a secret access key with white space");
  world.set("AWS_ACCESS_KEY_ID", "");
  expect_reason("AWS_SECRET_ACCESS_KEY is set, and AWS_ACCESS_KEY_ID is not");
}

TEST_F(CredentialSources, NothingAnywhereNamesAllThatWasTried) {
  EXPECT_EQ(world.reason(),
            "no credentials: environment: AWS_ACCESS_KEY_ID is not set; "
            "web identity: AWS_WEB_IDENTITY_TOKEN_FILE is not set; "
            "profile \"default\": neither " +
                world.home() + "/.aws/config nor " + world.home() +
                "/.aws/credentials exists; "
                "container endpoint: AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and _FULL_URI are not "
                "set; "
                "instance metadata: http://169.254.169.254 did not answer (Connection refused)");
}

TEST_F(CredentialSources, TheFirstSourceThatIsSetUpDecides) {
  world.set("AWS_ACCESS_KEY_ID", "ENV");
  world.set("AWS_SECRET_ACCESS_KEY", "secret-of-ENV");
  world.set("AWS_WEB_IDENTITY_TOKEN_FILE", "/no/such/token");
  world.write_credentials(
      "[default]\naws_access_key_id = FILE\naws_secret_access_key = secret-of-FILE\n");
  world.set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/keys");
  world.serve([](const HttpRequest& request) {
    return reply_of(200, key_document(holds(request.url, "169.254.170.2") ? "BOX" : "X", kLater));
  });
  keys("ENV");
  // A named profile is meant, whatever else is set.
  keys("FILE", profile("default"));
  world.set("AWS_ACCESS_KEY_ID", "");
  world.set("AWS_SECRET_ACCESS_KEY", "");
  // A broken one is not passed over: the next would be another identity.
  expect_reason("web identity: AWS_WEB_IDENTITY_TOKEN_FILE is set, and AWS_ROLE_ARN is not");
  EXPECT_FALSE(holds(world.reason(), "container"));
  world.set("AWS_WEB_IDENTITY_TOKEN_FILE", "");
  keys("FILE");
  world.write_credentials("");
  keys("BOX");
}

// --- web identity

class WebIdentity : public CredentialSources {
 protected:
  WebIdentity() {
    world.set("AWS_REGION", "eu-west-1");
    world.set("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/pod");
    world.set("AWS_WEB_IDENTITY_TOKEN_FILE", world.write("token", "web.identity.token\n"));
  }
};

TEST_F(WebIdentity, Good) {
  world.set("AWS_ROLE_SESSION_NAME", "my session");
  world.serve([](const HttpRequest&) {
    return reply_of(200, role_answer("AssumeRoleWithWebIdentity", "POD", kLater));
  });
  Credentials credentials = keys("POD");
  EXPECT_EQ(credentials.session_token, "token-of-POD");
  EXPECT_EQ(credentials.expires_at, CredentialWorld::kNow + std::chrono::hours(6));
  EXPECT_EQ(credentials.source, "web identity for role arn:aws:iam::123456789012:role/pod");
  ASSERT_EQ(world.requests(), 1u);
  HttpRequest request = world.http()->seen()[0];
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.url, "https://sts.eu-west-1.amazonaws.com/");
  EXPECT_TRUE(request.may_use_proxy);
  EXPECT_EQ(header_of(request, "authorization"), "");
  EXPECT_EQ(request.body,
            "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A"
            "123456789012%3Arole%2Fpod&RoleSessionName=my%20session&WebIdentityToken="
            "web.identity.token");
}

TEST_F(WebIdentity, TheTokenIsReadEachTime) {
  world.serve([](const HttpRequest& request) {
    bool renewed = holds(request.body, "renewed.token");
    return reply_of(200, role_answer("AssumeRoleWithWebIdentity", renewed ? "NEW" : "OLD", kLater));
  });
  keys("OLD");
  world.write("token", "renewed.token");
  keys("NEW");
}

TEST_F(WebIdentity, Missing) {
  world.set("AWS_ROLE_ARN", "");
  expect_reason("web identity: AWS_WEB_IDENTITY_TOKEN_FILE is set, and AWS_ROLE_ARN is not");
  world.set("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/pod");
  world.set("AWS_WEB_IDENTITY_TOKEN_FILE", world.home() + "/none");
  expect_reason("web identity: " + world.home() + "/none does not exist");
  world.set("AWS_WEB_IDENTITY_TOKEN_FILE", world.write("empty", ""));
  expect_reason("/empty is empty");
  EXPECT_EQ(world.requests(), 0u);
}

TEST_F(WebIdentity, Broken) {
  std::string answer;
  int status = 200;
  world.serve([&](const HttpRequest&) { return reply_of(status, answer); });
  const std::string service = "web identity: https://sts.eu-west-1.amazonaws.com ";
  for (const char* text : {"", "{}", "<html><br></html>"}) {
    answer = text;
    expect_reason(service + "gave an answer that is no well-formed XML");
  }
  answer = "<a/>";
  expect_reason(service + "gave an answer without AccessKeyId");
  answer = role_answer("AssumeRoleWithWebIdentity", "POD", "soon");
  expect_reason(service + "gave an answer whose Expiration is no time");
  answer = role_answer("AssumeRoleWithWebIdentity", "P D", kLater);
  expect_reason(service + "gave an access key id with white space");
  answer = role_answer("AssumeRole", "POD", kLater);
  expect_reason(service + "gave an answer without AccessKeyId");
  status = 400;
  answer =
      "<ErrorResponse xmlns=\"x\"><Error><Type>Sender</Type><Code>ExpiredTokenException</Code>"
      "<Message>Token expired: web.identity.token</Message></Error></ErrorResponse>";
  expect_reason(service +
                "answered with status 400: ExpiredTokenException (Token expired: [hidden])");
  status = 302;
  answer = "<html>";
  expect_reason(service + "answered with status 302");
}

TEST_F(WebIdentity, SlowOrGone) {
  world.serve([](const HttpRequest&) { return no_reply("the deadline passed"); });
  expect_outage("https://sts.eu-west-1.amazonaws.com did not answer (the deadline passed)");
  EXPECT_EQ(world.requests(), 3u);  // Keys of a role may be asked for again.
}

// The token service says with status 400 that it is to be asked again.
TEST_F(WebIdentity, ServiceInTrouble) {
  std::string code;
  int failures = 3;
  world.serve([&](const HttpRequest&) {
    if (failures-- <= 0) {
      return reply_of(200, role_answer("AssumeRoleWithWebIdentity", "POD", kLater));
    }
    return reply_of(400, "<ErrorResponse><Error><Type>Sender</Type><Code>" + code +
                             "</Code><Message>wait</Message></Error></ErrorResponse>");
  });
  std::size_t requests = 0;
  for (const char* passing : {"Throttling", "ThrottlingException", "RequestLimitExceeded",
                              "IDPCommunicationError", "ServiceUnavailable"}) {
    code = passing;
    failures = 3;
    expect_outage("answered with status 400: " + code + " (wait)");
    EXPECT_EQ(world.requests(), requests += 3) << code;
    failures = 2;
    keys("POD");
    EXPECT_EQ(world.requests(), requests += 3) << code;
  }
  for (const char* lasting : {"ExpiredTokenException", "InvalidIdentityToken", "AccessDenied"}) {
    code = lasting;
    failures = 3;
    expect_reason("answered with status 400: " + code);
    EXPECT_EQ(world.requests(), requests += 1) << code;
  }
}

TEST_F(WebIdentity, Expired) {
  world.serve([](const HttpRequest&) {
    return reply_of(200, role_answer("AssumeRoleWithWebIdentity", "POD", kEarlier));
  });
  expect_reason("gave credentials that have expired already, by the clock of this machine");
}

TEST_F(WebIdentity, IsAskedWhereItIs) {
  std::vector<std::string> urls;
  world.serve([&](const HttpRequest& request) {
    urls.push_back(request.url);
    return reply_of(200, role_answer("AssumeRoleWithWebIdentity", "POD", kLater));
  });
  world.set("AWS_STS_REGIONAL_ENDPOINTS", "legacy");
  keys("POD");
  world.set("AWS_REGION", "eu-south-2");  // Newer than the endpoint for all.
  keys("POD");
  world.set("AWS_REGION", "");
  keys("POD");
  world.write_config("[default]\nregion = us-west-2\nsts_regional_endpoints = regional\n");
  world.set("AWS_STS_REGIONAL_ENDPOINTS", "");
  keys("POD");
  CredentialOptions options;
  options.region = "cn-north-1";
  keys("POD", options);
  world.set("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:1234/path/");
  keys("POD");
  EXPECT_EQ(urls, (std::vector<std::string>{
                      "https://sts.amazonaws.com/", "https://sts.eu-south-2.amazonaws.com/",
                      "https://sts.amazonaws.com/", "https://sts.us-west-2.amazonaws.com/",
                      "https://sts.cn-north-1.amazonaws.com.cn/", "http://127.0.0.1:1234/path"}));
  world.set("AWS_ENDPOINT_URL_STS", "nowhere");
  expect_reason("web identity: the address in AWS_ENDPOINT_URL_STS is not usable");
  world.set("AWS_ENDPOINT_URL_STS", "");
  world.set("AWS_STS_REGIONAL_ENDPOINTS", "global");
  expect_reason("AWS_STS_REGIONAL_ENDPOINTS is neither \"regional\" nor \"legacy\"");
  world.set("AWS_STS_REGIONAL_ENDPOINTS", "");
  world.set("AWS_REGION", "evil.com/");
  expect_reason("invalid AWS_REGION \"evil.com/\"");
}

// --- profiles

TEST_F(CredentialSources, ProfileWithKeys) {
  world.write_config("[profile dev]\nregion = eu-west-1\n");
  world.write_credentials(
      "[dev]\naws_access_key_id = DEV\naws_secret_access_key = secret-of-DEV\n"
      "aws_session_token = t\n[half]\naws_access_key_id = HALF\n[half2]\n"
      "aws_secret_access_key = secret\n[blank]\naws_access_key_id = A B\n"
      "aws_secret_access_key = secret\n");
  Credentials credentials = keys("DEV", profile("dev"));
  EXPECT_EQ(credentials.session_token, "t");
  EXPECT_EQ(credentials.source, "profile dev of " + world.home() + "/.aws/credentials");
  world.set("AWS_PROFILE", "dev");
  keys("DEV");
  expect_reason("profile \"half\": it has aws_access_key_id without aws_secret_access_key",
                profile("half"));
  expect_reason("profile \"half2\": it has aws_secret_access_key without aws_access_key_id",
                profile("half2"));
  expect_reason("profile \"blank\": it holds an access key id with white space", profile("blank"));
}

TEST_F(CredentialSources, ProfileThatIsMissing) {
  world.write_config("[default]\nregion = eu-west-1\n[dev]\nregion = eu-west-1\n");
  // Nobody asked for the default, so that others are tried.
  expect_reason(
      "profile \"default\": it holds neither keys nor credential_process nor role_arn; "
      "container endpoint: ");
  EXPECT_EQ(world.reason(profile("other")),
            "no credentials: profile \"other\": there is no such profile in " + world.home() +
                "/.aws/config; " + world.home() + "/.aws/credentials does not exist");
  expect_reason("it is [profile NAME] in the file config", profile("dev"));
  world.set("AWS_PROFILE", "other");
  expect_reason("profile \"other\": there is no such profile");
  world.set("HOME", "");
  expect_reason("profile \"other\": HOME is not set");
}

TEST_F(CredentialSources, ProfileFileThatIsBroken) {
  world.write_credentials("[dev]\nHUSH-HUSH\n");
  expect_reason("profile \"default\": line 2 of " + world.home() +
                "/.aws/credentials is neither [section] nor name = value");
  EXPECT_FALSE(holds(world.reason(), "HUSH"));
}

TEST_F(CredentialSources, ProfileThatNeedsABrowserOrADevice) {
  world.write_config(
      "[profile sso]\nsso_session = x\n"
      "[profile mfa]\nrole_arn = r\nsource_profile = sso\nmfa_serial = m\n");
  expect_reason("it has sso_session, a sign-in in a browser", profile("sso"));
  expect_reason("asks for a code of a device (mfa_serial)", profile("mfa"));
}

// --- programs

class ProcessSource : public CredentialSources {
 protected:
  void command(const std::string& script) {
    std::string path = world.write("give keys.sh", script);
    world.write_config("[default]\ncredential_process = /bin/sh \"" + path + "\" 'an argument'\n");
  }
};

TEST_F(ProcessSource, Good) {
  command(
      "test \"$1\" = 'an argument' && echo '{\"Version\":1,\"AccessKeyId\":\"RUN\","
      "\"SecretAccessKey\":\"secret-of-RUN\",\"SessionToken\":\"t\",\"Expiration\":"
      "\"2026-12-01T18:00:00+00:00\",\"More\":[1]}'\n");
  Credentials credentials = keys("RUN");
  EXPECT_EQ(credentials.session_token, "t");
  EXPECT_EQ(credentials.source, "credential_process of profile default");
  EXPECT_EQ(credentials.expires_at, CredentialWorld::kNow + std::chrono::hours(6));
  command("echo '{\"Version\":1,\"AccessKeyId\":\"RUN\",\"SecretAccessKey\":\"secret-of-RUN\"}'");
  EXPECT_FALSE(keys("RUN").expires_at.has_value());
}

TEST_F(ProcessSource, Broken) {
  const std::string subject = "profile \"default\": its credential_process ";
  world.write_config("[default]\ncredential_process = /no/such/program\n");
  expect_reason(subject + "could not be started (No such file or directory)");
  world.write_config("[default]\ncredential_process = a 'b\n");
  expect_reason(subject + "cannot be read: the command has a quote that is not closed");
  command("exit 7");
  expect_reason(subject + "ended with status 7; run it by hand");
  command("echo no keys today");
  expect_reason(subject + "gave something that is no JSON object");
  command("echo '[]'");
  expect_reason(subject + "gave something that is no JSON object");
  for (const char* version : {"", "\"Version\":2,", "\"Version\":\"1\","}) {
    command("echo '{" + std::string(version) + "\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"s\"}'");
    expect_reason(subject + "gave a document whose Version is not 1");
  }
  command("echo '{\"Version\":1,\"SecretAccessKey\":\"s\"}'");
  expect_reason(subject + "gave a document without AccessKeyId");
  command("echo '{\"Version\":1,\"AccessKeyId\":\"A\"}'");
  expect_reason(subject + "gave a document without SecretAccessKey");
  command("echo '{\"Version\":1,\"AccessKeyId\":\"A\",\"SecretAccessKey\":5}'");
  expect_reason(subject + "gave a document whose SecretAccessKey is no string");
  command(
      "echo "
      "'{\"Version\":1,\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"s\",\"Expiration\":\"x\"}'");
  expect_reason(subject + "gave a document whose Expiration is no time");
  command("yes");
  expect_reason(subject + "wrote more than 65536 bytes");
}

TEST_F(ProcessSource, Expired) {
  command(
      "echo '{\"Version\":1,\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"s\",\"Expiration\":"
      "\"2026-12-01T12:00:00Z\"}'");
  expect_reason("its credential_process gave credentials that have expired already");
}

// --- roles

class RoleSource : public CredentialSources {
 protected:
  RoleSource() {
    world.set("AWS_REGION", "eu-west-1");
    // Gives keys named after the role.
    world.serve([](const HttpRequest& request) {
      std::size_t name = request.body.find("role%2F") + 7;
      std::string id = request.body.substr(name, request.body.find('&', name) - name);
      return reply_of(200, role_answer("AssumeRole", id, kLater));
    });
  }

  /// Whether a request was signed with these keys, by what our signer makes of it.
  static bool is_signed_with(const HttpRequest& request, const std::string& id,
                             const std::string& token) {
    Credentials credentials;
    credentials.access_key_id = id;
    credentials.secret_access_key = "secret-of-" + id;
    credentials.session_token = token;
    std::vector<HttpHeader> headers = {{"content-type", header_of(request, "content-type")},
                                       {"host", parse_url(request.url)->authority()}};
    SignedParts parts{request.method, "/", "", headers, request.body};
    Signer signer("eu-west-1", "sts");
    for (const HttpHeader& header : signer.sign(parts, credentials, CredentialWorld::kNow)) {
      if (header_of(request, header.name) != header.value) return false;
    }
    return header_of(request, "authorization") != "";
  }
};

TEST_F(RoleSource, Good) {
  world.write_config(
      "[profile prod]\nrole_arn = arn:aws:iam::1:role/PROD\nsource_profile = base\n"
      "external_id = ext & id\nrole_session_name = me\nduration_seconds = 1800\n");
  world.write_credentials(
      "[base]\naws_access_key_id = BASE\naws_secret_access_key = secret-of-BASE\n");
  Credentials credentials = keys("PROD", profile("prod"));
  EXPECT_EQ(credentials.source, "role arn:aws:iam::1:role/PROD of profile prod");
  EXPECT_EQ(credentials.session_token, "token-of-PROD");
  ASSERT_EQ(world.requests(), 1u);
  HttpRequest request = world.http()->seen()[0];
  EXPECT_EQ(request.url, "https://sts.eu-west-1.amazonaws.com/");
  EXPECT_EQ(request.body,
            "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2FPROD&"
            "RoleSessionName=me&DurationSeconds=1800&ExternalId=ext%20%26%20id");
  EXPECT_TRUE(is_signed_with(request, "BASE", ""));
}

TEST_F(RoleSource, RolesMayFollowRoles) {
  world.write_config(
      "[profile a]\nrole_arn = arn:aws:iam::1:role/A\nsource_profile = b\n"
      "[profile b]\nrole_arn = arn:aws:iam::1:role/B\nsource_profile = c\n"
      "[profile c]\naws_access_key_id = C\naws_secret_access_key = secret-of-C\n");
  keys("A", profile("a"));
  ASSERT_EQ(world.requests(), 2u);
  EXPECT_TRUE(is_signed_with(world.http()->seen()[0], "C", ""));
  EXPECT_TRUE(is_signed_with(world.http()->seen()[1], "B", "token-of-B"));
  // Without a name of one's own the session is named by the time, which is the same here.
  EXPECT_TRUE(holds(world.http()->seen()[0].body, "RoleSessionName=stint-1796126400000"));
}

TEST_F(RoleSource, CirclesAreFound) {
  world.write_config(
      "[profile a]\nrole_arn = arn:aws:iam::1:role/A\nsource_profile = b\n"
      "[profile b]\nrole_arn = arn:aws:iam::1:role/B\nsource_profile = a\n"
      "[profile self]\nrole_arn = arn:aws:iam::1:role/SELF\nsource_profile = self\n"
      "[profile own]\nrole_arn = arn:aws:iam::1:role/OWN\nsource_profile = own\n"
      "aws_access_key_id = K\naws_secret_access_key = secret-of-K\n");
  expect_reason("the profiles name each other in a circle", profile("a"));
  expect_reason("the profiles name each other in a circle", profile("self"));
  EXPECT_EQ(world.requests(), 0u);
  keys("OWN", profile("own"));
  EXPECT_TRUE(is_signed_with(world.http()->seen()[0], "K", ""));
}

TEST_F(RoleSource, SourcesOtherThanProfiles) {
  world.write_config(
      "[profile env]\nrole_arn = arn:aws:iam::1:role/R\ncredential_source = Environment\n"
      "[profile box]\nrole_arn = arn:aws:iam::1:role/R\ncredential_source = EcsContainer\n"
      "[profile ec2]\nrole_arn = arn:aws:iam::1:role/R\ncredential_source = Ec2InstanceMetadata\n"
      "[profile odd]\nrole_arn = arn:aws:iam::1:role/R\ncredential_source = Moon\n"
      "[profile run]\nrole_arn = arn:aws:iam::1:role/R\nsource_profile = command\n"
      "[profile command]\ncredential_process = printf "
      "'{\"Version\":1,\"AccessKeyId\":\"RUN\",\"SecretAccessKey\":\"secret-of-RUN\"}'\n");
  expect_reason("its credential_source \"Environment\" gives no keys: AWS_ACCESS_KEY_ID is not set",
                profile("env"));
  world.set("AWS_ACCESS_KEY_ID", "ENV");
  world.set("AWS_SECRET_ACCESS_KEY", "secret-of-ENV");
  keys("R", profile("env"));
  EXPECT_TRUE(is_signed_with(world.http()->seen().back(), "ENV", ""));
  keys("R", profile("run"));
  EXPECT_TRUE(is_signed_with(world.http()->seen().back(), "RUN", ""));
  expect_reason("its credential_source is neither Environment nor", profile("odd"));

  world.set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/keys");
  world.serve([](const HttpRequest& request) {
    if (request.method == "PUT") return reply_of(200, "metadata-token");
    if (holds(request.url, "/keys")) return reply_of(200, key_document("BOX", kLater));
    if (request.url.ends_with("/security-credentials/")) return reply_of(200, "role");
    if (request.url.ends_with("/role")) return reply_of(200, key_document("EC2", kLater));
    return reply_of(200, role_answer("AssumeRole", "R", kLater));
  });
  keys("R", profile("box"));
  EXPECT_TRUE(is_signed_with(world.http()->seen().back(), "BOX", "token-of-BOX"));
  keys("R", profile("ec2"));
  EXPECT_TRUE(is_signed_with(world.http()->seen().back(), "EC2", "token-of-EC2"));
}

TEST_F(RoleSource, WebIdentityOfAProfile) {
  world.write_config(
      "[profile web]\nrole_arn = arn:aws:iam::1:role/WEB\nweb_identity_token_file = " +
      world.write("token", "abc") + "\n");
  world.serve([](const HttpRequest&) {
    return reply_of(200, role_answer("AssumeRoleWithWebIdentity", "WEB", kLater));
  });
  keys("WEB", profile("web"));
  EXPECT_TRUE(holds(world.http()->seen()[0].body, "WebIdentityToken=abc"));
}

TEST_F(RoleSource, Broken) {
  world.write_credentials(
      "[base]\naws_access_key_id = BASE\naws_secret_access_key = secret-of-BASE\n[none]\nx=1\n");
  auto role = [this](const std::string& rest) {
    world.write_config("[profile p]\nrole_arn = arn:aws:iam::1:role/P\n" + rest);
  };
  role("");
  expect_reason("it has role_arn without source_profile, credential_source or", profile("p"));
  role("source_profile = base\ncredential_source = Environment\n");
  expect_reason("it has both source_profile and credential_source", profile("p"));
  role("source_profile = gone\n");
  expect_reason("its source_profile \"gone\" gives no keys: there is no such profile in",
                profile("p"));
  role("source_profile = none\n");
  expect_reason("its source_profile \"none\" gives no keys: it holds neither keys nor",
                profile("p"));
  for (const char* seconds : {"899", "43201", "x", "-900", "900.5", "99999999999"}) {
    role("source_profile = base\nduration_seconds = " + std::string(seconds) + "\n");
    expect_reason("duration_seconds is no number from 900 to 43200", profile("p"));
  }
  EXPECT_EQ(world.requests(), 0u);
  role("source_profile = base\n");
  world.serve([](const HttpRequest&) {
    return reply_of(403,
                    "<ErrorResponse><Error><Code>AccessDenied</Code><Message>User: x is not "
                    "authorized</Message></Error></ErrorResponse>");
  });
  expect_reason(
      "profile \"p\": role arn:aws:iam::1:role/P was not given: "
      "https://sts.eu-west-1.amazonaws.com answered with status 403: AccessDenied (User: x is not "
      "authorized)",
      profile("p"));
}

TEST_F(RoleSource, ExpiredOrSlow) {
  world.write_config("[profile p]\nrole_arn = arn:aws:iam::1:role/P\nsource_profile = base\n");
  world.write_credentials(
      "[base]\naws_access_key_id = BASE\naws_secret_access_key = secret-of-BASE\n");
  world.serve(
      [](const HttpRequest&) { return reply_of(200, role_answer("AssumeRole", "P", kEarlier)); });
  expect_reason("gave credentials that have expired already", profile("p"));
  world.serve([](const HttpRequest&) { return no_reply("the deadline passed"); });
  expect_outage("did not answer (the deadline passed)", profile("p"));
}

// --- containers

class ContainerSource : public CredentialSources {
 protected:
  ContainerSource() {
    world.serve([](const HttpRequest&) { return reply_of(200, key_document("BOX", kLater)); });
  }
};

TEST_F(ContainerSource, RelativeAddress) {
  world.set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials/id?x=y");
  Credentials credentials = keys("BOX");
  EXPECT_EQ(credentials.session_token, "token-of-BOX");
  EXPECT_EQ(credentials.source, "container endpoint http://169.254.170.2");
  EXPECT_EQ(credentials.expires_at, CredentialWorld::kNow + std::chrono::hours(6));
  HttpRequest request = world.http()->seen().at(0);
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.url, "http://169.254.170.2/v2/credentials/id?x=y");
  EXPECT_FALSE(request.may_use_proxy);
  EXPECT_EQ(header_of(request, "authorization"), "");
  world.set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "@evil.com/");
  expect_reason("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin with \"/\"");
}

TEST_F(ContainerSource, FullAddressWithToken) {
  world.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials");
  world.set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic abcd");
  keys("BOX");
  EXPECT_EQ(header_of(world.http()->seen().back(), "authorization"), "Basic abcd");
  // The file goes first, and is read each time.
  world.set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", world.write("token", "one\n"));
  keys("BOX");
  EXPECT_EQ(header_of(world.http()->seen().back(), "authorization"), "one");
  world.write("token", "two");
  keys("BOX");
  EXPECT_EQ(header_of(world.http()->seen().back(), "authorization"), "two");
  world.write("token", "two\r\nHost: evil");
  expect_reason("/token holds more than one line");
  world.set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/no/such/file");
  expect_reason("container endpoint: /no/such/file does not exist");
  world.set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "");
  world.set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "a\nb");
  expect_reason("AWS_CONTAINER_AUTHORIZATION_TOKEN holds more than one line");
}

TEST_F(ContainerSource, TheTokenIsNotSentInTheClearToStrangers) {
  for (const char* url :
       {"http://127.0.0.1:80/x", "http://127.255.0.9/x", "http://localhost:1/x", "http://[::1]/x",
        "http://169.254.170.2/x", "http://[fd00:ec2::23]/x", "https://example.com/x"}) {
    world.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", url);
    keys("BOX");
  }
  EXPECT_TRUE(world.http()->seen().back().may_use_proxy);
  EXPECT_FALSE(world.http()->seen().front().may_use_proxy);
  std::size_t before = world.requests();
  for (const char* url :
       {"http://example.com/x", "http://127.0.0.1.evil.com/x", "http://127.1/x",
        "http://127.0.0.256/x", "http://0127.0.0.1/x", "http://127.00.0.1/x", "http://10.0.0.1/x",
        "http://169.254.169.254/x", "http://localhost.evil.com/x", "http://[::2]/x"}) {
    world.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", url);
    expect_reason("without https it has to be one of this machine");
  }
  for (const char* url : {"http://127.0.0.1@evil.com/x", "file:///etc/passwd", "127.0.0.1/x"}) {
    world.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", url);
    expect_reason("the address in AWS_CONTAINER_CREDENTIALS_FULL_URI is not usable");
  }
  EXPECT_EQ(world.requests(), before);
}

TEST_F(ContainerSource, BrokenSlowExpired) {
  world.set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/x");
  const std::string subject = "container endpoint: http://169.254.170.2 ";
  HttpReply reply = reply_of(404, "{}");
  world.serve([&](const HttpRequest&) { return reply; });
  expect_reason(subject + "answered with status 404");
  EXPECT_EQ(world.requests(), 1u);
  reply = reply_of(500, "");
  expect_outage(subject + "answered with status 500");
  EXPECT_EQ(world.requests(), 4u);
  reply = reply_of(302, "");
  expect_reason(subject + "answered with status 302");
  reply = no_reply("the deadline passed");
  expect_outage(subject + "did not answer (the deadline passed)");
  reply = reply_of(200, "<html>");
  expect_reason(subject + "gave something that is no JSON object");
  reply = reply_of(200, key_document("BOX", kLater).substr(0, 60));
  expect_reason(subject + "gave something that is no JSON object");
  reply = reply_of(200, key_document("BOX", kEarlier));
  expect_reason(subject + "gave credentials that have expired already");
  reply = reply_of(200, key_document("BOX\\n", kLater));
  expect_reason(subject + "gave an access key id with white space");
}

TEST_F(ContainerSource, ASecondAttemptMaySucceed) {
  world.set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/x");
  int left = 2;
  world.serve([&](const HttpRequest&) {
    return left-- > 0 ? reply_of(429, "") : reply_of(200, key_document("BOX", kLater));
  });
  keys("BOX");
  EXPECT_EQ(world.requests(), 3u);
}

// --- instance metadata

class MetadataSource : public CredentialSources {
 protected:
  MetadataSource() {
    world.serve([this](const HttpRequest& request) {
      if (request.method == "PUT") return token;
      if (header_of(request, "x-aws-ec2-metadata-token") != token.body) return reply_of(401, "");
      return request.url.ends_with("/") ? roles : document;
    });
  }

  HttpReply token = reply_of(200, "metadata-token");
  HttpReply roles = reply_of(200, "my-role\nanother\n");
  HttpReply document = reply_of(200, key_document("EC2", kLater));
};

TEST_F(MetadataSource, Good) {
  Credentials credentials = keys("EC2");
  EXPECT_EQ(credentials.source, "instance metadata, role my-role");
  EXPECT_EQ(credentials.session_token, "token-of-EC2");
  std::vector<HttpRequest> seen = world.http()->seen();
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].url, "http://169.254.169.254/latest/api/token");
  EXPECT_EQ(header_of(seen[0], "x-aws-ec2-metadata-token-ttl-seconds"), "21600");
  EXPECT_EQ(seen[1].url, "http://169.254.169.254/latest/meta-data/iam/security-credentials/");
  EXPECT_EQ(seen[2].url,
            "http://169.254.169.254/latest/meta-data/iam/security-credentials/my-role");
  for (const HttpRequest& request : seen) EXPECT_FALSE(request.may_use_proxy);
}

TEST_F(MetadataSource, Missing) {
  world.set("AWS_EC2_METADATA_DISABLED", "TRUE");
  expect_reason("instance metadata: AWS_EC2_METADATA_DISABLED is true");
  EXPECT_EQ(world.requests(), 0u);
  world.set("AWS_EC2_METADATA_DISABLED", "");
  roles = reply_of(404, "");
  expect_reason("instance metadata: no role is attached to this instance");
}

// On most machines there is no such service, and nobody must wait for it to come back.
TEST_F(MetadataSource, SilenceIsAnOutageOnlyOfAServiceThatIsThere) {
  token = no_reply("the deadline passed");
  const std::string silence = "http://169.254.169.254 did not answer (the deadline passed)";
  expect_reason("instance metadata: " + silence);
  world.write_config(
      "[profile ec2]\nrole_arn = arn:aws:iam::1:role/R\n"
      "credential_source = Ec2InstanceMetadata\n");
  expect_outage(silence, profile("ec2"));
  world.set("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://169.254.169.254");
  expect_outage("instance metadata: " + silence);
  world.set("AWS_EC2_METADATA_SERVICE_ENDPOINT", "");
  world.set("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "IPv4");
  expect_outage("instance metadata: " + silence);
}

TEST_F(MetadataSource, SilenceIsAnOutageOfAServiceThatAnsweredBefore) {
  auto provider = world.provider();
  const HttpReply answers[] = {token, reply_of(503, "")};
  token = no_reply("the deadline passed");
  EXPECT_EQ(CredentialWorld::get(*provider).error().code(), ErrorCode::kAccessDenied);
  // Whatever it answered, and however often it did not since.
  for (const HttpReply& answer : answers) {
    provider = world.provider();
    token = answer;
    EXPECT_EQ(CredentialWorld::get(*provider).ok(), answer.status == 200);
    token = no_reply("the deadline passed");
    for (int i = 0; i < 2; ++i) {
      world.advance(std::chrono::hours(6));
      Result<CredentialsPtr> result = CredentialWorld::get(*provider);
      ASSERT_FALSE(result.ok());
      EXPECT_EQ(result.error().code(), ErrorCode::kUnavailable) << result.error().reason();
    }
  }
}

TEST_F(MetadataSource, IsAskedWhereItIs) {
  world.set("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "IPv6");
  keys("EC2");
  EXPECT_EQ(world.http()->seen().back().url.find("http://[fd00:ec2::254]/latest/"), 0u);
  world.set("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1338/");
  keys("EC2");
  EXPECT_EQ(world.http()->seen().back().url.find("http://127.0.0.1:1338/latest/"), 0u);
  world.set("AWS_EC2_METADATA_SERVICE_ENDPOINT", "127.0.0.1");
  expect_reason("the address in AWS_EC2_METADATA_SERVICE_ENDPOINT is not usable");
}

TEST_F(MetadataSource, Broken) {
  const std::string subject = "instance metadata: http://169.254.169.254 ";
  document = reply_of(500, "");
  expect_outage(subject + "answered with status 500 when asked for the keys of the role");
  document = reply_of(200, "{\"Code\":\"AssumeRoleUnauthorizedAccess\",\"Message\":\"no\"}");
  expect_reason(subject + "gave code AssumeRoleUnauthorizedAccess in place of keys");
  document = reply_of(200, "{\"Code\":\"Success\"");
  expect_reason(subject + "gave something that is no JSON object");
  document = no_reply("the deadline passed");
  expect_outage(subject + "did not answer (the deadline passed) when asked for the keys");
  for (const char* name : {"", "<html>", "../../x", "a b"}) {
    roles = reply_of(200, name);
    expect_reason(subject + "gave a role name that is none");
  }
  roles = reply_of(401, "");
  expect_reason(subject + "answered with status 401 when asked for the role");
  token = reply_of(403, "");
  expect_reason(subject + "answered with status 403 when asked for a token");
  token = reply_of(200, "a\r\nb");
  expect_reason(subject + "gave a token that is none");
}

TEST_F(MetadataSource, Expired) {
  document = reply_of(200, key_document("EC2", kEarlier));
  expect_reason("http://169.254.169.254 gave credentials that have expired already");
}

// --- where to connect

TEST(StandardLocation, RegionComesFromTheStandardPlaces) {
  CredentialWorld world;
  EXPECT_EQ(standard_location(world.surroundings(), "")->region, "");
  world.write_config("[default]\nregion = eu-west-1\n[profile dev]\nregion = eu-west-2\n");
  EXPECT_EQ(standard_location(world.surroundings(), "")->region, "eu-west-1");
  EXPECT_EQ(standard_location(world.surroundings(), "dev")->region, "eu-west-2");
  world.set("AWS_PROFILE", "dev");
  EXPECT_EQ(standard_location(world.surroundings(), "")->region, "eu-west-2");
  world.set("AWS_DEFAULT_REGION", "us-east-2");
  EXPECT_EQ(standard_location(world.surroundings(), "")->region, "us-east-2");
  world.set("AWS_REGION", "us-west-1");
  EXPECT_EQ(standard_location(world.surroundings(), "")->region, "us-west-1");
}

TEST(StandardLocation, EndpointComesFromTheStandardPlaces) {
  CredentialWorld world;
  auto endpoint = [&world] {
    Result<Location> location = standard_location(world.surroundings(), "");
    return location ? location->endpoint : "error: " + location.error().reason();
  };
  EXPECT_EQ(endpoint(), "");
  world.write_config("[default]\nendpoint_url = http://127.0.0.1:1/\n");
  EXPECT_EQ(endpoint(), "http://127.0.0.1:1");
  world.write_config(
      "[default]\nendpoint_url = http://127.0.0.1:1\nservices = local\n"
      "[services local]\ndynamodb =\n  endpoint_url = http://127.0.0.1:2\n");
  EXPECT_EQ(endpoint(), "http://127.0.0.1:2");
  world.set("AWS_ENDPOINT_URL", "http://127.0.0.1:3");
  EXPECT_EQ(endpoint(), "http://127.0.0.1:3");
  world.set("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:4");
  EXPECT_EQ(endpoint(), "http://127.0.0.1:4");
  world.set("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true");
  EXPECT_EQ(endpoint(), "");
  world.set("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "false");
  EXPECT_EQ(endpoint(), "http://127.0.0.1:4");
  world.write_config("[default]\nignore_configured_endpoint_urls = true\n");
  EXPECT_EQ(endpoint(), "");
}

TEST(StandardLocation, SaysWhatIsWrong) {
  CredentialWorld world;
  auto trouble = [&world](std::string_view profile) {
    Result<Location> location = standard_location(world.surroundings(), profile);
    if (location) return std::string("none");
    EXPECT_EQ(location.error().code(), ErrorCode::kInvalidArgument);
    return location.error().message();
  };
  EXPECT_TRUE(holds(trouble("dev"), "invalid profile \"dev\": neither ")) << trouble("dev");
  world.set("AWS_REGION", "eu west");
  EXPECT_TRUE(holds(trouble(""), "invalid AWS_REGION \"eu west\"")) << trouble("");
  world.set("AWS_REGION", "");
  world.set("AWS_ENDPOINT_URL", "http://user:HUSH@host");
  EXPECT_TRUE(holds(trouble(""), "the address in AWS_ENDPOINT_URL is not usable")) << trouble("");
  EXPECT_FALSE(holds(trouble(""), "HUSH"));
  world.set("AWS_ENDPOINT_URL", "");
  world.write_config("[default]\nservices = gone\n");
  EXPECT_TRUE(holds(trouble(""), "[services gone] does not exist in")) << trouble("");
  world.write_config("[default\n");
  EXPECT_TRUE(holds(trouble(""), "line 1 of " + world.home() + "/.aws/config")) << trouble("");
}

}  // namespace
}  // namespace stint::store::dynamodb
