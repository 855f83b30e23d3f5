#include "cli/manifest/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cassert>
#include <exception>
#include <optional>
#include <sstream>
#include <utility>

namespace stint::cli {
namespace {

// Ends the parse of a document whose shape is not worth following.
class Unreadable : public std::exception {
 public:
  Unreadable(int line, std::string reason) : line_(line), reason_(std::move(reason)) {}
  int line() const { return line_; }
  const std::string& reason() const { return reason_; }

 private:
  int line_;
  std::string reason_;
};

int line_of(const YAML::Mark& mark) { return mark.line + 1; }

// The library's own tree keeps only the first of equal keys and follows aliases, without a word;
// its events hide nothing.
class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::vector<ManifestProblem>& problems) : problems_(problems) {
    root_.line = 1;
  }

  YamlNode take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) throw Unreadable(line_of(mark), "holds more than one document");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    YamlNode node;
    node.line = line_of(mark);
    add(std::move(node));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    report(mark, "*", "aliases are not accepted: write the value out");
    YamlNode node;
    node.kind = YamlNode::Kind::kRefused;
    node.line = line_of(mark);
    add(std::move(node));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    YamlNode node;
    node.kind = YamlNode::Kind::kScalar;
    node.line = line_of(mark);
    node.text = value;
    node.quoted = tag == "!";
    add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::kSequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Level {
    YamlNode node;
    // Of a map: the key whose value comes next.
    std::optional<std::string> key;
    int key_line = 0;
    bool key_refused = false;
  };

  void report(const YAML::Mark& mark, std::string_view value, std::string reason) {
    problems_.push_back({line_of(mark), Error::invalid("manifest", value, std::move(reason))});
  }
  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0) report(mark, "&", "anchors are not accepted");
  }
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    // "?" marks plain and "!" quoted scalars without a tag of their own.
    if (!tag.empty() && tag != "?" && tag != "!") report(mark, tag, "tags are not accepted");
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    if (expects_key()) throw Unreadable(line_of(mark), "a key must be a plain text");
    if (levels_.size() == kMaxManifestDepth) {
      throw Unreadable(line_of(mark),
                       "is nested deeper than " + std::to_string(kMaxManifestDepth) + " levels");
    }
    Level level;
    level.node.kind = kind;
    level.node.line = line_of(mark);
    levels_.push_back(std::move(level));
  }
  void close() {
    YamlNode node = std::move(levels_.back().node);
    levels_.pop_back();
    add(std::move(node));
  }
  bool expects_key() const {
    return !levels_.empty() && levels_.back().node.kind == YamlNode::Kind::kMap &&
           !levels_.back().key;
  }

  void add(YamlNode node) {
    if (levels_.empty()) {
      root_ = std::move(node);
      return;
    }
    Level& level = levels_.back();
    if (level.node.kind == YamlNode::Kind::kSequence) {
      level.node.items.push_back(std::move(node));
      return;
    }
    assert(level.node.kind == YamlNode::Kind::kMap);
    if (!level.key) {
      take_key(level, node);
      return;
    }
    // A value that is left out has no place of its own.
    if (node.kind == YamlNode::Kind::kNull) node.line = level.key_line;
    if (!level.key_refused) {
      level.node.keys.push_back(*std::move(level.key));
      level.node.key_lines.push_back(level.key_line);
      level.node.items.push_back(std::move(node));
    }
    level.key.reset();
  }

  void take_key(Level& level, const YamlNode& node) {
    level.key = node.text;
    level.key_line = node.line;
    level.key_refused = true;
    const auto refuse = [&](std::string reason) {
      problems_.push_back({node.line, Error::invalid("manifest", node.text, std::move(reason))});
    };
    const std::vector<std::string>& known = level.node.keys;
    const auto found = std::find(known.begin(), known.end(), node.text);
    if (node.kind == YamlNode::Kind::kRefused) return;
    if (node.kind == YamlNode::Kind::kNull) {
      refuse("a key is empty");
    } else if (node.text == "<<" && !node.quoted) {
      refuse("merge keys are not accepted: write the values out");
    } else if (found != known.end()) {
      refuse("the key was given in line " +
             std::to_string(level.node.key_lines[static_cast<std::size_t>(found - known.begin())]) +
             " already");
    } else {
      level.key_refused = false;
    }
  }

  std::vector<ManifestProblem>& problems_;
  std::vector<Level> levels_;
  YamlNode root_;  // null, in the first line, unless there is a document
  int documents_ = 0;
};

}  // namespace

YamlNode read_yaml(std::string_view text, std::vector<ManifestProblem>& problems) {
  const auto unreadable = [&](int line, std::string_view value, std::string reason) {
    problems.push_back({line, Error::invalid("manifest", value, std::move(reason))});
    YamlNode node;
    node.kind = YamlNode::Kind::kRefused;
    node.line = line;
    return node;
  };
  if (text.size() > kMaxManifestBytes) {
    return unreadable(1, std::to_string(text.size()) + " bytes",
                      "is longer than " + std::to_string(kMaxManifestBytes) + " bytes");
  }
  std::istringstream input{std::string(text)};
  TreeBuilder builder(problems);
  try {
    YAML::Parser parser(input);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Unreadable& stop) {
    return unreadable(stop.line(), "", stop.reason());
  } catch (const YAML::Exception& exception) {
    // A mark of -1 stands for "nowhere".
    return unreadable(std::max(exception.mark.line + 1, 1), "", "is not YAML: " + exception.msg);
  }
  return builder.take_root();
}

}  // namespace stint::cli
