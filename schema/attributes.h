// Names of the attributes that more than one kind of item carries.
#ifndef STINT_SCHEMA_ATTRIBUTES_H_
#define STINT_SCHEMA_ATTRIBUTES_H_

#include "store/attribute.h"

namespace stint::schema {

inline const store::AttrId kEntityIdAttr = store::intern("entity_id");
inline const store::AttrId kResourceAttr = store::intern("resource");
inline const store::AttrId kParentIdAttr = store::intern("parent_id");
inline const store::AttrId kParentGenerationAttr = store::intern("pgen");
inline const store::AttrId kIncarnationAttr = store::intern("pinc");
inline const store::AttrId kCascadeAttr = store::intern("cascade");
inline const store::AttrId kDisabledAttr = store::intern("disabled");
inline const store::AttrId kZoneAttr = store::intern("sched_tz");
inline const store::AttrId kCreatedAtAttr = store::intern("created_at");
inline const store::AttrId kExpiryAttr = store::intern("ttl");

}  // namespace stint::schema

#endif  // STINT_SCHEMA_ATTRIBUTES_H_
