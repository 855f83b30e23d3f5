// The same random operations on every engine: equal answers and, apart from `wcu`, equal items.
//
// Operations are run below the limiter, with random numbers that are the same everywhere, so that
// even nonces and ids are equal. Embedded engines are told that they are shared, as DynamoDB is:
// what is compared are the engines, not the forms of writes that each is spared.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "limiter/caches.h"
#include "limiter/driver.h"
#include "limiter/request_counters.h"
#include "ops/acquire.h"
#include "ops/config.h"
#include "ops/entities.h"
#include "ops/inspect.h"
#include "ops/lease.h"
#include "ops/namespaces.h"
#include "schema/bucket_fields.h"
#include "store/memory/memory_engine.h"
#include "store/rocksdb/rocksdb_engine.h"
#include "testing/fake_clock.h"
#include "tests/support/dynamodb_table.h"
#include "tests/support/instant.h"
#include "tests/support/seed.h"
#include "tests/support/table.h"
#include "tests/support/temp_directory.h"

namespace stint::test {
namespace {

using namespace std::chrono_literals;

constexpr int kBurstTolerance = 16;

/// Claims of an engine that its writers are shared.
class Shared final : public store::Engine {
 public:
  explicit Shared(std::shared_ptr<store::Engine> inner)
      : inner_(std::move(inner)), capabilities_(inner_->capabilities()) {
    capabilities_.shared_writers = true;
    capabilities_.burst_tolerance_divisor = kBurstTolerance;
  }
  const store::Capabilities& capabilities() const noexcept override { return capabilities_; }
  void execute(std::span<store::Call> calls) noexcept override { inner_->execute(calls); }

 private:
  std::shared_ptr<store::Engine> inner_;
  store::Capabilities capabilities_;
};

/// One engine with all that operations need beside it.
class World {
  template <typename T>
  T drive(ops::Op<T> op) {
    static constexpr bool kNoExemption = false;
    return limiter::run(std::move(op), setup(kNoExemption));
  }
  limiter::DriverSetup setup(const bool& past_deadline_allowed) {
    return {.engine = *engine_,
            .clock = clock_,
            .queues = queues_,
            .counters = counters_,
            .deadline = std::chrono::steady_clock::now() + 60s,
            .past_deadline_allowed = past_deadline_allowed};
  }

  template <typename Make>
  auto run(std::uint64_t draw, const Make& make) {
    Random random(draw);
    ops::Context cx{ns_,
                    engine_->capabilities(),
                    ResetRule::kCompatible,
                    kBurstTolerance,
                    settings_,
                    caches_,
                    random,
                    nullptr};
    cx.cache_generation = caches_.generation();
    limiter::DriverSetup with = setup(cx.past_deadline_allowed);
    with.store_asked = &cx.store_asked;
    return limiter::run(make(cx), with);
  }
  template <typename Make, typename Text>
  std::string run(std::uint64_t draw, const Make& make, const Text& text) {
    auto result = run(draw, make);
    if (!result) return "error " + result.error().message();
    return text(*result);
  }

 public:
  World(std::string name, std::shared_ptr<store::Engine> engine, FakeClock& clock)
      : name_(std::move(name)), engine_(std::move(engine)), clock_(clock) {
    Random random(1);
    ns_ = *drive(ops::resolve_namespace("default", ops::IfUnregistered::kRegister, random,
                                        clock_.now()))
               .value();
  }

  const std::string& name() const { return name_; }

  std::string create_entity(std::uint64_t draw, const std::string& id,
                            const std::optional<std::string>& parent) {
    EntityOptions options;
    options.parent = parent;
    options.cascade = parent.has_value();
    return run(
        draw, [&](ops::Context& cx) { return ops::create_entity(cx, id, options); },
        [](const Entity& entity) { return entity.id + " " + entity.parent.value_or("-"); });
  }
  std::string set_limits(std::uint64_t draw, const Scope& scope, const std::vector<Limit>& limits) {
    return run(
        draw, [&](ops::Context& cx) { return ops::set_limits(cx, scope, limits, no_options_); },
        [](const LimitsChange& change) {
          return std::to_string(change.before.limits.size()) + " limits before, " +
                 std::to_string(change.buckets) + " buckets";
        });
  }
  std::string delete_limits(std::uint64_t draw, const Scope& scope) {
    return run(
        draw, [&](ops::Context& cx) { return ops::delete_limits(cx, scope, false); },
        [](const LimitsChange& change) { return std::to_string(change.buckets); });
  }
  std::string available(std::uint64_t draw, const std::string& entity) {
    return run(
        draw, [&](ops::Context& cx) { return ops::available(cx, entity, "api", no_need_); },
        [](const Availability& seen) { return text_of(seen.limits); });
  }
  /// Keeps the lease, if any.
  std::string acquire(std::uint64_t draw, const AcquireRequest& request) {
    ops::LeaseRecord lease;
    std::string text = run(
        draw, [&](ops::Context& cx) { return ops::acquire(cx, request, lease); },
        [](const ops::Acquired& acquired) {
          std::string outcome = acquired.outcome == Outcome::kAdmitted   ? "admitted"
                                : acquired.outcome == Outcome::kRejected ? "rejected"
                                                                         : "disabled";
          return outcome + text_of(acquired.limits);
        });
    if (text.rfind("admitted", 0) == 0) leases_.push_back(std::move(lease));
    return text;
  }
  std::size_t leases() const { return leases_.size(); }
  std::string settle(std::uint64_t draw, std::size_t which, const std::string& limit,
                     std::int64_t delta) {
    ops::LeaseRecord lease = take_lease(which);
    lease.corrections.push_back({limit, delta});
    return end(run(draw, [&](ops::Context& cx) { return ops::settle(cx, lease); }));
  }
  std::string roll_back(std::uint64_t draw, std::size_t which) {
    ops::LeaseRecord lease = take_lease(which);
    return end(run(draw, [&](ops::Context& cx) { return ops::roll_back(cx, lease); }));
  }
  void forget() { caches_.clear(); }

  /// All items as texts, without the attributes of `wcu`.
  std::vector<std::string> items() const {
    std::vector<std::string> texts;
    std::string start;
    for (;;) {
      store::ScanRequest scan(1000, start);
      store::Call call{&scan, {}};
      engine_->execute(std::span<store::Call>(&call, 1));
      auto& page = std::get<store::ScanReply>(call.reply);
      if (page.outcome != store::Outcome::kOk) texts.push_back("error " + page.message);
      for (const store::ImagePtr& image : page.images) texts.push_back(without_wcu(*image));
      if (!page.next) break;
      start = *page.next;
    }
    std::sort(texts.begin(), texts.end());
    return texts;
  }

 private:
  ops::LeaseRecord take_lease(std::size_t which) {
    ops::LeaseRecord lease = std::move(leases_[which]);
    leases_.erase(leases_.begin() + static_cast<std::ptrdiff_t>(which));
    return lease;
  }
  static std::string end(const Status& status) {
    return status ? "done" : "error " + status.error().message();
  }
  static std::string text_of(const std::vector<LimitStatus>& limits) {
    std::ostringstream text;
    for (const LimitStatus& limit : limits) {
      text << "; " << limit.entity << "/" << limit.name << " " << limit.remaining.count() << " of "
           << limit.capacity.count() << (limit.exceeded ? " exceeded" : "");
      if (limit.retry_after) text << " retry " << limit.retry_after->count();
      if (limit.resets_at) text << " resets " << limit.resets_at->time_since_epoch().count();
    }
    return text.str();
  }
  static std::string without_wcu(const store::Image& image) {
    store::ImageBuilder kept(image);
    for (const store::ImageEntry& entry : image) {
      if (store::name_of(entry.id()).rfind("b_wcu_", 0) == 0) kept.erase(entry.id());
    }
    return store::to_dynamo_json(*kept.build());
  }

  std::string name_;
  std::shared_ptr<store::Engine> engine_;
  FakeClock& clock_;
  limiter::BucketQueues queues_;
  limiter::RequestCounters counters_;
  limiter::Caches caches_{10'000};
  ops::Settings settings_;
  std::string ns_;
  // Operations refer to their arguments, which must outlive them.
  const SetLimitsOptions no_options_;
  const std::vector<Consume> no_need_;
  std::vector<ops::LeaseRecord> leases_;
};

/// Draws operations, and has every world carry each of them out.
class Story {
 public:
  explicit Story(std::uint64_t seed) : random_(seed) {
    worlds_.push_back(std::make_unique<World>(
        "memory", std::make_shared<Shared>(store::make_memory_engine()), clock_));
    worlds_.push_back(std::make_unique<World>(
        "rocksdb",
        std::make_shared<Shared>(store::open_rocksdb_engine(directory_.path(), {}).value()),
        clock_));
    worlds_.push_back(
        std::make_unique<World>("dynamodb", new_table(store::IndexLayout::kCompatible), clock_));
  }

  void step() {
    switch (random_.below(20)) {
      case 0: return create_entity();
      case 1: return set_limits();
      case 2: return delete_limits();
      case 3:
      case 4: clock_.advance(Millis(random_.below(3'600'000))); return;
      case 5: clock_.advance(Millis(random_.below(400))); return;
      case 6:
        for (auto& world : worlds_) world->forget();
        return;
      case 7: {
        std::string of = entity();
        return compare("available " + of,
                       [&](World& world, std::uint64_t draw) { return world.available(draw, of); });
      }
      case 8:
      case 9:
      case 10: return settle();
      case 11: return roll_back();
      default: return acquire();
    }
  }

  void compare_items() {
    std::vector<std::string> expected = worlds_.front()->items();
    for (auto& world : worlds_) {
      std::vector<std::string> found = world->items();
      ASSERT_EQ(found.size(), expected.size()) << world->name();
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(found[i], expected[i]) << world->name();
      }
    }
  }
  int admitted() const { return admitted_; }
  int rejected() const { return rejected_; }

 private:
  template <typename Do>
  void compare(const std::string& what, const Do& act) {
    std::uint64_t draw = random_.next();
    std::string expected;
    for (auto& world : worlds_) {
      std::string answer = act(*world, draw);
      if (world == worlds_.front()) {
        expected = answer;
        admitted_ += answer.rfind("admitted", 0) == 0 ? 1 : 0;
        rejected_ += answer.rfind("rejected", 0) == 0 ? 1 : 0;
      }
      ASSERT_EQ(answer, expected) << what << " on " << world->name();
    }
  }

  std::string entity() { return "e" + std::to_string(random_.below(6)); }

  void create_entity() {
    std::string id = entity();
    std::optional<std::string> parent;
    if (random_.below(2) == 0) parent = "p" + std::to_string(random_.below(2));
    compare("create " + id, [&](World& world, std::uint64_t draw) {
      return world.create_entity(draw, id, parent);
    });
  }

  Scope scope() {
    switch (random_.below(5)) {
      case 0: return Scope::system();
      case 1: return Scope::resource("api");
      case 2: return Scope::entity(entity());
      case 3: return Scope::entity_resource("p" + std::to_string(random_.below(2)), "api");
      default: return Scope::entity_resource(entity(), "api");
    }
  }

  std::vector<Limit> limits() {
    auto amount = [&] { return Tokens(random_.below(60) + 1); };
    std::vector<Limit> drawn;
    drawn.push_back(Limit::per_minute("rate", amount(), amount()).value());
    if (random_.below(2) == 0) drawn.push_back(Limit::session("session", amount(), 1h).value());
    if (random_.below(2) == 0) {
      drawn.push_back(Limit::calendar("daily", amount(), "0 0 * * *", "Europe/Berlin").value());
    }
    if (random_.below(4) == 0) drawn.push_back(Limit::per_hour("slow.limit", amount()).value());
    return drawn;
  }

  void set_limits() {
    Scope at = scope();
    std::vector<Limit> drawn = limits();
    compare("set limits",
            [&](World& world, std::uint64_t draw) { return world.set_limits(draw, at, drawn); });
  }
  void delete_limits() {
    Scope at = scope();
    compare("delete limits",
            [&](World& world, std::uint64_t draw) { return world.delete_limits(draw, at); });
  }

  void acquire() {
    AcquireRequest request{.entity = entity(), .resource = "api", .consume = {}};
    for (const char* limit : {"rate", "session", "daily"}) {
      if (random_.below(3) == 0) continue;
      request.consume.push_back(
          {limit, MilliTokens(static_cast<std::int64_t>(random_.below(12'000)))});
    }
    if (request.consume.empty()) request.consume.push_back({"rate", 1});
    compare("acquire " + request.entity,
            [&](World& world, std::uint64_t draw) { return world.acquire(draw, request); });
  }

  void settle() {
    std::size_t leases = worlds_.front()->leases();
    if (leases == 0) return;
    std::size_t which = random_.below(leases);
    std::int64_t delta = static_cast<std::int64_t>(random_.below(6'000)) - 1'000;
    const char* limit = random_.below(2) == 0 ? "rate" : "session";
    compare("settle", [&](World& world, std::uint64_t draw) {
      return world.settle(draw, which, limit, delta);
    });
  }
  void roll_back() {
    std::size_t leases = worlds_.front()->leases();
    if (leases == 0) return;
    std::size_t which = random_.below(leases);
    compare("roll back",
            [&](World& world, std::uint64_t draw) { return world.roll_back(draw, which); });
  }

  Random random_;
  FakeClock clock_{instant("2027-03-10T12:00Z")};
  TempDirectory directory_;
  std::vector<std::unique_ptr<World>> worlds_;
  int admitted_ = 0;
  int rejected_ = 0;
};

TEST(Differential, EnginesAnswerAndStoreTheSame) {
  constexpr int kOperations = 2'000;
  constexpr int kBetweenLooks = 100;
  Story story(seed());
  for (int i = 0; i < kOperations && !HasFatalFailure(); ++i) {
    SCOPED_TRACE("operation " + std::to_string(i));
    story.step();
    if (i % kBetweenLooks == 0) story.compare_items();
  }
  if (!HasFatalFailure()) story.compare_items();
  // It was about something.
  EXPECT_GT(story.admitted(), 100);
  EXPECT_GT(story.rejected(), 20);
}

}  // namespace
}  // namespace stint::test
