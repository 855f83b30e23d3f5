// What the sources of credentials fetch with, and what they answer.
#ifndef STINT_STORE_DYNAMODB_CREDENTIALS_FETCH_H_
#define STINT_STORE_DYNAMODB_CREDENTIALS_FETCH_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "store/dynamodb/credentials.h"
#include "store/dynamodb/credentials/interruption.h"
#include "store/dynamodb/credentials/secrets.h"
#include "store/dynamodb/http.h"

namespace stint::store::dynamodb {

/// One fetch, on one thread. `http`, `surroundings` and `options` outlive it.
struct FetchContext {
  HttpClient& http;
  const Surroundings& surroundings;
  const CredentialOptions& options;
  std::shared_ptr<Interruption> interruption;
  /// Whether the metadata service of an instance has answered, in this fetch or an earlier one.
  bool metadata_has_answered = false;
  Secrets secrets{};
};

/// Whether the lack of credentials is an outage, or lasts until somebody mends it.
enum class Lack : std::uint8_t {
  kLasting,
  kPassing,  ///< A server did not answer or was in trouble, a program took too long.
};

/// A source that is not set up here: the next one is asked.
struct Absent {
  std::string reason;  ///< One clause for people.
  Lack lack = Lack::kLasting;
};
/// A source that is set up and does not work. No other is asked: it would be somebody else's
/// identity.
struct Broken {
  std::string reason;
  Lack lack = Lack::kLasting;
};
using Fetched = std::variant<Credentials, Absent, Broken>;

/// Of a source that failed with `error`; passing when that is `kUnavailable`. `subject` goes before
/// the reason.
Broken broken(const std::string& subject, const Error& error);

/// `Credentials` or `Broken`.
Fetched fetched(Result<Credentials> result);

/// How long and how often a server is asked.
struct Patience {
  std::chrono::milliseconds timeout;  ///< Of one attempt.
  int attempts;
};

/// Whether there is no reply, or one that says that the server is in trouble: 429, 5xx.
bool is_in_trouble(const HttpReply& reply);

/// Sends a request and waits for the reply; asks again while it `shows_trouble`. The deadline and
/// the bound of the reply are set here. Returns early, with an exchange that failed, when
/// interrupted.
HttpReply ask(FetchContext& cx, const HttpRequest& request, const Patience& patience,
              bool (*shows_trouble)(const HttpReply&) = is_in_trouble);

/// What became of a request that was of no use, to follow the name of the server: "did not answer
/// (...)" or "answered with status 503".
std::string describe(const FetchContext& cx, const HttpReply& reply);

/// What it means for the credentials that `reply` is of no use.
Lack lack_of(const HttpReply& reply);

/// Whether `reply` is one with status 200.
inline bool is_ok(const HttpReply& reply) {
  return reply.end == HttpEnd::kReply && reply.status == 200;
}

/// Who wrote a document of credentials.
enum class DocumentKind {
  kServer,   ///< A container's endpoint or the metadata service: the session token is `Token`.
  kProcess,  ///< A program: it is `SessionToken`, and `Version` is 1.
};

/// Credentials by such a document, which is JSON. All secrets in it are noted in `cx.secrets`.
/// Errors: `kAccessDenied`, with a clause that follows the name of the source, when it is not of
/// that form, or holds credentials that have expired.
Result<Credentials> read_credential_document(FetchContext& cx, std::string_view json,
                                             DocumentKind kind);

/// Whether keys can be used: each part is of the characters that keys have, and they have not
/// expired. Reasons as of `read_credential_document`.
Status check_credentials(const Credentials& credentials, TimePoint now);

}  // namespace stint::store::dynamodb

#endif  // STINT_STORE_DYNAMODB_CREDENTIALS_FETCH_H_
