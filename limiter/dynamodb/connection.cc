#include "limiter/dynamodb/connection.h"

#include <chrono>
#include <utility>

#include "store/dynamodb/table_definition.h"
#include "store/dynamodb/url.h"

namespace stint::limiter {
namespace {

namespace dynamodb = store::dynamodb;

Status check_ranges(const DynamoDbOptions& options) {
  constexpr std::size_t kMostConnections = 4096;
  constexpr std::chrono::milliseconds kLongest = std::chrono::minutes(10);
  for (const auto& [field, time] : {std::pair("connect_timeout", options.connect_timeout),
                                    std::pair("attempt_timeout", options.attempt_timeout)}) {
    if (time <= std::chrono::milliseconds(0) || time > kLongest) {
      return Error::invalid(field, std::to_string(time.count()) + " ms",
                            "must be from 1 ms to 10 minutes");
    }
  }
  if (options.max_connections < 1 || options.max_connections > kMostConnections) {
    return Error::invalid("max_connections", std::to_string(options.max_connections),
                          "must be from 1 to 4096");
  }
  return {};
}

}  // namespace

std::string DynamoDbConnection::place() const {
  std::string text = "table " + table + " in " + region;
  if (own_endpoint) text += " at " + origin;
  return text;
}

Result<DynamoDbConnection> connect_dynamodb(const DynamoDbOptions& options,
                                            const dynamodb::Surroundings& surroundings) {
  if (Status named = dynamodb::check_table_name(options.table); !named) return named.error();
  if (Status fitting = check_ranges(options); !fitting) return fitting.error();
  Result<dynamodb::Location> location = dynamodb::standard_location(surroundings, options.profile);
  if (!location) return location.error();

  DynamoDbConnection connection;
  connection.table = options.table;
  connection.region = options.region.empty() ? location->region : options.region;
  if (connection.region.empty()) {
    return Error::invalid("region", "",
                          "none is named: add region=REGION to the table's address, set "
                          "AWS_REGION, or name one in the profile");
  }
  if (!dynamodb::is_region_name(connection.region)) {
    return Error::invalid("region", connection.region, "is no name of a region");
  }
  std::string endpoint = options.endpoint.empty() ? location->endpoint : options.endpoint;
  connection.own_endpoint = !endpoint.empty();
  if (!connection.own_endpoint) {
    endpoint = dynamodb::service_endpoint("dynamodb", connection.region);
  }
  Result<dynamodb::Url> url = dynamodb::parse_endpoint(endpoint);
  // Without the text, which may hold a password.
  if (!url) return Error::invalid("endpoint", "", "cannot be used: " + url.error().reason());
  connection.endpoint = url->base();
  connection.origin = url->origin();

  dynamodb::HttpOptions http_options;
  http_options.connect_timeout = options.connect_timeout;
  http_options.max_connections = options.max_connections;
  http_options.ca_file = options.ca_file;
  Result<std::shared_ptr<dynamodb::HttpClient>> http = dynamodb::make_http_client(http_options);
  if (!http) return http.error();
  connection.http = *std::move(http);

  dynamodb::CredentialOptions credentials;
  credentials.profile = options.profile;
  credentials.region = connection.region;
  if (options.keys) {
    credentials.fixed.emplace();
    credentials.fixed->access_key_id = options.keys->access_key_id;
    credentials.fixed->secret_access_key = options.keys->secret_access_key;
    credentials.fixed->session_token = options.keys->session_token;
    credentials.fixed->source = "the program";
  }
  connection.credentials =
      dynamodb::standard_credentials(connection.http, std::move(credentials), surroundings);

  dynamodb::ClientOptions client;
  client.region = connection.region;
  client.endpoint = connection.endpoint;
  client.attempt_timeout = options.attempt_timeout;
  connection.client = dynamodb::make_client(connection.http, connection.credentials, client);
  return connection;
}

Error no_table(const DynamoDbConnection& connection) {
  return Error(ErrorCode::kNotFound, "there is no " + connection.place());
}

TableLayout table_layout(store::IndexLayout layout) {
  return layout == store::IndexLayout::kCompatible ? TableLayout::kCompatible : TableLayout::kLean;
}

store::IndexLayout index_layout(TableLayout layout) {
  return layout == TableLayout::kCompatible ? store::IndexLayout::kCompatible
                                            : store::IndexLayout::kKeysOnly;
}

}  // namespace stint::limiter
