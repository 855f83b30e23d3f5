// Registries, namespaces, versions and the records of operations, audit, usage and provisioning
// (rules 1.5), and stint's own store record (decision 26).
//
// Every record is read by `decode_...`, whose errors are `kCorrupt` with the item and what is wrong
// with it, and written by `encode_...`. What the other package writes comes out as it was read.
#ifndef STINT_SCHEMA_RECORDS_H_
#define STINT_SCHEMA_RECORDS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stint/limit.h"
#include "stint/result.h"
#include "stint/time.h"
#include "store/engine.h"
#include "store/expression.h"
#include "store/image.h"
#include "store/value.h"

namespace stint::schema {

/// Numbers by the name of a limit or a resource.
using Counters = std::map<std::string, std::int64_t, std::less<>>;

/// Properties of a store, fixed when stint creates it.
struct StoreRecord {
  store::IndexLayout layout = store::IndexLayout::kKeysOnly;
  ResetRule reset_rule = ResetRule::kLocalDay;
  int burst_tolerance_divisor = 0;  // 0 or 16
  std::int64_t format_version = 1;
  friend bool operator==(const StoreRecord&, const StoreRecord&) = default;
};
inline constexpr std::int64_t kStoreFormatVersion = 1;
/// Errors: also `kVersionMismatch`, when the format is newer than this program.
Result<StoreRecord> decode_store_record(const store::Image& item);
store::ImagePtr encode_store_record(const StoreRecord& record);

/// An import that is under way; gone when it is finished.
struct ImportRecord {
  std::string source;
  std::string started_at;  // ISO text
  std::int64_t lines = 0;  // from the first on; their items are written
  std::string digest;      // of those lines
  friend bool operator==(const ImportRecord&, const ImportRecord&) = default;
};
Result<ImportRecord> decode_import(const store::Image& item);
store::ImagePtr encode_import(const ImportRecord& record);

/// The word that stands for a layout in the store's record.
std::string_view to_string(store::IndexLayout layout);
/// The word that stands for a reset rule there.
std::string_view to_string(ResetRule rule);

/// Which programs may share the table (rules 5.11). Versions are texts as their writers spell them.
struct VersionRecord {
  std::string schema_version;
  /// Of the stream consumer; absent: unknown.
  std::optional<std::string> lambda_version;
  /// Absent: no minimum.
  std::optional<std::string> client_min_version;
  std::string updated_at;  // ISO text; empty: not said
  std::optional<std::string> updated_by;
  friend bool operator==(const VersionRecord&, const VersionRecord&) = default;
};
/// The record of a store that stint creates: it acts as version 0.17.0 there (decision 1).
VersionRecord initial_version_record(TimePoint now);
Result<VersionRecord> decode_version(const store::Image& item);
store::ImagePtr encode_version(const VersionRecord& record);
/// Sets the least version that clients must have, if the record says the same of it as `read`.
store::UpdateProgram raise_client_minimum(const VersionRecord& read, std::string_view minimum);

enum class NamespaceState : std::uint8_t {
  kActive,
  kDeleted,  ///< Recoverable: only the record by name is gone.
  kPurging,
};

/// A namespace, stored once by name and once by id.
struct NamespaceRecord {
  std::string id;
  std::string name;
  NamespaceState state = NamespaceState::kActive;
  std::string created_at;                 // ISO text
  std::optional<std::string> deleted_at;  // ISO text
  friend bool operator==(const NamespaceRecord&, const NamespaceRecord&) = default;
};
/// Reads either of the two items.
Result<NamespaceRecord> decode_namespace(const store::Image& item);
store::ImagePtr encode_namespace_by_name(const NamespaceRecord& record);
store::ImagePtr encode_namespace_by_id(const NamespaceRecord& record);

/// Resources that have limits of their own.
struct ResourceRegistry {
  store::Value::StringSet resources;
  friend bool operator==(const ResourceRegistry&, const ResourceRegistry&) = default;
};
Result<ResourceRegistry> decode_resource_registry(const store::Image& item);
store::ImagePtr encode_resource_registry(std::string_view ns, const ResourceRegistry& registry);

/// How many entities have configuration for each resource. Counts of 0 or less may linger; they
/// mean none.
struct EntityConfigRegistry {
  Counters counts;
  friend bool operator==(const EntityConfigRegistry&, const EntityConfigRegistry&) = default;
};
Result<EntityConfigRegistry> decode_entity_config_registry(const store::Image& item);
store::ImagePtr encode_entity_config_registry(std::string_view ns,
                                              const EntityConfigRegistry& registry);

enum class OperationKind : std::uint8_t { kReset, kTopUp };

/// A reset or top-up that was done, so that its repetition is recognised.
struct OperationRecord {
  std::string entity;
  std::string resource;
  std::string id;
  OperationKind kind = OperationKind::kReset;
  std::string writer;             // 24 hex digits, one call
  std::string incarnation = "-";  // the entity's life in which it was done; "-": not known
  std::int64_t shards = 0;
  Counters amounts;  // whole tokens per limit; a reset that took a top-up away has negative ones
  std::int64_t expires_at_s = 0;
  friend bool operator==(const OperationRecord&, const OperationRecord&) = default;
};
Result<OperationRecord> decode_operation(const store::Image& item);
store::ImagePtr encode_operation(std::string_view ns, const OperationRecord& record);

/// Something that was done to an entity, a resource ("$RESOURCE:{name}") or the system ("$SYSTEM").
struct AuditEvent {
  std::string entity;
  std::string event_id;   // a ULID
  std::string timestamp;  // ISO text
  std::string action;
  std::optional<std::string> principal;
  std::optional<std::string> resource;
  store::Value::Map details;
  std::optional<std::int64_t> expires_at_s;
  friend bool operator==(const AuditEvent&, const AuditEvent&) = default;
};
Result<AuditEvent> decode_audit_event(const store::Image& item);
store::ImagePtr encode_audit_event(std::string_view ns, const AuditEvent& event);

enum class UsageWindow : std::uint8_t { kHourly, kDaily, kMonthly };
/// "hourly", "daily" or "monthly".
std::string_view to_string(UsageWindow window);

/// What an entity consumed of a resource in one window.
struct UsageSnapshot {
  std::string entity;
  std::string resource;
  /// At midnight hourly, daily and monthly windows share one item; this is the first written.
  UsageWindow window = UsageWindow::kHourly;
  std::string window_start;  // ISO text, and part of the key
  Counters consumed;         // whole tokens per limit
  Counters overdrawn;        // changes that left a soft limit in debt, per limit
  std::int64_t total_events = 0;
  std::optional<std::int64_t> expires_at_s;
  friend bool operator==(const UsageSnapshot&, const UsageSnapshot&) = default;
};
Result<UsageSnapshot> decode_usage(const store::Image& item);
store::ImagePtr encode_usage(std::string_view ns, const UsageSnapshot& snapshot);

/// What the last manifest applied to a namespace manages.
struct ProvisionerState {
  bool managed_system = false;
  std::vector<std::string> managed_resources;
  std::map<std::string, std::vector<std::string>, std::less<>> managed_entities;
  std::optional<std::string> last_applied;  // ISO text with offset
  std::optional<std::string> applied_hash;  // "sha256:" and hex digits
  /// Fan-outs owed, in the form of old writers; kept as it is.
  std::optional<store::Value> cascade_pending;
  /// False on items that a purge of the namespace misses: the other library writes such ones.
  bool purgeable = true;
  friend bool operator==(const ProvisionerState&, const ProvisionerState&) = default;
};
Result<ProvisionerState> decode_provisioner_state(const store::Image& item);
store::ImagePtr encode_provisioner_state(std::string_view ns, const ProvisionerState& state);

enum class FanoutKind : std::uint8_t { kDisabled, kCascade, kSoft, kSync };
enum class FanoutLevel : std::uint8_t { kSystem, kResource, kEntity };

/// A run that has taken over a fan-out, until its lease passes.
struct FanoutOwner {
  std::int64_t lease_until_ms = 0;
  bool full = false;
  friend bool operator==(const FanoutOwner&, const FanoutOwner&) = default;
};

/// A fan-out to buckets that is owed: written before the configuration, removed when it is done.
struct ProvisionerPending {
  FanoutKind kind = FanoutKind::kSync;
  FanoutLevel level = FanoutLevel::kSystem;
  std::string target;  // empty, a resource, or "{entity}/{resource}"
  std::optional<std::int64_t> written_ms;
  std::map<std::string, FanoutOwner, std::less<>> owners;  // by token
  /// The single owner in the form of old writers, by token.
  std::optional<std::pair<std::string, FanoutOwner>> old_form_owner;
  friend bool operator==(const ProvisionerPending&, const ProvisionerPending&) = default;
};
Result<ProvisionerPending> decode_provisioner_pending(const store::Image& item);
store::ImagePtr encode_provisioner_pending(std::string_view ns, const ProvisionerPending& pending);

/// Counts an entity-level configuration item in (+1) or out (-1) under the name of its resource.
store::UpdateProgram count_in_registry(std::string_view ns, std::string_view resource,
                                       std::int64_t by);
/// Removes a counter that has come down to nothing.
store::UpdateProgram drop_empty_counter(std::string_view resource);
/// Adds a resource to, or takes it from, the registry of resources with limits of their own.
store::UpdateProgram list_resource(std::string_view ns, std::string_view resource);
store::UpdateProgram unlist_resource(std::string_view resource);

}  // namespace stint::schema

#endif  // STINT_SCHEMA_RECORDS_H_
