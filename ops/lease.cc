#include "ops/lease.h"

#include <algorithm>
#include <vector>

#include "ops/leg.h"
#include "ops/write_bucket.h"

namespace stint::ops {
namespace {

/// Attempts by conditional forms; one more uses the plain form, so that usage is not lost
/// (decision 30).
constexpr int kConditionalAttempts = 5;

/// A correction of one limit on one bucket.
struct Delta {
  LeaseDebit* debit;
  std::int64_t amount;
};

/// Neither a shard nor a quota on one can be made without the other shards.
bool may_make(const Leg& leg, const schema::ConfiguredLimit& limit) {
  if (!leg.exists()) return leg.names().shard == 0;
  return leg.state.shard_count <= 1 || !limit.state().is_quota();
}

void name_deltas(Leg& leg, const std::vector<Delta>& deltas) {
  leg.named.clear();
  for (const Delta& delta : deltas) {
    NamedLimit named;
    named.amount = delta.amount;
    named.gates = false;
    if (delta.amount < 0) named.pin = delta.debit->pin;
    if (leg.config() != nullptr) named.configured = leg.config()->find(delta.debit->limit);
    if (leg.exists()) named.on_item = leg.view.layout->find(delta.debit->limit);
    bool creatable =
        named.configured != nullptr && delta.amount > 0 && may_make(leg, *named.configured);
    if (named.on_item >= 0 || creatable) leg.named.push_back(std::move(named));
  }
}

/// Writes the deltas of one bucket. A bucket or limit that is gone takes no credit.
Op<Status> correct_leg(Context& cx, LeaseLeg& part, std::vector<Delta> deltas) {
  const BucketNames& names = *part.names;
  PooledLeg pooled;
  Leg& leg = *pooled;
  leg.call_limits = part.call_limits;
  bool is_credit = std::any_of(deltas.begin(), deltas.end(),
                               [](const Delta& delta) { return delta.amount < 0; });
  for (int attempt = 0; attempt <= kConditionalAttempts; ++attempt) {
    TurnRequest my_turn(std::span<const std::uint64_t>(&names.hash, 1));
    TimePoint now = co_await turn(my_turn);
    if (!leg.taken()) leg.take(cx, names);
    Status prepared = co_await prepare_leg(cx, leg, now);
    if (!prepared) co_return prepared.error();
    name_deltas(leg, deltas);
    if (leg.named.empty()) co_return Status();
    LegWrite write(cx, leg);
    // Of what was used, nothing may be lost because a window cannot be opened.
    bool plain = leg.exists() &&
                 (attempt == kConditionalAttempts || hindered_by_shards(leg, now) != nullptr);
    if (plain) {
      write.prepare_plain(now);
    } else {
      write.prepare(now, false, false);
    }
    if (write.empty()) co_return Status();
    Result<Landing> landing = co_await send_write(cx, write, now, is_credit);
    if (!landing) co_return landing.error();
    if (*landing == Landing::kUnknown) {
      leg.forget();
      co_return Error(ErrorCode::kOutcomeUnknown,
                      "tokens were given back, the reply was lost, and it cannot be told whether "
                      "they arrived");
    }
    if (*landing == Landing::kLanded) {
      for (const Delta& delta : deltas) delta.debit->taken += delta.amount;
      co_return Status();
    }
    if (attempt < kConditionalAttempts) cx.report(EventKind::kRetry, names.entity, names.resource);
  }
  co_return Error(ErrorCode::kConflict, "other writers won every attempt; try again in 100 ms");
}

}  // namespace

Op<Status> settle(Context& cx, LeaseRecord& lease) {
  Status first_failure;
  for (LeaseLeg& part : lease.legs) {
    if (part.corrected) continue;
    std::vector<Delta> deltas;
    for (LeaseDebit& debit : lease.debits_of(part)) {
      for (const LeaseRecord::Correction& correction : lease.corrections) {
        if (correction.limit == debit.limit && correction.delta != 0) {
          deltas.push_back(Delta{&debit, correction.delta});
        }
      }
    }
    Status done;
    if (!deltas.empty()) done = co_await correct_leg(cx, part, std::move(deltas));
    part.corrected = done || done.error().code() == ErrorCode::kOutcomeUnknown;
    if (!done && first_failure) first_failure = done;
  }
  co_return first_failure;
}

Op<Status> roll_back(Context& cx, LeaseRecord& lease) {
  Status first_failure;
  lease.corrections.clear();
  for (LeaseLeg& part : lease.legs) {
    std::vector<Delta> deltas;
    for (LeaseDebit& debit : lease.debits_of(part)) {
      if (debit.taken != 0) deltas.push_back(Delta{&debit, -debit.taken});
    }
    if (deltas.empty()) continue;
    Status done = co_await correct_leg(cx, part, std::move(deltas));
    if (!done && first_failure) first_failure = done;
  }
  co_return first_failure;
}

}  // namespace stint::ops
