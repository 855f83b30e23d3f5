// The durable engine below the decision: conditional updates of bucket items. durable_bench has
// whole decisions, and what the database takes of plain puts.
//
//     cmake --preset bench && cmake --build --preset bench --target rocksdb_bench
//     build/bench/bin/rocksdb_bench --benchmark_repetitions=5
//
// The items have the attributes of a bucket with a session quota and a rate. An update changes the
// numbers that a warm debit changes, under its condition. Entities are visited in an order without
// locality, each read once before: where writes wait for the disk, most would otherwise be met for
// the first time while time is taken. Files are in the directory for temporary files: TMPDIR says
// where.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "bench/bench_main.h"
#include "bench/world.h"
#include "store/engine.h"
#include "store/rocksdb/rocksdb_engine.h"

namespace stint::store {
namespace {

using bench::Order;
using bench::shrunk;
using bench::TemporaryDirectory;

AttrId a(const char* name) { return intern(name); }

Key key_of(std::size_t i) {
  return Key("aBcDeFgHiJk/BUCKET#entity-" + std::to_string(i) + "#api#0", "#STATE");
}

// The attributes of a bucket with two limits, in the lengths and magnitudes that they have.
ImagePtr bucket(std::size_t i) {
  std::string entity = "entity-" + std::to_string(i);
  ImageBuilder item(key_of(i));
  item.set(a("entity_id"), entity).set(a("resource"), "api").set(a("cascade"), false);
  item.set(a("rf"), std::int64_t{1'800'000'000'000}).set(a("shard_count"), std::int64_t{1});
  item.set(a("vu"), std::int64_t{1'831'536'000'000});
  item.set(a("ttl"), std::int64_t{1'831'536'000}).set(a("st_n"), std::int64_t{0x123456789abcde});
  for (const char* limit : {"b_session_", "b_rpm_"}) {
    std::string prefix = limit;
    for (const char* field : {"tk", "cp", "ra", "tc"}) {
      item.set(a((prefix + field).c_str()), std::int64_t{1'000'000'000'000});
    }
    item.set(a((prefix + "rp").c_str()), std::int64_t{1000});
  }
  item.set(a("b_session_ws"), std::int64_t{1'800'000'000'000});
  item.set(a("b_session_wa"), std::int64_t{1'800'000'000'000});
  item.set(a("b_session_rsa"), std::int64_t{31'536'000});
  item.set(index_pk(2), "aBcDeFgHiJk/RESOURCE#api").set(index_sk(2), "BUCKET#" + entity + "#0");
  item.set(index_pk(3), "aBcDeFgHiJk/ENTITY#" + entity).set(index_sk(3), "BUCKET#api#0");
  item.set(index_pk(4), "aBcDeFgHiJk").set(index_sk(4), "BUCKET#" + entity + "#api#0");
  return item.build();
}

// A warm debit in the locked form.
UpdateProgram debit() {
  UpdateProgram program;
  program.condition.require(Term{Test::kItemExists});
  for (const char* name : {"b_session_tk", "b_rpm_tk"}) {
    program.condition.require(Term{Test::kGreaterOrEqual, a(name), Operand::number_param(0)});
    program.actions.push_back({Change::kAdd, a(name), Operand::number_param(1)});
  }
  for (const char* name : {"b_session_tc", "b_rpm_tc"}) {
    program.actions.push_back({Change::kAdd, a(name), Operand::number_param(0)});
  }
  program.actions.push_back({Change::kSet, a("rf"), Operand::number_param(2)});
  program.actions.push_back({Change::kSet, a("st_n"), Operand::number_param(3)});
  return program;
}

/// What the threads of one measurement share.
struct World {
  TemporaryDirectory directory;
  std::shared_ptr<Engine> engine;
  std::vector<Key> keys;
  UpdateProgram program = debit();
};
std::unique_ptr<World> world;

void open_engine(const benchmark::State& state) {
  world = std::make_unique<World>();
  RocksDbOptions options;
  options.synced = state.range(1) != 0;
  // Filled without waiting for the disk.
  RocksDbOptions filling;
  std::shared_ptr<Engine> engine = open_rocksdb_engine(world->directory.path(), filling).value();
  const std::size_t entities = shrunk(static_cast<std::size_t>(state.range(0)));
  for (std::size_t i = 0; i < entities; ++i) {
    world->keys.push_back(key_of(i));
    PutRequest put(bucket(i), nullptr, {});
    Call call{&put, {}};
    engine->execute(std::span(&call, 1));
    bench::require(std::get<WriteReply>(call.reply).outcome == Outcome::kOk, "an item was not put");
  }
  engine.reset();
  world->engine = open_rocksdb_engine(world->directory.path(), options).value();
  for (const Key& key : world->keys) {
    GetRequest get(key, Consistency::kStrong);
    Call call{&get, {}};
    world->engine->execute(std::span(&call, 1));
  }
}

void close_world(const benchmark::State&) { world.reset(); }

void engine_update(benchmark::State& state) {
  Order order(world->keys.size(), static_cast<std::uint64_t>(state.thread_index()) + 1);
  std::int64_t now = 1'800'000'000'000;
  std::vector<std::int64_t> numbers = {1000, -1000, now, 0};
  Params params{numbers, {}};
  for (auto _ : state) {
    numbers[2] = ++now;
    numbers[3] =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(now) * 0x9e3779b97f4a7c15u >> 12);
    UpdateRequest update(world->keys[order.next()], world->program, params);
    Call call{&update, {}};
    world->engine->execute(std::span(&call, 1));
    if (std::get<WriteReply>(call.reply).outcome != Outcome::kOk) {
      state.SkipWithError(std::get<WriteReply>(call.reply).message.c_str());
      break;
    }
  }
  state.SetItemsProcessed(state.iterations());
}

constexpr int kProcess = 0;
constexpr int kMachine = 1;

BENCHMARK(engine_update)
    ->Setup(open_engine)
    ->Teardown(close_world)
    ->ArgNames({"entities", "synced"})
    ->Args({10'000, kProcess})
    ->Args({100'000, kProcess})
    ->Args({1'000'000, kProcess})
    ->UseRealTime();
BENCHMARK(engine_update)
    ->Setup(open_engine)
    ->Teardown(close_world)
    ->ArgNames({"entities", "synced"})
    ->Args({100'000, kProcess})
    ->Threads(2)
    ->UseRealTime();
BENCHMARK(engine_update)
    ->Setup(open_engine)
    ->Teardown(close_world)
    ->ArgNames({"entities", "synced"})
    ->Args({10'000, kMachine})
    ->Threads(1)
    ->Threads(2)
    ->Threads(64)
    ->UseRealTime();

}  // namespace
}  // namespace stint::store

int main(int argc, char** argv) { return stint::bench::run_benchmarks(argc, argv); }
