// Which programs may use a table together, and what may be used on it (decision 1, rules 5.11).
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "limiter/store_handle.h"
#include "schema/keys.h"
#include "schema/records.h"
#include "stint/limiter.h"
#include "store/memory/memory_engine.h"
#include "testing/faulty_store.h"
#include "tests/limiter/support.h"

namespace stint::test {
namespace {

class VersionGate : public ::testing::Test {
 protected:
  static constexpr const char* kTeam = "team";

  Result<Store> open(const StoreOptions& options = {}) {
    return limiter::open_store(engine, options);
  }
  Result<Store> open_existing() {
    StoreOptions options;
    options.create_if_missing = false;
    return open(options);
  }
  Limiter make_limiter() {
    LimiterOptions options;
    options.clock = &clock;
    return Limiter(open().value(), options);
  }
  store::ImagePtr item(const store::Key& key) {
    store::GetRequest request(key, store::Consistency::kStrong);
    store::Call call;
    call.request = &request;
    memory->execute(std::span<store::Call>(&call, 1));
    return std::get<store::GetReply>(call.reply).image;
  }
  void put(const store::ImagePtr& image) {
    store::PutRequest request(image, nullptr);
    store::Call call;
    call.request = &request;
    memory->execute(std::span<store::Call>(&call, 1));
  }
  schema::VersionRecord record() {
    return schema::decode_version(*item(schema::version_key())).value();
  }
  void edit_record(const std::function<void(schema::VersionRecord&)>& edit) {
    schema::VersionRecord changed = record();
    edit(changed);
    put(schema::encode_version(changed));
  }
  ErrorCode code_of(const Status& status) {
    return status.ok() ? ErrorCode::kCorrupt : status.error().code();
  }
  /// Opens the table with such versions in its record.
  Result<Store> open_with(const std::function<void(schema::VersionRecord&)>& edit) {
    edit_record(edit);
    return open();
  }
  static Status status_of(const Result<LimitsChange>& change) {
    return change ? Status() : Status(change.error());
  }
  Status set(Limiter& limiter, const LimitList& limits, const SetLimitsOptions& options = {}) {
    return status_of(limiter.set_limits(Scope::resource(kApi), limits, options));
  }
  bool configured() {
    std::string ns =
        schema::decode_namespace(*item(schema::namespace_name_key("default"))).value().id;
    return static_cast<bool>(item(schema::config_key(ns, "", kApi)));
  }

  FakeClock clock{instant("2027-03-10T12:00Z")};
  std::shared_ptr<store::Engine> memory = store::make_memory_engine(shared_table());
  std::shared_ptr<FaultyStore> engine = std::make_shared<FaultyStore>(memory);
};

const LimitList& plain() {
  static const LimitList limits{Limit::per_minute("rpm", 10)};
  return limits;
}
const LimitList& session() {
  static const LimitList limits{Limit::session("session", 10, 5h)};
  return limits;
}
const LimitList& soft() {
  static const LimitList limits{Limit::per_minute("rpm", 10).value().as_soft()};
  return limits;
}

TEST_F(VersionGate, ANewTableSaysAsWhatWeAct) {
  ASSERT_TRUE(open());
  EXPECT_EQ(record().schema_version, "0.10.0");
  EXPECT_EQ(record().lambda_version, "0.17.0");
  EXPECT_EQ(record().client_min_version, "0.0.0");
  engine->reset_counters();
  ASSERT_TRUE(open());
  EXPECT_EQ(engine->requests(), 2);
  EXPECT_EQ(engine->cost().write_units, 0);
}

TEST_F(VersionGate, ATableThatDemandsMoreIsRefused) {
  ASSERT_TRUE(open());
  for (const char* fits : {"0.17.0", "v0.17.0", "0.17.0rc1", "0.17.0+x", "0.1", "none", ""}) {
    EXPECT_TRUE(open_with([&](auto& version) { version.client_min_version = fits; })) << fits;
  }
  EXPECT_TRUE(open_with([](auto& version) { version.client_min_version.reset(); }));
  for (const char* newer : {"0.17.1", "0.18.0.dev1", "1.0"}) {
    Result<Store> refused = open_with([&](auto& version) { version.client_min_version = newer; });
    ASSERT_FALSE(refused) << newer;
    EXPECT_EQ(refused.error().code(), ErrorCode::kVersionMismatch);
    EXPECT_NE(refused.error().reason().find(newer), std::string::npos);
    EXPECT_NE(refused.error().reason().find("use a newer stint"), std::string::npos);
  }
}

TEST_F(VersionGate, SchemaOfAnotherGenerationIsRefused) {
  ASSERT_TRUE(open());
  EXPECT_TRUE(open_with([](auto& version) { version.schema_version = "0.99.3"; }));
  for (const char* other : {"1.0.0", "2", "new"}) {
    Result<Store> refused = open_with([&](auto& version) { version.schema_version = other; });
    ASSERT_FALSE(refused) << other;
    EXPECT_EQ(refused.error().code(), ErrorCode::kVersionMismatch);
  }
}

TEST_F(VersionGate, AnOldStreamConsumerIsRefusedAndAnUnknownOnePasses) {
  ASSERT_TRUE(open());
  for (const char* old : {"0.16.9", "0.16.9+local", "v0.3"}) {
    EXPECT_FALSE(open_with([&](auto& version) { version.lambda_version = old; })) << old;
  }
  for (const char* fits : {"0.17.0", "0.17.0.dev4", "1.2.3"}) {
    EXPECT_TRUE(open_with([&](auto& version) { version.lambda_version = fits; })) << fits;
  }
  EXPECT_TRUE(open_with([](auto& version) { version.lambda_version.reset(); }));
}

TEST_F(VersionGate, ATableOfTheOtherPackageIsOpenedAsWhatItIs) {
  put(schema::encode_version(schema::initial_version_record(clock.now())));

  Store store = open_existing().value();

  EXPECT_EQ(store.reset_rule(), ResetRule::kCompatible);
  EXPECT_EQ(store.handle()->record.burst_tolerance_divisor, 16);
  EXPECT_EQ(store.handle()->record.layout, store::IndexLayout::kCompatible);
  EXPECT_FALSE(item(schema::store_record_key()));
  StoreOptions other;
  other.reset_rule = ResetRule::kLocalDay;
  EXPECT_EQ(open(other).error().code(), ErrorCode::kVersionMismatch);
}

TEST_F(VersionGate, WhatIsNoTableOfEitherIsNotFound) {
  EXPECT_EQ(open_existing().error().code(), ErrorCode::kNotFound);
  EXPECT_FALSE(item(schema::version_key()));
}

TEST_F(VersionGate, ALostReplyToTheCreationIsLookedUp) {
  engine->plan(Fault::reply_lost().on(RequestKind::kTransact));
  EXPECT_TRUE(open());
  EXPECT_TRUE(item(schema::store_record_key()));
}

TEST_F(VersionGate, FeaturesRaiseTheMinimumOnceAndNeverLowerIt) {
  Limiter limiter = make_limiter();
  ASSERT_TRUE(set(limiter, plain()));
  EXPECT_EQ(record().client_min_version, "0.0.0");
  ASSERT_TRUE(set(limiter, session()));
  EXPECT_EQ(record().client_min_version, "0.15.0");
  ASSERT_TRUE(set(limiter, plain(), {.cascade = true}));
  EXPECT_EQ(record().client_min_version, "0.16.0");
  ASSERT_TRUE(set(limiter, session()));
  EXPECT_EQ(record().client_min_version, "0.16.0");
  ASSERT_TRUE(set(limiter, plain(), {.access = AccessPolicy::kDisabled}));
  ASSERT_TRUE(set(limiter, plain(), {.access = AccessPolicy::kEnforce}));
  EXPECT_EQ(record().client_min_version, "0.16.0");
  ASSERT_TRUE(set(limiter, plain(), {.access = AccessPolicy::kBypass}));
  EXPECT_EQ(record().client_min_version, "0.17.0");
  edit_record([](auto& version) { version.client_min_version = "0.16.0"; });
  ASSERT_TRUE(set(limiter, soft()));
  EXPECT_EQ(record().client_min_version, "0.17.0");
  edit_record([](auto& version) { version.client_min_version.reset(); });
  ASSERT_TRUE(set(limiter, session()));
  EXPECT_EQ(record().client_min_version, "0.15.0");
}

TEST_F(VersionGate, ADryRunAndWhatUsesNothingRaiseNothing) {
  Limiter limiter = make_limiter();
  ASSERT_TRUE(set(limiter, session(), {.dry_run = true}));
  EXPECT_EQ(record().client_min_version, "0.0.0");
  engine->reset_counters();
  ASSERT_TRUE(set(limiter, plain()));
  for (const LoggedCall& call : engine->log()) EXPECT_NE(call.sk, "#VERSION");
}

TEST_F(VersionGate, AFeatureThatTheStreamConsumerDoesNotKnowIsRefusedBeforeAnythingIsWritten) {
  Limiter limiter = make_limiter();
  ASSERT_TRUE(limiter.get_limits(Scope::system()).error().code() == ErrorCode::kNotFound);
  auto refused_with = [&](std::optional<std::string> consumer, const LimitList& limits,
                          const SetLimitsOptions& options = {}) {
    edit_record([&](auto& version) { version.lambda_version = consumer; });
    return code_of(set(limiter, limits, options)) == ErrorCode::kVersionMismatch;
  };
  for (const char* unfit : {"0.14.9", "nightly"}) EXPECT_TRUE(refused_with(unfit, session()));
  EXPECT_TRUE(refused_with(std::nullopt, session()));
  EXPECT_TRUE(refused_with("0.15.9", plain(), {.cascade = false}));
  EXPECT_TRUE(refused_with("0.16.9", soft()));
  EXPECT_TRUE(refused_with("0.16.9", plain(), {.access = AccessPolicy::kBypass}));
  EXPECT_TRUE(refused_with("0.14.9", session(), {.dry_run = true}));
  EXPECT_FALSE(configured());
  EXPECT_EQ(record().client_min_version, "0.0.0");
  EXPECT_FALSE(refused_with("0.15.0.dev1", session()));
  EXPECT_FALSE(refused_with("0.16.0", plain(), {.cascade = true}));
  EXPECT_TRUE(configured());
}

TEST_F(VersionGate, WithoutAVersionRecordNoFeatureIsUsed) {
  Limiter limiter = make_limiter();
  ASSERT_TRUE(set(limiter, plain()));
  store::Key key = schema::version_key();
  store::DeleteRequest request(key, nullptr);
  store::Call call;
  call.request = &request;
  memory->execute(std::span<store::Call>(&call, 1));
  EXPECT_EQ(code_of(set(limiter, session())), ErrorCode::kVersionMismatch);
  EXPECT_TRUE(set(limiter, plain()));
  EXPECT_EQ(open_existing().error().code(), ErrorCode::kCorrupt);
}

TEST_F(VersionGate, AVersionRecordThatIsGoneIsWrittenByACreation) {
  StoreOptions options;
  options.reset_rule = ResetRule::kLocalDay;
  open(options).value();
  store::ImagePtr own = item(schema::store_record_key());
  store::Key key = schema::version_key();
  store::DeleteRequest request(key, nullptr);
  store::Call call;
  call.request = &request;
  memory->execute(std::span<store::Call>(&call, 1));

  options.reset_rule = ResetRule::kCompatible;
  EXPECT_EQ(open(options).error().code(), ErrorCode::kVersionMismatch);
  EXPECT_FALSE(item(key));
  EXPECT_EQ(open_existing().error().code(), ErrorCode::kCorrupt);
  engine->plan(Fault::reply_lost().on(RequestKind::kTransact));
  EXPECT_EQ(open().value().reset_rule(), ResetRule::kLocalDay);
  EXPECT_EQ(record().client_min_version, "0.0.0");
  EXPECT_EQ(item(schema::store_record_key())->size_bytes(), own->size_bytes());
  EXPECT_TRUE(open_existing());
}

TEST_F(VersionGate, ARaiseThatOthersAreFasterWithIsTriedThreeTimes) {
  Limiter limiter = make_limiter();
  ASSERT_TRUE(set(limiter, plain()));
  for (int lost = 1; lost <= 2; ++lost) {
    edit_record([](auto& version) { version.client_min_version = "0.0.0"; });
    for (int i = 1; i <= lost; ++i) {
      engine->plan(Fault::conflict().on(RequestKind::kUpdate, i));
    }
    EXPECT_TRUE(set(limiter, session())) << lost;
    EXPECT_EQ(record().client_min_version, "0.15.0");
  }
  edit_record([](auto& version) { version.client_min_version = "0.0.0"; });
  engine->plan(Fault::conflict().on(RequestKind::kUpdate).onwards());
  EXPECT_EQ(code_of(set(limiter, soft())), ErrorCode::kConflict);
  engine->heal();
  EXPECT_FALSE(limiter.get_limits(Scope::resource(kApi)).value().limits.at(0).soft());

  engine->plan(Fault::reply_lost().on(RequestKind::kUpdate));
  EXPECT_TRUE(set(limiter, soft()));
  EXPECT_EQ(record().client_min_version, "0.17.0");
}

TEST_F(VersionGate, LimitsOfACallAreLookedIntoOnceAndRaiseNothing) {
  Limiter limiter = make_limiter();
  ASSERT_TRUE(set(limiter, plain()));
  auto acquire = [&](const LimitList& limits, const std::string& name) {
    return limiter.acquire(
        {.entity = kTeam, .resource = kApi, .consume = {{name, 1}}, .limits = limits});
  };
  auto version_reads = [&] {
    int count = 0;
    for (const LoggedCall& call : engine->log()) count += call.sk == "#VERSION" ? 1 : 0;
    return count;
  };
  engine->reset_counters();
  edit_record([](auto& version) { version.lambda_version = "0.14.0"; });
  EXPECT_EQ(acquire(session(), "session").error().code(), ErrorCode::kVersionMismatch);
  EXPECT_EQ(acquire(soft(), "rpm").error().code(), ErrorCode::kVersionMismatch);
  EXPECT_TRUE(acquire(plain(), "rpm").value());
  EXPECT_EQ(version_reads(), 2);
  edit_record([](auto& version) { version.lambda_version = "0.17.0"; });
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(acquire(session(), "session").value());
  EXPECT_EQ(version_reads(), 3);
  EXPECT_EQ(record().client_min_version, "0.0.0");
}

TEST(VersionGateElsewhere, EmbeddedStoresAskNothing) {
  auto engine = std::make_shared<FaultyStore>(store::make_memory_engine());
  Limiter limiter(limiter::open_store(engine, {}).value(), {});
  engine->reset_counters();
  ASSERT_TRUE(limiter.set_limits(Scope::resource(kApi), soft(), {.cascade = true}).ok());
  for (const LoggedCall& call : engine->log()) EXPECT_NE(call.sk, "#VERSION");
}

TEST(VersionGateElsewhere, ATableForStintAloneHasNoGate) {
  store::Capabilities lean = shared_table();
  lean.index_layout = store::IndexLayout::kKeysOnly;
  auto engine = std::make_shared<FaultyStore>(store::make_memory_engine(lean));
  Limiter limiter(limiter::open_store(engine, {}).value(), {});
  engine->reset_counters();
  ASSERT_TRUE(limiter.set_limits(Scope::resource(kApi), session()).ok());
  for (const LoggedCall& call : engine->log()) EXPECT_NE(call.sk, "#VERSION");
}

}  // namespace
}  // namespace stint::test
