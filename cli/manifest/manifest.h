// A policy as a file: limits and access for the system, resources and entities (rules 8.3).
#ifndef STINT_CLI_MANIFEST_MANIFEST_H_
#define STINT_CLI_MANIFEST_MANIFEST_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/contested_resets.h"
#include "cli/manifest/yaml_tree.h"
#include "stint/limit.h"
#include "stint/limiter.h"
#include "stint/result.h"
#include "stint/time.h"

namespace stint::cli {

/// What a manifest says of one scope.
struct ManifestScope {
  Scope scope;
  ScopeConfig config;
  /// Where it begins.
  int line = 0;
};

struct Manifest {
  std::string name_space;
  /// The system first, then resources, then entities, each in the order of the file.
  std::vector<ManifestScope> scopes;
};

/// A manifest, or what is wrong with it, in the order of lines.
struct ReadManifest {
  /// Present exactly when there is no problem.
  std::optional<Manifest> manifest;
  std::vector<ManifestProblem> problems;
};

ReadManifest parse_manifest(std::string_view text);

/// Reads a file. Errors: `kInvalidArgument` when it cannot be read; what is in it is judged by
/// `parse_manifest`.
Result<std::string> read_manifest_file(const std::string& path);

/// The first of several problems as one error that names file and line.
/// Precondition: there is one.
Error first_problem(const std::string& path, const std::vector<ManifestProblem>& problems);

/// All within two years of `now`.
std::vector<ContestedResets> contested_resets(const Manifest& manifest, TimePoint now);

}  // namespace stint::cli

#endif  // STINT_CLI_MANIFEST_MANIFEST_H_
