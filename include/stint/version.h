// The version of stint. The three numbers below are its only source: CMake reads them from here.
#ifndef STINT_VERSION_H_
#define STINT_VERSION_H_

#include <string_view>

#include "stint/export.h"

/// The version of these headers.
#define STINT_VERSION_MAJOR 0
#define STINT_VERSION_MINOR 1
#define STINT_VERSION_PATCH 0

/// The same as one number that grows with each version, for `#if STINT_VERSION >= 200`: 10,000 for
/// each major, 100 for each minor version, 1 for each patch.
#define STINT_VERSION \
  (STINT_VERSION_MAJOR * 10000 + STINT_VERSION_MINOR * 100 + STINT_VERSION_PATCH)

namespace stint {

/// The version of the linked library as "major.minor.patch". A zero follows the last character, so
/// that `version().data()` is a C string. It is there as long as the program runs. With shared
/// libraries it may be a later patch than that of the headers. Never fails; costs no store request;
/// thread-safe.
STINT_EXPORT std::string_view version();

}  // namespace stint

#endif  // STINT_VERSION_H_
