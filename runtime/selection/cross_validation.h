// Cross-validation: how good selection is at a problem that was never measured. Each measured
// problem in turn is removed from the evidence, and selection is asked for it. Pure functions.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "selection/evidence.h"
#include "selection/variant_selection.h"

namespace mgtune {

// A problem that selection was asked for without knowing it.
struct HeldOut {
  const Problem* problem;  // of the evidence
  Variant variant;         // the best ranked of those that were measured here
  Variant best;
  double median_ns = 0, best_ns = 0;
  double default_ns =
      0;  // of the variant that is used without any measurement; 0 if it has no time here
  double regret() const { return median_ns / best_ns - 1; }  // 0.02: 2 % slower than the best
  double default_regret() const { return default_ns > 0 ? default_ns / best_ns - 1 : -1; }
};

// For every problem that was measured on the device with these dtypes and flags, nearest to `near`
// first, at most `limit`. Problems that no variant measured elsewhere serves are left out. Empty if
// fewer than two problems were measured.
std::vector<HeldOut> cross_validate(const Problem& near, const DeviceInfo& device,
                                    const Evidence& evidence, std::size_t limit = SIZE_MAX);

std::vector<double> regrets(const std::vector<HeldOut>& problems);
// For the problems at which the default has a time. The difference to regrets() is the value of
// measurements.
std::vector<double> default_regrets(const std::vector<HeldOut>& problems);

double median_regret(std::vector<double> regrets);        // 0 for none
double worst_regret(const std::vector<double>& regrets);  // 0 for none

}  // namespace mgtune
