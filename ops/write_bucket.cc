#include "ops/write_bucket.h"

#include <string>
#include <utility>
#include <vector>

#include "base/time.h"

namespace stint::ops {
namespace {

void report_lost(Context& cx, const Leg& leg) {
  Event event;
  event.kind = EventKind::kConflict;
  event.entity = leg.names().entity;
  event.resource = leg.names().resource;
  cx.report(event);
}

/// What a cancelled transaction says about a leg. The owner's check, which a changed owner fails,
/// makes the leg forget the owner. `write_at` and `check_at` are positions in the transaction.
void learn_from(const std::vector<store::CancelReason>& reasons, std::size_t write_at,
                std::optional<std::size_t> check_at, Leg& leg, TimePoint now) {
  if (write_at < reasons.size() &&
      reasons[write_at].outcome == store::Outcome::kConditionFailed) {
    take_image(leg, reasons[write_at].image, now, true);
    leg.view.contended = true;
  }
  if (check_at && *check_at < reasons.size() &&
      reasons[*check_at].outcome == store::Outcome::kConditionFailed) {
    leg.meta_read = false;
    leg.config_fresh = false;
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
    leg.view.image = store::ImagePtr();
    leg.bucket_read = false;
  }
}

/// A repetition is built anew at another instant, so its token must differ: what guards against
/// both landing is the nonce.
std::string token_of(std::int64_t nonce, TimePoint now) {
  return std::to_string(nonce) + "-" + std::to_string(to_epoch_ms(now));
}

}  // namespace

Result<Landing> landing_of(Leg& leg, const store::ReplyBase& reply, store::ImagePtr image,
                           TimePoint now) {
  switch (reply.outcome) {
    case store::Outcome::kOk:
      take_image(leg, std::move(image), now, true);
      return Landing::kLanded;
    case store::Outcome::kConditionFailed: {
      // A copy of our own write, delivered before this one, has made the condition fail.
      bool landed = image && schema::last_nonce(*image) == leg.nonce;
      take_image(leg, std::move(image), now, true);
      return landed ? Landing::kLanded : Landing::kLost;
    }
    case store::Outcome::kConflict: return Landing::kBusy;
    default: return error_of(reply);
  }
}

Op<Result<bool>> look_up(Context& cx, Leg& leg, TimePoint now) {
  static_cast<void>(cx);
  store::GetRequest request(leg.names().key, store::Consistency::kStrong);
  auto reply = co_await ask(request);
  if (reply.outcome != store::Outcome::kOk) {
    co_return Error(ErrorCode::kOutcomeUnknown,
                    "a write was sent, its reply was lost, and it cannot be looked up");
  }
  take_image(leg, reply.image, now, true);
  co_return reply.image && schema::last_nonce(*reply.image) == leg.nonce;
}

Op<Result<Landing>> send_write(Context& cx, LegWrite& write, TimePoint now, bool is_credit) {
  Leg& leg = write.leg();
  store::Outcome outcome = store::Outcome::kOk;
  Result<Landing> landing = Landing::kLost;
  if (write.creates()) {
    std::vector<store::TransactItem> items;
    write.append_write(items);
    write.append_check(items);
    store::TransactRequest request(items, token_of(leg.nonce, now));
    auto reply = co_await ask(request);
    outcome = reply.outcome;
    if (outcome == store::Outcome::kOk) {
      learn_landed(reply, 0, write, now);
      landing = Landing::kLanded;
    } else if (outcome == store::Outcome::kConditionFailed) {
      learn_from(reply.reasons, 0, 1, leg, now);
      landing = leg.exists() && schema::last_nonce(*leg.view.image) == leg.nonce
                    ? Landing::kLanded
                    : Landing::kLost;
    } else if (outcome == store::Outcome::kConflict) {
      landing = Landing::kBusy;
    } else if (outcome != store::Outcome::kUnknown) {
      landing = error_of(reply);
    }
  } else {
    store::UpdateRequest request = write.update();
    auto reply = co_await ask(request);
    outcome = reply.outcome;
    if (outcome != store::Outcome::kUnknown) {
      landing = landing_of(leg, reply, std::move(reply.image), now);
    }
  }
  if (outcome == store::Outcome::kUnknown) {
    Result<bool> found = co_await look_up(cx, leg, now);
    if (!found) co_return found.error();
    if (*found) {
      landing = Landing::kLanded;
    } else {
      landing = is_credit ? Landing::kUnknown : Landing::kLost;
    }
  }
  if (landing && (*landing == Landing::kLost || *landing == Landing::kBusy)) report_lost(cx, leg);
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
  store::TransactRequest request(items, token_of(first.leg().nonce, now));
  auto reply = co_await ask(request);
  switch (reply.outcome) {
    case store::Outcome::kOk:
      learn_landed(reply, 0, first, now);
      learn_landed(reply, 1, second, now);
      co_return Landing::kLanded;
    case store::Outcome::kConditionFailed: {
      learn_from(reply.reasons, 0, first_check, first.leg(), now);
      learn_from(reply.reasons, 1, second_check, second.leg(), now);
      report_lost(cx, first.leg());
      co_return Landing::kLost;
    }
    case store::Outcome::kConflict: report_lost(cx, first.leg()); co_return Landing::kBusy;
    case store::Outcome::kUnknown: {
      // Both carry their nonce or neither does: one of them tells.
      Result<bool> found = co_await look_up(cx, first.leg(), now);
      if (!found) co_return found.error();
      second.leg().view.image = store::ImagePtr();
      second.leg().bucket_read = false;
      co_return *found ? Landing::kLanded : Landing::kLost;
    }
    default: co_return error_of(reply);
  }
}

}  // namespace stint::ops
