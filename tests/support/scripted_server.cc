#include "tests/support/scripted_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace stint::test {
namespace {

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::abort();
}

void need(bool fine, const char* what) {
  if (fine) return;
  std::fprintf(stderr, "stint test: OpenSSL: %s\n", what);
  std::abort();
}

// Of this machine, at a port that the system chooses.
sockaddr_in any_port() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int bound_socket(int* port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) give_up("stint test: socket");
  sockaddr_in address = any_port();
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof address;
  if (::bind(fd, plain, length) != 0) give_up("stint test: bind");
  if (::getsockname(fd, plain, &length) != 0) give_up("stint test: getsockname");
  *port = ntohs(address.sin_port);
  return fd;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::shared_ptr<void> tls_context(const Certificate& made) {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  need(context != nullptr, "SSL_CTX_new");
  auto bio_of = [](const std::string& text) {
    return std::shared_ptr<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())),
                                BIO_free);
  };
  std::shared_ptr<X509> certificate(
      PEM_read_bio_X509(bio_of(made.certificate).get(), nullptr, nullptr, nullptr), X509_free);
  std::shared_ptr<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(bio_of(made.private_key).get(), nullptr, nullptr, nullptr),
      EVP_PKEY_free);
  need(SSL_CTX_use_certificate(context.get(), certificate.get()) == 1, "certificate");
  need(SSL_CTX_use_PrivateKey(context.get(), key.get()) == 1, "key");
  return context;
}

}  // namespace

std::string_view ServedRequest::header(std::string_view name) const {
  for (const auto& [each, value] : headers) {
    if (each == name) return value;
  }
  return {};
}

Step Step::reply(int status, std::string body, Headers headers) {
  Step step;
  step.bytes_ = "HTTP/1.1 " + std::to_string(status) + " Said\r\n";
  for (const auto& [name, value] : headers) step.bytes_ += name + ": " + value + "\r\n";
  step.bytes_ += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  return step;
}

Step Step::bytes(std::string all) {
  Step step;
  step.bytes_ = std::move(all);
  return step;
}

Step Step::truncated(std::string body, std::size_t missing) {
  return bytes("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size() + missing) +
               "\r\n\r\n" + body)
      .then_close();
}

Step Step::close() { return Step().then_close(); }

Step Step::reset() {
  Step step;
  step.end_ = End::kReset;
  return step;
}

Step Step::never() {
  Step step;
  step.end_ = End::kSilence;
  return step;
}

Step Step::held() && {
  held_ = true;
  return std::move(*this);
}

Step Step::then_close() && {
  end_ = End::kClose;
  return std::move(*this);
}

Certificate make_certificate() {
  std::shared_ptr<EVP_PKEY> key(EVP_RSA_gen(2048), EVP_PKEY_free);
  need(key != nullptr, "EVP_RSA_gen");
  std::shared_ptr<X509> made(X509_new(), X509_free);
  X509_set_version(made.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -24 * 3600);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 24 * 3600);
  X509_set_pubkey(made.get(), key.get());
  X509_NAME* name = X509_get_subject_name(made.get());
  const auto* text = reinterpret_cast<const unsigned char*>("localhost");
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0);
  X509_set_issuer_name(made.get(), name);
  auto extend = [&made](int kind, const char* value) {
    std::shared_ptr<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, nullptr, kind, value),
                                              X509_EXTENSION_free);
    need(extension && X509_add_ext(made.get(), extension.get(), -1) == 1, "extension");
  };
  extend(NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
  extend(NID_basic_constraints, "critical,CA:TRUE");
  need(X509_sign(made.get(), key.get(), EVP_sha256()) > 0, "X509_sign");

  std::shared_ptr<BIO> out(BIO_new(BIO_s_mem()), BIO_free);
  auto taken = [&out] {
    char* data = nullptr;
    const long length = BIO_get_mem_data(out.get(), &data);
    std::string all(data, static_cast<std::size_t>(length));
    (void)BIO_reset(out.get());
    return all;
  };
  Certificate result;
  need(PEM_write_bio_X509(out.get(), made.get()) == 1, "writing the certificate");
  result.certificate = taken();
  need(PEM_write_bio_PrivateKey(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1,
       "writing the key");
  result.private_key = taken();
  return result;
}

// One connection, bare or under TLS. Does not own the descriptor.
class ScriptedServer::Stream {
 public:
  Stream(int fd, void* tls) : fd_(fd) {
    if (!tls) return;
    ssl_.reset(SSL_new(static_cast<SSL_CTX*>(tls)), SSL_free);
    SSL_set_fd(ssl_.get(), fd);
    ready_ = SSL_accept(ssl_.get()) == 1;
  }

  bool ready() const { return ready_; }

  bool write(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t part = std::min(bytes.size(), std::size_t{1} << 20);
      const ssize_t done = ssl_ ? SSL_write(ssl_.get(), bytes.data(), static_cast<int>(part))
                                : ::send(fd_, bytes.data(), part, MSG_NOSIGNAL);
      if (done <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(done));
    }
    return true;
  }

  // The next request, or nothing when the client has gone.
  std::optional<ServedRequest> read_request() {
    std::size_t end;
    while ((end = read_.find("\r\n\r\n")) == std::string::npos) {
      if (!read_more()) return std::nullopt;
    }
    ServedRequest request;
    std::string_view head = std::string_view(read_).substr(0, end + 2);
    std::string_view first = take_line(head);
    const std::size_t space = first.find(' ');
    request.method = first.substr(0, space);
    first.remove_prefix(space + 1);
    request.target = first.substr(0, first.find(' '));
    while (!head.empty()) {
      std::string_view line = take_line(head);
      const std::size_t colon = line.find(':');
      if (colon == std::string_view::npos) continue;
      std::string_view value = line.substr(colon + 1);
      while (value.starts_with(' ')) value.remove_prefix(1);
      request.headers.emplace_back(lower(line.substr(0, colon)), value);
    }
    std::size_t length = 0;
    const std::string_view said = request.header("content-length");
    std::from_chars(said.data(), said.data() + said.size(), length);
    while (read_.size() < end + 4 + length) {
      if (!read_more()) return std::nullopt;
    }
    request.body = read_.substr(end + 4, length);
    read_.erase(0, end + 4 + length);
    return request;
  }

  void wait_for_end() {
    while (read_more()) read_.clear();
  }

 private:
  static std::string_view take_line(std::string_view& head) {
    const std::size_t end = head.find("\r\n");
    std::string_view line = head.substr(0, end);
    head.remove_prefix(end + 2);
    return line;
  }

  bool read_more() {
    char bytes[16384];
    const ssize_t got =
        ssl_ ? SSL_read(ssl_.get(), bytes, sizeof bytes) : ::recv(fd_, bytes, sizeof bytes, 0);
    if (got <= 0) return false;
    read_.append(bytes, static_cast<std::size_t>(got));
    return true;
  }

  int fd_;
  std::shared_ptr<SSL> ssl_;
  bool ready_ = true;
  std::string read_;
};

ScriptedServer::ScriptedServer(Script script) : script_(std::move(script)) { start(); }

ScriptedServer::ScriptedServer(Script script, const Certificate& certificate)
    : script_(std::move(script)), tls_(tls_context(certificate)) {
  start();
}

ScriptedServer::ScriptedServer(std::vector<Step> steps)
    : ScriptedServer([steps = std::move(steps), mutex = std::make_shared<std::mutex>(),
                      next = std::size_t{0}](const ServedRequest&) mutable {
        std::lock_guard lock(*mutex);
        return steps[std::min(next++, steps.size() - 1)];
      }) {}

void ScriptedServer::start() {
  listener_ = bound_socket(&port_);
  if (::listen(listener_, 256) != 0) give_up("stint test: listen");
  // Writing to a client that has gone is what many tests are about.
  sigset_t pipe, before;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  acceptor_ = std::thread([this] { accept_all(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ScriptedServer::~ScriptedServer() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    for (int fd : open_) ::shutdown(fd, SHUT_RDWR);
    changed_.notify_all();
  }
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  ::close(listener_);
  // The acceptor was the only one that added some.
  for (std::thread& thread : threads_) thread.join();
}

void ScriptedServer::accept_all() {
  for (;;) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    std::lock_guard lock(mutex_);
    if (stopping_) {
      if (fd >= 0) ::close(fd);
      return;
    }
    if (fd < 0) continue;
    open_.push_back(fd);
    const std::size_t number = connections_++;
    changed_.notify_all();
    threads_.emplace_back([this, fd, number] { serve(fd, number); });
  }
}

bool ScriptedServer::take_turn() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopping_ || released_ > 0; });
  if (stopping_) return false;
  --released_;
  return true;
}

void ScriptedServer::serve(int fd, std::size_t number) {
  if (converse(fd, number) == Step::End::kReset) {
    const linger at_once{1, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  std::lock_guard lock(mutex_);
  std::erase(open_, fd);
  ::close(fd);
  ++ended_;
  changed_.notify_all();
}

Step::End ScriptedServer::converse(int fd, std::size_t number) {
  std::function<Welcome(std::size_t)> how;
  {
    std::lock_guard lock(mutex_);
    how = welcome_;
  }
  switch (how ? how(number) : Welcome::kServe) {
    case Welcome::kServe: break;
    case Welcome::kClose: return Step::End::kClose;
    case Welcome::kReset: return Step::End::kReset;
    case Welcome::kIgnore: Stream(fd, nullptr).wait_for_end(); return Step::End::kClose;
  }
  Stream stream(fd, tls_.get());
  if (!stream.ready()) return Step::End::kClose;
  for (;;) {
    std::optional<ServedRequest> request = stream.read_request();
    if (!request) return Step::End::kClose;
    request->connection = number;
    {
      std::lock_guard lock(mutex_);
      requests_.push_back(*request);
      changed_.notify_all();
    }
    const Step step = script_(*request);
    if (step.held_ && !take_turn()) return Step::End::kClose;
    if (!stream.write(step.bytes_)) return Step::End::kClose;
    if (step.end_ == Step::End::kSilence) stream.wait_for_end();
    if (step.end_ != Step::End::kKeep) return step.end_;
  }
}

std::string ScriptedServer::url() const {
  return (tls_ ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(port_);
}

void ScriptedServer::welcome(std::function<Welcome(std::size_t)> how) {
  std::lock_guard lock(mutex_);
  welcome_ = std::move(how);
}

void ScriptedServer::release(std::size_t steps) {
  std::lock_guard lock(mutex_);
  released_ += steps;
  changed_.notify_all();
}

std::vector<ServedRequest> ScriptedServer::requests() const {
  std::lock_guard lock(mutex_);
  return requests_;
}

std::size_t ScriptedServer::request_count() const {
  std::lock_guard lock(mutex_);
  return requests_.size();
}

std::size_t ScriptedServer::connection_count() const {
  std::lock_guard lock(mutex_);
  return connections_;
}

void ScriptedServer::wait_for_requests(std::size_t count) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return requests_.size() >= count; });
}

void ScriptedServer::wait_for_connections(std::size_t count) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return connections_ >= count; });
}

void ScriptedServer::wait_for_ends(std::size_t count) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_ >= count; });
}

ClosedPort::ClosedPort() { fd_ = bound_socket(&port_); }
ClosedPort::~ClosedPort() { ::close(fd_); }

}  // namespace stint::test
