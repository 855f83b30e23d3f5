// From records to requests.
#include "cli/replay/request_reader.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "stint/amount.h"

namespace stint::cli {
namespace {

using Outcome = RequestReader::Outcome;

struct Read {
  Traffic traffic;
  std::vector<std::pair<std::uint64_t, std::string>> skipped;
};

Read read_all(RequestRules rules, const std::string& text) {
  TextSource source(text);
  std::unique_ptr<RequestReader> reader = RequestReader::open(std::move(rules), source).value();
  Read read;
  while (true) {
    switch (reader->next(read.traffic)) {
      case Outcome::kRequest: break;
      case Outcome::kSkipped: read.skipped.emplace_back(reader->line(), reader->problem()); break;
      case Outcome::kEnd:
      case Outcome::kFailed: return read;
    }
  }
}

RequestRules rules_of(std::vector<std::string> consume) {
  RequestRules rules;
  for (const std::string& rule : consume) rules.consume.push_back(ConsumeRule::parse(rule).value());
  return rules;
}

// "1000 a/api rpm=1,tokens=7", and so on.
std::string shown(const Traffic& traffic, std::size_t index) {
  const RecordedRequest& request = traffic.requests[index];
  std::string text = std::to_string(request.time.time_since_epoch().count()) + " " +
                     traffic.entities.name(request.entity) + "/" +
                     traffic.resources.name(request.resource) + " ";
  for (std::uint32_t i = 0; i < request.count; ++i) {
    const DeclaredAmount& amount = traffic.amounts[request.first + i];
    text += (i == 0 ? "" : ",") + traffic.limits.name(amount.limit) + "=" +
            std::to_string(amount.tokens);
  }
  return text;
}

TEST(CliReplayRequests, AppliesTheRules) {
  const Read read =
      read_all(rules_of({"rpm=1", "tokens=in+out+1"}),
               "time,entity,resource,in,out\n1,a,api,2,3\n2,b,api,0,0\n3,a,chat,5,5\n");
  ASSERT_EQ(read.traffic.requests.size(), 3u);
  EXPECT_EQ(shown(read.traffic, 0), "1000 a/api rpm=1,tokens=6");
  EXPECT_EQ(shown(read.traffic, 1), "2000 b/api rpm=1,tokens=1");
  EXPECT_EQ(shown(read.traffic, 2), "3000 a/chat rpm=1,tokens=11");
  EXPECT_EQ(read.traffic.requests[2].line, 4u);
  EXPECT_EQ(read.traffic.requests[0].entity, read.traffic.requests[2].entity);
  EXPECT_TRUE(read.skipped.empty());
}

TEST(CliReplayRequests, TakesConstants) {
  RequestRules rules = rules_of({"tokens=n+n"});
  rules.time_field = "t";
  rules.entity = TextRule::parse("entity", "=all").value();
  rules.resource = TextRule::parse("resource", "=code").value();
  const Read read = read_all(std::move(rules), "t,n\n1,4\n");
  ASSERT_EQ(read.traffic.requests.size(), 1u);
  EXPECT_EQ(shown(read.traffic, 0), "1000 all/code tokens=8");
}

TEST(CliReplayRequests, SkipsWhatItCannotUseAndSaysWhy) {
  const std::string most = std::to_string(kMaxTokens);
  const Read read = read_all(rules_of({"rpm=1", "tokens=in+out"}),
                             "time,entity,resource,in,out\n"
                             "soon,a,api,1,1\n"
                             "1,#a,api,1,1\n"
                             "1,a,9api,1,1\n"
                             "1,a,api,1.5,1\n"
                             "1,a,api,-1,1\n"
                             "1,a,api," +
                                 most +
                                 ",1\n"
                                 "1,a,api,,1\n"
                                 "1,a,api," +
                                 most + ",0\n");
  ASSERT_EQ(read.skipped.size(), 7u);
  EXPECT_EQ(read.skipped[0],
            (std::pair<std::uint64_t, std::string>(2, "has \"soon\" in time, which is no time")));
  EXPECT_NE(read.skipped[1].second.find("#a"), std::string::npos);
  EXPECT_NE(read.skipped[2].second.find("9api"), std::string::npos);
  EXPECT_EQ(read.skipped[3].second, "has \"1.5\" in in, which is no whole number of tokens");
  EXPECT_EQ(read.skipped[5].second, "consumes more than " + most + " tokens of tokens");
  ASSERT_EQ(read.traffic.requests.size(), 1u);
  // What a skipped record had added is taken back.
  EXPECT_EQ(read.traffic.amounts.size(), 2u);
  EXPECT_EQ(shown(read.traffic, 0), "1000 a/api rpm=1,tokens=" + most);
}

TEST(CliReplayRequests, TakesTheAmountsOfJsonLines) {
  RequestRules rules;
  rules.format = TrafficFormat::kJsonLines;
  const Read read = read_all(
      std::move(rules),
      "{\"time\":1,\"entity\":\"a\",\"resource\":\"api\",\"consume\":{\"rpm\":1,\"tokens\":250}}\n"
      "{\"time\":2,\"entity\":\"a\",\"resource\":\"api\",\"consume\":{\"tokens\":3}}\n"
      "{\"time\":2,\"entity\":\"a\",\"resource\":\"api\",\"consume\":{}}\n"
      "{\"time\":2,\"entity\":\"a\",\"resource\":\"api\",\"consume\":{\"rpm\":1,\"rpm\":1}}\n"
      "{\"time\":2,\"entity\":\"a\",\"resource\":\"api\",\"consume\":{\"no name\":1}}\n"
      "{\"time\":2,\"entity\":\"a\",\"resource\":\"api\",\"consume\":{\"rpm\":-1}}\n"
      "{\"time\":2,\"resource\":\"api\",\"consume\":{\"rpm\":1}}\n");
  ASSERT_EQ(read.traffic.requests.size(), 2u);
  EXPECT_EQ(shown(read.traffic, 0), "1000 a/api rpm=1,tokens=250");
  EXPECT_EQ(shown(read.traffic, 1), "2000 a/api tokens=3");
  ASSERT_EQ(read.skipped.size(), 5u);
  EXPECT_EQ(read.skipped[0].second, "consumes no limit");
  EXPECT_EQ(read.skipped[1].second, "consumes \"rpm\" twice");
  EXPECT_EQ(read.skipped[4].second, "has no field entity");
}

TEST(CliReplayRequests, ReadsWebLogs) {
  RequestRules rules = rules_of({"bytes=bytes"});
  rules.format = TrafficFormat::kCombined;
  rules.entity.text = "client";
  rules.resource = TextRule{true, "web"};
  const Read read = read_all(
      std::move(rules),
      "198.18.0.1 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 203023 \"-\" \"-\"\n");
  ASSERT_EQ(read.traffic.requests.size(), 1u);
  EXPECT_EQ(shown(read.traffic, 0), "1431857103000 198.18.0.1/web bytes=203023");
}

TEST(CliReplayRequests, RefusesRulesThatNoInputCanFulfil) {
  TextSource source("time,entity,resource\n");
  const auto refuses = [&](RequestRules rules, const std::string& field) {
    const auto reader = RequestReader::open(std::move(rules), source);
    return !reader.ok() && reader.error().field() == field;
  };
  EXPECT_TRUE(refuses(rules_of({}), "consume"));
  EXPECT_TRUE(refuses(rules_of({"a=1", "a=2"}), "consume"));
  RequestRules rules = rules_of({"a=1"});
  rules.entity = TextRule{true, "not an id"};
  EXPECT_TRUE(refuses(rules, "entity"));
  rules = rules_of({"a=1"});
  rules.resource = TextRule{true, "_default_"};
  EXPECT_TRUE(refuses(rules, "resource"));
  EXPECT_FALSE(TextRule::parse("entity", "").ok());
  EXPECT_FALSE(TextRule::parse("entity", "=").ok());
}

TEST(CliReplayNames, NumbersNamesInTheOrderMet) {
  NameTable names;
  EXPECT_FALSE(names.find("a"));
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    ASSERT_EQ(names.add("name-" + std::to_string(i)), i);
  }
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    const std::string name = "name-" + std::to_string(i);
    ASSERT_EQ(names.add(name), i);
    ASSERT_EQ(names.find(name), i);
    ASSERT_EQ(names.name(i), name);
  }
  EXPECT_EQ(names.size(), 10'000u);
  EXPECT_FALSE(names.find("name-10000"));
  EXPECT_EQ(names.add(""), 10'000u);
}

}  // namespace
}  // namespace stint::cli
