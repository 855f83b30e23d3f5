#include "cli/generate/completion.h"

#include <fmt/format.h>

#include <functional>
#include <string_view>
#include <vector>

namespace stint::cli {
namespace {

// A word in single quotes. Fish alone reads backslashes there.
std::string shell_word(std::string_view text, bool fish = false) {
  std::string result = "'";
  for (char c : text) {
    if (c == '\'') {
      result += fish ? "\\'" : "'\\''";
    } else if (c == '\\' && fish) {
      result += "\\\\";
    } else {
      result += c;
    }
  }
  return result + "'";
}

// Calls `visit` with each command and all options that it takes, those of the commands above it
// included.
void walk(const Command& command, std::vector<const Argument*> options,
          const std::function<void(const Command&, const std::vector<const Argument*>&)>& visit) {
  // --help and --version of the command above are its own affair.
  std::vector<const Argument*> inherited;
  for (const Argument* option : options) {
    if (option->names.front() != "--help" && option->names.front() != "--version") {
      inherited.push_back(option);
    }
  }
  for (const Argument& option : command.options) inherited.push_back(&option);
  visit(command, inherited);
  for (const Command& below : command.commands) walk(below, inherited, visit);
}

std::string names_of(const std::vector<Command>& commands) {
  std::string names;
  for (const Command& command : commands) {
    if (!names.empty()) names += ' ';
    names += command.path.back();
  }
  return names;
}

// How the bash script is told what can stand in a place.
std::string bash_kind(const Argument& argument) {
  switch (argument.kind) {
    case ValueKind::kNone: return "none";
    case ValueKind::kText: return argument.takes_many ? "many" : "text";
    case ValueKind::kFile: return "file";
    case ValueKind::kDirectory: return "directory";
    case ValueKind::kChoice: return fmt::format("choice {}", fmt::join(argument.choices, " "));
  }
  return "text";
}

constexpr std::string_view kBashTail = R"bash(
# Offers what fits the word: the kind of place, and the word so far.
_stint_offer() {
  case $1 in
    file) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$2") ;;
    directory) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$2") ;;
    choice\ *) mapfile -t COMPREPLY < <(compgen -W "${1#choice }" -- "$2") ;;
  esac
}

_stint() {
  local word=${COMP_WORDS[COMP_CWORD]} path= place=0 pending= kind i given ended=
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    given=${COMP_WORDS[i]}
    # Readline cuts words at "=".
    if [[ $given == = ]]; then
      [[ $pending == many ]] && ((i + 1 < COMP_CWORD)) && ((i++))
      continue
    fi
    if [[ -z $ended && $given == -- ]]; then
      ended=yes pending=
    elif [[ -z $ended && $given == -* ]]; then
      pending=$(_stint_value "$path" "$given")
      [[ $pending == none ]] && pending=
    elif [[ $pending == many && ( ${COMP_WORDS[i + 1]} == = || $given == *=* ) ]]; then
      continue
    elif [[ -n $pending && $pending != many ]]; then
      pending=
    else
      pending=
      if [[ " $(_stint_commands "$path") " == *" $given "* ]]; then
        path=${path:+$path }$given
      else
        ((place++))
      fi
    fi
  done
  if [[ $word == = ]]; then word=; fi

  if [[ -n $pending && $pending != many ]]; then
    _stint_offer "$pending" "$word"
  elif [[ -z $ended && $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_stint_options "$path")" -- "$word")
  elif [[ -n $(_stint_commands "$path") ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_stint_commands "$path")" -- "$word")
  else
    _stint_offer "$(_stint_place "$path" "$place")" "$word"
  fi
}

complete -F _stint stint
)bash";

// Text inside the brackets or after the colon of a specification for _arguments.
std::string zsh_escaped(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string zsh_action(const Argument& argument) {
  switch (argument.kind) {
    case ValueKind::kNone: return "";
    case ValueKind::kText: return " ";
    case ValueKind::kFile: return "_files";
    case ValueKind::kDirectory: return "_files -/";
    case ValueKind::kChoice: return fmt::format("({})", fmt::join(argument.choices, " "));
  }
  return " ";
}

std::string zsh_function(const Command& command) {
  std::string name = command.joined("_");
  return name.empty() ? "_stint" : "_stint_" + name;
}

// fish: conditions under which a command's completions are offered.
std::string fish_condition(const Command& command) {
  if (command.path.empty()) return "__fish_use_subcommand";
  std::string condition;
  for (const std::string& name : command.path) {
    if (!condition.empty()) condition += "; and ";
    condition += "__fish_seen_subcommand_from " + name;
  }
  return condition;
}

void append_fish_argument(std::string& out, const Argument& argument) {
  switch (argument.kind) {
    case ValueKind::kNone: break;
    case ValueKind::kText: out += " -x"; break;
    case ValueKind::kFile: out += " -r -F"; break;
    case ValueKind::kDirectory: out += " -x -a '(__fish_complete_directories)'"; break;
    case ValueKind::kChoice:
      out += fmt::format(" -x -a '{}'", fmt::join(argument.choices, " "));
      break;
  }
}

}  // namespace

std::string bash_completion(const Command& program) {
  std::string commands;
  std::string options;
  std::string values;
  std::string places;
  walk(program, {}, [&](const Command& command, const std::vector<const Argument*>& all) {
    const std::string path = command.joined(" ");
    if (!command.commands.empty()) {
      commands += fmt::format("    {}) echo {} ;;\n", shell_word(path),
                              shell_word(names_of(command.commands)));
    }
    std::string names;
    for (const Argument* option : all) {
      // Short names are typed faster than completed.
      if (!names.empty()) names += ' ';
      names += option->names.front();
      for (const std::string& name : option->names) {
        if (option->kind == ValueKind::kNone) continue;
        values += fmt::format("    {}) echo {} ;;\n", shell_word(path + " " + name),
                              shell_word(bash_kind(*option)));
      }
    }
    options += fmt::format("    {}) echo {} ;;\n", shell_word(path), shell_word(names));
    for (std::size_t i = 0; i < command.positionals.size(); ++i) {
      const Argument& positional = command.positionals[i];
      const bool rest = positional.takes_many && i + 1 == command.positionals.size();
      places += fmt::format("    {}{}) echo {} ;;\n", shell_word(fmt::format("{} {}", path, i)),
                            rest ? fmt::format(" | {}*", shell_word(path + " ")) : "",
                            shell_word(bash_kind(positional)));
    }
  });
  std::string script = "# Completion of stint for bash, made by `stint completion bash`.\n";
  auto add_function = [&](const char* comment, const char* name, const char* subject,
                          const std::string& cases, const char* otherwise) {
    script += fmt::format("\n# {}\n{}() {{\n  case \"{}\" in\n{}{}  esac\n}}\n", comment, name,
                          subject, cases, otherwise);
  };
  add_function("Commands below a command.", "_stint_commands", "$1", commands, "");
  add_function("Options of a command.", "_stint_options", "$1", options, "");
  add_function("What follows an option of a command.", "_stint_value", "$1 $2", values,
               "    *) echo none ;;\n");
  add_function("What the positional argument of a number, from 0, is.", "_stint_place", "$1 $2",
               places, "");
  return script + std::string(kBashTail);
}

std::string zsh_completion(const Command& program) {
  std::string script =
      "#compdef stint\n# Completion of stint for zsh, made by `stint completion zsh`.\n";
  walk(program, {}, [&](const Command& command, const std::vector<const Argument*>& all) {
    std::string specs;
    auto add = [&](const std::string& spec) { specs += " \\\n    " + shell_word(spec); };
    for (const Argument* option : all) {
      for (const std::string& name : option->names) {
        const std::string shown = zsh_escaped(option->value);
        add(fmt::format(
            "{}{}[{}]{}", option->repeatable ? "*" : "", name, zsh_escaped(option->description),
            option->kind == ValueKind::kNone ? ""
                                             : fmt::format(":{}:{}", shown, zsh_action(*option))));
      }
    }
    script += fmt::format("\n{}() {{\n", zsh_function(command));
    if (command.commands.empty()) {
      for (const Argument& positional : command.positionals) {
        add(fmt::format("{}:{}:{}", positional.takes_many ? "*" : "", zsh_escaped(positional.value),
                        zsh_action(positional)));
      }
      script += fmt::format("  _arguments -s{}\n}}\n", specs);
      return;
    }
    add("1: :->command");
    add("*:: :->rest");
    script += fmt::format("  local line state\n  _arguments -s -C{}\n  case $state in\n", specs);
    script += "    command)\n      local -a commands=(\n";
    for (const Command& below : command.commands) {
      script += fmt::format(
          "        {}\n",
          shell_word(fmt::format("{}:{}", below.path.back(), zsh_escaped(below.description))));
    }
    script += "      )\n      _describe command commands ;;\n    rest)\n      case $line[1] in\n";
    for (const Command& below : command.commands) {
      script += fmt::format("        {}) {} ;;\n", below.path.back(), zsh_function(below));
    }
    script += "      esac ;;\n  esac\n}\n";
  });
  return script +
         "\nif [[ $funcstack[1] == _stint ]]; then _stint \"$@\"; else "
         "compdef _stint stint; fi\n";
}

std::string fish_completion(const Command& program) {
  std::string script =
      "# Completion of stint for fish, made by `stint completion fish`.\n"
      "complete -c stint -f\n";
  walk(program, {}, [&](const Command& command, const std::vector<const Argument*>&) {
    const std::string condition = fish_condition(command);
    if (!command.commands.empty()) {
      std::string here = condition;
      if (!command.path.empty()) {
        here += "; and not __fish_seen_subcommand_from " + names_of(command.commands);
      }
      for (const Command& below : command.commands) {
        script += fmt::format("complete -c stint -n {} -a {} -d {}\n", shell_word(here, true),
                              below.path.back(), shell_word(below.description, true));
      }
    }
    for (const Argument& option : command.options) {
      // Options of the program stand before or after any command.
      std::string line = "complete -c stint";
      if (!command.path.empty()) line += fmt::format(" -n {}", shell_word(condition, true));
      for (const std::string& name : option.names) {
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      append_fish_argument(line, option);
      script += fmt::format("{} -d {}\n", line, shell_word(option.description, true));
    }
    for (const Argument& positional : command.positionals) {
      if (positional.kind != ValueKind::kFile && positional.kind != ValueKind::kChoice) continue;
      std::string line = fmt::format("complete -c stint -n {}", shell_word(condition, true));
      if (positional.kind == ValueKind::kFile) {
        line += " -F";
      } else {
        line += fmt::format(" -a '{}'", fmt::join(positional.choices, " "));
      }
      script += line + "\n";
    }
  });
  return script;
}

}  // namespace stint::cli
