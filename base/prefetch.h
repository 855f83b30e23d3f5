// Hints to the processor about memory that is used soon.
#ifndef STINT_BASE_PREFETCH_H_
#define STINT_BASE_PREFETCH_H_

#include <cstddef>

namespace stint {

inline constexpr std::size_t kCacheLineBytes = 64;

/// Asks for the cache lines of `bytes` from `address` on, which is never read from. Always inlined:
/// g++ 12 drops calls to functions that only prefetch.
__attribute__((always_inline)) inline void prefetch_lines(const void* address, std::size_t bytes) {
  const char* at = static_cast<const char*>(address);
  for (std::size_t i = 0; i < bytes; i += kCacheLineBytes) __builtin_prefetch(at + i);
}

}  // namespace stint

#endif  // STINT_BASE_PREFETCH_H_
