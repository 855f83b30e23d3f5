#include "schema/entity_item.h"

#include <cassert>
#include <chrono>
#include <cstdio>

#include "schema/attributes.h"
#include "schema/item_reader.h"
#include "schema/keys.h"

namespace stint::schema {
namespace {

const store::AttrId kNameAttr = store::intern("name");
const store::AttrId kMetadataAttr = store::intern("metadata");

constexpr std::string_view kIsoForm = "0000-00-00T00:00:00Z";

}  // namespace

std::string EntityRecord::incarnation() const {
  if (!incarnation_digits.empty()) return incarnation_digits;
  if (!created_at.empty()) return created_at;
  return "-";
}

Result<EntityRecord> decode_entity(const store::Image& item) {
  ItemReader reader(item);
  EntityRecord entity;
  entity.id = reader.text(kEntityIdAttr);
  entity.name = reader.optional_text(kNameAttr).value_or(entity.id);
  entity.parent = reader.nullable_text(kParentIdAttr);
  entity.cascade = reader.optional_boolean(kCascadeAttr).value_or(false);
  entity.metadata = reader.optional_map(kMetadataAttr);
  entity.created_at = reader.optional_text(kCreatedAtAttr).value_or("");
  entity.parent_generation = reader.optional_number(kParentGenerationAttr).value_or(0);
  entity.incarnation_digits = reader.optional_text(kIncarnationAttr).value_or("");
  if (Status status = reader.status(); !status) return status.error();
  return entity;
}

store::ImagePtr encode_entity(std::string_view ns, const EntityRecord& entity) {
  store::ImageBuilder item = new_item(entity_key(ns, entity.id), ns);
  item.set(kEntityIdAttr, entity.id);
  item.set(kNameAttr, entity.name);
  if (entity.parent) {
    item.set(kParentIdAttr, *entity.parent);
    item.set(store::index_pk(1), children_partition(ns, *entity.parent));
    item.set(store::index_sk(1), std::string(kChildPrefix) + entity.id);
  } else {
    item.set(kParentIdAttr, store::Value::null());
  }
  item.set(kCascadeAttr, entity.cascade);
  item.set(kMetadataAttr, store::Value::map(entity.metadata));
  // Each of these is absent on items of writers that did not know it yet.
  if (!entity.created_at.empty()) item.set(kCreatedAtAttr, entity.created_at);
  if (entity.parent_generation != 0) item.set(kParentGenerationAttr, entity.parent_generation);
  if (!entity.incarnation_digits.empty()) item.set(kIncarnationAttr, entity.incarnation_digits);
  return item.build();
}

std::string iso_seconds(TimePoint at) {
  auto second = std::chrono::floor<std::chrono::seconds>(at);
  auto day = std::chrono::floor<std::chrono::days>(second);
  std::chrono::year_month_day date(day);
  std::chrono::hh_mm_ss time(second - day);
  int year = static_cast<int>(date.year());
  assert(year >= 0 && year <= 9999);
  char text[80];
  int length = std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02dZ", year,
                             static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                             static_cast<int>(time.hours().count()),
                             static_cast<int>(time.minutes().count()),
                             static_cast<int>(time.seconds().count()));
  return std::string(text, static_cast<std::size_t>(length));
}

Result<TimePoint> parse_iso_seconds(std::string_view text) {
  auto corrupt = [&] {
    return Error(ErrorCode::kCorrupt, "\"" + Error::invalid("", text, "").value() +
                                          "\" is not an instant of the form " +
                                          "YYYY-MM-DDTHH:MM:SSZ");
  };
  if (text.size() != kIsoForm.size()) return corrupt();
  for (std::size_t i = 0; i < text.size(); ++i) {
    bool is_digit = text[i] >= '0' && text[i] <= '9';
    if (kIsoForm[i] == '0' ? !is_digit : text[i] != kIsoForm[i]) return corrupt();
  }
  auto number = [&](std::size_t at, std::size_t length) {
    int value = 0;
    for (char c : text.substr(at, length)) value = value * 10 + (c - '0');
    return value;
  };
  std::chrono::year_month_day date(std::chrono::year(number(0, 4)),
                                   std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                   std::chrono::day(static_cast<unsigned>(number(8, 2))));
  int hour = number(11, 2);
  int minute = number(14, 2);
  int second = number(17, 2);
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return corrupt();
  return TimePoint(std::chrono::sys_days(date) + std::chrono::hours(hour) +
                   std::chrono::minutes(minute) + std::chrono::seconds(second));
}

store::Condition same_owner(const EntityRecord* entity) {
  using store::Operand;
  using store::Term;
  using store::Test;
  using store::Value;
  store::Condition condition;
  if (entity == nullptr) {
    condition.require(Term{Test::kItemAbsent});
    return condition;
  }
  condition.require(Term{Test::kItemExists});
  store::AttrId generation = store::intern("pgen");
  store::AttrId incarnation = store::intern("pinc");
  store::AttrId created_at = store::intern("created_at");
  Term same_generation{Test::kEqual, generation,
                       Operand::literal(Value::number(entity->parent_generation))};
  if (entity->parent_generation == 0) {
    condition.require_any({{same_generation}, {Term{Test::kAbsent, generation}}});
  } else {
    condition.require(same_generation);
  }
  if (!entity->incarnation_digits.empty()) {
    condition.require(Term{Test::kEqual, incarnation,
                           Operand::literal(Value::string(entity->incarnation_digits))});
  } else {
    condition.require(Term{Test::kAbsent, incarnation});
    if (entity->created_at.empty()) {
      condition.require(Term{Test::kAbsent, created_at});
    } else {
      condition.require(
          Term{Test::kEqual, created_at, Operand::literal(Value::string(entity->created_at))});
    }
  }
  return condition;
}

}  // namespace stint::schema
