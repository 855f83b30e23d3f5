// What a record consumes, as the command line says it.
#include "cli/replay/expression.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stint/amount.h"

namespace stint::cli {
namespace {

using Fields = std::vector<std::string>;

TEST(CliReplayExpression, ReadsNumbersFieldsAndSums) {
  EXPECT_EQ(Expression::parse("1")->constant, 1);
  EXPECT_EQ(Expression::parse("bytes")->fields, Fields{"bytes"});
  const Result<Expression> sum = Expression::parse("ContextTokens+GeneratedTokens");
  ASSERT_TRUE(sum.ok());
  EXPECT_EQ(sum->constant, 0);
  EXPECT_EQ(sum->fields, (Fields{"ContextTokens", "GeneratedTokens"}));
  const Result<Expression> mixed = Expression::parse(" in + 10 + in + 5 ");
  ASSERT_TRUE(mixed.ok());
  EXPECT_EQ(mixed->constant, 15);
  EXPECT_EQ(mixed->fields, (Fields{"in", "in"}));
  EXPECT_EQ(Expression::parse("prompt tokens")->fields, Fields{"prompt tokens"});
}

TEST(CliReplayExpression, RefusesMissingTermsAndOverflow) {
  for (std::string_view text : {"", " ", "+", "a+", "+a", "a++b"}) {
    EXPECT_FALSE(Expression::parse(text).ok()) << text;
  }
  const std::string most = std::to_string(kMaxTokens);
  EXPECT_TRUE(Expression::parse(most).ok());
  for (const std::string& text :
       {most + "+1", most + "0", std::to_string(kMaxTokens + 1), std::string(40, '9')}) {
    const Result<Expression> expression = Expression::parse(text);
    ASSERT_FALSE(expression.ok()) << text;
    EXPECT_EQ(expression.error().field(), "consume");
  }
}

TEST(CliReplayExpression, ReadsWholeTokensStrictly) {
  EXPECT_EQ(parse_whole_tokens("0"), 0);
  EXPECT_EQ(parse_whole_tokens("007"), 7);
  EXPECT_EQ(parse_whole_tokens(std::to_string(kMaxTokens)), kMaxTokens);
  for (std::string_view text : {"", " 1", "1 ", "-1", "+1", "1.0", "1e3", "1_000", "0x1", "NaN",
                                "9000000000000001", "99999999999999999999"}) {
    EXPECT_FALSE(parse_whole_tokens(text)) << text;
  }
}

TEST(CliReplayExpression, ReadsRules) {
  const Result<ConsumeRule> rule = ConsumeRule::parse("tokens=in+out");
  ASSERT_TRUE(rule.ok());
  EXPECT_EQ(rule->limit, "tokens");
  EXPECT_EQ(rule->amount.fields, (Fields{"in", "out"}));
  // Only the first sign of equality is the rule's.
  EXPECT_EQ(ConsumeRule::parse("a=b=c")->amount.fields, Fields{"b=c"});
  for (std::string_view text : {"", "tokens", "=1", "9x=1", "wcu=1", "a b=1", "tokens="}) {
    const Result<ConsumeRule> refused = ConsumeRule::parse(text);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace stint::cli
