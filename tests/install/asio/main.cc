// A user of the installed component `asio`: a coroutine takes and gives back on its own thread. The
// argument is an empty directory, which is not needed.
#include <stint/asio.h>
#include <stint/stint.h>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <cstdio>
#include <future>
#include <thread>
#include <utility>

namespace asio = boost::asio;

namespace {

asio::awaitable<bool> take_and_give_back(stint::AsyncLimiter& limiter) {
  const std::thread::id thread = std::this_thread::get_id();
  stint::AcquireRequest request{.entity = "user-1", .resource = "api", .consume = {{"rph", 8}}};
  stint::Result<stint::Decision> decision =
      co_await stint::async_acquire(limiter, request, asio::use_awaitable);
  if (!decision || !*decision) co_return false;
  // As much again is not there meanwhile.
  stint::Result<stint::Decision> second =
      co_await stint::async_acquire(limiter, request, asio::use_awaitable);
  if (!second || second->outcome() != stint::Outcome::kRejected) co_return false;
  stint::Lease lease = std::move(decision->lease());
  stint::Settled given_back =
      co_await stint::async_roll_back(limiter, std::move(lease), asio::use_awaitable);
  co_return given_back.status.ok() && std::this_thread::get_id() == thread;
}

}  // namespace

int main() {
  stint::AsyncLimiter limiter(stint::open_memory().value());
  limiter.blocking().set_limits("user-1", "api", {stint::Limit::per_hour("rph", 10)}).value();

  asio::io_context io;
  std::future<bool> went_well = asio::co_spawn(io, take_and_give_back(limiter), asio::use_future);
  io.run();
  if (!went_well.get()) {
    std::fprintf(stderr, "the coroutine was answered otherwise than expected\n");
    return 1;
  }

  // All of it is there again.
  stint::AcquireRequest all{.entity = "user-1", .resource = "api", .consume = {{"rph", 10}}};
  auto decision = stint::async_acquire(limiter, std::move(all), asio::use_future).get();
  if (!decision || !*decision) {
    std::fprintf(stderr, "what was given back is missing\n");
    return 1;
  }
  return 0;
}
