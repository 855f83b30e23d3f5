#include "stint/observer.h"

#include <algorithm>
#include <utility>

namespace stint {

std::string_view to_string(EventKind kind) {
  switch (kind) {
    case EventKind::kAdmitted: return "admitted";
    case EventKind::kRejected: return "rejected";
    case EventKind::kDisabled: return "disabled";
    case EventKind::kDegraded: return "degraded";
    case EventKind::kCallFailed: return "call_failed";
    case EventKind::kLimitExceeded: return "limit_exceeded";
    case EventKind::kStoreAsked: return "store_asked";
    case EventKind::kStoreError: return "store_error";
    case EventKind::kConflict: return "conflict";
    case EventKind::kRetry: return "retry";
    case EventKind::kWaited: return "waited";
    case EventKind::kViewHit: return "view_hit";
    case EventKind::kViewMiss: return "view_miss";
    case EventKind::kConfigHit: return "config_hit";
    case EventKind::kConfigMiss: return "config_miss";
    case EventKind::kSettled: return "settled";
    case EventKind::kRolledBack: return "rolled_back";
    case EventKind::kGivenBack: return "given_back";
    case EventKind::kLeaseTrouble: return "lease_trouble";
    case EventKind::kClockBehind: return "clock_behind";
    case EventKind::kLimitsDisagree: return "limits_disagree";
    case EventKind::kFanoutIncomplete: return "fanout_incomplete";
  }
  return "unknown";
}

MultiObserver::MultiObserver(std::vector<Observer*> observers) : observers_(std::move(observers)) {}

void MultiObserver::on_event(const Event& event) noexcept {
  for (Observer* observer : observers_) observer->on_event(event);
}

bool MultiObserver::times_store() const noexcept {
  return std::any_of(observers_.begin(), observers_.end(),
                     [](const Observer* observer) { return observer->times_store(); });
}

}  // namespace stint
