// Credentials by the metadata service of an instance.
#include <algorithm>
#include <string>
#include <utility>

#include "store/dynamodb/credentials/sources.h"
#include "store/dynamodb/text.h"
#include "store/dynamodb/url.h"

namespace stint::store::dynamodb {
namespace {

// Where there is no such service, packets mostly vanish.
constexpr Patience kPatience{std::chrono::milliseconds(1'000), 2};
constexpr std::string_view kTokenPath = "/latest/api/token";
constexpr std::string_view kRolesPath = "/latest/meta-data/iam/security-credentials/";
constexpr std::string_view kTokenSeconds = "21600";

constexpr const char* kEndpointVariable = "AWS_EC2_METADATA_SERVICE_ENDPOINT";
constexpr const char* kModeVariable = "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE";

bool is_named_by_variable(const FetchContext& cx) {
  return !cx.surroundings.variable(kEndpointVariable).empty() ||
         !cx.surroundings.variable(kModeVariable).empty();
}

/// Where the service is.
Result<Url> endpoint(const FetchContext& cx) {
  std::string text = cx.surroundings.variable(kEndpointVariable);
  std::string mode = lower_case(cx.surroundings.variable(kModeVariable));
  if (text.empty() && mode == "ipv6") text = "http://[fd00:ec2::254]";
  if (text.empty()) text = cx.surroundings.metadata_endpoint;
  return parse_endpoint(text);
}

/// Whether `text` can be a role's name, which becomes part of a path.
bool is_role_name(std::string_view text) {
  return !text.empty() && text.size() <= 128 && percent_encoded(text, "+=,@") == text;
}

}  // namespace

Fetched fetch_from_metadata(FetchContext& cx, MetadataUse use) {
  if (is_true(cx.surroundings.variable("AWS_EC2_METADATA_DISABLED"))) {
    return Absent{"AWS_EC2_METADATA_DISABLED is true"};
  }
  Result<Url> url = endpoint(cx);
  if (!url) {
    return Broken{std::string("the address in ") + kEndpointVariable +
                  " is not usable: " + url.error().reason()};
  }
  const std::string origin = url->origin();
  const std::string base = url->base();
  HttpRequest request;
  request.may_use_proxy = false;
  request.method = "PUT";
  request.url = base + std::string(kTokenPath);
  request.headers = {{"x-aws-ec2-metadata-token-ttl-seconds", std::string(kTokenSeconds)}};
  HttpReply token = ask(cx, request, kPatience);
  if (token.end != HttpEnd::kReply) {
    const bool may_come = use == MetadataUse::kNamed || is_named_by_variable(cx) ||
                          cx.metadata_has_answered || cx.interruption->is_set();
    return Absent{origin + " " + describe(cx, token), may_come ? Lack::kPassing : Lack::kLasting};
  }
  cx.metadata_has_answered = true;
  if (!is_ok(token)) {
    return Broken{origin + " " + describe(cx, token) + " when asked for a token", lack_of(token)};
  }
  cx.secrets.add(token.body);
  if (!is_key_text(token.body)) return Broken{origin + " gave a token that is none"};

  request.method = "GET";
  request.headers = {{"x-aws-ec2-metadata-token", token.body}};
  request.url = base + std::string(kRolesPath);
  HttpReply roles = ask(cx, request, kPatience);
  if (roles.end == HttpEnd::kReply && roles.status == 404) {
    return Absent{"no role is attached to this instance"};
  }
  if (!is_ok(roles)) {
    return Broken{origin + " " + describe(cx, roles) + " when asked for the role", lack_of(roles)};
  }
  std::string_view list = trimmed(roles.body);
  std::string role(trimmed(list.substr(0, list.find('\n'))));
  if (!is_role_name(role)) return Broken{origin + " gave a role name that is none"};

  request.url += role;
  HttpReply keys = ask(cx, request, kPatience);
  if (!is_ok(keys)) {
    return Broken{origin + " " + describe(cx, keys) + " when asked for the keys of the role",
                  lack_of(keys)};
  }
  Result<Credentials> credentials = read_credential_document(cx, keys.body, DocumentKind::kServer);
  if (!credentials) return broken(origin + " ", credentials.error());
  credentials->source = "instance metadata, role " + role;
  return fetched(std::move(credentials));
}

}  // namespace stint::store::dynamodb
