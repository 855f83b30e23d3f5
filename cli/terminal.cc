#include "cli/terminal.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace stint::cli {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

// Of the variables that name a locale the first that is set counts, as for the C library.
bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string locale(variable(name));
    if (locale.empty()) continue;
    // Spelled "de_DE.UTF-8", "C.utf8", ...
    locale.erase(std::remove(locale.begin(), locale.end(), '-'), locale.end());
    for (char& c : locale) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return locale.find(".utf8") != std::string::npos;
  }
  return false;
}

}  // namespace

Terminal Terminal::detect(int file_descriptor) {
  Terminal terminal;
  terminal.unicode = locale_is_utf8();
  // The convention of NO_COLOR: present and not empty.
  terminal.colours = isatty(file_descriptor) == 1 && variable("NO_COLOR").empty() &&
                     variable("TERM") != "dumb" && !variable("TERM").empty();
  return terminal;
}

std::string Terminal::paint(Colour colour, std::string_view text) const {
  if (!colours) return std::string(text);
  std::string_view code;
  switch (colour) {
    case Colour::kGreen: code = "32"; break;
    case Colour::kYellow: code = "33"; break;
    case Colour::kRed: code = "31"; break;
    case Colour::kBold: code = "1"; break;
  }
  std::string painted = "\x1b[";
  painted += code;
  painted += 'm';
  painted += text;
  painted += "\x1b[0m";
  return painted;
}

std::string shell_quoted(std::string_view text) {
  std::string quoted = "'";
  for (char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace stint::cli
