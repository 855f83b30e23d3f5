#include "store/dynamodb/client.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <future>
#include <limits>
#include <utility>
#include <vector>

#include "store/dynamodb/credentials/secrets.h"
#include "store/dynamodb/http_date.h"
#include "store/dynamodb/reply_of_error.h"
#include "store/dynamodb/retry.h"
#include "store/dynamodb/signer.h"
#include "store/dynamodb/text.h"
#include "store/dynamodb/url.h"

namespace stint::store::dynamodb {
namespace {

using std::chrono::milliseconds;
using enum ServiceTrouble;

// The service takes signatures up to five minutes off. A refused signature whose time is nearer
// than this has another fault.
constexpr milliseconds kSuspiciousOffset = std::chrono::minutes(4);
// Replies tell whole seconds, and take a while to arrive.
constexpr milliseconds kSmallestOffset = std::chrono::seconds(2);
constexpr std::chrono::seconds kLookAtDateEvery{10};
// With less time than that, a repetition would mostly turn "not applied" into "unknown".
constexpr milliseconds kShortestAttempt{10};

TimePoint system_now() {
  return std::chrono::floor<milliseconds>(std::chrono::system_clock::now());
}

/// How far the local clock is behind what the reply says; absent without a readable date.
std::optional<milliseconds> offset_of(const HttpReply& reply) {
  const std::optional<TimePoint> date = read_http_date(reply.header("date"));
  if (!date) return std::nullopt;
  return *date - system_now();
}

/// Whether a reply can be a result of the service, whose JSON has a type of its own: "{}" of
/// anybody else would pass for an item that is not there. The body's reader judges the rest.
bool looks_like_result(const HttpReply& reply) {
  const std::string_view type = reply.header("content-type");
  if (!type.empty() && !lower_case(type).starts_with("application/x-amz-json-")) return false;
  const std::string_view body = trimmed(reply.body);
  return body.starts_with('{') && body.ends_with('}');
}

bool has_right_checksum(const HttpReply& reply) {
  const std::string_view said = reply.header("x-amz-crc32");
  if (said.empty()) return true;
  std::uint32_t value = 0;
  const char* end = said.data() + said.size();
  const auto [stop, error] = std::from_chars(said.data(), end, value);
  return error == std::errc() && stop == end && value == crc32(reply.body);
}

enum class Next {
  kEnd,
  kRepeat,
  kRepeatSlowly,
  kSignAnew,
  kFetchAnew,
};

/// What one attempt met, and what follows from it.
struct Met {
  bool fine = false;
  Next next = Next::kEnd;
  std::optional<ServiceError> service;
  bool maybe_applied = false;
  std::string text;
  bool no_credentials = false;
};

/// One operation on its way. At any time one function works on it, on whatever thread.
struct Operation {
  std::weak_ptr<class SigningClient> client;
  std::string name;
  std::string body;
  Effect effect = Effect::kRead;
  Steady::time_point deadline;
  Client::Done done;

  int attempts = 0;
  int repeats = 0;  // those that were drawn from the budget
  bool clock_corrected = false;
  bool credentials_renewed = false;
  // An earlier attempt may have been applied: only some answers to later ones deny it.
  bool perhaps_applied = false;
  CredentialsPtr credentials;
  milliseconds signed_offset{0};
  Met met;  // of the last attempt

  // Credentials are waited for under a number; whoever takes the number away goes on.
  unsigned waits = 0;
  std::atomic<unsigned> awaited{0};
};
using OperationPtr = std::shared_ptr<Operation>;

/// The service's words without anything that nobody may read. A refused signature is answered with
/// all that was signed, the session token included.
std::string quotable(std::string_view text, const CredentialsPtr& credentials) {
  Secrets secrets;
  if (credentials) {
    secrets.add(credentials->secret_access_key);
    secrets.add(credentials->session_token);
  }
  return secrets.quotable(text.substr(0, text.find("The Canonical String")));
}

std::string described(const ServiceError& error) {
  if (error.code.empty()) {
    const std::string status = "status " + std::to_string(error.status);
    if (error.message.empty() || error.message.starts_with(status)) {
      return error.message.empty() ? status : error.message;
    }
    return status + ": " + error.message;
  }
  return error.message.empty() ? error.code : error.code + ": " + error.message;
}

Next next_after(const ServiceError& error, bool may_repeat) {
  switch (error.trouble) {
    case kThrottledByTable:
    case kThrottledByPartition:
    case kThrottledByAccount: return Next::kRepeatSlowly;
    // Applied or not by then, the same token gives the result.
    case kTransactionInProgress: return may_repeat ? Next::kRepeatSlowly : Next::kEnd;
    case kUnavailable: return Next::kRepeat;
    case kServerFault: return may_repeat ? Next::kRepeat : Next::kEnd;
    case kNotTheService:
      return may_repeat && (error.status < 300 || error.status >= 500) ? Next::kRepeat : Next::kEnd;
    case kClockSkewed: return Next::kSignAnew;
    case kExpiredCredentials:
    case kUnknownCredentials: return Next::kFetchAnew;
    default: return Next::kEnd;
  }
}

/// Whether an answer to a repetition says that no earlier attempt was applied: had one been, the
/// token would have been recognised, and the answer would be success.
bool denies_earlier(const std::optional<ServiceError>& error) {
  if (!error) return false;
  switch (error->trouble) {
    case kTransactionCancelled:
    case kTokenMismatch:
    case kValidation:
    case kTooLarge: return true;
    default: return false;
  }
}

Met judge(const Operation& operation, const HttpReply& reply) {
  const bool writes = operation.effect != Effect::kRead;
  const bool may_repeat = operation.effect != Effect::kWrite;
  Met met;
  if (reply.end != HttpEnd::kReply) {
    const bool sent = reply.end == HttpEnd::kBroken;
    met.maybe_applied = writes && sent;
    met.next = met.maybe_applied && !may_repeat ? Next::kEnd : Next::kRepeat;
    met.text = reply.message;
    return met;
  }
  const bool right = has_right_checksum(reply);
  if (right && reply.status == 200 && looks_like_result(reply)) {
    met.fine = true;
    return met;
  }
  if (!right) {
    met.maybe_applied = writes;
    met.next = may_repeat ? Next::kRepeat : Next::kEnd;
    met.text = "the reply arrived damaged: its checksum is not the one it came with";
    return met;
  }
  // What comes as a success and is no result is read as an error for the sake of its words.
  ServiceError error = read_error(reply.status, reply.body);
  if (reply.status >= 200 && reply.status < 300) error.trouble = kNotTheService;
  error.message = quotable(error.message, operation.credentials);
  for (ServiceError::Member& member : error.reasons) {
    member.message = quotable(member.message, operation.credentials);
  }
  met.text = described(error);
  if (error.trouble == kNotTheService) {
    met.text = "something that is not the service answered: " + met.text;
  }
  met.maybe_applied = writes && may_have_applied(error);
  met.next = next_after(error, may_repeat);
  met.service = std::move(error);
  return met;
}

/// What does the work. Operations under way hold it for a moment, on whatever thread they are, so
/// that it is not for it to end the threads when it goes: `OwnedClient` is.
class SigningClient final : public std::enable_shared_from_this<SigningClient> {
 public:
  SigningClient(std::shared_ptr<HttpClient> http, std::shared_ptr<CredentialProvider> credentials,
                const ClientOptions& options)
      : http_(std::move(http)),
        credentials_(std::move(credentials)),
        attempt_timeout_(options.attempt_timeout),
        signer_(options.region, "dynamodb") {
    if (!is_region_name(options.region)) {
      misfit_ = options.region.empty() ? "no region is set"
                                       : "the region is not a name such as us-east-1";
      return;
    }
    const std::string endpoint =
        options.endpoint.empty() ? service_endpoint("dynamodb", options.region) : options.endpoint;
    Result<Url> parsed = parse_endpoint(endpoint);
    if (!parsed) {
      misfit_ = "the endpoint is not an address: " + parsed.error().reason();
      return;
    }
    path_ = parsed->path;
    authority_ = parsed->authority();
    url_ = parsed->origin() + path_;
  }

  void start(std::string_view name, std::string body, Effect effect, Steady::time_point deadline,
             Client::Done done) {
    auto operation = std::make_shared<Operation>();
    operation->client = weak_from_this();
    operation->name = name;
    operation->body = std::move(body);
    operation->effect = effect;
    operation->deadline = deadline;
    operation->done = std::move(done);
    if (!misfit_.empty()) {
      operation->met.text = misfit_;
      return give_up(*operation, {});
    }
    attempt(operation);
  }

  /// Ends what is under way, and both threads.
  void close() {
    closed_.store(true);
    credentials_->close();
    http_->close();
  }

  bool is_needed_thread() const noexcept {
    return http_->on_own_thread() || credentials_->on_own_thread();
  }

  TransportStats stats() const {
    TransportStats stats;
    stats.attempts = attempts_.load(std::memory_order_relaxed);
    stats.repeats = repeats_.load(std::memory_order_relaxed);
    stats.throttles = throttles_.load(std::memory_order_relaxed);
    stats.unknown = unknown_.load(std::memory_order_relaxed);
    const milliseconds seen(seen_offset_ms_.load(std::memory_order_relaxed));
    if (std::chrono::abs(seen) >= kSmallestOffset) stats.clock_behind = seen;
    return stats;
  }

 private:
  // Every step is reached with the client held by whoever calls.
  void attempt(const OperationPtr& operation) {
    const bool closed = closed_.load();
    if (closed || Steady::now() >= operation->deadline) {
      if (operation->attempts == 0) operation->met.text = "nothing was sent";
      return give_up(*operation, closed ? kShutDown : "the deadline passed");
    }
    const unsigned wait = ++operation->waits;
    operation->awaited.store(wait);
    credentials_->get([operation, wait](Result<CredentialsPtr> credentials) {
      if (!take_turn(*operation, wait)) return;
      std::shared_ptr<SigningClient> client = operation->client.lock();
      if (!client) return give_up(*operation, kShutDown);
      client->send(operation, std::move(credentials));
    });
    if (operation->awaited.load() != wait) return;
    http_->call_at(operation->deadline, [operation, wait] {
      if (!take_turn(*operation, wait)) return;
      give_up_without_credentials(*operation, false, "no credentials came before the deadline");
    });
  }

  static bool take_turn(Operation& operation, unsigned wait) {
    return operation.awaited.compare_exchange_strong(wait, 0);
  }

  void send(const OperationPtr& operation, Result<CredentialsPtr> credentials) {
    if (!credentials) {
      const Error& error = credentials.error();
      const bool lasting = error.code() != ErrorCode::kUnavailable;
      return give_up_without_credentials(*operation, lasting, error.reason());
    }
    if (operation->credentials && operation->met.next == Next::kFetchAnew &&
        same_keys(**credentials, *operation->credentials)) {
      return give_up(*operation, "there are no other credentials");
    }
    operation->credentials = *std::move(credentials);

    HttpRequest request;
    request.url = url_;
    request.headers.reserve(6);
    request.headers.push_back(HttpHeader{"host", authority_});
    request.headers.push_back(HttpHeader{"content-type", "application/x-amz-json-1.0"});
    request.headers.push_back(HttpHeader{"x-amz-target", "DynamoDB_20120810." + operation->name});
    request.body = operation->body;
    SignedParts parts;
    parts.method = request.method;
    parts.path = path_;
    parts.headers = request.headers;
    parts.body = request.body;
    operation->signed_offset = milliseconds(signing_offset_ms_.load(std::memory_order_relaxed));
    std::vector<HttpHeader> added =
        signer_.sign(parts, *operation->credentials, system_now() + operation->signed_offset);
    bool is_signed = false;
    for (HttpHeader& header : added) {
      is_signed |= header.name == "authorization";
      request.headers.push_back(std::move(header));
    }
    if (!is_signed) {
      operation->met = Met();
      operation->met.text = "the library of digests failed, so that nothing could be signed";
      return give_up(*operation, {});
    }
    request.deadline = operation->deadline;
    if (operation->effect == Effect::kWrite) {
      // Whoever asked may have to look the write up: not before it is given up, but in time.
      const Steady::time_point now = Steady::now();
      request.deadline = now + (operation->deadline - now) / 3 * 2;
    }
    request.exchange_time = attempt_timeout_;
    request.max_reply_bytes = kMaxReplyBytes;

    attempts_.fetch_add(1, std::memory_order_relaxed);
    if (++operation->attempts > 1) repeats_.fetch_add(1, std::memory_order_relaxed);
    http_->send(std::move(request), [operation](HttpReply reply) {
      if (std::shared_ptr<SigningClient> client = operation->client.lock()) {
        client->received(operation, std::move(reply));
      } else {
        // Nothing can be sent any more, but the reply counts.
        operation->met = judge(*operation, reply);
        if (operation->met.fine) return operation->done(std::move(reply.body));
        give_up(*operation, kShutDown);
      }
    });
  }

  void received(const OperationPtr& operation, HttpReply reply) {
    Met& met = operation->met;
    met = judge(*operation, reply);
    if (reply.end == HttpEnd::kReply) look_at_date(reply);
    if (met.fine) {
      budget_.succeeded(operation->repeats > 0);
      return operation->done(std::move(reply.body));
    }
    if (met.service) {
      if (is_throttling(met.service->trouble)) throttles_.fetch_add(1, std::memory_order_relaxed);
    }
    operation->perhaps_applied |= met.maybe_applied;
    // An exchange that ended by that says so itself.
    if (closed_.load()) {
      return give_up(*operation, reply.end == HttpEnd::kReply ? kShutDown : "");
    }
    switch (met.next) {
      case Next::kEnd: return give_up(*operation, {});
      case Next::kRepeat: return repeat(operation, kTroublePause);
      case Next::kRepeatSlowly: return repeat(operation, kThrottledPause);
      case Next::kSignAnew: return sign_anew(operation, reply);
      case Next::kFetchAnew:
        if (is_clock_suspicious(*operation, reply)) return sign_anew(operation, reply);
        return fetch_anew(operation);
    }
  }

  void repeat(const OperationPtr& operation, milliseconds first_pause) {
    const milliseconds longest = longest_pause(first_pause, operation->repeats + 1);
    const Steady::time_point at = Steady::now() + jitter_.draw(longest);
    if (at + kShortestAttempt >= operation->deadline) {
      return give_up(*operation, "the deadline left no time to try again");
    }
    if (!budget_.take()) {
      return give_up(*operation, "not tried again, as too many requests failed of late");
    }
    ++operation->repeats;
    http_->call_at(at, [operation] {
      std::shared_ptr<SigningClient> client = operation->client.lock();
      if (!client) return give_up(*operation, kShutDown);
      client->attempt(operation);
    });
  }

  static bool is_clock_suspicious(const Operation& operation, const HttpReply& reply) {
    if (operation.clock_corrected) return false;
    const std::optional<milliseconds> offset = offset_of(reply);
    return offset && std::chrono::abs(*offset - operation.signed_offset) >= kSuspiciousOffset;
  }

  void sign_anew(const OperationPtr& operation, const HttpReply& reply) {
    const std::optional<milliseconds> offset = offset_of(reply);
    if (operation->clock_corrected || !offset ||
        std::chrono::abs(*offset - operation->signed_offset) < kSmallestOffset) {
      return give_up(*operation, {});
    }
    operation->clock_corrected = true;
    operation->met.next = Next::kSignAnew;
    signing_offset_ms_.store(offset->count(), std::memory_order_relaxed);
    seen_offset_ms_.store(offset->count(), std::memory_order_relaxed);
    attempt(operation);
  }

  void fetch_anew(const OperationPtr& operation) {
    if (operation->credentials_renewed) return give_up(*operation, {});
    operation->credentials_renewed = true;
    credentials_->refused(operation->credentials);
    attempt(operation);
  }

  void look_at_date(const HttpReply& reply) {
    const std::int64_t now = Steady::now().time_since_epoch().count();
    const std::int64_t next = next_look_.load(std::memory_order_relaxed);
    if (now < next) return;
    const std::optional<milliseconds> offset = offset_of(reply);
    if (!offset) return;
    next_look_.store(now + Steady::duration(kLookAtDateEvery).count(), std::memory_order_relaxed);
    seen_offset_ms_.store(offset->count(), std::memory_order_relaxed);
  }

  /// Ends an operation that gets no credentials. What the service said of an earlier attempt is
  /// told, but decides nothing: whether there are others by and by is for their source to say.
  static void give_up_without_credentials(Operation& operation, bool lasting,
                                          const std::string& why) {
    operation.met.service.reset();
    operation.met.no_credentials = lasting;
    if (operation.attempts > 0) return give_up(operation, why);
    operation.met.text = why;
    give_up(operation, {});
  }

  /// Ends the operation with what its last attempt met. `why`: why there is no further attempt,
  /// where that does not go without saying.
  static void give_up(Operation& operation, std::string_view why) {
    CallTrouble trouble;
    trouble.message = operation.name + ": " + operation.met.text;
    if (operation.attempts > 1) {
      trouble.message += " (attempt " + std::to_string(operation.attempts) + ")";
    }
    if (!why.empty()) trouble.message += "; " + std::string(why);
    trouble.service = std::move(operation.met.service);
    trouble.no_credentials = operation.met.no_credentials;
    trouble.maybe_applied = operation.met.maybe_applied ||
                            (operation.perhaps_applied && !denies_earlier(trouble.service));
    if (trouble.maybe_applied) {
      if (std::shared_ptr<SigningClient> client = operation.client.lock()) {
        client->unknown_.fetch_add(1, std::memory_order_relaxed);
      }
    }
    operation.done(std::move(trouble));
  }

  const std::shared_ptr<HttpClient> http_;
  const std::shared_ptr<CredentialProvider> credentials_;
  std::atomic<bool> closed_{false};
  const milliseconds attempt_timeout_;
  std::string misfit_;  // why nothing can be sent at all
  std::string url_;
  std::string authority_;
  std::string path_;
  const Signer signer_;
  RetryBudget budget_;
  Jitter jitter_;

  // What is added to the time of signatures, and what the replies' dates say. The first stays zero
  // as long as the service takes our time.
  std::atomic<std::int64_t> signing_offset_ms_{0};
  std::atomic<std::int64_t> seen_offset_ms_{0};
  std::atomic<std::int64_t> next_look_{std::numeric_limits<std::int64_t>::min()};

  std::atomic<std::uint64_t> attempts_{0};
  std::atomic<std::uint64_t> repeats_{0};
  std::atomic<std::uint64_t> throttles_{0};
  std::atomic<std::uint64_t> unknown_{0};
};

/// What owners hold.
class OwnedClient final : public Client {
 public:
  explicit OwnedClient(std::shared_ptr<SigningClient> inner) : inner_(std::move(inner)) {}
  ~OwnedClient() override { inner_->close(); }

  void start(std::string_view operation, std::string body, Effect effect,
             Steady::time_point deadline, Done done) override {
    inner_->start(operation, std::move(body), effect, deadline, std::move(done));
  }
  bool is_needed_thread() const noexcept override { return inner_->is_needed_thread(); }
  TransportStats stats() const override { return inner_->stats(); }

 private:
  const std::shared_ptr<SigningClient> inner_;
};

}  // namespace

CallResult Client::call(std::string_view operation, std::string body, Effect effect,
                        Steady::time_point deadline) {
  // Shared: the waiting thread may go on while the other is still about to leave `set_value`.
  auto promise = std::make_shared<std::promise<CallResult>>();
  std::future<CallResult> result = promise->get_future();
  start(operation, std::move(body), effect, deadline,
        [promise](CallResult done) { promise->set_value(std::move(done)); });
  return result.get();
}

std::shared_ptr<Client> make_client(std::shared_ptr<HttpClient> http,
                                    std::shared_ptr<CredentialProvider> credentials,
                                    const ClientOptions& options) {
  return std::make_shared<OwnedClient>(
      std::make_shared<SigningClient>(std::move(http), std::move(credentials), options));
}

}  // namespace stint::store::dynamodb
