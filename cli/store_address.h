// What --store names.
#ifndef STINT_CLI_STORE_ADDRESS_H_
#define STINT_CLI_STORE_ADDRESS_H_

#include <string>
#include <string_view>
#include <variant>

#include "stint/dynamodb.h"
#include "stint/result.h"

namespace stint::cli {

/// A store that is gone when the command ends.
struct InMemory {};

struct Directory {
  std::string path;
};

/// Where a store is kept. A table is given by its table, region, endpoint and profile alone.
using StoreAddress = std::variant<InMemory, Directory, DynamoDbOptions>;

/// Reads `memory:`, `dynamodb://TABLE?region=R&endpoint=URL&profile=P`, or the path of a directory.
/// Parameters may be left out and stand in any order; `%XX` in the table's name and in values is
/// the byte of that number. Whether there is such a store is not looked at. Errors:
/// `kInvalidArgument` (field `store`), also for parameters that are unknown or given twice.
Result<StoreAddress> parse_store_address(std::string_view text);

}  // namespace stint::cli

#endif  // STINT_CLI_STORE_ADDRESS_H_
