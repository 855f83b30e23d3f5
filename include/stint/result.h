// Errors and results. Infrastructure trouble and bad arguments travel as `Error` inside
// `Result<T>`; a rejected request is not an error but a `Decision` (see decision.h).
#ifndef STINT_RESULT_H_
#define STINT_RESULT_H_

#include <cassert>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "stint/export.h"

namespace stint {

/// Every way a call can fail. Closed: callers may switch over it without a default.
///
/// "Nothing was applied" holds for `acquire`, for a correction of a lease with one bucket, and for
/// calls of one write. Of calls of several writes (changes of limits, deletion of an entity, leases
/// that reach a parent) what had been written before the error stays; the call says how to go on.
enum class ErrorCode {
  kUnavailable,      ///< The store could not be reached or refused to work; nothing was applied.
  kOutcomeUnknown,   ///< A write may or may not have been applied, and a look-up could not tell.
  kThrottled,        ///< The store asked to slow down until past the deadline; nothing was applied.
  kVersionMismatch,  ///< What another program or version wrote, this one may not use, or not so.
  kInvalidArgument,  ///< An argument is malformed; field, value and reason say which and why.
  kNotFound,         ///< What is named, an entity, configuration or the store, does not exist.
  kExists,           ///< The thing to be created exists already.
  kConflict,         ///< Other writers won every attempt; try again in 100 ms.
  kCorrupt,          ///< A stored item cannot be understood; other items are not affected.
  kAccessDenied,     ///< The store refuses its caller's credentials or rights; nothing was applied.
  kCancelled,        ///< The caller gave the call up; nothing of it stays taken.
};

/// Stable lower-case name of a code ("unavailable", "outcome_unknown", ...), as shown in JSON.
STINT_EXPORT std::string_view to_string(ErrorCode code);

/// What went wrong, for programs (`code`) and for people (`message()`).
/// A plain value: copyable, no invariants beyond those of its strings.
class STINT_EXPORT Error {
 public:
  Error(ErrorCode code, std::string reason) : code_(code), reason_(std::move(reason)) {}

  /// An invalid argument. `value` is cut to 50 characters and stripped of control
  /// characters, so that an error can be logged and shown as it is.
  static Error invalid(std::string field, std::string_view value, std::string reason);

  ErrorCode code() const { return code_; }
  /// Which argument was wrong; empty unless the code is `kInvalidArgument`.
  const std::string& field() const { return field_; }
  /// The offending value, at most 50 characters.
  const std::string& value() const { return value_; }
  const std::string& reason() const { return reason_; }
  /// One sentence that names code, field, value and reason as far as they apply.
  std::string message() const;

  friend bool operator==(const Error&, const Error&) = default;

 private:
  ErrorCode code_;
  std::string field_;
  std::string value_;
  std::string reason_;
};

/// Thrown by `Result<T>::value()` when there is none. The library itself never throws it.
class STINT_EXPORT ErrorException : public std::exception {
 public:
  explicit ErrorException(Error error);
  const Error& error() const { return error_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  Error error_;
  std::string text_;
};

[[noreturn]] STINT_EXPORT void throw_error(const Error& error);

/// A value or an `Error`. Use it as an error code (`if (!result) ... result.error()`) or in the
/// throwing style (`result.value()` throws `ErrorException`).
template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  /// Precondition: `!ok()`.
  const Error& error() const {
    assert(!ok());
    return *std::get_if<1>(&state_);
  }

  T& value() & {
    if (!ok()) throw_error(error());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    if (!ok()) throw_error(error());
    return *std::get_if<0>(&state_);
  }
  T value() && {
    if (!ok()) throw_error(error());
    return std::move(*std::get_if<0>(&state_));
  }

  /// Unchecked access. Precondition: `ok()`.
  T& operator*() {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  const T& operator*() const {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }

 private:
  std::variant<T, Error> state_;
};

/// Success without a value, or an `Error`.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    assert(!ok());
    return *error_;
  }
  void value() const {
    if (!ok()) throw_error(*error_);
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace stint

#endif  // STINT_RESULT_H_
