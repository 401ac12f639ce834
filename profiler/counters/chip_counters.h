// ChipCounters: the counters of a set that one chip has. Chips differ: a consumer Blackwell has
// other names for its memory's bytes than a Hopper, and only a Hopper has wgmma. If a chip does not
// have a counter, the counter is left out with a note. That is never an error.

#pragma once

#include <string>
#include <vector>

#include "counters/counter_sets.h"
#include "counters/metric_host.h"

namespace mgtune {

struct ChipCounters {
  std::vector<const Counter*> counters;
  std::vector<std::string> metrics;   // of the counters, in their order
  std::vector<std::string> left_out;  // "wgmma_instructions: TU102 has no metric for it"
};

ChipCounters counters_of_chip(const CounterSet& set, const MetricHost& host);

}  // namespace mgtune
