// Limits, moments and amounts for properties: small numbers that select from lists of telling
// values, so that a failing history shrinks to the values listed first.
#ifndef STINT_TESTS_UNIT_SUPPORT_BUCKET_GEN_H_
#define STINT_TESTS_UNIT_SUPPORT_BUCKET_GEN_H_

#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/unit/support/bucket_world.h"

namespace stint::bucket::test {

inline constexpr std::int64_t kMost = 1'000'000'000'000'000;  // tokens that may be configured

/// A number from 0 to `count - 1`; small ones where a failure shrinks.
inline int any_of(std::size_t count) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<int>(0, static_cast<int>(count)));
}

inline Millis any_step() {
  static constexpr std::array<std::int64_t, 20> kSteps = {
      0,       1,         2,         7,         50,         333,       999,
      1000,    1001,      5000,      59'999,    60'000,     61'001,    90'000,
      600'000, 3'599'999, 3'600'000, 8'047'123, 18'000'000, 33'333'333};
  return Millis(kSteps[static_cast<std::size_t>(any_of(kSteps.size()))]);
}

/// Lines of a level schedule; some give a rate another period.
inline std::vector<LevelEntry> any_lines(LimitKind kind) {
  switch (any_of(kind == LimitKind::kRate ? 7 : 5)) {
    case 0: return {};
    case 1: return {scaled("* 9-17 * * *", 500)};
    case 2: return {scaled("*/20 * * * *", 2500), scaled("* 12 * * *", 100)};
    case 3: return {absolute("* 0-6 * * *", 2000), scaled("30-59 * * * *", 1333)};
    case 4: return {absolute("* 13 * * *", 1), absolute("* * * * 3", 77)};
    case 5: return {absolute("* 13 * * *", std::nullopt, 3, 7s), absolute("5-9 * * * *", 40, 1)};
    default: return {absolute("* * * * *", 50, 2, 11s), scaled("* 12 * * *", 2000)};
  }
}

inline Definition any_limit_of(LimitKind kind, std::string_view name) {
  switch (kind) {
    case LimitKind::kRate:
      switch (any_of(9)) {
        case 0: return rate(100, 20, 1s, name);
        case 1: return rate(1, 1, 1h, name);
        case 2: return rate(400'000, 400'000, 60s, name);
        case 3: return rate(10, 7, 3s, name);
        case 4: return rate(5, 1000, 1s, name);
        case 5: return rate(1000, 10, 60s, name);
        case 6: return rate(kMost, 1, 1'000'000'000s, name);
        case 7: return rate(kMost, kMost, 1'000'000'000s, name);
        default: return rate(kMost, kMost, 1s, name);
      }
    case LimitKind::kCalendar:
      switch (any_of(5)) {
        case 0: return calendar(100, "0 * * * *", name);
        case 1: return calendar(1000, "*/7 * * * *", name);
        case 2: return calendar(10, "0 0 * * *", name);
        case 3: return calendar(kMost, "30 6,13 * * 1-5", name);
        default: return calendar(7, "* 9 * * *", name);
      }
    case LimitKind::kSession:
      switch (any_of(4)) {
        case 0: return session(10, 5h, name);
        case 1: return session(1000, 90s, name);
        case 2: return session(kMost, 1000s, name);
        default: return session(100, 3s, name);
      }
  }
  return {};
}

inline Definition any_limit(std::string_view name, std::string_view zone = "UTC") {
  auto kind = static_cast<LimitKind>(any_of(3));
  Definition limit = any_limit_of(kind, name);
  if (kind == LimitKind::kCalendar) {
    limit = limit.with_resets(limit.crons.front().text(), zone);
  }
  std::vector<LevelEntry> lines = any_lines(kind);
  if (!lines.empty()) limit = limit.with_lines(std::move(lines), zone);
  return limit;
}

/// The same limit with other parameters, as an operator would set them.
inline Definition reconfigured(const Definition& limit) {
  Definition other = limit;
  static constexpr std::array<std::int64_t, 5> kCapacities = {1, 10, 77, 1000, kMost};
  other.base.capacity = kCapacities[static_cast<std::size_t>(any_of(kCapacities.size()))] * kToken;
  if (limit.kind == LimitKind::kRate) {
    static constexpr std::array<std::int64_t, 4> kPeriods = {1000, 7000, 60'000, 3'600'000};
    other.base.refill = (any_of(50) + 1) * kToken;
    other.base.period = Millis(kPeriods[static_cast<std::size_t>(any_of(kPeriods.size()))]);
  }
  if (limit.kind == LimitKind::kSession) other.window_length = Millis((any_of(200) + 1) * 60'000);
  return other;
}

/// An amount that tells something about a balance and a capacity. Never below 0.
inline std::int64_t any_amount(std::int64_t available, std::int64_t capacity) {
  std::int64_t amount = 0;
  switch (any_of(9)) {
    case 0: amount = 0; break;
    case 1: amount = 1; break;
    case 2: amount = kToken; break;
    case 3: amount = available / 3; break;
    case 4: amount = available; break;
    case 5: amount = available + 1; break;
    case 6: amount = capacity; break;
    case 7: amount = capacity - 1; break;
    default: amount = 333; break;
  }
  return std::max<std::int64_t>(amount, 0);
}

}  // namespace stint::bucket::test

#endif  // STINT_TESTS_UNIT_SUPPORT_BUCKET_GEN_H_
