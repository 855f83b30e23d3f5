// A file of exported items that appears whole or not at all, and can be gone on with.
#ifndef STINT_CLI_STORE_EXPORT_FILE_H_
#define STINT_CLI_STORE_EXPORT_FILE_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "stint/result.h"

namespace stint::cli {

/// How far an export is, and of what.
struct ExportState {
  std::string store;      // as named
  std::string form;       // the option --for
  std::string position;   // in the store; empty: at the beginning, or at the end where complete
  bool complete = false;  // all is in the file, which has not got its name yet
  std::uint64_t bytes = 0;
  std::uint64_t items = 0;
  std::uint64_t unreadable = 0;
};

/// Written as "FILE.unfinished" and renamed at the end. "FILE.position" says beside it up to where
/// the unfinished file is sound; it is brought to the disk after what it speaks of, every few
/// seconds. The unfinished file is locked while it is written.
class ExportFile {
 public:
  /// Begins. Errors: `kExists` for a file or an unfinished one, unless `replace`;
  /// `kUnavailable` while another export writes it; `kInvalidArgument` when it cannot be written.
  static Result<ExportFile> create(const std::string& path, const std::string& store,
                                   const std::string& form, bool replace);
  /// Goes on where the position says. Errors: `kNotFound` without an unfinished export;
  /// `kUnavailable` while another export writes it; `kInvalidArgument` when it was of another store
  /// or form, or its file has been changed.
  static Result<ExportFile> resume(const std::string& path, const std::string& store,
                                   const std::string& form);
  ExportFile(ExportFile&& other) noexcept;
  ExportFile& operator=(ExportFile&&) = delete;
  ~ExportFile();

  const ExportState& state() const { return state_; }

  /// Appends whole lines; `position` is where the store stands behind them. Now and then makes that
  /// the place to go on from.
  Status append(std::string_view lines, const std::string& position, std::uint64_t items,
                std::uint64_t unreadable);
  /// Makes the present place the one to go on from.
  Status keep_position();
  /// Gives the file its name.
  Status finish();

 private:
  ExportFile(std::string path, int descriptor, ExportState state);

  std::string path_;
  int descriptor_;
  ExportState state_;
  Digest digest_;  // of the bytes so far
  std::chrono::steady_clock::time_point next_keep_;
};

}  // namespace stint::cli

#endif  // STINT_CLI_STORE_EXPORT_FILE_H_
