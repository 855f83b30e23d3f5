// Which transactions were applied under which client token. Shared by the embedded engines.
#ifndef STINT_STORE_EMBEDDED_TOKEN_MEMORY_H_
#define STINT_STORE_EMBEDDED_TOKEN_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>

#include "base/component.h"
#include "store/request.h"

namespace stint::store {

/// Identifies the contents of a transaction, token apart: equal contents have equal prints, and
/// different contents with all probability different ones.
struct Fingerprint {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};
STINT_COMPONENT Fingerprint fingerprint(const TransactRequest& request);

/// How many tokens an engine remembers: far more than can wait for a reply at one time.
inline constexpr std::size_t kRememberedTokens = 100'000;

/// Remembers the last `capacity` tokens. A token is only of use to the process that sent it, so an
/// engine that serves one process keeps them in memory. Locked by its owner.
class STINT_COMPONENT TokenMemory {
 public:
  explicit TokenMemory(std::size_t capacity) : capacity_(capacity) {}

  enum class Claim {
    kNew,      ///< Now remembered; forget it if the transaction is not applied after all.
    kApplied,  ///< The same transaction was applied before.
    kOther,    ///< The token belongs to a transaction with other contents.
  };
  Claim claim(const std::string& token, const Fingerprint& print);
  void forget(const std::string& token);

 private:
  std::size_t capacity_;
  std::unordered_map<std::string, Fingerprint> prints_;
  std::deque<std::string> order_;  // oldest first; may hold forgotten tokens
};

}  // namespace stint::store

#endif  // STINT_STORE_EMBEDDED_TOKEN_MEMORY_H_
