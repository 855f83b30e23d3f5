// Records of one JSON object on a line.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "cli/replay/line_reader.h"
#include "cli/replay/row.h"

namespace stint::cli {
namespace {

using Outcome = RowReader::Outcome;
using Amounts = std::vector<std::pair<std::string, std::string>>;

// One row of an input of one line.
struct OneRow {
  Outcome outcome;
  Row row;
  // What the row's views refer to.
  std::vector<std::string> fields;
  Amounts amounts;
};

OneRow read_one(const std::string& text, const std::vector<std::string>& fields,
                bool own_amounts = false) {
  TextSource source(text);
  const std::unique_ptr<RowReader> reader = make_json_lines_reader(source, fields, own_amounts);
  OneRow read;
  read.outcome = reader->next(read.row);
  if (read.outcome != Outcome::kRow) return read;
  for (const auto& field : read.row.fields) read.fields.emplace_back(field.value_or("(none)"));
  for (const Row::Amount& amount : read.row.consume) {
    read.amounts.emplace_back(amount.limit, amount.tokens);
  }
  return read;
}

TEST(CliReplayJsonLines, ReadsTextAndNumbers) {
  const OneRow read = read_one(
      R"({"time":1700158623979,"entity":"u\u0031","other":{"time":[1,{}]},"n":0,"big":18446744073709551615})",
      {"entity", "time", "n", "big", "missing"});
  ASSERT_EQ(read.outcome, Outcome::kRow) << read.row.problem;
  EXPECT_EQ(read.fields, (std::vector<std::string>{"u1", "1700158623979", "0",
                                                   "18446744073709551615", "(none)"}));
}

TEST(CliReplayJsonLines, KeepsFractionsAsTheyAreWritten) {
  // As a double this is 1700000000.124 already.
  const OneRow read =
      read_one(R"({"a" : "x", "time" : 1700000000.12399999999999999 , "b" : 1e3})", {"time", "b"});
  ASSERT_EQ(read.outcome, Outcome::kRow) << read.row.problem;
  EXPECT_EQ(read.fields, (std::vector<std::string>{"1700000000.12399999999999999", "1e3"}));
}

TEST(CliReplayJsonLines, NullIsAbsentAndOtherTypesAreRefused) {
  EXPECT_EQ(read_one(R"({"a":null})", {"a"}).fields, std::vector<std::string>{"(none)"});
  for (const char* text : {R"({"a":true})", R"({"a":[1]})", R"({"a":{}})"}) {
    EXPECT_EQ(read_one(text, {"a"}).outcome, Outcome::kMalformed) << text;
  }
}

TEST(CliReplayJsonLines, ReadsTheRecordsOwnAmounts) {
  const OneRow read = read_one(R"({"consume":{"rpm":1,"tokens":250}})", {}, true);
  ASSERT_EQ(read.outcome, Outcome::kRow) << read.row.problem;
  EXPECT_EQ(read.amounts, (Amounts{{"rpm", "1"}, {"tokens", "250"}}));
  EXPECT_EQ(read_one(R"({"consume":{"rpm":-1}})", {}, true).amounts, (Amounts{{"rpm", "-1"}}));
}

TEST(CliReplayJsonLines, RefusesAmountsOfOtherTypes) {
  for (const char* text :
       {R"({})", R"({"consume":1})", R"({"consume":["rpm"]})", R"({"consume":{"rpm":1.5}})",
        R"({"consume":{"rpm":"1"}})", R"({"consume":{"rpm":18446744073709551615}})",
        R"({"consume":{"rpm":true}})", R"({"consume":{},"consume":{}})"}) {
    EXPECT_EQ(read_one(text, {}, true).outcome, Outcome::kMalformed) << text;
  }
}

TEST(CliReplayJsonLines, RefusesWhatIsNoObject) {
  const std::string deep = "{\"a\":" + std::string(5000, '[') + std::string(5000, ']') + "}";
  for (const std::string& text :
       std::vector<std::string>{"x", "{", "[1]", "1", "{\"a\":1}x", "{\"a\":1}{}", "{\"a\":tru}",
                                "{\"a\":1,}", "{\"b\":\"\xff\"}", "{\"a\":1,\"a\":2}", deep}) {
    const OneRow read = read_one(text, {"a"});
    EXPECT_EQ(read.outcome, Outcome::kMalformed) << text;
    EXPECT_FALSE(read.row.problem.empty());
  }
}

TEST(CliReplayJsonLines, GoesOnAfterMalformedLinesAndSkipsBlankOnes) {
  TextSource source("\n{\"a\":1}\n  \t\r\nnot\n{\"a\":2}", 3);
  const std::unique_ptr<RowReader> reader = make_json_lines_reader(source, {"a"}, false);
  Row row;
  ASSERT_EQ(reader->next(row), Outcome::kRow);
  EXPECT_EQ(row.line, 2u);
  ASSERT_EQ(reader->next(row), Outcome::kMalformed);
  EXPECT_EQ(row.line, 4u);
  ASSERT_EQ(reader->next(row), Outcome::kRow);
  EXPECT_EQ(row.line, 5u);
  EXPECT_EQ(*row.fields[0], "2");
  EXPECT_EQ(reader->next(row), Outcome::kEnd);
}

TEST(CliReplayJsonLines, ReportsLinesThatAreTooLong) {
  TextSource source("{\"a\":\"" + std::string(LineReader::kMaxRecordBytes, 'x') + "\"}\n{\"a\":2}");
  const std::unique_ptr<RowReader> reader = make_json_lines_reader(source, {"a"}, false);
  Row row;
  EXPECT_EQ(reader->next(row), Outcome::kMalformed);
  EXPECT_EQ(reader->next(row), Outcome::kRow);
}

}  // namespace
}  // namespace stint::cli
