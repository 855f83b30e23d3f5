// A server of HTTP on a port of this machine that does what a test tells it to, the wrong things
// included.
#ifndef STINT_TESTS_SUPPORT_SCRIPTED_SERVER_H_
#define STINT_TESTS_SUPPORT_SCRIPTED_SERVER_H_

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace stint::test {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// A request as it arrived.
struct ServedRequest {
  std::size_t connection = 0;  ///< Connections are numbered as they are accepted, from 0.
  std::string method;
  std::string target;  ///< A path; from a client that takes this server for a proxy, a whole URL.
  Headers headers;     ///< Names in lower case.
  std::string body;

  /// The first header of that name (in lower case), or empty.
  std::string_view header(std::string_view name) const;
};

/// What the server does about one request.
class Step {
 public:
  /// A reply of the right form, with the length of `body` said.
  static Step reply(int status, std::string body = "", Headers headers = {});
  /// These bytes and nothing else.
  static Step bytes(std::string all);
  /// A reply that says it is `missing` bytes longer than it is; then the connection ends.
  static Step truncated(std::string body, std::size_t missing = 10);
  /// The connection ends in order, or by a reset, without any reply.
  static Step close();
  static Step reset();
  /// No reply; the connection stays open until the client or the server ends.
  static Step never();

  /// Waits for `ScriptedServer::release` first.
  Step held() &&;
  /// Ends the connection afterwards.
  Step then_close() &&;

 private:
  friend class ScriptedServer;
  enum class End { kKeep, kClose, kReset, kSilence };

  std::string bytes_;
  End end_ = End::kKeep;
  bool held_ = false;
};

/// What it does about one connection, before it reads anything.
enum class Welcome { kServe, kClose, kReset, kIgnore };

/// A certificate for 127.0.0.1 and localhost that nobody signed, with its key, as PEM texts.
struct Certificate {
  std::string certificate;
  std::string private_key;
};
Certificate make_certificate();

/// One thread a connection. All members are thread-safe. Nothing is left behind when it ends; held
/// steps end with it.
class ScriptedServer {
 public:
  using Script = std::function<Step(const ServedRequest&)>;

  /// `script` says what to do about each request, on the thread of its connection.
  explicit ScriptedServer(Script script);
  /// Speaks TLS.
  ScriptedServer(Script script, const Certificate& certificate);
  /// The steps one by one, as requests arrive; afterwards the last one again.
  explicit ScriptedServer(std::vector<Step> steps);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  int port() const { return port_; }
  /// "http://127.0.0.1:PORT", with https where it speaks TLS.
  std::string url() const;

  /// From now on; all are served otherwise.
  void welcome(std::function<Welcome(std::size_t connection)> how);

  /// Steps that are or will be held go on, as many as that.
  void release(std::size_t steps = 1);

  std::vector<ServedRequest> requests() const;
  std::size_t request_count() const;
  std::size_t connection_count() const;
  /// Blocks until so many requests, or connections, have arrived.
  void wait_for_requests(std::size_t count) const;
  void wait_for_connections(std::size_t count) const;
  /// Blocks until so many connections have ended on this side.
  void wait_for_ends(std::size_t count) const;

 private:
  class Stream;

  void start();
  void accept_all();
  void serve(int fd, std::size_t number);
  Step::End converse(int fd, std::size_t number);
  bool take_turn();

  Script script_;
  std::shared_ptr<void> tls_;  // of OpenSSL
  int listener_ = -1;
  int port_ = 0;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool stopping_ = false;
  std::size_t released_ = 0;
  std::function<Welcome(std::size_t)> welcome_;
  std::vector<ServedRequest> requests_;
  std::size_t connections_ = 0;
  std::size_t ended_ = 0;
  std::vector<int> open_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

/// A port of this machine that nobody listens at, as long as this lives.
class ClosedPort {
 public:
  ClosedPort();
  ~ClosedPort();
  ClosedPort(const ClosedPort&) = delete;
  ClosedPort& operator=(const ClosedPort&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  int port_ = 0;
  int fd_;
};

}  // namespace stint::test

#endif  // STINT_TESTS_SUPPORT_SCRIPTED_SERVER_H_
