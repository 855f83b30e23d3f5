// The engine for one table of DynamoDB.
#ifndef STINT_STORE_DYNAMODB_DYNAMODB_ENGINE_H_
#define STINT_STORE_DYNAMODB_DYNAMODB_ENGINE_H_

#include <memory>
#include <string>

#include "store/dynamodb/client.h"
#include "store/dynamodb/http.h"
#include "store/engine.h"

namespace stint::store::dynamodb {

/// Thread-safe but for `set_layout`.
class TableEngine : public Engine {
 public:
  /// What the table's record says about its indexes; before that they count as `kCompatible`. To
  /// be called before the engine is shared.
  virtual void set_layout(IndexLayout layout) = 0;
};

/// `location` is what `EngineState` is to say. `http` is what `client` sends by.
std::shared_ptr<TableEngine> make_table_engine(std::shared_ptr<HttpClient> http,
                                               std::shared_ptr<Client> client, std::string table,
                                               std::string location);

}  // namespace stint::store::dynamodb

#endif  // STINT_STORE_DYNAMODB_DYNAMODB_ENGINE_H_
