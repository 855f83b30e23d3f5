// An item at one moment: immutable, in one block of memory, shared by store, replies and caches.
#ifndef STINT_STORE_IMAGE_H_
#define STINT_STORE_IMAGE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/component.h"
#include "base/prefetch.h"
#include "stint/result.h"
#include "store/attribute.h"
#include "store/key.h"
#include "store/value.h"

namespace stint::store {

class Image;

/// Shared ownership of an image by an intrusive atomic count: copying costs one increment.
class STINT_COMPONENT ImagePtr {
 public:
  ImagePtr() = default;
  ImagePtr(const ImagePtr& other) noexcept;
  ImagePtr(ImagePtr&& other) noexcept : image_(std::exchange(other.image_, nullptr)) {}
  ImagePtr& operator=(ImagePtr other) noexcept {
    std::swap(image_, other.image_);
    return *this;
  }
  ~ImagePtr();

  explicit operator bool() const { return image_ != nullptr; }
  const Image* get() const { return image_; }
  const Image& operator*() const { return *image_; }
  const Image* operator->() const { return image_; }
  friend bool operator==(const ImagePtr& a, const ImagePtr& b) { return a.image_ == b.image_; }

 private:
  friend class ImageAssembler;
  explicit ImagePtr(const Image* adopted) : image_(adopted) {}

  const Image* image_ = nullptr;
};

/// One attribute inside an image: 16 bytes, sorted by id. Texts live at the block's tail.
struct ImageEntry {
  std::uint32_t id_and_type;  // id in the low 24 bits, ValueType above
  std::uint32_t length;       // of the text; of a kNumber its size by DynamoDB's rules
  union {
    std::int64_t number;   // kNumber, and 0 or 1 for kBool
    std::uint64_t offset;  // of the text from the block's start
  };

  AttrId id() const { return AttrId(id_and_type & 0xffffff); }
  ValueType type() const { return static_cast<ValueType>(id_and_type >> 24); }
};

/// The attributes of an item, keys included. Lists, maps and sets are held in serialised form and
/// decoded by `value()`. Thread-safe because immutable.
class Image {
 public:
  std::size_t entry_count() const { return count_; }
  const ImageEntry* begin() const { return entries(); }
  const ImageEntry* end() const { return entries() + count_; }

  /// Null when absent.
  const ImageEntry* find(AttrId id) const;
  /// The same, trying the hinted position first and leaving the right one in the hint. Of an
  /// attribute that is absent the hint holds where it would stand.
  const ImageEntry* find(AttrId id, const PositionHint& hint) const {
    std::uint32_t at = hint.get();
    if (at > count_) return find_and_hint(id, hint);
    const ImageEntry* entry = entries() + at;
    if (at < count_ && entry->id() == id) return entry;
    if (at > 0 && index_of(entry[-1].id()) < index_of(id) &&
        (at == count_ || index_of(entry->id()) > index_of(id))) {
      return nullptr;
    }
    return find_and_hint(id, hint);
  }
  bool has(AttrId id) const { return find(id) != nullptr; }
  /// Nothing when absent or of another type.
  STINT_COMPONENT std::optional<std::int64_t> number(AttrId id) const;
  std::optional<std::string_view> string(AttrId id) const;
  std::optional<bool> boolean(AttrId id) const;
  std::optional<Value> value(AttrId id) const;

  /// Text of a `kString` or `kDecimal` entry, bytes of a `kBinary` one, the serialised form of
  /// lists, maps and sets.
  std::string_view text(const ImageEntry& entry) const {
    return std::string_view(block() + entry.offset, entry.length);
  }
  Value value(const ImageEntry& entry) const;
  /// The same as `text`, and empty for entries of other types, whose value is their `number`.
  std::string_view text_or_empty(const ImageEntry& entry) const;

  // Ids sort the keys to the front.
  std::string_view pk() const { return text(entries()[0]); }
  std::string_view sk() const { return text(entries()[1]); }
  Key key() const { return Key(pk(), sk()); }

  /// Asks for the memory that a decision reads. Reads nothing itself.
  __attribute__((always_inline)) void prefetch() const {
    constexpr std::size_t kUsualBytes = 640;  // some 35 entries
    prefetch_lines(this, kUsualBytes);
  }

  /// Size by DynamoDB's rules: names and values (decision 23). Computed once, when built.
  std::int64_t size_bytes() const { return size_; }

  /// Equal only for images of which one was made of the other by changing numbers: their
  /// attributes, types and texts are the same. Never 0.
  std::uint64_t lineage() const { return lineage_; }

  /// Same attributes with the same values.
  friend bool operator==(const Image& a, const Image& b);

 private:
  friend class ImagePtr;
  friend class ImageAssembler;

  const ImageEntry* find_and_hint(AttrId id, const PositionHint& hint) const;
  const char* block() const { return reinterpret_cast<const char*>(this); }
  const ImageEntry* entries() const { return reinterpret_cast<const ImageEntry*>(this + 1); }

  mutable std::atomic<std::uint32_t> references_{1};
  std::uint32_t count_ = 0;
  std::uint32_t size_ = 0;         // by DynamoDB's rules
  std::uint32_t block_bytes_ = 0;  // of this block of memory, entries and texts included
  std::uint64_t lineage_ = 0;
};

/// Builds images, from nothing or as a changed copy. Not thread-safe; reusable after `build`.
class ImageBuilder {
 public:
  ImageBuilder() = default;
  explicit ImageBuilder(const Image& base);
  explicit ImageBuilder(const Key& key);

  /// Replaces or adds.
  ImageBuilder& set(AttrId id, std::int64_t number);
  ImageBuilder& set(AttrId id, std::string_view text);
  ImageBuilder& set(AttrId id, const char* text) { return set(id, std::string_view(text)); }
  ImageBuilder& set(AttrId id, bool value);
  ImageBuilder& set(AttrId id, const Value& value);
  ImageBuilder& erase(AttrId id);
  bool has(AttrId id) const;

  /// The image of what was set. Precondition: PK and SK are strings among it.
  ImagePtr build() const;

 private:
  struct Slot {
    AttrId id;
    ValueType type;
    std::int64_t number;
    std::string_view borrowed;  // text of the base image
    std::string owned;
    bool is_owned;
    std::string_view text() const { return is_owned ? std::string_view(owned) : borrowed; }
  };
  Slot& slot(AttrId id);

  ImagePtr base_;            // keeps borrowed texts alive
  std::vector<Slot> slots_;  // in the order of their setting
  AttrId highest_{};         // of the slots
};

/// A self-contained form of an image for disk: attribute names spelled out, versioned by its first
/// byte. `deserialize` answers `kCorrupt` for anything that `serialize` cannot have written.
STINT_COMPONENT std::string serialize(const Image& image);
/// The same, appended.
STINT_COMPONENT void serialize_to(std::string& out, const Image& image);
STINT_COMPONENT Result<ImagePtr> deserialize(std::string_view bytes);

/// DynamoDB's JSON form of an item, {"name": {"N": "1"}, ...}; both ways without loss. Bytes from
/// 0x80 are passed through as they are, so that a text which is not UTF-8 survives too.
/// Errors of reading: `kInvalidArgument` with what is wrong.
std::string to_dynamo_json(const Image& image);
Result<ImagePtr> from_dynamo_json(std::string_view json);
/// A value as ordinary JSON: numbers as they are written, sets as lists.
std::string to_plain_json(const Value& value);

inline ImagePtr::ImagePtr(const ImagePtr& other) noexcept : image_(other.image_) {
  if (image_) image_->references_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace stint::store

#endif  // STINT_STORE_IMAGE_H_
