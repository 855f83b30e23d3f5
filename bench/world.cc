#include "bench/world.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

namespace stint::bench {

using namespace std::chrono_literals;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "benchmark: %s\n", what);
  std::abort();
}

std::size_t shrunk(std::size_t count) {
  static const std::size_t divisor = [] {
    const char* text = std::getenv("STINT_BENCH_SHRINK");
    return text != nullptr ? std::max<std::size_t>(std::strtoull(text, nullptr, 10), 1) : 1;
  }();
  return std::max<std::size_t>(count / divisor, 1);
}

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "stint-bench-XXXXXX").string();
  const char* made = mkdtemp(pattern.data());
  require(made != nullptr, "no temporary directory can be made; set TMPDIR");
  path_ = made;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void name_entity(std::size_t number, std::string& text) {
  std::array<char, 32> buffer = {'e', 'n', 't', 'i', 't', 'y', '-'};
  constexpr std::size_t kPrefix = 7;
  char* end = std::to_chars(buffer.data() + kPrefix, buffer.data() + buffer.size(), number).ptr;
  text.assign(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
}

LimitList two_limits(std::int64_t session_tokens) {
  return {Limit::session("session", session_tokens, 24h * 365),
          Limit::per_second("rpm", 1'000'000)};
}

LimitList many_limits(int count) {
  std::vector<Limit> limits;
  for (int i = 0; i < count; ++i) {
    std::string name = "limit-" + std::to_string(i);
    limits.push_back(
        (i % 2 == 0 ? Limit::session(name, kPlenty, 24h * 365) : Limit::per_second(name, 1'000'000))
            .value());
  }
  return limits;
}

std::vector<Consume> one_of_each(const LimitList& limits) {
  std::vector<Consume> consume;
  for (const Limit& limit : limits.limits()) consume.push_back({limit.name(), 1});
  return consume;
}

Caller::Caller(std::size_t entities, std::uint64_t seed) : order(entities, seed) {
  request.resource = kResource;
  for (std::string& name : ahead) name_entity(order.next(), name);
}

const std::string& Caller::choose_ahead() {
  request.entity = ahead[at];
  std::string& freed = ahead[at];
  name_entity(order.next(), freed);
  at = at + 1 == kLookAhead ? 0 : at + 1;
  return freed;
}

namespace {

LimiterOptions limiter_options(const WorldOptions& options, Clock& clock, Counters& counters) {
  LimiterOptions made;
  if (!options.system_clock) made.clock = &clock;
  if (options.counted) made.observer = &counters;
  made.seed = 1;
  made.config_ttl = options.config_ttl;
  // Shards fill unevenly: twice as many to be sure of all.
  made.max_views = options.max_views > 0 ? options.max_views
                                         : std::max<std::size_t>(2 * options.entities, 1'000);
  return made;
}

}  // namespace

World::World(const WorldOptions& options)
    : clock(options.step),
      limiter(options.open ? options.open(directory_.emplace().path()) : open_memory().value(),
              limiter_options(options, clock, counters)),
      entities_(options.entities) {
  limiter.set_limits(Scope::resource(kResource), options.limits).value();
  for (int i = 0; i < options.callers; ++i) {
    callers_.push_back(std::make_unique<Caller>(entities_, static_cast<std::uint64_t>(i) + 1));
    callers_.back()->request.consume = one_of_each(options.limits);
  }
}

void World::fill(int threads, std::size_t most) {
  const std::size_t wanted = std::min(entities_, most);
  constexpr std::size_t kEntitiesPerShare = 10'000;
  const bool shows = wanted > kEntitiesPerShare && isatty(STDERR_FILENO) != 0;
  std::atomic<std::size_t> taken{0};
  auto work = [&] {
    AcquireRequest request = caller(0).request;
    std::size_t from;
    while ((from = taken.fetch_add(kEntitiesPerShare)) < wanted) {
      if (shows) std::fprintf(stderr, "\rfilling: %zu of %zu entities", from, wanted);
      const std::size_t end = std::min(from + kEntitiesPerShare, wanted);
      for (std::size_t i = from; i < end; ++i) {
        name_entity(i, request.entity);
        require(static_cast<bool>(limiter.acquire(request).value()), "a bucket was not created");
      }
    }
  };
  std::vector<std::thread> helpers;
  for (int i = 1; i < threads; ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  if (shows) std::fprintf(stderr, "\r\033[K");
}

}  // namespace stint::bench
