#include "schema/records.h"

#include <array>
#include <cassert>
#include <utility>

#include "schema/attributes.h"
#include "schema/entity_item.h"
#include "schema/item_reader.h"
#include "schema/keys.h"

namespace stint::schema {
namespace {

using store::Value;

const store::AttrId kLayoutAttr = store::intern("layout");
const store::AttrId kResetRuleAttr = store::intern("reset_rule");
const store::AttrId kBurstToleranceAttr = store::intern("burst_tolerance_divisor");
const store::AttrId kFormatVersionAttr = store::intern("format_version");

const store::AttrId kSourceAttr = store::intern("source");
const store::AttrId kStartedAtAttr = store::intern("started_at");
const store::AttrId kLinesAttr = store::intern("lines");
const store::AttrId kDigestAttr = store::intern("digest");

const store::AttrId kSchemaVersionAttr = store::intern("schema_version");
const store::AttrId kLambdaVersionAttr = store::intern("lambda_version");
const store::AttrId kClientMinVersionAttr = store::intern("client_min_version");
const store::AttrId kUpdatedAtAttr = store::intern("updated_at");
const store::AttrId kUpdatedByAttr = store::intern("updated_by");

const store::AttrId kNamespaceIdAttr = store::intern("namespace_id");
const store::AttrId kNamespaceNameAttr = store::intern("namespace_name");
const store::AttrId kStatusAttr = store::intern("status");
const store::AttrId kDeletedAtAttr = store::intern("deleted_at");

const store::AttrId kResourcesAttr = store::intern("resources");

const store::AttrId kOperationAttr = store::intern("operation");
const store::AttrId kWriterAttr = store::intern("writer");
const store::AttrId kLifeAttr = store::intern("ent");
const store::AttrId kShardsAttr = store::intern("shards");
const store::AttrId kAmountsAttr = store::intern("amounts");

const store::AttrId kEventIdAttr = store::intern("event_id");
const store::AttrId kTimestampAttr = store::intern("timestamp");
const store::AttrId kActionAttr = store::intern("action");
const store::AttrId kPrincipalAttr = store::intern("principal");
const store::AttrId kDetailsAttr = store::intern("details");

const store::AttrId kWindowAttr = store::intern("window");
const store::AttrId kWindowStartAttr = store::intern("window_start");
const store::AttrId kTotalEventsAttr = store::intern("total_events");
constexpr std::string_view kUsageIndexPrefix = "USAGE#";
constexpr std::string_view kOverdrawnSuffix = "#od";

const store::AttrId kManagedSystemAttr = store::intern("managed_system");
const store::AttrId kManagedResourcesAttr = store::intern("managed_resources");
const store::AttrId kManagedEntitiesAttr = store::intern("managed_entities");
const store::AttrId kLastAppliedAttr = store::intern("last_applied");
const store::AttrId kAppliedHashAttr = store::intern("applied_hash");
const store::AttrId kCascadePendingAttr = store::intern("cascade_pending");

const store::AttrId kKindAttr = store::intern("kind");
const store::AttrId kLevelAttr = store::intern("level");
const store::AttrId kTargetAttr = store::intern("target");
const store::AttrId kWrittenAttr = store::intern("written_ms");
const store::AttrId kOwnersAttr = store::intern("owners");
const store::AttrId kTokenAttr = store::intern("token");
const store::AttrId kLeaseUntilAttr = store::intern("lease_until_ms");
const store::AttrId kFullAttr = store::intern("full");

// The words that stand for the values of an enumeration.
template <typename Enum, std::size_t kCount>
using Words = std::array<std::pair<Enum, std::string_view>, kCount>;

constexpr Words<store::IndexLayout, 2> kLayoutWords = {
    {{store::IndexLayout::kKeysOnly, "lean"}, {store::IndexLayout::kCompatible, "compatible"}}};
constexpr Words<ResetRule, 2> kResetRuleWords = {
    {{ResetRule::kLocalDay, "local_day"}, {ResetRule::kCompatible, "compatible"}}};
constexpr Words<NamespaceState, 3> kNamespaceStateWords = {{{NamespaceState::kActive, "active"},
                                                            {NamespaceState::kDeleted, "deleted"},
                                                            {NamespaceState::kPurging, "purging"}}};
constexpr Words<OperationKind, 2> kOperationWords = {
    {{OperationKind::kReset, "reset"}, {OperationKind::kTopUp, "top_up"}}};
constexpr Words<UsageWindow, 3> kUsageWindowWords = {{{UsageWindow::kHourly, "hourly"},
                                                      {UsageWindow::kDaily, "daily"},
                                                      {UsageWindow::kMonthly, "monthly"}}};
constexpr Words<FanoutKind, 4> kFanoutKindWords = {{{FanoutKind::kDisabled, "disabled"},
                                                    {FanoutKind::kCascade, "cascade"},
                                                    {FanoutKind::kSoft, "soft"},
                                                    {FanoutKind::kSync, "sync"}}};
constexpr Words<FanoutLevel, 3> kFanoutLevelWords = {{{FanoutLevel::kSystem, "system"},
                                                      {FanoutLevel::kResource, "resource"},
                                                      {FanoutLevel::kEntity, "entity"}}};

template <typename Enum, std::size_t kCount>
std::string_view word_of(const Words<Enum, kCount>& words, Enum value) {
  for (const auto& [candidate, word] : words) {
    if (candidate == value) return word;
  }
  assert(false);
  return {};
}

template <typename Enum, std::size_t kCount>
Enum read_word(ItemReader& reader, store::AttrId id, const Words<Enum, kCount>& words) {
  std::string text = reader.text(id);
  for (const auto& [value, word] : words) {
    if (word == text) return value;
  }
  reader.fail(id, "is \"" + text + "\", which is unknown");
  return words.front().first;
}

Value text_or_null(const std::optional<std::string>& text) {
  return text ? Value::string(*text) : Value::null();
}

Value numbers_map(const Counters& counters) {
  Value::Map map;
  for (const auto& [name, number] : counters) map.emplace(name, Value::number(number));
  return Value::map(std::move(map));
}

Value texts_list(const std::vector<std::string>& texts) {
  Value::List list;
  list.reserve(texts.size());
  for (const std::string& text : texts) list.push_back(Value::string(text));
  return Value::list(std::move(list));
}

bool is_key_attribute(store::AttrId id) {
  return store::index_of(id) <= store::index_of(store::index_sk(4));
}

store::ImagePtr encode_namespace(const NamespaceRecord& record, const store::Key& key) {
  store::ImageBuilder item = new_item(key, kReservedNamespace);
  item.set(kNamespaceIdAttr, record.id);
  item.set(kNamespaceNameAttr, record.name);
  item.set(kStatusAttr, word_of(kNamespaceStateWords, record.state));
  item.set(kCreatedAtAttr, record.created_at);
  if (record.deleted_at) item.set(kDeletedAtAttr, *record.deleted_at);
  return item.build();
}

// A limit's counter stands under the limit's bare name, among the attributes of the snapshot.
bool is_usage_counter(store::AttrId id) {
  return !is_key_attribute(id) && id != kTotalEventsAttr && id != kExpiryAttr;
}

std::optional<FanoutOwner> owner_of(const Value& value) {
  const Value::Map* map = value.as_map();
  if (map == nullptr) return std::nullopt;
  auto lease = map->find("lease");
  auto full = map->find("full");
  if (lease == map->end() || full == map->end()) return std::nullopt;
  const std::int64_t* until = lease->second.as_number();
  const bool* is_full = full->second.as_bool();
  if (until == nullptr || is_full == nullptr) return std::nullopt;
  return FanoutOwner{*until, *is_full};
}

}  // namespace

Result<StoreRecord> decode_store_record(const store::Image& item) {
  ItemReader reader(item);
  StoreRecord record;
  record.format_version = reader.number(kFormatVersionAttr);
  if (Status status = reader.status(); !status) return status.error();
  if (record.format_version > kStoreFormatVersion) {
    return Error(ErrorCode::kVersionMismatch,
                 "the store has format " + std::to_string(record.format_version) +
                     "; this program knows " + std::to_string(kStoreFormatVersion));
  }
  if (record.format_version < 1) reader.fail(kFormatVersionAttr, "is less than 1");
  record.layout = read_word(reader, kLayoutAttr, kLayoutWords);
  record.reset_rule = read_word(reader, kResetRuleAttr, kResetRuleWords);
  std::int64_t divisor = reader.number(kBurstToleranceAttr);
  if (divisor != 0 && divisor != 16) reader.fail(kBurstToleranceAttr, "is neither 0 nor 16");
  record.burst_tolerance_divisor = divisor == 16 ? 16 : 0;
  if (Status status = reader.status(); !status) return status.error();
  return record;
}

store::ImagePtr encode_store_record(const StoreRecord& record) {
  store::ImageBuilder item = new_item(store_record_key(), kReservedNamespace);
  item.set(kFormatVersionAttr, record.format_version);
  item.set(kLayoutAttr, word_of(kLayoutWords, record.layout));
  item.set(kResetRuleAttr, word_of(kResetRuleWords, record.reset_rule));
  item.set(kBurstToleranceAttr, std::int64_t{record.burst_tolerance_divisor});
  return item.build();
}

std::string_view to_string(ResetRule rule) { return word_of(kResetRuleWords, rule); }

std::string_view to_string(store::IndexLayout layout) { return word_of(kLayoutWords, layout); }

Result<ImportRecord> decode_import(const store::Image& item) {
  ItemReader reader(item);
  ImportRecord record;
  record.source = reader.text(kSourceAttr);
  record.started_at = reader.text(kStartedAtAttr);
  record.lines = reader.number(kLinesAttr);
  record.digest = reader.text(kDigestAttr);
  if (Status status = reader.status(); !status) return status.error();
  return record;
}

store::ImagePtr encode_import(const ImportRecord& record) {
  store::ImageBuilder item = new_item(import_record_key(), kReservedNamespace);
  item.set(kSourceAttr, record.source);
  item.set(kStartedAtAttr, record.started_at);
  item.set(kLinesAttr, record.lines);
  item.set(kDigestAttr, record.digest);
  return item.build();
}

VersionRecord initial_version_record(TimePoint now) {
  VersionRecord record;
  record.schema_version = "0.10.0";
  record.lambda_version = "0.17.0";
  record.client_min_version = "0.0.0";
  record.updated_at = iso_seconds(now);
  return record;
}

Result<VersionRecord> decode_version(const store::Image& item) {
  ItemReader reader(item);
  VersionRecord record;
  record.schema_version = reader.text(kSchemaVersionAttr);
  record.lambda_version = reader.nullable_text(kLambdaVersionAttr);
  record.client_min_version = reader.nullable_text(kClientMinVersionAttr);
  record.updated_at = reader.nullable_text(kUpdatedAtAttr).value_or("");
  record.updated_by = reader.nullable_text(kUpdatedByAttr);
  if (Status status = reader.status(); !status) return status.error();
  return record;
}

store::ImagePtr encode_version(const VersionRecord& record) {
  store::ImageBuilder item = new_item(version_key(), kReservedNamespace);
  item.set(kSchemaVersionAttr, record.schema_version);
  item.set(kLambdaVersionAttr, text_or_null(record.lambda_version));
  if (record.client_min_version) item.set(kClientMinVersionAttr, *record.client_min_version);
  if (!record.updated_at.empty()) item.set(kUpdatedAtAttr, record.updated_at);
  item.set(kUpdatedByAttr, text_or_null(record.updated_by));
  return item.build();
}

store::UpdateProgram raise_client_minimum(const VersionRecord& read, std::string_view minimum) {
  auto text = [](std::string_view value) { return store::Operand::literal(Value::string(value)); };
  store::UpdateProgram program;
  program.condition.require(store::Term{store::Test::kItemExists});
  if (read.client_min_version) {
    program.condition.require(
        store::Term{store::Test::kEqual, kClientMinVersionAttr, text(*read.client_min_version)});
  } else {
    // Either says that there is no minimum.
    program.condition.require_any({{store::Term{store::Test::kAbsent, kClientMinVersionAttr}},
                                   {store::Term{store::Test::kEqual, kClientMinVersionAttr,
                                                store::Operand::literal(Value::null())}}});
  }
  program.actions.push_back(
      store::Action{store::Change::kSet, kClientMinVersionAttr, text(minimum)});
  return program;
}

Result<NamespaceRecord> decode_namespace(const store::Image& item) {
  ItemReader reader(item);
  NamespaceRecord record;
  record.id = reader.text(kNamespaceIdAttr);
  record.name = reader.text(kNamespaceNameAttr);
  record.state = read_word(reader, kStatusAttr, kNamespaceStateWords);
  record.created_at = reader.text(kCreatedAtAttr);
  record.deleted_at = reader.optional_text(kDeletedAtAttr);
  if (Status status = reader.status(); !status) return status.error();
  return record;
}

store::ImagePtr encode_namespace_by_name(const NamespaceRecord& record) {
  return encode_namespace(record, namespace_name_key(record.name));
}

store::ImagePtr encode_namespace_by_id(const NamespaceRecord& record) {
  return encode_namespace(record, namespace_id_key(record.id));
}

Result<ResourceRegistry> decode_resource_registry(const store::Image& item) {
  ResourceRegistry registry;
  // The set vanishes with its last element.
  std::optional<Value> value = item.value(kResourcesAttr);
  if (!value) return registry;
  const Value::StringSet* resources = value->as_string_set();
  if (resources == nullptr) return corrupt_item(item, "resources is not a set of strings");
  registry.resources = *resources;
  return registry;
}

store::ImagePtr encode_resource_registry(std::string_view ns, const ResourceRegistry& registry) {
  store::ImageBuilder item = new_item(resource_registry_key(ns), ns);
  if (!registry.resources.empty()) item.set(kResourcesAttr, Value::string_set(registry.resources));
  return item.build();
}

Result<EntityConfigRegistry> decode_entity_config_registry(const store::Image& item) {
  ItemReader reader(item);
  EntityConfigRegistry registry;
  for (const store::ImageEntry& entry : item) {
    if (is_key_attribute(entry.id())) continue;
    registry.counts.emplace(store::name_of(entry.id()), reader.number(entry.id()));
  }
  if (Status status = reader.status(); !status) return status.error();
  return registry;
}

store::ImagePtr encode_entity_config_registry(std::string_view ns,
                                              const EntityConfigRegistry& registry) {
  store::ImageBuilder item = new_item(entity_config_registry_key(ns), ns);
  for (const auto& [resource, count] : registry.counts) item.set(store::intern(resource), count);
  return item.build();
}

Result<OperationRecord> decode_operation(const store::Image& item) {
  if (!item.sk().starts_with(kOperationPrefix)) {
    return corrupt_item(item, "is not the record of an operation");
  }
  ItemReader reader(item);
  OperationRecord record;
  record.entity = reader.text(kEntityIdAttr);
  record.resource = reader.text(kResourceAttr);
  record.id = item.sk().substr(kOperationPrefix.size());
  record.kind = read_word(reader, kOperationAttr, kOperationWords);
  record.writer = reader.text(kWriterAttr);
  record.incarnation = reader.text(kLifeAttr);
  record.shards = reader.number(kShardsAttr);
  record.amounts = reader.optional_numbers(kAmountsAttr);
  record.expires_at_s = reader.number(kExpiryAttr);
  if (Status status = reader.status(); !status) return status.error();
  return record;
}

store::ImagePtr encode_operation(std::string_view ns, const OperationRecord& record) {
  store::ImageBuilder item =
      new_item(operation_key(ns, record.entity, record.resource, record.id), ns);
  item.set(store::index_sk(4), "OP#" + record.entity + "#" + record.resource + "#" + record.id);
  item.set(kEntityIdAttr, record.entity);
  item.set(kResourceAttr, record.resource);
  item.set(kOperationAttr, word_of(kOperationWords, record.kind));
  item.set(kWriterAttr, record.writer);
  item.set(kLifeAttr, record.incarnation);
  item.set(kShardsAttr, record.shards);
  item.set(kAmountsAttr, numbers_map(record.amounts));
  item.set(kExpiryAttr, record.expires_at_s);
  return item.build();
}

Result<AuditEvent> decode_audit_event(const store::Image& item) {
  ItemReader reader(item);
  AuditEvent event;
  event.entity = reader.text(kEntityIdAttr);
  event.event_id = reader.text(kEventIdAttr);
  event.timestamp = reader.text(kTimestampAttr);
  event.action = reader.text(kActionAttr);
  event.principal = reader.nullable_text(kPrincipalAttr);
  event.resource = reader.nullable_text(kResourceAttr);
  event.details = reader.optional_map(kDetailsAttr);
  event.expires_at_s = reader.optional_number(kExpiryAttr);
  if (Status status = reader.status(); !status) return status.error();
  return event;
}

store::ImagePtr encode_audit_event(std::string_view ns, const AuditEvent& event) {
  store::ImageBuilder item = new_item(audit_key(ns, event.entity, event.event_id), ns);
  item.set(kEntityIdAttr, event.entity);
  item.set(kEventIdAttr, event.event_id);
  item.set(kTimestampAttr, event.timestamp);
  item.set(kActionAttr, event.action);
  item.set(kPrincipalAttr, text_or_null(event.principal));
  item.set(kResourceAttr, text_or_null(event.resource));
  item.set(kDetailsAttr, Value::map(event.details));
  if (event.expires_at_s) item.set(kExpiryAttr, *event.expires_at_s);
  return item.build();
}

std::string_view to_string(UsageWindow window) { return word_of(kUsageWindowWords, window); }

Result<UsageSnapshot> decode_usage(const store::Image& item) {
  ItemReader reader(item);
  UsageSnapshot snapshot;
  snapshot.entity = reader.text(kEntityIdAttr);
  snapshot.resource = reader.text(kResourceAttr);
  snapshot.window = read_word(reader, kWindowAttr, kUsageWindowWords);
  snapshot.window_start = reader.text(kWindowStartAttr);
  snapshot.total_events = reader.number(kTotalEventsAttr);
  snapshot.expires_at_s = reader.optional_number(kExpiryAttr);
  for (const store::ImageEntry& entry : item) {
    bool is_number =
        entry.type() == store::ValueType::kNumber || entry.type() == store::ValueType::kDecimal;
    if (!is_number || !is_usage_counter(entry.id())) continue;
    std::int64_t count = reader.number(entry.id());
    std::string_view name = store::name_of(entry.id());
    if (name.ends_with(kOverdrawnSuffix)) {
      name.remove_suffix(kOverdrawnSuffix.size());
      snapshot.overdrawn.emplace(name, count);
    } else {
      snapshot.consumed.emplace(name, count);
    }
  }
  if (Status status = reader.status(); !status) return status.error();
  return snapshot;
}

store::ImagePtr encode_usage(std::string_view ns, const UsageSnapshot& snapshot) {
  store::ImageBuilder item =
      new_item(usage_key(ns, snapshot.entity, snapshot.resource, snapshot.window_start), ns);
  item.set(store::index_pk(2), resource_partition(ns, snapshot.resource));
  item.set(store::index_sk(2),
           std::string(kUsageIndexPrefix) + snapshot.window_start + "#" + snapshot.entity);
  item.set(kEntityIdAttr, snapshot.entity);
  item.set(kResourceAttr, snapshot.resource);
  item.set(kWindowAttr, to_string(snapshot.window));
  item.set(kWindowStartAttr, snapshot.window_start);
  item.set(kTotalEventsAttr, snapshot.total_events);
  if (snapshot.expires_at_s) item.set(kExpiryAttr, *snapshot.expires_at_s);
  for (const auto& [limit, tokens] : snapshot.consumed) item.set(store::intern(limit), tokens);
  for (const auto& [limit, count] : snapshot.overdrawn) {
    item.set(store::intern(limit + std::string(kOverdrawnSuffix)), count);
  }
  return item.build();
}

Result<ProvisionerState> decode_provisioner_state(const store::Image& item) {
  ItemReader reader(item);
  ProvisionerState state;
  state.managed_system = reader.optional_boolean(kManagedSystemAttr).value_or(false);
  state.managed_resources = reader.optional_texts(kManagedResourcesAttr);
  for (const auto& [entity, resources] : reader.optional_map(kManagedEntitiesAttr)) {
    std::vector<std::string>& managed = state.managed_entities[entity];
    const Value::List* list = resources.as_list();
    if (list == nullptr) {
      reader.fail(kManagedEntitiesAttr, "holds something that is not a list");
      break;
    }
    for (const Value& resource : *list) {
      const std::string* text = resource.as_string();
      if (text == nullptr) {
        reader.fail(kManagedEntitiesAttr, "lists something that is not a string");
        break;
      }
      managed.push_back(*text);
    }
  }
  state.last_applied = reader.nullable_text(kLastAppliedAttr);
  state.applied_hash = reader.nullable_text(kAppliedHashAttr);
  state.cascade_pending = item.value(kCascadePendingAttr);
  state.purgeable = item.has(store::index_sk(4));
  if (Status status = reader.status(); !status) return status.error();
  return state;
}

store::ImagePtr encode_provisioner_state(std::string_view ns, const ProvisionerState& state) {
  store::ImageBuilder item = new_item(provisioner_state_key(ns), ns);
  if (!state.purgeable) item.erase(store::index_sk(4));
  item.set(kManagedSystemAttr, state.managed_system);
  item.set(kManagedResourcesAttr, texts_list(state.managed_resources));
  Value::Map entities;
  for (const auto& [entity, resources] : state.managed_entities) {
    entities.emplace(entity, texts_list(resources));
  }
  item.set(kManagedEntitiesAttr, Value::map(std::move(entities)));
  if (state.last_applied) item.set(kLastAppliedAttr, *state.last_applied);
  if (state.applied_hash) item.set(kAppliedHashAttr, *state.applied_hash);
  if (state.cascade_pending) item.set(kCascadePendingAttr, *state.cascade_pending);
  return item.build();
}

Result<ProvisionerPending> decode_provisioner_pending(const store::Image& item) {
  ItemReader reader(item);
  ProvisionerPending pending;
  pending.kind = read_word(reader, kKindAttr, kFanoutKindWords);
  pending.level = read_word(reader, kLevelAttr, kFanoutLevelWords);
  pending.target = reader.optional_text(kTargetAttr).value_or("");
  pending.written_ms = reader.optional_number(kWrittenAttr);
  for (const auto& [token, value] : reader.optional_map(kOwnersAttr)) {
    std::optional<FanoutOwner> owner = owner_of(value);
    if (!owner) {
      reader.fail(kOwnersAttr, "holds an owner without lease and extent");
      break;
    }
    pending.owners.emplace(token, *owner);
  }
  if (std::optional<std::string> token = reader.optional_text(kTokenAttr)) {
    FanoutOwner owner{reader.number(kLeaseUntilAttr), reader.boolean(kFullAttr)};
    pending.old_form_owner.emplace(*std::move(token), owner);
  }
  if (Status status = reader.status(); !status) return status.error();
  return pending;
}

store::ImagePtr encode_provisioner_pending(std::string_view ns, const ProvisionerPending& pending) {
  std::string_view kind = word_of(kFanoutKindWords, pending.kind);
  std::string_view level = word_of(kFanoutLevelWords, pending.level);
  store::ImageBuilder item = new_item(provisioner_pending_key(ns, kind, level, pending.target), ns);
  item.set(kKindAttr, kind);
  item.set(kLevelAttr, level);
  item.set(kTargetAttr, pending.target);
  if (pending.written_ms) item.set(kWrittenAttr, *pending.written_ms);
  if (!pending.old_form_owner || !pending.owners.empty()) {
    Value::Map owners;
    for (const auto& [token, owner] : pending.owners) {
      Value::Map fields;
      fields.emplace("lease", Value::number(owner.lease_until_ms));
      fields.emplace("full", Value::boolean(owner.full));
      owners.emplace(token, Value::map(std::move(fields)));
    }
    item.set(kOwnersAttr, Value::map(std::move(owners)));
  }
  if (pending.old_form_owner) {
    const auto& [token, owner] = *pending.old_form_owner;
    item.set(kTokenAttr, token);
    item.set(kLeaseUntilAttr, owner.lease_until_ms);
    item.set(kFullAttr, owner.full);
  }
  return item.build();
}

namespace {

/// Registries are made by their first entry, so every entry brings the keys of the index along.
void set_index_keys(std::string_view ns, const store::Key& key, store::UpdateProgram& program) {
  auto set = [&](store::AttrId attribute, const std::string& text) {
    program.actions.push_back(store::Action{store::Change::kSetIfAbsent, attribute,
                                            store::Operand::literal(store::Value::string(text))});
  };
  set(store::index_pk(4), namespace_partition(ns));
  set(store::index_sk(4), key.pk());
}

}  // namespace

store::UpdateProgram count_in_registry(std::string_view ns, std::string_view resource,
                                       std::int64_t by) {
  store::UpdateProgram program;
  program.actions.push_back(store::Action{store::Change::kAdd, store::intern(resource),
                                          store::Operand::literal(store::Value::number(by))});
  set_index_keys(ns, entity_config_registry_key(ns), program);
  return program;
}

store::UpdateProgram drop_empty_counter(std::string_view resource) {
  store::AttrId counter = store::intern(resource);
  store::UpdateProgram program;
  program.condition.require(store::Term{store::Test::kLessOrEqual, counter,
                                        store::Operand::literal(store::Value::number(0))});
  program.actions.push_back(store::Action{store::Change::kRemove, counter});
  return program;
}

store::UpdateProgram list_resource(std::string_view ns, std::string_view resource) {
  store::UpdateProgram program;
  program.actions.push_back(
      store::Action{store::Change::kAdd, store::intern("resources"),
                    store::Operand::literal(store::Value::string_set({std::string(resource)}))});
  set_index_keys(ns, resource_registry_key(ns), program);
  return program;
}

store::UpdateProgram unlist_resource(std::string_view resource) {
  store::UpdateProgram program;
  program.actions.push_back(
      store::Action{store::Change::kRemoveFromSet, store::intern("resources"),
                    store::Operand::literal(store::Value::string_set({std::string(resource)}))});
  return program;
}

}  // namespace stint::schema
