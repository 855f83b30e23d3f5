// Makes the small store that stands for one directory format in the tests of upgrades.
//
//     build/dev/tests/make_store DIRECTORY
//     tests/formats/pack NUMBER           # both steps: makes it and packs it beside this file
//
// Run once, by the last program that writes the format; never for a format that is written still.
// DIRECTORY/store is the store, DIRECTORY/items.txt every item of it in DynamoDB's JSON, one a
// line.
#include <rocksdb/db.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "stint/stint.h"
#include "store/image.h"
#include "testing/fake_clock.h"

namespace stint::test {
namespace {

using namespace std::chrono_literals;

void fill(const std::string& directory) {
  FakeClock clock(TimePoint(Millis(1'804'680'000'000)));  // 2027-03-10T12:00Z
  LimiterOptions options;
  options.clock = &clock;
  options.seed = 1;
  {
    Store store = open_embedded(directory).value();
    LimiterOptions other = options;
    other.name_space = "tenant";
    Limiter tenant(store, other);
    tenant.set_limits(Scope::resource("api"), {Limit::per_minute("rpm", 60)}).value();
    tenant.acquire({"only", "api", {{"rpm", 7}}}).value();
  }
  // Opened again, so that there are tables as well as a log.
  Store store = open_embedded(directory).value();
  Limiter limiter(store, options);
  SetLimitsOptions allow;
  allow.on_unavailable = OnUnavailable::kAllow;
  limiter.set_limits(Scope::system(), {Limit::per_minute("rpm", 600)}, allow).value();
  limiter
      .set_limits(
          Scope::resource("chat"),
          {Limit::session("session", 10'000, 5h), Limit::per_minute("rpm", 60),
           Limit::calendar("month", 1'000'000, "0 0 1 * *", "Europe/Berlin")
               .value()
               .with_schedule({LevelEntry::scaled("* 0-7 * * *", 0.5).value()}, "Europe/Berlin")})
      .value();
  limiter.create_entity("org", {.name = "An organisation", .metadata = {{"plan", "gold"}}}).value();
  limiter
      .set_limits("org", "chat",
                  {Limit::session("session", 50'000, 24h).value().as_soft(),
                   Limit::per_minute("rpm", 1000)})
      .value();
  limiter
      .set_limits(Scope::entity("closed"), {Limit::per_minute("rpm", 5)},
                  {.access = AccessPolicy::kDisabled})
      .value();
  for (int i = 0; i < 60; ++i) {
    std::string id = "user-" + std::to_string(100 + i);
    EntityOptions entity;
    if (i % 3 == 0) {
      entity.parent = "org";
      entity.cascade = true;
    }
    if (i % 2 == 0 || i % 3 == 0) limiter.create_entity(id, entity).value();
    if (i % 5 == 0) limiter.set_limits(id, "chat", {Limit::session("session", 777, 1h)}).value();
    clock.advance(1s);
    Decision decision = limiter.acquire({id, "chat", {{"session", 10 + i}}}).value();
    if (i % 4 == 0) {
      decision.lease().adjust("session", 5).value();
      decision.lease().settle().value();
    }
    limiter.acquire({id, "other", {{"rpm", 3}}}).value();
  }
  limiter.delete_entity("user-158").value();
}

void dump(const std::string& directory, const std::string& to) {
  rocksdb::DB* opened = nullptr;
  if (!rocksdb::DB::OpenForReadOnly(rocksdb::Options(), directory, &opened).ok()) std::abort();
  std::unique_ptr<rocksdb::DB> db(opened);
  std::ofstream out(to);
  std::unique_ptr<rocksdb::Iterator> at(db->NewIterator(rocksdb::ReadOptions()));
  for (at->Seek("t"); at->Valid() && at->key()[0] == 't'; at->Next()) {
    rocksdb::Slice value = at->value();
    out << store::to_dynamo_json(**store::deserialize(std::string_view(value.data(), value.size())))
        << '\n';
  }
  if (!out.flush()) std::abort();
}

}  // namespace
}  // namespace stint::test

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_store DIRECTORY\n");
    return 2;
  }
  std::string directory = argv[1];
  std::filesystem::create_directories(directory);
  stint::test::fill(directory + "/store");
  stint::test::dump(directory + "/store", directory + "/items.txt");
  return 0;
}
