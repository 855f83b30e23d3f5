// Lines of any input in bounded memory, with their numbers.
#ifndef STINT_CLI_REPLAY_LINE_READER_H_
#define STINT_CLI_REPLAY_LINE_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cli/replay/byte_source.h"
#include "stint/result.h"

namespace stint::cli {

/// Yields records of one line, which may be extended line by line while a quoted field is open.
/// Line ends are `\n` and `\r\n`; the last line needs none. A byte order mark is dropped.
class LineReader {
 public:
  /// No record is longer; memory stays below twice this plus what one read brings.
  static constexpr std::size_t kMaxRecordBytes = std::size_t{1} << 20;
  /// Bytes after the record that may be read, for parsers that load whole vectors.
  static constexpr std::size_t kPadding = 64;

  enum class Outcome {
    kLine,     ///< `text` holds it.
    kTooLong,  ///< The record is over `max_record_bytes`; its text is not kept.
    kEnd,      ///< There is no further line.
    kFailed,   ///< The input could not be read; see `error`.
  };

  explicit LineReader(ByteSource& source, std::size_t max_record_bytes = kMaxRecordBytes);

  /// Goes to the line after the current record.
  Outcome next();
  /// Adds the following line to the record. On any outcome but `kLine` the record is as before.
  Outcome extend();
  /// Gives up what `extend` added, so that `next` goes to the line after the record's first.
  void keep_first_line();

  /// The record without its final line end. Valid until the next call.
  std::string_view text() const { return {buffer_.data() + start_, text_end_ - start_}; }
  /// Number of the record's first line, counted from 1.
  std::uint64_t line() const { return line_; }
  /// Bytes consumed up to the end of the record.
  std::uint64_t position() const { return offset_ + record_end_; }
  const std::optional<Error>& error() const { return error_; }

 private:
  // The end of the line that starts at `from` including its line end, reading on as needed.
  Outcome find_line_end(std::size_t from, std::size_t& end);
  bool fill();
  Outcome skip_long_line();
  void set_text_end();

  ByteSource& source_;
  std::size_t max_record_bytes_;
  std::vector<char> buffer_;
  std::size_t filled_ = 0;      // bytes of the buffer in use
  std::size_t start_ = 0;       // of the record
  std::size_t first_end_ = 0;   // of its first line, line end included
  std::size_t record_end_ = 0;  // of its last line, line end included
  std::size_t text_end_ = 0;    // of the record without its final line end
  std::uint64_t offset_ = 0;    // of the buffer in the input
  std::uint64_t line_ = 0;
  std::uint64_t lines_ = 0;  // in the record
  bool at_end_ = false;
  bool started_ = false;
  std::optional<Error> error_;
};

}  // namespace stint::cli

#endif  // STINT_CLI_REPLAY_LINE_READER_H_
