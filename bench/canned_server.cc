#include "bench/canned_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

#include "store/dynamodb/wire.h"

namespace stint::bench {
namespace {

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::_Exit(1);
}

// How many bytes of `read` are whole requests, and how many requests that is.
std::size_t whole_requests(std::string_view read, int* count) {
  std::size_t used = 0;
  for (;;) {
    const std::string_view rest = read.substr(used);
    const std::size_t head = rest.find("\r\n\r\n");
    if (head == std::string_view::npos) return used;
    // Written by libcurl.
    const std::string_view name = "Content-Length: ";
    const std::size_t at = rest.substr(0, head).find(name);
    std::size_t length = 0;
    if (at != std::string_view::npos) {
      std::from_chars(rest.data() + at + name.size(), rest.data() + head, length);
    }
    if (rest.size() < head + 4 + length) return used;
    used += head + 4 + length;
    ++*count;
  }
}

[[noreturn]] void serve(int listener, const std::string& reply) {
  const int poll = epoll_create1(0);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = listener;
  epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
  std::map<int, std::string> unread;
  std::vector<char> buffer(std::size_t{64} << 10);
  std::array<epoll_event, 256> events;
  for (;;) {
    const int count = epoll_wait(poll, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == listener) {
        const int accepted = accept(listener, nullptr, nullptr);
        const int on = 1;
        setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        event.data.fd = accepted;
        epoll_ctl(poll, EPOLL_CTL_ADD, accepted, &event);
        unread[accepted].clear();
        continue;
      }
      const ssize_t got = recv(fd, buffer.data(), buffer.size(), 0);
      if (got <= 0) {
        unread.erase(fd);
        close(fd);
        continue;
      }
      std::string& read = unread[fd];
      read.append(buffer.data(), static_cast<std::size_t>(got));
      int requests = 0;
      read.erase(0, whole_requests(read, &requests));
      while (requests-- > 0) send(fd, reply.data(), reply.size(), MSG_NOSIGNAL);
    }
  }
}

}  // namespace

CannedServer::CannedServer(std::string_view reply) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) give_up("socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof address;
  if (bind(listener, plain, length) != 0 || getsockname(listener, plain, &length) != 0 ||
      listen(listener, 512) != 0) {
    give_up("listening");
  }
  port_ = ntohs(address.sin_port);
  process_ = fork();
  if (process_ < 0) give_up("fork");
  if (process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) == 0 && CPU_COUNT(&cores) > 1) {
      int last = CPU_SETSIZE - 1;
      while (!CPU_ISSET(last, &cores)) --last;
      CPU_ZERO(&cores);
      CPU_SET(last, &cores);
      sched_setaffinity(0, sizeof cores, &cores);
    }
    serve(listener, std::string(reply));
  }
  close(listener);
}

CannedServer::~CannedServer() {
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

std::string canned_update_reply(std::string_view item) {
  const std::string body =
      R"({"Attributes":)" + std::string(item) +
      R"(,"ConsumedCapacity":{"TableName":"limits","CapacityUnits":2.0,"Table":{"CapacityUnits":1.0},)"
      R"("GlobalSecondaryIndexes":{"GSI2":{"CapacityUnits":1.0}}}})";
  return "HTTP/1.1 200 OK\r\nServer: Server\r\nDate: Tue, 01 Dec 2026 05:00:00 GMT\r\n"
         "Content-Type: application/x-amz-json-1.0\r\nContent-Length: " +
         std::to_string(body.size()) +
         "\r\nConnection: keep-alive\r\n"
         "x-amzn-RequestId: 0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789ABCDEF\r\n"
         "x-amz-crc32: " +
         std::to_string(store::dynamodb::crc32(body)) + "\r\n\r\n" + body;
}

}  // namespace stint::bench
