// What the program's exit status says. Part of the documented interface.
#ifndef STINT_CLI_EXIT_CODES_H_
#define STINT_CLI_EXIT_CODES_H_

#include "stint/decision.h"
#include "stint/result.h"

namespace stint::cli {

inline constexpr int kExitOk = 0;             ///< Done, or admitted.
inline constexpr int kExitUsage = 2;          ///< Malformed command line, argument or input file.
inline constexpr int kExitUnavailable = 3;    ///< The store cannot be used or did not answer.
inline constexpr int kExitNotFound = 4;       ///< Store, entity or configuration does not exist.
inline constexpr int kExitConflict = 5;       ///< Exists already, or lost against other writers.
inline constexpr int kExitCorrupt = 6;        ///< A stored item cannot be understood.
inline constexpr int kExitProblems = 7;       ///< A check found problems.
inline constexpr int kExitRejected = 10;      ///< Rejected, or refused by policy.
inline constexpr int kExitInterrupted = 130;  ///< Stopped by a signal; what to do was said.

constexpr int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUnavailable: return kExitUnavailable;
    case ErrorCode::kOutcomeUnknown: return kExitUnavailable;
    case ErrorCode::kThrottled: return kExitUnavailable;
    case ErrorCode::kVersionMismatch: return kExitUnavailable;
    case ErrorCode::kInvalidArgument: return kExitUsage;
    case ErrorCode::kNotFound: return kExitNotFound;
    case ErrorCode::kExists: return kExitConflict;
    case ErrorCode::kConflict: return kExitConflict;
    case ErrorCode::kCorrupt: return kExitCorrupt;
    case ErrorCode::kAccessDenied: return kExitUnavailable;
    case ErrorCode::kCancelled: return kExitInterrupted;
  }
  return kExitUnavailable;
}

constexpr int exit_code(Outcome outcome) {
  return outcome == Outcome::kAdmitted ? kExitOk : kExitRejected;
}

}  // namespace stint::cli

#endif  // STINT_CLI_EXIT_CODES_H_
