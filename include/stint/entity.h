// Entities: who is being limited.
#ifndef STINT_ENTITY_H_
#define STINT_ENTITY_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stint/time.h"

namespace stint {

struct EntityOptions {
  /// Shown to people; the id when absent.
  std::optional<std::string> name = std::nullopt;
  std::optional<std::string> parent = std::nullopt;
  /// Debiting this entity also debits its parent.
  bool cascade = false;
  std::map<std::string, std::string> metadata = {};
};

struct Entity {
  std::string id;
  std::string name;
  std::optional<std::string> parent;
  bool cascade = false;
  std::map<std::string, std::string> metadata;
  TimePoint created_at;
};

/// One page of a listing. `next` continues it; absent on the last page.
struct EntityPage {
  std::vector<Entity> entities;
  std::optional<std::string> next;
};

}  // namespace stint

#endif  // STINT_ENTITY_H_
