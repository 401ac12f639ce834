// ChipCounters: a counter set as one chip can count it. Chips differ: a consumer Blackwell names
// its memory's bytes otherwise than a Hopper, and only a Hopper has wgmma. What a chip lacks is
// left out and said, never an error.

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
