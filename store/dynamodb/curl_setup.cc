#include "store/dynamodb/curl_setup.h"

#include <curl/curl.h>

#include <cstdlib>
#include <initializer_list>

namespace stint::store::dynamodb {

Status set_up_curl() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (code == CURLE_OK) return {};
  return Error(ErrorCode::kUnavailable,
               std::string("libcurl cannot be set up: ") + curl_easy_strerror(code));
}

const std::string& Proxies::of(std::string_view url) const {
  return url.starts_with("https:") ? https : http;
}

Proxies proxies_of(const std::function<std::string(const char* name)>& variable) {
  auto first = [&variable](std::initializer_list<const char*> names) {
    for (const char* name : names) {
      std::string value = variable(name);
      if (!value.empty()) return value;
    }
    return std::string();
  };
  Proxies proxies;
  proxies.http = first({"http_proxy", "all_proxy", "ALL_PROXY"});
  proxies.https = first({"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"});
  proxies.exceptions = first({"no_proxy", "NO_PROXY"});
  return proxies;
}

Proxies proxies_of_environment() {
  return proxies_of([](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  });
}

}  // namespace stint::store::dynamodb
