// Access keys, and where they come from.
#ifndef STINT_STORE_DYNAMODB_CREDENTIALS_H_
#define STINT_STORE_DYNAMODB_CREDENTIALS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stint/result.h"
#include "stint/time.h"
#include "store/dynamodb/http.h"

namespace stint::store::dynamodb {

struct Credentials {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;  ///< Empty: none.
  std::optional<TimePoint> expires_at;
  /// For people: "environment", "profile dev of /home/x/.aws/credentials", ... Never a secret.
  std::string source;
};
/// Whether they sign alike, wherever they come from and however long they last.
inline bool same_keys(const Credentials& a, const Credentials& b) {
  return a.access_key_id == b.access_key_id && a.secret_access_key == b.secret_access_key &&
         a.session_token == b.session_token;
}
using CredentialsPtr = std::shared_ptr<const Credentials>;

/// Gives credentials and keeps them fresh. Thread-safe.
class CredentialProvider {
 public:
  virtual ~CredentialProvider() = default;

  using Done = std::function<void(Result<CredentialsPtr>)>;
  /// Calls `done` once: before returning where nothing has to be fetched, as while credentials are
  /// at hand that have not expired (they are fetched anew in the background before they do), later
  /// on the provider's own thread otherwise. `done` must not throw; on that thread it should not
  /// block, and may let go of the last owner of the provider. After a fetch that failed there is a
  /// pause of 1 to 30 s in which its error is the answer.
  /// Errors, saying what was tried and why it failed, without any secret: `kUnavailable` for what
  /// may pass by itself, as a server that does not answer; `kAccessDenied` for what somebody has to
  /// mend.
  virtual void get(Done done) = 0;

  /// The service refused these as expired or unknown: unless they have been replaced already, the
  /// next `get` fetches anew. When that brings the same keys once more, further calls change
  /// nothing for 1 to 30 s, so that the source is not asked at every request.
  virtual void refused(const CredentialsPtr& credentials) = 0;

  /// Interrupts a fetch, answers those who wait for it, and waits for the provider's thread, unless
  /// called on it. From then on nothing is fetched. One without a thread has nothing to end.
  virtual void close() {}

  /// Whether the calling thread is the provider's own. One without a thread has none.
  virtual bool on_own_thread() const noexcept { return false; }
};

/// What the surroundings say: a seam for tests.
struct Surroundings {
  /// A variable of the environment; empty counts as unset.
  std::function<std::string(const std::string& name)> variable;
  /// The system's, or the tests' clock.
  std::function<TimePoint()> now;
  /// Where the metadata service is; tests set it to a server of their own.
  std::string metadata_endpoint = "http://169.254.169.254";

  /// Those of this process.
  static Surroundings of_process();
};

/// What the `config` and `credentials` files and the environment say about where to connect.
struct Location {
  std::string region;    ///< Empty: not said anywhere.
  std::string endpoint;  ///< Empty: the service's own for the region.
};
/// The standard places in the standard order. `profile` empty: AWS_PROFILE, else "default".
/// Errors: `kInvalidArgument` for a profile that was asked for and does not exist, and for files
/// that cannot be read or parsed, naming file and line; `kUnavailable` when the machine is short of
/// what reading them takes.
Result<Location> standard_location(const Surroundings& surroundings, std::string_view profile);

struct CredentialOptions {
  /// Nothing else is tried when set.
  std::optional<Credentials> fixed;
  std::string profile;
  /// For the token service; empty: as `standard_location`.
  std::string region;
};

/// The standard order: fixed, environment, web identity, profile files (static keys,
/// `credential_process`, assumed role, web identity of a profile), container endpoint, instance
/// metadata. When a profile is named in `options`, environment and web identity are not asked, as
/// in the service's own tools. The first source that is set up decides: if it is broken, no other
/// is asked, since that would be another identity.
///
/// Fetches block (files, programs, requests) and run on a thread of the provider's own, which is
/// started by the first one. The last owner closes it.
std::shared_ptr<CredentialProvider> standard_credentials(std::shared_ptr<HttpClient> http,
                                                         CredentialOptions options,
                                                         Surroundings surroundings);

}  // namespace stint::store::dynamodb

#endif  // STINT_STORE_DYNAMODB_CREDENTIALS_H_
