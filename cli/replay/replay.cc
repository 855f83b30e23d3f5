#include "cli/replay/replay.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/replay/traffic.h"

namespace stint::cli {
namespace {

// Far enough ahead for the store to fetch what is needed, near enough to be still there (speed.md).
constexpr std::size_t kLookAhead = 12;
// Records of a sorted input that are read before they are decided.
constexpr std::size_t kBatch = 4096;
constexpr std::size_t kRecordsPerProgress = 2048;
constexpr std::size_t kMostRejected = 10;

// Whether a record that met this error is left out, rather than ending the replay.
bool concerns_one_record(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotFound:
    case ErrorCode::kCorrupt: return true;
    case ErrorCode::kUnavailable:
    case ErrorCode::kOutcomeUnknown:
    case ErrorCode::kThrottled:
    case ErrorCode::kVersionMismatch:
    case ErrorCode::kExists:
    case ErrorCode::kConflict:
    case ErrorCode::kAccessDenied:
    case ErrorCode::kCancelled: return false;
  }
  return false;
}

class Replay {
 public:
  Replay(Limiter& limiter, ReplayClock& clock, RequestReader& input, const ReplaySettings& settings)
      : limiter_(limiter), clock_(clock), input_(input), settings_(settings) {}

  Result<ReplayReport> run() {
    Status status = settings_.sorted ? run_sorted() : run_unsorted();
    if (!status) return status.error();
    finish_report();
    return std::move(report_);
  }

 private:
  struct EntityCounts {
    std::uint64_t requests = 0;
    std::uint64_t rejected = 0;
  };

  Status run_unsorted() {
    bool more = true;
    while (more) {
      if (Status status = read_some(more); !status) return status;
    }
    // Most records are in order already; equal times must stay in the order of the input.
    if (report_.backward_steps > 0) {
      std::stable_sort(
          traffic_.requests.begin(), traffic_.requests.end(),
          [](const RecordedRequest& a, const RecordedRequest& b) { return a.time < b.time; });
    }
    return decide_all();
  }

  Status run_sorted() {
    bool more = true;
    while (more) {
      traffic_.clear_requests();
      if (Status status = read_some(more); !status) return status;
      for (RecordedRequest& request : traffic_.requests) {
        if (latest_ && request.time < *latest_) {
          request.time = *latest_;
          ++report_.decided_late;
        }
        latest_ = request.time;
      }
      if (Status status = decide_all(); !status) return status;
    }
    return {};
  }

  // Adds up to a batch of records to the traffic.
  Status read_some(bool& more) {
    for (std::size_t i = 0; i < kBatch; ++i) {
      switch (input_.next(traffic_)) {
        case RequestReader::Outcome::kRequest: {
          const TimePoint time = traffic_.requests.back().time;
          if (previous_ && time < *previous_) ++report_.backward_steps;
          previous_ = time;
          ++progress_.read;
          break;
        }
        case RequestReader::Outcome::kSkipped:
          ++progress_.read;
          if (Status status = skip(input_.line(), input_.problem()); !status) return status;
          break;
        case RequestReader::Outcome::kEnd: more = false; return {};
        case RequestReader::Outcome::kFailed:
          return Error::invalid("input", "line " + std::to_string(input_.line()), input_.problem());
      }
    }
    show_progress();
    return {};
  }

  Status decide_all() {
    const std::span<const RecordedRequest> requests = traffic_.requests;
    for (std::size_t i = 0; i < std::min(kLookAhead, requests.size()); ++i) {
      announce(requests[i]);
    }
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (i + kLookAhead < requests.size()) announce(requests[i + kLookAhead]);
      if (Status status = decide(requests[i]); !status) return status;
      if (++progress_.decided % kRecordsPerProgress == 0) show_progress();
    }
    return {};
  }

  void announce(const RecordedRequest& request) {
    limiter_.prefetch(traffic_.entities.name(request.entity),
                      traffic_.resources.name(request.resource));
  }

  Status decide(const RecordedRequest& recorded) {
    clock_.set(recorded.time);
    request_.entity = traffic_.entities.name(recorded.entity);
    request_.resource = traffic_.resources.name(recorded.resource);
    const std::span<const DeclaredAmount> amounts(&traffic_.amounts[recorded.first],
                                                  recorded.count);
    request_.consume.resize(amounts.size());
    for (std::size_t i = 0; i < amounts.size(); ++i) {
      request_.consume[i].limit = traffic_.limits.name(amounts[i].limit);
      request_.consume[i].amount = amounts[i].tokens;
    }
    Result<Decision> decision = limiter_.acquire(request_);
    if (!decision) {
      if (!concerns_one_record(decision.error().code())) return decision.error();
      return skip(recorded.line, decision.error().message());
    }
    if (*decision) {
      if (Status status = decision->lease().settle(); !status) return status;
    }
    count(recorded, amounts, *decision);
    return {};
  }

  void count(const RecordedRequest& recorded, std::span<const DeclaredAmount> amounts,
             const Decision& decision) {
    const bool admitted = static_cast<bool>(decision);
    ++report_.requests;
    ++(admitted ? report_.admitted : report_.rejected);
    if (decision.outcome() == Outcome::kDisabled) ++report_.disabled;
    if (!report_.first_time) report_.first_time = recorded.time;
    report_.last_time = recorded.time;
    report_.timeline.count(recorded.time, admitted);
    if (recorded.entity >= entities_.size()) entities_.resize(traffic_.entities.size());
    ++entities_[recorded.entity].requests;
    if (!admitted) ++entities_[recorded.entity].rejected;

    outcomes_.clear();
    for (const DeclaredAmount& amount : amounts) {
      DeclaredOutcome outcome{traffic_.limits.name(amount.limit)};
      for (const LimitStatus& status : decision.limits()) {
        if (status.name != outcome.limit) continue;
        if (outcome.status == nullptr) outcome.status = &status;
        outcome.exceeded = outcome.exceeded || status.exceeded;
      }
      count_limit(recorded, amount, outcome, admitted);
      outcomes_.push_back(outcome);
    }
    if (settings_.decisions == nullptr) return;
    std::optional<Millis> retry_after;
    if (decision.outcome() == Outcome::kRejected) retry_after = decision.rejection().retry_after;
    settings_.decisions->write({recorded.line, recorded.time, request_.entity, request_.resource,
                                admitted, decision.outcome() == Outcome::kDisabled, retry_after,
                                outcomes_});
  }

  void count_limit(const RecordedRequest& recorded, const DeclaredAmount& amount,
                   const DeclaredOutcome& outcome, bool admitted) {
    if (amount.limit >= report_.limits.size()) report_.limits.resize(amount.limit + 1);
    ReplayReport::LimitTotals& totals = report_.limits[amount.limit];
    if (admitted) totals.granted += amount.tokens;
    if (!admitted && outcome.exceeded) ++totals.times_short;
    const LimitStatus* status = outcome.status;
    if (status == nullptr || status->capacity.count() <= 0) return;
    const auto capacity = static_cast<double>(status->capacity.count());
    const double use = (capacity - static_cast<double>(status->remaining.count())) / capacity;
    if (use > totals.peak_use) {
      totals.peak_use = use;
      totals.peak_at = recorded.time;
      totals.peak_entity = status->entity;
    }
  }

  Status skip(std::uint64_t line, const std::string& reason) {
    if (settings_.strict) return Error::invalid("input", "line " + std::to_string(line), reason);
    report_.skipped.add(line, reason);
    return {};
  }

  void show_progress() {
    if (!settings_.on_progress) return;
    progress_.bytes_read = input_.position();
    settings_.on_progress(progress_);
  }

  void finish_report() {
    // A limit may have been named by skipped records only; it was asked for all the same.
    report_.limits.resize(traffic_.limits.size());
    for (std::uint32_t i = 0; i < traffic_.limits.size(); ++i) {
      report_.limits[i].name = traffic_.limits.name(i);
    }
    std::vector<std::uint32_t> rejected;
    for (std::uint32_t i = 0; i < entities_.size(); ++i) {
      if (entities_[i].requests > 0) ++report_.entities;
      if (entities_[i].rejected > 0) rejected.push_back(i);
    }
    const std::size_t shown = std::min(kMostRejected, rejected.size());
    std::partial_sort(rejected.begin(), rejected.begin() + static_cast<std::ptrdiff_t>(shown),
                      rejected.end(), [this](std::uint32_t a, std::uint32_t b) {
                        if (entities_[a].rejected != entities_[b].rejected) {
                          return entities_[a].rejected > entities_[b].rejected;
                        }
                        return traffic_.entities.name(a) < traffic_.entities.name(b);
                      });
    for (std::size_t i = 0; i < shown; ++i) {
      const EntityCounts& counts = entities_[rejected[i]];
      report_.most_rejected.push_back(
          {traffic_.entities.name(rejected[i]), counts.requests, counts.rejected});
    }
  }

  Limiter& limiter_;
  ReplayClock& clock_;
  RequestReader& input_;
  const ReplaySettings& settings_;
  Traffic traffic_;
  ReplayReport report_;
  ReplayProgress progress_;
  std::optional<TimePoint> previous_;  // the record before, as recorded
  std::optional<TimePoint> latest_;    // the last instant decided at
  std::vector<EntityCounts> entities_;
  AcquireRequest request_;
  std::vector<DeclaredOutcome> outcomes_;
};

}  // namespace

Result<ReplayReport> replay(Limiter& limiter, ReplayClock& clock, RequestReader& input,
                            const ReplaySettings& settings) {
  return Replay(limiter, clock, input, settings).run();
}

}  // namespace stint::cli
