// Bucket items: decoding, creation, and the turning of plans into store requests (rules 1.3, 2).
#ifndef STINT_SCHEMA_BUCKET_ITEM_H_
#define STINT_SCHEMA_BUCKET_ITEM_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bucket/plan.h"
#include "bucket/state.h"
#include "model/schedule.h"
#include "schema/bucket_fields.h"
#include "schema/config_item.h"
#include "schema/keys.h"
#include "store/expression.h"
#include "store/image.h"
#include "store/request.h"

namespace stint::schema {

/// Owner stamp and other item-level facts that only some operations need.
struct BucketOwner {
  std::string entity;
  std::string resource;
  bool cascade = false;
  std::optional<std::string> parent;
  std::optional<std::int64_t> parent_generation;
  std::optional<std::string> incarnation;
};

/// What all bucket items of one shape have in common: which attributes they hold, and their
/// schedules, compiled. Shared between buckets; immutable but for its memo of prepared updates.
class BucketLayout {
 public:
  /// Errors: `kCorrupt` naming what cannot be understood: an undecodable schedule, an unknown
  /// zone, more than 12 limits.
  static Result<std::shared_ptr<const BucketLayout>> of(const store::Image& item, ResetRule rule);
  ~BucketLayout();
  BucketLayout(const BucketLayout&) = delete;
  BucketLayout& operator=(const BucketLayout&) = delete;

  /// A hash of everything that makes the shape; equal for items that `fits` accepts alike.
  static std::uint64_t shape_hash(const store::Image& item);
  bool fits(const store::Image& item) const;

  /// Reads an item that fits. The state refers to this layout. Errors: `kCorrupt` for a field of
  /// the wrong type or a value beyond decision 11's bounds.
  Status decode(const store::Image& item, bucket::BucketState& state) const;

  std::size_t limit_count() const { return limits_.size(); }
  std::string_view limit_name(std::size_t index) const { return limits_[index].name; }
  /// Index of a limit; -1 when the item lacks it. `likely`: where to look first.
  int find(std::string_view name, std::size_t likely = 0) const {
    if (likely < limits_.size() && limits_[likely].name == name) return static_cast<int>(likely);
    for (std::size_t i = 0; i < limits_.size(); ++i) {
      if (limits_[i].name == name) return static_cast<int>(i);
    }
    return -1;
  }
  store::AttrId attr(std::size_t limit, Field field) const {
    return limits_[limit].fields[static_cast<std::size_t>(field)];
  }
  /// A limit's balance on an item, which need not fit; absent when the item has none.
  std::optional<std::int64_t> stored_balance(const store::Image& item, std::size_t limit) const;
  /// Compact texts in force for a limit, inherited item default included; empty: none.
  const std::string& levels_text(std::size_t limit) const { return limits_[limit].levels_text; }
  const std::string& resets_text(std::size_t limit) const { return limits_[limit].resets_text; }
  const std::string& zone() const { return zone_; }
  /// Whether every attribute that a write's condition may name is there in the form in which
  /// decoding takes it. False for items with a refusal of access, and for odd ones of other
  /// writers, of which a condition may fail although they can be read.
  bool reads_as_stored() const { return reads_as_stored_; }
  /// Whether the item holds remainders; then every refill must replace them.
  bool has_remainders() const { return has_remainders_; }

  /// Calls `pin(attribute, text or nothing)` for every attribute that decides about the schedules
  /// of a limit.
  template <typename Pin>
  void emit_schedule_pins(std::size_t limit, const Pin& pin) const {
    for (Field field : {Field::kLevels, Field::kResets}) {
      store::AttrId id = attr(limit, field);
      pin(id, shape_text(id));
    }
  }

  /// The prepared update for a sequence of code words (see bucket_item.cc), built at first use.
  std::shared_ptr<const store::UpdateProgram> program(std::span<const std::uint32_t> words) const;

 private:
  struct LimitLayout {
    std::string name;
    LimitKind kind = LimitKind::kRate;
    bool reserved = false;
    FieldAttrs fields{};
    store::PositionHint balance_at;
    std::string levels_text;
    std::string resets_text;
    std::unique_ptr<const model::LevelSchedule> levels;
    std::unique_ptr<const model::ResetSchedule> resets;
  };
  /// An attribute whose text is part of the shape: schedules and their zone.
  struct ShapeText {
    std::size_t at;  // among the attributes
    std::string text;
  };
  /// An attribute that decisions need.
  struct Load {
    std::uint32_t at;    // among the attributes
    std::uint8_t role;   // what the attribute is; see bucket_item.cc
    std::uint8_t limit;  // index of the limit whose field it is
  };
  struct Prepared;

  BucketLayout() = default;
  std::optional<std::string_view> shape_text(store::AttrId id) const;

  std::vector<std::uint32_t> shape_;  // id and type of each attribute, in the image's order
  std::vector<ShapeText> shape_texts_;
  std::vector<Load> loads_;
  std::vector<bucket::LimitState> blank_limits_;  // what the shape alone says
  std::optional<store::AttrId> wrong_type_;       // of an attribute that must be a whole number
  std::vector<LimitLayout> limits_;
  std::string zone_;
  bool has_remainders_ = false;
  bool reads_as_stored_ = true;
  mutable std::atomic<Prepared*> prepared_{nullptr};
};

/// Whether the item says who its owner is; otherwise it was made before the entity was (R24).
bool names_owner(const store::Image& item);
/// Whether the bucket is one of several shards.
bool is_split(const store::Image& item);
/// Whether debits of the item go on to its parent, if it has one.
bool stored_cascade(const store::Image& item);
std::optional<std::string_view> stored_parent(const store::Image& item);
/// The item as any write that changes no key would leave it, to reckon what one costs.
store::ImagePtr as_rewritten(const store::Image& item);

/// Who owns a bucket, read from the item.
BucketOwner decode_owner(const store::Image& item);
/// The nonce of the last write of ours; absent on items that only others wrote.
std::optional<std::int64_t> last_nonce(const store::Image& item);
/// When the bucket was last refilled, read from the item.
std::optional<TimePoint> last_refill(const store::Image& item);

/// One limit of a bucket about to be created.
struct NewLimit {
  const ConfiguredLimit* configured = nullptr;
  std::int64_t debit = 0;  // milli-tokens; opens a session window when above zero
  std::optional<TimePoint> soft_until;
};

/// A bucket about to be created (W2).
struct NewBucket {
  std::string_view ns;
  BucketOwner owner;
  std::int64_t shard = 0;
  std::int64_t shard_count = 1;
  std::vector<NewLimit> limits;
  /// Adds the reserved limit.
  std::optional<int> partition_write_ceiling;
  bool disabled = false;
  std::optional<TimePoint> bypass_until;
  /// Absent for entity-level limits and where expiry is off.
  std::optional<std::int64_t> expires_at_s;
  std::int64_t nonce = 0;
};
store::ImagePtr create_bucket(const NewBucket& bucket, TimePoint now);
/// Sets the keys under which a bucket stands in the indexes.
void set_bucket_index_keys(store::ImageBuilder& item, std::string_view ns,
                           const BucketAddress& address);

/// An owner stamp to be replaced: by what the entity's record and the configuration say.
struct OwnerStamp {
  BucketOwner from;
  BucketOwner to;
};

/// Item-level changes that go along with a plan.
struct WriteExtras {
  std::int64_t nonce = 0;
  /// Conditions must pin all that the plan relied on, not only the refill stamp.
  bool shared_writers = false;
  /// Absent: leave the expiry; 0: remove it.
  std::optional<std::int64_t> expires_at_s;
  /// Pin the expiry: the item must not have expired by `now`.
  bool check_expiry = true;
  /// Renewed or removed stamps per limit of the state: epoch 0 removes.
  struct SoftStamp {
    std::size_t limit;
    TimePoint until;
  };
  std::vector<SoftStamp> soft_stamps;
  /// What a fan-out makes of the stamp that refuses access.
  enum class Policy : std::uint8_t { kKeep, kDisable, kEnable };
  Policy policy = Policy::kKeep;
  /// Renewed or removed bypass stamp: epoch 0 removes.
  std::optional<TimePoint> bypass_until;
  /// The configuration behind the plan's stamps and seeds.
  const ConfigRecord* config = nullptr;
  /// Null: the owner stamp stays.
  const OwnerStamp* owner = nullptr;
  /// Soft deadlines of seeded limits, by position in the plan's seeds; epoch 0: hard.
  std::vector<TimePoint> seed_soft_until;
  /// Limits that are no longer configured: their attributes are removed.
  std::vector<std::size_t> removed_limits;
};

/// One prepared write with its parameters. Keep it, and the key, until the reply is there.
/// Reusable.
class BucketWrite {
 public:
  /// `planned_from`: the image that the plan was drawn from, if its condition holds of that.
  store::UpdateRequest request(const store::Key& key,
                               const store::Image* planned_from = nullptr) const {
    return store::UpdateRequest(
        key, *program_,
        store::Params{std::span<const std::int64_t>(numbers_).first(number_count_), strings_},
        planned_from);
  }
  void clear() { program_.reset(); }

  /// Fills in a plan for an item of that layout and state.
  void assign(const bucket::Plan& plan, const BucketLayout& layout,
              const bucket::BucketState& state, const WriteExtras& extras);
  /// Bypass shape (W1): consumption is counted, balances stay. `counted` per limit of the state.
  /// `renewed_until`: set or extend the stamp by configuration just read; it must still be as read.
  void assign_bypass(const BucketLayout& layout, const bucket::BucketState& state,
                     const std::vector<std::pair<std::size_t, std::int64_t>>& counted,
                     std::int64_t nonce, TimePoint now, std::optional<TimePoint> renewed_until);
  /// The last resort of a settle (W5): adds the deltas under "exists" and the period pins, and has
  /// the item re-evaluated at its next touch.
  struct PlainDelta {
    std::size_t limit;
    std::int64_t amount;  // taken; negative: given back
    bool balance;         // false: only the counter
    std::optional<bucket::PeriodPin> pin;
  };
  void assign_plain(const BucketLayout& layout, const bucket::BucketState& state,
                    const std::vector<PlainDelta>& deltas, std::int64_t nonce);

 private:
  void finish(std::size_t word_count, std::size_t number_count, const BucketLayout& layout);

  std::shared_ptr<const store::UpdateProgram> program_;
  // Of a fixed size once used, with the counts beside them: the writes of a plan are many and
  // small.
  std::vector<std::uint32_t> words_;
  std::vector<std::int64_t> numbers_;
  std::vector<std::string> strings_;
  std::size_t word_count_ = 0;
  std::size_t number_count_ = 0;
};

}  // namespace stint::schema

#endif  // STINT_SCHEMA_BUCKET_ITEM_H_
