#include <curl/curl.h>
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <charconv>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "store/dynamodb/curl_setup.h"
#include "store/dynamodb/http.h"
#include "store/dynamodb/own_thread.h"
#include "store/dynamodb/timer_heap.h"

namespace stint::store::dynamodb {
namespace {

// A request that had to wait for a connection is begun only with so much time left, or half of all
// it had: otherwise an overload would have every request sent just in time to be given up.
constexpr std::chrono::milliseconds kLeastTime{100};
// Handed over no longer ago: it did not wait.
constexpr std::chrono::milliseconds kUnqueued{2};

// Of all headers of one reply together; the service sends less than 1 KiB.
constexpr std::size_t kMaxHeaderBytes = 64 << 10;
// Memory that is set aside because a reply says how long it will be: it may lie.
constexpr std::size_t kMaxReservedBytes = 1 << 20;
constexpr int kEventsAtOnce = 128;
constexpr std::uint64_t kWakeEvent = ~std::uint64_t{0};

// What is handed to the client's thread.
struct Work : Timed {
  explicit Work(bool exchange) : is_exchange(exchange) {}
  virtual ~Work() = default;

  const bool is_exchange;  // otherwise a task
  Work* next = nullptr;
};

struct Task final : Work {
  Task() : Work(false) {}

  std::function<void()> run;
};

struct Slot;

struct Exchange final : Work {
  Exchange() : Work(true) {}

  HttpRequest request;
  HttpClient::Done done;
  HttpReply reply;
  Steady::time_point handed_over;
  Slot* slot = nullptr;                                    // while it is under way
  std::list<std::unique_ptr<Exchange>>::iterator waiting;  // otherwise, once it was looked at
};

class Loop;

// A handle of the library, used for one exchange after the other.
struct Slot {
  explicit Slot(Loop& owner) : loop(owner) {}
  ~Slot() {
    if (easy) curl_easy_cleanup(easy);
  }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  Loop& loop;
  CURL* easy = nullptr;
  std::unique_ptr<Exchange> exchange;  // empty: free
  // The library is about to put the request on the wire, or has done so.
  bool sent = false;
  std::size_t header_bytes = 0;
  const char* trouble = nullptr;  // why a callback ended the exchange
  std::array<char, CURL_ERROR_SIZE> error{};

  // What the library reads while it sends: lines with an end mark each, and the list of them.
  std::string lines;
  std::vector<std::size_t> starts;
  std::vector<curl_slist> list;

  // What the handle is set to, so that most exchanges set little.
  std::string url;
  std::string custom_method;  // empty: what the kind of request has by itself
  const std::string* proxy = nullptr;
};

// A file descriptor as the kernel watches it for us.
struct Watched {
  std::uint32_t wanted = 0;  // what the library waits for now
  std::uint32_t armed = 0;   // what the kernel was told
  // A connection: told when it is closed, so that its registration may outlive an exchange. Saves
  // two calls of the kernel for each.
  bool connection = false;
  // Tells a descriptor from an earlier one with the same number.
  std::uint32_t generation = 0;
};

// Everything that lives on the client's thread, and the way to it. Owned by the client and by the
// thread, because the client may die on that thread.
class Loop {
 public:
  Loop(const HttpOptions& options, Proxies proxies)
      : options_(options),
        max_slots_(std::max<std::size_t>(1, options.max_connections)),
        proxies_(std::move(proxies)) {}
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  Status set_up();

  /// Any thread.
  void hand_over(std::unique_ptr<Work> work);
  /// Any thread. The loop ends everything and returns.
  void stop();

  /// The client's thread.
  void run();
  /// The client's thread: all exchanges and tasks end now.
  void end_all();

  // For the library's callbacks.
  void watch(int fd, int what);
  int open_socket(int family, int type, int protocol);
  void close_socket(int fd);
  void set_curl_timer(long after_ms);

 private:
  static Work* closed_mark();
  static void end_unsent(std::unique_ptr<Work> work);
  /// False where something has been handed over meanwhile.
  bool close_inbox();
  Work* take_inbox();
  void sort_in(Work* first);
  void run_due(Steady::time_point now);
  bool may_start() const;
  void start_waiting();
  void begin(std::unique_ptr<Exchange> exchange);
  void finish(Slot& slot, CURLcode code);
  void finish_done();
  void expire(Exchange& exchange);
  void sleep();
  void dispatch(const epoll_event& event);

  bool prepare(Slot& slot);
  Slot* free_slot();
  std::unique_ptr<Exchange> release(Slot& slot);
  static void answer(std::unique_ptr<Exchange> exchange, HttpEnd end, std::string message);
  Watched& watched(int fd);
  void wake();

  const HttpOptions options_;
  const std::size_t max_slots_;
  const Proxies proxies_;
  const std::string no_proxy_;

  // Last in, first out; put in order when it is taken as a whole.
  std::atomic<Work*> inbox_{nullptr};
  std::atomic<bool> asleep_{false};
  std::atomic<bool> stop_{false};
  int epoll_ = -1;
  int wake_ = -1;

  CURLM* multi_ = nullptr;
  bool ended_ = false;
  std::optional<Steady::time_point> curl_due_;
  TimerHeap timers_;  // of tasks, which it owns, and of exchanges under way or waiting
  std::list<std::unique_ptr<Exchange>> waiting_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> free_;
  std::vector<Watched> watched_;
  std::uint32_t generations_ = 0;
};

std::string os_error(const char* what) {
  return std::string(what) + ": " + std::system_category().message(errno);
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string_view trimmed(std::string_view text) {
  const std::string_view blanks = " \t\r\n";
  const std::size_t from = text.find_first_not_of(blanks);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(blanks) - from + 1);
}

// Callbacks of the library. None may throw; where memory ends, so does the process.

std::size_t on_header(char* data, std::size_t, std::size_t size, void* user) {
  Slot& slot = *static_cast<Slot*>(user);
  slot.header_bytes += size;
  if (slot.header_bytes > kMaxHeaderBytes) {
    slot.trouble = "the headers of the reply are longer than 64 KiB";
    return 0;
  }
  HttpReply& reply = slot.exchange->reply;
  const std::string_view line(data, size);
  // Another reply follows a provisional one.
  if (line.starts_with("HTTP/")) {
    reply.headers.clear();
    return size;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return size;
  HttpHeader& header = reply.headers.emplace_back();
  header.name = trimmed(line.substr(0, colon));
  std::transform(header.name.begin(), header.name.end(), header.name.begin(), lower);
  header.value = trimmed(line.substr(colon + 1));
  if (header.name == "content-length") {
    std::size_t bytes = 0;
    const char* end = header.value.data() + header.value.size();
    if (std::from_chars(header.value.data(), end, bytes).ec == std::errc()) {
      reply.body.reserve(
          std::min({bytes, slot.exchange->request.max_reply_bytes, kMaxReservedBytes}));
    }
  }
  return size;
}

std::size_t on_body(char* data, std::size_t, std::size_t size, void* user) {
  Slot& slot = *static_cast<Slot*>(user);
  std::string& body = slot.exchange->reply.body;
  if (size > slot.exchange->request.max_reply_bytes - body.size()) {
    slot.trouble = "the reply is longer than it may be";
    return 0;
  }
  body.append(data, size);
  return size;
}

// Called before a request goes over a connection, each time: the one place where the library can be
// kept from repeating it when a connection dies that had been in use before.
int on_request(void* user, char*, char*, int, int) {
  Slot& slot = *static_cast<Slot*>(user);
  if (slot.sent) return CURL_PREREQFUNC_ABORT;
  slot.sent = true;
  return CURL_PREREQFUNC_OK;
}

curl_socket_t on_open(void* user, curlsocktype, curl_sockaddr* address) {
  Slot& slot = *static_cast<Slot*>(user);
  // Could serve a repetition only.
  if (slot.sent) return CURL_SOCKET_BAD;
  return slot.loop.open_socket(address->family, address->socktype, address->protocol);
}

int on_close(void* user, curl_socket_t fd) {
  static_cast<Loop*>(user)->close_socket(fd);
  return 0;
}

int on_watch(CURL*, curl_socket_t fd, int what, void* user, void*) {
  static_cast<Loop*>(user)->watch(fd, what);
  return 0;
}

int on_timer(CURLM*, long after_ms, void* user) {
  static_cast<Loop*>(user)->set_curl_timer(after_ms);
  return 0;
}

// What the library says of a failure. Two of its texts quote a setting, which for a proxy may hold
// a password.
std::string failure_text(const Slot& slot, CURLcode code) {
  if (slot.trouble) return slot.trouble;
  std::string text;
  if (code == CURLE_COULDNT_RESOLVE_PROXY) {
    text = "the proxy that the environment names cannot be found or is misspelled";
  } else if (code == CURLE_URL_MALFORMAT || slot.error[0] == '\0') {
    text = curl_easy_strerror(code);
  } else {
    text = slot.error.data();
  }
  // Replies may be quoted, too.
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  }
  return text;
}

template <typename Value>
bool set(CURL* easy, CURLoption option, Value value) {
  return curl_easy_setopt(easy, option, value) == CURLE_OK;
}

bool has_header(const HttpRequest& request, const char* name) {
  return std::any_of(
      request.headers.begin(), request.headers.end(),
      [name](const HttpHeader& header) { return curl_strequal(header.name.c_str(), name) != 0; });
}

// A line break would smuggle in another header. Returns false for one.
bool write_headers(Slot& slot, const HttpRequest& request) {
  slot.lines.clear();
  slot.starts.clear();
  auto begin_line = [&slot](std::string_view text) {
    slot.starts.push_back(slot.lines.size());
    slot.lines += text;
  };
  for (const HttpHeader& header : request.headers) {
    if (header.name.empty()) return false;
    begin_line(header.name);
    // The library leaves out a header that ends with its colon.
    slot.lines += header.value.empty() ? ";" : ": ";
    slot.lines += header.value;
    slot.lines += '\0';
  }
  // One search for each: a search for either takes twenty times as long.
  if (slot.lines.find('\r') != std::string::npos || slot.lines.find('\n') != std::string::npos) {
    return false;
  }
  if (std::count(slot.lines.begin(), slot.lines.end(), '\0') !=
      static_cast<std::ptrdiff_t>(request.headers.size())) {
    return false;
  }
  // Those that the library adds by itself. The second would let it wait before it sends a body.
  for (const char* added : {"Accept", "Expect", "Content-Type"}) {
    if (has_header(request, added)) continue;
    begin_line(added);
    slot.lines += ':';
    slot.lines += '\0';
  }
  slot.list.resize(slot.starts.size());
  for (std::size_t i = 0; i < slot.list.size(); ++i) {
    slot.list[i].data = slot.lines.data() + slot.starts[i];
    slot.list[i].next = i + 1 < slot.list.size() ? &slot.list[i + 1] : nullptr;
  }
  return true;
}

Loop::~Loop() {
  assert(!multi_ || ended_ || slots_.empty());
  if (multi_) curl_multi_cleanup(multi_);
  if (epoll_ >= 0) ::close(epoll_);
  if (wake_ >= 0) ::close(wake_);
}

Status Loop::set_up() {
  auto failed = [](std::string why) {
    return Error(ErrorCode::kUnavailable, "the HTTP client cannot be set up: " + std::move(why));
  };
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_ < 0) return failed(os_error("epoll_create1"));
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_ < 0) return failed(os_error("eventfd"));
  epoll_event event{};
  // By edges: the counter need not be read.
  event.events = EPOLLIN | EPOLLET;
  event.data.u64 = kWakeEvent;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event) != 0) return failed(os_error("epoll_ctl"));

  multi_ = curl_multi_init();
  if (!multi_) return failed("out of memory");
  const long kept = static_cast<long>(max_slots_);
  const bool done =
      curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, on_watch) == CURLM_OK &&
      curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this) == CURLM_OK &&
      curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, on_timer) == CURLM_OK &&
      curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this) == CURLM_OK &&
      curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kept) == CURLM_OK &&
      curl_multi_setopt(multi_, CURLMOPT_PIPELINING, long{CURLPIPE_NOTHING}) == CURLM_OK;
  if (!done) return failed("libcurl refuses an option");
  return {};
}

// Each side writes its own mark before it reads the other's: either the thread sees the work before
// it sleeps, or the giver sees that it sleeps.
void Loop::hand_over(std::unique_ptr<Work> work) {
  Work* last = inbox_.load();
  do {
    if (last == closed_mark()) return end_unsent(std::move(work));
    work->next = last;
  } while (!inbox_.compare_exchange_weak(last, work.get()));
  work.release();
  if (asleep_.load() && asleep_.exchange(false)) wake();
}

// In the place of what was handed over last.
Work* Loop::closed_mark() {
  static Task mark;
  return &mark;
}

void Loop::end_unsent(std::unique_ptr<Work> work) {
  if (!work->is_exchange) return static_cast<Task&>(*work).run();
  answer(std::unique_ptr<Exchange>(static_cast<Exchange*>(work.release())), HttpEnd::kNotSent,
         kShutDown);
}

bool Loop::close_inbox() {
  Work* nothing = nullptr;
  return inbox_.compare_exchange_strong(nothing, closed_mark());
}

void Loop::stop() {
  stop_.store(true);
  if (asleep_.exchange(false)) wake();
}

void Loop::wake() {
  const std::uint64_t one = 1;
  // Fails only when the counter is at its end: then the thread has been woken often enough.
  [[maybe_unused]] ssize_t written = ::write(wake_, &one, sizeof one);
}

Work* Loop::take_inbox() {
  Work* last = inbox_.exchange(nullptr);
  Work* first = nullptr;
  while (last) {
    Work* before = last->next;
    last->next = first;
    first = last;
    last = before;
  }
  return first;
}

void Loop::sort_in(Work* first) {
  if (!first) return;
  const Steady::time_point now = Steady::now();
  while (first) {
    std::unique_ptr<Work> work(first);
    first = std::exchange(work->next, nullptr);
    if (!work->is_exchange) {
      timers_.add(*work.release());
      continue;
    }
    std::unique_ptr<Exchange> exchange(static_cast<Exchange*>(work.release()));
    timers_.add(*exchange);
    Exchange& added = *exchange;
    added.handed_over = now;
    waiting_.push_back(std::move(exchange));
    added.waiting = std::prev(waiting_.end());
  }
}

void Loop::run() {
  while (!ended_) {
    if (stop_.load()) return end_all();
    sort_in(take_inbox());
    const Steady::time_point now = Steady::now();
    run_due(now);
    if (ended_) return;
    start_waiting();
    if (ended_) return;
    if (curl_due_ && *curl_due_ <= now) {
      curl_due_.reset();
      int running = 0;
      curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
      finish_done();
      if (ended_) return;
    }
    sleep();
  }
}

void Loop::run_due(Steady::time_point now) {
  while (!ended_ && !timers_.empty() && timers_.first().at <= now) {
    Work& due = static_cast<Work&>(timers_.first());
    timers_.remove(due);
    if (due.is_exchange) {
      expire(static_cast<Exchange&>(due));
      continue;
    }
    std::unique_ptr<Task> task(static_cast<Task*>(&due));
    task->run();
  }
}

void Loop::expire(Exchange& exchange) {
  if (!exchange.slot) {
    std::unique_ptr<Exchange> owned = std::move(*exchange.waiting);
    waiting_.erase(exchange.waiting);
    return answer(std::move(owned), HttpEnd::kNotSent,
                  free_.empty() ? "all connections were in use until the deadline"
                                : "the deadline had passed before anything was sent");
  }
  Slot& slot = *exchange.slot;
  const bool sent = slot.sent;
  answer(release(slot), sent ? HttpEnd::kBroken : HttpEnd::kNotSent,
         sent ? "no whole reply came before the deadline"
              : "no connection was made before the deadline");
}

bool Loop::may_start() const {
  return !waiting_.empty() && (!free_.empty() || slots_.size() < max_slots_);
}

void Loop::start_waiting() {
  while (!ended_ && may_start()) {
    std::unique_ptr<Exchange> exchange = std::move(waiting_.front());
    waiting_.pop_front();
    begin(std::move(exchange));
  }
}

Slot* Loop::free_slot() {
  if (!free_.empty()) {
    Slot* slot = free_.back();
    free_.pop_back();
    return slot;
  }
  auto slot = std::make_unique<Slot>(*this);
  slot->easy = curl_easy_init();
  CURL* easy = slot->easy;
  if (!easy) return nullptr;
  Slot* user = slot.get();
  const long connect_ms = std::max<long>(1, static_cast<long>(options_.connect_timeout.count()));
  bool done =
      set(easy, CURLOPT_PRIVATE, user) && set(easy, CURLOPT_NOSIGNAL, 1L) &&
      set(easy, CURLOPT_PROTOCOLS_STR, "http,https") &&
      set(easy, CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1}) &&
      set(easy, CURLOPT_FOLLOWLOCATION, 0L) && set(easy, CURLOPT_CONNECTTIMEOUT_MS, connect_ms) &&
      set(easy, CURLOPT_MAXAGE_CONN, static_cast<long>(options_.max_idle.count())) &&
      set(easy, CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2}) &&
      set(easy, CURLOPT_SSL_VERIFYPEER, 1L) && set(easy, CURLOPT_SSL_VERIFYHOST, 2L) &&
      set(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L) &&
      set(easy, CURLOPT_NOPROXY, proxies_.exceptions.c_str()) &&
      set(easy, CURLOPT_ERRORBUFFER, slot->error.data()) &&
      set(easy, CURLOPT_HEADERFUNCTION, on_header) && set(easy, CURLOPT_HEADERDATA, user) &&
      set(easy, CURLOPT_WRITEFUNCTION, on_body) && set(easy, CURLOPT_WRITEDATA, user) &&
      set(easy, CURLOPT_PREREQFUNCTION, on_request) && set(easy, CURLOPT_PREREQDATA, user) &&
      set(easy, CURLOPT_OPENSOCKETFUNCTION, on_open) && set(easy, CURLOPT_OPENSOCKETDATA, user) &&
      set(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close) &&
      set(easy, CURLOPT_CLOSESOCKETDATA, this) &&
      // An exchange that ends while its host is looked up must not wait for the answer.
      set(easy, CURLOPT_QUICK_EXIT, 1L);
  if (done && !options_.ca_file.empty()) {
    done = set(easy, CURLOPT_CAINFO, options_.ca_file.c_str()) &&
           set(easy, CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  }
  if (!done) return nullptr;
  slots_.push_back(std::move(slot));
  return user;
}

bool Loop::prepare(Slot& slot) {
  const HttpRequest& request = slot.exchange->request;
  CURL* easy = slot.easy;
  slot.sent = false;
  slot.header_bytes = 0;
  slot.trouble = nullptr;
  slot.error[0] = '\0';
  if (!write_headers(slot, request)) {
    slot.trouble = "a header of the request has no name or holds a line break";
    return false;
  }
  slot.trouble = "libcurl refuses an option of the request";
  if (!set(easy, CURLOPT_HTTPHEADER, slot.list.data())) return false;
  if (slot.url != request.url) {
    if (!set(easy, CURLOPT_URL, request.url.c_str())) return false;
    slot.url = request.url;
  }
  const std::string* proxy = request.may_use_proxy ? &proxies_.of(request.url) : &no_proxy_;
  if (slot.proxy != proxy) {
    // The empty text: none, and the environment is not asked either.
    if (!set(easy, CURLOPT_PROXY, proxy->c_str())) return false;
    slot.proxy = proxy;
  }
  const bool plain_get = request.method == "GET" && request.body.empty();
  if (!plain_get) {
    if (!set(easy, CURLOPT_POSTFIELDS, request.body.data()) ||
        !set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()))) {
      return false;
    }
  }
  const std::string_view custom =
      plain_get || request.method == "POST" ? std::string_view() : request.method;
  if (slot.custom_method != custom) {
    if (!set(easy, CURLOPT_CUSTOMREQUEST, custom.empty() ? nullptr : request.method.c_str())) {
      return false;
    }
    slot.custom_method = custom;
  }
  if (!(plain_get ? set(easy, CURLOPT_HTTPGET, 1L) : set(easy, CURLOPT_POST, 1L))) return false;
  slot.trouble = nullptr;
  return true;
}

void Loop::begin(std::unique_ptr<Exchange> exchange) {
  const Steady::time_point now = Steady::now();
  const Steady::duration left = exchange->at - now;
  const Steady::duration whole = exchange->at - exchange->handed_over;
  const bool queued = now - exchange->handed_over > kUnqueued;
  if (queued && left < std::min<Steady::duration>(kLeastTime, whole / 2)) {
    timers_.remove(*exchange);
    return answer(std::move(exchange), HttpEnd::kNotSent,
                  "all connections were in use until too near the deadline");
  }
  const std::chrono::milliseconds bound = exchange->request.exchange_time;
  if (bound.count() > 0 && bound < left) {
    timers_.remove(*exchange);
    exchange->at = now + bound;
    timers_.add(*exchange);
  }
  Slot* slot = free_slot();
  if (!slot) {
    timers_.remove(*exchange);
    return answer(std::move(exchange), HttpEnd::kNotSent, "libcurl makes no further handle");
  }
  exchange->slot = slot;
  slot->exchange = std::move(exchange);
  if (prepare(*slot) && curl_multi_add_handle(multi_, slot->easy) == CURLM_OK) return;
  std::string why = slot->trouble ? slot->trouble : "libcurl takes no further exchange";
  std::unique_ptr<Exchange> refused = std::move(slot->exchange);
  free_.push_back(slot);
  timers_.remove(*refused);
  answer(std::move(refused), HttpEnd::kNotSent, std::move(why));
}

void Loop::finish_done() {
  int left = 0;
  while (!ended_) {
    CURLMsg* message = curl_multi_info_read(multi_, &left);
    if (!message) return;
    if (message->msg != CURLMSG_DONE) continue;
    char* user = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &user);
    const CURLcode code = message->data.result;
    finish(*reinterpret_cast<Slot*>(user), code);
  }
}

void Loop::finish(Slot& slot, CURLcode code) {
  long status = 0;
  curl_easy_getinfo(slot.easy, CURLINFO_RESPONSE_CODE, &status);
  if (code == CURLE_OK && slot.sent && status != 0) {
    slot.exchange->reply.status = static_cast<int>(status);
    return answer(release(slot), HttpEnd::kReply, {});
  }
  const bool sent = slot.sent;
  std::string why;
  if (code == CURLE_OK) {
    why = "no reply of the kind that HTTP has";
  } else if (sent && (code == CURLE_ABORTED_BY_CALLBACK || code == CURLE_COULDNT_CONNECT)) {
    // What the library says then is about the repetition that it was denied.
    why = "the connection was closed before any reply came";
  } else {
    why = failure_text(slot, code);
  }
  answer(release(slot), sent ? HttpEnd::kBroken : HttpEnd::kNotSent, std::move(why));
}

// Takes the exchange out of the library, closing its connection unless the reply is whole.
std::unique_ptr<Exchange> Loop::release(Slot& slot) {
  curl_multi_remove_handle(multi_, slot.easy);
  std::unique_ptr<Exchange> exchange = std::move(slot.exchange);
  exchange->slot = nullptr;
  timers_.remove(*exchange);
  free_.push_back(&slot);
  return exchange;
}

// Whatever is called may release the client, and with it end this loop: nothing but `ended_` may be
// looked at afterwards.
void Loop::answer(std::unique_ptr<Exchange> exchange, HttpEnd end, std::string message) {
  HttpReply reply = std::move(exchange->reply);
  HttpClient::Done done = std::move(exchange->done);
  exchange.reset();
  reply.end = end;
  if (end != HttpEnd::kReply) {
    reply.status = 0;
    reply.headers.clear();
    reply.body.clear();
    reply.message = std::move(message);
  }
  done(std::move(reply));
}

void Loop::sleep() {
  int timeout_ms = -1;
  if (may_start()) {
    // An exchange ended as soon as it was begun.
    timeout_ms = 0;
  } else if (!timers_.empty() || curl_due_) {
    Steady::time_point due = curl_due_.value_or(Steady::time_point::max());
    if (!timers_.empty()) due = std::min(due, timers_.first().at);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - Steady::now()).count();
    timeout_ms = static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
  }
  if (timeout_ms != 0) {
    asleep_.store(true);
    if (inbox_.load() != nullptr || stop_.load()) timeout_ms = 0;
  }
  std::array<epoll_event, kEventsAtOnce> events;
  const int count = epoll_wait(epoll_, events.data(), kEventsAtOnce, timeout_ms);
  asleep_.store(false);
  for (int i = 0; i < count && !ended_; ++i) {
    if (events[static_cast<std::size_t>(i)].data.u64 != kWakeEvent) {
      dispatch(events[static_cast<std::size_t>(i)]);
    }
  }
  if (!ended_) finish_done();
}

Watched& Loop::watched(int fd) {
  const auto place = static_cast<std::size_t>(fd);
  if (place >= watched_.size()) watched_.resize(place + 1);
  return watched_[place];
}

void Loop::dispatch(const epoll_event& event) {
  const int fd = static_cast<int>(event.data.u64 & 0xffffffffU);
  Watched& entry = watched(fd);
  if (entry.generation != static_cast<std::uint32_t>(event.data.u64 >> 32)) return;
  if (entry.wanted == 0) {
    // An idle connection that the other side closed: the library notices before it uses it again.
    if (entry.armed != 0) epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
    entry.armed = 0;
    return;
  }
  // Errors count as what was waited for: the library then meets the true one and can name it.
  const bool error = (event.events & (EPOLLERR | EPOLLHUP)) != 0;
  int mask = 0;
  if ((entry.wanted & EPOLLIN) != 0 && (error || (event.events & EPOLLIN) != 0)) {
    mask |= CURL_CSELECT_IN;
  }
  if ((entry.wanted & EPOLLOUT) != 0 && (error || (event.events & EPOLLOUT) != 0)) {
    mask |= CURL_CSELECT_OUT;
  }
  int running = 0;
  curl_multi_socket_action(multi_, fd, mask, &running);
}

void Loop::watch(int fd, int what) {
  Watched& entry = watched(fd);
  entry.wanted = 0;
  if (what == CURL_POLL_IN || what == CURL_POLL_INOUT) entry.wanted |= EPOLLIN;
  if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT) entry.wanted |= EPOLLOUT;
  if (entry.wanted == entry.armed) return;
  if (entry.wanted == 0) {
    if (entry.connection) return;
    epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
    entry.armed = 0;
    return;
  }
  epoll_event event{};
  event.events = entry.wanted;
  event.data.u64 = (std::uint64_t{entry.generation} << 32) | static_cast<std::uint32_t>(fd);
  const int change = entry.armed == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  // Where the kernel refuses, the exchange ends at its deadline.
  entry.armed = epoll_ctl(epoll_, change, fd, &event) == 0 ? entry.wanted : 0;
}

int Loop::open_socket(int family, int type, int protocol) {
  const int fd = ::socket(family, type | SOCK_CLOEXEC, protocol);
  if (fd < 0) return CURL_SOCKET_BAD;
  Watched& entry = watched(fd);
  entry = Watched();
  entry.connection = true;
  entry.generation = ++generations_;
  return fd;
}

void Loop::close_socket(int fd) {
  watched(fd) = Watched();
  ::close(fd);
}

void Loop::set_curl_timer(long after_ms) {
  if (after_ms < 0) return curl_due_.reset();
  // At once means in this turn, whose clock was read before.
  curl_due_ =
      after_ms == 0 ? Steady::time_point() : Steady::now() + std::chrono::milliseconds(after_ms);
}

void Loop::end_all() {
  ended_ = true;
  struct Left {
    std::unique_ptr<Exchange> exchange;
    bool sent;
  };
  std::vector<Left> left;
  for (const std::unique_ptr<Slot>& slot : slots_) {
    if (!slot->exchange) continue;
    const bool sent = slot->sent;
    left.push_back(Left{release(*slot), sent});
  }
  free_.clear();
  slots_.clear();
  curl_multi_cleanup(std::exchange(multi_, nullptr));

  // Functions that are called may hand over more.
  do {
    sort_in(take_inbox());
    while (!waiting_.empty()) {
      timers_.remove(*waiting_.front());
      left.push_back(Left{std::move(waiting_.front()), false});
      waiting_.pop_front();
    }
    for (Left& each : left) {
      answer(std::move(each.exchange), each.sent ? HttpEnd::kBroken : HttpEnd::kNotSent, kShutDown);
    }
    left.clear();
    while (!timers_.empty()) {
      std::unique_ptr<Task> task(static_cast<Task*>(&timers_.first()));
      timers_.remove(*task);
      task->run();
    }
  } while (!close_inbox());
}

class CurlClient final : public HttpClient {
 public:
  CurlClient(std::shared_ptr<Loop> loop, std::thread thread)
      : loop_(std::move(loop)), own_id_(thread.get_id()), thread_(std::move(thread)) {}

  ~CurlClient() override { close(); }

  void close() override {
    std::thread thread;
    {
      std::lock_guard lock(mutex_);
      thread.swap(thread_);
    }
    if (!thread.joinable()) return;
    if (!on_own_thread()) {
      loop_->stop();
      thread.join();
      return;
    }
    // Called by a function that the loop called: it returns as soon as that does.
    loop_->end_all();
    thread.detach();
  }

  void send(HttpRequest request, Done done) override {
    auto exchange = std::make_unique<Exchange>();
    exchange->at = request.deadline;
    exchange->request = std::move(request);
    exchange->done = std::move(done);
    loop_->hand_over(std::move(exchange));
  }

  void call_at(Steady::time_point at, std::function<void()> task) override {
    auto added = std::make_unique<Task>();
    added->at = at;
    added->run = std::move(task);
    loop_->hand_over(std::move(added));
  }

  bool on_own_thread() const noexcept override { return own_id_ == std::this_thread::get_id(); }

 private:
  const std::shared_ptr<Loop> loop_;
  const std::thread::id own_id_;
  std::mutex mutex_;  // guards the thread
  std::thread thread_;
};

}  // namespace

Result<std::shared_ptr<HttpClient>> make_http_client(const HttpOptions& options) {
  Status curl = set_up_curl();
  if (!curl) return curl.error();
  auto loop = std::make_shared<Loop>(options, proxies_of_environment());
  Status ready = loop->set_up();
  if (!ready) return ready.error();
  try {
    std::thread thread = start_own_thread("stint-http", [loop] { loop->run(); });
    return std::shared_ptr<HttpClient>(
        std::make_shared<CurlClient>(std::move(loop), std::move(thread)));
  } catch (const std::system_error& error) {
    return Error(ErrorCode::kUnavailable,
                 std::string("the HTTP client's thread cannot be started: ") + error.what());
  }
}

}  // namespace stint::store::dynamodb
