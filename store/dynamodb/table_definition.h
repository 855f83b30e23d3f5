// The table that a limiter needs, as requests to the service and compared with its answers. Pure
// functions: no connection, no clock.
#ifndef STINT_STORE_DYNAMODB_TABLE_DEFINITION_H_
#define STINT_STORE_DYNAMODB_TABLE_DEFINITION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stint/result.h"
#include "store/engine.h"

namespace stint::store::dynamodb {

/// Errors: `kInvalidArgument` (field `table`) for what the service takes for no name of a table: 3
/// to 255 letters, digits, `_`, `-` and `.`.
Status check_table_name(std::string_view table);

// Bodies of requests. Precondition: the name satisfies `check_table_name`.

/// CreateTable: keys, four global indexes, five local ones that are reserved, billed by request,
/// with a stream of old and new images (rules 1.1).
///
/// Where the other package shares the table, GSI1 and GSI2 project all attributes. A table for
/// stint alone keeps keys only in them: the service charges every index that carries a changed
/// attribute, so that a debit costs one unit in place of two; and an index partition, too, takes
/// 1,000 units a second, which every debit of one resource would share in GSI2 (decision 23).
std::string create_table_body(std::string_view table, IndexLayout layout);
/// DescribeTable, DeleteTable and DescribeTimeToLive.
std::string table_name_body(std::string_view table);
/// UpdateTimeToLive: items expire by this attribute, in seconds since 1970.
std::string enable_expiry_body(std::string_view table, std::string_view attribute);
/// UpdateTable, which switches the stream on.
std::string enable_stream_body(std::string_view table);
/// UpdateTable, which adds GSI`number`, 1 to 4. The service adds one at a time.
std::string create_index_body(std::string_view table, IndexLayout layout, int number);

/// The name of a global index, 1 to 4: "GSI1".
std::string index_name(int number);

struct TableIndex {
  std::string name;
  bool local = false;
  std::string hash;
  std::string range;
  std::string projection;  ///< "ALL", "KEYS_ONLY", "INCLUDE"
  std::string status;      ///< Empty for local ones.
};

/// What the service says of a table.
struct TableState {
  std::string name;
  std::string arn;
  std::string status;  ///< "CREATING", "ACTIVE", "UPDATING", "DELETING", ...
  std::string billing = "PROVISIONED";
  std::int64_t item_count = 0;
  std::int64_t size_bytes = 0;
  std::string hash;
  std::string range;
  /// "S", "N" or "B" of every attribute that is part of a key.
  std::map<std::string, std::string, std::less<>> key_types;
  std::vector<TableIndex> indexes;  ///< As listed, global ones first.
  std::string stream_view;          ///< "NEW_AND_OLD_IMAGES", ...; empty: no stream.

  const TableIndex* index(std::string_view wanted) const;
};
/// Reads the reply to DescribeTable, CreateTable, UpdateTable or DeleteTable. Errors: `kCorrupt`.
Result<TableState> read_table(std::string_view body);

/// What the service says of the expiry of items.
struct ExpiryState {
  std::string status = "DISABLED";  ///< "ENABLING", "ENABLED", "DISABLING", "DISABLED"
  std::string attribute;

  /// Also while it is being switched on, which may take the service an hour.
  bool enabled() const { return status == "ENABLED" || status == "ENABLING"; }
};
/// Reads the reply to DescribeTimeToLive. Errors: `kCorrupt`.
Result<ExpiryState> read_expiry(std::string_view body);

/// In what a table differs from the one that a limiter needs.
enum class TableFlaw : std::uint8_t {
  kKeys,
  kIndexMissing,
  kIndexDiffers,
  kStreamOff,
  kStreamDiffers,
  kExpiryOff,
  kExpiryDiffers,
};
/// Whether it can be mended on a table that exists.
bool mendable(TableFlaw flaw);

struct TableProblem {
  TableFlaw flaw;
  int index = 0;     ///< The global index that it is about, 1 to 4.
  std::string text;  ///< One sentence without a full stop.
};

/// The layout that GSI1 and GSI2 show; of one alone where the other is missing. Nothing where they
/// fit neither.
std::optional<IndexLayout> layout_of(const TableState& table);

/// Compares with the definition of `layout`, or of whichever the table shows. The local indexes are
/// not looked at: they are reserved, and nothing reads them. Nor are states of transition: a table
/// or an index that is being created counts as there.
std::vector<TableProblem> find_problems(const TableState& table, const ExpiryState& expiry,
                                        std::string_view expiry_attribute,
                                        std::optional<IndexLayout> layout = std::nullopt);

/// The first thing that is not active yet, for people: "table CREATING", "index GSI1 CREATING";
/// empty when all is.
std::string not_active_yet(const TableState& table);

}  // namespace stint::store::dynamodb

#endif  // STINT_STORE_DYNAMODB_TABLE_DEFINITION_H_
