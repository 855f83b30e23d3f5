// Manual pages.
#ifndef STINT_CLI_GENERATE_MAN_PAGE_H_
#define STINT_CLI_GENERATE_MAN_PAGE_H_

#include <string>
#include <string_view>
#include <vector>

#include "cli/generate/command_tree.h"

namespace stint::cli {

struct ManPage {
  /// "stint.1"
  std::string file;
  /// In the language of man(7).
  std::string text;
};

/// A page for the program and one for each command right below it, which also tells of the commands
/// below that. They say what --help says, and hold no date, so that the same program always makes
/// the same pages.
std::vector<ManPage> man_pages(const Command& program, std::string_view version);

}  // namespace stint::cli

#endif  // STINT_CLI_GENERATE_MAN_PAGE_H_
