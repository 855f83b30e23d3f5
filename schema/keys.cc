#include "schema/keys.h"

#include <charconv>
#include <initializer_list>

#include "model/names.h"

namespace stint::schema {
namespace {

constexpr std::string_view kConfigSortKey = "#CONFIG";

std::string join(std::initializer_list<std::string_view> parts) {
  std::size_t size = 0;
  for (std::string_view part : parts) size += part.size();
  std::string text;
  text.reserve(size);
  for (std::string_view part : parts) text += part;
  return text;
}

std::string system_partition(std::string_view ns) { return join({ns, "/SYSTEM#"}); }

}  // namespace

store::Key bucket_key(std::string_view ns, std::string_view entity, std::string_view resource,
                      std::int64_t shard) {
  return store::Key(join({ns, "/BUCKET#", entity, "#", resource, "#", std::to_string(shard)}),
                    "#STATE");
}

store::Key entity_key(std::string_view ns, std::string_view entity) {
  return store::Key(entity_partition(ns, entity), "#META");
}

store::Key config_key(std::string_view ns, std::string_view entity, std::string_view resource) {
  if (!entity.empty()) {
    if (resource.empty()) resource = model::kDefaultResource;
    return store::Key(entity_partition(ns, entity), join({kEntityConfigPrefix, resource}));
  }
  if (!resource.empty()) return store::Key(resource_partition(ns, resource), kConfigSortKey);
  return store::Key(system_partition(ns), kConfigSortKey);
}

store::Key resource_registry_key(std::string_view ns) {
  return store::Key(system_partition(ns), "#RESOURCES");
}

store::Key entity_config_registry_key(std::string_view ns) {
  return store::Key(system_partition(ns), "#ENTITY_CONFIG_RESOURCES");
}

store::Key version_key() { return store::Key(system_partition(kReservedNamespace), "#VERSION"); }

store::Key store_record_key() { return store::Key(system_partition(kReservedNamespace), "#STINT"); }

store::Key import_record_key() {
  return store::Key(system_partition(kReservedNamespace), "#STINT#IMPORT");
}

store::Key probe_key(std::string_view id) {
  return store::Key(system_partition(kReservedNamespace), "#STINT#PROBE#" + std::string(id));
}

store::Key namespace_name_key(std::string_view name) {
  return store::Key(system_partition(kReservedNamespace), join({kNamespaceNamePrefix, name}));
}

store::Key namespace_id_key(std::string_view id) {
  return store::Key(system_partition(kReservedNamespace), join({kNamespaceIdPrefix, id}));
}

store::Key operation_key(std::string_view ns, std::string_view entity, std::string_view resource,
                         std::string_view operation_id) {
  return store::Key(join({ns, "/BUCKET#", entity, "#", resource, "#0"}),
                    join({kOperationPrefix, operation_id}));
}

store::Key audit_key(std::string_view ns, std::string_view entity, std::string_view event_id) {
  return store::Key(join({ns, "/AUDIT#", entity}), join({kAuditPrefix, event_id}));
}

store::Key usage_key(std::string_view ns, std::string_view entity, std::string_view resource,
                     std::string_view window_key) {
  return store::Key(entity_partition(ns, entity), join({kUsagePrefix, resource, "#", window_key}));
}

store::Key provisioner_state_key(std::string_view ns) {
  return store::Key(system_partition(ns), "#PROVISIONER");
}

store::Key provisioner_pending_key(std::string_view ns, std::string_view kind,
                                   std::string_view level, std::string_view target) {
  return store::Key(system_partition(ns),
                    join({kProvisionerPendingPrefix, kind, "#", level, "#", target}));
}

std::string children_partition(std::string_view ns, std::string_view parent) {
  return join({ns, "/PARENT#", parent});
}

std::string resource_partition(std::string_view ns, std::string_view resource) {
  return join({ns, "/RESOURCE#", resource});
}

std::string entity_partition(std::string_view ns, std::string_view entity) {
  return join({ns, "/ENTITY#", entity});
}

std::string entity_config_partition(std::string_view ns, std::string_view resource) {
  return join({ns, "/ENTITY_CONFIG#", resource});
}

std::string namespace_partition(std::string_view ns) { return std::string(ns); }

std::string_view to_string(ItemKind kind) {
  switch (kind) {
    case ItemKind::kBucket: return "bucket";
    case ItemKind::kOperation: return "operation";
    case ItemKind::kEntity: return "entity";
    case ItemKind::kEntityConfig: return "entity limits";
    case ItemKind::kResourceConfig: return "resource limits";
    case ItemKind::kSystemConfig: return "system limits";
    case ItemKind::kUsage: return "usage";
    case ItemKind::kAudit: return "audit event";
    case ItemKind::kResourceRegistry: return "list of resources";
    case ItemKind::kEntityConfigRegistry: return "list of entity limits";
    case ItemKind::kProvisionerState: return "manifest state";
    case ItemKind::kProvisionerPending: return "pending change";
    case ItemKind::kNamespaceByName: return "namespace by name";
    case ItemKind::kNamespaceById: return "namespace by id";
    case ItemKind::kVersion: return "version";
    case ItemKind::kStoreRecord: return "store settings";
    case ItemKind::kImportRecord: return "unfinished import";
    case ItemKind::kOther: return "other";
  }
  return "other";
}

ItemPlace place_of(std::string_view pk, std::string_view sk) {
  ItemPlace place;
  std::size_t slash = pk.find('/');
  if (slash == std::string_view::npos || slash == 0) return place;
  place.ns = pk.substr(0, slash);
  std::string_view rest = pk.substr(slash + 1);
  auto is = [&](std::string_view partition, bool fits, ItemKind kind) {
    if (rest.starts_with(partition) && fits) place.kind = kind;
  };
  is("BUCKET#", sk == "#STATE", ItemKind::kBucket);
  is("BUCKET#", sk.starts_with(kOperationPrefix), ItemKind::kOperation);
  is("ENTITY#", sk == "#META", ItemKind::kEntity);
  is("ENTITY#", sk.starts_with(kEntityConfigPrefix), ItemKind::kEntityConfig);
  is("ENTITY#", sk.starts_with(kUsagePrefix), ItemKind::kUsage);
  is("RESOURCE#", sk == kConfigSortKey, ItemKind::kResourceConfig);
  is("AUDIT#", sk.starts_with(kAuditPrefix), ItemKind::kAudit);
  if (rest != "SYSTEM#") return place;
  is("", sk == kConfigSortKey, ItemKind::kSystemConfig);
  is("", sk == "#RESOURCES", ItemKind::kResourceRegistry);
  is("", sk == "#ENTITY_CONFIG_RESOURCES", ItemKind::kEntityConfigRegistry);
  is("", sk == "#PROVISIONER", ItemKind::kProvisionerState);
  is("", sk.starts_with(kProvisionerPendingPrefix), ItemKind::kProvisionerPending);
  if (place.ns != kReservedNamespace) return place;
  is("", sk == "#VERSION", ItemKind::kVersion);
  is("", sk == "#STINT", ItemKind::kStoreRecord);
  is("", sk == "#STINT#IMPORT", ItemKind::kImportRecord);
  is("", sk.starts_with(kNamespaceNamePrefix), ItemKind::kNamespaceByName);
  is("", sk.starts_with(kNamespaceIdPrefix), ItemKind::kNamespaceById);
  return place;
}

std::optional<BucketRef> parse_bucket_ref(std::string_view gsi3_sort_key) {
  if (!gsi3_sort_key.starts_with(kBucketPrefix)) return std::nullopt;
  std::string_view rest = gsi3_sort_key.substr(kBucketPrefix.size());
  std::size_t separator = rest.rfind('#');
  if (separator == std::string_view::npos || separator == 0) return std::nullopt;
  std::string_view digits = rest.substr(separator + 1);

  BucketRef ref;
  ref.resource = rest.substr(0, separator);
  const char* end = digits.data() + digits.size();
  auto [parsed, error] = std::from_chars(digits.data(), end, ref.shard);
  if (error != std::errc() || parsed != end) return std::nullopt;
  // Another spelling of the same number would lead to another key.
  if (ref.shard < 0 || std::to_string(ref.shard) != digits) return std::nullopt;
  return ref;
}

std::optional<BucketAddress> parse_bucket_key(std::string_view pk) {
  std::size_t slash = pk.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  std::string_view rest = pk.substr(slash + 1);
  if (!rest.starts_with(kBucketPrefix)) return std::nullopt;
  rest.remove_prefix(kBucketPrefix.size());
  // Neither ids nor resources contain '#'.
  std::size_t first = rest.find('#');
  if (first == std::string_view::npos || first == 0) return std::nullopt;
  std::optional<BucketRef> ref =
      parse_bucket_ref(std::string(kBucketPrefix) + std::string(rest.substr(first + 1)));
  if (!ref) return std::nullopt;
  return BucketAddress{std::string(rest.substr(0, first)), std::move(ref->resource), ref->shard};
}

}  // namespace stint::schema
