// The way to the service, made from a caller's options.
#ifndef STINT_LIMITER_DYNAMODB_CONNECTION_H_
#define STINT_LIMITER_DYNAMODB_CONNECTION_H_

#include <memory>
#include <string>

#include "stint/dynamodb.h"
#include "stint/result.h"
#include "store/dynamodb/client.h"
#include "store/dynamodb/credentials.h"
#include "store/dynamodb/http.h"
#include "store/engine.h"

namespace stint::limiter {

struct DynamoDbConnection {
  std::string table;
  std::string region;
  /// "https://host[:port][/path]": what requests are sent to.
  std::string endpoint;
  /// The same without the path, which may be a secret: what is shown.
  std::string origin;
  /// Whether the endpoint was named rather than being the service's own for the region.
  bool own_endpoint = false;
  std::shared_ptr<store::dynamodb::HttpClient> http;
  std::shared_ptr<store::dynamodb::CredentialProvider> credentials;
  std::shared_ptr<store::dynamodb::Client> client;

  /// "table limits in eu-central-1", with the origin of an endpoint that was named; for people.
  std::string place() const;
};

/// Settles table, region and endpoint and starts the client's thread; sends nothing. Errors:
/// `kInvalidArgument` with the field of the option that is wrong, or naming a line of the
/// configuration files; `kUnavailable` when the client cannot be set up.
Result<DynamoDbConnection> connect_dynamodb(const DynamoDbOptions& options,
                                            const store::dynamodb::Surroundings& surroundings =
                                                store::dynamodb::Surroundings::of_process());

/// `kNotFound`, saying where the table was looked for: mostly that is the wrong region.
Error no_table(const DynamoDbConnection& connection);

TableLayout table_layout(store::IndexLayout layout);
store::IndexLayout index_layout(TableLayout layout);

}  // namespace stint::limiter

#endif  // STINT_LIMITER_DYNAMODB_CONNECTION_H_
