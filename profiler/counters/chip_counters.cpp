#include "counters/chip_counters.h"

namespace mgtune {
namespace {

// "" if the chip has none of them.
std::string metric_of_chip(const Counter& counter, const MetricHost& host) {
  for (const std::string_view name : counter.metrics) {
    if (name.empty()) break;
    std::string metric(name);
    if (host.can_count(metric)) return metric;
  }
  return "";
}

}  // namespace

ChipCounters counters_of_chip(const CounterSet& set, const MetricHost& host) {
  ChipCounters chosen;
  for (const Counter& counter : set.counters) {
    std::string metric = metric_of_chip(counter, host);
    if (metric.empty()) {
      chosen.left_out.push_back(std::string(counter.name) + ": " + host.chip() +
                                " has no metric for it");
      continue;
    }
    chosen.counters.push_back(&counter);
    chosen.metrics.push_back(std::move(metric));
  }
  return chosen;
}

}  // namespace mgtune
