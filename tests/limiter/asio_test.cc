// Completion tokens of Boost.Asio on the asynchronous limiter.
#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "limiter/store_handle.h"
#include "stint/asio.h"
#include "stint/stint.h"
#include "store/memory/memory_engine.h"
#include "tests/limiter/later_engine.h"
#include "tests/limiter/support.h"

namespace stint::test {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

class AsioTokens : public ::testing::Test {
 protected:
  AsioTokens() : limiter(open_memory().value()) {
    limiter.blocking().set_limits("user", "api", {Limit::session("s", 100, 1h)}).value();
  }
  static AcquireRequest request(int tokens) {
    return {.entity = "user", .resource = "api", .consume = {{"s", tokens}}};
  }
  std::int64_t left() {
    return limiter.blocking().available("user", "api").value().limits.at(0).remaining.count();
  }

  AsyncLimiter limiter;
};

// A named function: a coroutine must not be a capturing lambda.
asio::awaitable<void> take_and_give_back(AsyncLimiter& limiter, AcquireRequest request,
                                         std::thread::id& completed_on, bool& done) {
  Result<Decision> decision =
      co_await async_acquire(limiter, std::move(request), asio::use_awaitable);
  completed_on = std::this_thread::get_id();
  EXPECT_TRUE(decision.ok() && *decision);
  Lease lease = std::move(decision->lease());
  Settled settled = co_await async_roll_back(limiter, std::move(lease), asio::use_awaitable);
  EXPECT_TRUE(settled.status);
  done = true;
}

TEST_F(AsioTokens, CoroutinesGoOnOnTheirOwnExecutor) {
  asio::io_context io;
  std::thread::id completed_on;
  bool done = false;
  asio::co_spawn(io, take_and_give_back(limiter, request(30), completed_on, done), asio::detached);
  io.run();
  EXPECT_TRUE(done);
  EXPECT_EQ(completed_on, std::this_thread::get_id());
  EXPECT_EQ(left(), 100'000);
}

TEST_F(AsioTokens, FuturesAndMoveOnlyHandlersComplete) {
  Result<Decision> by_future = async_acquire(limiter, request(10), asio::use_future).get();
  ASSERT_TRUE(by_future.ok() && *by_future);
  asio::io_context io;
  std::optional<Result<Decision>> by_handler;
  auto only_moved = std::make_unique<int>(7);
  async_acquire(limiter, request(20),
                asio::bind_executor(io, [&by_handler, only_moved = std::move(only_moved)](
                                            Result<Decision> decision) {
                  EXPECT_EQ(*only_moved, 7);
                  by_handler.emplace(std::move(decision));
                }));
  io.run();
  ASSERT_TRUE(by_handler && by_handler->ok());
  EXPECT_TRUE(**by_handler);
  EXPECT_EQ(left(), 70'000);
}

TEST(AsioCancellation, WhatIsCancelledLeavesNothingTaken) {
  auto engine = std::make_shared<LaterEngine>(store::make_memory_engine(lean_table()));
  AsyncLimiter limiter(limiter::open_store(engine, StoreOptions()).value());
  limiter.blocking().set_limits("user", "api", {Limit::session("s", 100, 1h)}).value();
  const auto left = [&limiter] {
    return limiter.blocking().available("user", "api").value().limits.at(0).remaining.count();
  };
  asio::io_context io;
  asio::cancellation_signal stop;
  std::optional<Result<Decision>> answer;
  const auto take = [&] {
    answer.reset();
    const AcquireRequest ten{.entity = "user", .resource = "api", .consume = {{"s", 10}}};
    async_acquire(limiter, ten,
                  asio::bind_cancellation_slot(
                      stop.slot(), asio::bind_executor(io, [&answer](Result<Decision> decision) {
                        answer.emplace(std::move(decision));
                      })));
  };
  take();
  ASSERT_GT(engine->waiting(), 0u);
  stop.emit(asio::cancellation_type::terminal);
  engine->answer_all();
  io.run();
  ASSERT_TRUE(answer && !answer->ok());
  EXPECT_EQ(answer->error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(left(), 100'000);

  // When it has ended it is too late.
  take();
  engine->answer_all();
  stop.emit(asio::cancellation_type::terminal);
  io.restart();
  io.run();
  ASSERT_TRUE(answer && answer->ok());
  EXPECT_EQ(left(), 90'000);
}

TEST_F(AsioTokens, AvailabilityIsAValueToo) {
  Result<Availability> seen =
      async_available(limiter, "user", "api", {{"s", 101}}, asio::use_future).get();
  ASSERT_TRUE(seen.ok());
  EXPECT_TRUE(seen->never_fits);
}

}  // namespace
}  // namespace stint::test
