#include "ops/write_bucket.h"

#include <string>
#include <utility>
#include <vector>

#include "store/apply.h"

namespace stint::ops {
namespace {

void report_lost(Context& cx, const Leg& leg) {
  cx.report(EventKind::kConflict, leg.names().entity, leg.names().resource);
}

/// What a lost write tells about contention (decision 30 a): an rf-lock lost to another writer says
/// that others move the stamp; a fast write that found it old says that nobody does. The leg holds
/// the image that made it fail.
void note_contention(const Context& cx, Leg& leg, Landing landing) {
  if (!cx.capabilities.shared_writers || landing != Landing::kLost) return;
  if (!leg.exists()) {
    leg.view.contended = false;
  } else if (leg.plan.form == bucket::Form::kLocked) {
    leg.view.contended = true;
  } else if (leg.plan.refilled_since) {
    std::optional<TimePoint> stamp = schema::last_refill(*leg.view.image);
    if (!stamp || *stamp < *leg.plan.refilled_since) leg.view.contended = false;
  }
}

/// What a cancelled transaction says about a leg. The owner's check, which a changed owner fails,
/// makes the leg forget the owner. `write_at` and `check_at` are positions in the transaction.
void learn_from(const Context& cx, const std::vector<store::CancelReason>& reasons,
                std::size_t write_at, std::optional<std::size_t> check_at, Leg& leg,
                TimePoint now) {
  if (write_at < reasons.size() && reasons[write_at].outcome == store::Outcome::kConditionFailed) {
    take_image(leg, reasons[write_at].image, now, true);
    note_contention(cx, leg, Landing::kLost);
  }
  if (check_at && *check_at < reasons.size() &&
      reasons[*check_at].outcome == store::Outcome::kConditionFailed) {
    leg.meta_read = false;
    leg.config_fresh = false;
  }
}

/// Where a store does not tell what a landed update made of the item, that is reckoned from what it
/// was made of. Others may have written in between, as after every image; so nothing is confirmed.
void learn_without_image(const LegWrite& write, TimePoint now) {
  Leg& leg = write.leg();
  store::UpdateRequest update = write.update();
  Result<store::ImagePtr> after =
      store::apply(update.program().actions, update.key(), leg.view.image.get(), update.params());
  if (after) {
    take_image(leg, *std::move(after), now, false);
  } else {
    forget_image(leg);
  }
}

/// The image of a leg after its transaction landed.
void learn_landed(const store::TransactReply& reply, std::size_t write_at, const LegWrite& write,
                  TimePoint now) {
  Leg& leg = write.leg();
  if (write_at < reply.images.size() && reply.images[write_at]) {
    take_image(leg, reply.images[write_at], now, true);
  } else if (write.creates()) {
    take_image(leg, write.created(), now, true);
  } else {
    learn_without_image(write, now);
  }
}

/// A repetition is built anew, so its token must differ: what guards against both landing is the
/// nonce.
std::string token_of(Leg& leg) {
  return std::to_string(leg.nonce) + "-" + std::to_string(leg.transactions++);
}

/// Whether the leg's item was last written by this very write.
bool bears_nonce(const Leg& leg) {
  return leg.exists() && schema::last_nonce(*leg.view.image) == leg.nonce;
}

/// What became of a write, given all but an unknown outcome; the leg holds the image that came.
Result<Landing> landing_of(Context& cx, Leg& leg, const store::ReplyBase& reply) {
  Landing landing = Landing::kLanded;
  switch (reply.outcome) {
    case store::Outcome::kOk: break;
    case store::Outcome::kConditionFailed:
      // A copy of our own write, delivered before this one, may have made the condition fail.
      landing = bears_nonce(leg) ? Landing::kLanded : Landing::kLost;
      break;
    case store::Outcome::kConflict: landing = Landing::kBusy; break;
    default: return error_of(reply);
  }
  if (landing != Landing::kLanded) report_lost(cx, leg);
  note_contention(cx, leg, landing);
  return landing;
}

/// After an unknown outcome: one consistent read of the leg's item, and whether its last write is
/// this leg's.
Op<Result<bool>> look_up(Context& cx, Leg& leg, TimePoint now) {
  store::GetRequest request(leg.names().key, store::Consistency::kStrong);
  auto reply = co_await ask(request);
  if (reply.outcome != store::Outcome::kOk) {
    co_return Error(ErrorCode::kOutcomeUnknown,
                    "a write was sent, its reply was lost, and it cannot be looked up");
  }
  take_image(leg, reply.image, now, true);
  bool found = bears_nonce(leg);
  if (!found) report_lost(cx, leg);
  co_return found;
}

/// What became of a single write other than an update.
Op<Result<Landing>> conclude(Context& cx, Leg& leg, store::ReplyBase reply, TimePoint now,
                             bool is_credit) {
  if (reply.outcome != store::Outcome::kUnknown) co_return landing_of(cx, leg, reply);
  Result<Landing> landing = co_await look_up_landing(cx, leg, now, is_credit);
  co_return landing;
}

}  // namespace

std::optional<Result<Landing>> told_landing(Context& cx, Leg& leg, store::WriteReply& reply,
                                            TimePoint now) {
  if (reply.outcome == store::Outcome::kUnknown) return std::nullopt;
  bool told =
      reply.outcome == store::Outcome::kOk || reply.outcome == store::Outcome::kConditionFailed;
  if (told) take_image(leg, std::move(reply.image), now, true);
  return landing_of(cx, leg, reply);
}

Op<Result<Landing>> look_up_landing(Context& cx, Leg& leg, TimePoint now, bool is_credit) {
  Result<bool> found = co_await look_up(cx, leg, now);
  if (!found) co_return found.error();
  if (*found) co_return Landing::kLanded;
  // A debit that is not found is sent again.
  co_return is_credit ? Landing::kUnknown : Landing::kLost;
}

Op<Result<Landing>> conclude_update(Context& cx, Leg& leg, store::WriteReply reply, TimePoint now,
                                    bool is_credit) {
  std::optional<Result<Landing>> told = told_landing(cx, leg, reply, now);
  if (told) co_return *told;
  Result<Landing> landing = co_await look_up_landing(cx, leg, now, is_credit);
  co_return landing;
}

Op<Result<Landing>> send_write(Context& cx, LegWrite& write, TimePoint now, bool is_credit) {
  Leg& leg = write.leg();
  if (!write.creates()) {
    store::UpdateRequest request = write.update();
    auto reply = co_await ask(request);
    Result<Landing> landing = co_await conclude_update(cx, leg, std::move(reply), now, is_credit);
    co_return landing;
  }
  std::vector<store::TransactItem> items;
  write.append_write(items);
  write.append_check(items);
  store::TransactRequest request(items, token_of(leg));
  auto reply = co_await ask(request);
  if (reply.outcome == store::Outcome::kOk) learn_landed(reply, 0, write, now);
  if (reply.outcome == store::Outcome::kConditionFailed) {
    learn_from(cx, reply.reasons, 0, 1, leg, now);
  }
  Result<Landing> landing = co_await conclude(cx, leg, std::move(reply), now, is_credit);
  co_return landing;
}

Op<Result<Landing>> send_together(Context& cx, LegWrite& first, LegWrite& second, TimePoint now) {
  std::vector<store::TransactItem> items;
  first.append_write(items);
  second.append_write(items);
  std::optional<std::size_t> first_check;
  std::optional<std::size_t> second_check;
  if (first.creates()) first_check = items.size();
  first.append_check(items);
  if (second.creates()) second_check = items.size();
  second.append_check(items);
  store::TransactRequest request(items, token_of(first.leg()));
  auto reply = co_await ask(request);
  if (reply.outcome == store::Outcome::kOk) {
    learn_landed(reply, 0, first, now);
    learn_landed(reply, 1, second, now);
  }
  if (reply.outcome == store::Outcome::kConditionFailed) {
    learn_from(cx, reply.reasons, 0, first_check, first.leg(), now);
    learn_from(cx, reply.reasons, 1, second_check, second.leg(), now);
  }
  // Both carry their nonce or neither does, so the first one tells for both.
  if (reply.outcome == store::Outcome::kUnknown) forget_image(second.leg());
  Result<Landing> landing = co_await conclude(cx, first.leg(), std::move(reply), now, false);
  co_return landing;
}

}  // namespace stint::ops
