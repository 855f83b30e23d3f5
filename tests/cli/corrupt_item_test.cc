// What the program says of a stored item that it cannot understand, and that other items go on.
#include <gtest/gtest.h>

#include <unistd.h>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/exit_codes.h"
#include "cli/run.h"
#include "schema/keys.h"
#include "store/rocksdb/rocksdb_engine.h"

namespace stint::cli {
namespace {

class CliCorruptItem : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "stint-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    ASSERT_EQ(stint({"limits", "set", "--resource", "api", "rpm:60/min"}), kExitOk);
    for (const char* entity : {"broken", "sound"}) {
      ASSERT_EQ(stint({"acquire", entity, "api", "--consume", "rpm=1"}), kExitOk);
    }
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  // The exit code; what was printed is left in `answer_`.
  int stint(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--json", "--now", "2027-01-13T12:00:00Z", "--store",
                                         (directory_ / "data").string()});
    std::ostringstream out;
    std::ostringstream err;
    int code = run(std::move(arguments), out, err, Terminal());
    answer_ = nlohmann::json::parse(out.str());
    EXPECT_EQ(err.str(), "");
    return code;
  }

  std::string error_code() const { return answer_.at("error").at("code").get<std::string>(); }

  // Replaces one attribute of one item behind the program's back.
  template <typename T>
  void overwrite(const std::function<store::Key(std::string_view ns)>& key_in,
                 const char* attribute, T value) {
    Result<std::shared_ptr<store::Engine>> engine =
        store::open_rocksdb_engine((directory_ / "data").string(), {false, false});
    ASSERT_TRUE(engine.ok()) << engine.error().message();
    store::ImagePtr name = get(**engine, schema::namespace_name_key("default"));
    ASSERT_TRUE(name);
    auto id = name->string(store::intern("namespace_id"));
    ASSERT_TRUE(id.has_value());
    store::ImagePtr item = get(**engine, key_in(*id));
    ASSERT_TRUE(item);
    ASSERT_TRUE(item->has(store::intern(attribute)));
    store::ImagePtr broken =
        store::ImageBuilder(*item).set(store::intern(attribute), value).build();
    store::PutRequest put(broken, nullptr);
    store::Call call{&put, {}};
    (*engine)->execute({&call, 1});
    ASSERT_EQ(std::get<store::WriteReply>(call.reply).outcome, store::Outcome::kOk);
  }

  nlohmann::json answer_;

 private:
  static store::ImagePtr get(store::Engine& engine, const store::Key& key) {
    store::GetRequest request(key, store::Consistency::kStrong);
    store::Call call{&request, {}};
    engine.execute({&call, 1});
    return std::get<store::GetReply>(call.reply).image;
  }

  std::filesystem::path directory_;
};

TEST_F(CliCorruptItem, BucketFailsAloneWithCode6) {
  overwrite([](std::string_view ns) { return schema::bucket_key(ns, "broken", "api", 0); },
            "b_rpm_tk", "many");
  EXPECT_EQ(stint({"acquire", "broken", "api", "--consume", "rpm=1"}), kExitCorrupt);
  EXPECT_EQ(error_code(), "corrupt");
  EXPECT_EQ(stint({"available", "broken", "api"}), kExitCorrupt);
  EXPECT_EQ(stint({"explain", "broken", "api"}), kExitCorrupt);
  EXPECT_EQ(stint({"acquire", "sound", "api", "--consume", "rpm=1"}), kExitOk);
  EXPECT_EQ(answer_.at("limits").at(0).at("remaining"), 58);
}

TEST_F(CliCorruptItem, ConfigurationFailsAloneWithCode6) {
  ASSERT_EQ(stint({"limits", "set", "--resource", "other", "rpm:60/min"}), kExitOk);
  overwrite([](std::string_view ns) { return schema::config_key(ns, "", "api"); }, "l_rpm_cp",
            "many");
  EXPECT_EQ(stint({"limits", "get", "--resource", "api"}), kExitCorrupt);
  EXPECT_EQ(error_code(), "corrupt");
  EXPECT_EQ(stint({"acquire", "new", "api", "--consume", "rpm=1"}), kExitCorrupt);
  EXPECT_EQ(stint({"acquire", "new", "other", "--consume", "rpm=1"}), kExitOk);
}

TEST_F(CliCorruptItem, AnExpiryBeyondAllCalendarsIsShownAsTheirLastInstant) {
  constexpr std::int64_t kEndOf9999Ms = 253'402'300'799'000;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  overwrite([](std::string_view ns) { return schema::bucket_key(ns, "broken", "api", 0); }, "ttl",
            kMost);
  EXPECT_EQ(stint({"explain", "broken", "api"}), kExitOk);
  EXPECT_EQ(answer_.at("buckets").at(0).at("expires_at_ms"), kEndOf9999Ms);

  ASSERT_EQ(stint({"--audit", "entity", "create", "new"}), kExitOk);
  ASSERT_EQ(stint({"audit", "list", "new"}), kExitOk);
  std::string id = answer_.at("events").at(0).at("id").get<std::string>();
  overwrite([&](std::string_view ns) { return schema::audit_key(ns, "new", id); }, "ttl", kMost);
  EXPECT_EQ(stint({"audit", "list", "new"}), kExitOk);
  EXPECT_EQ(answer_.at("events").at(0).at("expires_at_ms"), kEndOf9999Ms);
}

}  // namespace
}  // namespace stint::cli
