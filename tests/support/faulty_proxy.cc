#include "tests/support/faulty_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <utility>

#include "tests/support/dynamodb_table.h"
#include "tests/support/dynoxide.h"

namespace stint::test {
namespace {

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::abort();
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

/// A connection to the server for one exchange.
class Exchange {
 public:
  explicit Exchange(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (fd_ < 0) give_up("stint test: socket");
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      give_up("stint test: the DynamoDB server cannot be reached");
    }
  }
  ~Exchange() { ::close(fd_); }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  std::string run(std::string_view request) {
    while (!request.empty()) {
      const ssize_t sent = ::send(fd_, request.data(), request.size(), MSG_NOSIGNAL);
      if (sent <= 0) give_up("stint test: sending to the DynamoDB server");
      request.remove_prefix(static_cast<std::size_t>(sent));
    }
    std::string all;
    char bytes[16384];
    ssize_t got;
    while ((got = ::recv(fd_, bytes, sizeof bytes, 0)) > 0) {
      all.append(bytes, static_cast<std::size_t>(got));
    }
    return all;
  }

 private:
  int fd_;
};

ServerReply parsed(std::string_view all) {
  const std::size_t end = all.find("\r\n\r\n");
  if (end == std::string_view::npos) give_up("stint test: the DynamoDB server broke a reply off");
  ServerReply reply;
  reply.body = all.substr(end + 4);
  std::string_view head = all.substr(0, end);
  std::size_t line_end = head.find("\r\n");
  const std::string_view first = head.substr(0, line_end);
  const std::string_view status = first.substr(first.find(' ') + 1, 3);
  std::from_chars(status.data(), status.data() + status.size(), reply.status);
  while (line_end != std::string_view::npos) {
    head.remove_prefix(line_end + 2);
    line_end = head.find("\r\n");
    const std::string_view line = head.substr(0, line_end);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string name = lower(line.substr(0, colon));
    std::string_view value = line.substr(colon + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    if (name == "transfer-encoding") give_up("stint test: a reply in chunks");
    if (name == "content-length" || name == "connection") continue;
    reply.headers.emplace_back(std::move(name), value);
  }
  return reply;
}

Headers without_checksum(Headers headers) {
  std::erase_if(headers, [](const auto& header) { return header.first == "x-amz-crc32"; });
  return headers;
}

using Answer = std::function<Step(const ServerReply&)>;

Answer always(Step step) {
  return [step = std::move(step)](const ServerReply&) { return step; };
}

Answer error(int status, const std::string& code, const std::string& words = "as planned") {
  return always(Step::reply(status,
                            R"({"__type":"com.amazonaws.dynamodb.v20120810#)" + code +
                                R"(","message":")" + words + R"("})",
                            {{"content-type", "application/x-amz-json-1.0"}}));
}

Answer page(int status, Headers headers = {{"content-type", "text/html"}}) {
  return always(Step::reply(status, "<html><body><h1>Sorry</h1></body></html>", headers));
}

/// A refused signature, and a date so far from ours.
Step skewed(int minutes) {
  const std::time_t then = std::time(nullptr) + minutes * 60;
  std::tm parts{};
  ::gmtime_r(&then, &parts);
  char date[64];
  std::strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return Step::reply(400,
                     R"({"__type":"com.amazon.coral.service#InvalidSignatureException",)"
                     R"("message":"Signature expired: it is now earlier"})",
                     {{"date", date}});
}

Step half_of(const ServerReply& reply) {
  return Step::reply(reply.status, reply.body.substr(0, reply.body.size() / 2),
                     without_checksum(reply.headers));
}

Step broken_off(const ServerReply& reply) { return Step::truncated(reply.body, 20); }

Step with_wrong_checksum(const ServerReply& reply) {
  Headers headers = without_checksum(reply.headers);
  headers.emplace_back("x-amz-crc32", "12345");
  return Step::reply(reply.status, reply.body, headers);
}

std::string nested(int levels) {
  std::string text;
  for (int i = 0; i < levels; ++i) text += R"({"Attributes":)";
  text += "{}";
  return text.append(static_cast<std::size_t>(levels), '}');
}

}  // namespace

std::vector<WireFault> wire_faults() {
  using enum ErrorCode;
  const Answer as_it_is = [](const ServerReply& reply) { return reply.step(); };
  const std::string other_json =
      R"({"Attributes":5,"Item":5,"Responses":5,"Items":5,"ConsumedCapacity":5})";
  std::vector<WireFault> faults = {
      {"request lost", 0, always(Step::close()), {}, kOutcomeUnknown},
      {"request reset", 0, always(Step::reset()), {}, kOutcomeUnknown},
      {"reply lost", 1, always(Step::close()), {}, kOutcomeUnknown},
      {"reply reset", 1, always(Step::reset()), {}, kOutcomeUnknown},
      {"reply broken off", 1, broken_off, {}, kOutcomeUnknown},
      {"delivered twice", 2, as_it_is, {}, {}},
      {"no answer", 0, always(Step::never()), {}, kOutcomeUnknown, true},
      {"no answer after the write", 1, always(Step::never()), {}, kOutcomeUnknown, true},
      {"no HTTP", 1, always(Step::bytes("SSH-2.0-OpenSSH\r\n").then_close()), {}, kOutcomeUnknown},
      {"garbage", 1, always(Step::reply(200, "\x01\x02 not json")), {}, kOutcomeUnknown},
      {"half a JSON", 1, half_of, {}, kOutcomeUnknown},
      {"another JSON", 1, always(Step::reply(200, other_json)), {}, kOutcomeUnknown},
      {"JSON of another service",
       1,
       always(Step::reply(200, "{}", {{"content-type", "application/json"}})),
       {},
       kOutcomeUnknown},
      {"deep JSON", 1, always(Step::reply(200, nested(5000))), {}, kOutcomeUnknown},
      {"wrong checksum", 1, with_wrong_checksum, {}, kOutcomeUnknown},
      {"page as success", 0, page(200), {}, kOutcomeUnknown},
      {"page as failure", 1, page(502), {}, kOutcomeUnknown},
      {"page as refusal", 0, page(403), kUnavailable, kUnavailable},
      {"redirect", 0, page(302, {{"location", "http://127.0.0.1:9/"}}), kUnavailable, kUnavailable},
      {"throttled table", 0, error(400, "ProvisionedThroughputExceededException"), {}, kThrottled},
      {"throttled account", 0, error(400, "ThrottlingException"), {}, kThrottled},
      {"busy", 0, error(503, "ServiceUnavailableException"), {}, kUnavailable},
      {"server fault", 0, error(500, "InternalServerError"), {}, kOutcomeUnknown},
      {"server fault after the write", 1, error(500, "InternalServerError"), {}, kOutcomeUnknown},
      {"conflict", 0, error(400, "TransactionConflictException"), {}, kConflict},
      {"no table", 0, error(400, "ResourceNotFoundException"), kNotFound, kNotFound},
      {"expired token", 0, error(400, "ExpiredTokenException"), kAccessDenied, kAccessDenied},
      {"access denied", 0, error(400, "AccessDeniedException"), kAccessDenied, kAccessDenied},
      {"skewed clock", 0, [](const ServerReply&) { return skewed(20); }, {}, kAccessDenied},
  };
  return faults;
}

WireFault wire_fault(const std::string& name) {
  for (WireFault& fault : wire_faults()) {
    if (fault.name == name) return std::move(fault);
  }
  std::fprintf(stderr, "stint test: no fault \"%s\"\n", name.c_str());
  std::abort();
}

FaultyProxy::FaultyProxy()
    : server_([this](const ServedRequest& request) { return serve(request); }) {}

FaultyProxy::~FaultyProxy() {
  std::lock_guard lock(mutex_);
  ending_ = true;
  changed_.notify_all();
}

DynamoDbOptions FaultyProxy::options(const std::string& table) const {
  DynamoDbOptions options = server_options(table);
  options.endpoint = server_.url();
  return options;
}

void FaultyProxy::plan(const WireFault& fault, int position, bool onwards) {
  std::lock_guard lock(mutex_);
  plan_ = Plan{fault, position, onwards ? 1'000'000 : position};
  struck_ = false;
}

void FaultyProxy::plan_times(const WireFault& fault, int times) {
  std::lock_guard lock(mutex_);
  plan_ = Plan{fault, 1, times};
  struck_ = false;
}

void FaultyProxy::heal() {
  std::lock_guard lock(mutex_);
  plan_.reset();
}

bool FaultyProxy::struck() const {
  std::lock_guard lock(mutex_);
  return struck_;
}

void FaultyProxy::delay(int position, bool with_its_reply) {
  std::lock_guard lock(mutex_);
  delay_in_ = position;
  delays_reply_ = with_its_reply;
  waiting_given_up_ = false;
}

bool FaultyProxy::wait_for_delayed() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return delayed_ == Delayed::kWaiting || waiting_given_up_; });
  return delayed_ == Delayed::kWaiting;
}

void FaultyProxy::give_up_waiting() {
  std::lock_guard lock(mutex_);
  waiting_given_up_ = true;
  changed_.notify_all();
}

void FaultyProxy::release() {
  std::unique_lock lock(mutex_);
  delay_in_ = 0;
  if (delayed_ == Delayed::kNo) return;
  delayed_ = Delayed::kReleased;
  changed_.notify_all();
  changed_.wait(lock, [&] { return delayed_ == Delayed::kNo; });
}

void FaultyProxy::wait_until_idle() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return serving_ == 0; });
}

void FaultyProxy::close_after_replies(bool on) {
  std::lock_guard lock(mutex_);
  close_after_ = on;
}

std::vector<std::string> FaultyProxy::operations() const {
  std::lock_guard lock(mutex_);
  return operations_;
}

std::size_t FaultyProxy::forwarded() const {
  std::lock_guard lock(mutex_);
  return forwarded_;
}

void FaultyProxy::forget() {
  std::lock_guard lock(mutex_);
  operations_.clear();
  forwarded_ = 0;
}

void FaultyProxy::hold(std::unique_lock<std::mutex>& lock) {
  delayed_ = Delayed::kWaiting;
  changed_.notify_all();
  changed_.wait(lock, [&] { return delayed_ == Delayed::kReleased || ending_; });
}

Step FaultyProxy::serve(const ServedRequest& request) {
  const std::string_view target = request.header("x-amz-target");
  std::unique_lock lock(mutex_);
  ++serving_;
  operations_.emplace_back(target.substr(target.find('.') + 1));
  const bool close_after = close_after_;
  std::optional<WireFault> fault;
  if (plan_) {
    const int number = ++plan_->seen;
    if (number >= plan_->from && number <= plan_->until) {
      fault = plan_->fault;
      struck_ = true;
    }
  }
  const bool delayed = delay_in_ > 0 && --delay_in_ == 0;
  const bool delays_reply = delays_reply_;
  if (delayed && !delays_reply) hold(lock);

  ServerReply reply;
  const int deliveries = fault ? fault->deliveries : 1;
  forwarded_ += static_cast<std::size_t>(deliveries);
  lock.unlock();
  for (int i = 0; i < deliveries; ++i) reply = forward(request);
  lock.lock();

  if (delayed && delays_reply) hold(lock);
  if (delayed) delayed_ = Delayed::kNo;
  --serving_;
  changed_.notify_all();
  Step step = fault ? fault->answer(reply) : reply.step();
  return close_after ? std::move(step).then_close() : step;
}

ServerReply FaultyProxy::forward(const ServedRequest& request) {
  std::string text = request.method + " " + request.target + " HTTP/1.1\r\n";
  for (const auto& [name, value] : request.headers) {
    if (name == "connection" || name == "content-length") continue;
    text += name + ": " + value + "\r\n";
  }
  text += "content-length: " + std::to_string(request.body.size()) +
          "\r\nconnection: close\r\n\r\n" + request.body;
  return parsed(Exchange(Dynoxide::shared().port()).run(text));
}

}  // namespace stint::test
