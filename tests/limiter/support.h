// A limiter on every embedded engine, under a clock that the test sets.
#ifndef STINT_TESTS_LIMITER_SUPPORT_H_
#define STINT_TESTS_LIMITER_SUPPORT_H_

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "stint/limiter.h"
#include "stint/observer.h"
#include "store/engine.h"
#include "store/image.h"
#include "testing/fake_clock.h"
#include "tests/support/instant.h"
#include "tests/support/temp_directory.h"

namespace stint::test {

using namespace std::chrono_literals;

/// The engines that behaviour is tested on, by name.
std::vector<std::string> engine_names();
/// The same, and tables that other programs use beside this one: in memory and, where the test
/// program has the component, on a DynamoDB server.
std::vector<std::string> store_names();
/// What a table of a distributed store can and cannot do that stint has to itself.
inline store::Capabilities lean_table() {
  store::Capabilities capabilities;
  capabilities.shared_writers = true;
  capabilities.burst_tolerance_divisor = 16;
  capabilities.partition_write_ceiling = 1000;
  return capabilities;
}
/// The same of one that other programs use, too.
store::Capabilities shared_table();
/// Whether other programs may use the store of that name, so that quotas are raised and lowered as
/// those do.
bool is_shared(const std::string& name);
/// Opens one of them. An engine that keeps its data keeps it in `directory`.
std::shared_ptr<store::Engine> open_engine(const std::string& name, const std::string& directory);

/// Runs the tests of a suite on every engine.
#define STINT_ON_EVERY_ENGINE(suite)                                                           \
  INSTANTIATE_TEST_SUITE_P(Engines, suite, ::testing::ValuesIn(::stint::test::engine_names()), \
                           [](const auto& param_info) { return param_info.param; })

#define STINT_ON_EVERY_STORE(suite)                                                          \
  INSTANTIATE_TEST_SUITE_P(Stores, suite, ::testing::ValuesIn(::stint::test::store_names()), \
                           [](const auto& param_info) { return param_info.param; })

/// Remembers what a limiter reported.
class Events final : public Observer {
 public:
  struct Seen {
    EventKind kind;
    bool from_memory = false;
    std::string entity = {};
    std::string resource = {};
    std::string limit = {};
    std::uint64_t count = 1;
    MilliTokens requested = {};
    std::optional<Error> error = std::nullopt;
    std::optional<RequestStats> store = std::nullopt;
    std::chrono::nanoseconds duration{0};
  };

  void on_event(const Event& event) noexcept override;
  int count(EventKind kind) const;
  /// The last event of a kind, which must exist.
  Seen last(EventKind kind) const;
  std::vector<Seen> all() const;
  /// The names of all kinds in order, with blanks between.
  std::string story() const;
  void clear();

 private:
  mutable std::mutex mutex_;
  std::vector<Seen> seen_;
};

/// What calls asked of the store: requests, and units of the table.
struct Spent {
  std::uint64_t requests = 0;
  double reads = 0;
  double writes = 0;
  friend bool operator==(const Spent&, const Spent&) = default;
};
std::ostream& operator<<(std::ostream& out, const Spent& spent);

inline constexpr Spent kNothingAsked{};
/// What a warm admitted request on one bucket may cost (decision 19).
inline constexpr Spent kOneWrite{1, 0, 1};

inline constexpr const char* kUser = "user";
inline constexpr const char* kApi = "api";

class LimiterTest : public ::testing::TestWithParam<std::string> {
 protected:
  LimiterTest();

  /// Another process's view of the same store: nothing cached.
  Limiter another_limiter(LimiterOptions options);
  Limiter another_limiter() { return another_limiter(options()); }
  /// With a seed of its own at every call: limiters tell their writes apart by it.
  LimiterOptions options();
  /// The store, for limiters of other kinds.
  const Store& store() const { return *store_; }
  /// Closes the limiter and, where the engine keeps its data, the store, and opens both again.
  void restart();
  /// Whether other programs may use the store beside this one.
  bool on_shared_table() const;
  /// Replaces the limiter, on the same store.
  void use(const LimiterOptions& options);

  Result<Decision> try_acquire(std::vector<Consume> consume, const std::string& entity = kUser);
  /// Decides; the lease, if any, stays with the decision.
  Decision acquire(std::vector<Consume> consume, const std::string& entity = kUser);
  /// Decides and lets the lease go.
  bool admits(std::vector<Consume> consume, const std::string& entity = kUser);
  /// How many of `calls` requests in a row are admitted, at one instant.
  int admitted(int calls, const std::vector<Consume>& consume, const std::string& entity = kUser);
  /// What is left of a limit, in whole tokens, and its status as shown without consuming.
  std::int64_t left(const std::string& limit, const std::string& entity = kUser);
  LimitStatus status(const std::string& limit, const std::string& entity = kUser);

  Spent spent_by(const std::function<void()>& calls);

  // The stored items, as a program that is not this limiter sees and changes them.
  std::string name_space_id();
  store::Key bucket_key(const std::string& entity = kUser);
  /// The bucket's item; empty when there is none.
  store::ImagePtr bucket(const std::string& entity = kUser);
  store::ImagePtr item(const store::Key& key);
  /// A field of a limit on the bucket, such as "tk"; nothing when absent.
  std::optional<std::int64_t> field(const std::string& limit, const std::string& name,
                                    const std::string& entity = kUser);
  void put_item(const store::ImagePtr& item);
  void delete_item(const store::Key& key);
  void edit_bucket(const std::function<void(store::ImageBuilder&)>& edit,
                   const std::string& entity = kUser);
  void set_field(const std::string& limit, const std::string& name, std::int64_t value,
                 const std::string& entity = kUser);

  FakeClock clock{instant("2027-03-10T12:00Z")};
  Events events;
  std::optional<Limiter> limiter;

 private:
  void open();

  TempDirectory directory_;
  std::optional<Store> store_;
  std::uint64_t seeds_given_ = 0;
};

/// The status of a limit among several; fails the test and answers an empty one when absent.
LimitStatus find_status(const std::vector<LimitStatus>& statuses, const std::string& limit,
                        const std::string& entity = kUser);

}  // namespace stint::test

#endif  // STINT_TESTS_LIMITER_SUPPORT_H_
