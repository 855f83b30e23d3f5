// Records of comma-separated values (RFC 4180).
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cli/replay/line_reader.h"
#include "cli/replay/row.h"

namespace stint::cli {
namespace {

using Outcome = RowReader::Outcome;
using Cells = std::vector<std::string>;

struct Read {
  std::vector<Cells> rows;
  std::vector<std::uint64_t> lines;
  std::vector<std::pair<std::uint64_t, std::string>> malformed;
};

Read read_all(const std::string& text, const std::vector<std::string>& fields,
              std::size_t piece = SIZE_MAX) {
  TextSource source(text, piece);
  std::unique_ptr<RowReader> reader = make_csv_reader(source, fields).value();
  Read read;
  Row row;
  while (true) {
    const Outcome outcome = reader->next(row);
    if (outcome == Outcome::kEnd || outcome == Outcome::kFailed) return read;
    if (outcome == Outcome::kMalformed) {
      read.malformed.emplace_back(row.line, row.problem);
      continue;
    }
    Cells cells;
    for (const auto& field : row.fields) cells.emplace_back(*field);
    read.rows.push_back(cells);
    read.lines.push_back(row.line);
  }
}

Error refusal(const std::string& text, const std::vector<std::string>& fields) {
  TextSource source(text);
  return make_csv_reader(source, fields).error();
}

TEST(CliReplayCsv, PicksColumnsByName) {
  const Read read = read_all("time,entity,n\n1,a,7\n2,b,8", {"n", "time"});
  EXPECT_EQ(read.rows, (std::vector<Cells>{{"7", "1"}, {"8", "2"}}));
  EXPECT_EQ(read.lines, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_TRUE(read.malformed.empty());
}

TEST(CliReplayCsv, ReadsQuotedFields) {
  const std::string text =
      "\"a\",\"b,c\"\r\n"
      "\"x \"\"y\"\"\",\"\"\r\n"
      "\"line\r\nbreak\",1\r\n"
      "5\" pipe,\"\"\"\"\r\n";
  for (std::size_t piece : {1u, 3u, 1000u}) {
    const Read read = read_all(text, {"a", "b,c"}, piece);
    EXPECT_EQ(read.rows,
              (std::vector<Cells>{{"x \"y\"", ""}, {"line\r\nbreak", "1"}, {"5\" pipe", "\""}}));
    EXPECT_EQ(read.lines, (std::vector<std::uint64_t>{2, 3, 5}));
    EXPECT_TRUE(read.malformed.empty());
  }
}

TEST(CliReplayCsv, KeepsDoubledQuotesApartInOneRecord) {
  const Read read = read_all("a,b\n\"1\"\"\",\"2\"\"\"\n", {"a", "b", "a"});
  EXPECT_EQ(read.rows, (std::vector<Cells>{{"1\"", "2\"", "1\""}}));
}

TEST(CliReplayCsv, SkipsEmptyLinesAndCountsThem) {
  const Read read = read_all("\n\na,b\n\n1,2\n\r\n3,4\n\n", {"a", "b"});
  EXPECT_EQ(read.rows, (std::vector<Cells>{{"1", "2"}, {"3", "4"}}));
  EXPECT_EQ(read.lines, (std::vector<std::uint64_t>{5, 7}));
}

TEST(CliReplayCsv, ReportsMalformedRecordsAndGoesOn) {
  const Read read = read_all("a,b\n1\n1,2,3\n\"x\"y,2\n3,4\n", {"a", "b"});
  EXPECT_EQ(read.rows, (std::vector<Cells>{{"3", "4"}}));
  ASSERT_EQ(read.malformed.size(), 3u);
  EXPECT_EQ(read.malformed[0].first, 2u);
  EXPECT_EQ(read.malformed[0].second, "has 1 fields, the header has 2");
  EXPECT_EQ(read.malformed[1].second, "has 3 fields, the header has 2");
  EXPECT_EQ(read.malformed[2].first, 4u);
  EXPECT_EQ(read.malformed[2].second, "has text after a closing quote");
}

TEST(CliReplayCsv, AStrayQuoteCostsOneLineOnly) {
  const Read read = read_all("a,b\n1,2\n\"3,4\n5,6\n7,8\n", {"a", "b"}, 5);
  EXPECT_EQ(read.rows, (std::vector<Cells>{{"1", "2"}, {"5", "6"}, {"7", "8"}}));
  ASSERT_EQ(read.malformed.size(), 1u);
  EXPECT_EQ(read.malformed[0].first, 3u);
  EXPECT_EQ(read.malformed[0].second, "has a quote that is never closed");
}

TEST(CliReplayCsv, ReportsRecordsThatAreTooLong) {
  const std::string longest(LineReader::kMaxRecordBytes + 1, 'x');
  const Read read = read_all("a,b\n1,2\n" + longest + "\n3,4\n", {"a", "b"});
  EXPECT_EQ(read.rows, (std::vector<Cells>{{"1", "2"}, {"3", "4"}}));
  ASSERT_EQ(read.malformed.size(), 1u);
  EXPECT_EQ(read.malformed[0].first, 3u);
}

TEST(CliReplayCsv, RefusesAHeaderWithoutTheFields) {
  EXPECT_EQ(refusal("", {"a"}).reason(), "holds no header line");
  EXPECT_EQ(refusal("\n\n", {"a"}).reason(), "holds no header line");
  const Error unknown = refusal("time,entity\n1,a\n", {"time", "client"});
  EXPECT_EQ(unknown.value(), "client");
  EXPECT_EQ(unknown.reason(), "is not in the header, which has: time, entity");
  EXPECT_EQ(refusal("a,b,a\n", {"a"}).reason(), "occurs twice in the header");
  EXPECT_EQ(refusal("\"a\"b,c\n", {"c"}).reason(), "has text after a closing quote");
}

RC_GTEST_PROP(CliReplayCsvProperty, WhatIsWrittenReadsBackInAnyPieces, ()) {
  const auto cell = rc::gen::container<std::string>(
      rc::gen::element('a', ',', '"', '\n', '\r', ' ', '\xc3', '\xa9'));
  const auto rows = *rc::gen::container<std::vector<Cells>>(
      rc::gen::container<std::vector<std::string>>(3, cell));
  std::string text = "x,y,z\r\n";
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += i == 0 ? "\"" : ",\"";
      for (char c : row[i]) text += c == '"' ? std::string("\"\"") : std::string(1, c);
      text += '"';
    }
    text += "\n";
  }
  const Read read = read_all(text, {"x", "y", "z"}, *rc::gen::inRange<std::size_t>(1, 30));
  RC_ASSERT(read.malformed.empty());
  RC_ASSERT(read.rows == rows);
}

}  // namespace
}  // namespace stint::cli
