#include <chrono>
#include <utility>
#include <variant>

#include "limiter/dynamodb/connection.h"
#include "limiter/store_handle.h"
#include "schema/keys.h"
#include "stint/dynamodb.h"
#include "store/dynamodb/dynamodb_engine.h"
#include "store/dynamodb/wire.h"

namespace stint {
namespace {

// For the engine a missing table is a store that does not answer, which passes for a running
// program. Asked for after an opening has failed.
bool is_missing(const limiter::DynamoDbConnection& connection) {
  constexpr std::chrono::seconds kPatience{5};
  store::Key key = schema::version_key();
  store::GetRequest get(key, store::Consistency::kEventual);
  store::dynamodb::WireRequest request = store::dynamodb::write_request(&get, connection.table);
  store::dynamodb::CallResult result = connection.client->call(
      request.operation, std::move(request.body), store::dynamodb::effect_of(request),
      store::dynamodb::Steady::now() + kPatience);
  const auto* trouble = std::get_if<store::dynamodb::CallTrouble>(&result);
  return trouble != nullptr && trouble->service &&
         trouble->service->trouble == store::dynamodb::ServiceTrouble::kNoSuchTable;
}

}  // namespace

Result<Store> open_dynamodb(const DynamoDbOptions& dynamodb, const StoreOptions& options) {
  Result<limiter::DynamoDbConnection> connection = limiter::connect_dynamodb(dynamodb);
  if (!connection) return connection.error();
  std::shared_ptr<store::dynamodb::TableEngine> engine = store::dynamodb::make_table_engine(
      connection->http, connection->client, connection->table, connection->place());
  // A table is made by `create_table`: whoever mistypes a name must not find one begun.
  StoreOptions as_it_is = options;
  as_it_is.create_if_missing = false;
  Result<Store> store = limiter::open_store(engine, as_it_is);
  if (!store) {
    bool may_be_missing = store.error().code() == ErrorCode::kUnavailable;
    if (may_be_missing && is_missing(*connection)) return limiter::no_table(*connection);
    return store.error();
  }
  engine->set_layout(store->handle()->record.layout);
  return store;
}

}  // namespace stint
