// What a child process means to do and what it was told, in memory that outlives it.
#ifndef STINT_TESTS_KILL_JOURNAL_H_
#define STINT_TESTS_KILL_JOURNAL_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace stint::test {

inline constexpr int kThreads = 4;
inline constexpr int kEntities = 24;
inline constexpr int kLimits = 2;  // a session quota and a rate

using Shared = std::atomic<std::int64_t>;
static_assert(Shared::is_always_lock_free);

/// What a limit of an entity has consumed, in tokens. Written by a child, before and after calls;
/// the order makes every moment of death a true statement: an amount is in flight until after it
/// was added to the acknowledged.
struct Consumed {
  Shared acknowledged{0};
  // Of calls whose outcome the child was told to be unknown.
  Shared maybe_taken{0};
  Shared maybe_returned{0};
  /// The latest window that an acknowledged call was told of, by its end; 0: none.
  Shared window_end_ms{0};
};

/// The call that a thread is in.
struct InFlight {
  Shared entity{-1};
  std::array<Shared, kLimits> delta{};
};

struct Journal {
  Shared clock_ms{0};
  /// Whether any child was told that the store is open.
  Shared opened{0};
  /// Acknowledged calls of the present child.
  Shared calls{0};
  /// Of all children: acknowledged calls, calls with an unknown outcome, and wrong answers.
  Shared acknowledged{0};
  Shared unknown{0};
  Shared refused{0};

  std::array<std::array<Consumed, kLimits>, kEntities> consumed{};
  std::array<InFlight, kThreads> in_flight{};
  /// The capacity configured for the resource of a thread: last acknowledged, and asked for.
  std::array<Shared, kThreads> capacity{};
  std::array<Shared, kThreads> wanted_capacity{};
  /// How many entities a thread created: acknowledged, and begun.
  std::array<Shared, kThreads> created{};
  std::array<Shared, kThreads> begun{};
  /// Begun, in flight when a child died, and found not to exist: numbers plus one, 0 is free.
  std::array<std::array<Shared, 8>, kThreads> absent{};
};

/// A journal in a file that processes map together.
class MappedJournal {
 public:
  /// Creates the file if need be. Ends the program where that is impossible.
  explicit MappedJournal(const std::string& path);
  ~MappedJournal();
  MappedJournal(const MappedJournal&) = delete;
  MappedJournal& operator=(const MappedJournal&) = delete;
  Journal& operator*() const { return *journal_; }
  Journal* operator->() const { return journal_; }

 private:
  Journal* journal_;
};

}  // namespace stint::test

#endif  // STINT_TESTS_KILL_JOURNAL_H_
