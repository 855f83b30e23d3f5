// How blocks of images are laid out and made. For the store's own sources only.
#ifndef STINT_STORE_IMAGE_BLOCK_H_
#define STINT_STORE_IMAGE_BLOCK_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "base/component.h"
#include "store/image.h"

namespace stint::store {

/// An attribute on its way into an image. Trivial, so that arrays of it cost nothing to make.
struct PendingEntry {
  AttrId id;
  ValueType type;
  std::uint32_t length;  // of the text; of a kNumber its size by DynamoDB's rules
  std::int64_t number;   // kNumber, kBool
  const char* bytes;     // text or serialised form of the other types, else null

  /// Empty for types without a text.
  std::string_view text() const {
    return bytes ? std::string_view(bytes, length) : std::string_view();
  }
};

STINT_COMPONENT PendingEntry pending_number(AttrId id, std::int64_t number);
STINT_COMPONENT PendingEntry pending_bool(AttrId id, bool value);
STINT_COMPONENT PendingEntry pending_text(AttrId id, ValueType type, std::string_view text);
/// Refers to the texts of `image`.
PendingEntry pending_copy(const Image& image, const ImageEntry& entry);

/// Bytes of the attribute by DynamoDB's rules, name and value.
STINT_COMPONENT std::int64_t attribute_size_bytes(const PendingEntry& entry);

/// The only maker of blocks.
class ImageAssembler {
 public:
  /// Preconditions: sorted by id, no id twice, PK and SK are strings among them; `size_bytes` is
  /// the sum of the attributes' sizes.
  STINT_COMPONENT static ImagePtr assemble(std::span<const PendingEntry> entries,
                                           std::int64_t size_bytes);

  /// Another owner of an image.
  static ImagePtr share(const Image& image);

  /// A copy of `base` whose numbers can be changed until it is handed out.
  explicit ImageAssembler(const Image& base);
  ImageAssembler(const ImageAssembler&) = delete;
  ImageAssembler& operator=(const ImageAssembler&) = delete;
  ~ImageAssembler();

  /// Null when absent.
  ImageEntry* find(AttrId id, const PositionHint& hint);
  /// Precondition: `entry` is of this copy and a `kNumber`.
  void patch(ImageEntry& entry, std::int64_t number);
  /// Hands the copy out; nothing else may be called afterwards.
  ImagePtr finish();

 private:
  Image* image_;
};

}  // namespace stint::store

#endif  // STINT_STORE_IMAGE_BLOCK_H_
