// Configuration items: what one level says about limits and policy (rules 1.4).
#ifndef STINT_SCHEMA_CONFIG_ITEM_H_
#define STINT_SCHEMA_CONFIG_ITEM_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bucket/state.h"
#include "model/schedule.h"
#include "schema/bucket_fields.h"
#include "stint/config.h"
#include "stint/limit.h"
#include "stint/result.h"
#include "store/expression.h"
#include "store/image.h"
#include "store/value.h"

namespace stint::schema {

/// A configured limit, compiled: ready to be compared with, stamped on and seeded into buckets.
class ConfiguredLimit {
 public:
  /// Errors: `kInvalidArgument` for an unknown zone.
  static Result<std::shared_ptr<const ConfiguredLimit>> compile(const Limit& limit, ResetRule rule);
  ~ConfiguredLimit() { delete bucket_attrs_.load(); }
  ConfiguredLimit(const ConfiguredLimit&) = delete;
  ConfiguredLimit& operator=(const ConfiguredLimit&) = delete;

  const Limit& limit() const { return limit_; }
  /// Parameters, kind, schedules and window length; balances are zero.
  const bucket::LimitState& state() const { return state_; }
  /// Compact encodings; empty when there is none.
  const std::string& levels_text() const { return levels_text_; }
  const std::string& resets_text() const { return resets_text_; }
  /// The attributes of this limit on bucket items, interned when first asked for: limits that come
  /// with a call are compiled, too, and may never reach an item.
  const FieldAttrs& bucket_attrs() const;

 private:
  explicit ConfiguredLimit(const Limit& limit) : limit_(limit) {}

  Limit limit_;
  std::string levels_text_;
  std::string resets_text_;
  std::unique_ptr<const model::LevelSchedule> levels_;
  std::unique_ptr<const model::ResetSchedule> resets_;
  bucket::LimitState state_;
  mutable std::atomic<const FieldAttrs*> bucket_attrs_{nullptr};
};

/// One configuration item, decoded. Immutable and shared.
struct ConfigRecord {
  std::vector<std::shared_ptr<const ConfiguredLimit>> limits;  // in order of name
  std::optional<AccessPolicy> access;
  std::optional<bool> cascade;
  std::optional<OnUnavailable> on_unavailable;
  std::optional<std::int64_t> audit_retention_days;
  /// IANA zone shared by the limits' schedules; empty when none has any.
  std::string zone;

  // How the item spells this where writers differ; the defaults are what a set of limits writes.

  /// Absent on items of the provisioner and on items that hold a flag only.
  std::optional<std::int64_t> config_version = 1;
  /// Entity levels: the item is found in the listing of configured entities (GSI3). False on items
  /// of the provisioner.
  bool listed = true;
  /// The zone is UTC because the item names none.
  bool zone_implied = false;
  /// The stored policy, where it reads as `kEnforce` without being spelled as such.
  std::optional<store::Value> odd_access;

  /// Null when there is no limit of that name.
  const ConfiguredLimit* find(std::string_view name) const;
};

/// Errors: `kCorrupt`, naming what is wrong: a name under both prefixes, a session limit without
/// length, an undecodable schedule, a limit that fails validation, more than 12 limits.
/// `kUnavailable` when the machine has no zone data.
Result<std::shared_ptr<const ConfigRecord>> decode_config(const store::Image& item, ResetRule rule);

/// The item of a scope. GSI3 keys and `entity_id` only at the entity levels. What `decode_config`
/// read comes out as it was, but for session limits in the form of old writers, which move to the
/// present one (rules 1.4).
store::ImagePtr encode_config(std::string_view ns, const Scope& scope, const ConfigRecord& config);

/// Holds while the item of a scope is there as read (null: absent) and its policies are what they
/// were: those survive a change of limits, so a change of them in between must not be lost.
store::Condition same_policies(const store::Image* item);

/// Compiles limits given with a call or read from a manifest into a record of the same form.
/// Errors: `kInvalidArgument` as of `LimitList`, or for an unknown zone.
Result<std::shared_ptr<const ConfigRecord>> compile_limits(const std::vector<Limit>& limits,
                                                           ResetRule rule);

}  // namespace stint::schema

#endif  // STINT_SCHEMA_CONFIG_ITEM_H_
