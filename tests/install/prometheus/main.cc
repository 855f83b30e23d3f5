// A user of the installed component `prometheus`: a decision shows up among the metrics. The
// argument is an empty directory, which is not needed.
#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <stint/prometheus.h>
#include <stint/stint.h>

#include <cstdio>
#include <string>

int main() {
  stint::Counters counters;
  auto metrics = stint::prometheus_collectable(counters);
  stint::LimiterOptions options;
  options.observer = &counters;
  stint::Limiter limiter(stint::open_memory().value(), options);
  limiter.set_limits("user-1", "api", {stint::Limit::per_hour("rph", 10)}).value();
  limiter.acquire({.entity = "user-1", .resource = "api", .consume = {{"rph", 20}}}).value();

  const std::string text = prometheus::TextSerializer().Serialize(metrics->Collect());
  if (text.find("stint_rejections_total{limit=\"rph\"} 1") == std::string::npos) {
    std::fprintf(stderr, "the rejection is missing:\n%s", text.c_str());
    return 1;
  }
  return 0;
}
