#include "cli/replay/row.h"

namespace stint::cli {

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
