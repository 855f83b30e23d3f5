#include "store/embedded/key_codec.h"

#include <utility>

namespace stint::store {
namespace {

// A zero byte inside a part is followed by 0xff; a part ends with two zero bytes, which therefore
// sort before any continuation.
constexpr char kZero = '\0';
constexpr char kEscaped = '\xff';

void append_escaped(std::string& out, std::string_view part) {
  for (;;) {
    std::size_t zero = part.find(kZero);
    if (zero == std::string_view::npos) break;
    out += part.substr(0, zero + 1);
    out += kEscaped;
    part.remove_prefix(zero + 1);
  }
  out += part;
}

void append_part(std::string& out, std::string_view part) {
  append_escaped(out, part);
  out += kZero;
  out += kZero;
}

// Takes one part off the front; nothing when it is malformed.
std::optional<std::string> take_part(std::string_view& rest) {
  std::string part;
  while (!rest.empty()) {
    char c = rest.front();
    rest.remove_prefix(1);
    if (c != kZero) {
      part += c;
      continue;
    }
    if (rest.empty()) return std::nullopt;
    char next = rest.front();
    rest.remove_prefix(1);
    if (next == kZero) return part;
    if (next != kEscaped) return std::nullopt;
    part += kZero;
  }
  return std::nullopt;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

std::optional<std::string> parse_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string entry;
  entry.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    int high = hex_digit(text[i]);
    int low = hex_digit(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    entry += static_cast<char>(high * 16 + low);
  }
  return entry;
}

}  // namespace

std::optional<std::string> encode_entry(const Image& item, Index index) {
  if (index == Index::kTable) return encode_table_entry(item.pk(), item.sk());
  std::optional<IndexEntry> entry = index_entry(item, static_cast<int>(index));
  if (!entry) return std::nullopt;
  std::string out;
  out.reserve(entry->partition.size() + entry->sort.size() + item.pk().size() + item.sk().size() +
              8);
  append_part(out, entry->partition);
  append_part(out, entry->sort);
  append_part(out, item.pk());
  append_part(out, item.sk());
  return out;
}

std::string encode_table_entry(std::string_view pk, std::string_view sk) {
  std::string out;
  out.reserve(pk.size() + sk.size() + 4);
  append_table_entry(out, pk, sk);
  return out;
}

void append_table_entry(std::string& out, std::string_view pk, std::string_view sk) {
  append_part(out, pk);
  append_part(out, sk);
}

std::string encode_prefix(std::string_view partition, std::string_view sort_prefix) {
  std::string out;
  append_part(out, partition);
  append_escaped(out, sort_prefix);
  return out;
}

std::optional<EntryKey> decode_entry(std::string_view entry, Index index) {
  EntryKey key;
  for (std::string* part : {&key.partition, &key.sort}) {
    std::optional<std::string> taken = take_part(entry);
    if (!taken) return std::nullopt;
    *part = std::move(*taken);
  }
  if (index == Index::kTable) {
    key.pk = key.partition;
    key.sk = key.sort;
  } else {
    for (std::string* part : {&key.pk, &key.sk}) {
      std::optional<std::string> taken = take_part(entry);
      if (!taken) return std::nullopt;
      *part = std::move(*taken);
    }
  }
  if (!entry.empty()) return std::nullopt;
  return key;
}

std::string position_text(std::string_view entry) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * entry.size());
  for (char c : entry) {
    auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::optional<std::string> parse_query_start(const QueryRequest& request) {
  std::optional<std::string> entry = parse_hex(request.start());
  if (!entry || !decode_entry(*entry, request.index())) return std::nullopt;
  if (!entry->starts_with(encode_prefix(request.partition(), request.sort_prefix()))) {
    return std::nullopt;
  }
  return entry;
}

std::string scan_position_after(std::string_view entry) {
  std::string after(entry);
  after += kZero;
  return position_text(after);
}

std::optional<std::string> parse_scan_start(const ScanRequest& request) {
  return parse_hex(request.start());
}

std::optional<std::string> partition_of_entry(std::string_view entry) { return take_part(entry); }

ImagePtr entry_image(const EntryKey& entry, Index index) {
  ImageBuilder builder(Key(entry.pk, entry.sk));
  if (index != Index::kTable) {
    builder.set(index_pk(static_cast<int>(index)), entry.partition);
    builder.set(index_sk(static_cast<int>(index)), entry.sort);
  }
  return builder.build();
}

}  // namespace stint::store
