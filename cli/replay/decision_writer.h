// One JSON line per decision, so that two policies can be compared.
#ifndef STINT_CLI_REPLAY_DECISION_WRITER_H_
#define STINT_CLI_REPLAY_DECISION_WRITER_H_

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "stint/decision.h"
#include "stint/result.h"
#include "stint/time.h"

namespace stint::cli {

/// A declared limit as one decision left it. The status is the entity's own, or its parent's where
/// only the parent has the limit; absent when access policy decided.
struct DeclaredOutcome {
  std::string_view limit;
  const LimitStatus* status = nullptr;
  /// This limit, on whichever bucket, refused the request.
  bool exceeded = false;
};

struct WrittenDecision {
  std::uint64_t line;
  TimePoint time;
  std::string_view entity;
  std::string_view resource;
  bool admitted;
  bool disabled;
  std::optional<Millis> retry_after;
  std::span<const DeclaredOutcome> limits;
};

/// Appends the line of one decision. Ids and limit names must have passed validation: they hold
/// nothing that JSON escapes.
void append_decision(std::string& text, const WrittenDecision& decision);

/// Writes decisions to a file, in pieces of its own size.
class DecisionWriter {
 public:
  /// Creates the file or empties it. Errors: `kInvalidArgument` when that is impossible.
  static Result<std::unique_ptr<DecisionWriter>> open(const std::string& path);

  void write(const WrittenDecision& decision);
  /// Writes what is left and closes the file. Errors: `kInvalidArgument` when anything since `open`
  /// could not be written.
  Status finish();

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  DecisionWriter(std::string path, std::FILE* file);
  void flush();

  std::string path_;
  std::unique_ptr<std::FILE, CloseFile> file_;
  std::string buffer_;
  int error_number_ = 0;
};

}  // namespace stint::cli

#endif  // STINT_CLI_REPLAY_DECISION_WRITER_H_
