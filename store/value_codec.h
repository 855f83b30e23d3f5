// The serialised form of values, in images and on disk. For the store's own sources only.
#ifndef STINT_STORE_VALUE_CODEC_H_
#define STINT_STORE_VALUE_CODEC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/component.h"
#include "store/value.h"

namespace stint::store {

/// DynamoDB's bound for nesting; deeper values are refused where they come in.
inline constexpr int kMaxValueDepth = 32;

/// Takes bytes off the front of a text and never reads past its end. Once anything is missing or
/// malformed, `failed()` stays true and everything read is zero or empty.
class STINT_COMPONENT ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  std::uint8_t byte();
  /// Little-endian groups of seven bits, in the shortest form only.
  std::uint64_t varint();
  std::int64_t signed_varint();
  std::string_view bytes(std::uint64_t count);
  /// A length and that many bytes.
  std::string_view text() { return bytes(varint()); }

  void fail() {
    failed_ = true;
    rest_ = std::string_view();
  }
  bool failed() const { return failed_; }
  bool at_end() const { return rest_.empty(); }
  std::size_t remaining() const { return rest_.size(); }
  const char* position() const { return rest_.data(); }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

/// The sign in the lowest bit, so that small negative numbers stay short as varints.
constexpr std::uint64_t fold_sign(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ (value < 0 ? ~std::uint64_t{0} : 0);
}

STINT_COMPONENT void append_varint(std::string& out, std::uint64_t value);
STINT_COMPONENT void append_signed_varint(std::string& out, std::int64_t value);
STINT_COMPONENT void append_text(std::string& out, std::string_view text);

constexpr bool is_set(ValueType type) {
  return type == ValueType::kStringSet || type == ValueType::kNumberSet ||
         type == ValueType::kBinarySet;
}

/// Appends a value without its type. Precondition: nested at most `kMaxValueDepth` deep.
STINT_COMPONENT void append_payload(std::string& out, const Value& value);

/// Reads past one payload and answers the value's size by DynamoDB's rules; the reader fails for
/// anything that `append_payload` cannot have written.
STINT_COMPONENT std::int64_t skim_payload(ByteReader& reader, ValueType type, int depth = 0);

/// Precondition: the payload passes `skim_payload`.
STINT_COMPONENT Value read_payload(ByteReader& reader, ValueType type);

/// Whether `byte` names a type.
STINT_COMPONENT bool is_value_type(std::uint8_t byte);

/// Reads past one payload and answers whether its type, or that of a value inside, came with
/// format 2. Precondition: the payload passes `skim_payload`.
bool holds_binary_or_numbers(ByteReader& reader, ValueType type);

}  // namespace stint::store

#endif  // STINT_STORE_VALUE_CODEC_H_
