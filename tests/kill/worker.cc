#include "tests/kill/worker.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "limiter/store_handle.h"
#include "stint/stint.h"
#include "store/rocksdb/rocksdb_engine.h"

namespace stint::test {
namespace {

// Time that goes on from one child to the next, now and then by more than a window.
class JournalClock final : public Clock {
 public:
  explicit JournalClock(Journal& journal) : journal_(journal) {}
  TimePoint now() override { return TimePoint(Millis(journal_.clock_ms.fetch_add(1))); }

 private:
  Journal& journal_;
};

using Deltas = std::array<std::int64_t, kLimits>;

class Load {
 public:
  Load(Limiter& limiter, Journal& journal, const WorkerOptions& options, int thread)
      : limiter_(limiter),
        journal_(journal),
        options_(options),
        thread_(thread),
        random_(options.seed * 1000003 + static_cast<std::uint64_t>(thread)) {}

  [[noreturn]] void run() {
    while (true) {
      switch (draw(0, 9)) {
        case 0: create_entity(); break;
        case 1: set_limits(); break;
        default: use(); break;
      }
      if (draw(0, 199) == 0) journal_.clock_ms += draw(1, 2 * kWindowMs);
      if (journal_.calls.load() >= options_.most_calls) ::kill(::getpid(), SIGKILL);
    }
  }

 private:
  std::int64_t draw(std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random_);
  }

  void count_acknowledged() {
    ++journal_.acknowledged;
    ++journal_.calls;
  }

  void begin(int entity, const Deltas& deltas) {
    InFlight& mine = journal_.in_flight[static_cast<std::size_t>(thread_)];
    for (std::size_t i = 0; i < kLimits; ++i) mine.delta[i] = deltas[i];
    mine.entity = entity;
    if (options_.early) acknowledge(entity, deltas);
  }

  void acknowledge(int entity, const Deltas& deltas) {
    auto& cells = journal_.consumed[static_cast<std::size_t>(entity)];
    for (std::size_t i = 0; i < kLimits; ++i) cells[i].acknowledged += deltas[i];
    journal_.in_flight[static_cast<std::size_t>(thread_)].entity = -1;
  }

  // What became of a write of some deltas.
  void end(int entity, const Deltas& deltas, const Status& status) {
    if (status.ok()) {
      if (!options_.early) acknowledge(entity, deltas);
      count_acknowledged();
      return;
    }
    std::fprintf(stderr, "%s\n", status.error().message().c_str());
    ++journal_.unknown;
    auto& cells = journal_.consumed[static_cast<std::size_t>(entity)];
    for (std::size_t i = 0; i < kLimits; ++i) {
      (deltas[i] > 0 ? cells[i].maybe_taken : cells[i].maybe_returned) += deltas[i];
    }
    journal_.in_flight[static_cast<std::size_t>(thread_)].entity = -1;
  }

  void use() {
    int entity = static_cast<int>(draw(0, kEntities - 1));
    Deltas taken = {draw(1, 20), draw(1, 20)};
    begin(entity, taken);
    Result<Decision> decision = limiter_.acquire(
        {entity_name(entity), kResource, {{kSession, taken[0]}, {kRate, taken[1]}}});
    if (decision && !*decision) {
      // Never by these capacities.
      ++journal_.refused;
      journal_.in_flight[static_cast<std::size_t>(thread_)].entity = -1;
      return;
    }
    end(entity, taken, decision ? Status() : Status(decision.error()));
    if (!decision) return;
    for (const LimitStatus& status : decision->limits()) {
      if (status.name == kSession && status.resets_at) note_window(entity, *status.resets_at);
    }
    Lease lease = std::move(decision->lease());
    std::int64_t what = draw(0, 9);
    if (what < 4) {
      Deltas change = {draw(-taken[0], 10), draw(-taken[1], 10)};
      lease.adjust(kSession, change[0]).value();
      if (change[1] < 0) {
        lease.release(kRate, -change[1]).value();
      } else {
        lease.adjust(kRate, change[1]).value();
      }
      begin(entity, change);
      end(entity, change, lease.settle());
    } else if (what < 6) {
      Deltas change = {-taken[0], -taken[1]};
      begin(entity, change);
      end(entity, change, lease.roll_back());
    } else {
      lease.settle().value();
    }
  }

  void note_window(int entity, TimePoint end) {
    Shared& latest = journal_.consumed[static_cast<std::size_t>(entity)][0].window_end_ms;
    std::int64_t told = end.time_since_epoch().count();
    std::int64_t known = latest.load();
    while (known < told && !latest.compare_exchange_weak(known, told)) {
    }
  }

  void create_entity() {
    auto mine = static_cast<std::size_t>(thread_);
    std::int64_t number = journal_.begun[mine]++;
    if (options_.early) journal_.created[mine] = number + 1;
    Result<Entity> entity =
        limiter_.create_entity(created_name(thread_, number), {.parent = "parent"});
    if (!entity) std::fprintf(stderr, "%s\n", entity.error().message().c_str());
    // A name whose creation is unknown is left behind.
    if (entity && journal_.created[mine] == number) journal_.created[mine] = number + 1;
    if (entity) count_acknowledged();
  }

  void set_limits() {
    auto mine = static_cast<std::size_t>(thread_);
    std::int64_t capacity = draw(1, 1'000'000);
    journal_.wanted_capacity[mine] = capacity;
    if (options_.early) journal_.capacity[mine] = capacity;
    Result<LimitsChange> change = limiter_.set_limits(Scope::resource(own_resource(thread_)),
                                                      {Limit::per_minute(kRate, capacity)});
    if (!change) return;
    journal_.capacity[mine] = capacity;
    count_acknowledged();
  }

  Limiter& limiter_;
  Journal& journal_;
  const WorkerOptions& options_;
  int thread_;
  std::mt19937_64 random_;
};

template <typename T>
T opened_or_exit(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().message().c_str());
  std::exit(3);
}

}  // namespace

std::string entity_name(int number) { return "entity-" + std::to_string(number); }
std::string created_name(int thread, std::int64_t number) {
  return "made-" + std::to_string(thread) + "-" + std::to_string(number);
}
std::string own_resource(int thread) { return "own-" + std::to_string(thread); }

void run_worker(const WorkerOptions& options, Journal& journal) {
  JournalClock clock(journal);
  store::RocksDbOptions engine_options;
  engine_options.synced = options.synced;
  engine_options.file_system = std::make_shared<KillFileSystem>(options.point, options.power_loss);
  Store store = opened_or_exit(limiter::open_store(
      opened_or_exit(store::open_rocksdb_engine(options.directory, engine_options)), {}));
  LimiterOptions limiter_options;
  limiter_options.clock = &clock;
  limiter_options.seed = options.seed;
  // Counters of what was ever consumed are to live as long as the campaign.
  limiter_options.ttl_multiplier = 0;
  // Calls that wait for the machine are not to be counted as unknown.
  limiter_options.timeout = Millis(60'000);
  Limiter limiter(store, limiter_options);
  opened_or_exit(limiter.set_limits(
      Scope::resource(kResource),
      {Limit::session(kSession, kCapacity, std::chrono::seconds(kWindowMs / 1000)),
       Limit::per_second(kRate, kCapacity)}));
  journal.opened = 1;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] { Load(limiter, journal, options, i).run(); });
  }
  for (std::thread& thread : threads) thread.join();
  std::abort();
}

}  // namespace stint::test
