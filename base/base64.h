// Base64 as RFC 4648 has it, with padding.
#ifndef STINT_BASE_BASE64_H_
#define STINT_BASE_BASE64_H_

#include <optional>
#include <string>
#include <string_view>

#include "base/component.h"

namespace stint {

STINT_COMPONENT void append_base64(std::string& out, std::string_view bytes);

/// Nothing for anything that `append_base64` cannot have written: other characters, spaces, missing
/// padding, bits beyond the last byte.
STINT_COMPONENT std::optional<std::string> parse_base64(std::string_view text);

}  // namespace stint

#endif  // STINT_BASE_BASE64_H_
