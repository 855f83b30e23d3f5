// The reserved limit `wcu`, which stands for the writes that one partition of the store takes.
#ifndef STINT_SCHEMA_WRITE_CAPACITY_H_
#define STINT_SCHEMA_WRITE_CAPACITY_H_

#include <optional>

#include "store/image.h"

namespace stint::schema {

/// Adds the limit, full, to a bucket. `ceiling`: writes a second.
void add_write_capacity(store::ImageBuilder& bucket, int ceiling);

/// The bucket as a store with (`ceiling`) or without (nothing) such a bound needs it. An item that
/// is as needed already is answered itself.
store::ImagePtr adapt_write_capacity(const store::ImagePtr& bucket, std::optional<int> ceiling);

}  // namespace stint::schema

#endif  // STINT_SCHEMA_WRITE_CAPACITY_H_
