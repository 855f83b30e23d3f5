#include "store/engine.h"

namespace stint::store {

Result<std::vector<ChangeRecord>> Engine::changes(std::uint64_t position, int limit) {
  static_cast<void>(position);
  static_cast<void>(limit);
  return Error::invalid("changes", "", "the store was opened without a change stream");
}

}  // namespace stint::store
