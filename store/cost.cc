#include <algorithm>

#include "store/apply.h"
#include "store/image_block.h"

namespace stint::store {
namespace {

constexpr std::int64_t kReadUnitBytes = 4096;
constexpr std::int64_t kWriteUnitBytes = 1024;

double units(std::int64_t bytes, std::int64_t unit) {
  return static_cast<double>((std::max<std::int64_t>(bytes, 1) + unit - 1) / unit);
}

double write_units(const Image* before, const Image* after) {
  std::int64_t larger =
      std::max(before ? before->size_bytes() : 0, after ? after->size_bytes() : 0);
  return units(larger, kWriteUnitBytes);
}

bool projects_all(int index, IndexLayout layout) {
  return layout == IndexLayout::kCompatible && index <= 2;
}

std::int64_t key_projection_bytes(const Image& item, int index) {
  std::int64_t size = 0;
  for (AttrId id : {kPk, kSk, index_pk(index), index_sk(index)}) {
    size += attribute_size_bytes(pending_copy(item, *item.find(id)));
  }
  return size;
}

// Precondition: the item stands in the index.
double index_units(const Image& item, int index, IndexLayout layout) {
  return units(projects_all(index, layout) ? item.size_bytes() : key_projection_bytes(item, index),
               kWriteUnitBytes);
}

double index_write_units(const Image* before, const Image* after, int index, IndexLayout layout) {
  std::optional<IndexEntry> old_entry = before ? index_entry(*before, index) : std::nullopt;
  std::optional<IndexEntry> new_entry = after ? index_entry(*after, index) : std::nullopt;
  if (!old_entry && !new_entry) return 0;
  if (!old_entry) return index_units(*after, index, layout);
  if (!new_entry) return index_units(*before, index, layout);
  if (old_entry->partition != new_entry->partition || old_entry->sort != new_entry->sort) {
    return index_units(*before, index, layout) + index_units(*after, index, layout);
  }
  if (!projects_all(index, layout) || *before == *after) return 0;
  return write_units(before, after);
}

Cost doubled_if(bool transactional, Cost cost) {
  if (transactional) cost += cost;
  return cost;
}

}  // namespace

double read_units(std::int64_t size_bytes, Consistency consistency) {
  return units(size_bytes, kReadUnitBytes) * (consistency == Consistency::kStrong ? 1 : 0.5);
}

Cost write_cost(const Image* before, const Image* after, IndexLayout layout, bool transactional) {
  Cost cost;
  cost.write_units = write_units(before, after);
  for (int index = 1; index <= kIndexCount; ++index) {
    cost.index_write_units += index_write_units(before, after, index, layout);
  }
  return doubled_if(transactional, cost);
}

Cost write_cost_in_place(const Image& before, const Image& after, IndexLayout layout,
                         bool transactional) {
  Cost cost;
  cost.write_units = write_units(&before, &after);
  if (layout == IndexLayout::kCompatible) {
    for (int index = 1; index <= 2; ++index) {
      if (index_entry(after, index) && !(before == after)) {
        cost.index_write_units += write_units(&before, &after);
      }
    }
  }
  return doubled_if(transactional, cost);
}

Cost failed_condition_cost(const Image* item, bool transactional) {
  Cost cost;
  cost.write_units = write_units(item, nullptr);
  return doubled_if(transactional, cost);
}

Cost query_cost(Index index, IndexLayout layout, std::span<const ImagePtr> images) {
  bool whole_items = index == Index::kGsi1 || index == Index::kGsi2;
  bool fetched_by_key = whole_items && layout == IndexLayout::kKeysOnly;
  std::int64_t bytes = 0;
  Cost cost;
  for (const ImagePtr& image : images) {
    if (fetched_by_key) {
      bytes += key_projection_bytes(*image, static_cast<int>(index));
      cost.read_units += read_units(image->size_bytes(), Consistency::kEventual);
    } else {
      bytes += image->size_bytes();
    }
  }
  cost.read_units += read_units(bytes, Consistency::kEventual);
  return cost;
}

}  // namespace stint::store
