#include "stint/version.h"

#define STINT_TEXT_OF(number) #number
#define STINT_DOTTED(major, minor, patch) \
  STINT_TEXT_OF(major) "." STINT_TEXT_OF(minor) "." STINT_TEXT_OF(patch)

namespace stint {

std::string_view version() {
  // Literals end with the zero that is promised.
  return STINT_DOTTED(STINT_VERSION_MAJOR, STINT_VERSION_MINOR, STINT_VERSION_PATCH);
}

}  // namespace stint
