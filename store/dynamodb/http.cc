#include "store/dynamodb/http.h"

#include <future>
#include <utility>

namespace stint::store::dynamodb {

std::string_view HttpReply::header(std::string_view name) const {
  for (const HttpHeader& header : headers) {
    if (header.name == name) return header.value;
  }
  return {};
}

HttpReply HttpClient::exchange(HttpRequest request) {
  // Shared: the waiting thread may go on while the other is still about to leave `set_value`.
  auto promise = std::make_shared<std::promise<HttpReply>>();
  std::future<HttpReply> reply = promise->get_future();
  send(std::move(request), [promise](HttpReply done) { promise->set_value(std::move(done)); });
  return reply.get();
}

}  // namespace stint::store::dynamodb
