// Counting what a store holds.
#ifndef STINT_OPS_SURVEY_H_
#define STINT_OPS_SURVEY_H_

#include "ops/op.h"
#include "stint/result.h"
#include "stint/store_report.h"
#include "stint/time.h"

namespace stint::ops {

/// Items that one page of a scan answers at most.
inline constexpr int kScanPageItems = 1000;

/// Reads the whole table, a request for a page. Memory does not grow with the number of items: of
/// very many namespaces, the later ones are counted together.
Op<Result<StoreCounts>> count_items(TimePoint now, const OnProgress& on_progress);

/// The import that was begun and not finished, if there is one. One request.
Op<Result<std::optional<UnfinishedImport>>> find_unfinished_import();

}  // namespace stint::ops

#endif  // STINT_OPS_SURVEY_H_
