// Cross-validation: how good selection is at a problem that was never measured. Each measured
// problem in turn is removed from the evidence, and selection is asked for it. Pure functions.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "selection/evidence.h"
#include "selection/variant_selection.h"

namespace mgtune {

// A problem for which selection chose a variant without the problem's own measurements.
struct HeldOut {
  const Problem* problem;  // of the evidence
  Variant variant;         // the choice: the best ranked variant that was measured on this problem
  Variant best;
  double median_ns = 0, best_ns = 0;
  double default_ns = 0;  // of the variant that the ladder of defaults chooses; 0 if it has no time
  double regret() const { return median_ns / best_ns - 1; }  // 0.02: 2 % slower than the best
  double default_regret() const { return default_ns > 0 ? default_ns / best_ns - 1 : -1; }
};

// Holds out each problem that was measured on the device with the dtypes and flags of `near`. The
// problems nearest to `near` come first, at most `limit`. A problem is left out if none of the
// variants that were measured on other problems can run it. Empty if fewer than two problems were
// measured.
std::vector<HeldOut> cross_validate(const Problem& near, const DeviceInfo& device,
                                    const Evidence& evidence, std::size_t limit = SIZE_MAX);

std::vector<double> regrets(const std::vector<HeldOut>& problems);
// The same for the default, for the problems on which it has a time. The difference to regrets()
// shows how much the measurements help.
std::vector<double> default_regrets(const std::vector<HeldOut>& problems);

double median_regret(std::vector<double> regrets);        // 0 for none
double worst_regret(const std::vector<double>& regrets);  // 0 for none

}  // namespace mgtune
