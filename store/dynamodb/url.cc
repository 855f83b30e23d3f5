#include "store/dynamodb/url.h"

#include <algorithm>
#include <cctype>

#include "store/dynamodb/text.h"

namespace stint::store::dynamodb {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

Error malformed(std::string reason) {
  return Error(ErrorCode::kInvalidArgument, std::move(reason));
}

bool is_port(std::string_view text) {
  if (text.empty() || text.size() > 5 || !std::all_of(text.begin(), text.end(), is_digit)) {
    return false;
  }
  int number = 0;
  for (char c : text) number = number * 10 + (c - '0');
  return number >= 1 && number <= 65'535;
}

// The domains of partitions other than the common one, by the start of their regions' names.
struct Partition {
  std::string_view regions;
  std::string_view domain;
};
constexpr Partition kPartitions[] = {
    {"cn-", "amazonaws.com.cn"},    {"us-iso-", "c2s.ic.gov"},      {"us-isob-", "sc2s.sgov.gov"},
    {"us-isof-", "csp.hci.ic.gov"}, {"eu-isoe-", "cloud.adc-e.uk"}, {"eusc-", "amazonaws.eu"},
};

}  // namespace

std::string Url::authority() const {
  std::string text = is_ipv6() ? "[" + host + "]" : host;
  if (!port.empty() && port != (secure ? "443" : "80")) text += ":" + port;
  return text;
}

std::string Url::origin() const { return (secure ? "https://" : "http://") + authority(); }

std::string Url::base() const { return path == "/" ? origin() : origin() + path; }

Result<Url> parse_url(std::string_view text) {
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7f || c == '\\') {
      return malformed("it holds white space or a character that has to be percent-encoded");
    }
  }
  Url url;
  std::size_t scheme_end = text.find("://");
  std::string scheme =
      lower_case(text.substr(0, scheme_end == std::string_view::npos ? 0 : scheme_end));
  if (scheme != "http" && scheme != "https") {
    return malformed("it does not begin with http:// or https://");
  }
  url.secure = scheme == "https";
  std::string_view rest = text.substr(scheme_end + 3);
  if (rest.find('#') != std::string_view::npos) return malformed("it holds a \"#\"");
  std::size_t authority_end = std::min(rest.find_first_of("/?"), rest.size());
  std::string_view authority = rest.substr(0, authority_end);
  rest.remove_prefix(authority_end);

  if (authority.find('@') != std::string_view::npos) {
    return malformed("it holds a user name, which is not sent");
  }
  std::string_view host;
  std::string_view after;
  if (authority.starts_with('[')) {
    std::size_t close = authority.find(']');
    if (close == std::string_view::npos) return malformed("its address has no \"]\"");
    host = authority.substr(1, close - 1);
    after = authority.substr(close + 1);
    bool address = std::all_of(host.begin(), host.end(), [](char c) {
      return std::isxdigit(static_cast<unsigned char>(c)) != 0 || c == ':' || c == '.';
    });
    if (!address || host.find(':') == std::string_view::npos) {
      return malformed("its host is no IPv6 address");
    }
  } else {
    std::size_t colon = std::min(authority.find(':'), authority.size());
    host = authority.substr(0, colon);
    after = authority.substr(colon);
    bool name = std::all_of(host.begin(), host.end(), [](char c) {
      return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_';
    });
    if (host.empty() || !name) return malformed("its host is no name or address");
  }
  url.host = lower_case(host);
  if (!after.empty()) {
    if (after.front() != ':' || !is_port(after.substr(1))) {
      return malformed("its port is no number from 1 to 65535");
    }
    url.port = after.substr(1);
  }

  std::size_t question = std::min(rest.find('?'), rest.size());
  url.path = question == 0 ? "/" : std::string(rest.substr(0, question));
  if (question < rest.size()) url.query = rest.substr(question + 1);
  return url;
}

Result<Url> parse_endpoint(std::string_view text) {
  Result<Url> url = parse_url(text);
  if (!url) return url;
  if (text.find('?') != std::string_view::npos) return malformed("it holds a \"?\"");
  while (url->path.size() > 1 && url->path.ends_with('/')) url->path.pop_back();
  return url;
}

std::string percent_encoded(std::string_view text, std::string_view kept) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (char c : text) {
    if (is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~' ||
        kept.find(c) != std::string_view::npos) {
      encoded += c;
      continue;
    }
    auto byte = static_cast<unsigned char>(c);
    encoded += '%';
    encoded += kDigits[byte >> 4];
    encoded += kDigits[byte & 15];
  }
  return encoded;
}

bool is_region_name(std::string_view text) {
  return !text.empty() && text.size() <= 63 && text.front() != '-' && text.back() != '-' &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_letter(c) || is_digit(c) || c == '-'; });
}

std::string service_endpoint(std::string_view service, std::string_view region) {
  std::string_view domain = "amazonaws.com";
  for (const Partition& partition : kPartitions) {
    if (region.starts_with(partition.regions)) domain = partition.domain;
  }
  std::string endpoint = "https://";
  endpoint.append(service).append(".").append(region).append(".").append(domain);
  return endpoint;
}

}  // namespace stint::store::dynamodb
