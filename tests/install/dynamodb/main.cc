// A user of the installed component `dynamodb`: an endpoint where nobody listens is named in the
// error; and where AWS_ENDPOINT_URL_DYNAMODB leads to a server, what was taken from a table there
// stays taken. The argument is an empty directory, which is not needed.
#include <arpa/inet.h>
#include <stint/dynamodb.h>
#include <stint/stint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

bool failed(const char* what, const stint::Error& error) {
  std::fprintf(stderr, "%s: %s\n", what, error.message().c_str());
  return false;
}

// A port that is taken, so that nobody else comes to listen there.
class ClosedPort {
 public:
  ClosedPort() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    if (::bind(socket_, raw, size) == 0 && ::getsockname(socket_, raw, &size) == 0) {
      number_ = ntohs(address.sin_port);
    }
  }
  ~ClosedPort() { ::close(socket_); }
  ClosedPort(const ClosedPort&) = delete;
  ClosedPort& operator=(const ClosedPort&) = delete;

  int number() const { return number_; }

 private:
  int socket_;
  int number_ = 0;
};

bool a_missing_server_is_named() {
  const ClosedPort port;
  stint::DynamoDbOptions where;
  where.table = "limits";
  where.region = "eu-central-1";
  where.endpoint = "http://127.0.0.1:" + std::to_string(port.number());
  where.keys = stint::AccessKeys{"AKIDEXAMPLE", "no-secret-at-all", ""};
  auto store = stint::open_dynamodb(where);
  if (store) {
    std::fprintf(stderr, "a table was opened where nobody listens\n");
    return false;
  }
  const std::string message = store.error().message();
  std::printf("without a server: %s\n", message.c_str());
  return store.error().code() == stint::ErrorCode::kUnavailable &&
         message.find(std::to_string(port.number())) != std::string::npos &&
         message.find("no-secret-at-all") == std::string::npos;
}

// Opens the table, asks for `amount` of ten an hour and expects the given answer.
bool take(const stint::DynamoDbOptions& where, int amount, bool expected) {
  auto store = stint::open_dynamodb(where);
  if (!store) return failed("open", store.error());
  stint::Limiter limiter(*store);
  if (expected) {
    auto change = limiter.set_limits("user-1", "api", {stint::Limit::per_hour("rph", 10)});
    if (!change) return failed("set_limits", change.error());
  }
  auto decision =
      limiter.acquire({.entity = "user-1", .resource = "api", .consume = {{"rph", amount}}});
  if (!decision) return failed("acquire", decision.error());
  if (static_cast<bool>(*decision) != expected) {
    std::fprintf(stderr, "%d: %s\n", amount, expected ? "refused" : "admitted");
    return false;
  }
  return true;
}

// Everything but the table's name comes from the standard places.
bool a_table_keeps_what_was_taken() {
  stint::DynamoDbOptions where;
  where.table = "stint-consumer-" + std::to_string(::getpid());
  auto made = stint::create_table(where, stint::TableLayout::kLean);
  if (!made) return failed("create_table", made.error());
  const bool kept = take(where, 8, true) && take(where, 8, false);
  auto removed = stint::delete_table(where);
  if (!removed) return failed("delete_table", removed.error());
  std::printf("with a server: a table was created, used and deleted\n");
  return kept;
}

}  // namespace

int main() {
  if (!a_missing_server_is_named()) return 1;
  if (std::getenv("AWS_ENDPOINT_URL_DYNAMODB") == nullptr) return 0;
  return a_table_keeps_what_was_taken() ? 0 : 1;
}
