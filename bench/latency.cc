#include "bench/latency.h"

#include <algorithm>
#include <cmath>

namespace stint::bench {
namespace {

std::uint32_t value_at(std::vector<std::uint32_t>& values, std::size_t count, double part) {
  if (count == 0) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(count)));
  auto at = values.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(values.begin(), at, values.begin() + static_cast<std::ptrdiff_t>(count));
  return *at;
}

}  // namespace

Samples::Samples(std::size_t most) : ticks_(most) {
  constexpr std::size_t kReadings = 1001;
  std::vector<std::uint32_t> readings(kReadings);
  for (std::uint32_t& reading : readings) {
    const std::uint64_t begin = Ticks::before();
    reading = static_cast<std::uint32_t>(Ticks::after() - begin);
  }
  overhead_ = value_at(readings, kReadings, 0.5);
  first_time_ = std::chrono::steady_clock::now();
  first_tick_ = Ticks::before();
}

void Samples::finish() {
  const std::chrono::duration<double, std::nano> time =
      std::chrono::steady_clock::now() - first_time_;
  ns_per_tick_ = time.count() / static_cast<double>(Ticks::after() - first_tick_);
}

void Samples::take(const Samples& other) {
  ticks_.resize(count_ + other.count_);
  std::copy_n(other.ticks_.begin(), other.count_,
              ticks_.begin() + static_cast<std::ptrdiff_t>(count_));
  count_ += other.count_;
}

double Samples::quantile(double part) { return value_at(ticks_, count_, part) * ns_per_tick_; }

}  // namespace stint::bench
