#include "tests/dynamodb/loopback_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace stint::test {
namespace {

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::abort();
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string_view take_line(std::string_view& text) {
  std::size_t end = text.find("\r\n");
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
  return line;
}

RawRequest parse(std::string_view head) {
  RawRequest request;
  std::string_view first = take_line(head);
  std::size_t space = first.find(' ');
  request.method = first.substr(0, space);
  request.target = first.substr(space + 1, first.rfind(' ') - space - 1);
  while (!head.empty()) {
    std::string_view line = take_line(head);
    std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string_view value = line.substr(colon + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    request.headers.emplace_back(lower(std::string(line.substr(0, colon))), value);
  }
  return request;
}

}  // namespace

std::string RawRequest::header(std::string_view name) const {
  for (const auto& header : headers) {
    if (header.first == name) return header.second;
  }
  return "";
}

LoopbackServer::LoopbackServer(Handler handler) : handler_(std::move(handler)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  if (listener_ < 0 || ::bind(listener_, plain, length) != 0 || ::listen(listener_, 16) != 0 ||
      ::getsockname(listener_, plain, &length) != 0 || ::pipe(wake_) != 0) {
    give_up("stint test: no local server");
  }
  origin_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  thread_ = std::thread([this] { run(); });
}

LoopbackServer::~LoopbackServer() {
  if (::write(wake_[1], "x", 1) != 1) give_up("stint test: server not woken");
  thread_.join();
  for (int connection : unanswered_) ::close(connection);
  ::close(listener_);
  ::close(wake_[0]);
  ::close(wake_[1]);
}

std::vector<RawRequest> LoopbackServer::seen() const {
  std::lock_guard lock(mutex_);
  return seen_;
}

void LoopbackServer::run() {
  for (;;) {
    pollfd waiting[] = {{listener_, POLLIN, 0}, {wake_[0], POLLIN, 0}};
    if (::poll(waiting, 2, -1) < 0) continue;
    if (waiting[1].revents != 0) return;
    int connection = ::accept(listener_, nullptr, nullptr);
    if (connection >= 0) serve(connection);
  }
}

void LoopbackServer::serve(int connection) {
  std::string text;
  std::size_t head_end = std::string::npos;
  std::size_t wanted = 0;
  RawRequest request;
  while (head_end == std::string::npos || text.size() < wanted) {
    pollfd waiting[] = {{connection, POLLIN, 0}, {wake_[0], POLLIN, 0}};
    if (::poll(waiting, 2, -1) < 0) continue;
    char buffer[4096];
    ssize_t got = waiting[1].revents != 0 ? 0 : ::read(connection, buffer, sizeof buffer);
    if (got <= 0) {
      ::close(connection);
      return;
    }
    text.append(buffer, static_cast<std::size_t>(got));
    if (head_end != std::string::npos) continue;
    head_end = text.find("\r\n\r\n");
    if (head_end == std::string::npos) continue;
    request = parse(std::string_view(text).substr(0, head_end + 2));
    std::string length = request.header("content-length");
    wanted = head_end + 4 + (length.empty() ? 0 : std::stoul(length));
  }
  request.body = text.substr(head_end + 4);
  {
    std::lock_guard lock(mutex_);
    seen_.push_back(request);
  }
  std::string answer = handler_(request);
  if (answer.empty()) {
    unanswered_.push_back(connection);
    return;
  }
  for (std::size_t sent = 0; sent < answer.size();) {
    ssize_t put = ::send(connection, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
    if (put <= 0) break;
    sent += static_cast<std::size_t>(put);
  }
  ::close(connection);
}

std::string http_answer(int status, std::string_view body) {
  std::string answer = "HTTP/1.1 " + std::to_string(status) +
                       " Status\r\nContent-Length: " + std::to_string(body.size()) +
                       "\r\nConnection: close\r\n\r\n";
  return answer.append(body);
}

}  // namespace stint::test
