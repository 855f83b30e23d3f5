#include "store/dynamodb/credentials/fetch.h"

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "store/dynamodb/json_reader.h"
#include "store/dynamodb/text.h"

namespace stint::store::dynamodb {
namespace {

constexpr std::size_t kMaxReplyBytes = 256 * 1024;
constexpr std::chrono::milliseconds kFirstPause{100};

Error unusable(std::string reason) { return Error(ErrorCode::kAccessDenied, std::move(reason)); }

HttpReply exchange(FetchContext& cx, HttpRequest request) {
  // Shared, as the reply may come when nobody waits for it any more.
  struct Slot {
    std::optional<HttpReply> reply;
  };
  auto slot = std::make_shared<Slot>();
  std::shared_ptr<Interruption> interruption = cx.interruption;
  cx.http.send(std::move(request), [slot, interruption](HttpReply reply) {
    interruption->change([&] { slot->reply = std::move(reply); });
  });
  if (interruption->wait([&] { return slot->reply.has_value(); })) return std::move(*slot->reply);
  HttpReply none;
  none.message = "this client is being closed";
  return none;
}

/// A member that is a string; null counts as none.
Result<std::string> text_member(const simdjson::dom::object& object, std::string_view name) {
  simdjson::dom::element element;
  if (object.at_key(name).get(element) != simdjson::SUCCESS || element.is_null()) {
    return std::string();
  }
  std::string_view text;
  if (element.get(text) != simdjson::SUCCESS) {
    return unusable("gave a document whose " + std::string(name) + " is no string");
  }
  return std::string(text);
}

}  // namespace

Broken broken(const std::string& subject, const Error& error) {
  return {subject + error.reason(),
          error.code() == ErrorCode::kUnavailable ? Lack::kPassing : Lack::kLasting};
}

Fetched fetched(Result<Credentials> result) {
  if (!result) return broken("", result.error());
  return std::move(*result);
}

bool is_in_trouble(const HttpReply& reply) {
  return reply.end != HttpEnd::kReply || reply.status == 429 || reply.status >= 500;
}

HttpReply ask(FetchContext& cx, const HttpRequest& request, const Patience& patience,
              bool (*shows_trouble)(const HttpReply&)) {
  for (int attempt = 1;; ++attempt) {
    HttpRequest copy = request;
    copy.deadline = Steady::now() + patience.timeout;
    copy.max_reply_bytes = kMaxReplyBytes;
    HttpReply reply = exchange(cx, std::move(copy));
    if (!shows_trouble(reply) || attempt >= patience.attempts) return reply;
    cx.interruption->wait_until(Steady::now() + attempt * kFirstPause);
    if (cx.interruption->is_set()) return reply;
  }
}

std::string describe(const FetchContext& cx, const HttpReply& reply) {
  if (reply.end == HttpEnd::kReply) {
    return "answered with status " + std::to_string(reply.status);
  }
  if (reply.message.empty()) return "did not answer";
  return "did not answer (" + cx.secrets.quotable(reply.message) + ")";
}

Lack lack_of(const HttpReply& reply) {
  return is_in_trouble(reply) ? Lack::kPassing : Lack::kLasting;
}

Result<Credentials> read_credential_document(FetchContext& cx, std::string_view json,
                                             DocumentKind kind) {
  ReadState state;
  simdjson::dom::element document = parse_json(json, state);
  simdjson::dom::object object;
  if (state.failed() || document.get(object) != simdjson::SUCCESS) {
    return unusable("gave something that is no JSON object");
  }
  Result<std::string> secret = text_member(object, "SecretAccessKey");
  if (secret) cx.secrets.add(*secret);
  Result<std::string> token =
      text_member(object, kind == DocumentKind::kProcess ? "SessionToken" : "Token");
  if (token) cx.secrets.add(*token);
  Result<std::string> key = text_member(object, "AccessKeyId");
  Result<std::string> expiration = text_member(object, "Expiration");
  for (const Result<std::string>* part : {&key, &secret, &token, &expiration}) {
    if (!*part) return part->error();
  }
  // The metadata service says here what it could not do.
  Result<std::string> code = text_member(object, "Code");
  if (kind == DocumentKind::kServer && code && !code->empty() && *code != "Success") {
    return unusable("gave code " + cx.secrets.quotable(*code) + " in place of keys");
  }
  if (kind == DocumentKind::kProcess) {
    std::int64_t version = 0;
    if (object.at_key("Version").get(version) != simdjson::SUCCESS || version != 1) {
      return unusable("gave a document whose Version is not 1");
    }
  }
  if (key->empty()) return unusable("gave a document without AccessKeyId");
  if (secret->empty()) return unusable("gave a document without SecretAccessKey");
  Credentials credentials;
  credentials.access_key_id = std::move(*key);
  credentials.secret_access_key = std::move(*secret);
  credentials.session_token = std::move(*token);
  if (!expiration->empty()) {
    credentials.expires_at = read_instant(*expiration);
    if (!credentials.expires_at) return unusable("gave a document whose Expiration is no time");
  }
  if (Status usable = check_credentials(credentials, cx.surroundings.now()); !usable) {
    return unusable("gave " + usable.error().reason());
  }
  return credentials;
}

Status check_credentials(const Credentials& credentials, TimePoint now) {
  if (!is_key_text(credentials.access_key_id)) {
    return unusable("an access key id with white space or other characters that no key has");
  }
  if (!is_key_text(credentials.secret_access_key)) {
    return unusable("a secret access key with white space or other characters that no key has");
  }
  if (!credentials.session_token.empty() && !is_key_text(credentials.session_token)) {
    return unusable("a session token with white space or other characters that no token has");
  }
  if (credentials.expires_at && *credentials.expires_at <= now) {
    return unusable("credentials that have expired already, by the clock of this machine");
  }
  return Status();
}

}  // namespace stint::store::dynamodb
