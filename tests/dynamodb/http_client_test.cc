// The HTTP client against a server that does what it is told.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "store/dynamodb/curl_setup.h"
#include "store/dynamodb/http.h"
#include "tests/support/scripted_server.h"
#include "tests/support/temp_directory.h"

namespace stint::store::dynamodb {
namespace {

using namespace std::chrono_literals;
using test::ScriptedServer;
using test::ServedRequest;
using test::Step;
using test::Welcome;

// So long that no test gets there.
constexpr auto kNever = std::chrono::minutes(10);
// For the tests whose subject it is: something that never comes is waited for as long.
constexpr auto kSoon = 500ms;

std::shared_ptr<HttpClient> client(const HttpOptions& options = {}) {
  return make_http_client(options).value();
}

HttpRequest post(const std::string& url, std::string body,
                 std::chrono::milliseconds time = kNever) {
  HttpRequest request;
  request.url = url + "/";
  request.headers = {{"content-type", "application/x-amz-json-1.0"}, {"x-test", "1"}};
  request.body = std::move(body);
  request.deadline = Steady::now() + time;
  return request;
}

// A variable of the environment that is put back.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (before_) {
      setenv(name_, before_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(HttpClient, SendsWhatItIsGivenAndNothingElse) {
  ScriptedServer server([](const ServedRequest& request) {
    return Step::reply(200, "got " + request.body, {{"X-Reply", "  yes "}, {"Date", "now"}});
  });
  HttpReply reply = client()->exchange(post(server.url(), "{\"a\":1}"));
  EXPECT_EQ(reply.end, HttpEnd::kReply);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "got {\"a\":1}");
  EXPECT_EQ(reply.header("x-reply"), "yes");
  EXPECT_EQ(reply.header("date"), "now");
  EXPECT_EQ(reply.message, "");

  std::vector<ServedRequest> requests = server.requests();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].method, "POST");
  EXPECT_EQ(requests[0].target, "/");
  std::set<std::string> names;
  for (const auto& [name, value] : requests[0].headers) names.insert(name);
  EXPECT_EQ(names, (std::set<std::string>{"host", "content-type", "x-test", "content-length"}));
}

TEST(HttpClient, KnowsOtherMethodsThanPost) {
  ScriptedServer server(std::vector<Step>{Step::reply(200, "x")});
  std::shared_ptr<HttpClient> http = client({.max_connections = 1});
  for (const char* method : {"GET", "PUT", "POST", "GET", "DELETE", "POST"}) {
    HttpRequest request = post(server.url(), method == std::string("GET") ? "" : "b");
    request.method = method;
    request.headers = {{"x-empty", ""}};
    EXPECT_EQ(http->exchange(std::move(request)).end, HttpEnd::kReply) << method;
    const ServedRequest served = server.requests().back();
    EXPECT_EQ(served.method, method);
    EXPECT_EQ(served.body, method == std::string("GET") ? "" : "b");
    EXPECT_EQ(served.header("content-type"), "");
    ASSERT_EQ(std::count_if(served.headers.begin(), served.headers.end(),
                            [](const auto& header) { return header.first == "x-empty"; }),
              1);
  }
  EXPECT_EQ(server.connection_count(), 1u);

  HttpRequest empty_put = post(server.url(), "");
  empty_put.method = "PUT";
  EXPECT_EQ(http->exchange(std::move(empty_put)).end, HttpEnd::kReply);
  EXPECT_EQ(server.requests().back().header("content-length"), "0");
}

TEST(HttpClient, TakesBodiesOfAllSizesAndBytes) {
  ScriptedServer server([](const ServedRequest& request) {
    return Step::reply(200, request.body + std::string(1, '\0') + request.body);
  });
  std::shared_ptr<HttpClient> http = client();
  for (std::size_t size : {0u, 1u, 1'000u, 70'000u, 1'500'000u}) {
    std::string body(size, 'a');
    if (size > 2) body[1] = '\0';
    HttpReply reply = http->exchange(post(server.url(), body));
    ASSERT_EQ(reply.end, HttpEnd::kReply) << reply.message;
    EXPECT_TRUE(reply.body == body + std::string(1, '\0') + body) << size;
    // Nothing is asked before a long body is sent.
    EXPECT_EQ(server.requests().back().header("expect"), "");
  }
}

TEST(HttpClient, ReusesConnections) {
  ScriptedServer server(std::vector<Step>{Step::reply(200, "x")});
  std::shared_ptr<HttpClient> http = client();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(http->exchange(post(server.url(), "b")).end, HttpEnd::kReply);
  }
  EXPECT_EQ(server.connection_count(), 1u);
}

TEST(HttpClient, MoreRequestsThanConnectionsWaitForOne) {
  ScriptedServer server(std::vector<Step>{Step::reply(200, "x").held()});
  std::atomic<int> replies{0};
  std::promise<void> all;  // outlives the client's thread
  std::shared_ptr<HttpClient> http = client({.max_connections = 3});
  constexpr int kRequests = 50;
  for (int i = 0; i < kRequests; ++i) {
    http->send(post(server.url(), "b"), [&](HttpReply reply) {
      EXPECT_EQ(reply.end, HttpEnd::kReply) << reply.message;
      if (++replies == kRequests) all.set_value();
    });
  }
  server.wait_for_requests(3);
  EXPECT_EQ(server.request_count(), 3u);
  // Who waits too long has not been sent.
  HttpReply late = http->exchange(post(server.url(), "b", kSoon));
  EXPECT_EQ(late.end, HttpEnd::kNotSent);
  EXPECT_NE(late.message.find("in use"), std::string::npos) << late.message;
  server.release(kRequests);
  all.get_future().get();
  EXPECT_EQ(server.request_count(), static_cast<std::size_t>(kRequests));
  EXPECT_EQ(server.connection_count(), 3u);
}

TEST(HttpClient, WhatHasWaitedForMostOfItsTimeIsNotBegun) {
  ScriptedServer server(std::vector<Step>{Step::reply(200, "x").held()});
  std::promise<HttpReply> ended;  // outlives the client's thread
  std::shared_ptr<HttpClient> http = client({.max_connections = 1});
  http->send(post(server.url(), "first"),
             [&](HttpReply reply) { ended.set_value(std::move(reply)); });
  server.wait_for_requests(1);
  // The connection comes free when hardly any time is left for the second.
  HttpRequest second = post(server.url(), "second", kSoon);
  http->call_at(second.deadline - 20ms, [&] { server.release(); });
  EXPECT_EQ(http->exchange(std::move(second)).end, HttpEnd::kNotSent);
  EXPECT_EQ(ended.get_future().get().end, HttpEnd::kReply);
  EXPECT_EQ(server.request_count(), 1u);
}

TEST(HttpClient, AnExchangeMayHaveLessTimeThanItsRequest) {
  ScriptedServer server(std::vector<Step>{Step::reply(200, "x"), Step::never()});
  std::shared_ptr<HttpClient> http = client();
  EXPECT_EQ(http->exchange(post(server.url(), "b")).end, HttpEnd::kReply);
  HttpRequest request = post(server.url(), "b");
  request.exchange_time = kSoon;
  EXPECT_EQ(http->exchange(std::move(request)).end, HttpEnd::kBroken);
}

TEST(HttpClient, ManyThreadsAtOnce) {
  ScriptedServer server(
      [](const ServedRequest& request) { return Step::reply(200, request.body); });
  std::shared_ptr<HttpClient> http = client({.max_connections = 8});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const std::string body = std::to_string(t * 1000 + i);
        HttpReply reply = http->exchange(post(server.url(), body));
        EXPECT_EQ(reply.end, HttpEnd::kReply) << reply.message;
        EXPECT_EQ(reply.body, body);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(server.connection_count(), 8u);
}

TEST(HttpClient, NobodyThere) {
  test::ClosedPort port;
  HttpReply reply = client()->exchange(post(port.url(), "b"));
  EXPECT_EQ(reply.end, HttpEnd::kNotSent);
  EXPECT_NE(reply.message.find("connect"), std::string::npos) << reply.message;
}

TEST(HttpClient, NoSuchHostAndNoUrl) {
  std::shared_ptr<HttpClient> http = client();
  HttpReply reply = http->exchange(post("http://nobody.invalid", "b"));
  EXPECT_EQ(reply.end, HttpEnd::kNotSent);
  EXPECT_NE(reply.message, "");
  for (const char* url : {"", "::", "file:///etc/passwd", "ftp://127.0.0.1"}) {
    HttpRequest request = post("", "b");
    request.url = url;
    EXPECT_EQ(http->exchange(std::move(request)).end, HttpEnd::kNotSent) << url;
  }
}

TEST(HttpClient, HeadersThatWouldSmuggleOthersIn) {
  ScriptedServer server(std::vector<Step>{Step::reply(200, "x")});
  std::shared_ptr<HttpClient> http = client();
  for (const HttpHeader& bad : {HttpHeader{"x-a", "1\r\nx-b: 2"}, HttpHeader{"x-a", "1\n"},
                                HttpHeader{"x-a", std::string("1\0002", 3)}, HttpHeader{"", "1"}}) {
    HttpRequest request = post(server.url(), "b");
    request.headers.push_back(bad);
    HttpReply reply = http->exchange(std::move(request));
    EXPECT_EQ(reply.end, HttpEnd::kNotSent);
    EXPECT_NE(reply.message.find("header"), std::string::npos) << reply.message;
  }
  EXPECT_EQ(server.request_count(), 0u);
}

TEST(HttpClient, NeverAnswered) {
  ScriptedServer server(
      std::vector<Step>{Step::reply(200, "x"), Step::never(), Step::reply(200, "x")});
  std::shared_ptr<HttpClient> http = client();
  // With a connection at hand, the time is that of the exchange alone.
  EXPECT_EQ(http->exchange(post(server.url(), "b")).end, HttpEnd::kReply);
  HttpReply reply = http->exchange(post(server.url(), "b", kSoon));
  EXPECT_EQ(reply.end, HttpEnd::kBroken);
  EXPECT_NE(reply.message.find("deadline"), std::string::npos) << reply.message;
  // The connection of the late reply is not used again.
  EXPECT_EQ(http->exchange(post(server.url(), "b")).body, "x");
  EXPECT_EQ(server.connection_count(), 2u);
}

TEST(HttpClient, DeadlineBeforeAnythingWasSent) {
  ScriptedServer server(std::vector<Step>{Step::reply(200, "x")});
  HttpReply reply = client()->exchange(post(server.url(), "b", -1ms));
  EXPECT_EQ(reply.end, HttpEnd::kNotSent);
  EXPECT_EQ(server.connection_count(), 0u);
}

TEST(HttpClient, NoConnectionInTime) {
  // Nobody speaks TLS there: the connection is never ready.
  ScriptedServer server(std::vector<Step>{Step::reply(200, "x")});
  server.welcome([](std::size_t) { return Welcome::kIgnore; });
  std::string url = server.url();
  url.replace(0, 4, "https");
  HttpReply by_deadline = client()->exchange(post(url, "b", kSoon));
  EXPECT_EQ(by_deadline.end, HttpEnd::kNotSent);
  HttpReply by_connect = client({.connect_timeout = kSoon})->exchange(post(url, "b"));
  EXPECT_EQ(by_connect.end, HttpEnd::kNotSent);
  EXPECT_EQ(server.request_count(), 0u);
}

TEST(HttpClient, ConnectionEndsBeforeTheReply) {
  for (const Step& step : {Step::close(), Step::reset()}) {
    ScriptedServer server(std::vector<Step>{step});
    HttpReply reply = client()->exchange(post(server.url(), "b"));
    EXPECT_EQ(reply.end, HttpEnd::kBroken);
    EXPECT_NE(reply.message, "");
    EXPECT_EQ(server.request_count(), 1u);
  }
}

// What libcurl would do by itself: send the request again over another connection.
TEST(HttpClient, ConnectionInUseBeforeEndsBeforeTheReply) {
  for (const Step& step : {Step::close(), Step::reset()}) {
    for (std::size_t size : {1u, 100'000u}) {
      ScriptedServer server(std::vector<Step>{Step::reply(200, "x"), step, Step::reply(200, "y")});
      std::shared_ptr<HttpClient> http = client();
      EXPECT_EQ(http->exchange(post(server.url(), "1")).end, HttpEnd::kReply);
      HttpReply reply = http->exchange(post(server.url(), std::string(size, '2')));
      EXPECT_EQ(reply.end, HttpEnd::kBroken);
      EXPECT_NE(reply.message, "");
      EXPECT_EQ(server.request_count(), 2u);
      EXPECT_EQ(server.requests()[1].connection, 0u);
      EXPECT_EQ(server.connection_count(), 1u);
      // And all is well afterwards.
      EXPECT_EQ(http->exchange(post(server.url(), "3")).body, "y");
    }
  }
}

// Other connections are at hand, over which a repetition could go.
TEST(HttpClient, ConnectionEndsWhileOthersAreIdle) {
  std::atomic<int> warm{0};
  ScriptedServer server([&warm](const ServedRequest& request) {
    if (request.body == "warm") {
      ++warm;
      return Step::reply(200, "x").held();
    }
    return request.body == "lost" ? Step::close() : Step::reply(200, "x");
  });
  std::shared_ptr<HttpClient> http = client();
  std::vector<std::future<HttpReply>> replies;
  for (int i = 0; i < 4; ++i) {
    auto promise = std::make_shared<std::promise<HttpReply>>();
    replies.push_back(promise->get_future());
    http->send(post(server.url(), "warm"),
               [promise](HttpReply reply) { promise->set_value(std::move(reply)); });
  }
  server.wait_for_requests(4);
  server.release(4);
  for (auto& reply : replies) EXPECT_EQ(reply.get().end, HttpEnd::kReply);
  HttpReply lost = http->exchange(post(server.url(), "lost"));
  EXPECT_EQ(lost.end, HttpEnd::kBroken);
  EXPECT_EQ(server.request_count(), 5u);
  EXPECT_EQ(server.connection_count(), 4u);
}

// A connection that the other side closed while it was idle is noticed, not used.
TEST(HttpClient, WhatComesAfterItWasClosedEndsAtOnce) {
  ScriptedServer server(std::vector<Step>{Step::reply(200, "x")});
  std::shared_ptr<HttpClient> http = client();
  EXPECT_EQ(http->exchange(post(server.url(), "b")).body, "x");
  http->close();
  http->close();
  HttpReply reply = http->exchange(post(server.url(), "b"));
  EXPECT_EQ(reply.end, HttpEnd::kNotSent);
  EXPECT_NE(reply.message.find("shut down"), std::string::npos) << reply.message;
  bool called = false;
  http->call_at(Steady::now() + std::chrono::hours(1), [&called] { called = true; });
  EXPECT_TRUE(called);
  EXPECT_EQ(server.request_count(), 1u);
}

TEST(HttpClient, IdleConnectionWasClosed) {
  ScriptedServer server(std::vector<Step>{Step::reply(200, "x").then_close()});
  std::shared_ptr<HttpClient> http = client();
  for (int i = 0; i < 5; ++i) {
    HttpReply reply = http->exchange(post(server.url(), "b"));
    EXPECT_EQ(reply.end, HttpEnd::kReply) << reply.message;
    EXPECT_EQ(reply.body, "x");
    server.wait_for_ends(static_cast<std::size_t>(i) + 1);
  }
  EXPECT_EQ(server.request_count(), 5u);
  EXPECT_EQ(server.connection_count(), 5u);
}

TEST(HttpClient, TruncatedReply) {
  ScriptedServer server(std::vector<Step>{
      Step::truncated("half"),
      Step::bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab").then_close(),
      Step::bytes("HTTP/1.1 200 O").then_close()});
  for (int i = 0; i < 3; ++i) {
    HttpReply reply = client()->exchange(post(server.url(), "b"));
    EXPECT_EQ(reply.end, HttpEnd::kBroken) << i << ": " << reply.body;
    EXPECT_EQ(reply.body, "");
    EXPECT_EQ(reply.status, 0);
  }
}

TEST(HttpClient, Garbage) {
  ScriptedServer server(std::vector<Step>{
      Step::bytes("\x16\x03\x01 this is not HTTP\r\n\r\n").then_close(),
      Step::bytes("HTTP/1.1 banana\r\n\r\n").then_close(),
      Step::bytes("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nabc").then_close()});
  for (int i = 0; i < 3; ++i) {
    HttpReply reply = client()->exchange(post(server.url(), "b"));
    EXPECT_EQ(reply.end, HttpEnd::kBroken) << i << ": " << reply.body;
    EXPECT_NE(reply.message, "");
  }
}

TEST(HttpClient, RepliesAreBounded) {
  std::string many_headers = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 2'000; ++i) {
    many_headers += "X-" + std::to_string(i) + ": " + std::string(50, 'v') + "\r\n";
  }
  ScriptedServer server(std::vector<Step>{
      Step::reply(200, std::string(1'000, 'x')), Step::reply(200, std::string(1'001, 'x')),
      // A body without end.
      Step::bytes("HTTP/1.1 200 OK\r\n\r\n" + std::string(200'000, 'x')),
      Step::bytes(many_headers + "Content-Length: 0\r\n\r\n")});
  std::shared_ptr<HttpClient> http = client();
  std::vector<HttpEnd> ends;
  for (int i = 0; i < 4; ++i) {
    HttpRequest request = post(server.url(), "b");
    request.max_reply_bytes = 1'000;
    HttpReply reply = http->exchange(std::move(request));
    ends.push_back(reply.end);
    EXPECT_EQ(reply.message.find("longer") != std::string::npos, i > 0) << reply.message;
  }
  EXPECT_EQ(ends, (std::vector<HttpEnd>{HttpEnd::kReply, HttpEnd::kBroken, HttpEnd::kBroken,
                                        HttpEnd::kBroken}));
}

TEST(HttpClient, ProvisionalRepliesAndErrorsArePassedOver) {
  ScriptedServer server(std::vector<Step>{
      Step::bytes("HTTP/1.1 100 Continue\r\nX-First: 1\r\n\r\nHTTP/1.1 503 Slow\r\nX-Second: 2\r\n"
                  "Content-Length: 2\r\n\r\nno")});
  HttpReply reply = client()->exchange(post(server.url(), "b"));
  EXPECT_EQ(reply.end, HttpEnd::kReply);
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.body, "no");
  EXPECT_EQ(reply.header("x-first"), "");
  EXPECT_EQ(reply.header("x-second"), "2");
}

TEST(HttpClient, RedirectsAreNotFollowed) {
  ScriptedServer other(std::vector<Step>{Step::reply(200, "x")});
  for (int status : {301, 302, 307, 308, 401, 407, 417}) {
    ScriptedServer server(
        std::vector<Step>{Step::reply(status, "moved", {{"Location", other.url() + "/"}})});
    HttpReply reply = client()->exchange(post(server.url(), "b"));
    EXPECT_EQ(reply.end, HttpEnd::kReply);
    EXPECT_EQ(reply.status, status);
    EXPECT_EQ(server.request_count(), 1u);
  }
  EXPECT_EQ(other.connection_count(), 0u);
}

TEST(HttpClient, ProxyOfTheEnvironment) {
  ScriptedServer proxy(std::vector<Step>{Step::reply(403, "no entry")});
  ScriptedServer server(std::vector<Step>{Step::reply(200, "direct")});
  Variable http_proxy("http_proxy", proxy.url());
  Variable https_proxy("https_proxy", proxy.url());
  Variable no_proxy("no_proxy", "excepted.invalid");
  std::shared_ptr<HttpClient> http = client({.max_connections = 1});

  HttpReply by_proxy = http->exchange(post(server.url(), "b"));
  EXPECT_EQ(by_proxy.status, 403);
  EXPECT_EQ(proxy.requests().at(0).target, server.url() + "/");

  HttpRequest local = post(server.url(), "b");
  local.may_use_proxy = false;
  EXPECT_EQ(http->exchange(std::move(local)).body, "direct");
  EXPECT_EQ(proxy.request_count(), 1u);

  // With TLS the proxy is asked for a tunnel. What it refuses was never sent.
  HttpReply tunnel = http->exchange(post("https://service.invalid", "secret"));
  EXPECT_EQ(tunnel.end, HttpEnd::kNotSent);
  EXPECT_NE(tunnel.message.find("403"), std::string::npos) << tunnel.message;
  ASSERT_EQ(proxy.request_count(), 2u);
  EXPECT_EQ(proxy.requests()[1].method, "CONNECT");
  EXPECT_EQ(proxy.requests()[1].body, "");

  // An excepted host is not asked through it.
  EXPECT_EQ(http->exchange(post("http://excepted.invalid", "b")).end, HttpEnd::kNotSent);
  EXPECT_EQ(proxy.request_count(), 2u);
}

TEST(HttpClient, PasswordOfAProxyIsNotTold) {
  Variable proxy("http_proxy", "http://user:hunter2@[bad");
  HttpReply reply = client()->exchange(post("http://service.invalid", "b"));
  EXPECT_EQ(reply.end, HttpEnd::kNotSent);
  EXPECT_EQ(reply.message.find("hunter2"), std::string::npos) << reply.message;
  EXPECT_NE(reply.message.find("proxy"), std::string::npos) << reply.message;
}

TEST(HttpClient, VariablesOfProxies) {
  auto with = [](std::vector<std::pair<std::string, std::string>> set) {
    return proxies_of([set](const char* name) {
      for (const auto& [each, value] : set) {
        if (each == name) return value;
      }
      return std::string();
    });
  };
  EXPECT_EQ(with({}).of("http://a"), "");
  EXPECT_EQ(with({{"HTTP_PROXY", "p"}}).of("http://a"), "");
  EXPECT_EQ(with({{"http_proxy", "p"}}).of("http://a"), "p");
  EXPECT_EQ(with({{"http_proxy", "p"}}).of("https://a"), "");
  EXPECT_EQ(with({{"HTTPS_PROXY", "p"}, {"ALL_PROXY", "q"}}).of("https://a"), "p");
  EXPECT_EQ(with({{"HTTPS_PROXY", "p"}, {"ALL_PROXY", "q"}}).of("http://a"), "q");
  EXPECT_EQ(with({{"NO_PROXY", "n"}}).exceptions, "n");
}

TEST(HttpClient, TlsIsVerified) {
  const test::Certificate certificate = test::make_certificate();
  ScriptedServer server([](const ServedRequest&) { return Step::reply(200, "safe"); }, certificate);
  HttpReply refused = client()->exchange(post(server.url(), "secret"));
  EXPECT_EQ(refused.end, HttpEnd::kNotSent);
  EXPECT_NE(refused.message.find("certificate"), std::string::npos) << refused.message;
  EXPECT_EQ(server.request_count(), 0u);

  test::TempDirectory directory;
  const std::string file = directory.path() + "/ca.pem";
  std::ofstream(file) << certificate.certificate;
  std::shared_ptr<HttpClient> http = client({.ca_file = file});
  for (int i = 0; i < 3; ++i) {
    HttpReply accepted = http->exchange(post(server.url(), "secret"));
    EXPECT_EQ(accepted.end, HttpEnd::kReply) << accepted.message;
    EXPECT_EQ(accepted.body, "safe");
  }
  EXPECT_EQ(server.requests().back().connection, server.requests().front().connection);

  // Of somebody else, and of another name.
  std::ofstream(file + "2") << test::make_certificate().certificate;
  EXPECT_EQ(client({.ca_file = file + "2"})->exchange(post(server.url(), "b")).end,
            HttpEnd::kNotSent);
  const std::string other_name = "https://127.0.0.2:" + std::to_string(server.port());
  EXPECT_EQ(http->exchange(post(other_name, "b")).end, HttpEnd::kNotSent);
  HttpReply no_file = client({.ca_file = file + "3"})->exchange(post(server.url(), "b"));
  EXPECT_EQ(no_file.end, HttpEnd::kNotSent);
  EXPECT_NE(no_file.message.find("ca.pem3"), std::string::npos) << no_file.message;
}

TEST(HttpClient, LostUnderTlsAfterReuse) {
  const test::Certificate certificate = test::make_certificate();
  std::atomic<int> count{0};
  ScriptedServer server(
      [&count](const ServedRequest&) {
        return ++count == 2 ? Step::close() : Step::reply(200, "x");
      },
      certificate);
  test::TempDirectory directory;
  const std::string file = directory.path() + "/ca.pem";
  std::ofstream(file) << certificate.certificate;
  std::shared_ptr<HttpClient> http = client({.ca_file = file});
  EXPECT_EQ(http->exchange(post(server.url(), "1")).end, HttpEnd::kReply);
  EXPECT_EQ(http->exchange(post(server.url(), "2")).end, HttpEnd::kBroken);
  EXPECT_EQ(server.request_count(), 2u);
  EXPECT_EQ(http->exchange(post(server.url(), "3")).end, HttpEnd::kReply);
}

TEST(HttpClient, TasksRunInOrderAndNotBeforeTheirTime) {
  std::vector<int> order;
  bool early = false;
  std::promise<void> last;  // outlives the client's thread
  std::shared_ptr<HttpClient> http = client();
  const Steady::time_point start = Steady::now();
  http->call_at(start + 60ms, [&] {
    early |= Steady::now() < start + 60ms;
    order.push_back(3);
    last.set_value();
  });
  http->call_at(start + 30ms, [&] {
    early |= Steady::now() < start + 30ms;
    order.push_back(2);
  });
  http->call_at(start, [&] { order.push_back(1); });
  last.get_future().get();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
  EXPECT_FALSE(early);
}

TEST(HttpClient, EndsWithEverythingUnderWay) {
  ScriptedServer server(std::vector<Step>{Step::never()});
  std::vector<HttpReply> replies;
  int tasks = 0;
  {
    std::shared_ptr<HttpClient> http = client({.max_connections = 2});
    for (int i = 0; i < 5; ++i) {
      http->send(post(server.url(), "b"),
                 [&replies](HttpReply reply) { replies.push_back(std::move(reply)); });
    }
    http->call_at(Steady::now() + kNever, [&tasks] { ++tasks; });
    server.wait_for_requests(2);
  }
  // The destructor returned: nothing runs any more, so nothing needs a lock.
  ASSERT_EQ(replies.size(), 5u);
  std::multiset<HttpEnd> ends;
  for (const HttpReply& reply : replies) ends.insert(reply.end);
  EXPECT_EQ(ends.count(HttpEnd::kBroken), 2u);
  EXPECT_EQ(ends.count(HttpEnd::kNotSent), 3u);
  EXPECT_EQ(tasks, 1);
}

TEST(HttpClient, EndsUnused) { EXPECT_NE(client(), nullptr); }

// The last owner lets go inside a function that the client calls.
TEST(HttpClient, EndsOnItsOwnThread) {
  ScriptedServer server([](const ServedRequest& request) {
    return request.body == "first" ? Step::reply(200, "x").held() : Step::never();
  });
  struct Owner {
    std::shared_ptr<HttpClient> http;
  };
  auto owner = std::make_shared<Owner>(Owner{client({.max_connections = 2})});
  auto done = std::make_shared<std::promise<std::vector<HttpEnd>>>();
  auto ends = std::make_shared<std::vector<HttpEnd>>();
  HttpClient* http = owner->http.get();
  for (int i = 0; i < 3; ++i) {
    // One is under way, the others wait.
    http->send(post(server.url(), i == 0 ? "first" : "other"), [=](HttpReply reply) {
      ends->push_back(reply.end);
      if (i == 0) {
        owner->http.reset();  // All others end in here.
        done->set_value(*ends);
      }
    });
  }
  auto task_ran = std::make_shared<std::atomic<bool>>(false);
  http->call_at(Steady::now() + kNever, [task_ran] { *task_ran = true; });
  owner.reset();
  server.wait_for_requests(2);
  server.release();
  EXPECT_EQ(done->get_future().get(),
            (std::vector<HttpEnd>{HttpEnd::kReply, HttpEnd::kBroken, HttpEnd::kNotSent}));
  EXPECT_TRUE(*task_ran);
}

// The same by the destruction of a function that was called, and of a task.
TEST(HttpClient, EndsWithTheFunctionThatOwnsIt) {
  ScriptedServer server(std::vector<Step>{Step::reply(200, "x").held()});
  struct Owner {
    std::promise<void> gone;
    std::shared_ptr<HttpClient> http = client();
    ~Owner() {
      http.reset();
      gone.set_value();
    }
  };
  auto by_exchange = std::make_shared<Owner>();
  auto by_task = std::make_shared<Owner>();
  std::future<void> exchange_gone = by_exchange->gone.get_future();
  std::future<void> task_gone = by_task->gone.get_future();
  HttpClient* http = by_exchange->http.get();
  http->send(post(server.url(), "b"), [owner = std::move(by_exchange)](HttpReply) {});
  http = by_task->http.get();
  // The client's thread stands still until nobody else owns it.
  std::promise<void> gate;
  http->call_at(Steady::now(), [opened = gate.get_future().share()] { opened.wait(); });
  http->call_at(Steady::now(), [owner = std::move(by_task)] {});
  gate.set_value();
  task_gone.get();
  server.wait_for_requests(1);
  EXPECT_EQ(exchange_gone.wait_for(0s), std::future_status::timeout);
  server.release();
  exchange_gone.get();
}

TEST(HttpClient, SendsFromItsOwnThread) {
  ScriptedServer server(std::vector<Step>{Step::reply(200, "x")});
  // They outlive the client's thread.
  std::promise<int> done;
  std::function<void(HttpReply)> next;
  int count = 0;
  std::shared_ptr<HttpClient> http = client({.max_connections = 1});
  HttpClient* raw = http.get();
  next = [&](HttpReply reply) {
    EXPECT_EQ(reply.end, HttpEnd::kReply);
    if (++count == 100) return done.set_value(count);
    raw->send(post(server.url(), "b"), next);
  };
  http->send(post(server.url(), "b"), next);
  EXPECT_EQ(done.get_future().get(), 100);
  EXPECT_EQ(server.connection_count(), 1u);
}

}  // namespace
}  // namespace stint::store::dynamodb
