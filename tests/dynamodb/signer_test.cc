#include "store/dynamodb/signer.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "store/dynamodb/text.h"

namespace stint::store::dynamodb {
namespace {

constexpr std::string_view kEmptyDigest =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

Credentials suite_credentials() {
  Credentials credentials;
  credentials.access_key_id = "AKIDEXAMPLE";
  credentials.secret_access_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
  return credentials;
}

TimePoint suite_time() { return *read_instant("2015-08-30T12:36:00Z"); }

std::string value_of(const std::vector<HttpHeader>& headers, std::string_view name) {
  for (const HttpHeader& header : headers) {
    if (header.name == name) return header.value;
  }
  return "";
}

std::string part_of(const std::string& authorization, const std::string& name) {
  std::size_t start = authorization.find(name + "=");
  if (start == std::string::npos) return "";
  start += name.size() + 1;
  return authorization.substr(start, authorization.find(',', start) - start);
}

/// The signature of a request to the service of the published examples.
std::string signature(std::string_view method, std::string_view path, std::string_view query,
                      std::vector<HttpHeader> headers, std::string_view body = "",
                      Credentials credentials = suite_credentials()) {
  Signer signer("us-east-1", "service");
  headers.push_back({"Host", "example.amazonaws.com"});
  SignedParts parts{method, path, query, headers, body};
  return part_of(value_of(signer.sign(parts, credentials, suite_time()), "authorization"),
                 "Signature");
}

// The vectors that the service published for those who write signers.
TEST(Signer, GivesThePublishedSignatures) {
  EXPECT_EQ(signature("GET", "/", "", {}),
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  EXPECT_EQ(signature("POST", "/", "", {}),
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
  EXPECT_EQ(signature("GET", "/", "Param2=value2&Param1=value1", {}),
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
}

TEST(Signer, SignsTheExampleOfTheManual) {
  Signer signer("us-east-1", "iam");
  std::vector<HttpHeader> headers = {
      {"content-type", "application/x-www-form-urlencoded; charset=utf-8"},
      {"host", "iam.amazonaws.com"}};
  SignedParts parts{"GET", "/", "Action=ListUsers&Version=2010-05-08", headers, ""};
  EXPECT_EQ(value_of(signer.sign(parts, suite_credentials(), suite_time()), "authorization"),
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, "
            "SignedHeaders=content-type;host;x-amz-date, "
            "Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7");
}

TEST(Signer, TakesTheDigestThatTheRequestStates) {
  Credentials credentials;
  credentials.access_key_id = "AKIAIOSFODNN7EXAMPLE";
  credentials.secret_access_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
  Signer signer("us-east-1", "s3");
  std::vector<HttpHeader> headers = {{"Host", "examplebucket.s3.amazonaws.com"},
                                     {"Range", "bytes=0-9"},
                                     {"x-amz-content-sha256", std::string(kEmptyDigest)}};
  SignedParts parts{"GET", "/test.txt", "", headers, "not looked at"};
  std::string authorization = value_of(
      signer.sign(parts, credentials, *read_instant("2013-05-24T00:00:00Z")), "authorization");
  EXPECT_EQ(part_of(authorization, "SignedHeaders"), "host;range;x-amz-content-sha256;x-amz-date");
  EXPECT_EQ(part_of(authorization, "Signature"),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(Signer, AddsAndSignsTheSessionToken) {
  Credentials credentials = suite_credentials();
  credentials.session_token = "a-token";
  Signer signer("us-east-1", "service");
  std::vector<HttpHeader> headers = {{"host", "example.amazonaws.com"}};
  SignedParts parts{"GET", "/", "", headers, ""};
  std::vector<HttpHeader> added = signer.sign(parts, credentials, suite_time());
  EXPECT_EQ(value_of(added, "x-amz-date"), "20150830T123600Z");
  EXPECT_EQ(value_of(added, "x-amz-security-token"), "a-token");
  EXPECT_EQ(part_of(value_of(added, "authorization"), "SignedHeaders"),
            "host;x-amz-date;x-amz-security-token");
  // The same as if the caller had given the header.
  EXPECT_EQ(part_of(value_of(added, "authorization"), "Signature"),
            signature("GET", "/", "", {{"X-Amz-Security-Token", "a-token"}}));
}

TEST(Signer, HeadersDifferInFormOnly) {
  std::string plain = signature("GET", "/", "", {{"my-header", "a b,c"}});
  EXPECT_EQ(signature("GET", "/", "", {{"My-Header", "  a   b "}, {"my-header", "c"}}), plain);
  EXPECT_EQ(signature("GET", "/", "", {{"MY-HEADER", "a\tb,c"}}), plain);
  EXPECT_NE(signature("GET", "/", "", {{"My-Header", "c"}, {"my-header", "a b"}}), plain);
  // A name that begins another one comes before it, although ":" comes after "-".
  EXPECT_EQ(signature("GET", "/", "", {{"x-a", "1"}, {"x-a-b", "2"}}),
            signature("GET", "/", "", {{"x-a-b", "2"}, {"x-a", "1"}}));
}

TEST(Signer, PathsAreNormalisedAndEncodedOnceMore) {
  std::string plain = signature("GET", "/", "", {});
  for (const char* path : {"", "/", "//", "/./", "/foo/..", "/foo/bar/../..", "/.."}) {
    EXPECT_EQ(signature("GET", path, "", {}), plain) << path;
  }
  EXPECT_EQ(signature("GET", "//foo//", "", {}), signature("GET", "/foo/", "", {}));
  EXPECT_NE(signature("GET", "/foo", "", {}), signature("GET", "/foo/", "", {}));
  EXPECT_NE(signature("GET", "/a%20b", "", {}), signature("GET", "/a b", "", {}));
}

TEST(Signer, TheKeyOfTheDayFollowsDayAndSecret) {
  Signer signer("us-east-1", "service");
  std::vector<HttpHeader> headers = {{"host", "example.amazonaws.com"}};
  SignedParts parts{"GET", "/", "", headers, ""};
  Credentials first = suite_credentials();
  Credentials second = suite_credentials();
  second.secret_access_key = "another";
  const TimePoint days[] = {suite_time(), suite_time() + std::chrono::hours(24)};
  // Each combination once by a fresh signer, and in all orders by one that remembers.
  for (int round = 0; round < 2; ++round) {
    for (const Credentials& credentials : {first, second}) {
      for (TimePoint day : days) {
        EXPECT_EQ(value_of(signer.sign(parts, credentials, day), "authorization"),
                  value_of(Signer("us-east-1", "service").sign(parts, credentials, day),
                           "authorization"));
      }
    }
  }
}

TEST(Signer, ManyThreadsMaySign) {
  Signer signer("us-east-1", "service");
  std::vector<HttpHeader> headers = {{"host", "example.amazonaws.com"}};
  SignedParts parts{"GET", "/", "", headers, ""};
  constexpr int kThreads = 4;
  constexpr int kDays = 50;
  std::vector<std::vector<std::string>> seen(kThreads);
  std::vector<std::thread> threads;
  for (std::vector<std::string>& mine : seen) {
    threads.emplace_back([&] {
      for (int day = 0; day < kDays; ++day) {
        TimePoint now = suite_time() + std::chrono::hours(24) * (day % 7);
        mine.push_back(value_of(signer.sign(parts, suite_credentials(), now), "authorization"));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(seen[0].size(), kDays);
  EXPECT_NE(seen[0][0].find("Signature=5fa00fa3"), std::string::npos);
  for (const std::vector<std::string>& mine : seen) EXPECT_EQ(mine, seen[0]);
}

}  // namespace
}  // namespace stint::store::dynamodb
