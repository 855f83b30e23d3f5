#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "cli/run.h"
#include "cli/terminal.h"

int main(int count, char** arguments) {
  std::vector<std::string> command_line(arguments + 1, arguments + count);
  return stint::cli::run(std::move(command_line), std::cout, std::cerr,
                         stint::cli::Terminal::detect(STDOUT_FILENO));
}
