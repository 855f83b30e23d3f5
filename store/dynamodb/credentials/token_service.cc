#include "store/dynamodb/credentials/token_service.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/time.h"
#include "store/dynamodb/credentials/location.h"
#include "store/dynamodb/credentials/text_file.h"
#include "store/dynamodb/credentials/xml.h"
#include "store/dynamodb/signer.h"
#include "store/dynamodb/text.h"
#include "store/dynamodb/url.h"

namespace stint::store::dynamodb {
namespace {

constexpr Patience kPatience{std::chrono::milliseconds(5'000), 3};
constexpr std::string_view kGlobalEndpoint = "https://sts.amazonaws.com";
constexpr std::string_view kGlobalRegion = "us-east-1";

// The regions that "legacy" is about; newer ones were never served by the endpoint for all.
constexpr std::string_view kLegacyRegions[] = {
    "ap-northeast-1", "ap-south-1",   "ap-southeast-1", "ap-southeast-2",
    "aws-global",     "ca-central-1", "eu-central-1",   "eu-north-1",
    "eu-west-1",      "eu-west-2",    "eu-west-3",      "sa-east-1",
    "us-east-1",      "us-east-2",    "us-west-1",      "us-west-2"};

// What passes by itself, beside the kinds of "Throttling".
constexpr std::string_view kPassingCodes[] = {
    "IDPCommunicationError", "InternalError", "InternalFailure",    "RequestLimitExceeded",
    "RequestTimeout",        "SlowDown",      "ServiceUnavailable", "TooManyRequestsException"};

Error invalid(std::string reason) { return Error(ErrorCode::kInvalidArgument, std::move(reason)); }

/// Whether the one endpoint for all is wanted.
Result<bool> wants_legacy(const FetchContext& cx, const ProfileSection* profile) {
  std::string mode = cx.surroundings.variable("AWS_STS_REGIONAL_ENDPOINTS");
  std::string place = "AWS_STS_REGIONAL_ENDPOINTS";
  if (mode.empty() && profile != nullptr) {
    mode = profile->value("sts_regional_endpoints");
    place = "sts_regional_endpoints of the profile";
  }
  mode = lower_case(mode);
  if (mode.empty() || mode == "regional") return false;
  if (mode == "legacy") return true;
  return invalid(place + " is neither \"regional\" nor \"legacy\"");
}

/// A form: names and values, encoded.
class Form {
 public:
  void add(std::string_view name, std::string_view value) {
    if (!text_.empty()) text_ += '&';
    text_.append(name).append("=").append(percent_encoded(value));
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

Result<Form> role_form(const FetchContext& cx, std::string_view action, const RoleRequest& role) {
  Form form;
  form.add("Action", action);
  form.add("Version", "2011-06-15");
  form.add("RoleArn", role.role_arn);
  form.add("RoleSessionName", role.session_name.empty()
                                  ? "stint-" + std::to_string(to_epoch_ms(cx.surroundings.now()))
                                  : role.session_name);
  if (!role.duration_s.empty()) {
    bool number =
        role.duration_s.size() <= 5 && std::all_of(role.duration_s.begin(), role.duration_s.end(),
                                                   [](char c) { return c >= '0' && c <= '9'; });
    int seconds = number ? std::stoi(role.duration_s) : 0;
    if (seconds < 900 || seconds > 43'200) {
      return invalid("duration_seconds is no number from 900 to 43200");
    }
    form.add("DurationSeconds", role.duration_s);
  }
  return form;
}

/// What the service says of an error; both empty where it says nothing that is understood.
struct ServiceWords {
  std::string code;
  std::string message;
};

ServiceWords read_words(const HttpReply& reply) {
  ServiceWords words;
  if (reply.end != HttpEnd::kReply) return words;
  Result<XmlTexts> xml = XmlTexts::parse(reply.body);
  if (!xml) return words;
  if (const std::string* code = xml->find("ErrorResponse/Error/Code")) words.code = *code;
  if (const std::string* message = xml->find("ErrorResponse/Error/Message")) {
    words.message = *message;
  }
  return words;
}

/// As `is_in_trouble`, and by the code: the service throttles, and tells of trouble behind it, with
/// status 400.
bool is_service_in_trouble(const HttpReply& reply) {
  if (is_in_trouble(reply)) return true;
  const std::string code = is_ok(reply) ? "" : read_words(reply).code;
  return code.starts_with("Throttl") || code.starts_with("RequestThrottled") ||
         std::find(std::begin(kPassingCodes), std::end(kPassingCodes), code) !=
             std::end(kPassingCodes);
}

/// What the service answered instead of keys.
std::string refusal(const FetchContext& cx, const std::string& origin, const HttpReply& reply) {
  std::string text = origin + " " + describe(cx, reply);
  const ServiceWords words = read_words(reply);
  if (words.code.empty()) return text;
  text += ": " + cx.secrets.quotable(words.code);
  if (!words.message.empty()) text += " (" + cx.secrets.quotable(words.message) + ")";
  return text;
}

Result<Credentials> request_keys(FetchContext& cx, const TokenService& service,
                                 std::string_view action, std::string body,
                                 const Credentials* source) {
  Result<Url> url = parse_endpoint(service.endpoint);
  if (!url) return url.error();
  const std::string origin = url->origin();
  auto failed = [&origin](const std::string& what) {
    return Error(ErrorCode::kAccessDenied, origin + " " + what);
  };
  HttpRequest request;
  request.url = origin + url->path;
  request.body = std::move(body);
  request.headers = {{"content-type", "application/x-www-form-urlencoded; charset=utf-8"}};
  if (source != nullptr) {
    std::vector<HttpHeader> signed_headers = request.headers;
    signed_headers.push_back({"host", url->authority()});
    SignedParts parts;
    parts.method = request.method;
    parts.path = url->path;
    parts.headers = signed_headers;
    parts.body = request.body;
    Signer signer(service.region, "sts");
    for (HttpHeader& header : signer.sign(parts, *source, cx.surroundings.now())) {
      request.headers.push_back(std::move(header));
    }
  }
  HttpReply reply = ask(cx, request, kPatience, is_service_in_trouble);
  if (!is_ok(reply)) {
    return Error(is_service_in_trouble(reply) ? ErrorCode::kUnavailable : ErrorCode::kAccessDenied,
                 refusal(cx, origin, reply));
  }

  Result<XmlTexts> xml = XmlTexts::parse(reply.body);
  if (!xml) return failed("gave an answer that " + xml.error().reason());
  std::string start =
      std::string(action) + "Response/" + std::string(action) + "Result/Credentials/";
  auto part = [&xml, &start](const char* name) {
    const std::string* text = xml->find(start + name);
    return text == nullptr ? std::string() : std::string(trimmed(*text));
  };
  Credentials credentials;
  credentials.access_key_id = part("AccessKeyId");
  credentials.secret_access_key = part("SecretAccessKey");
  credentials.session_token = part("SessionToken");
  cx.secrets.add(credentials.secret_access_key);
  cx.secrets.add(credentials.session_token);
  if (credentials.access_key_id.empty() || credentials.secret_access_key.empty() ||
      credentials.session_token.empty()) {
    return failed("gave an answer without AccessKeyId, SecretAccessKey and SessionToken");
  }
  credentials.expires_at = read_instant(part("Expiration"));
  if (!credentials.expires_at) return failed("gave an answer whose Expiration is no time");
  if (Status usable = check_credentials(credentials, cx.surroundings.now()); !usable) {
    return failed("gave " + usable.error().reason());
  }
  return credentials;
}

}  // namespace

Result<TokenService> token_service(const FetchContext& cx, const ProfileFiles& files,
                                   const ProfileSection* profile) {
  TokenService service;
  service.region = cx.options.region;
  if (service.region.empty()) {
    Result<std::string> region = configured_region(cx.surroundings, profile);
    if (!region) return invalid(region.error().message());
    service.region = std::move(*region);
  } else if (!is_region_name(service.region)) {
    return invalid("the region that was given is no name of letters, digits and \"-\"");
  }
  Result<bool> legacy = wants_legacy(cx, profile);
  if (!legacy) return legacy.error();
  Result<std::string> endpoint = configured_endpoint(cx.surroundings, files, profile, "sts");
  if (!endpoint) return endpoint.error();

  bool global = service.region.empty() ||
                (*legacy && std::find(std::begin(kLegacyRegions), std::end(kLegacyRegions),
                                      service.region) != std::end(kLegacyRegions));
  if (!endpoint->empty()) {
    service.endpoint = std::move(*endpoint);
    if (service.region.empty()) service.region = kGlobalRegion;
  } else if (global) {
    service.endpoint = kGlobalEndpoint;
    service.region = kGlobalRegion;
  } else {
    service.endpoint = service_endpoint("sts", service.region);
  }
  return service;
}

Result<Credentials> assume_role(FetchContext& cx, const TokenService& service,
                                const RoleRequest& role, const Credentials& source) {
  Result<Form> form = role_form(cx, "AssumeRole", role);
  if (!form) return form.error();
  if (!role.external_id.empty()) {
    cx.secrets.add(role.external_id);
    cx.secrets.add(percent_encoded(role.external_id));
    form->add("ExternalId", role.external_id);
  }
  return request_keys(cx, service, "AssumeRole", form->take(), &source);
}

Result<Credentials> assume_role_with_web_identity(FetchContext& cx, const TokenService& service,
                                                  const RoleRequest& role,
                                                  const std::string& token_file) {
  Result<std::string> token = read_token_file(token_file);
  if (!token) return token.error();
  cx.secrets.add(*token);
  cx.secrets.add(percent_encoded(*token));
  Result<Form> form = role_form(cx, "AssumeRoleWithWebIdentity", role);
  if (!form) return form.error();
  form->add("WebIdentityToken", *token);
  return request_keys(cx, service, "AssumeRoleWithWebIdentity", form->take(), nullptr);
}

}  // namespace stint::store::dynamodb
