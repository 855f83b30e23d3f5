// The life of a table: making it, completing it, removing it, and waiting for the service.
#ifndef STINT_STORE_DYNAMODB_TABLE_H_
#define STINT_STORE_DYNAMODB_TABLE_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "stint/result.h"
#include "store/dynamodb/client.h"
#include "store/dynamodb/table_definition.h"

namespace stint::store::dynamodb {

/// How waiting is done: a seam for tests.
struct Pace {
  std::function<Steady::time_point()> now;
  /// Returns not before that time. Not to be called on the client's thread.
  std::function<void(Steady::time_point)> wait_until;
};
/// Waits by the timers of an HTTP client, which it keeps alive.
Pace timer_pace(std::shared_ptr<HttpClient> http);

/// What every task with a table needs. `table` satisfies `check_table_name`.
struct TableTask {
  Client& client;
  std::string table;
  Steady::time_point deadline;
  Pace pace;
  /// Told what is being waited for. May be empty.
  std::function<void(std::string_view state)> progress;
};

/// Why a call failed, one sentence for people. `table` is named where there is none of that name.
std::string text_of(const CallTrouble& trouble, std::string_view table);

/// The error of a call about a table that failed, `doing` being what was done: "describing the
/// table". `kNotFound` without the table, `kAccessDenied`, `kThrottled`, `kConflict` while the
/// table is being changed, `kOutcomeUnknown` for a write that may have been applied, otherwise
/// `kUnavailable`.
Error error_of(const CallTrouble& trouble, std::string_view table, std::string_view doing);

/// One request each. Errors: those of `error_of`, and `kCorrupt` for an answer not understood.
Result<TableState> describe(const TableTask& task);
Result<ExpiryState> describe_expiry(const TableTask& task);

/// Makes the table, or mends what can be mended of one that exists (a missing index, the stream,
/// expiry), and waits until table and indexes are active; not for the service to act upon expiry,
/// which may take an hour and which no limiter relies on. True when anything was made or changed.
/// Safe to repeat after any error. Errors: those of `error_of`; `kConflict` for a table of another
/// definition or one that is being deleted; `kUnavailable` when the deadline passes.
Result<bool> complete_table(const TableTask& task, IndexLayout layout,
                            std::string_view expiry_attribute);

/// Deletes the table and waits until it is gone. Errors: those of `error_of`; `kUnavailable` when
/// the deadline passes.
Status remove_table(const TableTask& task);

}  // namespace stint::store::dynamodb

#endif  // STINT_STORE_DYNAMODB_TABLE_H_
