// Recorded requests in memory: small records over shared tables of names.
#ifndef STINT_CLI_REPLAY_TRAFFIC_H_
#define STINT_CLI_REPLAY_TRAFFIC_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stint/time.h"

namespace stint::cli {

/// Texts numbered from 0 in the order in which they were added.
class NameTable {
 public:
  std::optional<std::uint32_t> find(std::string_view name) const;
  /// The number of a name, which is added if it is new.
  std::uint32_t add(std::string_view name);
  const std::string& name(std::uint32_t number) const { return names_[number]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(names_.size()); }

 private:
  // The slot that holds the name, or the free one where it belongs. Precondition: not empty.
  std::size_t slot_of(std::uint64_t hash, std::string_view name) const;
  void grow();

  std::deque<std::string> names_;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::uint32_t> slots_;  // number + 1; 0: free
};

/// An amount of a limit, both by number.
struct DeclaredAmount {
  std::uint32_t limit;
  std::int64_t tokens;
};

/// One request. Its amounts are `count` elements of `Traffic::amounts` from `first` on.
struct RecordedRequest {
  TimePoint time;
  std::uint64_t line;
  std::uint64_t first;
  std::uint32_t count;
  std::uint32_t entity;
  std::uint32_t resource;
};

struct Traffic {
  NameTable entities;
  NameTable resources;
  NameTable limits;
  std::vector<RecordedRequest> requests;
  std::vector<DeclaredAmount> amounts;

  /// Drops the requests, not the names.
  void clear_requests() {
    requests.clear();
    amounts.clear();
  }
};

}  // namespace stint::cli

#endif  // STINT_CLI_REPLAY_TRAFFIC_H_
