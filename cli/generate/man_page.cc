#include "cli/generate/man_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace stint::cli {
namespace {

// Text for roff. Hyphens are those of commands, which are copied; a line that begins with a dot or
// a quote would be an instruction.
std::string escaped(std::string_view text) {
  std::string result;
  if (!text.empty() && (text.front() == '.' || text.front() == '\'')) result += "\\&";
  for (char c : text) {
    switch (c) {
      case '\\': result += "\\e"; break;
      case '-': result += "\\-"; break;
      case '\'': result += "\\(aq"; break;
      case '`': result += "\\(ga"; break;
      case '^': result += "\\(ha"; break;
      case '~': result += "\\(ti"; break;
      default: result += c;
    }
  }
  return result;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

// The title that readers of manual pages look for.
std::string page_title(const std::string& title) {
  if (title == "Exit codes") return "EXIT STATUS";
  if (title == "Example") return "EXAMPLES";
  if (title.empty()) return "NOTES";
  return upper(title);
}

// Where the meaning begins in "name  meaning"; npos where a line continues the one above.
std::size_t second_column(const std::string& line) {
  if (line.empty() || line.front() == ' ') return std::string::npos;
  return line.find_first_not_of(' ', line.find(' '));
}

std::string bold_command(const Command& command) {
  return "stint" + (command.path.empty() ? "" : " " + command.joined(" "));
}

void append_lines(std::string& out, const HelpSection& section) {
  const bool is_table = section.title == "Exit codes" || section.title == "Environment";
  // Text without a title is made of paragraphs, unless some of its lines are set in columns.
  const bool is_text =
      section.title.empty() &&
      std::all_of(section.lines.begin(), section.lines.end(),
                  [](const std::string& line) { return line.find("  ") == std::string::npos; });
  if (!is_table && !is_text) {
    out += ".EX\n";
    for (const std::string& line : section.lines) out += escaped(line) + "\n";
    out += ".EE\n";
    return;
  }
  for (const std::string& line : section.lines) {
    std::size_t column = is_table ? second_column(line) : std::string::npos;
    if (column == std::string::npos) {
      out += escaped(line.substr(line.find_first_not_of(' '))) + "\n";
      continue;
    }
    std::string name = line.substr(0, line.find(' '));
    out += fmt::format(".TP\n.B {}\n{}\n", escaped(name), escaped(line.substr(column)));
  }
}

void append_sections(std::string& out, const std::vector<HelpSection>& sections,
                     const char* heading) {
  std::string last;
  for (const HelpSection& section : sections) {
    const std::string title = page_title(section.title);
    // Paragraphs that follow each other share a heading.
    out += title == last ? ".PP\n" : fmt::format("{} {}\n", heading, title);
    append_lines(out, section);
    last = title;
  }
}

void append_argument(std::string& out, const Argument& argument) {
  out += ".TP\n";
  if (argument.names.empty()) {
    out += fmt::format(".I {}\n", escaped(argument.value));
  } else {
    std::string names = escaped(fmt::format("{}", fmt::join(argument.names, ", ")));
    if (argument.value.empty()) {
      out += fmt::format(".B {}\n", names);
    } else {
      out += fmt::format(".BI \"{} \" \"{}{}\"\n", names, escaped(argument.value),
                         argument.takes_many ? " ..." : "");
    }
  }
  std::string text = argument.description;
  if (!text.empty() && text.back() != '.') text += '.';
  if (!argument.default_value.empty()) text += " Default: " + argument.default_value + ".";
  if (argument.required && !argument.names.empty()) text += " Required.";
  if (!argument.choices.empty()) {
    text += fmt::format(" One of {}.", fmt::join(argument.choices, ", "));
  }
  out += escaped(text) + "\n";
}

void append_arguments(std::string& out, const Command& command, const char* heading) {
  if (!command.positionals.empty()) {
    out += fmt::format("{} ARGUMENTS\n", heading);
    for (const Argument& argument : command.positionals) append_argument(out, argument);
  }
  if (!command.options.empty()) {
    out += fmt::format("{} OPTIONS\n", heading);
    for (const Argument& argument : command.options) append_argument(out, argument);
  }
}

std::string synopsis(const Command& command) {
  std::string out = fmt::format(".SY \"{}\"\n", escaped(bold_command(command)));
  if (!command.commands.empty()) {
    return out + ".RI [ options ]\n.I COMMAND\n\\&...\n.YS\n";
  }
  for (const Argument& argument : command.positionals) {
    std::string shown = escaped(argument.value) + (argument.takes_many ? " ..." : "");
    out += argument.required ? fmt::format(".I \"{}\"\n", shown)
                             : fmt::format(".RI [ \"{}\" ]\n", shown);
  }
  for (const Argument& option : command.options) {
    if (!option.required) continue;
    out += fmt::format(".BI \"{} \" \"{}{}\"\n", escaped(option.names.front()),
                       escaped(option.value), option.takes_many ? " ..." : "");
  }
  return out + ".RI [ options ]\n.YS\n";
}

std::string head(const std::string& name, const std::string& description,
                 std::string_view version) {
  std::string brief = description;
  if (!brief.empty()) brief.front() = static_cast<char>(std::tolower(brief.front()));
  return fmt::format(
      ".\\\" Made by `stint help-man` from what --help says.\n"
      ".TH {} 1 \"\" \"stint {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n",
      upper(escaped(name)), version, escaped(name), escaped(brief));
}

// Parts of the program's help that hold for every command.
std::vector<HelpSection> common_sections(const Command& program) {
  std::vector<HelpSection> common;
  for (const HelpSection& section : program.sections) {
    if (section.title == "Exit codes" || section.title == "Environment") common.push_back(section);
  }
  return common;
}

ManPage program_page(const Command& program, std::string_view version) {
  std::string out = head("stint", "rate limits and quotas shared by many processes", version);
  out += ".SH SYNOPSIS\n" + synopsis(program);
  out += fmt::format(".SH DESCRIPTION\n{}\n.SH COMMANDS\n", escaped(program.description));
  for (const Command& command : program.commands) {
    out += fmt::format(".TP\n.BR stint\\-{} (1)\n{}.\n", escaped(command.path.back()),
                       escaped(command.description));
  }
  append_arguments(out, program, ".SH");
  append_sections(out, program.sections, ".SH");
  out += ".SH SEE ALSO\n";
  for (const Command& command : program.commands) {
    out += fmt::format(".BR stint\\-{} (1){}\n", escaped(command.path.back()),
                       &command == &program.commands.back() ? "" : ",");
  }
  return {"stint.1", out};
}

void append_command(std::string& out, const Command& command) {
  out += fmt::format(".SH \"{}\"\n", upper(escaped(bold_command(command))));
  out += escaped(command.description) + ".\n" + synopsis(command);
  append_arguments(out, command, ".SS");
  append_sections(out, command.sections, ".SS");
  for (const Command& below : command.commands) append_command(out, below);
}

ManPage command_page(const Command& program, const Command& command, std::string_view version) {
  std::string name = "stint-" + command.joined("-");
  std::string out = head(name, command.description, version);
  out += ".SH SYNOPSIS\n";
  for (const Command& below : command.commands) out += synopsis(below);
  if (command.commands.empty()) out += synopsis(command);
  out += fmt::format(".SH DESCRIPTION\n{}.\n", escaped(command.description));
  append_arguments(out, command, ".SH");
  out += ".PP\nOptions of every command are in\n.BR stint (1).\n";
  append_sections(out, command.sections, ".SH");
  for (const Command& below : command.commands) append_command(out, below);
  append_sections(out, common_sections(program), ".SH");
  out += ".SH SEE ALSO\n.BR stint (1)\n";
  return {name + ".1", out};
}

}  // namespace

std::vector<ManPage> man_pages(const Command& program, std::string_view version) {
  std::vector<ManPage> pages{program_page(program, version)};
  for (const Command& command : program.commands) {
    pages.push_back(command_page(program, command, version));
  }
  return pages;
}

}  // namespace stint::cli
