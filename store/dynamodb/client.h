// One connection to the service: signs, sends, corrects the clock, repeats what may be repeated.
#ifndef STINT_STORE_DYNAMODB_CLIENT_H_
#define STINT_STORE_DYNAMODB_CLIENT_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "stint/result.h"
#include "stint/transport_stats.h"
#include "store/dynamodb/credentials.h"
#include "store/dynamodb/http.h"
#include "store/dynamodb/wire.h"

namespace stint::store::dynamodb {

struct ClientOptions {
  std::string region;
  /// "https://host[:port][/path]"; empty: the service's own for the region.
  std::string endpoint;
  /// Longest time for one attempt; the deadline of the call counts too.
  std::chrono::milliseconds attempt_timeout{2'000};
};

/// How a call ended when the service did not carry it out.
struct CallTrouble {
  /// What the service said. Absent: the exchange itself failed, or there were no credentials.
  std::optional<ServiceError> service;
  /// There are no credentials, and there will be none until somebody mends that. Never together
  /// with `service`.
  bool no_credentials = false;
  /// Whether the service may have carried it out nevertheless.
  bool maybe_applied = false;
  /// For people: one sentence that says what was tried, no secret.
  std::string message;
};

/// The body of a reply, or why there is none.
using CallResult = std::variant<std::string, CallTrouble>;

/// What it means to send an operation twice.
enum class Effect : std::uint8_t {
  kRead,
  kWrite,
  /// A write whose body bears a token: the service carries it out once, however often it is sent.
  kTokenWrite,
};

/// Of a request that bears no token.
constexpr Effect effect_of(const WireRequest& request) {
  return request.writes ? Effect::kWrite : Effect::kRead;
}

/// Thread-safe.
class Client {
 public:
  virtual ~Client() = default;

  using Done = std::function<void(CallResult)>;
  /// Sends one operation of the service. Repeats, with full jitter and within a budget, what
  /// cannot have been applied (throttled, unavailable, not sent) and, of reads and of writes with a
  /// token, all that may pass; never a plain write that may have been applied. Signs anew, once,
  /// when the service says that the time is off, and once with fresh credentials when it does not
  /// take those at hand. `done` is called once, on the thread of the HTTP client or of the
  /// credentials or, where nothing is sent, before this returns.
  virtual void start(std::string_view operation, std::string body, Effect effect,
                     Steady::time_point deadline, Done done) = 0;

  /// Whether calls need the calling thread to end: the HTTP client's, or that of the credentials.
  virtual bool is_needed_thread() const noexcept = 0;

  /// The same as `start`, and waits. Not to be called where `is_needed_thread`.
  CallResult call(std::string_view operation, std::string body, Effect effect,
                  Steady::time_point deadline);

  /// What it has done since it was made.
  virtual TransportStats stats() const = 0;
};

/// An endpoint that is none, or a region that is no name, ends every call without a request.
///
/// When the last owner lets go, `http` and `credentials` are closed: calls under way end, and no
/// thread of theirs runs any more, unless it was one of them that let go.
std::shared_ptr<Client> make_client(std::shared_ptr<HttpClient> http,
                                    std::shared_ptr<CredentialProvider> credentials,
                                    const ClientOptions& options);

}  // namespace stint::store::dynamodb

#endif  // STINT_STORE_DYNAMODB_CLIENT_H_
