// Records of a web server's log.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/replay/row.h"

namespace stint::cli {
namespace {

using Outcome = RowReader::Outcome;

const std::vector<std::string> kAll = {"client", "time", "path", "status", "bytes"};

// The fields of a line, or nothing when it is malformed.
std::vector<std::string> fields_of(const std::string& line) {
  TextSource source(line);
  const std::unique_ptr<RowReader> reader = make_combined_reader(source, kAll).value();
  Row row;
  std::vector<std::string> fields;
  if (reader->next(row) != Outcome::kRow) return fields;
  for (const auto& field : row.fields) fields.emplace_back(field.value_or("(none)"));
  return fields;
}

using Fields = std::vector<std::string>;

TEST(CliReplayCombined, ReadsCombinedAndCommonLines) {
  const std::string common =
      "198.18.0.1 - - [17/May/2015:10:05:03 +0000] \"GET /a/b.png?x=1 HTTP/1.1\" 200 203023";
  const Fields fields = {"198.18.0.1", "17/May/2015:10:05:03 +0000", "/a/b.png?x=1", "200",
                         "203023"};
  EXPECT_EQ(fields_of(common), fields);
  EXPECT_EQ(fields_of(common + " \"-\" \"agent \\\" 1.0\""), fields);
}

TEST(CliReplayCombined, TakesADashForNoBytes) {
  EXPECT_EQ(fields_of("c - bob [17/May/2015:10:05:03 +0000] \"HEAD / HTTP/1.0\" 304 - \"-\" \"-\""),
            (Fields{"c", "17/May/2015:10:05:03 +0000", "/", "304", "0"}));
}

TEST(CliReplayCombined, KeepsARecordWhoseRequestIsBroken) {
  EXPECT_EQ(fields_of("c - - [t] \"-\" 408 0"), (Fields{"c", "t", "(none)", "408", "0"}));
  EXPECT_EQ(fields_of("c - - [t] \"\" 400 0"), (Fields{"c", "t", "(none)", "400", "0"}));
  EXPECT_EQ(fields_of("c - - [t] \"GET /say/\\\"hi\\\" HTTP/1.1\" 200 5"),
            (Fields{"c", "t", "/say/\\\"hi\\\"", "200", "5"}));
}

TEST(CliReplayCombined, RefusesOtherLines) {
  for (const char* line : {"x", "c - -", "c - - t \"GET / HTTP/1.1\" 200 1",
                           "c - - [t \"G / H\" 200", "c - - [t] \"GET / HTTP/1.1 200 1",
                           "c - - [t] \"GET / HTTP/1.1\" 200", "c - - [t] \"GET / HTTP/1.1\"",
                           "c  - [t] \"GET / HTTP/1.1\" 200 1", "c - - [t] \"GET / \\"}) {
    EXPECT_TRUE(fields_of(line).empty()) << line;
  }
}

TEST(CliReplayCombined, HasNoOtherFields) {
  TextSource source("");
  const auto reader = make_combined_reader(source, {"client", "agent"});
  ASSERT_FALSE(reader.ok());
  EXPECT_EQ(reader.error().value(), "agent");
}

}  // namespace
}  // namespace stint::cli
