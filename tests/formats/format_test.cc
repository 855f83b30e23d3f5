// Stores of older formats, as the programs of their time left them.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "stint/stint.h"
#include "store/image.h"
#include "store/rocksdb/rocksdb_engine.h"
#include "testing/fake_clock.h"
#include "tests/support/table.h"
#include "tests/support/temp_directory.h"

namespace stint::test {
namespace {

using namespace std::chrono_literals;

// The instant at which tests/formats/make_store.cc was through with it.
const TimePoint kLeft{Millis(1'804'680'060'000)};

class StoreOfFormat1 : public ::testing::Test {
 protected:
  StoreOfFormat1() {
    std::string unpack = "tar -C '" + directory_.path() +
                         "' -xzf '" STINT_SOURCE_DIR "/tests/formats/format-1.tar.gz'";
    if (std::system(unpack.c_str()) != 0) ADD_FAILURE() << unpack;
  }

  std::string path() const { return directory_.path() + "/store"; }

  // Every item in DynamoDB's JSON, as it was stored.
  std::vector<std::string> stored() const {
    std::ifstream file(directory_.path() + "/items.txt");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  Store open() {
    StoreOptions options;
    options.create_if_missing = false;
    options.clock = &clock;
    return open_embedded(path(), options).value();
  }

  LimiterOptions limiter_options() {
    LimiterOptions options;
    options.clock = &clock;
    return options;
  }

  FakeClock clock{kLeft};

 private:
  TempDirectory directory_;
};

TEST_F(StoreOfFormat1, EveryItemIsReadAsItWasStored) {
  Table table(store::open_rocksdb_engine(path(), {}).value());
  std::vector<std::string> items = stored();
  ASSERT_EQ(items.size(), 187u);
  std::size_t indexed = 0;
  for (const std::string& line : items) {
    store::ImagePtr item = store::from_dynamo_json(line).value();
    EXPECT_EQ(store::to_dynamo_json(*table.image(item->key())), line);
    for (int number = 1; number <= store::kIndexCount; ++number) {
      std::optional<std::string_view> partition = item->string(store::index_pk(number));
      std::optional<std::string_view> sort = item->string(store::index_sk(number));
      if (!partition || !sort) continue;
      ++indexed;
      bool found = false;
      auto index = static_cast<store::Index>(number);
      store::QueryReply entries = table.query(index, std::string(*partition), std::string(*sort));
      for (const store::ImagePtr& entry : entries.images) found |= entry->key() == item->key();
      EXPECT_TRUE(found) << line << " in index " << number;
    }
  }
  EXPECT_GT(indexed, items.size());
}

TEST_F(StoreOfFormat1, MeansWhatItMeant) {
  Store store = open();
  Limiter limiter(store, limiter_options());
  // The figures of make_store.cc.
  for (int i = 0; i < 58; ++i) {
    std::string id = "user-" + std::to_string(100 + i);
    Availability other = limiter.available(id, "other").value();
    ASSERT_FALSE(other.limits.empty()) << id;
    EXPECT_EQ(other.limits[0].capacity, MilliTokens(600'000)) << id;
    Availability chat = limiter.available(id, "chat").value();
    for (const LimitStatus& status : chat.limits) {
      if (status.entity != id || status.name != "session") continue;
      std::int64_t capacity = i % 5 == 0 ? 777 : 10'000;
      std::int64_t taken = 10 + i + (i % 4 == 0 ? 5 : 0);
      EXPECT_EQ(status.remaining, MilliTokens(1000 * (capacity - taken))) << id;
      EXPECT_EQ(status.resets_at,
                kLeft - 60s + std::chrono::seconds(i + 1) + (i % 5 == 0 ? Millis(1h) : Millis(5h)))
          << id;
    }
  }
  Entity org = limiter.get_entity("org").value();
  EXPECT_EQ(org.name, "An organisation");
  EXPECT_EQ(org.metadata.at("plan"), "gold");
  EXPECT_EQ(limiter.list_children("org").value().entities.size(), 20u);
  EXPECT_EQ(limiter.get_entity("user-158").error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(limiter.acquire({"closed", "chat", {{"rpm", 1}}}).value().outcome(),
            Outcome::kDisabled);
  LimiterOptions tenant_options = limiter_options();
  tenant_options.name_space = "tenant";
  Limiter tenant(store, tenant_options);
  EXPECT_EQ(tenant.explain("only", "api").value().buckets.at(0).limits.at(0).consumed,
            MilliTokens(7000));
}

TEST_F(StoreOfFormat1, GoesOnWorking) {
  auto consumed = [](Limiter& limiter) {
    std::int64_t session = -1;
    for (const auto& limit : limiter.explain("user-101", "chat").value().buckets.at(0).limits) {
      if (limit.limit.name() == "session") session = limit.consumed.count();
    }
    return session;
  };
  std::int64_t before = 0;
  {
    Limiter limiter(open(), limiter_options());
    before = consumed(limiter);
    ASSERT_TRUE(static_cast<bool>(limiter.acquire({"user-101", "chat", {{"session", 9}}}).value()));
    limiter.create_entity("new", {.parent = "org"}).value();
    limiter.set_limits("new", "chat", {Limit::per_minute("rpm", 7)}).value();
    limiter.delete_entity("user-100").value();
  }
  Limiter limiter(open(), limiter_options());
  EXPECT_EQ(before, 11'000);
  EXPECT_EQ(consumed(limiter), before + 9'000);
  EXPECT_EQ(limiter.list_children("org").value().entities.size(), 20u);
  EXPECT_EQ(limiter.resolve_limits("new", "chat").value().limits.size(), 1u);
  EXPECT_EQ(limiter.get_entity("user-100").error().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace stint::test
