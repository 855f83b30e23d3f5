// Keeps credentials fresh.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "store/dynamodb/credentials.h"
#include "store/dynamodb/credentials/fetch.h"
#include "store/dynamodb/credentials/interruption.h"
#include "store/dynamodb/credentials/sources.h"
#include "store/dynamodb/own_thread.h"

namespace stint::store::dynamodb {
namespace {

// Credentials are fetched anew in the last ten minutes, or in the last quarter of their life if
// that is shorter.
constexpr Millis kRefreshAhead = std::chrono::minutes(10);
constexpr int kRefreshShare = 4;
constexpr Millis kFirstPause = std::chrono::seconds(1);
constexpr Millis kLongestPause = std::chrono::seconds(30);

/// A pause that doubles each time, by a clock that may be set.
class Backoff {
 public:
  void begin(TimePoint now) {
    pause_ = pause_ == Millis(0) ? kFirstPause : std::min(2 * pause_, kLongestPause);
    begun_ = now;
  }
  void reset() { pause_ = Millis(0); }
  /// A clock that was put back ends the pause: it must not become one of hours.
  bool is_on(TimePoint now) const { return now >= begun_ && now < begun_ + pause_; }

 private:
  Millis pause_{0};
  TimePoint begun_;
};

/// Keys that never change.
class FixedProvider : public CredentialProvider {
 public:
  explicit FixedProvider(Credentials credentials) {
    if (credentials.source.empty()) credentials.source = "given by the program";
    TimePoint never_expires;
    credentials.expires_at.reset();
    if (credentials.access_key_id.empty() || credentials.secret_access_key.empty()) {
      trouble_ = Error(ErrorCode::kAccessDenied,
                       "no credentials: the keys given by the program are incomplete");
    } else if (Status usable = check_credentials(credentials, never_expires); !usable) {
      trouble_ = Error(ErrorCode::kAccessDenied,
                       "no credentials: the program gave " + usable.error().reason());
    }
    credentials_ = std::make_shared<const Credentials>(std::move(credentials));
  }

  void get(Done done) override {
    if (trouble_) return done(*trouble_);
    done(credentials_);
  }
  void refused(const CredentialsPtr&) override {}

 private:
  CredentialsPtr credentials_;
  std::optional<Error> trouble_;
};

Error being_closed() {
  return Error(ErrorCode::kUnavailable, "no credentials: this client is being closed");
}

/// What the provider and its thread share.
class Refresher : public std::enable_shared_from_this<Refresher> {
 public:
  using Done = CredentialProvider::Done;

  Refresher(std::shared_ptr<HttpClient> http, CredentialOptions options, Surroundings surroundings)
      : http_(std::move(http)),
        options_(std::move(options)),
        surroundings_(std::move(surroundings)) {}

  void get(Done done) {
    TimePoint now = surroundings_.now();
    std::unique_lock lock(mutex_);
    CredentialsPtr at_hand = is_valid(now) ? current_ : nullptr;
    if (at_hand == nullptr && closing_) {
      lock.unlock();
      return done(being_closed());
    }
    bool wanted = at_hand == nullptr;
    if (at_hand != nullptr) {
      wanted = now >= refresh_from_ && !fetching_ && !closing_ && !backoff_.is_on(now);
    } else {
      waiters_.push_back(std::move(done));
    }
    std::optional<Error> trouble;
    std::vector<Done> stranded;
    if (wanted && !wake(lock)) {
      trouble = Error(ErrorCode::kUnavailable,
                      "no credentials: no thread could be started to fetch them");
      stranded.swap(waiters_);
    }
    lock.unlock();
    if (at_hand != nullptr) done(std::move(at_hand));
    for (Done& waiter : stranded) waiter(*trouble);
  }

  void refused(const CredentialsPtr& credentials) {
    TimePoint now = surroundings_.now();
    std::lock_guard lock(mutex_);
    if (current_ == nullptr || current_ != credentials || refusal_backoff_.is_on(now)) return;
    refused_ = std::move(current_);
    current_ = nullptr;
    // They are wanted at once, whatever became of earlier attempts.
    backoff_.reset();
  }

  bool on_own_thread() const noexcept { return own_thread_ == std::this_thread::get_id(); }

  /// Ends the thread, and answers whoever waits.
  void close() {
    std::thread thread;
    {
      std::lock_guard lock(mutex_);
      closing_ = true;
      thread.swap(thread_);
    }
    interruption_->set();
    wanted_.notify_all();
    if (!thread.joinable()) return;
    if (thread.get_id() == std::this_thread::get_id()) {
      // The last owner went in a function that this thread calls. It ends right after it, and owns
      // all that it still touches.
      thread.detach();
    } else {
      thread.join();
    }
  }

 private:
  bool is_valid(TimePoint now) const {
    return current_ != nullptr && (!current_->expires_at || now < *current_->expires_at);
  }

  /// Has the thread fetch, starting it the first time. False: it cannot be started.
  bool wake(const std::unique_lock<std::mutex>&) {
    fetching_ = true;
    if (!thread_.joinable() && !closing_) {
      try {
        thread_ = start_own_thread("stint-keys", [self = shared_from_this()] { self->run(); });
      } catch (const std::system_error&) {
        fetching_ = false;
        return false;
      }
    }
    wanted_.notify_one();
    return true;
  }

  void run() {
    own_thread_ = std::this_thread::get_id();
    std::unique_lock lock(mutex_);
    for (;;) {
      wanted_.wait(lock, [this] { return closing_ || fetching_; });
      std::vector<Done> waiters;
      Result<CredentialsPtr> answer = Error(ErrorCode::kUnavailable, "");
      if (closing_) {
        answer = being_closed();
      } else {
        answer = refresh(lock);
      }
      fetching_ = false;
      waiters.swap(waiters_);
      bool closing = closing_;
      lock.unlock();
      for (Done& waiter : waiters) waiter(answer);
      waiters.clear();
      if (closing) return;
      lock.lock();
    }
  }

  /// Fetches without the lock, unless the last attempt failed a moment ago. What it returns is for
  /// those who wait.
  Result<CredentialsPtr> refresh(std::unique_lock<std::mutex>& lock) {
    TimePoint begun = surroundings_.now();
    if (backoff_.is_on(begun) && trouble_) return *trouble_;
    lock.unlock();
    FetchContext cx{*http_, surroundings_, options_, interruption_, metadata_has_answered_};
    Result<Credentials> fetched = fetch_credentials(cx);
    TimePoint now = surroundings_.now();
    lock.lock();
    metadata_has_answered_ = cx.metadata_has_answered;
    if (!fetched) {
      backoff_.begin(now);
      trouble_ = fetched.error();
      // Who waits may still be served by credentials that only were to be renewed.
      if (is_valid(now)) return current_;
      return fetched.error();
    }
    backoff_.reset();
    trouble_.reset();
    // A source that goes on giving what the service refuses is not to be asked at every request.
    if (refused_ != nullptr && same_keys(*refused_, *fetched)) {
      refusal_backoff_.begin(now);
    } else {
      refusal_backoff_.reset();
      refused_ = nullptr;
    }
    current_ = std::make_shared<const Credentials>(std::move(*fetched));
    refresh_from_ = TimePoint::max();
    if (current_->expires_at) {
      Millis life = *current_->expires_at - now;
      refresh_from_ = *current_->expires_at - std::min(kRefreshAhead, life / kRefreshShare);
    }
    return current_;
  }

  const std::shared_ptr<HttpClient> http_;
  const CredentialOptions options_;
  const Surroundings surroundings_;
  const std::shared_ptr<Interruption> interruption_ = std::make_shared<Interruption>();

  std::atomic<std::thread::id> own_thread_{std::thread::id()};  ///< None before the first fetch.

  std::mutex mutex_;
  std::condition_variable wanted_;
  std::thread thread_;
  bool closing_ = false;
  bool fetching_ = false;  ///< Asked for, or under way.
  std::vector<Done> waiters_;
  CredentialsPtr current_;
  TimePoint refresh_from_ = TimePoint::max();
  bool metadata_has_answered_ = false;
  Backoff backoff_;               ///< After a fetch that failed.
  std::optional<Error> trouble_;  ///< Of that fetch.
  CredentialsPtr refused_;        ///< By the service, and not replaced by others since.
  Backoff refusal_backoff_;
};

class StandardProvider : public CredentialProvider {
 public:
  explicit StandardProvider(std::shared_ptr<Refresher> refresher)
      : refresher_(std::move(refresher)) {}
  ~StandardProvider() override { refresher_->close(); }

  void close() override { refresher_->close(); }

  void get(Done done) override { refresher_->get(std::move(done)); }
  void refused(const CredentialsPtr& credentials) override { refresher_->refused(credentials); }
  bool on_own_thread() const noexcept override { return refresher_->on_own_thread(); }

 private:
  const std::shared_ptr<Refresher> refresher_;
};

}  // namespace

Surroundings Surroundings::of_process() {
  Surroundings surroundings;
  surroundings.variable = [](const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return std::string(value == nullptr ? "" : value);
  };
  surroundings.now = [] {
    return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  };
  return surroundings;
}

std::shared_ptr<CredentialProvider> standard_credentials(std::shared_ptr<HttpClient> http,
                                                         CredentialOptions options,
                                                         Surroundings surroundings) {
  if (options.fixed) return std::make_shared<FixedProvider>(std::move(*options.fixed));
  return std::make_shared<StandardProvider>(
      std::make_shared<Refresher>(std::move(http), std::move(options), std::move(surroundings)));
}

}  // namespace stint::store::dynamodb
