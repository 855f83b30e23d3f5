#include "store/value.h"

#include <array>
#include <bit>
#include <type_traits>

#include "store/number_text.h"

namespace stint::store {
namespace {

// DynamoDB's overhead of a list or map, and of each element of one.
constexpr std::int64_t kContainerBytes = 3;
constexpr std::int64_t kElementBytes = 1;

constexpr std::array<std::uint64_t, 20> kPowersOfTen = [] {
  std::array<std::uint64_t, 20> powers{};
  std::uint64_t power = 1;
  for (std::uint64_t& entry : powers) {
    entry = power;
    power *= 10;
  }
  return powers;
}();

int decimal_digits(std::uint64_t value) {
  // log10 from log2: 1233 / 4096 is just above log10(2), so the guess is right or one too high.
  auto guess = static_cast<std::size_t>(std::bit_width(value)) * 1233 / 4096;
  return static_cast<int>(guess) + (value >= kPowersOfTen[guess] ? 1 : 0);
}

std::int64_t elements_size_bytes(const Value::StringSet& set) {
  std::int64_t size = 0;
  for (const std::string& text : set) size += static_cast<std::int64_t>(text.size());
  return size;
}

}  // namespace

bool NumberTextLess::operator()(std::string_view a, std::string_view b) const {
  return compare_numbers(a, b) < 0;
}

std::optional<Value> Value::parse_number(std::string_view text) {
  if (std::optional<std::int64_t> integer = canonical_integer(text)) return number(*integer);
  if (!is_number_text(text)) return std::nullopt;
  return Value(std::in_place, Decimal{std::string(text)});
}

Value Value::number_text(std::string_view text) {
  if (std::optional<std::int64_t> integer = canonical_integer(text)) return number(*integer);
  return Value(std::in_place, Decimal{std::string(text)});
}

ValueType Value::type() const {
  struct Visitor {
    ValueType operator()(std::int64_t) const { return ValueType::kNumber; }
    ValueType operator()(const std::string&) const { return ValueType::kString; }
    ValueType operator()(bool) const { return ValueType::kBool; }
    ValueType operator()(Null) const { return ValueType::kNull; }
    ValueType operator()(const Decimal&) const { return ValueType::kDecimal; }
    ValueType operator()(const StringSet&) const { return ValueType::kStringSet; }
    ValueType operator()(const List&) const { return ValueType::kList; }
    ValueType operator()(const Map&) const { return ValueType::kMap; }
    ValueType operator()(const Binary&) const { return ValueType::kBinary; }
    ValueType operator()(const NumberSet&) const { return ValueType::kNumberSet; }
    ValueType operator()(const BinarySet&) const { return ValueType::kBinarySet; }
  };
  return std::visit(Visitor(), data_);
}

const std::string* Value::plain_text() const {
  if (const std::string* text = as_string()) return text;
  if (const Decimal* decimal = as_decimal()) return &decimal->text;
  if (const Binary* binary = as_binary()) return &binary->bytes;
  return nullptr;
}

std::int64_t Value::size_bytes() const {
  switch (type()) {
    case ValueType::kNumber: return number_size_bytes(*as_number());
    case ValueType::kDecimal: return number_text_size_bytes(as_decimal()->text);
    case ValueType::kString: return static_cast<std::int64_t>(as_string()->size());
    case ValueType::kBool:
    case ValueType::kNull: return 1;
    case ValueType::kBinary: return static_cast<std::int64_t>(as_binary()->bytes.size());
    case ValueType::kStringSet: return elements_size_bytes(*as_string_set());
    case ValueType::kBinarySet: return elements_size_bytes(*as_binary_set());
    case ValueType::kNumberSet: {
      std::int64_t size = 0;
      for (const std::string& text : *as_number_set()) size += number_text_size_bytes(text);
      return size;
    }
    case ValueType::kList: {
      std::int64_t size = kContainerBytes;
      for (const Value& value : *as_list()) size += kElementBytes + value.size_bytes();
      return size;
    }
    case ValueType::kMap: {
      std::int64_t size = kContainerBytes;
      for (const auto& [name, value] : *as_map()) {
        size += kElementBytes + static_cast<std::int64_t>(name.size()) + value.size_bytes();
      }
      return size;
    }
  }
  return 0;
}

int number_size_bytes(std::int64_t value) {
  if (value == 0) return 1;
  auto magnitude = static_cast<std::uint64_t>(value);
  if (value < 0) magnitude = 0 - magnitude;
  // Constant divisors, so that no division is left; halving steps find up to 15 of at most 18
  // zeros, the loop the rest. An odd number has none.
  std::uint64_t rest = magnitude;
  int trailing_zeros = 0;
  if (rest % 2 == 0) {
    auto strip = [&]<std::uint64_t kDivisor>(std::integral_constant<std::uint64_t, kDivisor>,
                                             int zeros) {
      if (rest % kDivisor != 0) return;
      rest /= kDivisor;
      trailing_zeros += zeros;
    };
    strip(std::integral_constant<std::uint64_t, 100'000'000>(), 8);
    strip(std::integral_constant<std::uint64_t, 10'000>(), 4);
    strip(std::integral_constant<std::uint64_t, 100>(), 2);
    for (; rest % 10 == 0; rest /= 10) ++trailing_zeros;
  }
  int significant = decimal_digits(magnitude) - trailing_zeros;
  return 1 + (significant + 1) / 2 + (value < 0 ? 1 : 0);
}

}  // namespace stint::store
