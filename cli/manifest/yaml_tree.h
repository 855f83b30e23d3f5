// A YAML document as a tree that knows its lines, in the strict dialect of manifests.
#ifndef STINT_CLI_MANIFEST_YAML_TREE_H_
#define STINT_CLI_MANIFEST_YAML_TREE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "stint/result.h"

namespace stint::cli {

/// A mistake in a manifest and where it is.
struct ManifestProblem {
  /// Counted from 1.
  int line = 0;
  /// Always `kInvalidArgument`; the field is the path of keys.
  Error error;
};

struct YamlNode {
  enum class Kind {
    kNull,
    kScalar,
    kSequence,
    kMap,
    kRefused,  ///< A problem was reported for it already.
  };
  Kind kind = Kind::kNull;
  int line = 0;
  std::string text;
  /// A scalar in quotes or a block: text, whatever it looks like.
  bool quoted = false;
  /// Elements of a sequence, or values of a map.
  std::vector<YamlNode> items;
  /// Of a map, all different.
  std::vector<std::string> keys;
  std::vector<int> key_lines;
};

/// Manifests are written by people; more than this is a mistake or an attack.
inline constexpr std::size_t kMaxManifestBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxManifestDepth = 16;

/// Reads one document. Anchors, aliases, merge keys, tags, keys given twice, keys that are no
/// scalars and a second document are problems; so is anything that is not YAML.
YamlNode read_yaml(std::string_view text, std::vector<ManifestProblem>& problems);

}  // namespace stint::cli

#endif  // STINT_CLI_MANIFEST_YAML_TREE_H_
