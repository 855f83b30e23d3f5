#include "base/random.h"

#include <cassert>

namespace stint {
namespace {

std::uint64_t rotate_left(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

std::uint64_t splitmix(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace

Random::Random(std::uint64_t seed) {
  for (auto& word : state_) word = splitmix(seed);
}

std::uint64_t Random::next() {
  std::uint64_t result = rotate_left(state_[1] * 5, 7) * 9;
  std::uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = rotate_left(state_[3], 45);
  return result;
}

std::uint64_t Random::below(std::uint64_t bound) {
  assert(bound > 0);
  // Values below `threshold` would make small results more likely than large ones.
  std::uint64_t threshold = (0 - bound) % bound;
  for (;;) {
    std::uint64_t value = next();
    if (value >= threshold) return value % bound;
  }
}

std::string Random::hex(int bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (int i = 0; i < bytes; ++i) {
    auto byte = static_cast<unsigned>(next() & 0xff);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace stint
