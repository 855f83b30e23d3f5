// A record of recorded traffic before its fields are understood.
#ifndef STINT_CLI_REPLAY_ROW_H_
#define STINT_CLI_REPLAY_ROW_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/replay/byte_source.h"
#include "cli/replay/line_reader.h"
#include "stint/result.h"

namespace stint::cli {

enum class TrafficFormat {
  kCsv,        ///< RFC 4180 with a header line.
  kJsonLines,  ///< One JSON object on a line.
  kCombined,   ///< A web server's log: fields `client`, `time`, `path`, `status`, `bytes`.
};

/// One record. The views are valid until the reader's next call.
struct Row {
  struct Amount {
    std::string_view limit;
    std::string_view tokens;
  };

  /// Number of its first line, counted from 1 with the header.
  std::uint64_t line = 0;
  /// One per requested field, in the order requested; nothing where the record has none.
  std::vector<std::optional<std::string_view>> fields;
  /// The record's own amounts (JSON lines only), if they were requested.
  std::vector<Amount> consume;
  /// Why the record is malformed, after `kMalformed`; or why the input cannot be read.
  std::string problem;
};

/// Splits an input into records.
class RowReader {
 public:
  enum class Outcome {
    kRow,
    kMalformed,  ///< One record could not be read; the next call goes on after it.
    kEnd,
    kFailed,  ///< The input cannot be read further.
  };
  virtual ~RowReader() = default;
  virtual Outcome next(Row& row) = 0;
  /// Bytes of input consumed.
  virtual std::uint64_t position() const = 0;
};

/// What it means for the record that `lines` answered `outcome`, with `problem` saying why; nothing
/// when there is a line.
std::optional<RowReader::Outcome> without_line(LineReader::Outcome outcome, const LineReader& lines,
                                               std::string& problem);

/// A reader that yields the named fields. `own_amounts`: also the object `consume` of JSON lines.
/// Errors: `kInvalidArgument` when the format has no such field, or the input no header.
Result<std::unique_ptr<RowReader>> make_row_reader(TrafficFormat format, ByteSource& source,
                                                   const std::vector<std::string>& fields,
                                                   bool own_amounts);

Result<std::unique_ptr<RowReader>> make_csv_reader(ByteSource& source,
                                                   const std::vector<std::string>& fields);
std::unique_ptr<RowReader> make_json_lines_reader(ByteSource& source,
                                                  const std::vector<std::string>& fields,
                                                  bool own_amounts);
Result<std::unique_ptr<RowReader>> make_combined_reader(ByteSource& source,
                                                        const std::vector<std::string>& fields);

}  // namespace stint::cli

#endif  // STINT_CLI_REPLAY_ROW_H_
