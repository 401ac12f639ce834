// Cross-validation: how well selection does at a problem that was never measured, by taking each
// measured problem out of the evidence in turn and asking for it. Pure functions.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "selection/evidence.h"
#include "selection/variant_selection.h"

namespace mgtune {

// A problem that selection was asked for without having seen it.
struct HeldOut {
  const Problem* problem;  // of the evidence
  Variant variant;         // the best ranked of those that were measured here
  Variant best;
  double median_ns = 0, best_ns = 0;
  double default_ns = 0;  // of what is taken without any measurement; 0 where it has no time here
  double regret() const { return median_ns / best_ns - 1; }  // 0.02: 2 % slower than the best
  double default_regret() const { return default_ns > 0 ? default_ns / best_ns - 1 : -1; }
};

// Of every problem measured on the device with these dtypes and flags, nearest to `near` first, as
// many as `most`. Those where nothing measured elsewhere serves are left out; empty where
// less than two are measured.
std::vector<HeldOut> cross_validate(const Problem& near, const DeviceInfo& device,
                                    const Evidence& evidence, std::size_t most = SIZE_MAX);

std::vector<double> regrets(const std::vector<HeldOut>& problems);
// Of the problems where the default has a time: what measurements are worth is the difference.
std::vector<double> default_regrets(const std::vector<HeldOut>& problems);

double median_regret(std::vector<double> regrets);        // 0 for none
double worst_regret(const std::vector<double>& regrets);  // likewise

}  // namespace mgtune
