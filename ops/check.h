// Looking for what is wrong with a store.
#ifndef STINT_OPS_CHECK_H_
#define STINT_OPS_CHECK_H_

#include <functional>

#include "ops/op.h"
#include "stint/limit.h"
#include "stint/result.h"
#include "stint/store_report.h"
#include "stint/time.h"

namespace stint::ops {

struct CheckSettings {
  ResetRule reset_rule;
  TimePoint now;
  std::function<void(const StoreProblem&)> on_problem;
  OnProgress on_progress;
};

/// Reads all items, then all entries of every index. Writes nothing. An index that does not agree
/// with the items as a whole is read again, and so are all items; those for which the two differ,
/// and one in 4,096 of the others for each of these, are compared one by one.
Op<Result<CheckReport>> check_store(const CheckSettings& settings);

}  // namespace stint::ops

#endif  // STINT_OPS_CHECK_H_
