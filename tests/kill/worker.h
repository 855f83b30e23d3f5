// The child of a kill campaign: puts a store under load until it dies.
#ifndef STINT_TESTS_KILL_WORKER_H_
#define STINT_TESTS_KILL_WORKER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "tests/kill/journal.h"
#include "tests/kill/kill_file_system.h"

namespace stint::test {

/// The words that the load and its check share.
inline constexpr const char* kResource = "load";
inline constexpr const char* kSession = "session";
inline constexpr const char* kRate = "rate";
inline constexpr std::int64_t kCapacity = 1'000'000'000;
inline constexpr std::int64_t kWindowMs = 60 * 60 * 1000;
std::string entity_name(int number);
std::string created_name(int thread, std::int64_t number);
std::string own_resource(int thread);

struct WorkerOptions {
  std::string directory;
  std::uint64_t seed = 0;
  bool synced = false;
  bool power_loss = false;
  /// A planted mistake: calls count as acknowledged before they are made.
  bool early = false;
  std::optional<KillPoint> point;
  /// Dies by itself after this many acknowledged calls.
  std::int64_t most_calls = 0;
};

/// Never returns but by SIGKILL. Exits with 3 where the store cannot be opened.
[[noreturn]] void run_worker(const WorkerOptions& options, Journal& journal);

}  // namespace stint::test

#endif  // STINT_TESTS_KILL_WORKER_H_
