// Parts of the on-disk form of images that its tests need to see.
#ifndef STINT_STORE_SERIALIZE_H_
#define STINT_STORE_SERIALIZE_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/component.h"

namespace stint::store {

/// First byte of a serialised image: 2 where one of its values, or a value inside one, is binary, a
/// set of numbers or of binary values, which programs of format 1 do not know; else 1.
inline constexpr char kPlainImageFormat = 1;
inline constexpr char kBinaryImageFormat = 2;

/// Bytes before the checked part: the format and four bytes of checksum, lowest first.
inline constexpr std::size_t kImageHeaderBytes = 5;

/// The checksum of everything after the header. Part of the format: never changes.
std::uint32_t image_checksum(std::string_view body);

/// The number that a serialised image holds under a name, without reading the rest or checking the
/// checksum. Nothing when there is none, and where `serialize` cannot have written the bytes.
STINT_COMPONENT std::optional<std::int64_t> serialized_number(std::string_view bytes,
                                                              std::string_view name);

}  // namespace stint::store

#endif  // STINT_STORE_SERIALIZE_H_
