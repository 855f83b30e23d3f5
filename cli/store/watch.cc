#include "cli/store/watch.h"

#include <fmt/format.h>

#include <array>

namespace stint::cli {

Watch::Watch(std::ostream& err, bool progress_asked) {
  bool terminal = error_stream_is_terminal();
  if (terminal || progress_asked) line_.emplace(err, terminal);
}

bool Watch::tell(const MaintenanceProgress& progress) {
  if (interrupted()) return false;
  if (phase_ != progress.phase) {
    phase_ = progress.phase;
    started_ = std::chrono::steady_clock::now();
  }
  if (!line_ || !line_->due()) return true;
  std::chrono::duration<double> spent = std::chrono::steady_clock::now() - started_;
  double rate = spent.count() > 0 ? static_cast<double>(progress.done) / spent.count() : 0;
  line_->show(fmt::format("{}: {} ({:.0f}/s)", phase_, progress.done, rate));
  return true;
}

OnProgress Watch::callback() {
  return [this](const MaintenanceProgress& progress) { return tell(progress); };
}

void add_progress_option(CLI::App& command, bool& asked) {
  command.add_flag("--progress", asked,
                   "Tell how far it is also where the error stream is no terminal");
}

std::string problem_line(const StoreProblem& problem) {
  std::string line;
  if (!problem.pk.empty()) line += problem.pk;
  if (!problem.sk.empty()) line += " " + problem.sk;
  if (!line.empty()) line += ": ";
  line += problem.what;
  if (!problem.advice.empty()) line += "; " + problem.advice;
  for (char& c : line) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = '?';
  }
  return line;
}

void write_problem(JsonWriter& json, const StoreProblem& problem) {
  json.begin_object();
  json.member("pk", problem.pk);
  json.member("sk", problem.sk);
  json.member("what", problem.what);
  json.member("advice", problem.advice);
  json.end_object();
}

std::string size_text(double bytes) {
  constexpr std::array kUnits = {"bytes", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < kUnits.size()) {
    bytes /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} bytes", bytes)
                   : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

}  // namespace stint::cli
