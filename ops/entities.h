// Entities: create, show, list, delete (rules 1.2).
#ifndef STINT_OPS_ENTITIES_H_
#define STINT_OPS_ENTITIES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ops/context.h"
#include "ops/op.h"
#include "stint/entity.h"

namespace stint::ops {

/// Errors: `kExists`, `kInvalidArgument`. One request.
Op<Result<Entity>> create_entity(Context& cx, std::string_view id, const EntityOptions& options);
/// Errors: `kNotFound`. One request.
Op<Result<Entity>> get_entity(Context& cx, std::string_view id);
/// A page in order of id. One query and one batch read a page.
Op<Result<EntityPage>> list_entities(Context& cx, const std::optional<std::string>& from,
                                     int page_size);
Op<Result<EntityPage>> list_children(Context& cx, std::string_view parent,
                                     const std::optional<std::string>& from, int page_size);
/// Removes operation records, buckets, configuration, usage and at last the entity itself; returns
/// the number of items. Errors: `kNotFound`.
Op<Result<std::int64_t>> delete_entity(Context& cx, std::string_view id);

}  // namespace stint::ops

#endif  // STINT_OPS_ENTITIES_H_
