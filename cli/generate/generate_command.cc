#include "cli/generate/generate_command.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>

#include "cli/exit_codes.h"
#include "cli/generate/command_tree.h"
#include "cli/generate/completion.h"
#include "cli/generate/man_page.h"
#include "cli/json_writer.h"
#include "stint/version.h"

namespace stint::cli {
namespace {

Result<int> print_completion(const CLI::App& app, const std::string& shell, Globals& globals) {
  const Command program = describe_commands(app);
  std::string script;
  if (shell == "bash") {
    script = bash_completion(program);
  } else if (shell == "zsh") {
    script = zsh_completion(program);
  } else if (shell == "fish") {
    script = fish_completion(program);
  } else {
    return Error::invalid("shell", shell, "must be bash, zsh or fish");
  }
  if (globals.json) {
    JsonWriter json;
    json.begin_object();
    json.member("shell", shell);
    json.member("script", script);
    json.end_object();
    globals.out << json.text() << '\n';
  } else {
    globals.out << script;
  }
  return kExitOk;
}

Result<int> write_man_pages(const CLI::App& app, const std::string& directory, Globals& globals) {
  std::error_code code;
  std::filesystem::create_directories(directory, code);
  const std::vector<ManPage> pages = man_pages(describe_commands(app), version());
  for (const ManPage& page : pages) {
    std::filesystem::path path = std::filesystem::path(directory) / page.file;
    std::ofstream file(path, std::ios::binary);
    file << page.text;
    file.close();
    if (!file) {
      return Error(ErrorCode::kUnavailable, "cannot write \"" + path.string() + "\"");
    }
    if (!globals.json) globals.out << path.string() << '\n';
  }
  if (globals.json) {
    JsonWriter json;
    json.begin_object();
    json.key("pages");
    json.begin_array();
    for (const ManPage& page : pages) json.value(page.file);
    json.end_array();
    json.end_object();
    globals.out << json.text() << '\n';
  }
  return kExitOk;
}

}  // namespace

void add_completion_command(CLI::App& app, Globals& globals) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = add_subcommand(
      app, "completion", "Print a script that teaches a shell to complete commands and options",
      "stint completion bash > ~/.local/share/bash-completion/completions/stint\n"
      "  stint completion zsh > ~/.zfunc/_stint  # a folder of fpath\n"
      "  stint completion fish > ~/.config/fish/completions/stint.fish");
  command->add_option("SHELL", *shell, "The shell")->type_name("bash|zsh|fish")->required();
  command->callback([&app, &globals, shell] {
    globals.action = [&app, &globals, shell] { return print_completion(app, *shell, globals); };
  });
}

void add_help_man_command(CLI::App& app, Globals& globals) {
  auto directory = std::make_shared<std::string>();
  CLI::App* command = add_subcommand(app, "help-man", "Write the manual pages into a folder",
                                     "stint help-man man/man1");
  command->group("");  // not in --help: the build calls it
  command->add_option("DIRECTORY", *directory, "Where to")->type_name("DIR")->required();
  command->callback([&app, &globals, directory] {
    globals.action = [&app, &globals, directory] {
      return write_man_pages(app, *directory, globals);
    };
  });
}

}  // namespace stint::cli
