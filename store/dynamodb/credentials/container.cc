// Credentials by the endpoint of a container.
#include <algorithm>
#include <string>
#include <utility>

#include "store/dynamodb/credentials/sources.h"
#include "store/dynamodb/credentials/text_file.h"
#include "store/dynamodb/text.h"
#include "store/dynamodb/url.h"

namespace stint::store::dynamodb {
namespace {

constexpr Patience kPatience{std::chrono::milliseconds(2'000), 3};
constexpr std::string_view kContainerService = "http://169.254.170.2";

/// Whether a host is one of this machine, by an address of 127.0.0.0/8 written in the common form.
bool is_loopback(std::string_view host) {
  if (host == "localhost" || host == "::1") return true;
  if (!host.starts_with("127.") || std::count(host.begin(), host.end(), '.') != 3) return false;
  for (std::size_t at = 0; at <= host.size();) {
    std::size_t end = std::min(host.find('.', at), host.size());
    std::string_view part = host.substr(at, end - at);
    // A zero in front would make some readers take it for octal.
    bool plain = !part.empty() && part.size() <= 3 && (part.size() == 1 || part.front() != '0') &&
                 std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!plain || (part.size() == 3 && part > "255")) return false;
    at = end + 1;
  }
  return true;
}

/// Whether the token may be sent there in the clear: to this machine, or to the link-local
/// addresses of the two container services.
bool may_be_plain(std::string_view host) {
  return is_loopback(host) || host == "169.254.170.2" || host == "169.254.170.23" ||
         host == "fd00:ec2::23";
}

/// What goes into the header "authorization"; empty: none.
Result<std::string> authorization(FetchContext& cx) {
  std::string file = cx.surroundings.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  std::string token = cx.surroundings.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  cx.secrets.add(token);
  if (!file.empty()) return read_token_file(file);
  if (is_header_text(token)) return token;
  return Error(ErrorCode::kAccessDenied,
               "AWS_CONTAINER_AUTHORIZATION_TOKEN holds more than one line, or characters that no "
               "token has");
}

}  // namespace

Fetched fetch_from_container(FetchContext& cx) {
  std::string relative = cx.surroundings.variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  std::string full = cx.surroundings.variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (relative.empty() && full.empty()) {
    return Absent{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and _FULL_URI are not set"};
  }
  if (!relative.empty() && relative.front() != '/') {
    return Broken{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin with \"/\""};
  }
  HttpRequest request;
  request.method = "GET";
  request.url = relative.empty() ? full : std::string(kContainerService) + relative;
  const std::string variable = relative.empty() ? "AWS_CONTAINER_CREDENTIALS_FULL_URI"
                                                : "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
  Result<Url> url = parse_url(request.url);
  if (!url) {
    return Broken{"the address in " + variable + " is not usable: " + url.error().reason()};
  }
  if (!url->secure && !may_be_plain(url->host)) {
    return Broken{"the address in " + variable +
                  " is not usable: without https it has to be one of this machine, or "
                  "169.254.170.2, 169.254.170.23 or [fd00:ec2::23]"};
  }
  // Who knows the path of some such endpoints gets the keys.
  cx.secrets.add(url->path);
  cx.secrets.add(url->query);
  request.may_use_proxy = !may_be_plain(url->host);
  request.headers = {{"accept", "application/json"}};
  Result<std::string> token = authorization(cx);
  if (!token) return broken("", token.error());
  if (!token->empty()) {
    cx.secrets.add(*token);
    request.headers.push_back({"authorization", *token});
  }

  HttpReply reply = ask(cx, request, kPatience);
  const std::string origin = url->origin() + " ";
  if (!is_ok(reply)) return Broken{origin + describe(cx, reply), lack_of(reply)};
  Result<Credentials> credentials = read_credential_document(cx, reply.body, DocumentKind::kServer);
  if (!credentials) return broken(origin, credentials.error());
  credentials->source = "container endpoint " + url->origin();
  return fetched(std::move(credentials));
}

}  // namespace stint::store::dynamodb
