// Cross-validation: how well selection does at a problem that was never measured, by taking each
// measured problem out of the evidence in turn and asking for it. Pure functions.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dispatch/evidence.h"
#include "dispatch/variant_selection.h"

namespace mgtune {

// A problem that selection was asked for without having seen it.
struct HeldOut {
  const Problem* problem = nullptr;  // of the evidence
  Variant variant;                   // the best ranked of those that were measured here
  Variant best;
  double median_ns = 0, best_ns = 0;
  Variant fallback;        // what is taken where nothing at all is measured: the default
  double fallback_ns = 0;  // 0 where it was not measured here
  double regret() const { return median_ns / best_ns - 1; }  // 0.02: 2 % slower than the best
};

// Of every problem measured on the device with these dtypes and flags, nearest to `near` first, as
// many as `most`. Those where nothing measured elsewhere serves are left out; empty where
// less than two are measured.
std::vector<HeldOut> cross_validate(const Problem& near, const DeviceInfo& device,
                                    const Evidence& evidence, std::size_t most = SIZE_MAX);

// The same problems, as the default alone would have served them: what the measurements of others
// are worth is the difference. Those where it was not measured are left out.
std::vector<HeldOut> with_default(const std::vector<HeldOut>& problems);

double median_regret(const std::vector<HeldOut>& problems);  // 0 for none
double worst_regret(const std::vector<HeldOut>& problems);   // likewise

}  // namespace mgtune
