// One connection to the service: signs, sends, corrects the clock, repeats what may be repeated.
#ifndef STINT_STORE_DYNAMODB_CLIENT_H_
#define STINT_STORE_DYNAMODB_CLIENT_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "stint/result.h"
#include "store/dynamodb/credentials.h"
#include "store/dynamodb/http.h"
#include "store/dynamodb/wire.h"

namespace stint::store::dynamodb {

struct ClientOptions {
  std::string region;
  /// "https://host[:port]"; empty: the service's own for the region.
  std::string endpoint;
  HttpOptions http;
  /// Longest time for one attempt; the deadline of the call counts too.
  std::chrono::milliseconds attempt_timeout{2'000};
};

/// How a call ended when the service did not carry it out.
struct CallTrouble {
  /// What the service said. Absent: the exchange itself failed, or there were no credentials.
  std::optional<ServiceError> service;
  /// Whether the service may have carried it out nevertheless.
  bool maybe_applied = false;
  /// For people: one sentence that says what was tried, no secret.
  std::string message;
};

/// The body of a reply, or why there is none.
using CallResult = std::variant<std::string, CallTrouble>;

/// Thread-safe.
class Client {
 public:
  virtual ~Client() = default;

  using Done = std::function<void(CallResult)>;
  /// Sends one operation of the service. Repeats, with full jitter and within a budget, what
  /// cannot have been applied (throttled, unavailable, not sent) and, unless `writes`, all that may
  /// pass; never a write that may have been applied. `done` is called once, on the client's thread
  /// or, where nothing is sent, before this returns.
  virtual void start(std::string_view operation, std::string body, bool writes,
                     Steady::time_point deadline, Done done) = 0;

  /// The same, and waits.
  CallResult call(std::string_view operation, std::string body, bool writes,
                  Steady::time_point deadline);

  /// How far this machine's clock is behind the service's, as far as known: zero until a reply said
  /// otherwise.
  virtual std::chrono::milliseconds clock_offset() const = 0;
};

std::shared_ptr<Client> make_client(std::shared_ptr<HttpClient> http,
                                    std::shared_ptr<CredentialProvider> credentials,
                                    const ClientOptions& options);

}  // namespace stint::store::dynamodb

#endif  // STINT_STORE_DYNAMODB_CLIENT_H_
