#include "schema/bucket_item.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstring>
#include <limits>

#include "base/time.h"
#include "model/compact.h"
#include "model/names.h"
#include "schema/keys.h"
#include "schema/write_capacity.h"

namespace stint::schema {
namespace {

using bucket::LimitState;
using store::AttrId;
using store::ImageEntry;
using store::Test;
using store::ValueType;

constexpr std::string_view kNone = "-";  // "explicitly none", against an item default
constexpr std::string_view kFieldNames[kFieldCount] = {"tk",    "cp",     "ra", "rp",  "tc",
                                                       "sched", "rsched", "ws", "rsa", "wa",
                                                       "wtc",   "gc",     "tu", "rn",  "soft"};

/// Item-level attributes of a bucket. `st_n` and `st_r` are stint's own (decision 22): the nonce of
/// the last write, and what the last refill left below a milli-token.
struct Names {
  // Those that every bucket has come first, which gives them one place in all shapes.
  AttrId entity_id = store::intern("entity_id");
  AttrId resource = store::intern("resource");
  AttrId cascade = store::intern("cascade");
  AttrId parent_id = store::intern("parent_id");
  AttrId refilled_at = store::intern("rf");
  AttrId shard_count = store::intern("shard_count");
  AttrId valid_until = store::intern("vu");
  AttrId parent_generation = store::intern("pgen");
  AttrId incarnation = store::intern("pinc");
  AttrId disabled = store::intern("disabled");
  AttrId bypass = store::intern("bypass");
  AttrId levels = store::intern("sched");
  AttrId resets = store::intern("rsched");
  AttrId zone = store::intern("sched_tz");
  AttrId ttl = store::intern("ttl");
  AttrId nonce = store::intern("st_n");
  AttrId remainders = store::intern("st_r");
};

const Names& names() {
  static const Names instance;
  return instance;
}

/// What an attribute of a bucket is to the decoder.
enum Role : std::uint8_t {
  kOther,  // keys, owner, foreign attributes: not needed for decisions
  kRefilledAt,
  kValidUntil,
  kShardCount,
  kDisabled,
  kBypass,
  kExpiry,
  kRemainders,
  kLimitField,  // kLimitField + field
};

constexpr std::uint8_t role_of(Field field) {
  return static_cast<std::uint8_t>(kLimitField + static_cast<int>(field));
}

struct LimitAttribute {
  std::string_view limit;
  Field field;
};

/// Splits `b_{limit}_{field}` at the last underscore.
std::optional<LimitAttribute> parse_limit_attribute(std::string_view name) {
  if (name.substr(0, 2) != "b_") return std::nullopt;
  std::size_t cut = name.rfind('_');
  if (cut <= 2) return std::nullopt;
  std::string_view field = name.substr(cut + 1);
  for (int i = 0; i < kFieldCount; ++i) {
    if (kFieldNames[i] == field) {
      return LimitAttribute{name.substr(2, cut - 2), static_cast<Field>(i)};
    }
  }
  return std::nullopt;
}

bool is_shape_text(AttrId id, std::string_view name) {
  const Names& n = names();
  if (id == n.levels || id == n.resets || id == n.zone) return true;
  std::optional<LimitAttribute> parsed = parse_limit_attribute(name);
  return parsed && (parsed->field == Field::kLevels || parsed->field == Field::kResets);
}

Error corrupt(const store::Image& item, std::string_view what) {
  return Error(ErrorCode::kCorrupt, std::string(item.pk()) + ": " + std::string(what));
}

// Remainders are stored as "<rf>;<rem>/<period>,<rem>/<period>,..." in base 36, one per drip limit
// in order of name, the period left out where the remainder is 0.

void append_base36(std::int64_t value, std::string& out) {
  char digits[16];
  auto end = std::to_chars(digits, digits + sizeof digits, value, 36);
  out.append(digits, end.ptr);
}

std::optional<std::int64_t> take_base36(std::string_view& text) {
  std::int64_t value = 0;
  auto end = std::from_chars(text.data(), text.data() + text.size(), value, 36);
  if (end.ec != std::errc() || value < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end.ptr - text.data()));
  return value;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

/// Whether a limit may have a remainder at all.
bool drips(const LimitState& limit) { return !limit.reserved && !limit.is_quota(); }

Millis period_at(const LimitState& limit, TimePoint at) {
  return limit.levels == nullptr ? limit.base.period : bucket::share_at(limit, at, 1).period;
}

/// Gives the limits the remainders that still belong to them: another writer may have moved the
/// refill stamp or changed a period without knowing of remainders (decision 12).
void assign_remainders(std::string_view text, bucket::BucketState& state) {
  std::optional<std::int64_t> at = take_base36(text);
  if (!at || *at != to_epoch_ms(state.refilled_at) || !take(text, ';')) return;
  std::size_t drip_count = 0;
  for (const LimitState& limit : state.limits) drip_count += drips(limit) ? 1u : 0u;
  std::size_t found = 0;
  for (LimitState& limit : state.limits) {
    if (!drips(limit)) continue;
    if (found > 0 && !take(text, ',')) break;
    std::optional<std::int64_t> remainder = take_base36(text);
    if (!remainder) break;
    std::optional<std::int64_t> period = 0;
    if (take(text, '/')) period = take_base36(text);
    if (!period) break;
    ++found;
    bool current = *period == period_at(limit, state.refilled_at).count() && *remainder < *period;
    limit.remainder = current ? *remainder : 0;
  }
  if (found == drip_count && text.empty()) return;
  for (LimitState& limit : state.limits) limit.remainder = 0;
}

struct RemainderEntry {
  std::string_view name;
  std::int64_t remainder;
  Millis period;
};

std::string format_remainders(TimePoint at, std::vector<RemainderEntry>& entries) {
  std::string text;
  append_base36(to_epoch_ms(at), text);
  text += ';';
  bool first = true;
  for (const RemainderEntry& entry : entries) {
    if (!first) text += ',';
    first = false;
    append_base36(entry.remainder, text);
    if (entry.remainder == 0) continue;
    text += '/';
    append_base36(entry.period.count(), text);
  }
  return text;
}

// A prepared update is described by code words, from which it is built once per layout: what the
// word stands for in the top six bits, how a term joins the one before in the next two, the
// attribute below. Parameters are taken in the order of the words.

enum Code : std::uint32_t {
  kTermItemExists,
  kTermPresent,
  kTermAbsent,
  kTermNumber,                   // + store::Test
  kTermText = kTermNumber + 16,  // equality with a string parameter
  kActionSetNumber,
  kActionSetText,
  kActionSetTrue,
  kActionSetFalse,
  kActionAdd,
  kActionRemove,
};

using Link = store::Condition::Join;
constexpr Link kClause = Link::kClause;
constexpr Link kOr = Link::kOr;

constexpr std::uint32_t word(std::uint32_t code, Link link, AttrId attr) {
  return code << 26 | static_cast<std::uint32_t>(link) << 24 | store::index_of(attr);
}

/// More than a bucket of 12 limits can need: at most 20 terms and 20 actions a limit, and 30 more.
constexpr std::size_t kMostWords = 1024;

/// Collects the words and parameters of one write.
class Emitter {
 public:
  Emitter(std::vector<std::uint32_t>& words, std::vector<std::int64_t>& numbers,
          std::vector<std::string>& strings)
      : strings_(strings) {
    words.resize(kMostWords);
    numbers.resize(kMostWords);
    strings_.clear();
    words_ = words.data();
    numbers_ = numbers.data();
  }

  std::size_t word_count() const { return word_count_; }
  std::size_t number_count() const { return number_count_; }

  void item_exists() { put(word(kTermItemExists, kClause, AttrId{})); }
  void absent(AttrId attr, Link link = kClause) { put(word(kTermAbsent, link, attr)); }
  void present(AttrId attr, Link link = kClause) { put(word(kTermPresent, link, attr)); }
  void number(Test test, AttrId attr, std::int64_t value, Link link = kClause) {
    put(word(kTermNumber + static_cast<std::uint32_t>(test), link, attr));
    numbers_[number_count_++] = value;
  }
  void text(AttrId attr, std::string_view value, Link link = kClause) {
    put(word(kTermText, link, attr));
    strings_.emplace_back(value);
  }
  /// The attribute must be as it was read.
  void pin(AttrId attr, std::optional<std::int64_t> value) {
    if (value) {
      number(Test::kEqual, attr, *value);
    } else {
      absent(attr);
    }
  }
  void pin(AttrId attr, std::optional<TimePoint> value) {
    pin(attr, value ? std::optional(to_epoch_ms(*value)) : std::nullopt);
  }
  void pin_text(AttrId attr, std::optional<std::string_view> value) {
    if (value) {
      text(attr, *value);
    } else {
      absent(attr);
    }
  }
  void absent_or(Test test, AttrId attr, std::int64_t value) {
    absent(attr);
    number(test, attr, value, kOr);
  }

  void set(AttrId attr, std::int64_t value) {
    put(word(kActionSetNumber, kClause, attr));
    numbers_[number_count_++] = value;
  }
  void set(AttrId attr, TimePoint value) { set(attr, to_epoch_ms(value)); }
  void set(AttrId attr, std::string_view value) {
    put(word(kActionSetText, kClause, attr));
    strings_.emplace_back(value);
  }
  void set_bool(AttrId attr, bool value) {
    put(word(value ? kActionSetTrue : kActionSetFalse, kClause, attr));
  }
  void add(AttrId attr, std::int64_t value) {
    put(word(kActionAdd, kClause, attr));
    numbers_[number_count_++] = value;
  }
  void remove(AttrId attr) { put(word(kActionRemove, kClause, attr)); }

 private:
  void put(std::uint32_t code_word) {
    assert(word_count_ < kMostWords);
    words_[word_count_++] = code_word;
  }

  std::uint32_t* words_;
  std::int64_t* numbers_;
  std::vector<std::string>& strings_;
  std::size_t word_count_ = 0;
  std::size_t number_count_ = 0;
};

std::shared_ptr<const store::UpdateProgram> build_program(std::span<const std::uint32_t> words) {
  auto program = std::make_shared<store::UpdateProgram>();
  int numbers = 0;
  int strings = 0;
  for (std::uint32_t w : words) {
    std::uint32_t code = w >> 26;
    AttrId attr{w & 0xffffff};
    if (code < kActionSetNumber) {
      store::Term term;
      term.attribute = attr;
      if (code == kTermItemExists) {
        term.test = Test::kItemExists;
      } else if (code == kTermPresent) {
        term.test = Test::kPresent;
      } else if (code == kTermAbsent) {
        term.test = Test::kAbsent;
      } else if (code == kTermText) {
        term.test = Test::kEqual;
        term.operand = store::Operand::string_param(strings++);
      } else {
        term.test = static_cast<Test>(code - kTermNumber);
        term.operand = store::Operand::number_param(numbers++);
      }
      program->condition.append(std::move(term), static_cast<Link>(w >> 24 & 3));
      continue;
    }
    store::Action action{store::Change::kSet, attr};
    switch (code) {
      case kActionSetNumber: action.operand = store::Operand::number_param(numbers++); break;
      case kActionSetText: action.operand = store::Operand::string_param(strings++); break;
      case kActionSetTrue:
      case kActionSetFalse:
        action.operand = store::Operand::literal(store::Value::boolean(code == kActionSetTrue));
        break;
      case kActionAdd:
        action.change = store::Change::kAdd;
        action.operand = store::Operand::number_param(numbers++);
        break;
      default: action.change = store::Change::kRemove; break;
    }
    program->actions.push_back(std::move(action));
  }
  return program;
}

/// Deadline of a stamp; one of a pre-release that is no number counts as expired (rules 1.3a).
TimePoint stamp_deadline(const ImageEntry& entry) {
  return entry.type() == ValueType::kNumber ? from_epoch_ms(entry.number) : from_epoch_ms(-1);
}

}  // namespace

AttrId field_attr(std::string_view limit, Field field) {
  std::string name = "b_";
  name += limit;
  name += '_';
  name += kFieldNames[static_cast<std::size_t>(field)];
  return store::intern(name);
}

FieldAttrs field_attrs(std::string_view limit) {
  FieldAttrs attrs{};
  for (int i = 0; i < kFieldCount; ++i) {
    attrs[static_cast<std::size_t>(i)] = field_attr(limit, static_cast<Field>(i));
  }
  return attrs;
}

struct BucketLayout::Prepared {
  std::vector<std::uint32_t> words;
  std::shared_ptr<const store::UpdateProgram> program;
  Prepared* next;
};

BucketLayout::~BucketLayout() {
  Prepared* node = prepared_.load();
  while (node != nullptr) {
    Prepared* next = node->next;
    delete node;
    node = next;
  }
}

Result<std::shared_ptr<const BucketLayout>> BucketLayout::of(const store::Image& item,
                                                             ResetRule rule) {
  const Names& n = names();
  std::shared_ptr<BucketLayout> layout(new BucketLayout);

  std::vector<std::string_view> limit_names;
  for (const ImageEntry& entry : item) {
    std::optional<LimitAttribute> parsed = parse_limit_attribute(store::name_of(entry.id()));
    if (!parsed || parsed->field != Field::kCapacity) continue;
    if (item.has(field_attr(parsed->limit, Field::kBalance))) limit_names.push_back(parsed->limit);
  }
  if (store::names_running_out()) {
    return Error(ErrorCode::kUnavailable,
                 "this process has met too many distinct limit names; restart it");
  }
  std::sort(limit_names.begin(), limit_names.end());
  int visible = 0;
  std::string_view default_levels = item.string(n.levels).value_or("");
  std::string_view default_resets = item.string(n.resets).value_or("");
  layout->zone_ = item.string(n.zone).value_or("UTC");
  std::optional<TimeZone> zone;
  auto find_zone = [&]() -> Status {
    if (zone) return Status();
    Result<TimeZone> found = TimeZone::find(layout->zone_);
    if (!found) return corrupt(item, "unknown time zone " + layout->zone_);
    zone = *found;
    return Status();
  };

  for (std::string_view name : limit_names) {
    LimitLayout limit;
    limit.name = name;
    limit.reserved = name == model::kWriteCapacityLimit;
    limit.fields = field_attrs(name);
    if (!limit.reserved) {
      ++visible;
      auto own = [&](Field field, std::string_view inherited) -> std::string_view {
        std::string_view text =
            item.string(limit.fields[static_cast<std::size_t>(field)]).value_or(inherited);
        return text == kNone ? std::string_view() : text;
      };
      limit.levels_text = own(Field::kLevels, default_levels);
      limit.resets_text = own(Field::kResets, default_resets);
      if (!limit.levels_text.empty() || !limit.resets_text.empty()) {
        if (Status found = find_zone(); !found) return found.error();
      }
      if (!limit.levels_text.empty()) {
        auto entries = model::decode_levels(limit.levels_text);
        if (!entries) return corrupt(item, entries.error().message());
        limit.levels = std::make_unique<model::LevelSchedule>(std::move(*entries), *zone);
      }
      if (!limit.resets_text.empty()) {
        auto crons = model::decode_resets(limit.resets_text);
        if (!crons) return corrupt(item, crons.error().message());
        limit.resets = std::make_unique<model::ResetSchedule>(std::move(*crons), *zone, rule);
      }
    }
    layout->limits_.push_back(std::move(limit));
  }
  if (visible > model::kMaxLimits) return corrupt(item, "more than 12 limits on one bucket");

  for (const LimitLayout& limit : layout->limits_) {
    for (Field field : {Field::kBalance, Field::kCapacity, Field::kRefill, Field::kPeriod}) {
      bool there = item.number(limit.fields[static_cast<std::size_t>(field)]).has_value();
      layout->reads_as_stored_ = layout->reads_as_stored_ && there;
    }
    LimitState& blank = layout->blank_limits_.emplace_back();
    blank.name = limit.name;
    blank.reserved = limit.reserved;
    blank.levels = limit.levels.get();
    blank.resets = limit.resets.get();
  }
  for (const ImageEntry& entry : item) {
    AttrId id = entry.id();
    std::size_t at = layout->shape_.size();
    layout->shape_.push_back(entry.id_and_type);
    Load load{static_cast<std::uint32_t>(at), kOther, 0};
    std::string_view name = store::name_of(id);
    if (id == n.refilled_at) {
      load.role = kRefilledAt;
    } else if (id == n.valid_until) {
      load.role = kValidUntil;
    } else if (id == n.shard_count) {
      load.role = kShardCount;
    } else if (id == n.disabled) {
      load.role = kDisabled;
    } else if (id == n.bypass) {
      load.role = kBypass;
    } else if (id == n.ttl) {
      load.role = kExpiry;
    } else if (id == n.remainders) {
      load.role = kRemainders;
      layout->has_remainders_ = true;
    } else if (is_shape_text(id, name)) {
      if (entry.type() == ValueType::kString) {
        layout->shape_texts_.push_back({at, std::string(item.text(entry))});
      }
    } else if (std::optional<LimitAttribute> parsed = parse_limit_attribute(name)) {
      int limit = layout->find(parsed->limit);
      if (limit >= 0) {
        load.role = role_of(parsed->field);
        load.limit = static_cast<std::uint8_t>(limit);
      }
    }
    if (load.role == kDisabled) layout->reads_as_stored_ = false;
    if (load.role == kBypass || load.role == role_of(Field::kSoft)) {
      layout->reads_as_stored_ = layout->reads_as_stored_ && entry.type() == ValueType::kNumber;
    }
    if (load.role == kOther) continue;
    bool any_type = load.role == kDisabled || load.role == kBypass || load.role == kRemainders ||
                    load.role == role_of(Field::kSoft);
    // Tables count to 38 digits. What is consumed decides nothing, so that a bucket goes on.
    if (load.role == role_of(Field::kConsumed) && entry.type() == ValueType::kDecimal) {
      layout->blank_limits_[load.limit].consumed = std::numeric_limits<std::int64_t>::max();
      continue;
    }
    if (!any_type && entry.type() != ValueType::kNumber) {
      if (!layout->wrong_type_) layout->wrong_type_ = id;
      continue;
    }
    layout->loads_.push_back(load);
  }
  return std::shared_ptr<const BucketLayout>(std::move(layout));
}

std::optional<std::string_view> BucketLayout::shape_text(AttrId id) const {
  for (const ShapeText& text : shape_texts_) {
    if (AttrId(shape_[text.at] & 0xffffff) == id) return text.text;
  }
  // An attribute of another type than text is pinned as if it were empty.
  for (std::uint32_t id_and_type : shape_) {
    if (AttrId(id_and_type & 0xffffff) == id) return std::string_view();
  }
  return std::nullopt;
}

std::uint64_t BucketLayout::shape_hash(const store::Image& item) {
  std::uint64_t hash = item.entry_count();
  for (const ImageEntry& entry : item) {
    hash = mix_hash(hash, entry.id_and_type);
    if (entry.type() == ValueType::kString &&
        is_shape_text(entry.id(), store::name_of(entry.id()))) {
      hash = hash_bytes(item.text(entry), hash);
    }
  }
  return hash;
}

bool BucketLayout::fits(const store::Image& item) const {
  std::size_t count = shape_.size();
  if (item.entry_count() != count) return false;
  const std::uint32_t* shape = shape_.data();
  const ImageEntry* entries = item.begin();
  std::uint32_t difference = 0;
  for (std::size_t i = 0; i < count; ++i) difference |= entries[i].id_and_type ^ shape[i];
  if (difference != 0) return false;
  for (const ShapeText& text : shape_texts_) {
    if (item.text(entries[text.at]) != text.text) return false;
  }
  return true;
}

Status BucketLayout::decode(const store::Image& item, bucket::BucketState& state) const {
  if (wrong_type_) {
    return corrupt(item, std::string(store::name_of(*wrong_type_)) + " is not a whole number");
  }
  state.refilled_at = TimePoint{};
  state.valid_until.reset();
  state.shard_count = 1;
  state.expires_at_s.reset();
  state.disabled = false;
  state.bypass_until.reset();
  state.limits = blank_limits_;
  std::string_view remainders;
  bool refill_stamp = false;
  const ImageEntry* entries = item.begin();
  for (const Load& load : loads_) {
    const ImageEntry& entry = entries[load.at];
    std::int64_t value = entry.number;
    LimitState* limit = state.limits.data() + load.limit;
    switch (load.role) {
      case kRefilledAt:
        state.refilled_at = from_epoch_ms(value);
        refill_stamp = true;
        break;
      case kValidUntil: state.valid_until = from_epoch_ms(value); break;
      case kShardCount: state.shard_count = value; break;
      case kExpiry: state.expires_at_s = value; break;
      case kDisabled: state.disabled = entry.type() == ValueType::kBool && value != 0; break;
      case kBypass: state.bypass_until = stamp_deadline(entry); break;
      case kRemainders:
        if (entry.type() == ValueType::kString) remainders = item.text(entry);
        break;
      case role_of(Field::kBalance): limit->balance = value; break;
      case role_of(Field::kCapacity): limit->base.capacity = value; break;
      case role_of(Field::kRefill): limit->base.refill = value; break;
      case role_of(Field::kPeriod): limit->base.period = Millis(value); break;
      case role_of(Field::kConsumed): limit->consumed = value; break;
      case role_of(Field::kWindowStart): limit->window_start = from_epoch_ms(value); break;
      case role_of(Field::kWindowLength): {
        // Bounded so that a window's end cannot overflow.
        constexpr std::int64_t kMostSeconds = 1'000'000'000;
        if (value < 1 || value > kMostSeconds) return corrupt(item, "window length out of range");
        limit->window_length = Millis(value * 1000);
        break;
      }
      case role_of(Field::kWindowApplied): limit->window_applied = from_epoch_ms(value); break;
      case role_of(Field::kFanoutConsumed): limit->consumed_at_fanout = value; break;
      case role_of(Field::kGrantCount): limit->grant_count = value; break;
      case role_of(Field::kTopUp): limit->top_up = value; break;
      case role_of(Field::kResetsTaken): limit->resets_taken = value; break;
      case role_of(Field::kSoft): limit->soft_until = stamp_deadline(entry); break;
      default: break;
    }
  }
  if (!refill_stamp) return corrupt(item, "no refill stamp rf");
  // Instants outside of any calendar would make sums overflow.
  constexpr std::int64_t kLastMs = 253'402'300'800'000;  // the year 10000
  auto sane = [](TimePoint at) { return to_epoch_ms(at) >= 0 && to_epoch_ms(at) <= kLastMs; };
  if (!sane(state.refilled_at)) return corrupt(item, "refill stamp rf out of range");
  if (state.shard_count < 1) return corrupt(item, "shard_count below 1");
  for (LimitState& limit : state.limits) {
    constexpr std::int64_t kMost = kMaxTokens * 1000;
    const char* wrong = nullptr;
    if (limit.base.capacity < 1 || limit.base.capacity > kMost) wrong = "capacity out of range";
    if (limit.base.refill < 0 || limit.base.refill > kMost) wrong = "refill out of range";
    if (limit.base.period.count() < 1) wrong = "period out of range";
    if (limit.window_start && !sane(*limit.window_start)) wrong = "window start out of range";
    if (wrong != nullptr) {
      return corrupt(item, "limit " + std::string(limit.name) + ": " + wrong);
    }
    if (limit.reserved) continue;
    if (limit.base.refill == 0 && limit.window_length.count() > 0) {
      limit.kind = LimitKind::kSession;
      limit.resets = nullptr;
    } else if (limit.base.refill == 0 && limit.resets != nullptr) {
      limit.kind = LimitKind::kCalendar;
    } else {
      limit.resets = nullptr;
    }
  }
  if (!remainders.empty()) assign_remainders(remainders, state);
  return Status();
}

std::shared_ptr<const store::UpdateProgram> BucketLayout::program(
    std::span<const std::uint32_t> words) const {
  // More forms than this are not in steady use; they are built for the one write.
  constexpr int kMostPrepared = 64;
  int count = 0;
  Prepared* head = prepared_.load(std::memory_order_acquire);
  for (Prepared* node = head; node != nullptr; node = node->next, ++count) {
    if (node->words.size() == words.size() &&
        std::memcmp(node->words.data(), words.data(), words.size_bytes()) == 0) {
      return node->program;
    }
  }
  std::shared_ptr<const store::UpdateProgram> program = build_program(words);
  if (count >= kMostPrepared) return program;
  auto* node = new Prepared{{words.begin(), words.end()}, program, head};
  while (!prepared_.compare_exchange_weak(node->next, node, std::memory_order_acq_rel)) {
  }
  return program;
}

bool names_owner(const store::Image& item) {
  return item.has(names().parent_generation) || item.has(names().parent_id);
}

bool is_split(const store::Image& item) {
  if (item.number(names().shard_count).value_or(1) > 1) return true;
  std::optional<BucketAddress> address = parse_bucket_key(item.pk());
  return address && address->shard > 0;
}

bool stored_cascade(const store::Image& item) {
  static const store::PositionHint hint;
  const ImageEntry* entry = item.find(names().cascade, hint);
  return entry != nullptr && entry->type() == ValueType::kBool && entry->number != 0;
}

std::optional<std::string_view> stored_parent(const store::Image& item) {
  static const store::PositionHint hint;
  const ImageEntry* entry = item.find(names().parent_id, hint);
  if (entry == nullptr || entry->type() != ValueType::kString) return std::nullopt;
  return item.text(*entry);
}

store::ImagePtr as_rewritten(const store::Image& item) {
  store::ImageBuilder rewritten(item);
  rewritten.set(names().nonce, last_nonce(item).value_or(0) ^ 1);
  return rewritten.build();
}

BucketOwner decode_owner(const store::Image& item) {
  const Names& n = names();
  BucketOwner owner;
  owner.entity = item.string(n.entity_id).value_or("");
  owner.resource = item.string(n.resource).value_or("");
  owner.cascade = item.boolean(n.cascade).value_or(false);
  if (auto parent = item.string(n.parent_id)) owner.parent = std::string(*parent);
  owner.parent_generation = item.number(n.parent_generation);
  if (auto incarnation = item.string(n.incarnation)) owner.incarnation = std::string(*incarnation);
  return owner;
}

std::optional<std::int64_t> BucketLayout::stored_balance(const store::Image& item,
                                                         std::size_t limit) const {
  const ImageEntry* entry = item.find(attr(limit, Field::kBalance), limits_[limit].balance_at);
  if (entry == nullptr || entry->type() != ValueType::kNumber) return std::nullopt;
  return entry->number;
}

std::optional<std::int64_t> last_nonce(const store::Image& item) {
  return item.number(names().nonce);
}

std::optional<TimePoint> last_refill(const store::Image& item) {
  std::optional<std::int64_t> stored = item.number(names().refilled_at);
  if (!stored) return std::nullopt;
  return from_epoch_ms(*stored);
}

void set_bucket_index_keys(store::ImageBuilder& item, std::string_view ns,
                           const BucketAddress& address) {
  const auto& [entity, resource, shard_index] = address;
  std::string prefix(kBucketPrefix);
  std::string shard = "#" + std::to_string(shard_index);
  item.set(store::index_pk(2), resource_partition(ns, resource));
  item.set(store::index_sk(2), prefix + entity + shard);
  item.set(store::index_pk(3), entity_partition(ns, entity));
  item.set(store::index_sk(3), prefix + resource + shard);
  item.set(store::index_pk(4), namespace_partition(ns));
  item.set(store::index_sk(4), prefix + entity + "#" + resource + shard);
}

store::ImagePtr create_bucket(const NewBucket& bucket, TimePoint now) {
  const Names& n = names();
  const BucketOwner& owner = bucket.owner;
  store::ImageBuilder item(bucket_key(bucket.ns, owner.entity, owner.resource, bucket.shard));
  set_bucket_index_keys(item, bucket.ns, BucketAddress{owner.entity, owner.resource, bucket.shard});
  item.set(n.entity_id, owner.entity);
  item.set(n.resource, owner.resource);
  item.set(n.cascade, owner.cascade);
  if (owner.parent) item.set(n.parent_id, *owner.parent);
  if (owner.parent_generation) item.set(n.parent_generation, *owner.parent_generation);
  if (owner.incarnation) item.set(n.incarnation, *owner.incarnation);
  item.set(n.refilled_at, to_epoch_ms(now));
  item.set(n.shard_count, bucket.shard_count);
  item.set(n.nonce, bucket.nonce);
  if (bucket.disabled) item.set(n.disabled, true);
  if (bucket.bypass_until) item.set(n.bypass, to_epoch_ms(*bucket.bypass_until));
  if (bucket.expires_at_s) item.set(n.ttl, *bucket.expires_at_s);

  std::string default_levels;
  std::string default_resets;
  for (const NewLimit& limit : bucket.limits) {
    if (default_levels.empty()) default_levels = limit.configured->levels_text();
    if (default_resets.empty()) default_resets = limit.configured->resets_text();
  }
  if (!default_levels.empty()) item.set(n.levels, default_levels);
  if (!default_resets.empty()) item.set(n.resets, default_resets);

  std::optional<TimePoint> boundary;
  auto ends_at = [&](TimePoint at) { boundary = boundary ? std::min(*boundary, at) : at; };
  for (const NewLimit& limit : bucket.limits) {
    const LimitState& state = limit.configured->state();
    const FieldAttrs& attrs = limit.configured->bucket_attrs();
    auto attr = [&](Field field) { return attrs[static_cast<std::size_t>(field)]; };
    auto set = [&](Field field, std::int64_t value) { item.set(attr(field), value); };
    std::int64_t share = bucket::share_at(state, now, bucket.shard_count).capacity;
    // Under bypass everything is funded and nothing debited; consumption still counts (rules 5.7).
    std::int64_t debit = bucket.bypass_until ? 0 : limit.debit;
    set(Field::kBalance, share - debit);
    set(Field::kCapacity, state.base.capacity);
    set(Field::kRefill, state.base.refill);
    set(Field::kPeriod, state.base.period.count());
    set(Field::kConsumed, limit.debit);
    if (state.is_quota()) set(Field::kGrantCount, bucket.shard_count);
    auto set_schedule = [&](Field field, const std::string& text, const std::string& inherited) {
      if (text == inherited) return;
      item.set(attr(field), text.empty() ? kNone : std::string_view(text));
    };
    set_schedule(Field::kLevels, limit.configured->levels_text(), default_levels);
    set_schedule(Field::kResets, limit.configured->resets_text(), default_resets);
    if (state.levels != nullptr || state.resets != nullptr) {
      if (limit.configured->limit().zone() != "UTC")
        item.set(n.zone, limit.configured->limit().zone());
    }
    if (limit.soft_until) set(Field::kSoft, to_epoch_ms(*limit.soft_until));
    if (std::optional<TimePoint> next = bucket::next_boundary(state, now)) ends_at(*next);
    if (state.kind == LimitKind::kSession) {
      set(Field::kWindowLength, state.window_length.count() / 1000);
      if (debit > 0) {
        set(Field::kWindowStart, to_epoch_ms(now));
        set(Field::kWindowApplied, to_epoch_ms(now));
        ends_at(now + state.window_length);
      } else {
        // Never opened: the boundary stays in the past until it is (decision 21); after a bypass
        // the item is looked at again at once (rules 5.7).
        ends_at(bucket.bypass_until ? TimePoint{} : now);
      }
    }
  }
  if (boundary) item.set(n.valid_until, to_epoch_ms(*boundary));
  if (bucket.partition_write_ceiling) {
    add_write_capacity(item, *bucket.partition_write_ceiling);
  }
  return item.build();
}

void BucketWrite::finish(std::size_t word_count, std::size_t number_count,
                         const BucketLayout& layout) {
  word_count_ = word_count;
  number_count_ = number_count;
  program_ = layout.program(std::span<const std::uint32_t>(words_).first(word_count_));
}

void BucketWrite::assign(const bucket::Plan& plan, const BucketLayout& layout,
                         const bucket::BucketState& state, const WriteExtras& extras) {
  const Names& n = names();
  bool locked = plan.form == bucket::Form::kLocked;
  Emitter out(words_, numbers_, strings_);
  auto removed = [&](std::size_t limit) {
    return !extras.removed_limits.empty() &&
           std::find(extras.removed_limits.begin(), extras.removed_limits.end(), limit) !=
               extras.removed_limits.end();
  };

  out.item_exists();
  out.absent_or(Test::kNotEqual, n.nonce, extras.nonce);
  if (extras.policy == WriteExtras::Policy::kKeep) {
    out.absent(n.disabled);
    out.pin(n.bypass, state.bypass_until);
  }
  if (extras.owner != nullptr) {
    out.pin(n.parent_generation, extras.owner->from.parent_generation);
    out.pin_text(n.incarnation, extras.owner->from.incarnation);
  }
  if (extras.check_expiry && (extras.shared_writers || state.expires_at_s)) {
    out.absent_or(Test::kGreater, n.ttl, to_epoch_s(plan.now));
  }
  if (locked || plan.pin_validity) {
    out.pin(n.valid_until, state.valid_until);
  } else {
    out.absent_or(Test::kGreater, n.valid_until, to_epoch_ms(plan.now));
  }
  if (locked) {
    out.number(Test::kEqual, n.refilled_at, to_epoch_ms(state.refilled_at));
    if (state.shard_count == 1) {
      out.absent_or(Test::kEqual, n.shard_count, 1);
    } else {
      out.number(Test::kEqual, n.shard_count, state.shard_count);
    }
  } else {
    if (plan.refilled_since) {
      out.number(Test::kGreaterOrEqual, n.refilled_at, to_epoch_ms(*plan.refilled_since));
    }
    if (plan.refilled_before) {
      out.number(Test::kLess, n.refilled_at, to_epoch_ms(*plan.refilled_before));
    }
  }

  for (const bucket::LimitWrite& write : plan.limits) {
    if (removed(write.limit)) continue;
    const LimitState& limit = state.limits[write.limit];
    auto attr = [&](Field field) { return layout.attr(write.limit, field); };
    if (write.exactly) out.number(Test::kEqual, attr(Field::kBalance), *write.exactly);
    if (write.at_least) out.number(Test::kGreaterOrEqual, attr(Field::kBalance), *write.at_least);
    if (write.at_most) out.number(Test::kLessOrEqual, attr(Field::kBalance), *write.at_most);
    bool pin_everything = locked && extras.shared_writers && !limit.reserved;
    if (write.pin_parameters || pin_everything) {
      out.number(Test::kEqual, attr(Field::kCapacity), limit.base.capacity);
      out.number(Test::kEqual, attr(Field::kRefill), limit.base.refill);
      out.number(Test::kEqual, attr(Field::kPeriod), limit.base.period.count());
    }
    if (pin_everything) {
      if (limit.is_quota()) {
        out.pin(attr(Field::kGrantCount), limit.grant_count);
        if (limit.top_up != 0) {
          out.number(Test::kEqual, attr(Field::kTopUp), limit.top_up);
        } else {
          out.absent_or(Test::kEqual, attr(Field::kTopUp), 0);
        }
      }
      if (limit.kind == LimitKind::kSession) {
        out.number(Test::kEqual, attr(Field::kWindowLength), limit.window_length.count() / 1000);
      }
    }
    if (write.pin_window && (extras.shared_writers || !locked)) {
      out.pin(attr(Field::kWindowStart), limit.window_start);
      out.pin(attr(Field::kWindowApplied), limit.window_applied);
    }
    if (write.pin_resets) out.pin(attr(Field::kResetsTaken), limit.resets_taken);
    if (write.named) {
      bool restamped = !extras.soft_stamps.empty() &&
                       std::any_of(extras.soft_stamps.begin(), extras.soft_stamps.end(),
                                   [&](const auto& s) { return s.limit == write.limit; });
      if (write.soft_in_force && !restamped) {
        out.number(Test::kGreater, attr(Field::kSoft), to_epoch_ms(plan.now));
      } else if (!limit.soft_until && (extras.shared_writers || restamped)) {
        out.absent(attr(Field::kSoft));
      } else if (restamped) {
        out.present(attr(Field::kSoft));
      }
    }
  }
  if (locked && extras.shared_writers) {
    // Schedules are pinned as texts: what the item says, not what it means.
    for (std::size_t i = 0; i < state.limits.size(); ++i) {
      if (state.limits[i].reserved) continue;
      layout.emit_schedule_pins(
          i, [&](AttrId id, std::optional<std::string_view> text) { out.pin_text(id, text); });
    }
  }
  for (const bucket::Seed& seed : plan.seeds) {
    out.absent(field_attr(seed.configured->name, Field::kCapacity));
    out.absent(field_attr(seed.configured->name, Field::kBalance), kOr);
  }

  out.set(n.nonce, extras.nonce);
  for (const bucket::LimitWrite& write : plan.limits) {
    if (removed(write.limit)) continue;
    const LimitState& limit = state.limits[write.limit];
    auto attr = [&](Field field) { return layout.attr(write.limit, field); };
    switch (write.change) {
      case bucket::BalanceChange::kKeep: break;
      case bucket::BalanceChange::kAdd: out.add(attr(Field::kBalance), write.value); break;
      case bucket::BalanceChange::kSet: out.set(attr(Field::kBalance), write.value); break;
    }
    if (write.consumed != 0) out.add(attr(Field::kConsumed), write.consumed);
    if (write.consumed_at_fanout != 0) {
      out.add(attr(Field::kFanoutConsumed), write.consumed_at_fanout);
    }
    if (write.open_window) {
      out.set(attr(Field::kWindowStart), plan.now);
      out.set(attr(Field::kWindowApplied), plan.now);
    } else if (write.apply_window) {
      out.set(attr(Field::kWindowApplied), *limit.window_start);
    } else if (write.forget_window) {
      out.remove(attr(Field::kWindowStart));
      out.remove(attr(Field::kWindowApplied));
    }
    if (write.set_grant) out.set(attr(Field::kGrantCount), state.shard_count);
    if (write.clear_top_up) out.remove(attr(Field::kTopUp));
    if (write.stamp != nullptr) {
      const ConfiguredLimit& configured = *extras.config->find(limit.name);
      const LimitState& to = *write.stamp;
      out.set(attr(Field::kCapacity), to.base.capacity);
      out.set(attr(Field::kRefill), to.base.refill);
      out.set(attr(Field::kPeriod), to.base.period.count());
      auto set_schedule = [&](Field field, const std::string& text, const std::string& stored) {
        if (text == stored) return;
        out.set(attr(field), text.empty() ? kNone : std::string_view(text));
      };
      set_schedule(Field::kLevels, configured.levels_text(), layout.levels_text(write.limit));
      set_schedule(Field::kResets, configured.resets_text(), layout.resets_text(write.limit));
      if (to.kind == LimitKind::kSession) {
        out.set(attr(Field::kWindowLength), to.window_length.count() / 1000);
      } else if (limit.window_length.count() > 0) {
        out.remove(attr(Field::kWindowLength));
      }
      if (!to.is_quota() && limit.grant_count) out.remove(attr(Field::kGrantCount));
    }
  }
  for (const WriteExtras::SoftStamp& stamp : extras.soft_stamps) {
    AttrId attr = layout.attr(stamp.limit, Field::kSoft);
    if (to_epoch_ms(stamp.until) == 0) {
      out.remove(attr);
    } else {
      out.set(attr, stamp.until);
    }
  }
  bool scheduled_change = false;
  for (std::size_t i = 0; i < plan.seeds.size(); ++i) {
    const bucket::Seed& seed = plan.seeds[i];
    const LimitState& to = *seed.configured;
    const ConfiguredLimit& configured = *extras.config->find(to.name);
    auto attr = [&](Field field) { return field_attr(to.name, field); };
    std::int64_t share = bucket::share_at(to, plan.now, state.shard_count).capacity;
    out.set(attr(Field::kBalance), share - seed.amount);
    out.set(attr(Field::kConsumed), seed.amount);
    out.set(attr(Field::kCapacity), to.base.capacity);
    out.set(attr(Field::kRefill), to.base.refill);
    out.set(attr(Field::kPeriod), to.base.period.count());
    auto text_or_none = [](const std::string& text) {
      return text.empty() ? kNone : std::string_view(text);
    };
    out.set(attr(Field::kLevels), text_or_none(configured.levels_text()));
    out.set(attr(Field::kResets), text_or_none(configured.resets_text()));
    scheduled_change = scheduled_change || to.levels != nullptr || to.resets != nullptr;
    if (to.is_quota()) out.set(attr(Field::kGrantCount), state.shard_count);
    if (to.kind == LimitKind::kSession) {
      out.set(attr(Field::kWindowLength), to.window_length.count() / 1000);
      if (seed.amount > 0) {
        out.set(attr(Field::kWindowStart), plan.now);
        out.set(attr(Field::kWindowApplied), plan.now);
      }
    }
    TimePoint soft_until =
        i < extras.seed_soft_until.size() ? extras.seed_soft_until[i] : TimePoint{};
    if (to_epoch_ms(soft_until) != 0) out.set(attr(Field::kSoft), soft_until);
  }
  for (std::size_t limit : extras.removed_limits) {
    for (Field field : {Field::kBalance, Field::kCapacity, Field::kRefill, Field::kPeriod,
                        Field::kConsumed, Field::kLevels, Field::kResets, Field::kSoft}) {
      out.remove(layout.attr(limit, field));
    }
  }
  for (const bucket::LimitWrite& write : plan.limits) {
    if (write.stamp == nullptr) continue;
    scheduled_change =
        scheduled_change || write.stamp->levels != nullptr || write.stamp->resets != nullptr;
  }
  if (scheduled_change && extras.config->zone != layout.zone() && !extras.config->zone.empty()) {
    out.set(n.zone, extras.config->zone);
  }
  if (extras.owner != nullptr) {
    const BucketOwner& to = extras.owner->to;
    out.set_bool(n.cascade, to.cascade);
    if (to.parent) {
      out.set(n.parent_id, *to.parent);
    } else if (extras.owner->from.parent) {
      out.remove(n.parent_id);
    }
    if (to.parent_generation) out.set(n.parent_generation, *to.parent_generation);
    if (to.incarnation) out.set(n.incarnation, *to.incarnation);
  }
  if (extras.policy == WriteExtras::Policy::kDisable && !state.disabled)
    out.set_bool(n.disabled, true);
  if (extras.policy == WriteExtras::Policy::kEnable && state.disabled) out.remove(n.disabled);
  if (extras.bypass_until) {
    if (to_epoch_ms(*extras.bypass_until) == 0) {
      out.remove(n.bypass);
    } else {
      out.set(n.bypass, *extras.bypass_until);
    }
  }
  if (locked) {
    if (plan.refilled_at != state.refilled_at) out.set(n.refilled_at, plan.refilled_at);
    if (plan.validity == bucket::Validity::kSet) out.set(n.valid_until, plan.valid_until);
    if (plan.validity == bucket::Validity::kRemove) out.remove(n.valid_until);

    std::vector<RemainderEntry> entries;
    bool any = layout.has_remainders() ||
               std::any_of(plan.remainders.begin(), plan.remainders.end(),
                           [](std::int64_t remainder) { return remainder != 0; });
    for (const bucket::LimitWrite& write : plan.limits) {
      if (!any) break;
      const LimitState& after = write.stamp != nullptr ? *write.stamp : state.limits[write.limit];
      if (!drips(after) || removed(write.limit)) continue;
      entries.push_back({state.limits[write.limit].name, plan.remainders[write.limit],
                         period_at(after, plan.refilled_at)});
    }
    for (const bucket::Seed& seed : plan.seeds) {
      if (any && drips(*seed.configured)) entries.push_back({seed.configured->name, 0, Millis(0)});
    }
    // Limits of a layout stand in order of name; only seeds come out of it.
    if (!plan.seeds.empty()) {
      std::sort(entries.begin(), entries.end(),
                [](const auto& a, const auto& b) { return a.name < b.name; });
    }
    if (any) out.set(n.remainders, format_remainders(plan.refilled_at, entries));
    if (extras.expires_at_s) {
      if (*extras.expires_at_s != 0) {
        out.set(n.ttl, *extras.expires_at_s);
      } else if (state.expires_at_s) {
        out.remove(n.ttl);
      }
    }
  }
  finish(out.word_count(), out.number_count(), layout);
}

void BucketWrite::assign_bypass(const BucketLayout& layout, const bucket::BucketState& state,
                                const std::vector<std::pair<std::size_t, std::int64_t>>& counted,
                                std::int64_t nonce, TimePoint now,
                                std::optional<TimePoint> renewed_until) {
  const Names& n = names();
  Emitter out(words_, numbers_, strings_);
  out.item_exists();
  out.absent_or(Test::kNotEqual, n.nonce, nonce);
  out.absent(n.disabled);
  if (renewed_until) {
    out.pin(n.bypass, state.bypass_until);
  } else {
    out.number(Test::kGreater, n.bypass, to_epoch_ms(now));
  }
  out.absent_or(Test::kGreater, n.ttl, to_epoch_s(now));
  // Nothing refills the reserved limit under bypass: once it is used up, this goes on without it.
  auto charged = [&](const LimitState& limit) {
    return limit.reserved && limit.balance >= bucket::kWriteCost;
  };
  for (std::size_t i = 0; i < state.limits.size(); ++i) {
    if (!charged(state.limits[i])) continue;
    out.number(Test::kGreaterOrEqual, layout.attr(i, Field::kBalance), bucket::kWriteCost);
  }
  out.set(n.nonce, nonce);
  if (renewed_until) out.set(n.bypass, *renewed_until);
  for (const auto& [limit, amount] : counted) {
    if (amount != 0) out.add(layout.attr(limit, Field::kConsumed), amount);
  }
  for (std::size_t i = 0; i < state.limits.size(); ++i) {
    if (!charged(state.limits[i])) continue;
    out.add(layout.attr(i, Field::kBalance), -bucket::kWriteCost);
    out.add(layout.attr(i, Field::kConsumed), bucket::kWriteCost);
  }
  finish(out.word_count(), out.number_count(), layout);
}

void BucketWrite::assign_plain(const BucketLayout& layout, const bucket::BucketState& state,
                               const std::vector<PlainDelta>& deltas, std::int64_t nonce) {
  const Names& n = names();
  Emitter out(words_, numbers_, strings_);
  out.item_exists();
  out.absent_or(Test::kNotEqual, n.nonce, nonce);
  std::optional<TimePoint> refilled_before;
  for (const PlainDelta& delta : deltas) {
    if (!delta.pin || !delta.balance || delta.amount >= 0) continue;
    auto attr = [&](Field field) { return layout.attr(delta.limit, field); };
    if (state.limits[delta.limit].kind == LimitKind::kSession) {
      out.pin(attr(Field::kWindowStart), delta.pin->window_start);
      out.pin(attr(Field::kWindowApplied), delta.pin->window_applied);
    } else if (state.limits[delta.limit].kind == LimitKind::kCalendar) {
      out.pin(attr(Field::kResetsTaken), delta.pin->resets_taken);
      if (delta.pin->period_end) {
        refilled_before = refilled_before ? std::min(*refilled_before, *delta.pin->period_end)
                                          : *delta.pin->period_end;
      }
    }
  }
  if (refilled_before) out.number(Test::kLess, n.refilled_at, to_epoch_ms(*refilled_before));
  out.set(n.nonce, nonce);
  for (const PlainDelta& delta : deltas) {
    if (delta.amount == 0) continue;
    if (delta.balance) out.add(layout.attr(delta.limit, Field::kBalance), -delta.amount);
    out.add(layout.attr(delta.limit, Field::kConsumed), delta.amount);
  }
  out.set(n.valid_until, 0);
  finish(out.word_count(), out.number_count(), layout);
}

}  // namespace stint::schema
