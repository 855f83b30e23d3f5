// Attribute names as small integers, so that items and prepared updates never compare texts.
#ifndef STINT_STORE_ATTRIBUTE_H_
#define STINT_STORE_ATTRIBUTE_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/component.h"

namespace stint::store {

/// An interned attribute name. Valid in this process only; items on disk hold the names.
enum class AttrId : std::uint32_t {};

constexpr std::uint32_t index_of(AttrId id) { return static_cast<std::uint32_t>(id); }

/// The id of a name, assigned at first sight. Names are never forgotten: intern only names from
/// stored items and validated configuration, never from requests. Lock-free, thread-safe.
/// Precondition: 1 to 255 bytes, DynamoDB's bound for keys (names here are far shorter).
STINT_COMPONENT AttrId intern(std::string_view name);

/// Whether so many names are known that new ones must be refused where they enter: `intern` ends
/// the process when its table is full, long after this has become true.
bool names_running_out();

/// The id of a name from a store that other programs write to, or nothing when the name is new and
/// `names_running_out`.
STINT_COMPONENT std::optional<AttrId> intern_foreign(std::string_view name);

/// The name of an id. The view is valid for the life of the process.
STINT_COMPONENT std::string_view name_of(AttrId id);

/// The ids of the key attributes, the same in every process.
inline constexpr AttrId kPk{0};
inline constexpr AttrId kSk{1};
/// GSI1PK, GSI1SK, GSI2PK, ... GSI4SK follow as 2 to 9.
constexpr AttrId index_pk(int index) { return AttrId(static_cast<std::uint32_t>(2 * index)); }
constexpr AttrId index_sk(int index) { return AttrId(static_cast<std::uint32_t>(2 * index + 1)); }

/// Where an attribute was found last. Items of one shape hold an attribute at the same place, so a
/// prepared expression that remembers it need not search. Thread-safe, and never wrong: a hint that
/// does not fit costs a search.
class PositionHint {
 public:
  PositionHint() = default;
  PositionHint(const PositionHint& other) : at_(other.get()) {}
  PositionHint& operator=(const PositionHint& other) {
    set(other.get());
    return *this;
  }

  std::uint32_t get() const { return at_.load(std::memory_order_relaxed); }
  void set(std::uint32_t at) const { at_.store(at, std::memory_order_relaxed); }

 private:
  mutable std::atomic<std::uint32_t> at_{0};
};

}  // namespace stint::store

#endif  // STINT_STORE_ATTRIBUTE_H_
