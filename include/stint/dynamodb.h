// Stores on DynamoDB, and the life of their tables. Needs the component `dynamodb`.
#ifndef STINT_DYNAMODB_H_
#define STINT_DYNAMODB_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stint/export.h"
#include "stint/result.h"
#include "stint/store.h"
#include "stint/time.h"

namespace stint {

/// Keys given by the program itself, in place of the standard sources.
struct AccessKeys {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;  ///< Empty: none.
};

/// Which table, and how it is reached. What is left empty comes from the standard places: the
/// variables AWS_REGION, AWS_PROFILE, AWS_ENDPOINT_URL_DYNAMODB and so on, and the files `config`
/// and `credentials`.
struct DynamoDbOptions {
  std::string table;
  std::string region;
  /// "http://127.0.0.1:8000" for a server of one's own; empty: the service.
  std::string endpoint;
  std::string profile;
  /// Absent: environment, files, token service, container, instance, in the standard order.
  std::optional<AccessKeys> keys;
  /// A file of certificate authorities in place of the system's.
  std::string ca_file;
  /// For making a connection, which the next bounds too, except where credentials are fetched; up
  /// to ten minutes, as the next.
  std::chrono::milliseconds connect_timeout{3'000};
  /// Longest time for one attempt at a request, connecting included; the deadline of the call
  /// counts too, of which a write may take two thirds at most.
  std::chrono::milliseconds attempt_timeout{2'000};
  /// Connections in use and kept open at most; 1 to 4096.
  std::size_t max_connections = 64;
};

/// What the secondary indexes of a table project.
enum class TableLayout {
  kCompatible,  ///< As the Python package zae-limiter has it: both programs can share the table.
  kLean,        ///< Keys only, which saves a write unit of each debit; for stint alone.
};
/// "compatible" or "lean".
STINT_EXPORT std::string_view to_string(TableLayout layout);
/// The other way round. Errors: `kInvalidArgument`.
STINT_EXPORT Result<TableLayout> parse_table_layout(std::string_view text);

/// Opens a table that exists. A table without stint's own record is one of the Python package:
/// layout `compatible`. One thread of its own does the exchanges. Errors: `kNotFound` when there is
/// no such table, and for one that has neither a record of stint nor of the package;
/// `kAccessDenied` without credentials and for those that the service refuses; `kVersionMismatch`
/// when it demands a newer client, has an older stream consumer, or is kept otherwise than
/// `options` say; `kCorrupt` for records that cannot be understood, or when the version record
/// alone is gone; `kThrottled`; `kUnavailable`, also when nothing is heard for ten seconds;
/// `kInvalidArgument`. Two requests sent together.
STINT_EXPORT Result<Store> open_dynamodb(const DynamoDbOptions& dynamodb,
                                         const StoreOptions& options = {});

/// Told while a table is made or removed: what is being waited for. May be empty.
using TableProgress = std::function<void(std::string_view state)>;

struct TableDescription {
  std::string name;
  std::string arn;
  std::string status;                 ///< "ACTIVE", "CREATING", ...
  std::string billing;                ///< "PAY_PER_REQUEST" or "PROVISIONED"
  std::optional<TableLayout> layout;  ///< Absent where the indexes fit neither.
  std::int64_t item_count = 0;        ///< The service counts every few hours.
  std::int64_t size_bytes = 0;
  struct Index {
    std::string name;
    std::string status;
    std::string projection;  ///< "ALL" or "KEYS_ONLY"
  };
  std::vector<Index> indexes;
  std::string ttl_attribute;  ///< Empty: expired items are never removed.
  bool ttl_enabled = false;
  std::string stream_view;  ///< "NEW_AND_OLD_IMAGES", ...; empty: no stream.
  /// What differs from the definition that a limiter needs, one sentence each; empty: nothing.
  std::vector<std::string> problems;
};

/// Creates the table with its indexes, expiry and stream, waits until table and indexes are active
/// (expiry may take the service an hour, and no limiter waits for it), and writes the records by
/// which programs know it. What exists of a table that was begun is completed; a table of the
/// Python package stays one. Safe to repeat after any error. No namespace is registered: its first
/// use does that. Errors: `kExists` for a table that is whole; `kConflict` for one of another
/// definition, or that is being deleted; `kVersionMismatch` as `open_dynamodb`; `kNotFound` when
/// somebody deletes it meanwhile; `kAccessDenied`; `kThrottled`; `kCorrupt` for an answer or a
/// record that is not understood; `kInvalidArgument`; `kUnavailable`, also when `timeout` passes.
STINT_EXPORT Result<TableDescription> create_table(const DynamoDbOptions& dynamodb,
                                                   TableLayout layout,
                                                   const StoreOptions& options = {},
                                                   const TableProgress& progress = {},
                                                   Millis timeout = Millis(600'000));

/// Errors: `kNotFound`, `kAccessDenied`, `kThrottled`, `kInvalidArgument`; `kCorrupt` for an answer
/// that is not understood; `kUnavailable`, also after ten seconds. Two requests.
STINT_EXPORT Result<TableDescription> describe_table(const DynamoDbOptions& dynamodb);

/// Deletes the table and waits until it is gone; one that is being changed is deleted afterwards.
/// Safe to repeat: `kNotFound` says that it was gone before. Errors: those of `describe_table`;
/// `kUnavailable` also when `timeout` passes.
STINT_EXPORT Status delete_table(const DynamoDbOptions& dynamodb,
                                 const TableProgress& progress = {},
                                 Millis timeout = Millis(600'000));

/// One question of `diagnose_dynamodb` and its answer.
struct Diagnosis {
  enum class Verdict { kGood, kWarning, kBad, kSkipped };
  std::string question;  ///< "credentials", "region", "clock", "table", ...
  Verdict verdict = Verdict::kGood;
  std::string finding;  ///< One line.
  std::string remedy;   ///< One line; empty when all is well.
};

/// Looks at everything that a limiter needs of a table: credentials, region and endpoint, clock,
/// table, indexes, expiry, stream, version, namespaces and permissions, in turn. Writes nothing but
/// one item of its own, removed at once, to see whether it may. Never fails: trouble is a verdict.
STINT_EXPORT std::vector<Diagnosis> diagnose_dynamodb(const DynamoDbOptions& dynamodb);

}  // namespace stint

#endif  // STINT_DYNAMODB_H_
