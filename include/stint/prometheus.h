// Counters for Prometheus, by prometheus-cpp. Component `prometheus` of stint.
//
// This header includes nothing of prometheus-cpp: to hand the result to a registry, an exposer or a
// serializer, include what you use of it.
#ifndef STINT_PROMETHEUS_H_
#define STINT_PROMETHEUS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stint/counters.h"
#include "stint/export.h"
#include "stint/result.h"

namespace prometheus {
class Collectable;
}  // namespace prometheus

namespace stint {

/// Shows what `counters` counted, which must outlive the result, as the metrics stint_..._total
/// that docs/guide/observe.md lists. Every `Collect()` sums the counters up; between scrapes it
/// costs nothing. Thread-safe. prometheus-cpp's exposers keep a weak pointer only: hold the result.
///
/// Use one for all counters of a program: two of them would export the same metrics twice.
STINT_EXPORT std::shared_ptr<prometheus::Collectable> prometheus_collectable(
    const Counters& counters);
/// A temporary would be gone by the first scrape.
std::shared_ptr<prometheus::Collectable> prometheus_collectable(Counters&& counters) = delete;

/// Counters and the labels that tell them apart from others of the program.
struct PrometheusSource {
  const Counters* counters;
  std::vector<std::pair<std::string, std::string>> labels = {};
};

/// The same for several counters, say one for each limiter. Labels should be few and fixed:
/// Prometheus keeps every combination forever. Errors: `kInvalidArgument` for a label that
/// Prometheus does not accept or that stint uses itself, and for two sources with equal labels.
STINT_EXPORT Result<std::shared_ptr<prometheus::Collectable>> prometheus_collectable(
    std::vector<PrometheusSource> sources);

}  // namespace stint

#endif  // STINT_PROMETHEUS_H_
