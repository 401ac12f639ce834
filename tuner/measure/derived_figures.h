// Figures that follow from a variant's counters and the operator's cost. Pure.

#pragma once

#include <string>
#include <vector>

#include "worker/protocol.h"

namespace mgtune {

struct DerivedFigure {
  std::string name;  // "dram_of_cost_percent"
  double value;
  std::string unit, meaning;
};

// The figures whose counters were measured. `cost_bytes` is what the operator must move; 0:
// unknown.
std::vector<DerivedFigure> derived_figures(const VariantCounters& counters, double cost_bytes);

}  // namespace mgtune
