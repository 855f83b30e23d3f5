// Which ids and names are accepted (rules 6).
#ifndef STINT_MODEL_NAMES_H_
#define STINT_MODEL_NAMES_H_

#include <string_view>

#include "stint/result.h"

namespace stint::model {

/// Stands for "every resource" in entity-wide configuration; never a resource itself.
inline constexpr std::string_view kDefaultResource = "_default_";
/// The reserved limit that mirrors a partition's write ceiling (rules 1.3).
inline constexpr std::string_view kWriteCapacityLimit = "wcu";
/// A bucket holds at most this many limits, the reserved one not counted (decision 22).
inline constexpr int kMaxLimits = 12;

/// 1 to 256 of ASCII letters, digits and `_ - . : @`, the first a letter or digit.
Status validate_entity_id(std::string_view field, std::string_view id);
/// 1 to 64 of ASCII letters, digits and `_ - . / :`, the first a letter.
Status validate_resource(std::string_view resource);
/// 1 to 64 of ASCII letters, digits and `_ - .`, the first a letter; not `wcu`.
Status validate_limit_name(std::string_view name);
/// Who changes something: as an entity's id, or up to 2,048 bytes that begin with "arn:".
Status validate_principal(std::string_view principal);
/// Any text of 1 to 255 bytes but `_`, without control characters.
Status validate_namespace(std::string_view name);

}  // namespace stint::model

#endif  // STINT_MODEL_NAMES_H_
