// A server that answers every request at once with the same bytes, so that what is measured is the
// client alone.
#ifndef STINT_BENCH_CANNED_SERVER_H_
#define STINT_BENCH_CANNED_SERVER_H_

#include <sys/types.h>

#include <string>
#include <string_view>

namespace stint::bench {

/// Another process, so that its processor time is not the client's, on the last core of the
/// machine. To be made before any thread is started.
class CannedServer {
 public:
  /// `reply`: all bytes of an answer to HTTP/1.1 after which the connection stays open.
  explicit CannedServer(std::string_view reply);
  ~CannedServer();
  CannedServer(const CannedServer&) = delete;
  CannedServer& operator=(const CannedServer&) = delete;

  /// "http://127.0.0.1:PORT"
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  int port_ = 0;
  pid_t process_ = -1;
};

/// The answer to an update as the service gives it, with checksum. `item`: the new item in
/// DynamoDB's JSON.
std::string canned_update_reply(std::string_view item);

}  // namespace stint::bench

#endif  // STINT_BENCH_CANNED_SERVER_H_
