// The stop rule: when a measurement has enough samples. All methods use the same rule.

#pragma once

#include <vector>

#include "timing/timer.h"

namespace mgtune {

enum class StopRule { go_on, enough, censored };

// `measured_ns`: the time of the work so far, the sum over all its timed launches.
StopRule stop_rule(const std::vector<double>& samples_ns, double measured_ns,
                   const TimingBudget& budget);

}  // namespace mgtune
