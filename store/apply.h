// The meaning of conditions, updates and costs, shared by every engine that holds items itself.
#ifndef STINT_STORE_APPLY_H_
#define STINT_STORE_APPLY_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/component.h"
#include "stint/result.h"
#include "store/engine.h"
#include "store/request.h"

namespace stint::store {

/// Whether `condition` holds for `item` (null: no such item).
STINT_COMPONENT bool holds(const Condition& condition, const Image* item, const Params& params);

/// The item after `actions`; a null `item` starts from `key` alone. Errors: `kInvalidArgument` for
/// what DynamoDB refuses: ADD to a value of another type, a number beyond 64 bits, a key attribute.
STINT_COMPONENT Result<ImagePtr> apply(const std::vector<Action>& actions, const Key& key,
                                       const Image* item, const Params& params);

/// Whether any of `actions` can change a key of an index; when not, no index need be looked at.
STINT_COMPONENT bool touches_index_keys(const std::vector<Action>& actions);

/// Units for reading an item of that size (0 for none).
STINT_COMPONENT double read_units(std::int64_t size_bytes, Consistency consistency);
/// Units of a write from `before` to `after` (either may be null), table and indexes.
/// `transactional` doubles both.
///
/// An index that the item enters, leaves or stays in with another projection takes one write of the
/// projected size; one in which its key moves takes two (decision 23).
STINT_COMPONENT Cost write_cost(const Image* before, const Image* after, IndexLayout layout,
                                bool transactional);
/// The same for a write that changes no key of any index, which is all but creations and deletes.
STINT_COMPONENT Cost write_cost_in_place(const Image& before, const Image& after,
                                         IndexLayout layout, bool transactional);
/// Units of a query, or of a page of a scan (of the table): what the index projects, rounded up
/// once; where only keys are projected but whole items are answered, each is read by its key
/// besides.
STINT_COMPONENT Cost query_cost(Index index, IndexLayout layout, std::span<const ImagePtr> images);
/// Units of a failed condition, by the item's size.
STINT_COMPONENT Cost failed_condition_cost(const Image* item, bool transactional);

/// The keys under which an item stands in index 1 to 4, if it has both.
struct IndexEntry {
  std::string_view partition;
  std::string_view sort;
};
STINT_COMPONENT std::optional<IndexEntry> index_entry(const Image& item, int index);

/// The part of an item that an index projects: whole for GSI1 and GSI2, keys for GSI3 and GSI4.
STINT_COMPONENT ImagePtr project(const ImagePtr& item, Index index);

/// Checks what DynamoDB checks before anything is applied: sizes (item 400 KB, keys 2048 and 1024
/// bytes, not empty), counts (100 items or keys), no item twice in one transaction or batch.
STINT_COMPONENT Status validate(const RequestRef& request);

}  // namespace stint::store

#endif  // STINT_STORE_APPLY_H_
