// Everything but buckets that the other package wrote is understood and comes out as it was.

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "schema/config_item.h"
#include "schema/entity_item.h"
#include "schema/keys.h"
#include "schema/records.h"
#include "tests/support/reference_items.h"

namespace stint::schema {
namespace {

using store::ImagePtr;
using test::ReferenceStep;
using test::shown;

struct Reencoded {
  std::string kind;
  Result<ImagePtr> item;
};

template <typename Record, typename Encode>
Reencoded reencode(std::string kind, const Result<Record>& record, Encode encode) {
  if (!record) return {std::move(kind), record.error()};
  return {std::move(kind), encode(*record)};
}

Scope scope_of(const store::Image& item) {
  static const store::AttrId kEntity = store::intern("entity_id");
  static const store::AttrId kResource = store::intern("resource");
  std::string_view resource = item.string(kResource).value_or("");
  std::optional<std::string_view> entity = item.string(kEntity);
  if (!entity) return resource.empty() ? Scope::system() : Scope::resource(resource);
  return resource == "_default_" ? Scope::entity(*entity)
                                 : Scope::entity_resource(*entity, resource);
}

// Decodes and encodes an item by the kind that its sort key tells; nothing for buckets.
std::optional<Reencoded> pass_through(const store::Image& item) {
  const std::string ns(item.pk().substr(0, item.pk().find('/')));
  std::string_view sk = item.sk();
  if (sk == "#STATE") return std::nullopt;
  if (sk == "#META") {
    return reencode("entity", decode_entity(item),
                    [&](const auto& record) { return encode_entity(ns, record); });
  }
  if (sk.starts_with("#CONFIG")) {
    return reencode("config", decode_config(item, ResetRule::kCompatible),
                    [&](const auto& record) { return encode_config(ns, scope_of(item), *record); });
  }
  if (sk == "#RESOURCES") {
    return reencode("resources", decode_resource_registry(item),
                    [&](const auto& record) { return encode_resource_registry(ns, record); });
  }
  if (sk == "#ENTITY_CONFIG_RESOURCES") {
    return reencode("entity config resources", decode_entity_config_registry(item),
                    [&](const auto& record) { return encode_entity_config_registry(ns, record); });
  }
  if (sk == "#VERSION") return reencode("version", decode_version(item), encode_version);
  if (sk.starts_with(kNamespaceNamePrefix)) {
    return reencode("namespace by name", decode_namespace(item), encode_namespace_by_name);
  }
  if (sk.starts_with(kNamespaceIdPrefix)) {
    return reencode("namespace by id", decode_namespace(item), encode_namespace_by_id);
  }
  if (sk.starts_with(kOperationPrefix)) {
    return reencode("operation", decode_operation(item),
                    [&](const auto& record) { return encode_operation(ns, record); });
  }
  if (sk.starts_with(kAuditPrefix)) {
    return reencode("audit", decode_audit_event(item),
                    [&](const auto& record) { return encode_audit_event(ns, record); });
  }
  if (sk.starts_with(kUsagePrefix)) {
    return reencode("usage", decode_usage(item),
                    [&](const auto& record) { return encode_usage(ns, record); });
  }
  return Reencoded{"unknown", Error(ErrorCode::kCorrupt, "of no known kind")};
}

class ReferenceItemsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::optional<std::vector<ReferenceStep>> steps = test::reference_steps();
    if (!steps) GTEST_SKIP() << "the folder of reference items is not there";
    steps_ = *std::move(steps);
    ASSERT_EQ(steps_.size(), 8u);
  }

  // The item of a key at the end; of a step when one is named.
  ImagePtr find(const std::string& pk, const std::string& sk, const std::string& after = "") {
    const ReferenceStep* step = &steps_.back();
    for (const ReferenceStep& candidate : steps_) {
      if (candidate.after == after) step = &candidate;
    }
    for (const ImagePtr& item : step->items) {
      if (item->sk() == sk && item->pk().substr(item->pk().find('/') + 1) == pk) return item;
    }
    ADD_FAILURE() << "no item " << pk << " " << sk;
    return step->items.front();
  }

  std::vector<ReferenceStep> steps_;
};

TEST_F(ReferenceItemsTest, EveryItemComesOutAsItWas) {
  std::map<std::string, int> kinds;
  for (const ReferenceStep& step : steps_) {
    for (const ImagePtr& item : step.items) {
      std::optional<Reencoded> result = pass_through(*item);
      if (!result) continue;
      ++kinds[result->kind];
      ASSERT_TRUE(result->item) << result->item.error().message() << " after " << step.after;
      EXPECT_EQ(shown(*result->item), shown(item)) << "after " << step.after;
    }
  }
  EXPECT_EQ(kinds.size(), 10u) << "kinds of items seen";
}

TEST_F(ReferenceItemsTest, EntitiesSayWhatTheRulesSay) {
  EntityRecord org = decode_entity(*find("ENTITY#org-1", "#META")).value();
  EXPECT_EQ(org.name, "Org One");
  EXPECT_FALSE(org.parent);
  EXPECT_EQ(org.metadata.size(), 3u);

  EntityRecord before =
      decode_entity(*find("ENTITY#user-2", "#META", "entities and defaults")).value();
  EntityRecord after = decode_entity(*find("ENTITY#user-2", "#META")).value();
  EXPECT_EQ(before.parent, "org-1");
  EXPECT_EQ(after.parent, "org-2");
  EXPECT_EQ(after.parent_generation, before.parent_generation + 1);
  EXPECT_EQ(after.incarnation(), before.incarnation());
  EXPECT_EQ(before.incarnation().size(), 16u);
}

TEST_F(ReferenceItemsTest, ConfigurationSaysWhatTheRulesSay) {
  auto decode = [&](const std::string& pk, const std::string& sk) {
    return decode_config(*find(pk, sk), ResetRule::kCompatible).value();
  };
  auto system = decode("SYSTEM#", "#CONFIG");
  EXPECT_EQ(system->on_unavailable, OnUnavailable::kAllow);
  ASSERT_EQ(system->limits.size(), 1u);
  EXPECT_EQ(system->limits[0]->limit(), Limit::per_minute("rpm", 1000).value());

  auto gpt = decode("RESOURCE#gpt-4", "#CONFIG");
  EXPECT_EQ(gpt->zone, "America/New_York");
  ASSERT_EQ(gpt->limits.size(), 3u);
  EXPECT_EQ(gpt->find("day")->limit().kind(), LimitKind::kCalendar);
  EXPECT_EQ(gpt->find("rpm")->limit().schedule().size(), 2u);
  EXPECT_EQ(gpt->find("rpm")->state().base.capacity, 90'000);
  EXPECT_EQ(gpt->find("tok.in-put_x")->limit(), Limit::per_minute("tok.in-put_x", 40'000).value());

  auto soft = decode("RESOURCE#soft-res", "#CONFIG");
  EXPECT_EQ(soft->access, AccessPolicy::kBypass);
  EXPECT_TRUE(soft->find("rpm")->limit().soft());
  EXPECT_FALSE(soft->find("tpm")->limit().soft());

  auto claude = decode("ENTITY#user-1", "#CONFIG#claude");
  EXPECT_EQ(claude->find("session")->limit(),
            Limit::session("session", 8'000, std::chrono::hours(3)).value());
  EXPECT_TRUE(claude->listed);

  auto disabled = decode("ENTITY#user-2", "#CONFIG#soft-res");
  EXPECT_EQ(disabled->access, AccessPolicy::kDisabled);
  EXPECT_TRUE(disabled->limits.empty());
  EXPECT_FALSE(disabled->config_version);

  auto everywhere = decode("ENTITY#user-2", "#CONFIG#_default_");
  EXPECT_EQ(everywhere->cascade, true);
  EXPECT_EQ(everywhere->find("multi")->resets_text(), "1m0h0,12");
}

TEST_F(ReferenceItemsTest, RecordsSayWhatTheRulesSay) {
  VersionRecord version = decode_version(*find("SYSTEM#", "#VERSION")).value();
  EXPECT_EQ(version.schema_version, "0.10.0");
  EXPECT_EQ(version.lambda_version, "0.17.0");
  EXPECT_EQ(version.client_min_version, "0.17.0");

  EXPECT_EQ(decode_resource_registry(*find("SYSTEM#", "#RESOURCES")).value().resources,
            (store::Value::StringSet{"gpt-4", "soft-res"}));
  EXPECT_EQ(
      decode_entity_config_registry(*find("SYSTEM#", "#ENTITY_CONFIG_RESOURCES")).value().counts,
      (Counters{{"_default_", 1}, {"claude", 1}, {"soft-res", 1}}));

  OperationRecord top_up = decode_operation(*find("BUCKET#user-1#claude#0", "#OP#key-1")).value();
  EXPECT_EQ(top_up.kind, OperationKind::kTopUp);
  EXPECT_EQ(top_up.amounts, (Counters{{"session", 100}}));
  EXPECT_EQ(top_up.shards, 4);
  EXPECT_EQ(top_up.incarnation,
            decode_entity(*find("ENTITY#user-1", "#META")).value().incarnation());

  UsageSnapshot month =
      decode_usage(*find("ENTITY#user-1", "#USAGE#gpt-4#2026-11-01T00:00:00Z")).value();
  EXPECT_EQ(month.window, UsageWindow::kMonthly);
  EXPECT_EQ(month.consumed, (Counters{{"day", 25}, {"rpm", 1}, {"tok.in-put_x", 7}}));
  EXPECT_EQ(month.total_events, 3);
}

}  // namespace
}  // namespace stint::schema
