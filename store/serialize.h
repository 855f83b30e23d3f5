// Parts of the on-disk form of images that its tests need to see.
#ifndef STINT_STORE_SERIALIZE_H_
#define STINT_STORE_SERIALIZE_H_

#include <cstdint>
#include <string_view>

namespace stint::store {

/// First byte of a serialised image.
inline constexpr char kImageFormat = 1;

/// Bytes before the checked part: the format and four bytes of checksum, lowest first.
inline constexpr std::size_t kImageHeaderBytes = 5;

/// The checksum of everything after the header. Part of the format: never changes.
std::uint32_t image_checksum(std::string_view body);

}  // namespace stint::store

#endif  // STINT_STORE_SERIALIZE_H_
