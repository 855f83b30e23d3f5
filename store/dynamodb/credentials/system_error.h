// What errors of the system mean for credentials.
#ifndef STINT_STORE_DYNAMODB_CREDENTIALS_SYSTEM_ERROR_H_
#define STINT_STORE_DYNAMODB_CREDENTIALS_SYSTEM_ERROR_H_

#include <cerrno>

#include "stint/result.h"

namespace stint::store::dynamodb {

/// `kUnavailable` for an errno that says that the machine is short of something or in trouble,
/// otherwise `kAccessDenied`: somebody has to mend a name or a right.
inline ErrorCode code_of_errno(int code) {
  switch (code) {
    case EAGAIN:
    case EBUSY:
    case EINTR:
    case EIO:
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
    case ENOSPC:
    case ESTALE:
    case ETIMEDOUT:
    case ETXTBSY: return ErrorCode::kUnavailable;
    default: return ErrorCode::kAccessDenied;
  }
}

}  // namespace stint::store::dynamodb

#endif  // STINT_STORE_DYNAMODB_CREDENTIALS_SYSTEM_ERROR_H_
