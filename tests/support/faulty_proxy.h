// What stands between a client and the DynamoDB server of the tests, passes everything on, and goes
// wrong on command.
#ifndef STINT_TESTS_SUPPORT_FAULTY_PROXY_H_
#define STINT_TESTS_SUPPORT_FAULTY_PROXY_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "stint/dynamodb.h"
#include "stint/result.h"
#include "tests/support/scripted_server.h"

namespace stint::test {

/// A reply of the server behind the proxy.
struct ServerReply {
  int status = 0;
  Headers headers;  ///< Without those about the length and the connection.
  std::string body;

  /// The same reply, as the server said it.
  Step step() const { return Step::reply(status, body, headers); }
};

/// What becomes of one request.
struct WireFault {
  const char* name;
  /// How often the server gets it.
  int deliveries = 0;
  /// What the client gets; `reply` is that of the last delivery, or empty.
  std::function<Step(const ServerReply& reply)> answer;
  /// What a warm acquire says when only its debit meets this (nothing: it is admitted), and when
  /// everything does from there on.
  std::optional<ErrorCode> once;
  std::optional<ErrorCode> onwards;
  /// Whether the client is left without an end, so that its own patience has to be short.
  bool silent = false;
};

/// Everything that a network, a proxy and the service itself do wrong.
std::vector<WireFault> wire_faults();
/// One of them.
WireFault wire_fault(const std::string& name);

/// Thread-safe. In front of `Dynoxide::shared()`.
class FaultyProxy {
 public:
  FaultyProxy();
  ~FaultyProxy();
  FaultyProxy(const FaultyProxy&) = delete;
  FaultyProxy& operator=(const FaultyProxy&) = delete;

  /// How a table of that name is reached through it.
  DynamoDbOptions options(const std::string& table) const;

  /// The request that is the `position`th from now on, from 1, meets the fault; with `onwards` all
  /// after it, too. Replaces what was planned.
  void plan(const WireFault& fault, int position = 1, bool onwards = false);
  /// So many requests meet it, from the next one on.
  void plan_times(const WireFault& fault, int times);
  /// From now on everything is passed on.
  void heal();
  /// Whether a request has met the fault that was planned last.
  bool struck() const;

  /// The `position`th request from now on waits until `release`: before the server gets it, or
  /// with its reply. At most one waits.
  void delay(int position, bool with_its_reply = false);
  /// Blocks until that request waits, or until `give_up_waiting`. Whether it waits.
  bool wait_for_delayed() const;
  void give_up_waiting();
  /// Lets it go on, or forgets the delay. Blocks until the server has answered the request.
  void release();

  /// Blocks until no request is being served.
  void wait_until_idle() const;

  /// Every connection is closed after each reply, without a word of it in the reply.
  void close_after_replies(bool on);

  /// The operations that have arrived since `forget`, as "UpdateItem", in their order.
  std::vector<std::string> operations() const;
  std::size_t count() const { return operations().size(); }
  /// How many requests the server got since then.
  std::size_t forwarded() const;
  void forget();

 private:
  struct Plan {
    WireFault fault;
    int from = 1;
    int until = 1;
    int seen = 0;
  };

  Step serve(const ServedRequest& request);
  void hold(std::unique_lock<std::mutex>& lock);
  ServerReply forward(const ServedRequest& request);

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::optional<Plan> plan_;
  bool struck_ = false;
  int delay_in_ = 0;  // requests from now; 0: none
  bool delays_reply_ = false;
  enum class Delayed { kNo, kWaiting, kReleased } delayed_ = Delayed::kNo;
  bool waiting_given_up_ = false;
  int serving_ = 0;
  bool ending_ = false;
  bool close_after_ = false;
  std::vector<std::string> operations_;
  std::size_t forwarded_ = 0;
  ScriptedServer server_;  // the last: it calls into the rest
};

}  // namespace stint::test

#endif  // STINT_TESTS_SUPPORT_FAULTY_PROXY_H_
