#include <utility>

#include "limiter/dynamodb/connection.h"
#include "limiter/store_handle.h"
#include "stint/dynamodb.h"
#include "store/dynamodb/dynamodb_engine.h"

namespace stint {

Result<Store> open_dynamodb(const DynamoDbOptions& dynamodb, const StoreOptions& options) {
  Result<limiter::DynamoDbConnection> connection = limiter::connect_dynamodb(dynamodb);
  if (!connection) return connection.error();
  std::shared_ptr<store::dynamodb::TableEngine> engine = store::dynamodb::make_table_engine(
      connection->http, connection->client, connection->table, connection->place());
  // A table is made by `create_table`: whoever mistypes a name must not find one begun.
  StoreOptions as_it_is = options;
  as_it_is.create_if_missing = false;
  Result<Store> store = limiter::open_store(engine, as_it_is);
  if (!store) return store.error();
  engine->set_layout(store->handle()->record.layout);
  return store;
}

}  // namespace stint
