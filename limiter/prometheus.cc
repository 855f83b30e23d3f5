#include "stint/prometheus.h"

#include <prometheus/client_metric.h>
#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace stint {
namespace {

using Label = prometheus::ClientMetric::Label;
using Labels = std::vector<Label>;

constexpr std::string_view kOwnLabels[] = {"outcome", "limit",  "code",  "kind",
                                           "cache",   "result", "event", "warning"};
/// Limits that were too many to be counted by name.
constexpr std::string_view kOtherLimits = "other";

constexpr ErrorCode kCodes[] = {
    ErrorCode::kUnavailable,     ErrorCode::kOutcomeUnknown,  ErrorCode::kThrottled,
    ErrorCode::kVersionMismatch, ErrorCode::kInvalidArgument, ErrorCode::kNotFound,
    ErrorCode::kExists,          ErrorCode::kConflict,        ErrorCode::kCorrupt,
    ErrorCode::kAccessDenied,    ErrorCode::kCancelled};

double seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

std::uint64_t errors_of(const std::vector<CounterSnapshot::ErrorCount>& errors, ErrorCode code) {
  for (const CounterSnapshot::ErrorCount& count : errors) {
    if (count.code == code) return count.errors;
  }
  return 0;
}

/// All families, with the numbers of each source added in turn.
class Families {
 public:
  /// What `add_...` adds from here on carries these labels.
  void begin_source(const PrometheusSource& source) {
    common_.clear();
    for (const auto& [name, value] : source.labels) common_.push_back({name, value});
    next_ = 0;
  }

  /// Begins a family: the same ones in the same order for every source.
  void family(const char* name, const char* help) {
    if (next_ == families_.size()) {
      families_.push_back({name, help, prometheus::MetricType::Counter, {}});
    }
    current_ = &families_[next_++];
  }
  void add(double value, const Labels& labels = {}) {
    prometheus::ClientMetric& metric = current_->metric.emplace_back();
    metric.label = common_;
    metric.label.insert(metric.label.end(), labels.begin(), labels.end());
    metric.counter.value = value;
  }
  void add(std::uint64_t value, const Labels& labels = {}) {
    add(static_cast<double>(value), labels);
  }
  /// A family of one number.
  template <typename Value>
  void single(const char* name, const char* help, Value value) {
    family(name, help);
    add(value);
  }
  void add_errors(const std::vector<CounterSnapshot::ErrorCount>& errors) {
    for (ErrorCode code : kCodes) add(errors_of(errors, code), label("code", to_string(code)));
  }

  static Labels label(std::string_view name, std::string_view value) {
    return {{std::string(name), std::string(value)}};
  }

  std::vector<prometheus::MetricFamily> take() { return std::move(families_); }

 private:
  std::vector<prometheus::MetricFamily> families_;
  prometheus::MetricFamily* current_ = nullptr;
  std::size_t next_ = 0;
  Labels common_;
};

void add_answers(Families& out, const CounterSnapshot& counted) {
  out.family("stint_decisions_total", "Requests decided, by outcome; errors are no decisions.");
  out.add(counted.admitted, Families::label("outcome", "admitted"));
  out.add(counted.rejected, Families::label("outcome", "rejected"));
  out.add(counted.disabled, Families::label("outcome", "disabled"));
  out.add(counted.degraded, Families::label("outcome", "degraded"));

  out.family("stint_rejections_total",
             "How often each limit refused; a request that several limits refuse counts for each.");
  std::uint64_t others = counted.rejections_by_other_limits;
  bool others_shown = others == 0;
  for (const CounterSnapshot::LimitCount& limit : counted.rejections_by_limit) {
    bool shares_name = limit.limit == kOtherLimits;
    others_shown = others_shown || shares_name;
    out.add(limit.rejections + (shares_name ? others : 0), Families::label("limit", limit.limit));
  }
  if (!others_shown) out.add(others, Families::label("limit", kOtherLimits));

  out.single("stint_rejections_from_memory_total",
             "Rejected requests for which the store was not asked.", counted.rejected_from_memory);
  out.family("stint_call_errors_total", "Calls of any kind that answered an error, by its code.");
  out.add_errors(counted.failed_calls);
}

void add_store(Families& out, const CounterSnapshot& counted, bool timed) {
  out.single("stint_store_requests_total", "Requests to the store, failed ones included.",
             counted.store.requests);
  out.family("stint_store_units_total",
             "Capacity units of the store's requests, as DynamoDB reckons them.");
  out.add(counted.store.read_units, Families::label("kind", "read"));
  out.add(counted.store.write_units, Families::label("kind", "write"));
  out.add(counted.store.index_write_units, Families::label("kind", "index_write"));
  out.family("stint_store_seconds_total", "Time spent in the store; only where it is measured.");
  if (timed) out.add(seconds(counted.store_time));
  out.family("stint_store_errors_total", "Requests that the store failed, by code.");
  out.add_errors(counted.store_errors);
  out.single("stint_conflicts_total", "Writes that lost against another writer.",
             counted.conflicts);
  out.single("stint_retries_total", "Writes that were planned anew because they did not land.",
             counted.retries);
  out.single("stint_turn_waits_total", "Waits for other callers of a bucket in this process.",
             counted.waits);
  out.single("stint_turn_wait_seconds_total", "Time spent in these waits.",
             seconds(counted.wait_time));
}

void add_memory(Families& out, const CounterSnapshot& counted) {
  out.family("stint_cache_lookups_total",
             "Buckets, and levels of configuration, that were or were not remembered.");
  auto lookups = [&](const char* cache, const char* result, std::uint64_t count) {
    out.add(count, {{"cache", cache}, {"result", result}});
  };
  lookups("view", "hit", counted.view_hits);
  lookups("view", "miss", counted.view_misses);
  lookups("config", "hit", counted.config_hits);
  lookups("config", "miss", counted.config_misses);
}

void add_leases_and_warnings(Families& out, const CounterSnapshot& counted) {
  out.family("stint_lease_events_total",
             "Leases settled with a correction or rolled back, amounts given back by requests "
             "that failed, and trouble with either.");
  out.add(counted.settled, Families::label("event", "settled"));
  out.add(counted.rolled_back, Families::label("event", "rolled_back"));
  out.add(counted.given_back, Families::label("event", "given_back"));
  out.add(counted.lease_troubles, Families::label("event", "trouble"));
  out.family("stint_warnings_total", "What an operator should look into, by kind.");
  out.add(counted.clocks_behind, Families::label("warning", "clock_behind"));
  out.add(counted.limits_disagreed, Families::label("warning", "limits_disagree"));
  out.add(counted.fanouts_incomplete, Families::label("warning", "fanout_incomplete"));
}

class CountersCollectable final : public prometheus::Collectable {
 public:
  explicit CountersCollectable(std::vector<PrometheusSource> sources)
      : sources_(std::move(sources)) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    Families families;
    for (const PrometheusSource& source : sources_) {
      CounterSnapshot counted = source.counters->snapshot();
      families.begin_source(source);
      add_answers(families, counted);
      add_store(families, counted, source.counters->times_store());
      add_memory(families, counted);
      add_leases_and_warnings(families, counted);
    }
    // A family without a metric is a comment about nothing.
    std::vector<prometheus::MetricFamily> all = families.take();
    std::erase_if(all, [](const auto& family) { return family.metric.empty(); });
    return all;
  }

 private:
  std::vector<PrometheusSource> sources_;
};

/// [a-zA-Z_][a-zA-Z0-9_]*, and what begins with two underscores is Prometheus's own.
bool is_label_name(std::string_view name) {
  auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (name.empty() || is_digit(name[0]) || name.starts_with("__")) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || is_digit(c); });
}

Status check_labels(const PrometheusSource& source) {
  for (std::size_t i = 0; i < source.labels.size(); ++i) {
    const std::string& name = source.labels[i].first;
    if (!is_label_name(name)) {
      return Error::invalid("label", name, "must be letters, digits and _, no digit in front");
    }
    if (std::find(std::begin(kOwnLabels), std::end(kOwnLabels), name) != std::end(kOwnLabels)) {
      return Error::invalid("label", name, "is a label of stint's own");
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (source.labels[j].first == name) {
        return Error::invalid("label", name, "is given twice");
      }
    }
  }
  return Status();
}

}  // namespace

std::shared_ptr<prometheus::Collectable> prometheus_collectable(const Counters& counters) {
  return std::make_shared<CountersCollectable>(
      std::vector<PrometheusSource>{PrometheusSource{&counters}});
}

Result<std::shared_ptr<prometheus::Collectable>> prometheus_collectable(
    std::vector<PrometheusSource> sources) {
  std::vector<std::vector<std::pair<std::string, std::string>>> seen;
  for (const PrometheusSource& source : sources) {
    if (source.counters == nullptr) return Error::invalid("counters", "", "are missing");
    if (Status valid = check_labels(source); !valid) return valid.error();
    auto labels = source.labels;
    std::sort(labels.begin(), labels.end());
    if (std::find(seen.begin(), seen.end(), labels) != seen.end()) {
      return Error::invalid("labels", labels.empty() ? "" : labels.front().second,
                            "are those of another source, which nobody could tell apart");
    }
    seen.push_back(std::move(labels));
  }
  return std::shared_ptr<prometheus::Collectable>(
      std::make_shared<CountersCollectable>(std::move(sources)));
}

}  // namespace stint
