#include "store/image.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>
#include <limits>
#include <new>

#include "base/recycled_memory.h"
#include "store/image_block.h"
#include "store/number_text.h"
#include "store/value_codec.h"

namespace stint::store {
namespace {

/// Every write makes a block and gives up another of the same size.
using BlockMemory = RecycledMemory<struct ImageUse, 64, 64, 16 * 1024>;

bool has_text(ValueType type) {
  return type != ValueType::kNumber && type != ValueType::kBool && type != ValueType::kNull;
}

std::uint64_t next_lineage() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::uint32_t pack(AttrId id, ValueType type) {
  return index_of(id) | (static_cast<std::uint32_t>(type) << 24);
}

// The last entry that does not come after `id`. Images hold a few dozen entries, which a halving
// without branches on the data finds fastest. Precondition: there are entries.
const ImageEntry* last_up_to(const ImageEntry* entries, std::uint32_t count, AttrId id) {
  std::uint32_t wanted = index_of(id);
  const ImageEntry* base = entries;
  while (count > 1) {
    std::uint32_t half = count / 2;
    if (index_of(base[half].id()) <= wanted) base += half;
    count -= half;
  }
  return base;
}

}  // namespace

PendingEntry pending_number(AttrId id, std::int64_t number) {
  return PendingEntry{id, ValueType::kNumber, static_cast<std::uint32_t>(number_size_bytes(number)),
                      number, nullptr};
}

PendingEntry pending_bool(AttrId id, bool value) {
  return PendingEntry{id, ValueType::kBool, 0, value ? 1 : 0, nullptr};
}

PendingEntry pending_text(AttrId id, ValueType type, std::string_view text) {
  assert(text.size() <= std::numeric_limits<std::uint32_t>::max());
  // Empty views may have no address at all.
  const char* bytes = text.empty() ? "" : text.data();
  return PendingEntry{id, type, static_cast<std::uint32_t>(text.size()), 0, bytes};
}

PendingEntry pending_copy(const Image& image, const ImageEntry& entry) {
  if (has_text(entry.type())) return pending_text(entry.id(), entry.type(), image.text(entry));
  return PendingEntry{entry.id(), entry.type(), entry.length, entry.number, nullptr};
}

std::int64_t attribute_size_bytes(const PendingEntry& entry) {
  auto name_bytes = static_cast<std::int64_t>(name_of(entry.id).size());
  switch (entry.type) {
    case ValueType::kNumber: return name_bytes + entry.length;
    case ValueType::kDecimal: return name_bytes + number_text_size_bytes(entry.text());
    case ValueType::kString:
    case ValueType::kBinary: return name_bytes + entry.length;
    case ValueType::kBool:
    case ValueType::kNull: return name_bytes + 1;
    case ValueType::kStringSet:
    case ValueType::kList:
    case ValueType::kMap:
    case ValueType::kNumberSet:
    case ValueType::kBinarySet: {
      ByteReader reader(entry.text());
      return name_bytes + skim_payload(reader, entry.type);
    }
  }
  return name_bytes;
}

ImagePtr ImageAssembler::assemble(std::span<const PendingEntry> entries, std::int64_t size_bytes) {
  assert(entries.size() >= 2 && entries[0].id == kPk && entries[0].type == ValueType::kString &&
         entries[1].id == kSk && entries[1].type == ValueType::kString);
  std::size_t bytes = sizeof(Image) + entries.size() * sizeof(ImageEntry);
  for (const PendingEntry& entry : entries) {
    if (has_text(entry.type)) bytes += entry.length;
  }
  assert(bytes <= std::numeric_limits<std::uint32_t>::max());

  auto* block = static_cast<char*>(BlockMemory::allocate(bytes));
  auto* image = new (block) Image;
  image->count_ = static_cast<std::uint32_t>(entries.size());
  image->size_ = static_cast<std::uint32_t>(size_bytes);
  image->block_bytes_ = static_cast<std::uint32_t>(bytes);
  image->lineage_ = next_lineage();
  auto* out = reinterpret_cast<ImageEntry*>(image + 1);
  std::size_t tail = sizeof(Image) + entries.size() * sizeof(ImageEntry);
  for (const PendingEntry& entry : entries) {
    auto* placed = new (out++) ImageEntry;
    placed->id_and_type = pack(entry.id, entry.type);
    placed->length = entry.length;
    if (!has_text(entry.type)) {
      placed->number = entry.number;
      continue;
    }
    placed->offset = tail;
    if (entry.length > 0) std::memcpy(block + tail, entry.bytes, entry.length);
    tail += entry.length;
  }
  return ImagePtr(image);
}

ImagePtr ImageAssembler::share(const Image& image) {
  image.references_.fetch_add(1, std::memory_order_relaxed);
  return ImagePtr(&image);
}

ImageAssembler::ImageAssembler(const Image& base) {
  auto* block = static_cast<char*>(BlockMemory::allocate(base.block_bytes_));
  image_ = new (block) Image;
  image_->count_ = base.count_;
  image_->size_ = base.size_;
  image_->block_bytes_ = base.block_bytes_;
  image_->lineage_ = base.lineage_;
  std::memcpy(block + sizeof(Image), base.block() + sizeof(Image),
              base.block_bytes_ - sizeof(Image));
}

ImageAssembler::~ImageAssembler() {
  if (image_) ImagePtr discarded(image_);
}

ImageEntry* ImageAssembler::find(AttrId id, const PositionHint& hint) {
  // The block is this object's own until it is handed out.
  return const_cast<ImageEntry*>(std::as_const(*image_).find(id, hint));
}

void ImageAssembler::patch(ImageEntry& entry, std::int64_t number) {
  assert(entry.type() == ValueType::kNumber);
  auto length = static_cast<std::uint32_t>(number_size_bytes(number));
  image_->size_ = image_->size_ - entry.length + length;
  entry.length = length;
  entry.number = number;
}

ImagePtr ImageAssembler::finish() { return ImagePtr(std::exchange(image_, nullptr)); }

ImagePtr::~ImagePtr() {
  if (!image_) return;
  // The last owner needs no atomic write; the acquire pairs with the releases of earlier owners.
  if (image_->references_.load(std::memory_order_acquire) == 1 ||
      image_->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    std::size_t bytes = image_->block_bytes_;
    image_->~Image();
    BlockMemory::release(const_cast<Image*>(image_), bytes);
  }
}

const ImageEntry* Image::find(AttrId id) const {
  if (count_ == 0) return nullptr;
  const ImageEntry* entry = last_up_to(entries(), count_, id);
  return entry->id() == id ? entry : nullptr;
}

const ImageEntry* Image::find_and_hint(AttrId id, const PositionHint& hint) const {
  if (count_ == 0) return nullptr;
  const ImageEntry* entry = last_up_to(entries(), count_, id);
  bool found = entry->id() == id;
  bool after = !found && index_of(entry->id()) < index_of(id);
  hint.set(static_cast<std::uint32_t>(entry - entries()) + (after ? 1 : 0));
  return found ? entry : nullptr;
}

std::optional<std::int64_t> Image::number(AttrId id) const {
  const ImageEntry* entry = find(id);
  if (!entry || entry->type() != ValueType::kNumber) return std::nullopt;
  return entry->number;
}

std::optional<std::string_view> Image::string(AttrId id) const {
  const ImageEntry* entry = find(id);
  if (!entry || entry->type() != ValueType::kString) return std::nullopt;
  return text(*entry);
}

std::optional<bool> Image::boolean(AttrId id) const {
  const ImageEntry* entry = find(id);
  if (!entry || entry->type() != ValueType::kBool) return std::nullopt;
  return entry->number != 0;
}

std::optional<Value> Image::value(AttrId id) const {
  const ImageEntry* entry = find(id);
  if (!entry) return std::nullopt;
  return value(*entry);
}

Value Image::value(const ImageEntry& entry) const {
  switch (entry.type()) {
    case ValueType::kNumber: return Value::number(entry.number);
    case ValueType::kDecimal: return Value::number_text(text(entry));
    case ValueType::kString: return Value::string(text(entry));
    case ValueType::kBinary: return Value::binary(text(entry));
    case ValueType::kBool: return Value::boolean(entry.number != 0);
    case ValueType::kNull: return Value::null();
    case ValueType::kStringSet:
    case ValueType::kList:
    case ValueType::kMap:
    case ValueType::kNumberSet:
    case ValueType::kBinarySet: break;
  }
  ByteReader reader(text(entry));
  return read_payload(reader, entry.type());
}

std::string_view Image::text_or_empty(const ImageEntry& entry) const {
  return has_text(entry.type()) ? text(entry) : std::string_view();
}

bool operator==(const Image& a, const Image& b) {
  if (&a == &b) return true;
  // Serialised forms are canonical, so equal values have equal texts.
  if (a.count_ != b.count_ || a.size_ != b.size_) return false;
  for (std::uint32_t i = 0; i < a.count_; ++i) {
    const ImageEntry& left = a.entries()[i];
    const ImageEntry& right = b.entries()[i];
    if (left.id_and_type != right.id_and_type) return false;
    if (has_text(left.type()) ? a.text(left) != b.text(right) : left.number != right.number) {
      return false;
    }
  }
  return true;
}

ImageBuilder::ImageBuilder(const Image& base) : base_(ImageAssembler::share(base)) {
  slots_.reserve(base.entry_count() + 4);
  for (const ImageEntry& entry : base) {
    Slot added{entry.id(), entry.type(), 0, std::string_view(), std::string(), false};
    if (has_text(entry.type())) {
      added.borrowed = base.text(entry);
    } else {
      added.number = entry.number;
    }
    highest_ = entry.id();
    slots_.push_back(std::move(added));
  }
}

ImageBuilder::ImageBuilder(const Key& key) {
  constexpr std::size_t kUsualAttributes = 48;
  slots_.reserve(kUsualAttributes);
  set(kPk, key.pk());
  set(kSk, key.sk());
}

ImageBuilder::Slot& ImageBuilder::slot(AttrId id) {
  // Most attributes are set in the order in which their names were met first.
  if (slots_.empty() || index_of(id) <= index_of(highest_)) {
    for (Slot& present : slots_) {
      if (present.id == id) return present;
    }
  }
  if (slots_.empty() || index_of(id) > index_of(highest_)) highest_ = id;
  return slots_.emplace_back(
      Slot{id, ValueType::kNull, 0, std::string_view(), std::string(), true});
}

ImageBuilder& ImageBuilder::set(AttrId id, std::int64_t number) {
  Slot& changed = slot(id);
  changed.type = ValueType::kNumber;
  changed.number = number;
  changed.borrowed = std::string_view();
  changed.owned.clear();
  return *this;
}

ImageBuilder& ImageBuilder::set(AttrId id, std::string_view text) {
  Slot& changed = slot(id);
  changed.type = ValueType::kString;
  changed.owned = text;
  changed.is_owned = true;
  return *this;
}

ImageBuilder& ImageBuilder::set(AttrId id, bool value) {
  set(id, std::int64_t{value ? 1 : 0});
  slot(id).type = ValueType::kBool;
  return *this;
}

ImageBuilder& ImageBuilder::set(AttrId id, const Value& value) {
  if (const std::int64_t* number = value.as_number()) return set(id, *number);
  if (const std::string* text = value.as_string()) return set(id, std::string_view(*text));
  if (const bool* boolean = value.as_bool()) return set(id, *boolean);
  Slot& changed = slot(id);
  changed.type = value.type();
  changed.number = 0;
  changed.owned.clear();
  changed.is_owned = true;
  if (const std::string* text = value.plain_text()) {
    changed.owned = *text;
  } else {
    append_payload(changed.owned, value);
  }
  return *this;
}

ImageBuilder& ImageBuilder::erase(AttrId id) {
  std::erase_if(slots_, [id](const Slot& s) { return s.id == id; });
  return *this;
}

bool ImageBuilder::has(AttrId id) const {
  return std::any_of(slots_.begin(), slots_.end(), [id](const Slot& s) { return s.id == id; });
}

ImagePtr ImageBuilder::build() const {
  std::vector<PendingEntry> entries;
  entries.reserve(slots_.size());
  std::int64_t size = 0;
  for (const Slot& s : slots_) {
    entries.push_back(has_text(s.type)               ? pending_text(s.id, s.type, s.text())
                      : s.type == ValueType::kNumber ? pending_number(s.id, s.number)
                                                     : pending_bool(s.id, s.number != 0));
    entries.back().type = s.type;
    size += attribute_size_bytes(entries.back());
  }
  std::sort(entries.begin(), entries.end(), [](const PendingEntry& a, const PendingEntry& b) {
    return index_of(a.id) < index_of(b.id);
  });
  return ImageAssembler::assemble(entries, size);
}

}  // namespace stint::store
