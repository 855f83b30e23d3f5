// Entity META items (rules 1.2).
#ifndef STINT_SCHEMA_ENTITY_ITEM_H_
#define STINT_SCHEMA_ENTITY_ITEM_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "stint/result.h"
#include "stint/time.h"
#include "store/expression.h"
#include "store/image.h"
#include "store/value.h"

namespace stint::schema {

struct EntityRecord {
  std::string id;
  std::string name;
  std::optional<std::string> parent;
  bool cascade = false;
  /// As stored; values may be of any type when another program wrote them.
  store::Value::Map metadata;
  std::string created_at;  // ISO text, whole seconds, "Z"; may be missing on old items
  std::int64_t parent_generation = 0;
  /// 16 hex digits naming this life of the entity; empty on old items.
  std::string incarnation_digits;

  /// `incarnation_digits`, else `created_at`, else "-" (rules 1.2).
  std::string incarnation() const;
  friend bool operator==(const EntityRecord&, const EntityRecord&) = default;
};

/// Errors: `kCorrupt`.
Result<EntityRecord> decode_entity(const store::Image& item);
store::ImagePtr encode_entity(std::string_view ns, const EntityRecord& entity);

/// Holds while the owner of a bucket is as it was read (null: absent), so that no bucket is created
/// with the stamp of a former life or parent (rules W2).
store::Condition same_owner(const EntityRecord* entity);

/// "2026-11-30T19:49:05Z".
std::string iso_seconds(TimePoint at);
/// Reads what `iso_seconds` writes. Errors: `kCorrupt`.
Result<TimePoint> parse_iso_seconds(std::string_view text);

}  // namespace stint::schema

#endif  // STINT_SCHEMA_ENTITY_ITEM_H_
