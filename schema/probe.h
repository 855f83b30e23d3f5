// An item by which a program tries what it may do with a table.
#ifndef STINT_SCHEMA_PROBE_H_
#define STINT_SCHEMA_PROBE_H_

#include <cstdint>
#include <string_view>

#include "base/component.h"
#include "store/expression.h"
#include "store/image.h"

namespace stint::schema {

/// Names nothing else, and goes by itself after `expires_at_s` if it is left behind.
STINT_COMPONENT store::ImagePtr encode_probe(std::string_view id, std::int64_t expires_at_s);

/// Changes nothing but the expiry, which is the request's first number, of a probe that exists.
STINT_COMPONENT store::UpdateProgram touch_probe();

}  // namespace stint::schema

#endif  // STINT_SCHEMA_PROBE_H_
