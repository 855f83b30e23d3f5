// Numbers as people type and read them. Strict: nothing is guessed, rounded or wrapped.
#ifndef STINT_CLI_NUMBER_TEXT_H_
#define STINT_CLI_NUMBER_TEXT_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "stint/amount.h"
#include "stint/result.h"

namespace stint::cli {

/// A whole number of tokens: digits, between which single underscores may stand (`1_000_000`).
/// Errors: `kInvalidArgument` with `field`; also above `kMaxTokens`.
Result<Tokens> parse_tokens(std::string_view field, std::string_view text);

/// The same with up to three digits after a point: `1.5`, `0.001`. Never negative.
Result<MilliTokens> parse_amount(std::string_view field, std::string_view text);

/// A length of time: one or more of a whole number and a unit, as in `90s` or `1h30min`. Units: s
/// or sec, m or min, h or hour, d or day, w or week (7 days).
Result<std::chrono::seconds> parse_duration(std::string_view field, std::string_view text);
/// The same, where a unit alone stands for one of it: `min`, `5min`, `90s`.
Result<std::chrono::seconds> parse_period(std::string_view field, std::string_view text);

/// Exact decimal without trailing zeros, as `parse_amount` and JSON read it: `1500`, `1.5`,
/// `-0.001`.
std::string format_amount(MilliTokens amount);
/// For people: thousands set apart by commas, `1,500.5`.
std::string format_amount_grouped(MilliTokens amount);

/// The shortest text with one unit that `parse_duration` reads back: `90s`, `5h`, `7d`.
std::string format_duration(std::chrono::seconds duration);
/// The same for `parse_period`: `min`, `5min`.
std::string format_period(std::chrono::seconds period);

}  // namespace stint::cli

#endif  // STINT_CLI_NUMBER_TEXT_H_
