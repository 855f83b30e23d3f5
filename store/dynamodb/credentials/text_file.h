// Small files.
#ifndef STINT_STORE_DYNAMODB_CREDENTIALS_TEXT_FILE_H_
#define STINT_STORE_DYNAMODB_CREDENTIALS_TEXT_FILE_H_

#include <cstddef>
#include <string>

#include "stint/result.h"

namespace stint::store::dynamodb {

/// The whole of a file. Never waits: a pipe is refused. Errors: `kNotFound`; `kAccessDenied` when
/// it cannot be read, is no file, or is longer than `max_bytes`; `kUnavailable` when that may pass.
/// Reasons name the path.
Result<std::string> read_text_file(const std::string& path, std::size_t max_bytes);

/// The same for a file that holds one token: without white space at its end. Errors also:
/// `kAccessDenied` when it is empty or holds what cannot stand in a header.
Result<std::string> read_token_file(const std::string& path);

}  // namespace stint::store::dynamodb

#endif  // STINT_STORE_DYNAMODB_CREDENTIALS_TEXT_FILE_H_
