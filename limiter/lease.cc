#include <algorithm>
#include <exception>
#include <limits>
#include <memory>

#include "base/spare_objects.h"
#include "base/wide.h"
#include "limiter/lease_state.h"
#include "stint/decision.h"

namespace stint {
namespace {

using internal::LeaseState;

Error ended() { return Error::invalid("lease", "", "has ended"); }

std::int64_t* correction_of(ops::LeaseRecord& lease, std::string_view limit) {
  for (ops::LeaseRecord::Correction& correction : lease.corrections) {
    if (correction.limit == limit) return &correction.delta;
  }
  lease.corrections.push_back({std::string(limit), 0});
  return &lease.corrections.back().delta;
}

const ops::LeaseRecord::Seen* declared(const ops::LeaseRecord& lease, std::string_view limit) {
  for (const ops::LeaseRecord::Seen& seen : lease.declared) {
    if (seen.limit == limit) return &seen;
  }
  return nullptr;
}

std::int64_t pending(const ops::LeaseRecord& lease, std::string_view limit) {
  for (const ops::LeaseRecord::Correction& correction : lease.corrections) {
    if (correction.limit == limit) return correction.delta;
  }
  return 0;
}

using SpareStates = SpareObjects<LeaseState, 64>;

}  // namespace

internal::LeaseStatePtr internal::new_lease_state(LeaseEnder& ender) {
  LeaseStatePtr state(SpareStates::take().release());
  if (!state) state.reset(new LeaseState);
  state->ender_ = &ender;
  state->degraded_ = false;
  state->open_ = true;
  return state;
}

void internal::LeaseStateDeleter::operator()(LeaseState* state) const noexcept {
  state->record_.clear();
  SpareStates::keep(std::unique_ptr<LeaseState>(state));
}

Lease::Lease() = default;

Lease::Lease(internal::LeaseStatePtr state)
    : state_(std::move(state)), exceptions_at_start_(std::uncaught_exceptions()) {}

Lease::Lease(Lease&& other) noexcept = default;

Lease& Lease::operator=(Lease&& other) noexcept {
  // What this lease held ends as if it went out of scope.
  Lease ending(std::move(*this));
  state_ = std::move(other.state_);
  exceptions_at_start_ = other.exceptions_at_start_;
  return *this;
}

Lease::~Lease() {
  if (!open()) return;
  LeaseState& state = *state_;
  bool unwinding = std::uncaught_exceptions() > exceptions_at_start_;
  // Ending a lease takes memory and calls the caller's clock: whatever they throw is reported.
  try {
    if (state.ender().ends_in_background()) {
      if (internal::has_to_write(state, unwinding)) {
        state.ender().end_in_background(std::move(state_), unwinding);
      }
      return;
    }
    Status status = unwinding ? roll_back() : settle();
    if (!status) state.ender().report_lease_trouble(state.record(), status.error());
  } catch (const std::exception& exception) {
    if (state_ == nullptr) return;
    try {
      state.ender().report_lease_trouble(state.record(),
                                         Error(ErrorCode::kOutcomeUnknown, exception.what()));
    } catch (...) {
      // Not even the report could be made.
      state.end();
    }
  }
}

bool Lease::open() const { return state_ != nullptr && state_->open(); }
bool Lease::degraded() const { return state_ != nullptr && state_->degraded(); }
bool Lease::bypassed() const { return state_ != nullptr && state_->record().bypassed; }

MilliTokens Lease::consumed(std::string_view limit) const {
  if (state_ == nullptr) return MilliTokens();
  const ops::LeaseRecord::Seen* seen = declared(state_->record(), limit);
  if (seen == nullptr) return MilliTokens();
  return MilliTokens(seen->requested + pending(state_->record(), limit));
}

Status Lease::adjust(std::string_view limit, Amount delta) {
  if (!open()) return ended();
  if (!delta.in_range()) return Error::invalid("delta", "", "must not exceed 9e15 tokens");
  if (state_->degraded()) return Status();
  ops::LeaseRecord& lease = state_->record();
  const ops::LeaseRecord::Seen* seen = declared(lease, limit);
  if (seen == nullptr) {
    return Error::invalid("limit", limit, "was not declared when the lease was taken");
  }
  Int128 total =
      static_cast<Int128>(seen->requested) + pending(lease, limit) + delta.milli().count();
  if (total < 0) {
    return Error::invalid("delta", std::to_string(delta.milli().count()) + " thousandths",
                          "gives back more than the lease took");
  }
  if (total > static_cast<Int128>(kMaxTokens) * 1000) {
    return Error::invalid("delta", "", "a lease must not take more than 9e15 tokens");
  }
  *correction_of(lease, limit) += delta.milli().count();
  return Status();
}

Status Lease::release(std::string_view limit, Amount amount) {
  if (amount.milli().count() < 0) {
    return Error::invalid("amount", std::to_string(amount.milli().count()) + " thousandths",
                          "must not be negative");
  }
  return adjust(limit, amount.in_range() ? Amount(MilliTokens(-amount.milli().count())) : amount);
}

Result<bool> Lease::consume(std::string_view limit, Amount amount) {
  if (!open()) return ended();
  if (amount.milli().count() < 0) {
    return Error::invalid("amount", std::to_string(amount.milli().count()) + " thousandths",
                          "must not be negative");
  }
  if (!state_->degraded()) {
    const ops::LeaseRecord::Seen* seen = declared(state_->record(), limit);
    if (seen != nullptr && amount.in_range() &&
        static_cast<Int128>(seen->remaining) - pending(state_->record(), limit) <
            amount.milli().count()) {
      return false;
    }
  }
  if (Status adjusted = adjust(limit, amount); !adjusted) return adjusted.error();
  return true;
}

Status Lease::settle() {
  if (!open()) return ended();
  Status status;
  if (internal::has_to_write(*state_, false)) {
    status = state_->ender().settle_lease(state_->record());
  }
  internal::conclude(*state_, status, false);
  return status;
}

Status Lease::roll_back() {
  if (!open()) return ended();
  state_->end();
  Status status;
  if (internal::has_to_write(*state_, true)) {
    status = state_->ender().roll_back_lease(state_->record());
  }
  internal::conclude(*state_, status, true);
  return status;
}

internal::LeaseStatePtr internal::take_state(Lease lease) { return std::move(lease.state_); }

bool internal::has_to_write(const LeaseState& lease, bool roll_back) {
  if (lease.degraded()) return false;
  const auto& corrections = lease.record().corrections;
  return roll_back || std::any_of(corrections.begin(), corrections.end(),
                                  [](const auto& correction) { return correction.delta != 0; });
}

void internal::conclude(LeaseState& lease, const Status& status, bool roll_back) {
  ops::LeaseRecord& record = lease.record();
  if (roll_back) {
    if (!status) return;
    for (ops::LeaseRecord::Seen& seen : record.declared) seen.requested = 0;
    return;
  }
  bool corrected = std::all_of(record.legs.begin(), record.legs.end(),
                               [](const ops::LeaseLeg& leg) { return leg.corrected; });
  if (status || corrected) lease.end();
}

Decision Decision::admitted(std::vector<LimitStatus> limits, Lease lease) {
  Decision decision(Outcome::kAdmitted, std::move(limits));
  decision.lease_ = std::move(lease);
  return decision;
}

Decision Decision::rejected(Rejection rejection) {
  Decision decision(Outcome::kRejected, {});
  decision.refusal_ = std::make_unique<Refusal>();
  decision.refusal_->rejection = std::move(rejection);
  return decision;
}

Decision Decision::disabled(std::string entity, std::string resource, std::string level) {
  Decision decision(Outcome::kDisabled, {});
  decision.refusal_ = std::make_unique<Refusal>();
  decision.refusal_->entity = std::move(entity);
  decision.refusal_->resource = std::move(resource);
  decision.refusal_->level = std::move(level);
  return decision;
}

}  // namespace stint
