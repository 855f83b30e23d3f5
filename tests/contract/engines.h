// The engines that the contract binds. A new one is one more entry of `engine_factories`.
#ifndef STINT_TESTS_CONTRACT_ENGINES_H_
#define STINT_TESTS_CONTRACT_ENGINES_H_

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "store/engine.h"

namespace stint::test {

/// Where an engine, or the server it is tested against, may differ.
struct EngineTraits {
  /// A transaction answers the new images.
  bool tells_transaction_images = true;
  /// Texts need not be UTF-8.
  bool takes_any_bytes = true;
  /// A page that ends with the last item says so.
  bool knows_last_page = true;
  /// A position counts for the query that it was answered to only.
  bool binds_positions = true;
  /// Prefixes are told apart by case: the test server does not, the service does.
  bool prefixes_have_case = true;
  bool has_change_stream = true;
  /// A page of a scan ends after the item that fills it, not before.
  bool fills_pages = true;
  /// The test server counts indexes once in a transaction.
  bool charges_indexes_twice = true;
};

struct EngineFactory {
  std::string name;
  /// An empty engine whose data vanishes with it.
  std::function<std::shared_ptr<store::Engine>(bool change_stream)> make;
  EngineTraits traits = {};

  friend void PrintTo(const EngineFactory& factory, std::ostream* out) { *out << factory.name; }
};

std::vector<EngineFactory> engine_factories();

}  // namespace stint::test

#endif  // STINT_TESTS_CONTRACT_ENGINES_H_
