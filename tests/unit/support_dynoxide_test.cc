// The DynamoDB server of the tests starts, stops, and says so when it is missing.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "tests/support/dynoxide.h"

namespace stint::test {
namespace {

bool takes_connections(std::uint16_t port) {
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool taken =
      connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  close(connection);
  return taken;
}

/// A variable of the environment, put back at the end.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    const char* former = std::getenv(name);
    if (former != nullptr) former_ = std::make_unique<std::string>(former);
    setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (former_) {
      setenv(name_, former_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::unique_ptr<std::string> former_;
};

TEST(Dynoxide, ServersDoNotMeet) {
  std::unique_ptr<Dynoxide> one = Dynoxide::start().value();
  const std::unique_ptr<Dynoxide> two = Dynoxide::start().value();
  EXPECT_NE(one->port(), two->port());
  EXPECT_EQ(one->endpoint(), "http://127.0.0.1:" + std::to_string(one->port()));
  EXPECT_TRUE(takes_connections(one->port()));
  EXPECT_TRUE(takes_connections(two->port()));

  const std::uint16_t port = one->port();
  one.reset();
  EXPECT_FALSE(takes_connections(port));
  EXPECT_TRUE(takes_connections(two->port()));
}

TEST(Dynoxide, MissingServerIsNamed) {
  const Variable named("STINT_DYNOXIDE", "/nonexistent/dynoxide");
  const Result<std::unique_ptr<Dynoxide>> started = Dynoxide::start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(started.error().reason(),
            "no DynamoDB server at /nonexistent/dynoxide: run scripts/fetch-dynoxide");
}

TEST(Dynoxide, ProgramThatIsNoServerIsReported) {
  const Variable named("STINT_DYNOXIDE", "/bin/false");
  const Result<std::unique_ptr<Dynoxide>> started = Dynoxide::start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().reason(), "the DynamoDB server /bin/false ended at once");
}

}  // namespace
}  // namespace stint::test
