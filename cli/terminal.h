// What the output can show.
#ifndef STINT_CLI_TERMINAL_H_
#define STINT_CLI_TERMINAL_H_

#include <string>
#include <string_view>

namespace stint::cli {

enum class Colour { kGreen, kYellow, kRed, kBold };

/// Whether text may hold colours and characters beyond ASCII.
struct Terminal {
  bool colours = false;
  bool unicode = false;

  /// Looks at a file descriptor and the environment: colours only on a terminal that is not "dumb"
  /// and without NO_COLOR; Unicode where the locale's encoding is UTF-8.
  static Terminal detect(int file_descriptor);

  /// The text, in a colour if colours may be used.
  std::string paint(Colour colour, std::string_view text) const;
};

/// The text as one word of a POSIX shell.
std::string shell_quoted(std::string_view text);

}  // namespace stint::cli

#endif  // STINT_CLI_TERMINAL_H_
