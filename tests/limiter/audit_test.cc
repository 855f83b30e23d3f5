// Events that changes leave: who did what to which entity or limits (rules 1.5, decision 31).
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "limiter/store_handle.h"
#include "schema/keys.h"
#include "schema/records.h"
#include "stint/limiter.h"
#include "store/memory/memory_engine.h"
#include "testing/faulty_store.h"
#include "tests/limiter/support.h"

namespace stint::test {
namespace {

class Audit : public LimiterTest {
 protected:
  Audit() {
    LimiterOptions options = this->options();
    options.audit = true;
    options.principal = "alice@example.org";
    use(options);
  }
  std::vector<AuditEvent> audit_of(const Scope& scope) {
    return limiter->list_audit_events(scope).value().events;
  }
  /// "action resource details" of every event, oldest first.
  std::vector<std::string> story_of(const Scope& scope) {
    std::vector<std::string> story;
    for (const AuditEvent& event : audit_of(scope)) {
      story.push_back(event.action + " " + event.resource.value_or("-") + " " + event.details);
    }
    return story;
  }
  using Story = std::vector<std::string>;
};
STINT_ON_EVERY_STORE(Audit);

TEST_P(Audit, EventSaysWhoDidWhatAndWhen) {
  limiter->create_entity(kUser, {.name = "User"}).value();

  std::vector<AuditEvent> found = audit_of(Scope::entity(kUser));

  ASSERT_EQ(found.size(), 1u);
  const AuditEvent& event = found.front();
  EXPECT_EQ(event.subject, kUser);
  EXPECT_EQ(event.action, "entity_created");
  EXPECT_EQ(show(event.at), show(clock.now()));
  EXPECT_EQ(event.principal, "alice@example.org");
  EXPECT_EQ(event.resource, std::nullopt);
  EXPECT_EQ(event.details, R"({"cascade":false,"metadata":{},"name":"User","parent_id":null})");
  EXPECT_EQ(show(event.expires_at), show(clock.now() + 90 * 24h));
  EXPECT_EQ(event.id.size(), 26u);
}

TEST_P(Audit, ItemIsAsTheOtherPackageHasIt) {
  limiter->create_entity(kUser).value();
  std::string id = audit_of(Scope::entity(kUser)).front().id;
  std::string ns = name_space_id();

  store::ImagePtr stored = item(schema::audit_key(ns, kUser, id));

  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->pk(), ns + "/AUDIT#user");
  EXPECT_EQ(stored->sk(), "#AUDIT#" + id);
  EXPECT_EQ(stored->string(store::index_pk(4)), ns);
  EXPECT_EQ(stored->string(store::index_sk(4)), stored->pk());
  EXPECT_FALSE(stored->has(store::index_pk(3)));
  EXPECT_EQ(stored->string(store::intern("timestamp")), "2027-03-10T12:00:00Z");
  EXPECT_EQ(stored->number(store::intern("ttl")), 1'804'680'000 + 90 * 86'400);
}

TEST_P(Audit, LifeOfAnEntity) {
  limiter->create_entity("org").value();
  limiter->create_entity(kUser, {.parent = "org", .cascade = true, .metadata = {{"plan", "pro"}}})
      .value();
  clock.advance(1s);
  limiter->set_limits(kUser, kApi, {Limit::per_minute("rpm", 60, 90)}).value();
  clock.advance(1s);
  ASSERT_TRUE(admits({{"rpm", 1}}));
  std::int64_t removed = limiter->delete_entity(kUser).value();
  clock.advance(1s);

  EXPECT_EQ(story_of(Scope::entity(kUser)),
            (Story{R"(entity_created - {"cascade":true,"metadata":{"plan":"pro"},"name":"user",)"
                   R"("parent_id":"org"})",
                   R"(limits_set api {"limits":[{"capacity":90,"name":"rpm","refill_amount":60,)"
                   R"("refill_period_seconds":60}]})",
                   R"(entity_deleted - {"complete":true,"records_deleted":)" +
                       std::to_string(removed) + "}"}));
}

TEST_P(Audit, LimitsOfAllLevelsAndKinds) {
  LimitList all{Limit::session("five", 10'000, 5h).value().as_soft(),
                Limit::calendar("day", 10, "0 0 * * *", "Europe/Berlin"),
                Limit::per_hour("rph", 7).value().with_schedule(
                    {LevelEntry::scaled("* 9-17 * * MON-FRI", 0.5).value(),
                     LevelEntry::absolute("* 0-6 * * *", {.capacity = Tokens(20)}).value()},
                    "Europe/Berlin")};
  limiter->set_limits(Scope::resource(kApi), all).value();
  limiter
      ->set_limits(Scope::system(), {Limit::per_minute("rpm", 5)},
                   {.on_unavailable = OnUnavailable::kAllow})
      .value();
  clock.advance(1s);
  // Which stays as it is.
  limiter->set_limits(Scope::system(), {Limit::per_minute("rpm", 8)}).value();
  limiter->set_limits(Scope::entity(kUser), {Limit::per_minute("rpm", 6)}).value();
  clock.advance(1s);
  limiter->delete_limits(Scope::resource(kApi)).value();
  limiter->delete_limits(Scope::system()).value();
  limiter->delete_limits(Scope::entity(kUser)).value();

  EXPECT_EQ(story_of(Scope::resource(kApi)),
            (Story{R"(limits_set api {"limits":[)"
                   R"({"capacity":10000,"name":"five","refill_amount":0,)"
                   R"("refill_period_seconds":1,"reset_after_seconds":18000,"soft":true},)"
                   R"({"capacity":10,"name":"day","refill_amount":0,"refill_period_seconds":1,)"
                   R"("reset_schedule":[{"cron":"0 0 * * *","tz":"Europe/Berlin"}]},)"
                   R"({"capacity":7,"name":"rph","refill_amount":7,"refill_period_seconds":3600,)"
                   R"("schedule":[{"cron":"* 9-17 * * 1-5","scale":0.5,"tz":"Europe/Berlin"},)"
                   R"({"capacity":20,"cron":"* 0-6 * * *","tz":"Europe/Berlin"}]}]})",
                   "limits_deleted api {}"}));
  EXPECT_EQ(story_of(Scope::system()),
            (Story{R"(limits_set - {"limits":[{"capacity":5,"name":"rpm","refill_amount":5,)"
                   R"("refill_period_seconds":60}],"on_unavailable":"allow"})",
                   R"(limits_set - {"limits":[{"capacity":8,"name":"rpm","refill_amount":8,)"
                   R"("refill_period_seconds":60}],"on_unavailable":"allow"})",
                   R"(limits_deleted - {"limits":["rpm"],"on_unavailable":"allow"})"}));
  EXPECT_EQ(story_of(Scope::entity(kUser)),
            (Story{R"(limits_set _default_ {"limits":[{"capacity":6,"name":"rpm",)"
                   R"("refill_amount":6,"refill_period_seconds":60}]})",
                   "limits_deleted _default_ {}"}));
}

TEST_P(Audit, PolicySaysHowManyBucketsItReached) {
  limiter->set_limits(Scope::resource(kApi), {Limit::per_minute("rpm", 6)}).value();
  ASSERT_TRUE(admits({{"rpm", 1}}, "a"));
  ASSERT_TRUE(admits({{"rpm", 1}}, "b"));
  clock.advance(1s);
  limiter->set_limits(Scope::entity("a"), {}, {.access = AccessPolicy::kBypass}).value();
  limiter->set_limits(Scope::entity("b"), {}, {.access = AccessPolicy::kDisabled}).value();
  clock.advance(1s);
  limiter->set_limits(Scope::entity("a"), {}, {.access = AccessPolicy::kEnforce, .cascade = false})
      .value();

  EXPECT_EQ(story_of(Scope::entity("a")),
            (Story{R"(limits_set _default_ {"buckets_stamped":1,"disabled":"bypass"})",
                   R"(limits_set _default_ {"buckets_stamped":1,"cascade":false,)"
                   R"("disabled":false})"}));
  EXPECT_EQ(story_of(Scope::entity("b")),
            (Story{R"(limits_set _default_ {"buckets_stamped":1,"disabled":true})"}));
}

TEST_P(Audit, WhatChangesNothingLeavesNothing) {
  limiter->set_limits(Scope::resource(kApi), {Limit::per_minute("rpm", 6)}, {.dry_run = true})
      .value();
  EXPECT_FALSE(limiter->delete_entity(kUser));
  EXPECT_FALSE(limiter->delete_limits(Scope::resource(kApi)));
  EXPECT_FALSE(limiter->set_limits(Scope::resource(kApi), {Limit::per_minute("", 6)}));
  EXPECT_EQ(story_of(Scope::resource(kApi)), Story());
  EXPECT_EQ(story_of(Scope::entity(kUser)), Story());
}

TEST_P(Audit, RetentionIsTheSystems) {
  limiter->set_limits(Scope::system(), {Limit::per_minute("rpm", 6)}).value();
  store::ImageBuilder system(*item(schema::config_key(name_space_id(), "", "")));
  system.set(store::intern("audit_retention_days"), std::int64_t{7});
  put_item(system.build());
  limiter->forget_caches();
  limiter->create_entity(kUser).value();
  AuditEvent event = audit_of(Scope::entity(kUser)).front();
  EXPECT_EQ(show(event.expires_at), show(clock.now() + 7 * 24h));
  clock.advance(7 * 24h - 1s);
  EXPECT_EQ(audit_of(Scope::entity(kUser)).size(), 1u);
  clock.advance(1s);
  EXPECT_EQ(audit_of(Scope::entity(kUser)).size(), 0u);
}

TEST_P(Audit, PagesGoOnWhereTheyEnded) {
  for (int i = 0; i < 7; ++i) {
    limiter->set_limits(Scope::resource(kApi), {Limit::per_minute("rpm", 10 + i)}).value();
    clock.advance(1s);
  }
  std::vector<std::string> seen;
  std::optional<std::string> next;
  int pages = 0;
  do {
    AuditPage page = limiter->list_audit_events(Scope::resource(kApi), next, 3).value();
    for (const AuditEvent& event : page.events) seen.push_back(event.id);
    next = page.next;
    ++pages;
  } while (next);
  EXPECT_EQ(seen.size(), 7u);
  EXPECT_GE(pages, 3);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  std::vector<AuditEvent> all = audit_of(Scope::resource(kApi));
  ASSERT_EQ(all.size(), 7u);
  EXPECT_NE(all.back().details.find("\"capacity\":16"), std::string::npos);
}

TEST_P(Audit, AnEventThatCannotBeUnderstoodHidesNoOther) {
  for (int i = 0; i < 4; ++i) {
    limiter->set_limits(Scope::resource(kApi), {Limit::per_minute("rpm", 5 + i)}).value();
    clock.advance(1s);
  }
  std::vector<AuditEvent> sound = audit_of(Scope::resource(kApi));
  ASSERT_EQ(sound.size(), 4u);
  auto spoil = [this](const AuditEvent& event, const char* attribute, const store::Value& value) {
    store::Key key = schema::audit_key(name_space_id(), event.subject, event.id);
    put_item(store::ImageBuilder(*item(key)).set(store::intern(attribute), value).build());
  };
  spoil(sound[0], "ttl", store::Value::number_text("1804680000.5"));
  spoil(sound[1], "details", store::Value::string("none"));
  spoil(sound[2], "timestamp", store::Value::string("2027-03-10T12:00:00+00:00"));

  AuditPage page = limiter->list_audit_events(Scope::resource(kApi)).value();

  ASSERT_EQ(page.events.size(), 1u);
  EXPECT_EQ(page.events.front().id, sound[3].id);
  ASSERT_EQ(page.unreadable.size(), 3u);
  EXPECT_NE(page.unreadable[0].find(sound[0].id + ": ttl"), std::string::npos);
  EXPECT_NE(page.unreadable[1].find(sound[1].id + ": details"), std::string::npos);
  EXPECT_NE(page.unreadable[2].find(sound[2].id + ": timestamp"), std::string::npos);
}

TEST_P(Audit, ListingChecksItsArguments) {
  auto code = [&](const Scope& scope, int size = 10) {
    Result<AuditPage> page = limiter->list_audit_events(scope, std::nullopt, size);
    return page.ok() ? ErrorCode::kExists : page.error().code();
  };
  EXPECT_EQ(code(Scope::entity("")), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(Scope::entity("a#b")), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(Scope::resource("1")), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(Scope::entity_resource(kUser, kApi)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(Scope::system(), 0), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(Scope::system(), 1001), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(Scope::system()), ErrorCode::kExists);
}

TEST_P(Audit, R86_APrincipalThatMayNotBeIsFoundBeforeAnyWrite) {
  for (const char* wrong : {"", "a b", "$SYSTEM", "arn:a\nb"}) {
    LimiterOptions options = this->options();
    options.principal = wrong;
    Limiter other = another_limiter(options);
    Result<Entity> refused = other.create_entity(kUser);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(refused.error().field(), "principal");
  }
  EXPECT_EQ(limiter->get_entity(kUser).error().code(), ErrorCode::kNotFound);
}

TEST_P(Audit, OnEmbeddedStoresTheyAreLeftOnRequestOnly) {
  use(options());
  limiter->create_entity(kUser).value();
  EXPECT_EQ(audit_of(Scope::entity(kUser)).size(), GetParam() == "shared_table" ? 1u : 0u);
}

/// What goes wrong with the event, or with what it tells of.
class AuditTrouble : public ::testing::Test {
 protected:
  Result<Entity> create() { return limiter.create_entity(kUser); }
  std::vector<AuditEvent> events() {
    return limiter.list_audit_events(Scope::entity(kUser)).value().events;
  }

  FakeClock clock{instant("2027-03-10T12:00Z")};
  std::shared_ptr<FaultyStore> faulty =
      std::make_shared<FaultyStore>(store::make_memory_engine(shared_table()));
  Limiter limiter{limiter::open_store(faulty, {}).value(), [this] {
                    LimiterOptions options;
                    options.clock = &clock;
                    return options;
                  }()};
};

TEST_F(AuditTrouble, ErrorOfTheEventSaysThatTheChangeIsStored) {
  ASSERT_FALSE(limiter.get_entity(kUser));
  faulty->plan(Fault::throttled().on(RequestKind::kPut, 2));

  Result<Entity> created = create();

  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().code(), ErrorCode::kThrottled);
  EXPECT_NE(created.error().reason().find("the change is stored, but its audit event"),
            std::string::npos);
  EXPECT_TRUE(limiter.get_entity(kUser));
  EXPECT_TRUE(events().empty());
}

TEST_F(AuditTrouble, LostRepliesAreNotTakenForLostEvents) {
  ASSERT_FALSE(limiter.get_entity(kUser));
  faulty->plan(Fault::reply_lost().on(RequestKind::kPut, 2));
  EXPECT_TRUE(create());
  EXPECT_EQ(events().size(), 1u);
}

TEST_F(AuditTrouble, AnEventOfWhichNobodyKnowsIsUnknown) {
  ASSERT_FALSE(limiter.get_entity(kUser));
  faulty->plan(Fault::request_lost().on(RequestKind::kPut, 2).onwards());
  Result<Entity> created = create();
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().code(), ErrorCode::kOutcomeUnknown);
  EXPECT_NE(created.error().reason().find("the change is stored"), std::string::npos);
  faulty->heal();
  EXPECT_TRUE(limiter.get_entity(kUser));
}

TEST_F(AuditTrouble, ADeletionThatStoppedHalfWayIsToldToo) {
  limiter.set_limits(Scope::resource(kApi), {Limit::per_minute("rpm", 60)}).value();
  ASSERT_TRUE(create());
  ASSERT_TRUE(
      limiter.acquire({.entity = kUser, .resource = kApi, .consume = {{"rpm", 1}}}).value());
  clock.advance(1s);
  faulty->plan(Fault::unavailable().on(RequestKind::kDelete, 2));

  Result<std::int64_t> deleted = limiter.delete_entity(kUser);

  ASSERT_FALSE(deleted);
  EXPECT_EQ(deleted.error().code(), ErrorCode::kUnavailable);
  ASSERT_EQ(events().size(), 2u);
  EXPECT_EQ(events().back().details, R"({"complete":false,"records_deleted":1})");
}

TEST_F(AuditTrouble, ADeletionThatRemovedNothingIsToldOnlyWhereItMayHave) {
  ASSERT_TRUE(create());
  clock.advance(1s);
  faulty->plan(Fault::unavailable().on(RequestKind::kDelete));
  EXPECT_EQ(limiter.delete_entity(kUser).error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(events().size(), 1u);

  faulty->plan(Fault::request_lost().on(RequestKind::kDelete));
  EXPECT_EQ(limiter.delete_entity(kUser).error().code(), ErrorCode::kOutcomeUnknown);
  ASSERT_EQ(events().size(), 2u);
  EXPECT_EQ(events().back().details, R"({"complete":false,"records_deleted":0})");
}

TEST_F(AuditTrouble, AChangeWhoseBucketsCouldNotBeReachedIsToldToo) {
  ASSERT_TRUE(limiter.set_limits(kUser, kApi, {Limit::per_minute("rpm", 60)}).ok());
  ASSERT_TRUE(
      limiter.acquire({.entity = kUser, .resource = kApi, .consume = {{"rpm", 1}}}).value());
  clock.advance(1s);
  faulty->plan(Fault::unavailable().on(RequestKind::kUpdate).onwards());

  Result<LimitsChange> changed = limiter.set_limits(kUser, kApi, {Limit::per_minute("rpm", 70)});

  ASSERT_FALSE(changed);
  EXPECT_NE(changed.error().reason().find("could not be brought up to date"), std::string::npos);
  ASSERT_EQ(events().size(), 2u);
  EXPECT_EQ(events().back().action, "limits_set");
}

}  // namespace
}  // namespace stint::test
