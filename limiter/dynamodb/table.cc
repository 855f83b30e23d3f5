// The life of tables: create_table, describe_table, delete_table.
#include "store/dynamodb/table.h"

#include <chrono>
#include <utility>

#include "limiter/dynamodb/connection.h"
#include "limiter/store_handle.h"
#include "schema/attributes.h"
#include "schema/records.h"
#include "stint/dynamodb.h"
#include "store/dynamodb/dynamodb_engine.h"

namespace stint {
namespace {

namespace dynamodb = store::dynamodb;

constexpr std::chrono::seconds kDescribeTimeout{10};

dynamodb::TableTask task_of(const limiter::DynamoDbConnection& connection,
                            std::chrono::milliseconds timeout, const TableProgress& progress = {}) {
  return {*connection.client, connection.table, dynamodb::Steady::now() + timeout,
          dynamodb::timer_pace(connection.http), progress};
}

Error with_place(const Error& error, const limiter::DynamoDbConnection& connection) {
  return error.code() == ErrorCode::kNotFound ? limiter::no_table(connection) : error;
}

Result<TableDescription> description_of(const dynamodb::TableTask& task) {
  Result<dynamodb::TableState> table = dynamodb::describe(task);
  if (!table) return table.error();
  Result<dynamodb::ExpiryState> expiry = dynamodb::describe_expiry(task);
  if (!expiry) return expiry.error();

  TableDescription description;
  description.name = table->name;
  description.arn = table->arn;
  description.status = table->status;
  description.billing = table->billing;
  if (std::optional<store::IndexLayout> layout = dynamodb::layout_of(*table)) {
    description.layout = limiter::table_layout(*layout);
  }
  description.item_count = table->item_count;
  description.size_bytes = table->size_bytes;
  for (const dynamodb::TableIndex& index : table->indexes) {
    description.indexes.push_back({index.name, index.status, index.projection});
  }
  description.ttl_enabled = expiry->enabled();
  if (expiry->enabled()) description.ttl_attribute = expiry->attribute;
  description.stream_view = table->stream_view;
  for (dynamodb::TableProblem& problem :
       dynamodb::find_problems(*table, *expiry, store::name_of(schema::kExpiryAttr))) {
    description.problems.push_back(std::move(problem.text));
  }
  return description;
}

// Writes the records by which programs know the table, where there are none. True when they were
// missing. Errors: `kConflict` for records that say another layout; those of opening a store.
Result<bool> complete_records(const limiter::DynamoDbConnection& connection,
                              store::IndexLayout layout, StoreOptions options) {
  auto engine = dynamodb::make_table_engine(connection.http, connection.client, connection.table,
                                            connection.place());
  engine->set_layout(layout);
  options.create_if_missing = false;
  Result<Store> store = limiter::open_store(engine, options);
  // One of the two may be gone, which is corrupt until it is written.
  bool missing = !store && (store.error().code() == ErrorCode::kNotFound ||
                            store.error().code() == ErrorCode::kCorrupt);
  if (missing) {
    options.create_if_missing = true;
    store = limiter::open_store(engine, options);
  }
  if (!store) return store.error();
  store::IndexLayout recorded = store->handle()->record.layout;
  if (recorded != layout) {
    return Error(ErrorCode::kConflict, "the store's record in the table says the layout " +
                                           std::string(schema::to_string(recorded)));
  }
  return missing;
}

}  // namespace

std::string_view to_string(TableLayout layout) {
  return schema::to_string(limiter::index_layout(layout));
}

Result<TableLayout> parse_table_layout(std::string_view text) {
  for (TableLayout known : {TableLayout::kCompatible, TableLayout::kLean}) {
    if (text == to_string(known)) return known;
  }
  return Error::invalid("layout", text, "must be compatible or lean");
}

Result<TableDescription> create_table(const DynamoDbOptions& options, TableLayout layout,
                                      const StoreOptions& store_options,
                                      const TableProgress& progress, Millis timeout) {
  Result<limiter::DynamoDbConnection> connection = limiter::connect_dynamodb(options);
  if (!connection) return connection.error();
  dynamodb::TableTask task = task_of(*connection, timeout, progress);
  Result<bool> changed = dynamodb::complete_table(task, limiter::index_layout(layout),
                                                  store::name_of(schema::kExpiryAttr));
  if (!changed) return changed.error();
  if (progress && *changed) progress("writing the records of the store");
  Result<bool> recorded =
      complete_records(*connection, limiter::index_layout(layout), store_options);
  if (!recorded) return recorded.error();
  if (!*changed && !*recorded) {
    return Error(ErrorCode::kExists, "the " + connection->place() + " exists and is whole");
  }
  return description_of(task);
}

Result<TableDescription> describe_table(const DynamoDbOptions& options) {
  Result<limiter::DynamoDbConnection> connection = limiter::connect_dynamodb(options);
  if (!connection) return connection.error();
  Result<TableDescription> description = description_of(task_of(*connection, kDescribeTimeout));
  if (!description) return with_place(description.error(), *connection);
  return description;
}

Status delete_table(const DynamoDbOptions& options, const TableProgress& progress, Millis timeout) {
  Result<limiter::DynamoDbConnection> connection = limiter::connect_dynamodb(options);
  if (!connection) return connection.error();
  Status removed = dynamodb::remove_table(task_of(*connection, timeout, progress));
  if (!removed) return with_place(removed.error(), *connection);
  return removed;
}

}  // namespace stint
