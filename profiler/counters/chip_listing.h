// ChipListing: the counters of mgtune with the metrics of a chip that give them, and all metrics of
// the chip. It needs CUPTI's library, but neither a GPU nor a driver. The function keeps no state.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "counters/counter_sets.h"
#include "counters/metric_host.h"

namespace mgtune {

struct ListedCounter {
  const CounterSet* set;
  const Counter* counter;
  std::string metric;  // "" if the chip has none
};

struct ListedSet {
  const CounterSet* set;
  std::int64_t passes;
};

struct ListedMetric {
  std::string name;
  MetricText text;
};

struct ChipListing {
  std::string chip;
  std::vector<ListedSet> sets;
  std::vector<ListedCounter> counters;
  std::vector<ListedMetric> metrics;
};

// invalid_argument, with the known chips, for a chip that CUPTI does not know; environment without
// CUPTI.
Result<ChipListing> list_chip(const std::string& chip);

}  // namespace mgtune
