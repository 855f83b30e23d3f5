#include "ops/acquire.h"

#include <algorithm>
#include <array>

#include "model/names.h"
#include "ops/lease.h"
#include "ops/leg.h"
#include "ops/version.h"
#include "ops/write_bucket.h"

namespace stint::ops {
namespace {

constexpr int kMostAttempts = 5;  // decision 30

/// An acquire under way: the entity's own bucket, and its parent's once known.
class Acquire {
  PooledLeg child_leg_;
  std::optional<PooledLeg> parent_leg_;

 public:
  Leg& child;
  /// Null while debits are not known to cascade.
  Leg* parent = nullptr;

  Acquire(Context& cx, const AcquireRequest& request,
          std::shared_ptr<const schema::ConfigRecord> call_limits)
      : child(*child_leg_), cx_(&cx), request_(&request) {
    child.call_limits = std::move(call_limits);
    hashes_[0] = view_hash(request.entity, request.resource);
    for (const Consume& consume : request.consume) {
      takes_anything_ = takes_anything_ || consume.amount.milli().count() != 0;
    }
  }

  /// The buckets whose turn it has to be.
  std::span<const std::uint64_t> turn_keys() const {
    return std::span<const std::uint64_t>(hashes_).first(parent ? 2 : 1);
  }
  /// Once it is: takes from the caches what has not been taken yet.
  void take_views() {
    if (!child.taken()) child.take(*cx_, hashes_[0], request_->entity, request_->resource);
    if (parent && !parent->taken()) {
      parent->take(*cx_, hashes_[1], parent_id_, request_->resource);
    }
  }

  /// Whether the child is known to have another parent than the one this call goes by: it is seen
  /// for the first time, or has been moved (decision 16).
  bool parent_moved() const {
    if (!child.exists() && !child.meta_read) return false;
    if (!child.cascades()) return parent != nullptr;
    return !parent || child.parent() != parent_id_;
  }

  /// Goes by the parent that the child has now. Its bucket needs its own turn, and until that has
  /// come others may use what is remembered of the child.
  void adopt_parent() {
    parent = nullptr;
    parent_leg_.reset();
    if (std::optional<std::string> id = present_parent()) {
      parent_id_ = std::move(*id);
      hashes_[1] = view_hash(parent_id_, request_->resource);
      parent = &*parent_leg_.emplace();
    }
    bool as_remembered = !child.bucket_read && !child.meta_read && !child.config_fresh;
    if (!child.landed && as_remembered) child.give_back();
  }

  /// Matches the request with the limits of each leg. Returns the first name that no leg has.
  const std::string* name_limits() {
    if (!child.landed) child.named.clear();
    if (parent && !parent->landed) parent->named.clear();
    for (std::size_t i = 0; i < request_->consume.size(); ++i) {
      bool known = name_limit(child, i);
      if (parent) known = name_limit(*parent, i) || known;
      if (!known) return &request_->consume[i].limit;
    }
    return nullptr;
  }
  bool configuration_is_fresh() const {
    return child.config_fresh && (!parent || parent->config_fresh);
  }

  /// Whether the leg refuses one of its limits at `now`.
  bool is_short(const Leg& leg, TimePoint now) const {
    if (leg.landed || leg.bypass != BypassMode::kEnforce) return false;
    for (const NamedLimit& named : leg.named) {
      Standing standing(leg, named, now);
      if (standing.worth().balance < named.amount && !is_soft(leg, named, now)) return true;
      if (was_short_within_call(leg, named) && !is_soft(leg, named, now)) return true;
    }
    return false;
  }

  /// Whether what is known of the leg may refuse (or answer without a write).
  bool may_decide(const Leg& leg, TimePoint now) const {
    if (leg.absent() || leg.image_confirmed) return true;
    Millis age = now - leg.view.image_at;
    return age >= Millis(0) && age < cx_->settings.rejection_ttl;
  }

  bool takes_anything() const { return takes_anything_; }
  bool child_writes() const { return writes(child); }
  bool parent_writes() const { return parent && writes(*parent); }

  Acquired rejected(TimePoint now) const {
    Acquired result;
    result.outcome = Outcome::kRejected;
    result.from_memory = !cx_->store_asked;
    append_statuses(child, now, result.limits);
    if (parent) append_statuses(*parent, now, result.limits);
    return result;
  }

  /// The leg that policy refuses, the child first; null when none.
  const Leg* disabled_leg() const {
    if (is_disabled(child)) return &child;
    if (parent && is_disabled(*parent)) return &*parent;
    return nullptr;
  }

  /// The leg that is to be written and cannot be, because it is one of several shards; null: none.
  Leg* hindered_leg(TimePoint now) const {
    if (!child.landed && hindered_by_shards(child, now) != nullptr) return &child;
    if (parent && !parent->landed && hindered_by_shards(*parent, now) != nullptr) return parent;
    return nullptr;
  }

  Acquired disabled(const Leg& leg) const {
    Acquired result;
    result.outcome = Outcome::kDisabled;
    bool by_config = leg.view.config && leg.view.config->access == AccessPolicy::kDisabled;
    result.disabled.emplace();
    result.disabled->entity = leg.names().entity;
    result.disabled->level = by_config ? to_string(leg.view.config->access_level) : "bucket";
    return result;
  }

  Acquired admitted(TimePoint now, LeaseRecord& lease) const {
    Acquired result;
    result.limits.reserve(request_->consume.size() * (parent ? 2 : 1));
    append_admitted(child, now, result, lease);
    if (parent) append_admitted(*parent, now, result, lease);
    return result;
  }

  /// What landed so far, to be given back. The last to be asked: what is known of the buckets goes
  /// back to the caches, where the writes that give back find it.
  LeaseRecord end() {
    LeaseRecord record;
    if (child.landed) append_leg(child, child.plan.now, record);
    append_parent_landed(record);
    child.give_back();
    if (parent) parent->give_back();
    return record;
  }
  /// What landed on a parent that is to be left. It counts as given back from here on, so that no
  /// credit is ever sent twice.
  LeaseRecord take_parent_landed() {
    LeaseRecord record;
    append_parent_landed(record);
    parent->landed = false;
    parent->give_back();
    return record;
  }

  /// Whether the parent is known to have no say: it has none of the limits, and no policy.
  bool parent_is_irrelevant(TimePoint now) const {
    if (parent->exists() || !parent->view.config) return false;
    const ResolvedConfig& config = *parent->view.config;
    Millis age = now - config.read_at;
    if (age < Millis(0) || age > cx_->settings.config_ttl) return false;
    if (config.access != AccessPolicy::kEnforce) return false;
    if (!config.record) return true;
    return std::none_of(
        request_->consume.begin(), request_->consume.end(),
        [&](const Consume& consume) { return config.record->find(consume.limit) != nullptr; });
  }

  /// The same after an error. Where that may have to do with what was remembered of the buckets,
  /// they are forgotten, but for what landed.
  LeaseRecord fail(ErrorCode code) {
    if (code == ErrorCode::kCorrupt || code == ErrorCode::kConflict ||
        code == ErrorCode::kOutcomeUnknown) {
      if (!child.landed) child.forget();
      if (parent && !parent->landed) parent->forget();
    }
    return end();
  }

  /// Plans a write with the preferences of decision 30 a and b.
  void prepare(LegWrite& write, TimePoint now, int attempt) const {
    const Leg& leg = write.leg();
    bool remembered = leg.exists() && !leg.bucket_read;
    bool aged_as_recent = false;
    bool prefer_locked = false;
    if (cx_->capabilities.shared_writers && remembered && attempt == 0) {
      bucket::PlanOptions options;
      options.burst_tolerance_divisor = cx_->burst_tolerance_divisor;
      std::optional<Millis> tolerance = bucket::burst_tolerance(leg.state, options, now);
      Millis age = now - leg.state.refilled_at;
      if (tolerance && age > *tolerance) {
        aged_as_recent = leg.view.contended;
      } else if (tolerance && age > *tolerance / 2) {
        prefer_locked = cx_->random.below(10) == 0;
      }
    }
    write.prepare(now, aged_as_recent, prefer_locked);
  }

  void note_first_clock(TimePoint now) {
    if (!first_now_) first_now_ = now;
  }

 private:
  static bool writes(const Leg& leg) { return !leg.landed && !leg.named.empty(); }

  std::optional<std::string> present_parent() const {
    if (!child.cascades()) return std::nullopt;
    return child.parent();
  }

  void append_parent_landed(LeaseRecord& record) const {
    if (parent && parent->landed) append_leg(*parent, parent->plan.now, record);
  }

  static bool is_disabled(const Leg& leg) {
    if (leg.landed) return false;
    if (leg.exists() && leg.state.disabled) return true;
    return leg.config_fresh && leg.view.config->access == AccessPolicy::kDisabled;
  }

  bool name_limit(Leg& leg, std::size_t index) const {
    if (leg.landed) {
      return std::any_of(leg.named.begin(), leg.named.end(),
                         [&](const NamedLimit& named) { return named.request == index; });
    }
    if (leg.config() == nullptr) return false;
    const Consume& consume = request_->consume[index];
    const schema::ConfiguredLimit* configured = leg.config()->find(consume.limit);
    if (configured == nullptr) return false;
    NamedLimit& named = leg.named.emplace_back();
    named.request = index;
    named.configured = configured;
    named.on_item = leg.exists() ? leg.view.layout->find(consume.limit, index) : -1;
    named.amount = consume.amount.milli().count();
    return true;
  }

  /// An image received in this call shows the limit short at an instant inside the call: that may
  /// reject although it has dripped since (decision 30 c).
  bool was_short_within_call(const Leg& leg, const NamedLimit& named) const {
    if (!cx_->capabilities.shared_writers || named.on_item < 0 || !first_now_) return false;
    const bucket::LimitState& limit = leg.state.limits[static_cast<std::size_t>(named.on_item)];
    return leg.image_confirmed && !limit.is_quota() && leg.stamps.empty() &&
           leg.state.refilled_at >= *first_now_ && limit.balance < named.amount;
  }

  void append_statuses(const Leg& leg, TimePoint now, std::vector<LimitStatus>& out) const {
    for (const NamedLimit& named : leg.named) {
      LimitStatus status = status_of(leg, named, now);
      if (!status.exceeded && !status.soft && leg.bypass == BypassMode::kEnforce && !leg.landed &&
          was_short_within_call(leg, named)) {
        status.exceeded = true;
        status.retry_after = std::max(status.retry_after.value_or(Millis(0)), Millis(1));
      }
      out.push_back(std::move(status));
    }
  }

  static void append_leg(const Leg& leg, TimePoint now, LeaseRecord& lease) {
    LeaseLeg& part = lease.legs.emplace_back();
    part.names = leg.view.names;
    part.call_limits = leg.call_limits;
    part.first_debit = lease.debits.size();
    part.debit_count = leg.named.size();
    for (const NamedLimit& named : leg.named) {
      LeaseDebit& debit = lease.debits.emplace_back();
      debit.limit = named.configured->limit().name();
      debit.taken = named.amount;
      debit.pin = period_after(leg, named, now);
    }
  }

  void append_admitted(const Leg& leg, TimePoint now, Acquired& result, LeaseRecord& lease) const {
    TimePoint at = leg.landed ? leg.plan.now : now;
    for (const NamedLimit& named : leg.named) {
      LimitStatus& status = result.limits.emplace_back();
      if (leg.landed) {
        status_after(leg, named, at, status);
      } else {
        status = status_of(leg, named, at);
      }
      note_seen(status, named, lease);
    }
    lease.bypassed = lease.bypassed || leg.bypass != BypassMode::kEnforce;
    append_leg(leg, at, lease);
  }

  static void note_seen(const LimitStatus& status, const NamedLimit& named, LeaseRecord& lease) {
    for (LeaseRecord::Seen& seen : lease.declared) {
      if (seen.limit != status.name) continue;
      seen.remaining = std::min(seen.remaining, status.remaining.count());
      return;
    }
    lease.declared.push_back({status.name, named.amount, status.remaining.count()});
  }

  Context* cx_;
  const AcquireRequest* request_;
  bool takes_anything_ = false;
  std::array<std::uint64_t, 2> hashes_{};  // of the child's bucket and the parent's
  std::string parent_id_;
  std::optional<TimePoint> first_now_;
};

Error unknown_limit(const Acquire& acquire, const AcquireRequest& request,
                    const std::string& name) {
  bool any =
      acquire.child.config() != nullptr || (acquire.parent && acquire.parent->config() != nullptr);
  if (!any) {
    return Error::invalid(
        "entity", request.entity,
        "no limits are configured for it and resource " + request.resource + " at any level");
  }
  return Error::invalid("limit", name,
                        "is not configured for entity " + request.entity + " and resource " +
                            request.resource + (acquire.parent ? ", nor for the parent" : ""));
}

/// Sends the writes of both legs at the same time, each on its own.
Op<Status> send_both(Context& cx, LegWrite& first, LegWrite& second, TimePoint now) {
  store::UpdateRequest first_request = first.update();
  store::UpdateRequest second_request = second.update();
  std::vector<store::Call> calls(2);
  calls[0].request = &first_request;
  calls[1].request = &second_request;
  co_await ask_all(calls);
  Status status;
  LegWrite* writes[2] = {&first, &second};
  for (std::size_t i = 0; i < 2; ++i) {
    Leg& leg = writes[i]->leg();
    auto reply = std::get<store::WriteReply>(std::move(calls[i].reply));
    Result<Landing> landing = co_await conclude_update(cx, leg, std::move(reply), now, false);
    if (!landing) {
      status = landing.error();
      continue;
    }
    leg.landed = *landing == Landing::kLanded;
  }
  co_return status;
}

/// Writes what has not landed yet. Afterwards `landed` of each leg tells.
Op<Status> write_legs(Context& cx, Acquire& acquire, TimePoint now, int attempt) {
  bool child_writes = acquire.child_writes();
  bool parent_writes = acquire.parent_writes();
  // What was left to write may be gone, when another writer took the limit away meanwhile.
  if (!child_writes && !parent_writes) co_return Status();
  LegWrite child_write(cx, acquire.child);
  if (child_writes) acquire.prepare(child_write, now, attempt);
  if (!parent_writes) {
    Result<Landing> landing = co_await send_write(cx, child_write, now, false);
    if (!landing) co_return landing.error();
    acquire.child.landed = *landing == Landing::kLanded;
    co_return Status();
  }
  LegWrite parent_write(cx, *acquire.parent);
  acquire.prepare(parent_write, now, attempt);
  if (!child_writes) {
    Result<Landing> landing = co_await send_write(cx, parent_write, now, false);
    if (!landing) co_return landing.error();
    acquire.parent->landed = *landing == Landing::kLanded;
    co_return Status();
  }
  // A window that is opened must not be left behind by a compensation (decision 3).
  if (child_write.opens_window() || parent_write.opens_window()) {
    Result<Landing> landing = co_await send_together(cx, child_write, parent_write, now);
    if (!landing) co_return landing.error();
    acquire.child.landed = acquire.parent->landed = *landing == Landing::kLanded;
    co_return Status();
  }
  Status sent = co_await send_both(cx, child_write, parent_write, now);
  co_return sent;
}

/// Gives back a part of what an acquire took; that goes on past the deadline of the call.
Op<Status> give_back_landed(Context& cx, LeaseRecord landed) {
  if (landed.legs.empty()) co_return Status();
  cx.past_deadline_allowed = true;
  Status done = co_await roll_back(cx, landed);
  cx.past_deadline_allowed = false;
  const BucketNames& names = *landed.legs.front().names;
  if (done) {
    cx.report(EventKind::kGivenBack, names.entity, names.resource);
  } else {
    cx.report(EventKind::kLeaseTrouble, names.entity, names.resource, {}, &done.error());
  }
  co_return done;
}

/// Goes by the child's present parent, after giving back what landed on the former one.
Op<Status> change_parent(Context& cx, Acquire& acquire) {
  if (acquire.parent && acquire.parent->landed) {
    LeaseRecord landed = acquire.take_parent_landed();
    Status left = co_await give_back_landed(cx, std::move(landed));
    if (!left) co_return left.error();
  }
  acquire.adopt_parent();
  co_return Status();
}

/// Not `kUnavailable`: that would let requests pass uncounted for as long as the bucket is split.
Error hindrance(const Leg& leg, TimePoint now) {
  return Error(ErrorCode::kVersionMismatch, describe_hindrance(leg, *hindered_by_shards(leg, now)));
}

void report_clock(Context& cx, const Leg& leg, TimePoint now) {
  constexpr Millis kFarAhead{60'000};  // decision 9
  if (!leg.exists() || leg.state.refilled_at <= now + kFarAhead) return;
  cx.report(EventKind::kClockBehind, leg.names().entity, leg.names().resource);
}

void report_disagreement(Context& cx, const Leg& leg) {
  if (!leg.call_limits || leg.stamps.empty()) return;
  cx.report(EventKind::kLimitsDisagree, leg.names().entity, leg.names().resource,
            leg.view.layout->limit_name(leg.stamps.front().limit));
}

}  // namespace

Status validate_names(const AcquireRequest& request) {
  if (Status s = model::validate_entity_id("entity", request.entity); !s) return s;
  if (Status s = model::validate_resource(request.resource); !s) return s;
  return validate_names(request.consume);
}

Status validate_names(const std::vector<Consume>& amounts) {
  for (const Consume& consume : amounts) {
    if (Status s = model::validate_limit_name(consume.limit); !s) return s;
  }
  return Status();
}

Status validate_acquire(const AcquireRequest& request) {
  if (request.consume.empty()) {
    return Error::invalid("consume", "", "must name at least one limit");
  }
  if (request.limits && request.limits->error()) return *request.limits->error();
  if (request.limits && request.limits->limits().empty()) {
    return Error::invalid("limits", "", "none given; leave them out to use the configured ones");
  }
  constexpr Millis kLongestTimeout{86'400'000};
  if (request.timeout && (*request.timeout <= Millis(0) || *request.timeout > kLongestTimeout)) {
    return Error::invalid("timeout", std::to_string(request.timeout->count()) + " ms",
                          "must be more than 0 and at most a day");
  }
  return validate_amounts("consume", request.consume);
}

Status validate_amounts(std::string_view field, const std::vector<Consume>& amounts) {
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    const Consume& consume = amounts[i];
    auto name = [&] { return std::string(field) + "." + consume.limit; };
    if (!consume.amount.in_range()) {
      return Error::invalid(name(), "", "must not exceed 9e15 tokens");
    }
    if (consume.amount.milli().count() < 0) {
      return Error::invalid(name(), std::to_string(consume.amount.milli().count()) + " thousandths",
                            "must not be negative");
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (amounts[j].limit == consume.limit) {
        return Error::invalid(std::string(field), consume.limit, "is named twice");
      }
    }
  }
  return Status();
}

void LeaseRecord::clear() {
  legs.clear();
  debits.clear();
  corrections.clear();
  declared.clear();
  bypassed = false;
}

Op<Result<Acquired>> acquire(Context& cx, const AcquireRequest& request, LeaseRecord& lease) {
  std::shared_ptr<const schema::ConfigRecord> call_limits;
  if (request.limits) {
    auto compiled = schema::compile_limits(request.limits->limits(), cx.reset_rule);
    if (!compiled) co_return compiled.error();
    call_limits = *compiled;
    std::optional<Feature> feature;
    if (cx.shared_table) feature = feature_of(request.limits->limits());
    if (feature) {
      // That asks the store, which no wrong name may cause.
      if (Status valid = validate_names(request); !valid) co_return valid.error();
      Status allowed = co_await prove_feature(cx, *feature);
      if (!allowed) co_return allowed.error();
    }
  }
  Acquire job(cx, request, std::move(call_limits));
  std::optional<Error> trouble;
  int attempt = 0;
  int turns = 0;
  constexpr int kMostTurns = 4 * kMostAttempts;
  while (attempt < kMostAttempts && turns++ < kMostTurns) {
    TurnRequest my_turn(job.turn_keys());
    TimePoint now = co_await turn(my_turn);
    job.take_views();
    if (!job.child.remembered()) {
      // Names that a remembered bucket bears need not be looked at.
      if (Status valid = validate_names(request); !valid) {
        trouble = valid.error();
        break;
      }
    }
    job.note_first_clock(now);
    // The parent's bucket needs its own place in the queue, and the clock is read after it.
    if (!job.parent && job.parent_moved()) {
      job.adopt_parent();
      continue;
    }
    Status prepared = Status();
    if (!job.child.landed) {
      Result<Reads> reads = evaluate_leg(cx, job.child, now);
      if (!reads) {
        prepared = reads.error();
      } else if (choose_shard(cx, job.child)) {
        continue;
      } else if (reads->any()) {
        prepared = co_await prepare_leg(cx, job.child, now);
        if (prepared && choose_shard(cx, job.child)) continue;
      }
    }
    if (prepared && job.parent_moved()) {
      Status changed = co_await change_parent(cx, job);
      if (!changed) {
        trouble = changed.error();
        break;
      }
      continue;
    }
    if (prepared && job.parent && !job.parent->landed && !job.parent_is_irrelevant(now)) {
      Result<Reads> reads = evaluate_leg(cx, *job.parent, now);
      if (!reads) {
        prepared = reads.error();
      } else if (choose_shard(cx, *job.parent)) {
        continue;
      } else if (reads->any()) {
        prepared = co_await prepare_leg(cx, *job.parent, now);
        if (prepared && choose_shard(cx, *job.parent)) continue;
      }
    }
    if (!prepared) {
      trouble = prepared.error();
      break;
    }

    if (const std::string* unknown = job.name_limits()) {
      if (Status valid = validate_names(request.consume); !valid) {
        trouble = valid.error();
        break;
      }
      if (job.configuration_is_fresh()) {
        trouble = unknown_limit(job, request, *unknown);
        break;
      }
      // The limit may have been configured since the configuration was cached.
      Reads reads;
      reads.config = true;
      reads.all_levels = true;
      Status child_read = co_await read_leg(cx, job.child, reads, now);
      if (child_read && job.parent) child_read = co_await read_leg(cx, *job.parent, reads, now);
      if (!child_read) {
        trouble = child_read.error();
        break;
      }
      continue;
    }

    if (const Leg* disabled = job.disabled_leg()) {
      if (disabled != &job.child && job.child.exists() && !job.child.image_confirmed) {
        // The child may have been moved away from a parent that is refused (R83).
        Reads reads;
        reads.bucket = true;
        reads.consistency = store::Consistency::kStrong;
        Status read = co_await read_leg(cx, job.child, reads, now);
        if (!read) {
          trouble = read.error();
          break;
        }
        continue;
      }
      Acquired result = job.disabled(*disabled);
      LeaseRecord landed = job.end();
      Status returned = co_await give_back_landed(cx, std::move(landed));
      static_cast<void>(returned);
      co_return result;
    }

    // Refuse, or answer a request that takes nothing, only from what is surely so.
    bool child_short = job.is_short(job.child, now);
    bool parent_short = job.parent && job.is_short(*job.parent, now);
    bool without_write = child_short || parent_short || !job.takes_anything();
    if (without_write) {
      bool reread = false;
      Reads reads;
      reads.bucket = true;
      reads.consistency = store::Consistency::kStrong;
      Status read;
      // The child's image also tells whether the parent has a say (R71).
      if (!job.may_decide(job.child, now)) {
        read = co_await read_leg(cx, job.child, reads, now);
        reread = true;
      }
      bool parent_doubtful = job.parent && (parent_short || !job.takes_anything()) &&
                             !job.may_decide(*job.parent, now);
      if (read && parent_doubtful) {
        read = co_await read_leg(cx, *job.parent, reads, now);
        reread = true;
      }
      if (!read) {
        trouble = read.error();
        break;
      }
      if (reread) continue;
      Acquired result = child_short || parent_short ? job.rejected(now) : job.admitted(now, lease);
      LeaseRecord landed = job.end();
      Status returned = co_await give_back_landed(cx, std::move(landed));
      static_cast<void>(returned);
      co_return result;
    }

    if (Leg* leg = job.hindered_leg(now)) {
      // Another program may have done by now what has to be done first.
      Reads reads;
      reads.bucket = !leg->image_confirmed;
      reads.config = reads.all_levels = !leg->config_fresh;
      reads.consistency = store::Consistency::kStrong;
      if (!reads.any()) {
        trouble = hindrance(*leg, now);
        break;
      }
      Status read = co_await read_leg(cx, *leg, reads, now);
      if (!read) {
        trouble = read.error();
        break;
      }
      continue;
    }

    if (attempt == 0) {
      report_clock(cx, job.child, now);
      report_disagreement(cx, job.child);
      if (job.parent) report_clock(cx, *job.parent, now);
    }
    Status written;
    if (job.child.exists() && job.child_writes() && !job.parent_writes()) {
      // The commonest case by far, spared an operation of its own.
      LegWrite write(cx, job.child);
      job.prepare(write, now, attempt);
      store::UpdateRequest update = write.update();
      auto reply = co_await ask(update);
      std::optional<Result<Landing>> landing = told_landing(cx, job.child, reply, now);
      if (!landing) {
        auto looked_up = co_await look_up_landing(cx, job.child, now, false);
        landing.emplace(std::move(looked_up));
      }
      if (*landing) {
        job.child.landed = **landing == Landing::kLanded;
      } else {
        written = landing->error();
      }
    } else {
      written = co_await write_legs(cx, job, now, attempt);
    }
    if (!written) {
      trouble = written.error();
      break;
    }
    if (job.child.landed && job.parent_moved()) {
      Status changed = co_await change_parent(cx, job);
      if (!changed) {
        trouble = changed.error();
        break;
      }
      if (job.parent) {
        ++attempt;
        continue;
      }
    }
    if (!job.child_writes() && !job.parent_writes()) co_return job.admitted(now, lease);
    if (++attempt < kMostAttempts) {
      cx.report(EventKind::kRetry, request.entity, request.resource);
    }
  }
  if (!trouble) {
    trouble = Error(ErrorCode::kConflict, "other writers won every attempt; try again in 100 ms");
  }
  LeaseRecord landed = job.fail(trouble->code());
  Status returned = co_await give_back_landed(cx, std::move(landed));
  static_cast<void>(returned);
  co_return std::move(*trouble);
}

}  // namespace stint::ops
