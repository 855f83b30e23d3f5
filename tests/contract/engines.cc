#include "tests/contract/engines.h"

#include <atomic>
#include <string>
#include <utility>

#include "store/memory/memory_engine.h"
#include "testing/faulty_store.h"
#ifdef STINT_TEST_ROCKSDB
#include "store/rocksdb/rocksdb_engine.h"
#include "tests/support/temp_directory.h"
#endif
#ifdef STINT_TEST_DYNAMODB
#include "store/dynamodb/dynamodb_engine.h"
#include "tests/support/dynamodb_table.h"
#endif

namespace stint::test {
namespace {

std::shared_ptr<store::Engine> make_memory(bool change_stream, store::IndexLayout layout) {
  store::Capabilities capabilities;
  capabilities.change_stream = change_stream;
  capabilities.index_layout = layout;
  return store::make_memory_engine(capabilities);
}

#ifdef STINT_TEST_ROCKSDB
std::shared_ptr<store::Engine> make_rocksdb(bool change_stream, std::size_t cached_images,
                                            bool synced = false) {
  auto directory = std::make_shared<TempDirectory>();
  store::RocksDbOptions options;
  options.change_stream = change_stream;
  options.cached_images = cached_images;
  options.synced = synced;
  std::shared_ptr<store::Engine> engine =
      store::open_rocksdb_engine(directory->path(), options).value();
  store::Engine* raw = engine.get();
  // The engine is closed before its directory goes.
  return std::shared_ptr<store::Engine>(
      raw, [engine = std::move(engine), directory](store::Engine*) mutable { engine.reset(); });
}
#endif

}  // namespace

std::vector<EngineFactory> engine_factories() {
  using store::IndexLayout;
  std::vector<EngineFactory> factories = {
      {"memory", [](bool stream) { return make_memory(stream, IndexLayout::kKeysOnly); }},
      {"memory_compatible",
       [](bool stream) { return make_memory(stream, IndexLayout::kCompatible); }},
      {"healthy_faulty_store",
       [](bool stream) {
         return std::make_shared<FaultyStore>(make_memory(stream, IndexLayout::kKeysOnly));
       }},
  };
#ifdef STINT_TEST_ROCKSDB
  factories.push_back({"rocksdb", [](bool stream) { return make_rocksdb(stream, 200'000); }});
  // So small a cache that nearly everything is read from the database.
  factories.push_back({"rocksdb_uncached", [](bool stream) { return make_rocksdb(stream, 1); }});
  factories.push_back(
      {"rocksdb_synced", [](bool stream) { return make_rocksdb(stream, 200'000, true); }});
#endif
#ifdef STINT_TEST_DYNAMODB
  const EngineTraits service = {.tells_transaction_images = false,
                                .takes_any_bytes = false,
                                .knows_last_page = false,
                                .binds_positions = false,
                                .prefixes_have_case = false,
                                .has_change_stream = false,
                                .fills_pages = false,
                                .charges_indexes_twice = false};
  factories.push_back(
      {"dynamodb", [](bool) { return new_table(IndexLayout::kCompatible); }, service});
  factories.push_back(
      {"dynamodb_lean", [](bool) { return new_table(IndexLayout::kKeysOnly); }, service});
#endif
  return factories;
}

}  // namespace stint::test
