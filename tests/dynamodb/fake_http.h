// A client of HTTP whose server is a function.
#ifndef STINT_TESTS_DYNAMODB_FAKE_HTTP_H_
#define STINT_TESTS_DYNAMODB_FAKE_HTTP_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "store/dynamodb/http.h"

namespace stint::test {

/// Answers on a thread of its own, as the real client does.
class FakeHttpClient : public store::dynamodb::HttpClient {
 public:
  using HttpReply = store::dynamodb::HttpReply;
  using HttpRequest = store::dynamodb::HttpRequest;
  using Handler = std::function<HttpReply(const HttpRequest&)>;

  /// `handler` runs on the client's thread.
  explicit FakeHttpClient(Handler handler)
      : handler_(std::move(handler)), thread_([this] { run(); }) {}

  ~FakeHttpClient() override {
    {
      std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void send(HttpRequest request, Done done) override {
    std::lock_guard lock(mutex_);
    seen_.push_back(request);
    waiting_.push_back({std::move(request), std::move(done)});
    changed_.notify_all();
  }

  void call_at(store::dynamodb::Steady::time_point, std::function<void()> task) override {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }

  bool on_own_thread() const noexcept override {
    return thread_.get_id() == std::this_thread::get_id();
  }

  /// From now on requests are kept unanswered, until `release`.
  void hold() {
    std::lock_guard lock(mutex_);
    holding_ = true;
  }
  void release() {
    std::lock_guard lock(mutex_);
    holding_ = false;
    changed_.notify_all();
  }
  /// Waits until so many requests have come since the beginning.
  void wait_for_requests(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return seen_.size() >= count; });
  }
  std::vector<HttpRequest> seen() const {
    std::lock_guard lock(mutex_);
    return seen_;
  }

 private:
  struct Exchange {
    HttpRequest request;
    Done done;
  };

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return closing_ || (!holding_ && !waiting_.empty()); });
      if (waiting_.empty() && closing_) break;
      Exchange exchange = std::move(waiting_.front());
      waiting_.pop_front();
      bool closing = closing_;
      lock.unlock();
      HttpReply reply;
      if (closing) {
        reply.message = "closed";
      } else {
        reply = handler_(exchange.request);
      }
      exchange.done(std::move(reply));
      lock.lock();
    }
    lock.unlock();
    for (std::function<void()>& task : tasks_) task();
  }

  const Handler handler_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Exchange> waiting_;
  std::vector<HttpRequest> seen_;
  std::vector<std::function<void()>> tasks_;
  bool holding_ = false;
  bool closing_ = false;
  std::thread thread_;  // Last: it uses the others.
};

inline store::dynamodb::HttpReply reply_of(int status, std::string body) {
  store::dynamodb::HttpReply reply;
  reply.end = store::dynamodb::HttpEnd::kReply;
  reply.status = status;
  reply.body = std::move(body);
  return reply;
}

inline store::dynamodb::HttpReply no_reply(std::string message) {
  store::dynamodb::HttpReply reply;
  reply.end = store::dynamodb::HttpEnd::kBroken;
  reply.message = std::move(message);
  return reply;
}

}  // namespace stint::test

#endif  // STINT_TESTS_DYNAMODB_FAKE_HTTP_H_
