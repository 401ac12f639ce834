#include "counters/chip_counters.h"

namespace mgtune {
namespace {

// "" if the chip has none of them.
std::string metric_of_chip(const Counter& counter, const MetricHost& host) {
  for (const std::string_view name : {counter.metric, counter.other_metric}) {
    std::string metric(name);
    if (!metric.empty() && host.can_count(metric)) return metric;
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

Result<ChipListing> list_chip(const std::string& chip) {
  MGTUNE_ASSIGN(const CounterLibrary library, open_counter_library());
  MGTUNE_ASSIGN(const MetricHost host, MetricHost::open(library, chip));
  ChipListing listing{chip, {}, {}, {}};
  for (const CounterSet& set : counter_sets()) {
    std::vector<std::string> metrics;
    for (const Counter& counter : set.counters) {
      listing.counters.push_back({&set, &counter, metric_of_chip(counter, host)});
      const std::string& metric = listing.counters.back().metric;
      if (!metric.empty()) metrics.push_back(metric);
    }
    MGTUNE_ASSIGN(const MetricConfig config, host.schedule(metrics));
    listing.sets.push_back({&set, config.passes});
  }
  MGTUNE_ASSIGN(const std::vector<std::string> metrics, host.base_metrics());
  for (const std::string& name : metrics) {
    const Result<MetricText> text = host.describe(name);
    listing.metrics.push_back({name, text.ok() ? *text : MetricText()});
  }
  return listing;
}

}  // namespace mgtune
