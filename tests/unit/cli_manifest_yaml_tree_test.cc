// The strict dialect of YAML that manifests are written in.
#include "cli/manifest/yaml_tree.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stint::cli {
namespace {

using Kind = YamlNode::Kind;

YamlNode read(const std::string& text) {
  std::vector<ManifestProblem> problems;
  YamlNode root = read_yaml(text, problems);
  EXPECT_TRUE(problems.empty()) << text << problems.front().error.message();
  return root;
}

// "2: reason | 5: reason"
std::string problems_of(const std::string& text) {
  std::vector<ManifestProblem> problems;
  read_yaml(text, problems);
  std::string all;
  for (const ManifestProblem& problem : problems) {
    all +=
        (all.empty() ? "" : " | ") + std::to_string(problem.line) + ": " + problem.error.reason();
  }
  return all;
}

TEST(CliManifestYaml, KeepsOrderLinesAndQuotes) {
  const YamlNode root =
      read("# comment\nb: 1\na:\n  - \"1\"\n  - ~\n  -\n'c': {x: [], y: two words}\n");
  ASSERT_EQ(root.kind, Kind::kMap);
  EXPECT_EQ(root.keys, (std::vector<std::string>{"b", "a", "c"}));
  EXPECT_EQ(root.key_lines, (std::vector<int>{2, 3, 7}));
  EXPECT_EQ(root.items[0].text, "1");
  EXPECT_FALSE(root.items[0].quoted);
  const YamlNode& list = root.items[1];
  ASSERT_EQ(list.items.size(), 3u);
  EXPECT_TRUE(list.items[0].quoted);
  EXPECT_EQ(list.items[0].line, 4);
  EXPECT_EQ(list.items[1].kind, Kind::kNull);
  EXPECT_EQ(list.items[2].kind, Kind::kNull);
  EXPECT_EQ(root.items[2].items[0].kind, Kind::kSequence);
  EXPECT_EQ(root.items[2].items[1].text, "two words");
}

TEST(CliManifestYaml, AnEmptyFileIsNull) {
  for (const char* text : {"", "\n", "# nothing\n", "---\n", "null\n"}) {
    EXPECT_EQ(read(text).kind, Kind::kNull) << text;
    EXPECT_GE(read(text).line, 1) << text;
  }
}

TEST(CliManifestYaml, RefusesAnchorsAliasesMergeKeysAndTags) {
  EXPECT_EQ(problems_of("a: &x 1\nb: *x\n"),
            "1: anchors are not accepted | 2: aliases are not accepted: write the value out");
  EXPECT_EQ(problems_of("a: &x {b: 1}\nc:\n  <<: *x\n"),
            "1: anchors are not accepted | 3: merge keys are not accepted: write the values out | "
            "3: aliases are not accepted: write the value out");
  EXPECT_EQ(problems_of("a: &x [1]\n"), "1: anchors are not accepted");
  EXPECT_EQ(problems_of("a: !!int \"5\"\nb: !mine {}\n"),
            "1: tags are not accepted | 2: tags are not accepted");
}

TEST(CliManifestYaml, FollowsNoBombOfAliases) {
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c < 'j'; ++c) {
    const std::string before(1, static_cast<char>(c - 1));
    bomb += std::string(1, c) + ": &" + c + " [*" + before;
    for (int i = 0; i < 8; ++i) bomb += ", *" + before;
    bomb += "]\n";
  }
  std::vector<ManifestProblem> problems;
  read_yaml(bomb, problems);
  EXPECT_EQ(problems.size(), 9u + 8u * 9u);
}

TEST(CliManifestYaml, RefusesKeysGivenTwiceAndOddKeys) {
  EXPECT_EQ(problems_of("a: 1\nb: 2\na: 3\n"), "3: the key was given in line 1 already");
  EXPECT_EQ(problems_of("x: {a: 1, 'a': 2}\n"), "1: the key was given in line 1 already");
  EXPECT_EQ(problems_of("x:\n  ~: 1\n"), "2: a key is empty");
  EXPECT_EQ(problems_of("? [a, b]\n: 1\n"), "1: a key must be a plain text");
  EXPECT_EQ(problems_of("? {a: b}\n: 1\n"), "1: a key must be a plain text");
}

TEST(CliManifestYaml, RefusesSeveralDocumentsDepthAndSize) {
  EXPECT_EQ(problems_of("a: 1\n---\nb: 2\n"), "2: holds more than one document");
  EXPECT_EQ(problems_of("a: " + std::string(15, '[') + std::string(15, ']')), "");
  EXPECT_EQ(problems_of("a: " + std::string(16, '[') + std::string(16, ']')),
            "1: is nested deeper than 16 levels");
  EXPECT_EQ(problems_of("a: " + std::string(100'000, '[') + std::string(100'000, ']')),
            "1: is nested deeper than 16 levels");
  EXPECT_EQ(problems_of("# " + std::string(kMaxManifestBytes, 'x')),
            "1: is longer than 1048576 bytes");
}

TEST(CliManifestYaml, RefusesWhatIsNoYaml) {
  for (const char* text :
       {"a: [1\n", "a: {b: 1\n", "a: ['x\n", "\ta: 1\n", "a: b: c\n", "a: @x\n"}) {
    std::vector<ManifestProblem> problems;
    read_yaml(text, problems);
    ASSERT_FALSE(problems.empty()) << text;
    EXPECT_GE(problems.front().line, 1) << text;
    EXPECT_EQ(problems.front().error.reason().rfind("is not YAML: ", 0), 0u)
        << problems.front().error.reason();
  }
  EXPECT_EQ(problems_of("a: 1\nb: 2\nc: [1, 2\n").substr(0, 2), "4:");
}

}  // namespace
}  // namespace stint::cli
