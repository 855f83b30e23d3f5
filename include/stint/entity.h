// Entities: who is being limited.
#ifndef STINT_ENTITY_H_
#define STINT_ENTITY_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stint/time.h"

namespace stint {

/// What may be said of an entity when it is created.
struct EntityOptions {
  /// Shown to people, 1 to 1,024 bytes; the id when absent.
  std::optional<std::string> name = std::nullopt;
  /// Another entity's id. It need not exist; its limits apply as soon as they are configured.
  std::optional<std::string> parent = std::nullopt;
  /// Debiting this entity also debits its parent, but not the parent's parent. Needs a parent.
  bool cascade = false;
  /// Free data; names not empty, names and values together at most 64 KiB.
  std::map<std::string, std::string> metadata = {};
};

/// An entity as it is stored.
struct Entity {
  std::string id;
  std::string name;
  std::optional<std::string> parent;
  bool cascade = false;
  std::map<std::string, std::string> metadata;
  /// To the second.
  TimePoint created_at;
};

/// One page of a listing. `next` continues it; absent on the last page. It is opaque, and does not
/// promise that the next page holds anything.
struct EntityPage {
  std::vector<Entity> entities;
  std::optional<std::string> next;
};

}  // namespace stint

#endif  // STINT_ENTITY_H_
