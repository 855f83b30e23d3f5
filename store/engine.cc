#include "store/engine.h"

namespace stint::store {

void Engine::execute_until(std::span<Call> calls,
                           std::chrono::steady_clock::time_point /*deadline*/) noexcept {
  execute(calls);
}

void Engine::start(std::span<Call> calls, std::chrono::steady_clock::time_point deadline,
                   Completion& completion) noexcept {
  execute_until(calls, deadline);
  completion.answered();
}

Result<std::vector<ChangeRecord>> Engine::changes(std::uint64_t position, int limit) {
  static_cast<void>(position);
  static_cast<void>(limit);
  return Error::invalid("changes", "", "the store was opened without a change stream");
}

Result<EngineState> Engine::state() { return EngineState(); }

Status Engine::backup(const std::string& directory) {
  return Error::invalid("backup", directory, "the store has no files; export its items instead");
}

}  // namespace stint::store
