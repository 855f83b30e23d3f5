// Signs the requests that it is told on standard input, one JSON object a line, and prints what the
// signer adds to each as a JSON object of strings. For tests that compare it with other signers.
#include <simdjson.h>

#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "store/dynamodb/signer.h"

namespace {

using stint::store::dynamodb::Credentials;
using stint::store::dynamodb::HttpHeader;
using stint::store::dynamodb::SignedParts;
using stint::store::dynamodb::Signer;

std::string text(const simdjson::dom::object& object, std::string_view name) {
  return std::string(std::string_view(object.at_key(name)));
}

// None of what the signer gives needs an escape but these.
std::string quoted(const std::string& value) {
  std::string out = "\"";
  for (char c : value) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace

int main() {
  simdjson::dom::parser parser;
  std::string line;
  while (std::getline(std::cin, line)) {
    try {
      simdjson::dom::object request = parser.parse(line);
      Credentials credentials;
      credentials.access_key_id = text(request, "key");
      credentials.secret_access_key = text(request, "secret");
      credentials.session_token = text(request, "token");
      std::vector<HttpHeader> headers;
      for (simdjson::dom::array header : simdjson::dom::array(request.at_key("headers"))) {
        headers.push_back({std::string(std::string_view(header.at(0))),
                           std::string(std::string_view(header.at(1)))});
      }
      std::string method = text(request, "method");
      std::string path = text(request, "path");
      std::string query = text(request, "query");
      std::string body = text(request, "body");
      SignedParts parts{method, path, query, headers, body};
      Signer signer(text(request, "region"), text(request, "service"));
      std::string out;
      for (const HttpHeader& header : signer.sign(
               parts, credentials, stint::from_epoch_ms(std::int64_t(request.at_key("now_ms"))))) {
        out += (out.empty() ? "{" : ", ") + quoted(header.name) + ": " + quoted(header.value);
      }
      std::printf("%s}\n", out.c_str());
      std::fflush(stdout);
    } catch (const simdjson::simdjson_error& error) {
      std::fprintf(stderr, "sign_requests: %s\n", error.what());
      return 2;
    }
  }
  return 0;
}
