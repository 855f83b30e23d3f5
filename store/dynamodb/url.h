// Addresses of endpoints: taken apart, put together, percent-encoded.
#ifndef STINT_STORE_DYNAMODB_URL_H_
#define STINT_STORE_DYNAMODB_URL_H_

#include <string>
#include <string_view>

#include "stint/result.h"

namespace stint::store::dynamodb {

/// An absolute address of a web server.
struct Url {
  bool secure = false;  ///< https
  std::string host;     ///< Lower case; an IPv6 address without its brackets.
  std::string port;     ///< As written, digits; empty: the scheme's own.
  std::string path;     ///< From the first "/", which is there always.
  std::string query;    ///< Without "?".

  /// Whether `host` is an IPv6 address.
  bool is_ipv6() const { return host.find(':') != std::string::npos; }
  /// The value of the header "host", for which a port that is the scheme's own is left out.
  std::string authority() const;
  /// "https://host[:port]": can be shown, as it holds neither path nor query.
  std::string origin() const;
  /// The same with the path, unless that is "/" only.
  std::string base() const;
};

/// Takes "http[s]://host[:port][/path][?query]" apart. Strict: no user, no fragment, no white
/// space, and only characters of host names and addresses in the host, so that no other reader of
/// the same text can see another host in it. Errors: `kInvalidArgument`, with a reason that does
/// not show the text, which may hold a password.
Result<Url> parse_url(std::string_view text);

/// The same for an address that requests to a service are sent to: without query. A path, which a
/// gateway may want, loses the "/" at its end. Errors as `parse_url`.
Result<Url> parse_endpoint(std::string_view text);

/// `text` with every byte but letters, digits, "-", ".", "_", "~" and those of `kept` as "%XX".
std::string percent_encoded(std::string_view text, std::string_view kept = {});

/// Whether `text` can be the name of a region, and with that a part of a host name.
bool is_region_name(std::string_view text);

/// "https://SERVICE.REGION.amazonaws.com", or with the domain of the region's partition.
/// Precondition: `is_region_name(region)`.
std::string service_endpoint(std::string_view service, std::string_view region);

}  // namespace stint::store::dynamodb

#endif  // STINT_STORE_DYNAMODB_URL_H_
