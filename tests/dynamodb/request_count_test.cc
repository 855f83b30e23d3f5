// Requests of every call on a table, counted on their way to it (decision 19), and what bursts it
// admits. STINT_PRINT_REQUEST_COUNTS=1 prints the table of docs/performance.md.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/dynamodb/proxied_limiter.h"

namespace stint::test {
namespace {

constexpr const char* kNotMeasured = "not measured";

/// One line of the published table.
struct Line {
  std::string call;
  std::vector<std::string> asked;  ///< In their order.
  std::string reference;           ///< What zae-limiter 0.17.0 asks, measured (rules 3.11).
};

/// "BatchGetItem, 2 UpdateItem"
std::string in_words(const std::vector<std::string>& operations) {
  std::string text;
  for (std::size_t i = 0; i < operations.size();) {
    std::size_t same = 1;
    while (i + same < operations.size() && operations[i + same] == operations[i]) ++same;
    if (!text.empty()) text += ", ";
    if (same > 1) text += std::to_string(same) + " ";
    text += operations[i];
    i += same;
  }
  return text.empty() ? "none" : text;
}

std::string markdown(const Line& line) {
  return "| " + line.call + " | " + std::to_string(line.asked.size()) + " | " +
         in_words(line.asked) + " | " + line.reference + " |";
}

class RequestCount : public ::testing::Test {
 protected:
  static constexpr const char* kChild = "child";

  RequestCount() {
    // The rejections that are proved by what is remembered are a part of what is counted.
    LimiterOptions options = world.options();
    options.rejection_ttl = LimiterOptions().rejection_ttl;
    limiter.emplace(world.store, options);
  }

  static AcquireRequest request(std::vector<Consume> consume, const std::string& entity = kUser) {
    return {.entity = entity, .resource = kApi, .consume = std::move(consume)};
  }
  bool admits(std::vector<Consume> consume, const std::string& entity = kUser) {
    return static_cast<bool>(limiter->acquire(request(std::move(consume), entity)).value());
  }
  Decision hold(std::vector<Consume> consume, const std::string& entity = kUser) {
    return limiter->acquire(request(std::move(consume), entity)).value();
  }
  void others_take(std::vector<Consume> consume, const std::string& entity = kUser) {
    Limiter other = world.bystander();
    ASSERT_TRUE(other.acquire(request(std::move(consume), entity)).value());
  }
  std::vector<std::string> asked_by(const std::function<void()>& call) {
    world.proxy->forget();
    call();
    return world.proxy->operations();
  }
  /// Counts and compares, and keeps the line.
  void count(const std::string& call, std::size_t at_least, std::size_t at_most,
             const std::string& reference, const std::function<void()>& run) {
    lines.push_back({call, asked_by(run), reference});
    EXPECT_GE(lines.back().asked.size(), at_least) << markdown(lines.back());
    EXPECT_LE(lines.back().asked.size(), at_most) << markdown(lines.back());
  }
  /// Exactly so many.
  void count(const std::string& call, std::size_t exactly, const std::string& reference,
             const std::function<void()>& run) {
    count(call, exactly, exactly, reference, run);
  }
  void set(const LimitList& limits) {
    world.bystander().set_limits(Scope::resource(kApi), limits).value();
  }
  void create_family() {
    Limiter other = world.bystander();
    other.create_entity(kParent).value();
    other.create_entity(kChild, {.parent = kParent, .cascade = true}).value();
  }

  ProxiedLimiter world;
  std::optional<Limiter> limiter;
  std::vector<Line> lines;
};

TEST_F(RequestCount, R92_TheTableOfCallsIsWhatIsPublished) {
  FakeClock& clock = world.clock;
  create_family();
  set({Limit::per_minute("rpm", 600), Limit::session("session", 1'000, 5h),
       Limit::calendar("day", 1'000, "0 0 * * *")});

  // The namespace is looked up once in the life of a limiter.
  limiter->get_limits(Scope::system()).error();
  count("acquire, first ever", 1, 5, "5", [&] {
    ASSERT_TRUE(admits({{"rpm", 1}, {"session", 1}}));
  });
  count("acquire, warm", 1, "1", [&] { ASSERT_TRUE(admits({{"rpm", 1}, {"session", 1}})); });
  clock.advance(10s);
  count("acquire, a refill is due", 1, "4", [&] {
    ASSERT_TRUE(admits({{"rpm", 590}, {"session", 1}}));
  });
  clock.advance(10s);
  others_take({{"rpm", 50}});
  clock.advance(10s);
  count("acquire, a refill is due, another process wrote last", 1, 2, "4", [&] {
    ASSERT_TRUE(admits({{"rpm", 100}, {"session", 1}}));
  });

  limiter->forget_caches();
  count("acquire, cold process, bucket exists", 1, 3, "2", [&] {
    ASSERT_TRUE(admits({{"rpm", 1}, {"session", 1}}));
  });
  limiter->forget_caches();
  clock.advance(5h);
  count("acquire, cold process, a window has ended", 2, 3, kNotMeasured, [&] {
    ASSERT_TRUE(admits({{"rpm", 1}, {"session", 1}}));
  });

  limiter->forget_caches();
  count("cascade, first", 1, 8, "8", [&] {
    ASSERT_TRUE(admits({{"rpm", 1}, {"session", 1}}, kChild));
  });
  count("cascade, warm", 2, "2", [&] {
    ASSERT_TRUE(admits({{"rpm", 1}, {"session", 1}}, kChild));
  });
  world.bystander().set_limits(kParent, kApi, {Limit::per_minute("rpm", 600)}).value();
  limiter->forget_caches();
  count("cascade, cold process, buckets exist", 2, 4, "3", [&] {
    ASSERT_TRUE(admits({{"rpm", 1}, {"session", 1}}, kChild));
  });
  for (int i = 0; i < 5; ++i) {
    const std::vector<std::string> asked = asked_by([&] {
      ASSERT_TRUE(admits({{"rpm", 1}, {"session", 1}}, kChild));
    });
    EXPECT_EQ(asked.size(), 2u) << in_words(asked);
  }
  count("cascade, warm, the parent lacks a limit", 2, "8, each time", [&] {
    ASSERT_TRUE(admits({{"rpm", 1}, {"session", 1}}, kChild));
  });

  set({Limit::session("short", 100, 30s), Limit::calendar("minute", 100, "*/2 * * * *"),
       Limit::per_minute("rpm", 600)});
  clock.set(instant("2027-03-11T12:00Z"));
  ASSERT_TRUE(admits({{"short", 1}, {"minute", 1}}, "other"));
  clock.advance(30s);
  count("acquire, a window has ended", 1, "4", [&] {
    ASSERT_TRUE(admits({{"short", 1}, {"minute", 1}}, "other"));
  });
  limiter->forget_caches();
  clock.advance(30s);
  count("acquire, a window has ended, nothing remembered of the bucket", 2, kNotMeasured, [&] {
    ASSERT_TRUE(admits({{"short", 1}, {"minute", 1}}, "other"));
  });

  ASSERT_TRUE(admits({{"rpm", 1}}, "drained"));
  others_take({{"rpm", 599}}, "drained");
  count("rejection", 1, "1", [&] { EXPECT_FALSE(admits({{"rpm", 300}}, "drained")); });
  count("rejection, repeated within a second", 0, "0", [&] {
    EXPECT_FALSE(admits({{"rpm", 300}}, "drained"));
  });

  ASSERT_TRUE(admits({{"rpm", 1}}, "settled"));
  Decision more = hold({{"rpm", 10}}, "settled");
  ASSERT_TRUE(more.lease().adjust("rpm", 5).ok());
  count("settle with more, on each bucket", 1, "1", [&] { ASSERT_TRUE(more.lease().settle()); });
  Decision less = hold({{"rpm", 10}}, "settled");
  ASSERT_TRUE(less.lease().release("rpm", 5).ok());
  count("settle with less, on each bucket", 1, "1", [&] { ASSERT_TRUE(less.lease().settle()); });
  Decision none = hold({{"rpm", 10}}, "settled");
  count("roll back, on each bucket", 1, "1", [&] { ASSERT_TRUE(none.lease().roll_back()); });
  Decision full = hold({{"rpm", 300}}, "settled");
  clock.advance(45s);
  count("roll back above the ceiling", 1, 2, "2", [&] { ASSERT_TRUE(full.lease().roll_back()); });
  Decision past = hold({{"minute", 10}, {"short", 10}}, "settled");
  clock.advance(120s);
  count("roll back of a past period", 1, 2, kNotMeasured,
        [&] { ASSERT_TRUE(past.lease().roll_back()); });

  ASSERT_TRUE(admits({{"rpm", 1}}, "settled"));
  count("availability", 1, "2", [&] { limiter->available("settled", kApi, {{"rpm", 1}}).value(); });

  std::ostringstream table;
  table << "| Call | Requests | Which | Python package |\n|---|---|---|---|\n";
  for (const Line& line : lines) table << markdown(line) << "\n";
  if (std::getenv("STINT_PRINT_REQUEST_COUNTS") != nullptr) std::cout << table.str();
  std::ifstream file(STINT_SOURCE_DIR "/docs/performance.md");
  std::ostringstream published;
  published << file.rdbuf();
  EXPECT_NE(published.str().find(table.str()), std::string::npos)
      << "docs/performance.md does not have this table:\n"
      << table.str();
}

TEST_F(RequestCount, OpeningATableAndFindingTheNamespace) {
  world.configure(ProxiedLimiter::limits());
  EXPECT_EQ(asked_by([&] { open_dynamodb(world.proxy->options(common_table())).value(); }).size(),
            2u);
  EXPECT_EQ(asked_by([&] { limiter->get_limits(Scope::system()).value(); }).size(), 2u);
  EXPECT_EQ(asked_by([&] { limiter->get_limits(Scope::system()).value(); }).size(), 1u);
}

TEST_F(RequestCount, WarmAcquireStaysOneForALongTime) {
  set({Limit::per_minute("rpm", 600), Limit::session("session", 1'000, 5h)});
  ASSERT_TRUE(admits({{"rpm", 1}, {"session", 1}}));
  world.proxy->forget();
  for (int second = 0; second < 120; ++second) {
    world.clock.advance(1s);
    ASSERT_TRUE(admits({{"rpm", 1}, {"session", 1}}));
  }
  // Beside it once a minute the configuration.
  EXPECT_LE(world.proxy->count(), 120u + 2u);
}

/// What a tolerance of a sixteenth promises: 5 s to full, so that a burst is 6 tokens more at most.
TEST_F(RequestCount, R91_ABurstAfterARestIsWhatTheBucketHoldsAndDrips) {
  set({Limit::rate("r", 100, 20, 1s)});
  ASSERT_TRUE(admits({{"r", 1}}));
  world.clock.advance(7s);
  int admitted = 0;
  for (int ms = 0; ms < 50; ++ms) {
    for (int i = 0; i < 2; ++i) admitted += admits({{"r", 10}}) ? 10 : 0;
    world.clock.advance(1ms);
  }
  EXPECT_GE(admitted, 100);
  EXPECT_LE(admitted, 100 + 6 + 1);
}

}  // namespace
}  // namespace stint::test
