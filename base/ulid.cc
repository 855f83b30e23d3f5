#include "base/ulid.h"

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace stint {
namespace {

constexpr char kDigits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

void append(std::string& text, std::uint64_t bits, int digits) {
  for (int shift = 5 * (digits - 1); shift >= 0; shift -= 5) text += kDigits[bits >> shift & 31];
}

}  // namespace

std::string make_ulid(TimePoint at, Random& random) {
  std::string text;
  append(text, static_cast<std::uint64_t>(std::max<std::int64_t>(to_epoch_ms(at), 0)), 10);
  append(text, random.next(), 8);
  append(text, random.next(), 8);
  return text;
}

}  // namespace stint
