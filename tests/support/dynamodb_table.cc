#include "tests/support/dynamodb_table.h"

#include <atomic>
#include <chrono>
#include <utility>

#include "limiter/dynamodb/connection.h"
#include "schema/attributes.h"
#include "store/attribute.h"
#include "store/dynamodb/table.h"
#include "tests/support/dynoxide.h"

namespace stint::test {

DynamoDbOptions server_options(const std::string& table) {
  DynamoDbOptions options;
  options.table = table;
  options.region = "eu-west-1";
  options.endpoint = Dynoxide::shared().endpoint();
  options.keys = AccessKeys{"AKIDTEST", "test", ""};
  return options;
}

std::string new_table_name() {
  static std::atomic<int> made{0};
  return "table-" + std::to_string(++made);
}

std::shared_ptr<store::dynamodb::TableEngine> new_table(store::IndexLayout layout) {
  using namespace store::dynamodb;
  std::string name = new_table_name();
  // One for all tables: they share its thread and its connections.
  static limiter::DynamoDbConnection connection =
      limiter::connect_dynamodb(server_options(name)).value();
  TableTask task{*connection.client,
                 name,
                 Steady::now() + std::chrono::seconds(20),
                 timer_pace(connection.http),
                 {}};
  complete_table(task, layout, store::name_of(schema::kExpiryAttr)).value();
  std::shared_ptr<TableEngine> engine =
      make_table_engine(connection.http, connection.client, name, connection.place());
  engine->set_layout(layout);
  return engine;
}

}  // namespace stint::test
