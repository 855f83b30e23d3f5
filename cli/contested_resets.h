// Warnings of resets on which the two reset rules disagree (decision 7).
#ifndef STINT_CLI_CONTESTED_RESETS_H_
#define STINT_CLI_CONTESTED_RESETS_H_

#include <string>
#include <vector>

#include "cli/json_writer.h"
#include "stint/limit.h"
#include "stint/time.h"

namespace stint::cli {

/// A quota's resets that the rule `kCompatible` drops or repeats, because local time does.
struct ContestedResets {
  Scope scope;
  std::string limit;
  std::string zone;
  std::vector<TimePoint> edges;
};

/// All of some limits within two years of `now`.
std::vector<ContestedResets> contested_resets(const Scope& scope, const std::vector<Limit>& limits,
                                              TimePoint now);

/// One sentence that names scope, limit and dates.
std::string describe_contested(const ContestedResets& contested);

/// An array of objects with `scope`, `limit`, `message`, `contested_at_ms`.
void write_contested(JsonWriter& json, const std::vector<ContestedResets>& contested);

}  // namespace stint::cli

#endif  // STINT_CLI_CONTESTED_RESETS_H_
