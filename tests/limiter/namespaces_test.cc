// Looking at the namespaces of a store, and registering them beforehand (rules 1.5, decision 24).
#include "stint/namespaces.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "limiter/store_handle.h"
#include "schema/keys.h"
#include "schema/records.h"
#include "stint/limiter.h"
#include "store/memory/memory_engine.h"
#include "testing/faulty_store.h"
#include "tests/limiter/support.h"

namespace stint::test {
namespace {

class Namespaces : public ::testing::TestWithParam<std::string> {
 protected:
  static constexpr TimePoint kAt = from_epoch_ms(1'804'680'000'000);

  static store::ImagePtr get(store::Engine& engine, const store::Key& key) {
    store::GetRequest request(key, store::Consistency::kStrong);
    store::Call call;
    call.request = &request;
    engine.execute(std::span<store::Call>(&call, 1));
    return std::get<store::GetReply>(call.reply).image;
  }
  void put(const store::ImagePtr& item) {
    store::PutRequest request(item, nullptr);
    store::Call call;
    call.request = &request;
    faulty->execute(std::span<store::Call>(&call, 1));
  }

  TempDirectory directory;
  std::shared_ptr<FaultyStore> faulty =
      std::make_shared<FaultyStore>(open_engine(GetParam(), directory.path()));
  Store store = limiter::open_store(faulty, {}).value();
};
STINT_ON_EVERY_STORE(Namespaces);

TEST_P(Namespaces, RegistrationIsFoundListedAndUsed) {
  NamespaceRegistration made = register_namespace(store, "tenant-b", kAt).value();
  EXPECT_TRUE(made.is_new);
  EXPECT_EQ(made.info.name, "tenant-b");
  EXPECT_EQ(made.info.id.size(), 11u);
  EXPECT_EQ(made.info.status, NamespaceStatus::kActive);
  EXPECT_EQ(show(made.info.created_at), show(kAt));
  register_namespace(store, "tenant-a", kAt).value();

  NamespaceInfo found = find_namespace(store, "tenant-b").value();
  EXPECT_EQ(found.id, made.info.id);
  std::vector<NamespaceInfo> all = list_namespaces(store).value().namespaces;
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "tenant-a");
  EXPECT_EQ(all[1].name, "tenant-b");

  LimiterOptions options;
  options.name_space = "tenant-b";
  Limiter limiter(store, options);
  limiter.create_entity(kUser).value();
  EXPECT_TRUE(get(*faulty, schema::entity_key(made.info.id, kUser)));
}

TEST_P(Namespaces, WrongArgumentsRegisterNone) {
  LimiterOptions options;
  options.name_space = "unheard";
  Limiter limiter(store, options);
  faulty->reset_counters();
  const auto is_refused = [](const auto& result) {
    return !result.ok() && result.error().code() == ErrorCode::kInvalidArgument;
  };
  EXPECT_TRUE(is_refused(limiter.available("", kApi)));
  EXPECT_TRUE(is_refused(limiter.explain(kUser, "")));
  EXPECT_TRUE(is_refused(limiter.create_entity("")));
  EXPECT_TRUE(is_refused(limiter.get_entity("")));
  EXPECT_TRUE(is_refused(limiter.delete_entity("")));
  EXPECT_TRUE(is_refused(limiter.set_limits(Scope::entity(""), {Limit::per_minute("rpm", 1)})));
  EXPECT_TRUE(is_refused(limiter.acquire({.entity = "", .resource = kApi, .consume = {{"r", 1}}})));
  EXPECT_EQ(faulty->requests(), 0);
  EXPECT_TRUE(list_namespaces(store).value().namespaces.empty());
}

TEST_P(Namespaces, RepetitionAnswersWhatIsThere) {
  NamespaceRegistration first = register_namespace(store, "tenant", kAt).value();
  faulty->reset_counters();
  NamespaceRegistration again = register_namespace(store, "tenant", kAt + 1h).value();
  EXPECT_FALSE(again.is_new);
  EXPECT_EQ(again.info.id, first.info.id);
  EXPECT_EQ(show(again.info.created_at), show(kAt));
  EXPECT_EQ(faulty->requests(), 1);
}

TEST_P(Namespaces, RecordsAreAsTheOtherPackageHasThem) {
  NamespaceInfo info = register_namespace(store, "tenant", kAt).value().info;
  for (const store::Key& key :
       {schema::namespace_name_key("tenant"), schema::namespace_id_key(info.id)}) {
    store::ImagePtr item = get(*faulty, key);
    ASSERT_TRUE(item) << key.sk();
    EXPECT_EQ(item->pk(), "_/SYSTEM#");
    EXPECT_EQ(item->string(store::index_pk(4)), "_");
    EXPECT_EQ(item->string(store::index_sk(4)), "_/SYSTEM#");
    EXPECT_EQ(item->string(store::intern("namespace_id")), info.id);
    EXPECT_EQ(item->string(store::intern("namespace_name")), "tenant");
    EXPECT_EQ(item->string(store::intern("status")), "active");
    EXPECT_EQ(item->string(store::intern("created_at")), "2027-03-10T12:00:00Z");
  }
}

TEST_P(Namespaces, DeletedOnesAreListedAndNotFound) {
  NamespaceInfo info = register_namespace(store, "tenant", kAt).value().info;
  schema::NamespaceRecord record{info.id, "tenant", schema::NamespaceState::kDeleted,
                                 "2027-03-10T12:00:00Z", "2027-03-10T13:00:00Z"};
  put(schema::encode_namespace_by_id(record));
  store::Key by_name = schema::namespace_name_key("tenant");
  store::DeleteRequest remove(by_name, nullptr);
  store::Call call;
  call.request = &remove;
  faulty->execute(std::span<store::Call>(&call, 1));

  EXPECT_EQ(find_namespace(store, "tenant").error().code(), ErrorCode::kNotFound);
  NamespaceInfo listed = list_namespaces(store).value().namespaces.at(0);
  EXPECT_EQ(listed.status, NamespaceStatus::kDeleted);
  EXPECT_EQ(show(listed.deleted_at), show(kAt + 1h));
  NamespaceRegistration anew = register_namespace(store, "tenant", kAt + 2h).value();
  EXPECT_TRUE(anew.is_new);
  EXPECT_NE(anew.info.id, info.id);
  EXPECT_EQ(list_namespaces(store).value().namespaces.size(), 2u);
}

TEST_P(Namespaces, ARecordThatCannotBeUnderstoodHidesNoOther) {
  NamespaceInfo odd = register_namespace(store, "odd", kAt).value().info;
  NamespaceInfo old = register_namespace(store, "old", kAt).value().info;
  register_namespace(store, "sound", kAt).value();
  auto spoil = [this](const NamespaceInfo& info, const char* attribute, const char* text) {
    store::ImagePtr item = get(*faulty, schema::namespace_id_key(info.id));
    put(store::ImageBuilder(*item).set(store::intern(attribute), text).build());
  };
  spoil(odd, "status", "half");
  spoil(old, "created_at", "2027-03-10T12:00:00+00:00");

  NamespaceList list = list_namespaces(store).value();

  ASSERT_EQ(list.namespaces.size(), 1u);
  EXPECT_EQ(list.namespaces.front().name, "sound");
  ASSERT_EQ(list.unreadable.size(), 2u);
  EXPECT_NE(list.unreadable[0].find("#NSID#" + odd.id + ": status"), std::string::npos);
  EXPECT_NE(list.unreadable[1].find("\"old\""), std::string::npos);
}

TEST_P(Namespaces, ManyAreListedPageByPage) {
  std::set<std::string> ids;
  for (int i = 0; i < 250; ++i) {
    ids.insert(register_namespace(store, "t" + std::to_string(i), kAt).value().info.id);
  }
  EXPECT_EQ(ids.size(), 250u);
  for (const std::string& id : ids) EXPECT_NE(id.front(), '-');
  EXPECT_EQ(list_namespaces(store).value().namespaces.size(), 250u);
}

TEST_P(Namespaces, NamesAreChecked) {
  for (const char* wrong : {"", "_", "a\tb"}) {
    EXPECT_EQ(register_namespace(store, wrong).error().code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(find_namespace(store, wrong).error().code(), ErrorCode::kInvalidArgument);
  }
  EXPECT_TRUE(list_namespaces(store).value().namespaces.empty());
}

TEST_P(Namespaces, ALostReplyMakesNoSecondOne) {
  faulty->plan(Fault::reply_lost().on(RequestKind::kTransact));
  NamespaceRegistration made = register_namespace(store, "tenant", kAt).value();
  EXPECT_TRUE(made.is_new);
  EXPECT_EQ(list_namespaces(store).value().namespaces.size(), 1u);
  EXPECT_EQ(find_namespace(store, "tenant").value().id, made.info.id);
}

TEST_P(Namespaces, OthersInTheWayAreWaitedForThreeTimes) {
  faulty->plan(Fault::conflict().on(RequestKind::kTransact));
  EXPECT_TRUE(register_namespace(store, "one", kAt).value().is_new);
  faulty->plan(Fault::conflict().on(RequestKind::kTransact).onwards());
  EXPECT_EQ(register_namespace(store, "two", kAt).error().code(), ErrorCode::kConflict);
  faulty->heal();
  EXPECT_EQ(list_namespaces(store).value().namespaces.size(), 1u);
}

class NamespaceInUse : public LimiterTest {};
STINT_ON_EVERY_STORE(NamespaceInUse);

TEST_P(NamespaceInUse, TrafficDoesNotRegisterADeletedNamespaceAgain) {
  limiter->set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10)}).value();
  AcquireRequest request{.entity = kUser, .resource = kApi, .consume = {{"rph", 1}}};
  Lease open = std::move(limiter->acquire(request).value().lease());
  open.adjust("rph", MilliTokens(1'000)).value();
  store::Key by_name = schema::namespace_name_key("default");
  std::string id = name_space_id();
  store::ImagePtr registered = item(by_name);
  for (const store::Key& key : {by_name, bucket_key(), schema::config_key(id, "", kApi)}) {
    delete_item(key);
  }

  for (int i = 0; i < 2; ++i) {
    Result<Decision> refused = limiter->acquire(request);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::kNotFound);
    EXPECT_NE(refused.error().reason().find("\"default\" was deleted"), std::string::npos);
  }
  EXPECT_EQ(open.settle().error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(limiter->get_limits(Scope::resource(kApi)).error().code(), ErrorCode::kNotFound);
  EXPECT_FALSE(item(by_name));

  put_item(registered);
  limiter->set_limits(Scope::resource(kApi), {Limit::per_hour("rph", 10)}).value();
  EXPECT_TRUE(limiter->acquire(request).value());
}

TEST_P(NamespaceInUse, ReadersRegisterNoNamespace) {
  LimiterOptions options = this->options();
  options.name_space = "mistyped";
  options.register_name_space = false;
  Limiter reader = another_limiter(options);
  EXPECT_EQ(reader.available(kUser, kApi).error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(reader.create_entity(kUser).error().code(), ErrorCode::kNotFound);
  EXPECT_FALSE(item(schema::namespace_name_key("mistyped")));

  options.register_name_space = true;
  another_limiter(options).create_entity(kUser).value();
  EXPECT_TRUE(reader.get_entity(kUser));
}

}  // namespace
}  // namespace stint::test
