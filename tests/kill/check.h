// Compares a store with what the journal says of it.
#ifndef STINT_TESTS_KILL_CHECK_H_
#define STINT_TESTS_KILL_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/kill/journal.h"

namespace stint::test {

struct Findings {
  /// What was acknowledged and is not there, one line each.
  std::vector<std::string> lost;
  /// Anything else that is wrong: applied twice, unreadable, indexes that disagree, refused calls.
  std::vector<std::string> wrong;
  /// Comparisons made.
  std::int64_t checked = 0;
  /// Calls in flight whose outcome was either.
  std::int64_t maybe = 0;
};

/// Opens the store as a program would, asks it, closes it, and reads the files below. Afterwards
/// the journal says what was found, so that a next child can go on from there.
Findings check_store(const std::string& directory, Journal& journal);

}  // namespace stint::test

#endif  // STINT_TESTS_KILL_CHECK_H_
