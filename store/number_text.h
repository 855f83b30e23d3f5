// Numbers in the table's text form, which may be wider or finer than 64-bit integers.
#ifndef STINT_STORE_NUMBER_TEXT_H_
#define STINT_STORE_NUMBER_TEXT_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/component.h"

namespace stint::store {

/// Whether `text` is a number as DynamoDB takes it: optional sign, digits, fraction, exponent; at
/// most 38 significant digits and a magnitude from 10^-130 to below 10^126.
STINT_COMPONENT bool is_number_text(std::string_view text);

/// The integer that `text` spells in canonical form ("0", "-12"), if it does and it fits 64 bits.
STINT_COMPONENT std::optional<std::int64_t> canonical_integer(std::string_view text);

/// Orders two numbers by value. Precondition: both satisfy `is_number_text`.
std::strong_ordering compare_numbers(std::string_view a, std::string_view b);

/// Bytes of a number by DynamoDB's rules. Precondition: `is_number_text`.
int number_text_size_bytes(std::string_view text);

}  // namespace stint::store

#endif  // STINT_STORE_NUMBER_TEXT_H_
