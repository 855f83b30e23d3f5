#include "store/serialize.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "store/image.h"
#include "store/image_block.h"
#include "store/number_text.h"
#include "store/value_codec.h"

// Form: format byte, checksum, number of attributes, then for each its name, type and payload
// (value_codec.h). PK and SK are attributes like all others.

namespace stint::store {
namespace {

constexpr std::size_t kMaxNameBytes = 255;

struct ReadEntry {
  std::string_view name;
  PendingEntry entry;
};

Error corrupt(std::string_view what) {
  return Error(ErrorCode::kCorrupt, "stored item: " + std::string(what));
}

bool is_image_format(char byte) { return byte == kPlainImageFormat || byte == kBinaryImageFormat; }

// `text` as the entry of an image holds it.
bool needs_binary_format(ValueType type, std::string_view text) {
  if (type < ValueType::kList) return false;
  if (type > ValueType::kMap) return true;
  ByteReader reader(text);
  return holds_binary_or_numbers(reader, type);
}

// Reads one attribute; the reader fails for what `serialize` cannot have written.
ReadEntry read_entry(ByteReader& reader) {
  ReadEntry read{reader.text(), pending_number(AttrId{}, 0)};
  std::uint8_t type = reader.byte();
  if (read.name.empty() || read.name.size() > kMaxNameBytes || !is_value_type(type)) {
    reader.fail();
    return read;
  }
  read.entry.type = static_cast<ValueType>(type);
  const char* payload = reader.position();
  std::size_t before = reader.remaining();
  skim_payload(reader, read.entry.type);
  if (reader.failed()) return read;
  ByteReader again(std::string_view(payload, before - reader.remaining()));
  switch (read.entry.type) {
    case ValueType::kNumber: read.entry = pending_number(AttrId{}, again.signed_varint()); break;
    case ValueType::kBool: read.entry.number = again.byte(); break;
    case ValueType::kNull: break;
    case ValueType::kString:
    case ValueType::kDecimal:
    case ValueType::kBinary:
      read.entry = pending_text(AttrId{}, read.entry.type, again.text());
      break;
    case ValueType::kStringSet:
    case ValueType::kList:
    case ValueType::kMap:
    case ValueType::kNumberSet:
    case ValueType::kBinarySet:
      read.entry = pending_text(AttrId{}, read.entry.type, again.bytes(again.remaining()));
      break;
  }
  return read;
}

// Items are written at every decision: into memory that is known to suffice, since growing a text
// byte by byte costs more than all the rest of it.
constexpr std::size_t kMostVarintBytes = 10;

std::size_t most_serialized_bytes(const Image& image) {
  // The size covers all names, and the length of an entry its text.
  std::size_t most = kImageHeaderBytes + kMostVarintBytes;
  most += static_cast<std::size_t>(image.size_bytes());
  for (const ImageEntry& entry : image) most += 2 * kMostVarintBytes + 1 + entry.length;
  return most;
}

char* put_varint(char* to, std::uint64_t value) {
  while (value >= 0x80) {
    *to++ = static_cast<char>((value & 0x7f) | 0x80);
    value >>= 7;
  }
  *to++ = static_cast<char>(value);
  return to;
}

char* put_bytes(char* to, std::string_view bytes) {
  return std::copy(bytes.begin(), bytes.end(), to);
}

char* put_text(char* to, std::string_view text) {
  return put_bytes(put_varint(to, text.size()), text);
}

}  // namespace

std::uint32_t image_checksum(std::string_view body) {
  // Each step is a bijection of the state, so that a flipped bit survives to the end.
  static_assert(std::endian::native == std::endian::little, "words are read lowest byte first");
  std::uint64_t hash = 0xcbf29ce484222325u ^ body.size();
  auto mix = [&hash](std::uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  };
  std::uint64_t word = 0;
  for (; body.size() >= sizeof word; body.remove_prefix(sizeof word)) {
    std::memcpy(&word, body.data(), sizeof word);
    mix(word);
  }
  if (!body.empty()) {
    word = 0;
    std::memcpy(&word, body.data(), body.size());
    mix(word);
  }
  // Only the high half of a product depends on all bits of its factors.
  return static_cast<std::uint32_t>((hash * 0x9e3779b97f4a7c15u) >> 32);
}

void serialize_to(std::string& out, const Image& image) {
  char format = kPlainImageFormat;
  std::size_t start = out.size();
  out.resize(start + most_serialized_bytes(image));
  char* at = out.data() + start + kImageHeaderBytes;
  at = put_varint(at, image.entry_count());
  for (const ImageEntry& entry : image) {
    at = put_text(at, name_of(entry.id()));
    *at++ = static_cast<char>(entry.type());
    if (needs_binary_format(entry.type(), image.text_or_empty(entry))) format = kBinaryImageFormat;
    switch (entry.type()) {
      case ValueType::kNumber: at = put_varint(at, fold_sign(entry.number)); break;
      case ValueType::kBool: *at++ = static_cast<char>(entry.number); break;
      case ValueType::kNull: break;
      case ValueType::kString:
      case ValueType::kDecimal:
      case ValueType::kBinary: at = put_text(at, image.text(entry)); break;
      case ValueType::kStringSet:
      case ValueType::kList:
      case ValueType::kMap:
      case ValueType::kNumberSet:
      case ValueType::kBinarySet: at = put_bytes(at, image.text(entry)); break;
    }
  }
  auto end = static_cast<std::size_t>(at - out.data());
  assert(end <= out.size());
  out.resize(end);
  std::uint32_t checksum = image_checksum(std::string_view(out).substr(start + kImageHeaderBytes));
  out[start] = format;
  for (std::size_t i = 0; i < 4; ++i) out[start + 1 + i] = static_cast<char>(checksum >> (8 * i));
}

std::string serialize(const Image& image) {
  std::string out;
  serialize_to(out, image);
  return out;
}

std::optional<std::int64_t> serialized_number(std::string_view bytes, std::string_view name) {
  if (bytes.size() < kImageHeaderBytes || !is_image_format(bytes.front())) return std::nullopt;
  ByteReader reader(bytes.substr(kImageHeaderBytes));
  for (std::uint64_t left = reader.varint(); left > 0 && !reader.failed(); --left) {
    std::string_view found = reader.text();
    std::uint8_t type = reader.byte();
    if (reader.failed() || !is_value_type(type)) return std::nullopt;
    if (found == name) {
      if (static_cast<ValueType>(type) != ValueType::kNumber) return std::nullopt;
      std::int64_t number = reader.signed_varint();
      return reader.failed() ? std::nullopt : std::optional(number);
    }
    skim_payload(reader, static_cast<ValueType>(type));
  }
  return std::nullopt;
}

Result<ImagePtr> deserialize(std::string_view bytes) {
  if (bytes.size() > std::numeric_limits<std::uint32_t>::max()) return corrupt("too large");
  ByteReader reader(bytes);
  auto format = static_cast<char>(reader.byte());
  if (!is_image_format(format)) return corrupt("unknown format");
  std::uint32_t checksum = 0;
  for (int i = 0; i < 4; ++i) checksum |= static_cast<std::uint32_t>(reader.byte()) << (8 * i);
  if (reader.failed() || checksum != image_checksum(bytes.substr(kImageHeaderBytes))) {
    return corrupt("wrong checksum");
  }

  std::uint64_t count = reader.varint();
  // An attribute takes at least three bytes; a larger count must not make us reserve memory.
  if (count > reader.remaining() / 3) return corrupt("malformed");
  std::vector<ReadEntry> read;
  read.reserve(static_cast<std::size_t>(count));
  for (std::uint64_t i = 0; i < count && !reader.failed(); ++i) read.push_back(read_entry(reader));
  if (reader.failed() || !reader.at_end()) return corrupt("malformed");
  bool binary = std::any_of(read.begin(), read.end(), [](const ReadEntry& one) {
    return needs_binary_format(one.entry.type, one.entry.text());
  });
  if (binary != (format == kBinaryImageFormat)) return corrupt("of another format than it says");

  // Names are interned only now: those of a malformed item would stay in the table for ever.
  std::vector<PendingEntry> entries;
  entries.reserve(read.size());
  for (ReadEntry& one : read) {
    one.entry.id = intern(one.name);
    entries.push_back(one.entry);
  }
  std::sort(entries.begin(), entries.end(), [](const PendingEntry& a, const PendingEntry& b) {
    return index_of(a.id) < index_of(b.id);
  });
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].id == entries[i - 1].id) return corrupt("attribute twice");
  }
  if (entries.size() < 2 || entries[0].id != kPk || entries[0].type != ValueType::kString ||
      entries[1].id != kSk || entries[1].type != ValueType::kString) {
    return corrupt("no key");
  }
  std::int64_t size = 0;
  for (const PendingEntry& entry : entries) size += attribute_size_bytes(entry);
  return ImageAssembler::assemble(entries, size);
}

}  // namespace stint::store
