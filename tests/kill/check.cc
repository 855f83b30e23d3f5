#include "tests/kill/check.h"

#include <rocksdb/db.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "limiter/store_handle.h"
#include "stint/stint.h"
#include "store/embedded/key_codec.h"
#include "store/image.h"
#include "store/rocksdb/records.h"
#include "store/rocksdb/rocksdb_engine.h"
#include "testing/fake_clock.h"
#include "tests/kill/worker.h"

namespace stint::test {
namespace {

struct Range {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

Range expected(Journal& journal, std::size_t entity, std::size_t limit) {
  Consumed& cell = journal.consumed[entity][limit];
  Range range{cell.acknowledged + cell.maybe_returned, cell.acknowledged + cell.maybe_taken};
  for (InFlight& call : journal.in_flight) {
    if (call.entity != static_cast<std::int64_t>(entity)) continue;
    std::int64_t delta = call.delta[limit];
    (delta > 0 ? range.high : range.low) += delta;
  }
  return range;
}

const LimitExplanation* find_limit(const BucketExplanation& bucket, const char* name) {
  for (const LimitExplanation& limit : bucket.limits) {
    if (limit.limit.name() == name) return &limit;
  }
  return nullptr;
}

void check_bucket(Limiter& limiter, Journal& journal, int number, Findings& findings) {
  auto entity = static_cast<std::size_t>(number);
  std::string name = entity_name(number);
  Result<Explanation> explained = limiter.explain(name, kResource);
  if (!explained) {
    findings.wrong.push_back(name + ": " + explained.error().message());
    return;
  }
  const BucketExplanation& bucket = explained->buckets.at(0);
  std::array<const char*, kLimits> limits = {kSession, kRate};
  for (std::size_t i = 0; i < kLimits; ++i) {
    const LimitExplanation* limit = find_limit(bucket, limits[i]);
    std::int64_t consumed = bucket.exists && limit != nullptr ? limit->consumed.count() : 0;
    Range range = expected(journal, entity, i);
    ++findings.checked;
    std::string found = name + " " + limits[i] + ": consumed " + std::to_string(consumed) +
                        " thousandths, expected " + std::to_string(range.low) + " to " +
                        std::to_string(range.high) + " tokens";
    if (consumed < range.low * 1000) findings.lost.push_back(found);
    if (consumed > range.high * 1000) findings.wrong.push_back(found);
    journal.consumed[entity][i].acknowledged = consumed / 1000;
    journal.consumed[entity][i].maybe_taken = 0;
    journal.consumed[entity][i].maybe_returned = 0;
  }

  Shared& end = journal.consumed[entity][0].window_end_ms;
  if (end == 0) return;
  ++findings.checked;
  const LimitExplanation* session = find_limit(bucket, kSession);
  bool there = bucket.exists && session != nullptr && session->window_start.has_value();
  std::int64_t start = there ? session->window_start->time_since_epoch().count() : 0;
  // A window that is over leaves nothing behind that would have to be there.
  if (end > journal.clock_ms && start < end - kWindowMs) {
    findings.lost.push_back(name + ": its window that ends at " + std::to_string(end));
  }
  if (!there || session->status.window != WindowState::kRunning) return;
  // What is left and what was taken are written together, always.
  ++findings.checked;
  std::int64_t taken = (kCapacity * 1000 - session->status.remaining.count());
  if (taken < 0 || taken > session->consumed.count()) {
    findings.wrong.push_back(name + ": " + std::to_string(taken) + " taken of its window, " +
                             std::to_string(session->consumed.count()) + " ever");
  }
}

void check_configuration(Limiter& limiter, Journal& journal, int thread, Findings& findings) {
  auto mine = static_cast<std::size_t>(thread);
  Result<ScopeConfig> config = limiter.get_limits(Scope::resource(own_resource(thread)));
  std::int64_t capacity =
      config && !config->limits.empty() ? config->limits[0].capacity().count() : 0;
  ++findings.checked;
  if (capacity != journal.capacity[mine] && capacity != journal.wanted_capacity[mine]) {
    findings.lost.push_back(own_resource(thread) + ": capacity " + std::to_string(capacity) +
                            " instead of " + std::to_string(journal.capacity[mine]));
  }
  journal.capacity[mine] = capacity;
  journal.wanted_capacity[mine] = capacity;
}

void check_created(Limiter& limiter, Journal& journal, int thread, Findings& findings) {
  auto mine = static_cast<std::size_t>(thread);
  for (std::int64_t i = 0; i < journal.begun[mine]; ++i) {
    std::string name = created_name(thread, i);
    Result<Entity> entity = limiter.get_entity(name);
    ++findings.checked;
    if (entity ? entity->parent != "parent" : entity.error().code() != ErrorCode::kNotFound) {
      findings.wrong.push_back(name + " is not what was created");
    }
    if (entity) continue;
    auto& absent = journal.absent[mine];
    if (std::find(absent.begin(), absent.end(), i + 1) != absent.end()) continue;
    if (i < journal.created[mine]) findings.lost.push_back("entity " + name);
    auto free = std::find(absent.begin(), absent.end(), 0);
    if (free != absent.end()) *free = i + 1;
  }
  // The next child makes new ones.
  journal.created[mine] = journal.begun[mine].load();
}

// Every item can be read, and every index says what the items say.
void check_records(const std::string& directory, Findings& findings) {
  rocksdb::DB* opened = nullptr;
  rocksdb::Status status = rocksdb::DB::OpenForReadOnly(rocksdb::Options(), directory, &opened);
  std::unique_ptr<rocksdb::DB> db(opened);
  if (!status.ok()) {
    findings.wrong.push_back("the files: " + status.ToString());
    return;
  }
  std::set<std::string> entries;
  std::set<std::string> wanted;
  std::unique_ptr<rocksdb::Iterator> at(db->NewIterator(rocksdb::ReadOptions()));
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    std::string key = at->key().ToString();
    if (key[0] != 't') {
      entries.insert(std::move(key));
      continue;
    }
    ++findings.checked;
    Result<store::ImagePtr> item =
        store::deserialize(std::string_view(at->value().data(), at->value().size()));
    if (!item || store::item_record_key((*item)->key()) != key) {
      findings.wrong.push_back("an item that cannot be read");
      continue;
    }
    for (int number = 1; number <= store::kIndexCount; ++number) {
      auto index = static_cast<store::Index>(number);
      std::optional<std::string> entry = store::encode_entry(**item, index);
      if (entry) wanted.insert(store::record_key(index, *entry));
    }
  }
  if (!at->status().ok()) findings.wrong.push_back("the files: " + at->status().ToString());
  if (entries != wanted) findings.wrong.push_back("the indexes do not agree with the items");
}

}  // namespace

Findings check_store(const std::string& directory, Journal& journal) {
  Findings findings;
  for (InFlight& call : journal.in_flight) findings.maybe += call.entity >= 0 ? 1 : 0;
  if (journal.refused != 0) findings.wrong.push_back("calls were refused that fit");
  journal.refused = 0;
  {
    StoreOptions options;
    options.create_if_missing = journal.opened == 0;
    store::RocksDbOptions engine_options;
    engine_options.create_if_missing = options.create_if_missing;
    Result<std::shared_ptr<store::Engine>> engine =
        store::open_rocksdb_engine(directory, engine_options);
    Result<Store> store =
        engine ? limiter::open_store(std::move(*engine), options) : Result<Store>(engine.error());
    if (!store) {
      auto& list = store.error().code() == ErrorCode::kNotFound ? findings.lost : findings.wrong;
      list.push_back("the store: " + store.error().message());
      return findings;
    }
    FakeClock clock{TimePoint(Millis(journal.clock_ms.load()))};
    LimiterOptions limiter_options;
    limiter_options.clock = &clock;
    limiter_options.ttl_multiplier = 0;
    limiter_options.timeout = Millis(60'000);
    Limiter limiter(*store, limiter_options);
    for (int i = 0; i < kEntities; ++i) check_bucket(limiter, journal, i, findings);
    for (int i = 0; i < kThreads; ++i) check_configuration(limiter, journal, i, findings);
    for (int i = 0; i < kThreads; ++i) check_created(limiter, journal, i, findings);
  }
  for (InFlight& call : journal.in_flight) call.entity = -1;
  check_records(directory, findings);
  return findings;
}

}  // namespace stint::test
