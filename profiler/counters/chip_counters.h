// The counters of mgtune on one chip. Chips differ: a consumer Blackwell has other names for its
// memory's bytes than a Hopper, and only a Hopper has wgmma. If a chip does not have a counter, the
// counter is left out with a note. That is never an error. The functions keep no state.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "counters/counter_sets.h"
#include "counters/metric_host.h"

namespace mgtune {

// The counters of a set that the chip has.
struct ChipCounters {
  std::vector<const Counter*> counters;
  std::vector<std::string> metrics;   // of the counters, in their order
  std::vector<std::string> left_out;  // "wgmma_instructions: TU102 has no metric for it"
};

ChipCounters counters_of_chip(const CounterSet& set, const MetricHost& host);

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

// All counters of mgtune with the metrics of a chip that give them, and all metrics of the chip.
struct ChipListing {
  std::string chip;
  std::vector<ListedSet> sets;
  std::vector<ListedCounter> counters;
  std::vector<ListedMetric> metrics;
};

// Needs CUPTI's library, but neither a GPU nor a driver. invalid_argument, with the known chips,
// for a chip that CUPTI does not know; environment without CUPTI.
Result<ChipListing> list_chip(const std::string& chip);

}  // namespace mgtune
