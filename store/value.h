// An attribute value that owns its contents, for everything off the hot path.
#ifndef STINT_STORE_VALUE_H_
#define STINT_STORE_VALUE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/component.h"

namespace stint::store {

/// DynamoDB's types. The numbers stand on the disk; the last three are of format 2 (serialize.h).
enum class ValueType : std::uint8_t {
  kNumber,     ///< N that fits 64 bits.
  kDecimal,    ///< Any other N, kept as its text.
  kString,     ///< S
  kBool,       ///< BOOL
  kNull,       ///< NULL
  kStringSet,  ///< SS, sorted
  kList,       ///< L
  kMap,        ///< M, sorted by name
  kBinary,     ///< B
  kNumberSet,  ///< NS, sorted by value
  kBinarySet,  ///< BS, sorted
};

/// Orders texts of numbers by value, so that "1.0" and "1" are the same element of a set.
/// Precondition: both satisfy `is_number_text`.
struct NumberTextLess {
  using is_transparent = void;
  STINT_COMPONENT bool operator()(std::string_view a, std::string_view b) const;
};

class Value {
 public:
  using List = std::vector<Value>;
  using Map = std::map<std::string, Value, std::less<>>;
  using StringSet = std::set<std::string, std::less<>>;
  using NumberSet = std::set<std::string, NumberTextLess>;
  struct Null {
    friend bool operator==(Null, Null) = default;
  };
  struct Decimal {
    std::string text;
    friend bool operator==(const Decimal&, const Decimal&) = default;
  };
  struct Binary {
    std::string bytes;
    friend bool operator==(const Binary&, const Binary&) = default;
  };
  struct BinarySet {
    StringSet elements;
    friend bool operator==(const BinarySet&, const BinarySet&) = default;
  };

  static Value number(std::int64_t value) { return Value(std::in_place, value); }
  /// Text of a number as the table spells it; becomes `kNumber` when it is an integer that fits.
  STINT_COMPONENT static Value number_text(std::string_view text);
  /// The same for a text from outside; nothing if it is no number.
  STINT_COMPONENT static std::optional<Value> parse_number(std::string_view text);
  static Value string(std::string_view text) { return Value(std::in_place, std::string(text)); }
  static Value boolean(bool value) { return Value(std::in_place, value); }
  static Value null() { return Value(std::in_place, Null{}); }
  static Value string_set(StringSet set) { return Value(std::in_place, std::move(set)); }
  static Value list(List list) { return Value(std::in_place, std::move(list)); }
  static Value map(Map map) { return Value(std::in_place, std::move(map)); }
  static Value binary(std::string_view bytes) {
    return Value(std::in_place, Binary{std::string(bytes)});
  }
  static Value number_set(NumberSet set) { return Value(std::in_place, std::move(set)); }
  static Value binary_set(StringSet set) { return Value(std::in_place, BinarySet{std::move(set)}); }

  STINT_COMPONENT ValueType type() const;
  /// Null unless of that type.
  const std::int64_t* as_number() const { return std::get_if<std::int64_t>(&data_); }
  const std::string* as_string() const { return std::get_if<std::string>(&data_); }
  const bool* as_bool() const { return std::get_if<bool>(&data_); }
  bool is_null() const { return std::holds_alternative<Null>(data_); }
  const Decimal* as_decimal() const { return std::get_if<Decimal>(&data_); }
  const StringSet* as_string_set() const { return std::get_if<StringSet>(&data_); }
  const List* as_list() const { return std::get_if<List>(&data_); }
  const Map* as_map() const { return std::get_if<Map>(&data_); }
  const Binary* as_binary() const { return std::get_if<Binary>(&data_); }
  const NumberSet* as_number_set() const { return std::get_if<NumberSet>(&data_); }
  const StringSet* as_binary_set() const {
    const auto* set = std::get_if<BinarySet>(&data_);
    return set ? &set->elements : nullptr;
  }
  /// The text of a string or decimal and the bytes of a binary value, which images hold as they
  /// are.
  const std::string* plain_text() const;

  /// Size in bytes by DynamoDB's rules, without the name.
  std::int64_t size_bytes() const;

  friend bool operator==(const Value&, const Value&) = default;

 private:
  using Data = std::variant<std::int64_t, std::string, bool, Null, Decimal, StringSet, List, Map,
                            Binary, NumberSet, BinarySet>;
  // Builds the alternative where it stays: moving a whole variant makes g++ 12 warn of members that
  // are not there.
  template <typename T>
  Value(std::in_place_t, T content) : data_(std::in_place_type<T>, std::move(content)) {}

  Data data_;
};

/// Bytes of a 64-bit number by DynamoDB's rules: two digits a byte, trailing zeros and sign apart.
int number_size_bytes(std::int64_t value);

}  // namespace stint::store

#endif  // STINT_STORE_VALUE_H_
