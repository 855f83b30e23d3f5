// A limiter whose way to its table leads through a proxy that goes wrong on command, and others
// that go straight.
#ifndef STINT_TESTS_DYNAMODB_PROXIED_LIMITER_H_
#define STINT_TESTS_DYNAMODB_PROXIED_LIMITER_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stint/async.h"
#include "stint/dynamodb.h"
#include "stint/limiter.h"
#include "testing/fake_clock.h"
#include "tests/limiter/support.h"
#include "tests/support/faulty_proxy.h"

namespace stint::test {

inline constexpr const char* kParent = "parent";
inline constexpr Millis kAmpleTime{20'000};

/// The table that all worlds of this program share.
const std::string& common_table();

/// One namespace of it.
class ProxiedLimiter {
 public:
  struct Times {
    /// Of every call that does not name its own.
    Millis call = kAmpleTime;
    Millis attempt = kAmpleTime;
  };

  /// Two requests, which open the table; the namespace is not registered yet.
  ProxiedLimiter();
  explicit ProxiedLimiter(Times times);

  /// A rate and a session window of this capacity.
  static LimitList limits(std::int64_t capacity = 100);
  /// Registers the namespace and configures the limits for all, past the proxy.
  void configure(const LimitList& limits);
  /// Makes the user a child of `kParent`, past the proxy.
  void cascade();
  /// With a seed of its own at every call.
  LimiterOptions options();
  /// One that knows nothing and goes straight.
  Limiter bystander();

  /// Takes from both limits.
  static AcquireRequest request(std::int64_t amount, OnUnavailable policy = OnUnavailable::kBlock);
  Result<Decision> acquire(std::int64_t amount, OnUnavailable policy = OnUnavailable::kBlock);
  /// The same in ample time, for what is prepared and looked at afterwards.
  Result<Decision> acquire_calmly(std::int64_t amount);
  /// Whole tokens, as somebody else sees them.
  std::int64_t left(const std::string& limit, const std::string& entity = kUser);
  /// When the window of the session limit began, as somebody else sees it.
  std::optional<TimePoint> window_start(const std::string& entity = kUser);

  FakeClock clock{instant("2027-03-10T12:00Z")};
  Events events;
  std::unique_ptr<FaultyProxy> proxy = std::make_unique<FaultyProxy>();

 private:
  std::string name_space_;
  std::uint64_t seed_;
  Times times_;

 public:
  Store store;
  Limiter limiter;
  Lease lease;
};

}  // namespace stint::test

#endif  // STINT_TESTS_DYNAMODB_PROXIED_LIMITER_H_
