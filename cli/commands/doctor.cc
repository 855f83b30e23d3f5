// stint doctor
#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/json_writer.h"
#include "stint/dynamodb.h"

namespace stint::cli {
namespace {

struct DoctorArguments {};

struct VerdictWords {
  std::string_view json;
  std::string_view text;
  std::optional<Colour> colour;
};

VerdictWords words_of(Diagnosis::Verdict verdict) {
  switch (verdict) {
    case Diagnosis::Verdict::kGood: return {"good", "ok", Colour::kGreen};
    case Diagnosis::Verdict::kWarning: return {"warning", "warning", Colour::kYellow};
    case Diagnosis::Verdict::kBad: return {"bad", "BAD", Colour::kRed};
    case Diagnosis::Verdict::kSkipped: return {"skipped", "skipped", std::nullopt};
  }
  return {"bad", "BAD", std::nullopt};
}

void print_json(Globals& globals, const std::string& table, const std::vector<Diagnosis>& diagnoses,
                bool good) {
  JsonWriter json;
  json.begin_object();
  json.member("table", table);
  json.member("good", good);
  json.key("questions");
  json.begin_array();
  for (const Diagnosis& diagnosis : diagnoses) {
    json.begin_object();
    json.member("question", diagnosis.question);
    json.member("verdict", words_of(diagnosis.verdict).json);
    json.member("finding", diagnosis.finding);
    json.member("remedy", diagnosis.remedy);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  globals.out << json.text() << '\n';
}

Result<int> run_doctor(const DoctorArguments&, Globals& globals) {
  Result<DynamoDbOptions> dynamodb = globals.table_options();
  if (!dynamodb) return dynamodb.error();
  std::vector<Diagnosis> diagnoses = diagnose_dynamodb(*dynamodb);
  bool good = std::none_of(diagnoses.begin(), diagnoses.end(), [](const Diagnosis& diagnosis) {
    return diagnosis.verdict == Diagnosis::Verdict::kBad;
  });
  if (globals.json) {
    print_json(globals, dynamodb->table, diagnoses, good);
  } else {
    Table rows({Table::Align::kLeft, Table::Align::kLeft, Table::Align::kLeft});
    for (const Diagnosis& diagnosis : diagnoses) {
      VerdictWords words = words_of(diagnosis.verdict);
      std::string text = diagnosis.finding;
      if (!diagnosis.remedy.empty()) text += "; " + diagnosis.remedy;
      Table::Cell verdict{std::string(words.text)};
      verdict.colour = words.colour;
      rows.add({diagnosis.question, std::move(verdict), std::move(text)});
    }
    globals.out << rows.text(globals.terminal, "");
  }
  return good ? kExitOk : kExitProblems;
}

}  // namespace

void add_doctor_command(CLI::App& app, Globals& globals) {
  CLI::App* doctor = add_subcommand(
      app, "doctor",
      "Look for what keeps a limiter from using its DynamoDB table, and say what to do",
      "stint doctor --store 'dynamodb://limits?region=eu-central-1'\n\nOne line a question, with "
      "ok, "
      "warning or BAD, and the remedy. Exit code 7 where anything is BAD.\nWrites one item of its "
      "own and removes it, to see whether it may.");
  set_action(*doctor, std::make_shared<DoctorArguments>(), globals, run_doctor);
}

}  // namespace stint::cli
