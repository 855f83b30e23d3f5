// The commands with their options as plain values, read from the parser that also makes --help, so
// that completions and man pages know of a new command by themselves.
#ifndef STINT_CLI_GENERATE_COMMAND_TREE_H_
#define STINT_CLI_GENERATE_COMMAND_TREE_H_

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace stint::cli {

/// What a shell can offer as the value of an option or of a positional argument.
enum class ValueKind {
  kNone,       ///< A flag: there is no value.
  kText,       ///< Anything; nothing can be offered.
  kFile,       ///< The type name is FILE.
  kDirectory,  ///< The type name is DIR.
  kChoice,     ///< The type name lists the values: block|allow.
};

/// One option, or one positional argument.
struct Argument {
  /// "--store" and the like, long names first. Empty for a positional argument.
  std::vector<std::string> names;
  /// What stands for the value: DIR, LIMIT=N. Empty for a flag. Of a positional argument its name.
  std::string value;
  std::string description;
  std::string default_value;
  ValueKind kind = ValueKind::kText;
  /// For `kChoice`.
  std::vector<std::string> choices;
  bool required = false;
  /// May be given several times.
  bool repeatable = false;
  /// Several values may follow one name.
  bool takes_many = false;
};

/// A piece of the text below a command's options.
struct HelpSection {
  /// "Exit codes"; empty where the text has no title.
  std::string title;
  /// Without the common indentation.
  std::vector<std::string> lines;
};

struct Command {
  /// Without the program: {} or {"limits", "set"}.
  std::vector<std::string> path;
  std::string description;
  /// Its own; those of the commands above it may be given, too.
  std::vector<Argument> options;
  std::vector<Argument> positionals;
  std::vector<HelpSection> sections;
  std::vector<Command> commands;

  /// "limits set": the path with `separator` between.
  std::string joined(const std::string& separator) const;
};

/// Everything that is not hidden, from `app` down.
Command describe_commands(const CLI::App& app);

}  // namespace stint::cli

#endif  // STINT_CLI_GENERATE_COMMAND_TREE_H_
