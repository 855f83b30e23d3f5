// The compact text in which items hold schedules (rules 4.5); shared with the other package, so
// byte for byte.
#ifndef STINT_MODEL_COMPACT_H_
#define STINT_MODEL_COMPACT_H_

#include <string>
#include <string_view>
#include <vector>

#include "stint/limit.h"
#include "stint/result.h"

namespace stint::model {

/// `* 9-17 * * MON-FRI` scaled by 0.5, then `* 0-6 * * *` with capacity 2000:
/// "1h9-17w1-5s500;h0-6c2000". Precondition: not empty.
std::string encode_levels(const std::vector<LevelEntry>& entries);
/// "1m0h0" for `0 0 * * *`. Precondition: not empty, no always-matching expression.
std::string encode_resets(const std::vector<Cron>& crons);

/// Errors, told apart by their reason: no version, newer version, unknown or duplicate tag, a
/// modifier where none may be, none where one must be, and what `Cron` refuses.
Result<std::vector<LevelEntry>> decode_levels(std::string_view text);
Result<std::vector<Cron>> decode_resets(std::string_view text);

}  // namespace stint::model

#endif  // STINT_MODEL_COMPACT_H_
