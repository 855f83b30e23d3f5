#include "schema/write_capacity.h"

#include <cstdint>

#include "model/names.h"
#include "schema/bucket_item.h"

namespace stint::schema {

void add_write_capacity(store::ImageBuilder& bucket, int ceiling) {
  std::int64_t full = ceiling * std::int64_t{1000};
  auto set = [&](Field field, std::int64_t value) {
    bucket.set(field_attr(model::kWriteCapacityLimit, field), value);
  };
  set(Field::kBalance, full);
  set(Field::kCapacity, full);
  set(Field::kRefill, full);
  set(Field::kPeriod, 1000);
  set(Field::kConsumed, 0);
}

store::ImagePtr adapt_write_capacity(const store::ImagePtr& bucket, std::optional<int> ceiling) {
  bool has = bucket->has(field_attr(model::kWriteCapacityLimit, Field::kBalance)) &&
             bucket->has(field_attr(model::kWriteCapacityLimit, Field::kCapacity));
  if (ceiling) {
    if (has) return bucket;
    store::ImageBuilder adapted(*bucket);
    add_write_capacity(adapted, *ceiling);
    return adapted.build();
  }
  std::optional<store::ImageBuilder> adapted;
  for (int i = 0; i < kFieldCount; ++i) {
    store::AttrId attribute = field_attr(model::kWriteCapacityLimit, static_cast<Field>(i));
    if (!bucket->has(attribute)) continue;
    if (!adapted) adapted.emplace(*bucket);
    adapted->erase(attribute);
  }
  return adapted ? adapted->build() : bucket;
}

}  // namespace stint::schema
