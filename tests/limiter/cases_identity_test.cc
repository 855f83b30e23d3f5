// Cases from public reports: keys and identity (cases.md).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/limiter/support.h"

namespace stint::test {
namespace {

class IdentityCases : public LimiterTest {
 protected:
  IdentityCases() { limiter->set_limits(Scope::system(), {Limit::session("s", 10, 1h)}).value(); }
};
STINT_ON_EVERY_STORE(IdentityCases);

TEST_P(IdentityCases, P82_IdsAreDistinctOrRefused) {
  std::vector<std::string> accepted = {"2001:db8::1", "2001:db8:", "2001:db8", "a:b", "a.b",
                                       "a-b",         "a_b",       "a@b",      "A:B", "a:b:"};
  for (const std::string& id : accepted) {
    EXPECT_TRUE(admits({{"s", 10}}, id)) << id;
    EXPECT_FALSE(admits({{"s", 1}}, id)) << id;
  }
  std::vector<std::string> refused = {"a#b",
                                      "a/b",
                                      "a b",
                                      "a%b",
                                      "a\nb",
                                      std::string("a\0b", 3),
                                      "\xF0\x9F\x98\x80",
                                      "caf\xC3\xA9",
                                      "cafe\xCC\x81",
                                      "",
                                      ":a"};
  for (const std::string& id : refused) {
    Result<Decision> result = try_acquire({{"s", 1}}, id);
    ASSERT_FALSE(result) << id;
    EXPECT_EQ(result.error().code(), ErrorCode::kInvalidArgument) << id;
    EXPECT_EQ(result.error().field(), "entity");
    EXPECT_EQ(limiter->available(id, kApi).error().code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(limiter->create_entity(id).error().code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(limiter->set_limits(id, kApi, {Limit::per_minute("r", 1)}).error().code(),
              ErrorCode::kInvalidArgument);
  }
}

TEST_P(IdentityCases, P82_AnEmptyNameMeansNoOtherScope) {
  for (const Scope& scope : {Scope::entity(""), Scope::entity_resource("", kApi),
                             Scope::entity_resource(kUser, ""), Scope::resource("")}) {
    Result<LimitsChange> set = limiter->set_limits(scope, {Limit::session("s", 1, 1h)});
    ASSERT_FALSE(set);
    EXPECT_EQ(set.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(limiter->delete_limits(scope).error().code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(limiter->get_limits(scope).error().code(), ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(left("s"), 10);
}

TEST_P(IdentityCases, P83_AKilobyteIsRefusedNotCut) {
  std::string longest(256, 'x');
  EXPECT_TRUE(admits({{"s", 10}}, longest));
  for (std::size_t length : {257u, 1024u}) {
    Result<Decision> result = try_acquire({{"s", 1}}, std::string(length, 'x'));
    ASSERT_FALSE(result) << length;
    EXPECT_EQ(result.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_LE(result.error().value().size(), 50u);
  }
  EXPECT_TRUE(admits({{"s", 10}}, std::string(255, 'x')));
}

TEST_P(IdentityCases, P85_IdsThatBeginAlikeAreDistinct) {
  std::string common(64, 'k');
  EXPECT_TRUE(admits({{"s", 10}}, common));
  EXPECT_TRUE(admits({{"s", 10}}, common + "1"));
  EXPECT_TRUE(admits({{"s", 10}}, common + "2"));
  EXPECT_FALSE(admits({{"s", 1}}, common));
}

TEST_P(IdentityCases, P86_UnknownIdsGetTheDefaultInBoundedMemory) {
  LimiterOptions small = options();
  small.max_views = 64;
  use(small);
  // More ids than views: what falls out of memory is neither lost nor restored.
  constexpr int kIds = 2'000;
  for (int i = 0; i < kIds; ++i) ASSERT_TRUE(admits({{"s", 7}}, "id" + std::to_string(i)));
  for (int i = 0; i < kIds; ++i) {
    ASSERT_FALSE(admits({{"s", 4}}, "id" + std::to_string(i))) << i;
  }
  // Buckets of ids without configuration of their own are given up after a while.
  EXPECT_TRUE(bucket("id0")->number(store::intern("ttl")));
}

TEST_P(IdentityCases, P89_NamespacesDoNotShareCounters) {
  LimiterOptions elsewhere = options();
  elsewhere.name_space = "elsewhere";
  Limiter other = another_limiter(elsewhere);
  other.set_limits(Scope::system(), {Limit::session("s", 10, 1h)}).value();
  EXPECT_TRUE(admits({{"s", 10}}));
  EXPECT_TRUE(other.acquire({.entity = kUser, .resource = kApi, .consume = {{"s", 10}}}).value());
  EXPECT_FALSE(admits({{"s", 1}}));
}

TEST_P(IdentityCases, P116_APairIsOneUnambiguousKey) {
  EXPECT_TRUE(admits({{"s", 10}}, "alice@10.0.0.1"));
  EXPECT_TRUE(admits({{"s", 10}}, "alice@10.0.0.12"));
  EXPECT_TRUE(admits({{"s", 10}}, "alice:10.0.0.1"));
  // Entity and resource are apart, too: neither can be spelled into the other.
  auto by_resource = [&](const std::string& entity, const std::string& resource) {
    return static_cast<bool>(
        limiter->acquire({.entity = entity, .resource = resource, .consume = {{"s", 10}}}).value());
  };
  EXPECT_TRUE(by_resource("a", "b/c"));
  EXPECT_TRUE(by_resource("a", "b:c"));
  EXPECT_TRUE(by_resource("a:b", "c"));
  EXPECT_TRUE(by_resource("a", "b"));
  EXPECT_FALSE(by_resource("a", "b"));
}

}  // namespace
}  // namespace stint::test
