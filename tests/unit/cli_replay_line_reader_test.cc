// Lines from pieces of any size, in bounded memory.
#include "cli/replay/line_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace stint::cli {
namespace {

using Outcome = LineReader::Outcome;
using Lines = std::vector<std::pair<std::uint64_t, std::string>>;

Lines lines_of(const std::string& text, std::size_t piece = SIZE_MAX) {
  TextSource source(text, piece);
  LineReader reader(source);
  Lines lines;
  while (reader.next() == Outcome::kLine) lines.emplace_back(reader.line(), reader.text());
  return lines;
}

// Fails at the second read.
class BrokenSource final : public ByteSource {
 public:
  Result<std::size_t> read(std::span<char> into) override {
    if (std::exchange(used_, true)) return Error::invalid("input", "x", "broken");
    into[0] = 'a';
    into[1] = '\n';
    into[2] = 'b';
    return std::size_t{3};
  }

 private:
  bool used_ = false;
};

TEST(CliReplayLines, KnowsBothLineEndsAndALastLineWithoutOne) {
  EXPECT_EQ(lines_of("a\nbc\r\n\nd"), (Lines{{1, "a"}, {2, "bc"}, {3, ""}, {4, "d"}}));
  EXPECT_EQ(lines_of("a\n"), (Lines{{1, "a"}}));
  EXPECT_EQ(lines_of("a\rb\r"), (Lines{{1, "a\rb\r"}}));
  EXPECT_EQ(lines_of(""), Lines{});
  EXPECT_EQ(lines_of("\n"), (Lines{{1, ""}}));
}

TEST(CliReplayLines, DropsAByteOrderMark) {
  for (std::size_t piece : {1u, 2u, 3u, 100u}) {
    EXPECT_EQ(lines_of("\xef\xbb\xbf"
                       "a\nb",
                       piece),
              (Lines{{1, "a"}, {2, "b"}}));
    EXPECT_EQ(lines_of("a\n\xef\xbb\xbf", piece), (Lines{{1, "a"}, {2, "\xef\xbb\xbf"}}));
    EXPECT_EQ(lines_of("\xef\xbb\xbf", piece), Lines{});
    EXPECT_EQ(lines_of("\xef\xbb", piece), (Lines{{1, "\xef\xbb"}}));
  }
}

TEST(CliReplayLines, SkipsALineThatIsTooLong) {
  const std::string text =
      "first\n" + std::string(900'000, 'x') + "\nthird\n" + std::string(900'000, 'y');
  TextSource source(text, 1000);
  LineReader reader(source, 100);
  ASSERT_EQ(reader.next(), Outcome::kLine);
  ASSERT_EQ(reader.next(), Outcome::kTooLong);
  EXPECT_EQ(reader.line(), 2u);
  EXPECT_EQ(reader.text(), "");
  ASSERT_EQ(reader.next(), Outcome::kLine);
  EXPECT_EQ(reader.text(), "third");
  EXPECT_EQ(reader.line(), 3u);
  ASSERT_EQ(reader.next(), Outcome::kTooLong);
  EXPECT_EQ(reader.line(), 4u);
  EXPECT_EQ(reader.next(), Outcome::kEnd);
  EXPECT_EQ(reader.next(), Outcome::kEnd);
}

TEST(CliReplayLines, TakesALineOfExactlyTheGreatestLength) {
  for (const char* end : {"", "\n", "\r\n"}) {
    TextSource source(std::string(100, 'x') + end);
    LineReader reader(source, 100);
    ASSERT_EQ(reader.next(), Outcome::kLine);
    EXPECT_EQ(reader.text().size(), 100u);
    EXPECT_EQ(reader.next(), Outcome::kEnd);
  }
  TextSource source(std::string(101, 'x') + "\nnext");
  LineReader reader(source, 100);
  EXPECT_EQ(reader.next(), Outcome::kTooLong);
  ASSERT_EQ(reader.next(), Outcome::kLine);
  EXPECT_EQ(reader.text(), "next");
}

TEST(CliReplayLines, ExtendsARecordAndGivesUpAgain) {
  for (std::size_t piece : {1u, 4u, 1000u}) {
    TextSource source("a\r\nb\nc\nd", piece);
    LineReader reader(source);
    ASSERT_EQ(reader.next(), Outcome::kLine);
    ASSERT_EQ(reader.extend(), Outcome::kLine);
    EXPECT_EQ(reader.text(), "a\r\nb");
    EXPECT_EQ(reader.line(), 1u);
    ASSERT_EQ(reader.next(), Outcome::kLine);
    EXPECT_EQ(reader.text(), "c");
    EXPECT_EQ(reader.line(), 3u);
    ASSERT_EQ(reader.extend(), Outcome::kLine);
    EXPECT_EQ(reader.extend(), Outcome::kEnd);
    EXPECT_EQ(reader.text(), "c\nd");
    reader.keep_first_line();
    EXPECT_EQ(reader.text(), "c");
    ASSERT_EQ(reader.next(), Outcome::kLine);
    EXPECT_EQ(reader.text(), "d");
    EXPECT_EQ(reader.line(), 4u);
    EXPECT_EQ(reader.next(), Outcome::kEnd);
  }
}

TEST(CliReplayLines, RefusesToExtendBeyondTheGreatestLength) {
  TextSource source(std::string(60, 'a') + "\n" + std::string(60, 'b') + "\nc");
  LineReader reader(source, 100);
  ASSERT_EQ(reader.next(), Outcome::kLine);
  EXPECT_EQ(reader.extend(), Outcome::kTooLong);
  EXPECT_EQ(reader.text(), std::string(60, 'a'));
  ASSERT_EQ(reader.next(), Outcome::kLine);
  EXPECT_EQ(reader.text(), std::string(60, 'b'));
}

TEST(CliReplayLines, ReportsAnInputThatFails) {
  BrokenSource source;
  LineReader reader(source);
  ASSERT_EQ(reader.next(), Outcome::kLine);
  EXPECT_EQ(reader.text(), "a");
  EXPECT_EQ(reader.next(), Outcome::kFailed);
  ASSERT_TRUE(reader.error());
  EXPECT_EQ(reader.error()->reason(), "broken");
  EXPECT_EQ(reader.next(), Outcome::kFailed);
}

TEST(CliReplayLines, ReportsAnInputThatDoesNotExistOrIsADirectory) {
  EXPECT_FALSE(open_input("/nowhere/at/all").ok());
  const Result<std::unique_ptr<ByteSource>> directory = open_input("/");
  ASSERT_TRUE(directory.ok());
  char byte = 0;
  const Result<std::size_t> read = (*directory)->read(std::span(&byte, 1));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().field(), "input");
}

RC_GTEST_PROP(CliReplayLinesProperty, PiecesDoNotMatter,
              (const std::vector<std::string>& parts, bool last_has_end)) {
  std::string text;
  Lines expected;
  for (const std::string& part : parts) {
    std::string line;
    for (char c : part) {
      if (c != '\n' && c != '\r') line += c;
    }
    text += line + "\n";
    expected.emplace_back(expected.size() + 1, line);
  }
  if (!last_has_end && !text.empty() && !expected.back().second.empty()) text.pop_back();
  const auto piece = *rc::gen::inRange<std::size_t>(1, 20);
  if (text.rfind("\xef\xbb\xbf", 0) == 0) return;
  RC_ASSERT(lines_of(text, piece) == expected);
}

}  // namespace
}  // namespace stint::cli
