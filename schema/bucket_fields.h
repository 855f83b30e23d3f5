// The attributes of one limit on a bucket item.
#ifndef STINT_SCHEMA_BUCKET_FIELDS_H_
#define STINT_SCHEMA_BUCKET_FIELDS_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "store/attribute.h"

namespace stint::schema {

/// Fields of one limit on a bucket item, `b_{limit}_{field}`.
enum class Field : std::uint8_t {
  kBalance,         // tk
  kCapacity,        // cp
  kRefill,          // ra
  kPeriod,          // rp
  kConsumed,        // tc
  kLevels,          // sched
  kResets,          // rsched
  kWindowStart,     // ws
  kWindowLength,    // rsa
  kWindowApplied,   // wa
  kFanoutConsumed,  // wtc
  kGrantCount,      // gc
  kTopUp,           // tu
  kResetsTaken,     // rn
  kSoft,            // soft
};
inline constexpr int kFieldCount = 15;

/// The interned attribute of one field of a limit.
store::AttrId field_attr(std::string_view limit, Field field);

/// Those of all fields, in the order of `Field`.
using FieldAttrs = std::array<store::AttrId, kFieldCount>;
FieldAttrs field_attrs(std::string_view limit);

}  // namespace stint::schema

#endif  // STINT_SCHEMA_BUCKET_FIELDS_H_
