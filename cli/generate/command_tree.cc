#include "cli/generate/command_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

namespace stint::cli {
namespace {

bool is_choice_character(char c) {
  return std::islower(static_cast<unsigned char>(c)) != 0 ||
         std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// The values of "block|allow"; none where the type name is another text.
std::vector<std::string> choices_of(const std::string& type_name) {
  std::vector<std::string> choices = split(type_name, '|');
  bool all_words = std::all_of(choices.begin(), choices.end(), [](const std::string& choice) {
    return !choice.empty() && std::all_of(choice.begin(), choice.end(), is_choice_character);
  });
  return all_words && choices.size() > 1 ? choices : std::vector<std::string>();
}

Argument describe_argument(const CLI::Option& option) {
  Argument argument;
  for (const std::string& name : option.get_lnames()) argument.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) argument.names.push_back("-" + name);
  argument.description = option.get_description();
  argument.default_value = option.get_default_str();
  argument.required = option.get_required();
  const bool is_flag = option.get_expected_max() == 0;
  const std::string type_name = option.get_type_name();
  argument.repeatable = !is_flag && option.get_items_expected_max() > 1;
  if (is_flag) {
    argument.kind = ValueKind::kNone;
    return argument;
  }
  argument.choices = choices_of(type_name);
  if (!argument.choices.empty()) {
    argument.kind = ValueKind::kChoice;
  } else if (type_name == "FILE") {
    argument.kind = ValueKind::kFile;
  } else if (type_name == "DIR" || type_name == "STORE") {
    argument.kind = ValueKind::kDirectory;
  }
  if (argument.names.empty()) {
    argument.value = option.get_name(true);
    argument.takes_many = argument.repeatable;
    return argument;
  }
  argument.value = type_name;
  // add_amounts_option says so in the type name, since `run` lets several follow one name.
  constexpr std::string_view kMany = " ...";
  if (type_name.size() > kMany.size() &&
      type_name.compare(type_name.size() - kMany.size(), kMany.size(), kMany) == 0) {
    argument.value.resize(type_name.size() - kMany.size());
    argument.takes_many = true;
  }
  return argument;
}

std::vector<HelpSection> sections_of(const std::string& footer) {
  std::vector<HelpSection> sections;
  bool open = false;
  for (const std::string& line : split(footer, '\n')) {
    if (line.empty()) {
      open = false;
      continue;
    }
    const bool indented = line.front() == ' ';
    if (!open && !indented && line.back() == ':') {
      sections.push_back({line.substr(0, line.size() - 1), {}});
      open = true;
      continue;
    }
    if (!open) {
      sections.push_back({"", {}});
      open = true;
    }
    const bool titled = !sections.back().title.empty();
    sections.back().lines.push_back(titled && line.starts_with("  ") ? line.substr(2) : line);
  }
  return sections;
}

Command describe(const CLI::App& app, std::vector<std::string> path) {
  Command command;
  command.path = std::move(path);
  command.description = app.get_description();
  command.sections = sections_of(app.get_footer());
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    Argument argument = describe_argument(*option);
    (argument.names.empty() ? command.positionals : command.options).push_back(argument);
  }
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (below->get_group().empty()) continue;
    std::vector<std::string> longer = command.path;
    longer.push_back(below->get_name());
    command.commands.push_back(describe(*below, std::move(longer)));
  }
  return command;
}

}  // namespace

std::string Command::joined(const std::string& separator) const {
  return fmt::format("{}", fmt::join(path, separator));
}

Command describe_commands(const CLI::App& app) { return describe(app, {}); }

}  // namespace stint::cli
