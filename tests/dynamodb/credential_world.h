// Surroundings that a test makes: variables, a home directory, a clock, servers.
#ifndef STINT_TESTS_DYNAMODB_CREDENTIAL_WORLD_H_
#define STINT_TESTS_DYNAMODB_CREDENTIAL_WORLD_H_

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "stint/result.h"
#include "stint/time.h"
#include "store/dynamodb/credentials.h"
#include "tests/dynamodb/fake_http.h"
#include "tests/support/temp_directory.h"

namespace stint::test {

/// What credentials are fetched from. Thread-safe.
class CredentialWorld {
 public:
  using Credentials = store::dynamodb::Credentials;
  using CredentialsPtr = store::dynamodb::CredentialsPtr;
  using CredentialProvider = store::dynamodb::CredentialProvider;

  /// 2026-12-01T12:00:00Z
  static constexpr TimePoint kNow = TimePoint(Millis(1'796'126'400'000));

  CredentialWorld() { set("HOME", home()); }

  const std::string& home() const { return directory_.path(); }

  void set(const std::string& name, std::string value) {
    std::lock_guard lock(mutex_);
    variables_[name] = std::move(value);
  }
  /// Writes a file below the home directory and returns its path.
  std::string write(const std::string& name, const std::string& text) {
    std::filesystem::path path = std::filesystem::path(home()) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  void write_config(const std::string& text) { write(".aws/config", text); }
  void write_credentials(const std::string& text) { write(".aws/credentials", text); }

  TimePoint now() {
    std::lock_guard lock(mutex_);
    if (std::this_thread::get_id() != owner_) {
      ++reads_by_others_;
      read_.notify_all();
    }
    return now_;
  }
  /// How often threads other than the one that made this world have read its clock.
  int reads_by_others() const {
    std::lock_guard lock(mutex_);
    return reads_by_others_;
  }
  void wait_for_reads_by_others(int count) {
    std::unique_lock lock(mutex_);
    read_.wait(lock, [&] { return reads_by_others_ >= count; });
  }
  void advance(Millis by) {
    std::lock_guard lock(mutex_);
    now_ += by;
  }

  store::dynamodb::Surroundings surroundings() {
    store::dynamodb::Surroundings surroundings;
    surroundings.variable = [this](const std::string& name) {
      std::lock_guard lock(mutex_);
      auto found = variables_.find(name);
      return found == variables_.end() ? std::string() : found->second;
    };
    surroundings.now = [this] { return now(); };
    return surroundings;
  }

  /// Answers requests that no `serve` is for: nobody is there.
  void serve(FakeHttpClient::Handler handler) {
    std::lock_guard lock(mutex_);
    handler_ = std::move(handler);
  }
  const std::shared_ptr<FakeHttpClient>& http() const { return http_; }
  std::size_t requests() const { return http_->seen().size(); }

  std::shared_ptr<CredentialProvider> provider(store::dynamodb::CredentialOptions options = {}) {
    return store::dynamodb::standard_credentials(http_, std::move(options), surroundings());
  }
  /// One fetch by a provider of its own.
  Result<CredentialsPtr> fetch(store::dynamodb::CredentialOptions options = {}) {
    return get(*provider(std::move(options)));
  }
  /// Asks and waits.
  static Result<CredentialsPtr> get(CredentialProvider& provider) {
    std::promise<Result<CredentialsPtr>> promise;
    auto answer = promise.get_future();
    provider.get([&promise](Result<CredentialsPtr> result) { promise.set_value(result); });
    return answer.get();
  }
  /// The reason of a fetch that fails; "" with a failure of the test otherwise.
  std::string reason(store::dynamodb::CredentialOptions options = {}) {
    Result<CredentialsPtr> result = fetch(std::move(options));
    return result ? "" : result.error().reason();
  }

 private:
  TempDirectory directory_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> variables_;
  TimePoint now_ = kNow;
  const std::thread::id owner_ = std::this_thread::get_id();
  int reads_by_others_ = 0;
  std::condition_variable read_;
  FakeHttpClient::Handler handler_;
  // Last: its thread uses the others.
  std::shared_ptr<FakeHttpClient> http_ =
      std::make_shared<FakeHttpClient>([this](const store::dynamodb::HttpRequest& request) {
        FakeHttpClient::Handler handler;
        {
          std::lock_guard lock(mutex_);
          handler = handler_;
        }
        return handler ? handler(request) : no_reply("Connection refused");
      });
};

/// The value of a header of a request, or empty.
inline std::string header_of(const store::dynamodb::HttpRequest& request, std::string_view name) {
  for (const store::dynamodb::HttpHeader& header : request.headers) {
    if (header.name == name) return header.value;
  }
  return "";
}

/// What containers and the metadata service answer.
inline std::string key_document(const std::string& id, const std::string& expiration) {
  return "{\"Code\":\"Success\",\"AccessKeyId\":\"" + id + "\",\"SecretAccessKey\":\"secret-of-" +
         id + "\",\"Token\":\"token-of-" + id + "\",\"Expiration\":\"" + expiration + "\"}";
}

/// What the token service answers.
inline std::string role_answer(const std::string& action, const std::string& id,
                               const std::string& expiration) {
  return "<" + action + "Response xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><" + action +
         "Result><AssumedRoleUser><Arn>arn:aws:sts::123456789012:assumed-role/demo/x</Arn>"
         "</AssumedRoleUser><Credentials><AccessKeyId>" +
         id + "</AccessKeyId><SecretAccessKey>secret-of-" + id +
         "</SecretAccessKey><SessionToken>token-of-" + id + "</SessionToken><Expiration>" +
         expiration + "</Expiration></Credentials></" + action +
         "Result><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></" + action +
         "Response>";
}

}  // namespace stint::test

#endif  // STINT_TESTS_DYNAMODB_CREDENTIAL_WORLD_H_
