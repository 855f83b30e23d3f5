// HTTP exchanges as the engine and the sources of credentials need them.
#ifndef STINT_STORE_DYNAMODB_HTTP_H_
#define STINT_STORE_DYNAMODB_HTTP_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stint/result.h"

namespace stint::store::dynamodb {

using Steady = std::chrono::steady_clock;

struct HttpHeader {
  std::string name;
  std::string value;
};

struct HttpRequest {
  std::string method = "POST";
  std::string url;
  std::vector<HttpHeader> headers;
  std::string body;
  /// For the whole exchange: waiting for a connection, connecting, sending and receiving.
  Steady::time_point deadline;
  /// From the moment that a connection is at hand; zero: until the deadline.
  std::chrono::milliseconds exchange_time{0};
  /// A longer body of the reply ends the exchange with `kBroken`.
  std::size_t max_reply_bytes = std::size_t{32} << 20;
  /// False for the endpoints of this machine: those are never asked through a proxy.
  bool may_use_proxy = true;
};

/// How an exchange ended.
enum class HttpEnd : std::uint8_t {
  kReply,    ///< A whole reply came, whatever its status says.
  kNotSent,  ///< Nothing of the body left this process: the other side cannot have acted on it.
  kBroken,   ///< The request was sent in part or whole, and no whole reply came.
};

struct HttpReply {
  HttpEnd end = HttpEnd::kNotSent;
  int status = 0;
  std::vector<HttpHeader> headers;  ///< Names in lower case.
  std::string body;
  /// For people: what went wrong; empty after a reply. Holds no header and no body.
  std::string message;

  /// The first header of that name (in lower case), or empty.
  std::string_view header(std::string_view name) const;
};

/// The message of what ends because its client does.
inline constexpr const char* kShutDown = "the client was shut down";

/// Sends requests on a thread of its own. When all connections are in use, requests wait in order;
/// one that has waited for most of its time is not begun, since it could hardly be answered in the
/// rest. Redirects are answered like any other reply; a request is put on the wire at most once.
/// All members are thread-safe. The last owner closes it.
class HttpClient {
 public:
  virtual ~HttpClient() = default;

  using Done = std::function<void(HttpReply)>;
  /// `done` is called exactly once, on the client's thread, and must not block or throw.
  virtual void send(HttpRequest request, Done done) = 0;

  /// Calls `task` on the client's thread, not before `at`; at once when the client ends.
  virtual void call_at(Steady::time_point at, std::function<void()> task) = 0;

  /// Exchanges in flight end at once, their functions and those of `call_at` are called, and
  /// nothing runs afterwards: waits for the client's thread, unless called on it. What is handed
  /// over from then on ends at once, on the calling thread.
  virtual void close() {}

  /// Whether the calling thread is the client's.
  virtual bool on_own_thread() const noexcept = 0;

  /// Waits for the reply. Not to be called on the client's thread.
  HttpReply exchange(HttpRequest request);
};

struct HttpOptions {
  std::chrono::milliseconds connect_timeout{3'000};
  /// Connections kept open, and in use at most; further requests wait for one.
  std::size_t max_connections = 64;
  /// A connection that was idle for so long is not used again.
  std::chrono::seconds max_idle{50};
  /// A file of certificate authorities in place of the system's.
  std::string ca_file{};
};

/// A client on libcurl. Proxies come from the usual variables of the environment. Errors:
/// `kUnavailable` when the library cannot be set up.
Result<std::shared_ptr<HttpClient>> make_http_client(const HttpOptions& options = {});

}  // namespace stint::store::dynamodb

#endif  // STINT_STORE_DYNAMODB_HTTP_H_
