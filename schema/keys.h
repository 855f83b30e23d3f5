// Keys of the table (rules 1): the only place that knows how they are spelled.
#ifndef STINT_SCHEMA_KEYS_H_
#define STINT_SCHEMA_KEYS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/component.h"
#include "store/key.h"

namespace stint::schema {

/// The namespace id under which everything that belongs to the whole store stands.
inline constexpr std::string_view kReservedNamespace = "_";

store::Key bucket_key(std::string_view ns, std::string_view entity, std::string_view resource,
                      std::int64_t shard);
store::Key entity_key(std::string_view ns, std::string_view entity);
/// Configuration of one level; entity-wide when `resource` is empty, resource level when `entity`
/// is, system level when both are.
store::Key config_key(std::string_view ns, std::string_view entity, std::string_view resource);
store::Key resource_registry_key(std::string_view ns);
store::Key entity_config_registry_key(std::string_view ns);
STINT_COMPONENT store::Key version_key();
STINT_COMPONENT store::Key store_record_key();
store::Key import_record_key();
/// Of an item that is there for a moment, to try what a program may do.
STINT_COMPONENT store::Key probe_key(std::string_view id);
store::Key namespace_name_key(std::string_view name);
store::Key namespace_id_key(std::string_view id);
store::Key operation_key(std::string_view ns, std::string_view entity, std::string_view resource,
                         std::string_view operation_id);
store::Key audit_key(std::string_view ns, std::string_view entity, std::string_view event_id);
store::Key usage_key(std::string_view ns, std::string_view entity, std::string_view resource,
                     std::string_view window_key);
store::Key provisioner_state_key(std::string_view ns);
store::Key provisioner_pending_key(std::string_view ns, std::string_view kind,
                                   std::string_view level, std::string_view target);

/// Partitions and sort-key prefixes of the indexes.
std::string children_partition(std::string_view ns, std::string_view parent);         // GSI1
std::string resource_partition(std::string_view ns, std::string_view resource);       // GSI2
std::string entity_partition(std::string_view ns, std::string_view entity);           // GSI3
std::string entity_config_partition(std::string_view ns, std::string_view resource);  // GSI3
std::string namespace_partition(std::string_view ns);                                 // GSI4
inline constexpr std::string_view kBucketPrefix = "BUCKET#";
inline constexpr std::string_view kChildPrefix = "CHILD#";

/// Sort-key prefixes within a partition of the table.
inline constexpr std::string_view kOperationPrefix = "#OP#";
inline constexpr std::string_view kAuditPrefix = "#AUDIT#";
inline constexpr std::string_view kUsagePrefix = "#USAGE#";
inline constexpr std::string_view kEntityConfigPrefix = "#CONFIG#";
inline constexpr std::string_view kNamespaceIdPrefix = "#NSID#";
inline constexpr std::string_view kNamespaceNamePrefix = "#NAMESPACE#";
inline constexpr std::string_view kProvisionerPendingPrefix = "#PROVISIONER#PENDING#";

/// What an item is, told by its key.
enum class ItemKind : std::uint8_t {
  kBucket,
  kOperation,
  kEntity,
  kEntityConfig,
  kResourceConfig,
  kSystemConfig,
  kUsage,
  kAudit,
  kResourceRegistry,
  kEntityConfigRegistry,
  kProvisionerState,
  kProvisionerPending,
  kNamespaceByName,
  kNamespaceById,
  kVersion,
  kStoreRecord,
  kImportRecord,
  kOther,
};
/// For people: "bucket", "entity", "entity limits" ...
std::string_view to_string(ItemKind kind);

struct ItemPlace {
  ItemKind kind = ItemKind::kOther;
  /// The namespace's id, a view of the key; empty where the key has another form.
  std::string_view ns;
};
ItemPlace place_of(std::string_view pk, std::string_view sk);

/// Where a bucket stands, read back from its index keys "BUCKET#{resource}#{shard}".
struct BucketRef {
  std::string resource;
  std::int64_t shard = 0;
};
/// Nothing when the text has another form.
std::optional<BucketRef> parse_bucket_ref(std::string_view gsi3_sort_key);

/// A bucket's names, read back from its partition key.
struct BucketAddress {
  std::string entity;
  std::string resource;
  std::int64_t shard = 0;
};
/// Nothing when the text has another form.
std::optional<BucketAddress> parse_bucket_key(std::string_view pk);

}  // namespace stint::schema

#endif  // STINT_SCHEMA_KEYS_H_
