// The signer beside the one of libcurl. That one signs plain JSON requests right, and little else,
// so that nothing else is compared with it.
#include <curl/curl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "store/dynamodb/signer.h"
#include "store/dynamodb/text.h"
#include "tests/support/scripted_server.h"
#include "tests/support/seed.h"

namespace stint::store::dynamodb {
namespace {

using test::ScriptedServer;
using test::ServedRequest;
using test::Step;

struct Signing {
  Credentials credentials;
  std::string region;
  std::string target;
  std::string body;
};

void post_with_curl(const std::string& url, const Signing& wanted) {
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(), &curl_easy_cleanup);
  ASSERT_NE(curl, nullptr);
  curl_slist* headers = nullptr;
  headers = curl_slist_append(headers, "Content-Type: application/x-amz-json-1.0");
  headers = curl_slist_append(headers, ("X-Amz-Target: " + wanted.target).c_str());
  if (!wanted.credentials.session_token.empty()) {
    headers = curl_slist_append(
        headers, ("X-Amz-Security-Token: " + wanted.credentials.session_token).c_str());
  }
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> owner(headers, &curl_slist_free_all);
  std::string signing = "aws:amz:" + wanted.region + ":dynamodb";
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_PROXY, "");
  curl_easy_setopt(curl.get(), CURLOPT_AWS_SIGV4, signing.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_USERNAME, wanted.credentials.access_key_id.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PASSWORD, wanted.credentials.secret_access_key.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, wanted.body.c_str());
  CURLcode code = curl_easy_perform(curl.get());
  ASSERT_EQ(code, CURLE_OK) << curl_easy_strerror(code);
}

std::string field(const std::string& authorization, const std::string& name) {
  std::size_t start = authorization.find(name + "=");
  if (start == std::string::npos) return "";
  start += name.size() + 1;
  return authorization.substr(start, authorization.find(',', start) - start);
}

/// What our signer makes of the headers that curl signed, at the second at which it did.
std::string our_authorization(const ServedRequest& request, const Signing& wanted) {
  std::string names =
      ";" + field(std::string(request.header("authorization")), "SignedHeaders") + ";";
  std::vector<HttpHeader> headers;
  for (const auto& header : request.headers) {
    bool ours = header.first == "x-amz-date" || header.first == "x-amz-security-token";
    if (!ours && names.find(";" + header.first + ";") != std::string::npos) {
      headers.push_back({header.first, header.second});
    }
  }
  // "20261201T120000Z" with the separators that our reader wants.
  std::string date(request.header("x-amz-date"));
  for (auto [place, separator] : {std::pair<int, char>{13, ':'}, {11, ':'}, {6, '-'}, {4, '-'}}) {
    date.insert(static_cast<std::size_t>(place), 1, separator);
  }
  std::optional<TimePoint> now = read_instant(date);
  EXPECT_TRUE(now.has_value()) << date;
  SignedParts parts{request.method, request.target, "", headers, request.body};
  Signer signer(wanted.region, "dynamodb");
  for (const HttpHeader& header :
       signer.sign(parts, wanted.credentials, now.value_or(TimePoint()))) {
    if (header.name == "authorization") return header.value;
  }
  return "";
}

std::string random_body(Random& random) {
  std::string body = "{\"TableName\":\"t\",\"Key\":{\"PK\":{\"S\":\"";
  for (std::uint64_t length = random.below(60); length > 0; --length) {
    body += static_cast<char>('a' + random.below(26));
  }
  return body + "\"}}}";
}

TEST(Signer, AgreesWithLibcurlOnJsonRequests) {
  Random random(test::seed());
  ScriptedServer server([](const ServedRequest&) { return Step::reply(200); });
  constexpr int kRequests = 200;
  for (int number = 0; number < kRequests; ++number) {
    Signing wanted;
    wanted.credentials.access_key_id = "AKID" + random.hex(8);
    wanted.credentials.secret_access_key = random.hex(20);
    if (random.below(2) == 0) wanted.credentials.session_token = random.hex(100);
    wanted.region = random.below(2) == 0 ? "eu-west-1" : "us-east-1";
    wanted.target = random.below(2) == 0 ? "DynamoDB_20120810.GetItem" : "DynamoDB_20120810.Query";
    wanted.body = random_body(random);
    post_with_curl(server.url() + "/", wanted);
    if (HasFatalFailure()) return;
    std::vector<ServedRequest> seen = server.requests();
    ASSERT_EQ(seen.size(), static_cast<std::size_t>(number) + 1);
    const ServedRequest& request = seen.back();
    ASSERT_EQ(request.body, wanted.body);
    std::string theirs(request.header("authorization"));
    std::string ours = our_authorization(request, wanted);
    EXPECT_NE(field(theirs, "Signature"), "");
    EXPECT_EQ(field(ours, "Signature"), field(theirs, "Signature")) << theirs << "\n" << ours;
    EXPECT_EQ(field(ours, "SignedHeaders"), field(theirs, "SignedHeaders"));
  }
}

}  // namespace
}  // namespace stint::store::dynamodb
