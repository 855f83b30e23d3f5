#include "schema/inspection.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/time.h"
#include "bucket/worth.h"
#include "model/names.h"
#include "schema/attributes.h"
#include "schema/config_item.h"
#include "schema/entity_item.h"
#include "schema/records.h"

namespace stint::schema {
namespace {

using Findings = std::vector<Finding>;

constexpr const char* kRestore =
    "delete its entity, or restore a backup; or mend its line in an export and import that into a "
    "new store";
constexpr const char* kMend = "mend its line in an export and import that into a new store";
constexpr const char* kSetAgain = "set the limits of this scope again";
constexpr const char* kMendsItself = "the next refill of the bucket cuts it";

// A clock that is off by more than this has done harm.
constexpr Millis kClockSlack = std::chrono::hours(24);

// Decoders name the item first, which is known here.
std::string without_key(const store::Image& item, const std::string& message) {
  std::string pk(item.pk());
  for (const std::string& prefix :
       {"item " + pk + " " + std::string(item.sk()) + ": ", pk + ": "}) {
    if (message.starts_with(prefix)) return message.substr(prefix.size());
  }
  return message;
}

void corrupt(const store::Image& item, const Error& error, Findings& findings) {
  findings.push_back(
      Finding{true, "cannot be understood: " + without_key(item, error.reason()), kRestore});
}

// The key attributes must be those of the item that the contents call for.
void compare_keys(const store::Image& item, const store::Image& expected, Findings& findings) {
  for (std::uint32_t i = 0; i <= store::index_of(store::index_sk(store::kIndexCount)); ++i) {
    store::AttrId id{i};
    std::optional<std::string_view> has = item.string(id);
    std::optional<std::string_view> wanted = expected.string(id);
    if (has == wanted) continue;
    std::string what(store::name_of(id));
    if (wanted) {
      what += " should be \"" + std::string(*wanted) + "\" by the item's other attributes";
    } else {
      what += " should not be there";
    }
    findings.push_back(Finding{false, std::move(what), kMend});
    return;
  }
}

template <typename Record, typename Encode>
void decoded(const store::Image& item, const Result<Record>& record, const Encode& encode,
             Findings& findings) {
  if (!record) return corrupt(item, record.error(), findings);
  compare_keys(item, *encode(*record), findings);
}

// The scope that a configuration item's key names.
Scope scope_of(const store::Image& item, ItemKind kind) {
  auto after = [](std::string_view text, char separator) {
    return std::string(text.substr(text.find(separator) + 1));
  };
  std::string owner = after(item.pk(), '#');
  switch (kind) {
    case ItemKind::kResourceConfig: return Scope::resource(owner);
    case ItemKind::kEntityConfig: {
      std::string resource(item.sk().substr(kEntityConfigPrefix.size()));
      if (resource == model::kDefaultResource) return Scope::entity(owner);
      return Scope::entity_resource(owner, resource);
    }
    default: return Scope::system();
  }
}

bool complete_limit(const store::Image& item, std::string_view name, std::string& missing) {
  for (Field field :
       {Field::kBalance, Field::kCapacity, Field::kRefill, Field::kPeriod, Field::kConsumed}) {
    store::AttrId id = field_attr(name, field);
    if (item.has(id)) continue;
    missing = store::name_of(id);
    return false;
  }
  return true;
}

std::string milli(std::int64_t amount) {
  std::string text = std::to_string(amount / 1000);
  if (amount % 1000 != 0) text += " and a fraction";
  return text;
}

}  // namespace

void ItemInspector::inspect(const store::Image& item, Findings& findings) {
  ItemPlace place = place_of(item.pk(), item.sk());
  std::string_view ns = place.ns;
  switch (place.kind) {
    case ItemKind::kBucket: return inspect_bucket(item, findings);
    case ItemKind::kOperation:
      return decoded(
          item, decode_operation(item),
          [&](const auto& record) { return encode_operation(ns, record); }, findings);
    case ItemKind::kEntity:
      return decoded(
          item, decode_entity(item), [&](const auto& record) { return encode_entity(ns, record); },
          findings);
    case ItemKind::kEntityConfig:
    case ItemKind::kResourceConfig:
    case ItemKind::kSystemConfig:
      return decoded(
          item, decode_config(item, rule_),
          [&](const auto& record) {
            return encode_config(ns, scope_of(item, place.kind), *record);
          },
          findings);
    case ItemKind::kUsage:
      return decoded(
          item, decode_usage(item), [&](const auto& record) { return encode_usage(ns, record); },
          findings);
    case ItemKind::kAudit:
      return decoded(
          item, decode_audit_event(item),
          [&](const auto& record) { return encode_audit_event(ns, record); }, findings);
    case ItemKind::kResourceRegistry:
      return decoded(
          item, decode_resource_registry(item),
          [&](const auto& record) { return encode_resource_registry(ns, record); }, findings);
    case ItemKind::kEntityConfigRegistry:
      return decoded(
          item, decode_entity_config_registry(item),
          [&](const auto& record) { return encode_entity_config_registry(ns, record); }, findings);
    case ItemKind::kProvisionerState:
      return decoded(
          item, decode_provisioner_state(item),
          [&](const auto& record) { return encode_provisioner_state(ns, record); }, findings);
    case ItemKind::kProvisionerPending:
      return decoded(
          item, decode_provisioner_pending(item),
          [&](const auto& record) { return encode_provisioner_pending(ns, record); }, findings);
    case ItemKind::kNamespaceByName:
      return decoded(
          item, decode_namespace(item),
          [](const auto& record) { return encode_namespace_by_name(record); }, findings);
    case ItemKind::kNamespaceById:
      return decoded(
          item, decode_namespace(item),
          [](const auto& record) { return encode_namespace_by_id(record); }, findings);
    case ItemKind::kVersion:
      return decoded(
          item, decode_version(item), [](const auto& record) { return encode_version(record); },
          findings);
    case ItemKind::kStoreRecord:
      return decoded(
          item, decode_store_record(item),
          [](const auto& record) { return encode_store_record(record); }, findings);
    case ItemKind::kImportRecord:
      return decoded(
          item, decode_import(item), [](const auto& record) { return encode_import(record); },
          findings);
    case ItemKind::kOther: return;
  }
}

void ItemInspector::inspect_bucket(const store::Image& item, Findings& findings) {
  if (layout_ == nullptr || !layout_->fits(item)) {
    Result<std::shared_ptr<const BucketLayout>> layout = BucketLayout::of(item, rule_);
    if (!layout) return corrupt(item, layout.error(), findings);
    layout_ = *std::move(layout);
  }
  if (Status status = layout_->decode(item, state_); !status) {
    return corrupt(item, status.error(), findings);
  }
  auto add = [&](std::string what, const char* advice) {
    findings.push_back(Finding{false, std::move(what), advice});
  };

  std::optional<BucketAddress> address = parse_bucket_key(item.pk());
  if (!address) return add("has a key that names no entity, resource and shard", kMend);
  BucketOwner owner = decode_owner(item);
  if (owner.entity != address->entity) add("entity_id is not the entity of its key", kMend);
  if (owner.resource != address->resource) add("resource is not the resource of its key", kMend);
  if (address->shard >= state_.shard_count) {
    add("is shard " + std::to_string(address->shard) + " of " + std::to_string(state_.shard_count),
        kMend);
  }
  store::ImageBuilder expected(item.key());
  set_bucket_index_keys(expected, place_of(item.pk(), item.sk()).ns, *address);
  compare_keys(item, *expected.build(), findings);

  if (state_.refilled_at > now_ + kClockSlack) {
    add("was refilled in the future (rf), by a clock that was wrong: its limits do not recover "
        "until then",
        "delete its entity, or wait");
  }
  std::optional<TimePoint> boundary;
  for (const bucket::LimitState& limit : state_.limits) {
    std::string name(limit.name);
    std::string missing;
    if (!complete_limit(item, limit.name, missing)) {
      add("limit " + name + ": " + missing + " is missing", kMend);
    }
    constexpr std::int64_t kMost = kMaxTokens * 1000;
    bool to_be_redone = state_.valid_until == from_epoch_ms(0);
    std::int64_t ceiling =
        limit.reserved ? limit.base.capacity : bucket::highest_capacity(limit, 1) + limit.top_up;
    if (limit.balance > ceiling && !to_be_redone) {
      add("limit " + name + " holds " + milli(limit.balance) + " tokens, and at most " +
              milli(ceiling) + " fit",
          kMendsItself);
    }
    if (limit.balance < -kMost) add("limit " + name + " owes more than any limit can", kMend);
    if (limit.reserved) continue;
    if (limit.kind == LimitKind::kRate && limit.base.refill == 0) {
      add("limit " + name + " neither refills nor resets", kSetAgain);
    }
    if (limit.top_up < 0) add("limit " + name + ": the top-up tu is negative", kMend);
    if (limit.grant_count && *limit.grant_count < 1) {
      add("limit " + name + ": the grant's shard count gc is below 1", kMend);
    }
    if (std::optional<TimePoint> next = bucket::next_boundary(limit, state_.refilled_at)) {
      boundary = boundary ? std::min(*boundary, *next) : *next;
    }
    if (limit.kind != LimitKind::kSession) {
      if (limit.window_start) add("limit " + name + " has a window and no length (rsa)", kMend);
      continue;
    }
    if (limit.window_applied && !limit.window_start) {
      add("limit " + name + " has an applied window (wa) and no window (ws)", kMend);
    }
    if (limit.window_applied && limit.window_start && *limit.window_applied > *limit.window_start) {
      add("limit " + name + ": the applied window wa is later than the window ws", kMend);
    }
    if (!limit.window_start) continue;
    if (*limit.window_start > now_ + kClockSlack) {
      add("limit " + name + ": the window ws starts in the future", kMend);
    }
    TimePoint end = *limit.window_start + limit.window_length;
    if (end > state_.refilled_at) boundary = boundary ? std::min(*boundary, end) : end;
  }
  if (boundary && (!state_.valid_until || *state_.valid_until > *boundary)) {
    add("is trusted for longer (vu) than until its next reset, schedule change or end of a window",
        kMend);
  }
}

}  // namespace stint::schema
