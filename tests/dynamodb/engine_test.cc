// What the engine makes of what its client meets.
#include <gtest/gtest.h>

#include <array>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "schema/keys.h"
#include "store/dynamodb/dynamodb_engine.h"
#include "store/reply.h"
#include "tests/dynamodb/credential_world.h"
#include "tests/support/scripted_server.h"

namespace stint::store::dynamodb {
namespace {

using test::CredentialWorld;
using test::ScriptedServer;
using test::Step;

// So long that no test gets there.
constexpr auto kNever = std::chrono::minutes(10);

std::shared_ptr<TableEngine> engine_of(const std::shared_ptr<HttpClient>& http,
                                       CredentialWorld& world, const std::string& endpoint,
                                       CredentialOptions credentials = {}) {
  ClientOptions options;
  options.region = "eu-central-1";
  options.endpoint = endpoint;
  std::shared_ptr<Client> client = make_client(
      http, standard_credentials(http, std::move(credentials), world.surroundings()), options);
  return make_table_engine(http, std::move(client), "limits", "table limits");
}

TEST(TableEngine, AWriteWhoseReplyCannotBeReadIsCounted) {
  ScriptedServer server(std::vector<Step>{Step::reply(200, "{cut}")});
  CredentialWorld world;
  CredentialOptions keys;
  keys.fixed = Credentials{"AKID", "secret", "", std::nullopt, "the test"};
  std::shared_ptr<TableEngine> engine =
      engine_of(make_http_client().value(), world, server.url(), keys);
  const Key key = schema::version_key();

  GetRequest get(key, Consistency::kStrong);
  std::array<Call, 1> read = {Call{&get, {}}};
  engine->execute_until(read, Steady::now() + kNever);
  EXPECT_EQ(std::get<GetReply>(read[0].reply).outcome, Outcome::kUnavailable);
  EXPECT_EQ(engine->transport_stats()->unknown, 0u);

  DeleteRequest remove(key, nullptr);
  std::array<Call, 1> write = {Call{&remove, {}}};
  engine->execute_until(write, Steady::now() + kNever);
  EXPECT_EQ(std::get<WriteReply>(write[0].reply).outcome, Outcome::kUnknown);
  EXPECT_EQ(engine->transport_stats()->unknown, 1u);
}

/// Tells whether the thread that it is called on may block.
class AskingWhetherItMayBlock final : public Completion {
 public:
  explicit AskingWhetherItMayBlock(Engine& engine) : engine_(engine) {}
  void answered() noexcept override { answer_.set_value(engine_.may_block()); }
  bool answer() { return answer_.get_future().get(); }

 private:
  Engine& engine_;
  std::promise<bool> answer_;
};

// Whoever blocked there would wait for credentials that the blocked thread is to fetch.
TEST(TableEngine, TheThreadOfTheCredentialsMayNotBlock) {
  CredentialWorld world;  // Without any.
  std::shared_ptr<TableEngine> engine = engine_of(world.http(), world, "http://127.0.0.1:1");
  const Key key = schema::version_key();
  GetRequest get(key, Consistency::kStrong);
  std::array<Call, 1> calls = {Call{&get, {}}};
  AskingWhetherItMayBlock completion(*engine);
  engine->start(calls, Steady::now() + kNever, completion);
  EXPECT_FALSE(completion.answer());
  EXPECT_TRUE(engine->may_block());
  EXPECT_EQ(std::get<GetReply>(calls[0].reply).outcome, Outcome::kDenied);
}

}  // namespace
}  // namespace stint::store::dynamodb
