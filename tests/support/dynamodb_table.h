// Fresh tables on the DynamoDB server of the tests.
#ifndef STINT_TESTS_SUPPORT_DYNAMODB_TABLE_H_
#define STINT_TESTS_SUPPORT_DYNAMODB_TABLE_H_

#include <memory>
#include <string>

#include "stint/dynamodb.h"
#include "store/dynamodb/dynamodb_engine.h"
#include "store/engine.h"

namespace stint::test {

/// How a table of that name on the shared server is reached.
DynamoDbOptions server_options(const std::string& table);

/// A name that no other table of this program has.
std::string new_table_name();

/// The engine of a new table without any items, not even the store's record.
std::shared_ptr<store::dynamodb::TableEngine> new_table(store::IndexLayout layout);

}  // namespace stint::test

#endif  // STINT_TESTS_SUPPORT_DYNAMODB_TABLE_H_
