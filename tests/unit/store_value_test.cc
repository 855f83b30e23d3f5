#include "store/value.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <string>

#include "store/number_text.h"
#include "store/value_codec.h"

namespace stint::store {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

// The rule, digit by digit.
int slow_number_size(std::int64_t value) {
  if (value == 0) return 1;
  std::string digits = std::to_string(value);
  bool negative = digits[0] == '-';
  if (negative) digits.erase(0, 1);
  while (digits.back() == '0') digits.pop_back();
  return 1 + static_cast<int>(digits.size() + 1) / 2 + (negative ? 1 : 0);
}

TEST(Value, NumberSizes) {
  EXPECT_EQ(number_size_bytes(0), 1);
  EXPECT_EQ(number_size_bytes(7), 2);
  EXPECT_EQ(number_size_bytes(42), 2);
  EXPECT_EQ(number_size_bytes(420), 2);
  EXPECT_EQ(number_size_bytes(421), 3);
  EXPECT_EQ(number_size_bytes(-421), 4);
  EXPECT_EQ(number_size_bytes(1'000'000'000'000'000'000), 2);
  EXPECT_EQ(number_size_bytes(kMax), 11);
  EXPECT_EQ(number_size_bytes(kMin), 12);
}

TEST(Value, NumberSizesAroundPowersOfTen) {
  std::int64_t power = 1;
  for (int i = 0; i <= 18; ++i) {
    for (std::int64_t value : {power - 1, power, power + 1, -power, 1 - power}) {
      EXPECT_EQ(number_size_bytes(value), slow_number_size(value)) << value;
    }
    if (i < 18) power *= 10;
  }
}

RC_GTEST_PROP(Value, NumberSizeIsByTheDigits, (std::int64_t value, std::uint8_t zeros)) {
  for (int i = 0; i < zeros % 12; ++i) {
    if (value > kMax / 10 || value < kMin / 10) break;
    value *= 10;
  }
  RC_ASSERT(number_size_bytes(value) == slow_number_size(value));
}

TEST(Value, CanonicalIntegersBecomeNumbers) {
  for (std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, kMax, kMin}) {
    Value read = Value::number_text(std::to_string(value));
    ASSERT_TRUE(read.as_number()) << value;
    EXPECT_EQ(*read.as_number(), value);
  }
  for (const char* text : {"0.5", "1.0", "01", "-0", "+1", "1E3", "9223372036854775808"}) {
    Value read = Value::number_text(text);
    ASSERT_TRUE(read.as_decimal()) << text;
    EXPECT_EQ(read.as_decimal()->text, text);
    EXPECT_EQ(read.type(), ValueType::kDecimal);
  }
}

TEST(Value, SizesOfOtherTypes) {
  EXPECT_EQ(Value::string("héllo").size_bytes(), 6);
  EXPECT_EQ(Value::boolean(true).size_bytes(), 1);
  EXPECT_EQ(Value::null().size_bytes(), 1);
  EXPECT_EQ(Value::number_text("0.5").size_bytes(), 2);
  EXPECT_EQ(Value::number_text("-12.345").size_bytes(), 5);
  EXPECT_EQ(Value::string_set({"ab", "c"}).size_bytes(), 3);
  EXPECT_EQ(Value::binary(std::string("a\0\xff", 3)).size_bytes(), 3);
  EXPECT_EQ(Value::number_set({"1", "-12.345"}).size_bytes(), 2 + 5);
  EXPECT_EQ(Value::binary_set({"ab", "", "c"}).size_bytes(), 3);
  EXPECT_EQ(Value::list({}).size_bytes(), 3);
  EXPECT_EQ(Value::list({Value::string("ab"), Value::null()}).size_bytes(), 3 + 1 + 2 + 1 + 1);
  EXPECT_EQ(Value::map({{"key", Value::number(42)}}).size_bytes(), 3 + 1 + 3 + 2);
}

TEST(Value, NumbersOfASetAreToldApartByValue) {
  EXPECT_EQ(Value::number_set({"1", "1.0", "1e0", "2"}).as_number_set()->size(), 2u);
  EXPECT_EQ(*Value::number_set({"10", "9"}).as_number_set()->begin(), "9");
}

TEST(Value, NumbersFromOutsideAreChecked) {
  EXPECT_EQ(Value::parse_number("-12"), Value::number(-12));
  EXPECT_EQ(Value::parse_number("1e3"), Value::number_text("1e3"));
  EXPECT_EQ(Value::parse_number("1e126"), std::nullopt);
  EXPECT_EQ(Value::parse_number(""), std::nullopt);
}

TEST(NumberText, Accepts) {
  for (const char* text : {"0", "-0", "1", "+1", "007", "1.50", ".5", "5.", "1e5", "1E-5", "1e+5",
                           "99999999999999999999999999999999999999", "1e125", "1e-130", "0e999"}) {
    EXPECT_TRUE(is_number_text(text)) << text;
  }
}

TEST(NumberText, Refuses) {
  for (const char* text :
       {"", "-", ".", "e5", "1e", "1e+", "1e+-5", "1 ", " 1", "0x1", "nan", "1.2.3", "--1", "1e126",
        "1e-131", "1e99999999999", "999999999999999999999999999999999999999"}) {
    EXPECT_FALSE(is_number_text(text)) << text;
  }
}

TEST(NumberText, OrdersByValue) {
  const char* ascending[] = {"-1e10", "-100", "-99.5", "-1", "-0.5", "0",
                             "1e-5",  "0.5",  "0.51",  "1",  "99",   "100.01"};
  for (std::size_t i = 0; i < std::size(ascending); ++i) {
    for (std::size_t j = 0; j < std::size(ascending); ++j) {
      EXPECT_EQ(compare_numbers(ascending[i], ascending[j]), i <=> j)
          << ascending[i] << " and " << ascending[j];
    }
  }
  EXPECT_TRUE(compare_numbers("1.0", "1") == 0);
  EXPECT_TRUE(compare_numbers("1e3", "1000.00") == 0);
  EXPECT_TRUE(compare_numbers("-0", "0") == 0);
}

RC_GTEST_PROP(NumberText, OrdersIntegersLikeIntegers, (std::int64_t a, std::int64_t b)) {
  RC_ASSERT(compare_numbers(std::to_string(a), std::to_string(b)) == (a <=> b));
}

RC_GTEST_PROP(ValueCodec, VarintsComeBack, (std::uint64_t plain, std::int64_t with_sign)) {
  std::string bytes;
  append_varint(bytes, plain);
  append_signed_varint(bytes, with_sign);
  ByteReader reader(bytes);
  RC_ASSERT(reader.varint() == plain);
  RC_ASSERT(reader.signed_varint() == with_sign);
  RC_ASSERT(!reader.failed());
  RC_ASSERT(reader.at_end());
}

TEST(ValueCodec, ExtremesComeBack) {
  for (std::int64_t value : {kMin, kMin + 1, kMax, std::int64_t{0}, std::int64_t{-1}}) {
    std::string bytes;
    append_signed_varint(bytes, value);
    ByteReader reader(bytes);
    EXPECT_EQ(reader.signed_varint(), value);
    EXPECT_FALSE(reader.failed());
  }
}

TEST(ValueCodec, RefusesVarintsThatNobodyWrites) {
  for (const std::string& bytes :
       {std::string("\x80", 1), std::string("\x80\x00", 2), std::string(10, '\xff'),
        std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10), std::string()}) {
    ByteReader reader(bytes);
    EXPECT_EQ(reader.varint(), 0u);
    EXPECT_TRUE(reader.failed());
  }
}

}  // namespace
}  // namespace stint::store
