#include "schema/probe.h"

#include "schema/attributes.h"
#include "schema/item_reader.h"
#include "schema/keys.h"

namespace stint::schema {

store::ImagePtr encode_probe(std::string_view id, std::int64_t expires_at_s) {
  store::ImageBuilder item = new_item(probe_key(id), kReservedNamespace);
  item.set(kExpiryAttr, expires_at_s);
  return item.build();
}

store::UpdateProgram touch_probe() {
  store::UpdateProgram program;
  program.condition.require(store::Term{store::Test::kItemExists});
  program.actions.push_back({store::Change::kSet, kExpiryAttr, store::Operand::number_param(0)});
  return program;
}

}  // namespace stint::schema
