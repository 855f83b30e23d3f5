// The durable store beside what it stands on, and a large one beside a small one. Two kinds of work
// take turns in chunks, so that both meet the same disturbances; `ratio` is the rate of the first
// by that of the second.
//
//     cmake --preset bench && cmake --build --preset bench
//     build/bench/bin/durable_bench
//
// beside_put: decisions of two limits against plain puts of the same records into a database with
//   the same content and options, by the same number of threads.
// synced_beside_put: the same where every write waits for the disk, puts of many threads included.
// large_beside_small: decisions of the given number of entities against those of a hundredth of
//   them; "held" by caches large enough for all, "default" with the caches of default options.
//
// Every store is filled through the limiter, once for all benchmarks that want the same number of
// entities; a million take minutes. An iteration is one chunk of each kind by every thread.
#include <benchmark/benchmark.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/utilities/options_util.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/bench_main.h"
#include "bench/turn.h"
#include "bench/world.h"

namespace stint::bench {
namespace {

using Steady = std::chrono::steady_clock;

// scripts/bench-compare builds these files against older revisions, whose stores have no such
// options; there the cases that need them are left out. Anywhere else a missing option is an error:
// published cases must not vanish by a new name.
template <typename Options>
constexpr bool can_sync() {
  return requires(Options options) { options.durability; };
}
template <typename Options>
constexpr bool can_hold() {
  return requires(Options options) { options.cached_items; };
}

#ifndef STINT_BENCH_OLDER_SOURCES
static_assert(can_sync<StoreOptions>() && can_hold<StoreOptions>(),
              "the names of StoreOptions changed; so must durable_bench");
#endif

template <typename Options>
void sync_writes(Options& options) {
  if constexpr (can_sync<Options>()) {
    options.durability = std::remove_cvref_t<decltype(options.durability)>::kMachine;
  }
}
template <typename Options>
void hold_items(Options& options, std::size_t items) {
  if constexpr (can_hold<Options>()) options.cached_items = std::max(items, options.cached_items);
}

/// Directories with filled stores, each made when first asked for.
class Shelf {
 public:
  const std::string& filled(std::size_t entities) {
    std::unique_ptr<TemporaryDirectory>& place = directories_[entities];
    if (!place) {
      place = std::make_unique<TemporaryDirectory>();
      constexpr int kThreads = 2;
      WorldOptions options;
      options.entities = entities;
      options.system_clock = true;
      options.open = [&](const std::string&) { return open_embedded(place->path()).value(); };
      World(options).fill(kThreads);
    }
    return place->path();
  }

 private:
  std::map<std::size_t, std::unique_ptr<TemporaryDirectory>> directories_;
};

class Work {
 public:
  virtual ~Work() = default;
  virtual void step(int caller) = 0;
};

/// No cache of a store or a limiter holds more without being asked to.
constexpr std::size_t kHeldByDefault = 200'000;

struct DecisionOptions {
  std::size_t entities = 0;
  int callers = 1;
  bool synced = false;
  /// Whether everything fits into the caches, or just what does by default.
  bool held = true;
};

class Decisions final : public Work {
 public:
  Decisions(const std::string& directory, const DecisionOptions& options)
      : world_(world_options(directory, options)) {
    // Caches that cannot hold everything are full after as many entities as they hold.
    constexpr int kThreads = 2;
    world_.fill(kThreads, options.held ? options.entities : kHeldByDefault);
  }
  void step(int number) override {
    Caller& caller = world_.caller(number);
    caller.choose();
    require(static_cast<bool>(world_.limiter.acquire(caller.request).value()),
            "a request was rejected");
  }

 private:
  static WorldOptions world_options(const std::string& directory, const DecisionOptions& options) {
    WorldOptions made;
    made.entities = options.entities;
    made.callers = options.callers;
    made.system_clock = true;
    if (!options.held) made.max_views = LimiterOptions().max_views;
    made.open = [directory, options](const std::string&) { return open_store(directory, options); };
    return made;
  }

  static Store open_store(const std::string& directory, const DecisionOptions& options) {
    StoreOptions made;
    if (options.synced) sync_writes(made);
    if (options.held) hold_items(made, 2 * options.entities);
    return open_embedded(directory, made).value();
  }

  World world_;
};

/// The engine's own database, with what a store left in it.
class Puts final : public Work {
 public:
  Puts(const std::string& store_directory, int callers, bool synced) {
    std::filesystem::copy(store_directory, directory_.path(),
                          std::filesystem::copy_options::recursive);
    rocksdb::DBOptions options;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    check(rocksdb::LoadLatestOptions(rocksdb::ConfigOptions(), directory_.path(), &options,
                                     &families));
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* opened = nullptr;
    check(rocksdb::DB::Open(options, directory_.path(), families, &handles, &opened));
    database_.reset(opened);
    for (rocksdb::ColumnFamilyHandle* handle : handles) {
      check(database_->DestroyColumnFamilyHandle(handle));
    }
    read_records();
    write_options_.sync = synced;
    for (int i = 0; i < callers; ++i) {
      orders_.emplace_back(records_.size(), static_cast<std::uint64_t>(i) + 1);
    }
  }
  void step(int caller) override {
    const auto& [key, value] = records_[orders_[static_cast<std::size_t>(caller)].order.next()];
    check(database_->Put(write_options_, key, value));
  }
  double bytes_each() const { return bytes_ / static_cast<double>(records_.size()); }

 private:
  struct alignas(128) CallerOrder {
    CallerOrder(std::size_t count, std::uint64_t seed) : order(count, seed) {}
    Order order;
  };

  static void check(const rocksdb::Status& status) {
    require(status.ok(), status.ToString().c_str());
  }

  // Records of items, which are nearly all buckets; those of indexes do not change by a debit.
  void read_records() {
    std::unique_ptr<rocksdb::Iterator> at(database_->NewIterator(rocksdb::ReadOptions()));
    for (at->Seek("t"); at->Valid() && at->key().starts_with("t"); at->Next()) {
      bytes_ += static_cast<double>(at->key().size() + at->value().size());
      records_.emplace_back(at->key().ToString(), at->value().ToString());
    }
    check(at->status());
    require(!records_.empty(), "the store's database holds no items");
  }

  TemporaryDirectory directory_;
  std::unique_ptr<rocksdb::DB> database_;
  rocksdb::WriteOptions write_options_;
  std::vector<std::pair<std::string, std::string>> records_;
  double bytes_ = 0;
  std::vector<CallerOrder> orders_;
};

/// Two kinds of work of some callers.
struct Pair {
  explicit Pair(int callers) : turn(callers) {}
  std::unique_ptr<Work> first;
  std::unique_ptr<Work> second;
  double record_bytes = 0;
  Turn turn;
};

struct PairCase {
  std::string name;
  int callers;
  /// Steps of a caller before the other kind of work takes its turn.
  int chunk;
  std::function<std::unique_ptr<Pair>(Shelf&)> make;
};

/// The pair in use, one at a time.
class Stage {
 public:
  Pair& play(const PairCase& wanted) {
    std::lock_guard lock(mutex_);
    if (present_ != &wanted) {
      pair_.reset();
      present_ = &wanted;
      pair_ = wanted.make(shelf_);
    }
    return *pair_;
  }

 private:
  std::mutex mutex_;
  Shelf shelf_;
  const PairCase* present_ = nullptr;
  std::unique_ptr<Pair> pair_;
};

void measure(benchmark::State& state, Stage& stage, const PairCase& wanted) {
  Pair& pair = stage.play(wanted);
  const int caller = state.thread_index();
  Steady::duration spent[2] = {};
  Work* const works[2] = {pair.first.get(), pair.second.get()};
  int begin_with = 0;
  for (auto _ : state) {
    for (int which : {begin_with, 1 - begin_with}) {
      const Steady::time_point start = pair.turn.wait();
      for (int i = 0; i < wanted.chunk; ++i) works[which]->step(caller);
      spent[which] += pair.turn.wait() - start;
    }
    begin_with = 1 - begin_with;
  }
  if (caller != 0) return;
  const double steps = static_cast<double>(state.iterations()) * wanted.chunk * wanted.callers;
  auto rate = [&](int which) {
    return steps / std::chrono::duration<double>(spent[which]).count();
  };
  state.counters["first_per_s"] = rate(0);
  state.counters["second_per_s"] = rate(1);
  state.counters["ratio"] = rate(0) / rate(1);
  if (pair.record_bytes > 0) state.counters["record_bytes"] = pair.record_bytes;
}

PairCase beside_put(const std::string& name, std::size_t full_size, int callers, int chunk,
                    bool synced) {
  const std::size_t entities = shrunk(full_size);
  return {name + "/" + std::to_string(full_size), callers, chunk, [=](Shelf& shelf) {
            auto pair = std::make_unique<Pair>(callers);
            const std::string& directory = shelf.filled(entities);
            auto puts = std::make_unique<Puts>(directory, callers, synced);
            pair->record_bytes = puts->bytes_each();
            pair->second = std::move(puts);
            pair->first = std::make_unique<Decisions>(
                directory,
                DecisionOptions{.entities = entities, .callers = callers, .synced = synced});
            return pair;
          }};
}

PairCase large_beside_small(const std::string& caches, bool held) {
  constexpr std::size_t kLarge = 1'000'000;
  const std::size_t large = shrunk(kLarge);
  constexpr int kChunk = 1000;
  return {"large_beside_small/" + caches + "/" + std::to_string(kLarge), 1, kChunk,
          [=](Shelf& shelf) {
            auto pair = std::make_unique<Pair>(1);
            auto decisions = [&](std::size_t entities) {
              return std::make_unique<Decisions>(
                  shelf.filled(entities), DecisionOptions{.entities = entities, .held = held});
            };
            pair->first = decisions(large);
            pair->second = decisions(std::max<std::size_t>(large / 100, 1));
            return pair;
          }};
}

std::vector<PairCase> pair_cases() {
  constexpr int kChunk = 1000;
  constexpr int kSyncedChunk = 20;
  std::vector<PairCase> cases;
  for (std::size_t entities : {100, 100'000}) {
    for (int callers : {1, 2}) {
      cases.push_back(beside_put("beside_put", entities, callers, kChunk, false));
    }
  }
  if (can_sync<StoreOptions>()) {
    for (int callers : {1, 16, 64}) {
      cases.push_back(beside_put("synced_beside_put", 10'000, callers, kSyncedChunk, true));
    }
  }
  if (can_hold<StoreOptions>()) cases.push_back(large_beside_small("held", true));
  cases.push_back(large_beside_small("default", false));
  return cases;
}

}  // namespace
}  // namespace stint::bench

int main(int argc, char** argv) {
  using namespace stint::bench;
  const std::vector<PairCase> cases = pair_cases();
  Stage stage;
  for (const PairCase& one : cases) {
    benchmark::RegisterBenchmark(one.name.c_str(),
                                 [&](benchmark::State& state) { measure(state, stage, one); })
        ->Threads(one.callers)
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  }
  return run_benchmarks(argc, argv);
}
