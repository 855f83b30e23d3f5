#include "cli/replay/row.h"

namespace stint::cli {

std::optional<RowReader::Outcome> without_line(LineReader::Outcome outcome, const LineReader& lines,
                                               std::string& problem) {
  switch (outcome) {
    case LineReader::Outcome::kLine: return std::nullopt;
    case LineReader::Outcome::kEnd: return RowReader::Outcome::kEnd;
    case LineReader::Outcome::kFailed:
      problem = lines.error()->message();
      return RowReader::Outcome::kFailed;
    case LineReader::Outcome::kTooLong: break;
  }
  problem = "is longer than " + std::to_string(LineReader::kMaxRecordBytes) + " bytes";
  return RowReader::Outcome::kMalformed;
}

Result<std::unique_ptr<RowReader>> make_row_reader(TrafficFormat format, ByteSource& source,
                                                   const std::vector<std::string>& fields,
                                                   bool own_amounts) {
  switch (format) {
    case TrafficFormat::kCsv: return make_csv_reader(source, fields);
    case TrafficFormat::kJsonLines: return make_json_lines_reader(source, fields, own_amounts);
    case TrafficFormat::kCombined: return make_combined_reader(source, fields);
  }
  return Error::invalid("format", "", "unknown");
}

}  // namespace stint::cli
