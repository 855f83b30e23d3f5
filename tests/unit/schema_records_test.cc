#include "schema/records.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <string>

#include "base/time.h"
#include "store/apply.h"
#include "tests/support/reference_items.h"

namespace stint::schema {
namespace {

using store::Value;
using test::item_of;
using test::shown;

template <typename T>
std::string reason_of(const Result<T>& result) {
  EXPECT_FALSE(result);
  if (result) return "";
  EXPECT_EQ(result.error().code(), ErrorCode::kCorrupt);
  return result.error().reason();
}

std::string with_keys(const std::string& pk, const std::string& sk, const std::string& rest) {
  return R"({"PK": {"S": ")" + pk + R"("}, "SK": {"S": ")" + sk + R"("}, "GSI4PK": {"S": ")" +
         pk.substr(0, pk.find('/')) + R"("}, "GSI4SK": {"S": ")" + pk + R"("})" + rest + "}";
}

// Store record.

TEST(StoreRecordTest, IsAPrivateItemWithThePurgeKeys) {
  StoreRecord record;
  EXPECT_EQ(shown(encode_store_record(record)),
            shown(item_of(with_keys("_/SYSTEM#", "#STINT", R"(, "format_version": {"N": "1"},
                "layout": {"S": "lean"}, "reset_rule": {"S": "local_day"},
                "burst_tolerance_divisor": {"N": "0"})"))));
}

TEST(StoreRecordTest, SurvivesItsItem) {
  for (store::IndexLayout layout :
       {store::IndexLayout::kKeysOnly, store::IndexLayout::kCompatible}) {
    for (ResetRule rule : {ResetRule::kLocalDay, ResetRule::kCompatible}) {
      for (int divisor : {0, 16}) {
        StoreRecord record{layout, rule, divisor, 1};
        EXPECT_EQ(decode_store_record(*encode_store_record(record)).value(), record);
      }
    }
  }
}

TEST(StoreRecordTest, ANewerFormatIsAVersionMismatchWhateverElseTheItemHolds) {
  Result<StoreRecord> record = decode_store_record(
      *item_of(with_keys("_/SYSTEM#", "#STINT", R"(, "format_version": {"N": "2"})")));
  ASSERT_FALSE(record);
  EXPECT_EQ(record.error().code(), ErrorCode::kVersionMismatch);
}

TEST(StoreRecordTest, NamesWhatIsWrong) {
  auto reason = [](const std::string& rest) {
    return reason_of(decode_store_record(*item_of(with_keys("_/SYSTEM#", "#STINT", rest))));
  };
  const std::string where = "item _/SYSTEM# #STINT: ";
  EXPECT_EQ(reason(""), where + "format_version is missing");
  EXPECT_EQ(reason(R"(, "format_version": {"N": "0"})"), where + "format_version is less than 1");
  EXPECT_EQ(reason(R"(, "format_version": {"N": "1"}, "layout": {"S": "wide"})"),
            where + "layout is \"wide\", which is unknown");
  EXPECT_EQ(reason(R"(, "format_version": {"N": "1"}, "layout": {"S": "lean"},
                       "reset_rule": {"S": "local_day"}, "burst_tolerance_divisor": {"N": "8"})"),
            where + "burst_tolerance_divisor is neither 0 nor 16");
}

// Version record.

TEST(VersionRecordTest, ANewStoreActsAsTheVersionThatKnowsSessionLimits) {
  EXPECT_EQ(shown(encode_version(initial_version_record(from_epoch_ms(1796068145949)))),
            shown(item_of(with_keys("_/SYSTEM#", "#VERSION", R"(,
                "schema_version": {"S": "0.10.0"}, "lambda_version": {"S": "0.17.0"},
                "client_min_version": {"S": "0.0.0"}, "updated_by": {"NULL": true},
                "updated_at": {"S": "2026-11-30T19:49:05Z"})"))));
}

TEST(VersionRecordTest, UnknownAndAbsentVersionsStayWhatTheyAre) {
  store::ImagePtr item = item_of(with_keys("_/SYSTEM#", "#VERSION", R"(,
      "schema_version": {"S": "0.10.0"}, "lambda_version": {"NULL": true},
      "updated_by": {"S": "client:0.16.1"}, "updated_at": {"S": "2026-11-30T19:49:05Z"})"));
  VersionRecord record = decode_version(*item).value();
  EXPECT_FALSE(record.lambda_version);
  EXPECT_FALSE(record.client_min_version);
  EXPECT_EQ(record.updated_by, "client:0.16.1");
  EXPECT_EQ(shown(encode_version(record)), shown(item));
}

TEST(VersionRecordTest, TheMinimumIsRaisedOnlyIfItIsAsRead) {
  VersionRecord read = initial_version_record(from_epoch_ms(1796068145949));
  store::UpdateProgram raise = raise_client_minimum(read, "0.17.0");
  auto raised = [&](const VersionRecord& stored) {
    store::ImagePtr item = encode_version(stored);
    return store::holds(raise.condition, item.get(), store::Params());
  };
  EXPECT_TRUE(raised(read));
  VersionRecord other = read;
  other.client_min_version = "0.15.0";
  EXPECT_FALSE(raised(other));
  other.client_min_version.reset();
  EXPECT_FALSE(raised(other));
  raise = raise_client_minimum(other, "0.17.0");
  EXPECT_TRUE(raised(other));
  EXPECT_FALSE(raised(read));
}

TEST(VersionRecordTest, WhatDecidesNothingMayBeNullOrAbsent) {
  store::ImagePtr item = item_of(with_keys("_/SYSTEM#", "#VERSION", R"(,
      "schema_version": {"S": "0.10.0"}, "client_min_version": {"NULL": true})"));
  Result<VersionRecord> record = decode_version(*item);
  ASSERT_TRUE(record) << record.error().message();
  EXPECT_FALSE(record->client_min_version);
  EXPECT_EQ(record->updated_at, "");
  EXPECT_FALSE(encode_version(*record)->has(store::intern("updated_at")));
  store::UpdateProgram raise = raise_client_minimum(*record, "0.17.0");
  EXPECT_TRUE(store::holds(raise.condition, item.get(), store::Params()));
}

// Namespaces.

TEST(NamespaceRecordTest, StandsByNameAndById) {
  NamespaceRecord record{"zvFuo1OO5GE", "default", NamespaceState::kActive, "2026-11-30T19:49:05Z",
                         std::nullopt};
  const std::string attributes = R"(, "namespace_id": {"S": "zvFuo1OO5GE"},
      "namespace_name": {"S": "default"}, "status": {"S": "active"},
      "created_at": {"S": "2026-11-30T19:49:05Z"})";
  store::ImagePtr by_name = item_of(with_keys("_/SYSTEM#", "#NAMESPACE#default", attributes));
  store::ImagePtr by_id = item_of(with_keys("_/SYSTEM#", "#NSID#zvFuo1OO5GE", attributes));
  EXPECT_EQ(decode_namespace(*by_name).value(), record);
  EXPECT_EQ(decode_namespace(*by_id).value(), record);
  EXPECT_EQ(shown(encode_namespace_by_name(record)), shown(by_name));
  EXPECT_EQ(shown(encode_namespace_by_id(record)), shown(by_id));
}

TEST(NamespaceRecordTest, KeepsItsStateAndWhenItWasDeleted) {
  for (NamespaceState state :
       {NamespaceState::kActive, NamespaceState::kDeleted, NamespaceState::kPurging}) {
    NamespaceRecord record{"id", "name", state, "a", "b"};
    EXPECT_EQ(decode_namespace(*encode_namespace_by_id(record)).value(), record);
  }
  EXPECT_EQ(reason_of(decode_namespace(*item_of(with_keys("_/SYSTEM#", "#NSID#x", R"(,
                "namespace_id": {"S": "x"}, "namespace_name": {"S": "n"}, "status": {"S": "gone"},
                "created_at": {"S": "a"})")))),
            "item _/SYSTEM# #NSID#x: status is \"gone\", which is unknown");
}

// Registries.

TEST(ResourceRegistryTest, TheSetVanishesWithItsLastElement) {
  ResourceRegistry registry;
  registry.resources = {"gpt-4", "soft-res"};
  store::ImagePtr item = item_of(
      with_keys("ns/SYSTEM#", "#RESOURCES", R"(, "resources": {"SS": ["soft-res", "gpt-4"]})"));
  EXPECT_EQ(decode_resource_registry(*item).value(), registry);
  EXPECT_EQ(shown(encode_resource_registry("ns", registry)), shown(item));

  store::ImagePtr empty = item_of(with_keys("ns/SYSTEM#", "#RESOURCES", ""));
  EXPECT_EQ(decode_resource_registry(*empty).value(), ResourceRegistry());
  EXPECT_EQ(shown(encode_resource_registry("ns", ResourceRegistry())), shown(empty));

  EXPECT_EQ(reason_of(decode_resource_registry(*item_of(
                with_keys("ns/SYSTEM#", "#RESOURCES", R"(, "resources": {"S": "gpt-4"})")))),
            "item ns/SYSTEM# #RESOURCES: resources is not a set of strings");
}

TEST(EntityConfigRegistryTest, CountsByResource) {
  store::ImagePtr item = item_of(with_keys("ns/SYSTEM#", "#ENTITY_CONFIG_RESOURCES", R"(,
      "claude": {"N": "3"}, "_default_": {"N": "0"}, "a/b:c": {"N": "-1"})"));
  EntityConfigRegistry registry = decode_entity_config_registry(*item).value();
  EXPECT_EQ(registry.counts, (Counters{{"_default_", 0}, {"a/b:c", -1}, {"claude", 3}}));
  EXPECT_EQ(shown(encode_entity_config_registry("ns", registry)), shown(item));
}

// Operations.

TEST(OperationRecordTest, ReadsAndWrites) {
  store::ImagePtr item = item_of(R"({"PK": {"S": "ns/BUCKET#user-1#claude#0"},
      "SK": {"S": "#OP#key-1"}, "GSI4PK": {"S": "ns"}, "GSI4SK": {"S": "OP#user-1#claude#key-1"},
      "entity_id": {"S": "user-1"}, "resource": {"S": "claude"}, "operation": {"S": "top_up"},
      "writer": {"S": "6634bcab3fde8c95409a3537"}, "ent": {"S": "741979afe38ff640"},
      "shards": {"N": "4"}, "amounts": {"M": {"session": {"N": "100"}, "day": {"N": "-3"}}},
      "ttl": {"N": "1796327347"}})");
  OperationRecord record = decode_operation(*item).value();
  EXPECT_EQ(record.id, "key-1");
  EXPECT_EQ(record.kind, OperationKind::kTopUp);
  EXPECT_EQ(record.incarnation, "741979afe38ff640");
  EXPECT_EQ(record.shards, 4);
  EXPECT_EQ(record.amounts, (Counters{{"day", -3}, {"session", 100}}));
  EXPECT_EQ(record.expires_at_s, 1796327347);
  EXPECT_EQ(shown(encode_operation("ns", record)), shown(item));
}

TEST(OperationRecordTest, NamesWhatIsWrong) {
  auto reason = [](const std::string& sk, const std::string& rest) {
    return reason_of(decode_operation(*item_of(with_keys("ns/BUCKET#u#r#0", sk, R"(,
        "entity_id": {"S": "u"}, "resource": {"S": "r"}, "writer": {"S": "w"}, "ent": {"S": "-"},
        "shards": {"N": "1"}, "ttl": {"N": "1"})" + rest))));
  };
  EXPECT_EQ(reason("#STATE", ""), "item ns/BUCKET#u#r#0 #STATE: is not the record of an operation");
  EXPECT_EQ(reason("#OP#1", R"(, "operation": {"S": "undo"})"),
            "item ns/BUCKET#u#r#0 #OP#1: operation is \"undo\", which is unknown");
  EXPECT_EQ(
      reason("#OP#1", R"(, "operation": {"S": "reset"}, "amounts": {"M": {"a": {"S": "1"}}})"),
      "item ns/BUCKET#u#r#0 #OP#1: amounts holds something that is not a whole number of 64 "
      "bits");
}

RC_GTEST_PROP(OperationRecordProperty, ARecordSurvivesItsItem, ()) {
  OperationRecord record;
  record.entity = *rc::gen::nonEmpty<std::string>();
  record.resource = *rc::gen::nonEmpty<std::string>();
  record.id = *rc::gen::nonEmpty<std::string>();
  record.kind = *rc::gen::element(OperationKind::kReset, OperationKind::kTopUp);
  record.writer = *rc::gen::arbitrary<std::string>();
  record.incarnation = *rc::gen::arbitrary<std::string>();
  record.shards = *rc::gen::arbitrary<std::int64_t>();
  for (const auto& [name, amount] : *rc::gen::arbitrary<std::map<std::string, std::int64_t>>()) {
    record.amounts.emplace(name, amount);
  }
  record.expires_at_s = *rc::gen::arbitrary<std::int64_t>();
  RC_ASSERT(decode_operation(*encode_operation("ns", record)).value() == record);
}

// Audit.

TEST(AuditEventTest, KeepsNestedDetailsAndNulls) {
  store::ImagePtr item = item_of(with_keys("ns/AUDIT#$RESOURCE:gpt-4", "#AUDIT#01M8", R"(,
      "entity_id": {"S": "$RESOURCE:gpt-4"}, "event_id": {"S": "01M8"},
      "timestamp": {"S": "2026-11-30T19:49:05Z"}, "action": {"S": "limits_set"},
      "principal": {"NULL": true}, "resource": {"S": "gpt-4"}, "ttl": {"N": "1803844145"},
      "details": {"M": {"limits": {"L": [{"M": {"name": {"S": "rpm"}, "capacity": {"N": "90"},
        "schedule": {"L": [{"M": {"cron": {"S": "* 9-17 * * MON-FRI"}, "scale": {"N": "0.5"},
                                  "soft": {"BOOL": true}}}]}}}]}}})"));
  AuditEvent event = decode_audit_event(*item).value();
  EXPECT_EQ(event.entity, "$RESOURCE:gpt-4");
  EXPECT_EQ(event.action, "limits_set");
  EXPECT_FALSE(event.principal);
  EXPECT_EQ(event.resource, "gpt-4");
  EXPECT_EQ(event.expires_at_s, 1803844145);
  const Value& limit = event.details.find("limits")->second.as_list()->front();
  const Value& entry = limit.as_map()->find("schedule")->second.as_list()->front();
  EXPECT_EQ(entry.as_map()->find("scale")->second, Value::number_text("0.5"));
  EXPECT_EQ(shown(encode_audit_event("ns", event)), shown(item));
}

TEST(AuditEventTest, WithoutRetentionNothingExpires) {
  AuditEvent event{"$SYSTEM",
                   "01M8",
                   "2026-11-30T19:49:05Z",
                   "limits_deleted",
                   "arn:aws:iam::1:user/a",
                   std::nullopt,
                   {},
                   std::nullopt};
  EXPECT_EQ(shown(encode_audit_event("ns", event)),
            shown(item_of(with_keys("ns/AUDIT#$SYSTEM", "#AUDIT#01M8", R"(,
                "entity_id": {"S": "$SYSTEM"}, "event_id": {"S": "01M8"},
                "timestamp": {"S": "2026-11-30T19:49:05Z"}, "action": {"S": "limits_deleted"},
                "principal": {"S": "arn:aws:iam::1:user/a"}, "resource": {"NULL": true},
                "details": {"M": {}})"))));
  EXPECT_EQ(decode_audit_event(*encode_audit_event("ns", event)).value(), event);
}

// Values of all types, nested at most `depth` deep.
Value any_value(int depth) {
  switch (*rc::gen::inRange(0, depth > 0 ? 7 : 5)) {
    case 0: return Value::number(*rc::gen::arbitrary<std::int64_t>());
    case 1: return Value::number_text("-12.5E-3");
    case 2: return Value::string(*rc::gen::arbitrary<std::string>());
    case 3: return Value::boolean(*rc::gen::arbitrary<bool>());
    case 4: return Value::null();
    case 5: {
      Value::List list;
      int count = *rc::gen::inRange(0, 4);
      for (int i = 0; i < count; ++i) list.push_back(any_value(depth - 1));
      return Value::list(std::move(list));
    }
    default: {
      Value::Map map;
      int count = *rc::gen::inRange(0, 4);
      for (int i = 0; i < count; ++i) {
        map.emplace(*rc::gen::arbitrary<std::string>(), any_value(depth - 1));
      }
      return Value::map(std::move(map));
    }
  }
}

RC_GTEST_PROP(AuditEventProperty, ARecordSurvivesItsItem, ()) {
  auto any_text = [] { return *rc::gen::arbitrary<std::string>(); };
  AuditEvent event;
  event.entity = any_text();
  event.event_id = any_text();
  event.timestamp = any_text();
  event.action = any_text();
  if (*rc::gen::arbitrary<bool>()) event.principal = any_text();
  if (*rc::gen::arbitrary<bool>()) event.resource = any_text();
  int count = *rc::gen::inRange(0, 4);
  for (int i = 0; i < count; ++i) event.details.emplace(any_text(), any_value(3));
  if (*rc::gen::arbitrary<bool>()) event.expires_at_s = *rc::gen::arbitrary<std::int64_t>();
  RC_ASSERT(decode_audit_event(*encode_audit_event("ns", event)).value() == event);
}

// Usage.

TEST(UsageSnapshotTest, CountersStandUnderTheBareNamesOfTheLimits) {
  store::ImagePtr item = item_of(R"({"PK": {"S": "ns/ENTITY#user-1"},
      "SK": {"S": "#USAGE#gpt-4#2026-11-30T19:00:00Z"},
      "GSI2PK": {"S": "ns/RESOURCE#gpt-4"}, "GSI2SK": {"S": "USAGE#2026-11-30T19:00:00Z#user-1"},
      "GSI4PK": {"S": "ns"}, "GSI4SK": {"S": "ns/ENTITY#user-1"},
      "entity_id": {"S": "user-1"}, "resource": {"S": "gpt-4"}, "window": {"S": "hourly"},
      "window_start": {"S": "2026-11-30T19:00:00Z"}, "total_events": {"N": "3"},
      "ttl": {"N": "1803844148"}, "day": {"N": "-25"}, "tok.in-put_x": {"N": "7"},
      "tok.in-put_x#od": {"N": "2"}})");
  UsageSnapshot snapshot = decode_usage(*item).value();
  EXPECT_EQ(snapshot.window, UsageWindow::kHourly);
  EXPECT_EQ(snapshot.consumed, (Counters{{"day", -25}, {"tok.in-put_x", 7}}));
  EXPECT_EQ(snapshot.overdrawn, (Counters{{"tok.in-put_x", 2}}));
  EXPECT_EQ(snapshot.total_events, 3);
  EXPECT_EQ(snapshot.expires_at_s, 1803844148);
  EXPECT_EQ(shown(encode_usage("ns", snapshot)), shown(item));
}

TEST(UsageSnapshotTest, WindowsHaveTheirNames) {
  EXPECT_EQ(to_string(UsageWindow::kHourly), "hourly");
  EXPECT_EQ(to_string(UsageWindow::kDaily), "daily");
  EXPECT_EQ(to_string(UsageWindow::kMonthly), "monthly");
}

TEST(UsageSnapshotTest, NamesWhatIsWrong) {
  auto reason = [](const std::string& rest) {
    return reason_of(decode_usage(*item_of(with_keys("ns/ENTITY#u", "#USAGE#r#w", R"(,
        "entity_id": {"S": "u"}, "resource": {"S": "r"}, "window_start": {"S": "w"},
        "total_events": {"N": "1"})" + rest))));
  };
  EXPECT_EQ(reason(R"(, "window": {"S": "yearly"})"),
            "item ns/ENTITY#u #USAGE#r#w: window is \"yearly\", which is unknown");
  EXPECT_EQ(reason(R"(, "window": {"S": "daily"}, "rpm": {"N": "0.5"})"),
            "item ns/ENTITY#u #USAGE#r#w: rpm is not a whole number of 64 bits");
}

// Provisioner.

TEST(ProvisionerStateTest, ReadsAndWrites) {
  store::ImagePtr item = item_of(with_keys("ns/SYSTEM#", "#PROVISIONER", R"(,
      "managed_system": {"BOOL": true}, "managed_resources": {"L": [{"S": "b"}, {"S": "a"}]},
      "managed_entities": {"M": {"user-1": {"L": [{"S": "_default_"}, {"S": "a"}]},
                                 "user-2": {"L": []}}},
      "last_applied": {"S": "2026-11-30T19:49:05.123456+00:00"},
      "applied_hash": {"S": "sha256:00ff"})"));
  ProvisionerState state = decode_provisioner_state(*item).value();
  EXPECT_TRUE(state.managed_system);
  EXPECT_EQ(state.managed_resources, (std::vector<std::string>{"b", "a"}));
  ASSERT_EQ(state.managed_entities.size(), 2u);
  EXPECT_EQ(state.managed_entities["user-1"], (std::vector<std::string>{"_default_", "a"}));
  EXPECT_EQ(state.last_applied, "2026-11-30T19:49:05.123456+00:00");
  EXPECT_EQ(state.applied_hash, "sha256:00ff");
  EXPECT_TRUE(state.purgeable);
  EXPECT_EQ(shown(encode_provisioner_state("ns", state)), shown(item));
}

TEST(ProvisionerStateTest, KeepsWhatOtherWritersLeaveOutOrAdd) {
  store::ImagePtr item = item_of(R"({"PK": {"S": "ns/SYSTEM#"}, "SK": {"S": "#PROVISIONER"},
      "GSI4PK": {"S": "ns"}, "managed_system": {"BOOL": false}, "managed_resources": {"L": []},
      "managed_entities": {"M": {}},
      "cascade_pending": {"L": [{"M": {"resource": {"S": "a"}}}]}})");
  ProvisionerState state = decode_provisioner_state(*item).value();
  EXPECT_FALSE(state.purgeable);
  EXPECT_TRUE(state.cascade_pending);
  EXPECT_FALSE(state.last_applied);
  EXPECT_EQ(shown(encode_provisioner_state("ns", state)), shown(item));
}

TEST(ProvisionerStateTest, NamesWhatIsWrong) {
  auto reason = [](const std::string& rest) {
    return reason_of(
        decode_provisioner_state(*item_of(with_keys("ns/SYSTEM#", "#PROVISIONER", rest))));
  };
  const std::string where = "item ns/SYSTEM# #PROVISIONER: ";
  EXPECT_EQ(reason(R"(, "managed_resources": {"L": [{"N": "1"}]})"),
            where + "managed_resources holds something that is not a string");
  EXPECT_EQ(reason(R"(, "managed_entities": {"M": {"u": {"S": "a"}}})"),
            where + "managed_entities holds something that is not a list");
  EXPECT_EQ(reason(R"(, "managed_entities": {"M": {"u": {"L": [{"NULL": true}]}}})"),
            where + "managed_entities lists something that is not a string");
}

TEST(ProvisionerPendingTest, ReadsAndWritesBothForms) {
  store::ImagePtr item =
      item_of(with_keys("ns/SYSTEM#", "#PROVISIONER#PENDING#disabled#entity#user-1/gpt-4", R"(,
      "kind": {"S": "disabled"}, "level": {"S": "entity"}, "target": {"S": "user-1/gpt-4"},
      "written_ms": {"N": "1796068145949"},
      "owners": {"M": {"t1": {"M": {"lease": {"N": "1796069105949"}, "full": {"BOOL": true}}},
                       "t2": {"M": {"lease": {"N": "1796069105950"}, "full": {"BOOL": false}}}}})"));
  ProvisionerPending pending = decode_provisioner_pending(*item).value();
  EXPECT_EQ(pending.kind, FanoutKind::kDisabled);
  EXPECT_EQ(pending.level, FanoutLevel::kEntity);
  EXPECT_EQ(pending.target, "user-1/gpt-4");
  EXPECT_EQ(pending.written_ms, 1796068145949);
  ASSERT_EQ(pending.owners.size(), 2u);
  EXPECT_EQ(pending.owners["t1"], (FanoutOwner{1796069105949, true}));
  EXPECT_EQ(pending.owners["t2"], (FanoutOwner{1796069105950, false}));
  EXPECT_FALSE(pending.old_form_owner);
  EXPECT_EQ(shown(encode_provisioner_pending("ns", pending)), shown(item));

  store::ImagePtr old_form =
      item_of(with_keys("ns/SYSTEM#", "#PROVISIONER#PENDING#sync#system#", R"(,
      "kind": {"S": "sync"}, "level": {"S": "system"}, "target": {"S": ""},
      "token": {"S": "t1"}, "lease_until_ms": {"N": "5"}, "full": {"BOOL": true})"));
  pending = decode_provisioner_pending(*old_form).value();
  EXPECT_TRUE(pending.owners.empty());
  ASSERT_TRUE(pending.old_form_owner);
  EXPECT_EQ(pending.old_form_owner->first, "t1");
  EXPECT_EQ(pending.old_form_owner->second, (FanoutOwner{5, true}));
  EXPECT_EQ(shown(encode_provisioner_pending("ns", pending)), shown(old_form));
}

TEST(ProvisionerPendingTest, SurvivesItsItemInEveryKindAndLevel) {
  for (FanoutKind kind :
       {FanoutKind::kDisabled, FanoutKind::kCascade, FanoutKind::kSoft, FanoutKind::kSync}) {
    for (FanoutLevel level : {FanoutLevel::kSystem, FanoutLevel::kResource, FanoutLevel::kEntity}) {
      ProvisionerPending pending;
      pending.kind = kind;
      pending.level = level;
      pending.target = "a";
      pending.written_ms = 7;
      EXPECT_EQ(decode_provisioner_pending(*encode_provisioner_pending("ns", pending)).value(),
                pending);
    }
  }
}

TEST(ProvisionerPendingTest, NamesWhatIsWrong) {
  auto reason = [](const std::string& rest) {
    return reason_of(
        decode_provisioner_pending(*item_of(with_keys("ns/SYSTEM#", "#PROVISIONER#PENDING#x", R"(,
            "level": {"S": "system"})" + rest))));
  };
  const std::string where = "item ns/SYSTEM# #PROVISIONER#PENDING#x: ";
  EXPECT_EQ(reason(R"(, "kind": {"S": "all"})"), where + "kind is \"all\", which is unknown");
  EXPECT_EQ(reason(R"(, "kind": {"S": "sync"}, "owners": {"M": {"t": {"M": {}}}})"),
            where + "owners holds an owner without lease and extent");
  EXPECT_EQ(reason(R"(, "kind": {"S": "sync"}, "token": {"S": "t"}, "full": {"BOOL": true})"),
            where + "lease_until_ms is missing");
}

}  // namespace
}  // namespace stint::schema
