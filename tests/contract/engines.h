// The engines that the contract binds. A new one is one more entry of `engine_factories`.
#ifndef STINT_TESTS_CONTRACT_ENGINES_H_
#define STINT_TESTS_CONTRACT_ENGINES_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "store/engine.h"

namespace stint::test {

struct EngineFactory {
  std::string name;
  /// An empty engine whose data vanishes with it.
  std::function<std::shared_ptr<store::Engine>(bool change_stream)> make;
};

std::vector<EngineFactory> engine_factories();

}  // namespace stint::test

#endif  // STINT_TESTS_CONTRACT_ENGINES_H_
