// The DynamoDB server of the tests: a child process with empty memory, on a port of its own.
#ifndef STINT_TESTS_SUPPORT_DYNOXIDE_H_
#define STINT_TESTS_SUPPORT_DYNOXIDE_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "stint/result.h"

namespace stint::test {

/// A running server. Tables of different names do not disturb each other, so that one server does
/// for a test program. `endpoint` and `port` may be read by any thread.
class Dynoxide {
 public:
  /// Starts a server and waits until it takes connections. The program is the environment's
  /// STINT_DYNOXIDE, else what scripts/fetch-dynoxide installed. The server dies with the thread
  /// that started it, so that none outlives a test that was killed: start it on the main thread.
  /// Error: `kUnavailable`, and what to do about it.
  static Result<std::unique_ptr<Dynoxide>> start();

  /// The one of this test program, started at its first use, on the main thread. Ends the program
  /// with a message where there is no server: a test must not pass because it did not run.
  static Dynoxide& shared();

  /// Kills the server.
  ~Dynoxide();
  Dynoxide(const Dynoxide&) = delete;
  Dynoxide& operator=(const Dynoxide&) = delete;

  /// "http://127.0.0.1:PORT".
  const std::string& endpoint() const { return endpoint_; }
  std::uint16_t port() const { return port_; }

 private:
  explicit Dynoxide(pid_t child) : child_(child) {}

  pid_t child_;
  std::uint16_t port_ = 0;
  std::string endpoint_;
};

}  // namespace stint::test

#endif  // STINT_TESTS_SUPPORT_DYNOXIDE_H_
