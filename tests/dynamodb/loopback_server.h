// A web server on this machine whose answers are a function.
#ifndef STINT_TESTS_DYNAMODB_LOOPBACK_SERVER_H_
#define STINT_TESTS_DYNAMODB_LOOPBACK_SERVER_H_

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace stint::test {

/// A request as it came over the wire.
struct RawRequest {
  std::string method;
  std::string target;  ///< Path and query.
  /// Names in lower case, in their order.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;

  std::string header(std::string_view name) const;
};

/// Serves one connection after the other, each for one request, on a port of its own choice of
/// 127.0.0.1.
class LoopbackServer {
 public:
  /// Gives the bytes of the whole answer, status line and all. Empty: the connection stays open
  /// without an answer until the server ends. Runs on the server's thread.
  using Handler = std::function<std::string(const RawRequest&)>;

  explicit LoopbackServer(Handler handler);
  ~LoopbackServer();
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  /// "http://127.0.0.1:PORT"
  const std::string& origin() const { return origin_; }
  std::vector<RawRequest> seen() const;

 private:
  void run();
  void serve(int connection);

  const Handler handler_;
  int listener_ = -1;
  int wake_[2] = {-1, -1};
  std::string origin_;
  std::vector<int> unanswered_;
  mutable std::mutex mutex_;
  std::vector<RawRequest> seen_;
  std::thread thread_;
};

/// An answer with a body of JSON, XML or plain text.
std::string http_answer(int status, std::string_view body);

}  // namespace stint::test

#endif  // STINT_TESTS_DYNAMODB_LOOPBACK_SERVER_H_
