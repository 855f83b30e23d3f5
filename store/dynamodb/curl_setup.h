// What is to know about libcurl apart from single exchanges.
#ifndef STINT_STORE_DYNAMODB_CURL_SETUP_H_
#define STINT_STORE_DYNAMODB_CURL_SETUP_H_

#include <functional>
#include <string>
#include <string_view>

#include "stint/result.h"

namespace stint::store::dynamodb {

/// Sets the library up, once in this process; it is never torn down, because others may use it.
/// Errors: `kUnavailable`. Thread-safe.
Status set_up_curl();

/// Which proxies the environment names. Empty: none.
struct Proxies {
  std::string http;
  std::string https;
  std::string exceptions;  ///< Hosts that are reached without one, as the variable has them.

  const std::string& of(std::string_view url) const;
};

/// The variables that the curl program reads: http_proxy (in lower case alone, because servers set
/// HTTP_PROXY to what a client says), https_proxy, all_proxy and no_proxy. `variable` answers empty
/// for one that is not set.
Proxies proxies_of(const std::function<std::string(const char* name)>& variable);

/// Those of this process. Not to be called while another thread changes the environment.
Proxies proxies_of_environment();

}  // namespace stint::store::dynamodb

#endif  // STINT_STORE_DYNAMODB_CURL_SETUP_H_
