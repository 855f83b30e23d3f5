#include "ops/acquire.h"

#include <algorithm>

#include "model/names.h"
#include "ops/lease.h"
#include "ops/leg.h"
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
      : child_leg_(cx, request.entity, request.resource),
        child(*child_leg_),
        cx_(&cx),
        request_(&request) {
    child.call_limits = std::move(call_limits);
    for (const Consume& consume : request.consume) {
      takes_anything_ = takes_anything_ || consume.amount.milli().count() != 0;
    }
    adopt_parent();
  }

  /// Whether the child is known to have another parent than the one this call goes by: it is seen
  /// for the first time, or has been moved (decision 16).
  bool parent_moved() const {
    if (!child.exists() && !child.meta_read) return false;
    std::optional<std::string> id = present_parent();
    if (!parent) return id.has_value();
    return !id || parent->names().entity != *id;
  }

  /// Goes by the parent that the child has now.
  void adopt_parent() {
    if (!parent_moved()) return;
    parent = nullptr;
    parent_leg_.reset();
    std::optional<std::string> id = present_parent();
    if (!id) return;
    parent_leg_.emplace(*cx_, *id, request_->resource);
    parent = &**parent_leg_;
  }

  const std::vector<std::uint64_t>& turn_keys() {
    keys_.clear();
    keys_.push_back(child.names().key.hash());
    if (parent) keys_.push_back(parent->names().key.hash());
    return keys_;
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
  bool writes(const Leg& leg) const { return !leg.landed && !leg.named.empty(); }

  Acquired rejected(TimePoint now) const {
    Acquired result;
    result.outcome = Outcome::kRejected;
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

  Acquired disabled(const Leg& leg) const {
    Acquired result;
    result.outcome = Outcome::kDisabled;
    result.disabled_entity = leg.names().entity;
    bool by_config = leg.view.config && leg.view.config->access == AccessPolicy::kDisabled;
    result.disabled_level =
        by_config ? std::string(to_string(leg.view.config->access_level)) : "bucket";
    return result;
  }

  Acquired admitted(TimePoint now) {
    Acquired result;
    result.limits.reserve(request_->consume.size() * (parent ? 2 : 1));
    append_admitted(child, now, result);
    if (parent) append_admitted(*parent, now, result);
    return result;
  }

  /// What landed so far, to be given back.
  LeaseRecord landed() const {
    LeaseRecord record;
    if (child.landed) record.legs.push_back(lease_leg(child, child.plan.now));
    append_parent_landed(record);
    return record;
  }
  /// What landed on a parent that is to be left. It counts as given back from here on, so that no
  /// credit is ever sent twice.
  LeaseRecord take_parent_landed() {
    LeaseRecord record;
    append_parent_landed(record);
    if (parent) parent->landed = false;
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

  void remember() {
    remember(child);
    if (parent) remember(*parent);
  }

  /// The same without what was given back: that write has left a newer image.
  void remember_refused() {
    if (!child.landed) remember(child);
    if (parent && !parent->landed) remember(*parent);
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
  std::optional<std::string> present_parent() const {
    if (!child.cascades()) return std::nullopt;
    return child.parent();
  }

  void remember(Leg& leg) {
    // An owner that could not be stamped yet must be looked up again.
    if (leg.owner_stamp) leg.view.config.reset();
    cx_->caches.put_view(leg.view);
  }

  void append_parent_landed(LeaseRecord& record) const {
    if (parent && parent->landed) record.legs.push_back(lease_leg(*parent, parent->plan.now));
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
    NamedLimit named;
    named.request = index;
    named.configured = configured;
    named.on_item = leg.exists() ? leg.view.layout->find(consume.limit) : -1;
    named.amount = consume.amount.milli().count();
    leg.named.push_back(std::move(named));
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

  static LeaseLeg lease_leg(const Leg& leg, TimePoint now) {
    LeaseLeg part;
    part.names = leg.view.names;
    part.call_limits = leg.call_limits;
    part.debits.reserve(leg.named.size());
    for (const NamedLimit& named : leg.named) {
      LeaseDebit debit;
      debit.limit = named.configured->limit().name();
      debit.taken = named.amount;
      debit.pin = period_after(leg, named, now);
      part.debits.push_back(std::move(debit));
    }
    return part;
  }

  void append_admitted(Leg& leg, TimePoint now, Acquired& result) const {
    for (const NamedLimit& named : leg.named) {
      LimitStatus status =
          leg.landed ? status_after(leg, named, leg.plan.now) : status_of(leg, named, now);
      note_seen(status, named, result.lease);
      result.limits.push_back(std::move(status));
    }
    result.lease.bypassed = result.lease.bypassed || leg.bypass != BypassMode::kEnforce;
    result.lease.legs.push_back(lease_leg(leg, leg.landed ? leg.plan.now : now));
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
  std::vector<std::uint64_t> keys_;
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
  bool child_writes = acquire.writes(acquire.child);
  bool parent_writes = acquire.parent && acquire.writes(*acquire.parent);
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
Op<Status> give_back_landed(Context& cx, const Acquire& acquire, LeaseRecord landed) {
  if (landed.legs.empty()) co_return Status();
  cx.past_deadline_allowed = true;
  Status done = co_await roll_back(cx, landed);
  cx.past_deadline_allowed = false;
  if (!done) {
    const BucketNames& names = acquire.child.names();
    cx.report(EventKind::kLeaseTrouble, names.entity, names.resource, {}, &done.error());
  }
  co_return done;
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

Status validate_acquire(const AcquireRequest& request) {
  if (Status s = model::validate_entity_id("entity", request.entity); !s) return s;
  if (Status s = model::validate_resource(request.resource); !s) return s;
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
    if (Status s = model::validate_limit_name(consume.limit); !s) return s;
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

Op<Result<Acquired>> acquire(Context& cx, const AcquireRequest& request) {
  std::shared_ptr<const schema::ConfigRecord> call_limits;
  if (request.limits) {
    auto compiled = schema::compile_limits(request.limits->limits(), cx.reset_rule);
    if (!compiled) co_return compiled.error();
    call_limits = *compiled;
  }
  Acquire job(cx, request, std::move(call_limits));
  Error trouble(ErrorCode::kConflict, "other writers won every attempt; try again in 100 ms");

  int attempt = 0;
  int turns = 0;
  constexpr int kMostTurns = 4 * kMostAttempts;
  while (attempt < kMostAttempts && turns++ < kMostTurns) {
    TurnRequest my_turn(job.turn_keys());
    TimePoint now = co_await turn(my_turn);
    job.note_first_clock(now);
    Status prepared = Status();
    if (!job.child.landed) {
      Result<Reads> reads = evaluate_leg(cx, job.child, now);
      if (!reads) {
        prepared = reads.error();
      } else if (reads->any()) {
        prepared = co_await prepare_leg(cx, job.child, now);
      }
    }
    // The parent's bucket needs its own place in the queue, and the clock is read after it.
    if (prepared && job.parent_moved()) {
      Status left = co_await give_back_landed(cx, job, job.take_parent_landed());
      if (!left) {
        trouble = left.error();
        break;
      }
      job.adopt_parent();
      continue;
    }
    if (prepared && job.parent && !job.parent->landed && !job.parent_is_irrelevant(now)) {
      Result<Reads> reads = evaluate_leg(cx, *job.parent, now);
      if (!reads) {
        prepared = reads.error();
      } else if (reads->any()) {
        prepared = co_await prepare_leg(cx, *job.parent, now);
      }
    }
    if (!prepared) {
      trouble = prepared.error();
      break;
    }

    if (const std::string* unknown = job.name_limits()) {
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
      Status returned = co_await give_back_landed(cx, job, job.landed());
      static_cast<void>(returned);
      job.remember_refused();
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
      Acquired result = child_short || parent_short ? job.rejected(now) : job.admitted(now);
      Status returned = co_await give_back_landed(cx, job, job.landed());
      static_cast<void>(returned);
      job.remember_refused();
      co_return result;
    }

    report_clock(cx, job.child, now);
    report_disagreement(cx, job.child);
    Status written = co_await write_legs(cx, job, now, attempt);
    if (!written) {
      trouble = written.error();
      break;
    }
    if (job.child.landed && job.parent_moved()) {
      Status left = co_await give_back_landed(cx, job, job.take_parent_landed());
      if (!left) {
        trouble = left.error();
        break;
      }
      job.adopt_parent();
      if (job.parent) {
        ++attempt;
        continue;
      }
    }
    bool done = !job.writes(job.child) && !(job.parent && job.writes(*job.parent));
    if (done) {
      Acquired result = job.admitted(now);
      job.remember();
      co_return result;
    }
    ++attempt;
  }
  Status returned = co_await give_back_landed(cx, job, job.landed());
  static_cast<void>(returned);
  cx.caches.forget_view(request.entity, request.resource);
  co_return trouble;
}

}  // namespace stint::ops
