// Importance: which choices the time of a kernel hangs on, by problem and method, taken from what
// was measured. Pure.
//
// Everything is in logarithms of time, so that effects are factors, and design by design: designs
// have parameters of their own. For a parameter p of a design with n variants:
//
// - main: the share of the variance of log time that the value of p alone explains: the adjusted
//   correlation ratio (SSB - (k - 1) MSW) / SST of the k groups with equal p (epsilon squared: the
//   plain ratio SSB / SST calls chance an effect when groups are small).
// - total: the share that vanishes once all other parameters are fixed, interactions included: the
//   mean variance within groups of variants that differ in p alone, over the variance of all. On a
//   space that was evaluated whole this is Sobol's total index, without any model in between.
//   Groups that lack some of the k values count with the unbiased estimate. Not known where
//   fewer than a tenth of the variants (or fewer than 10) have such a sibling.
// - interaction of two: what the groups with equal values of both explain beyond those of each
//   alone, less what chance would (adjusted likewise).
//
// Sources: R. Kelley, "An unbiased correlation ratio measure", PNAS 21 (1935); T. Homma and
// A. Saltelli, "Importance measures in global sensitivity analysis", Reliability Engineering and
// System Safety 52 (1996). A random forest between data and shares (fANOVA) was not taken: it adds
// an error of its own and marginalizes over combinations that the constraints rule out.
//
// Limits: shares of correlated parameters overlap (constraints make them so), and need not add up
// to 1. A search looks longer where kernels are fast, so its sample says more about that corner
// than about the space. A variant that racing stopped counts with the time it had: a lower bound.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/space_columns.h"

namespace mgtune {

// What variants with one value take, over the geometric mean of their design.
struct ValueEffect {
  std::int32_t value = 0;  // into ParameterColumn::values
  std::int64_t variants = 0;
  double ratio = 1, low = 1, high = 1;  // with its 95 % interval
  double best_ratio = 1;                // the fastest with this value over the design's fastest
};

struct ParameterImportance {
  std::size_t parameter = 0;  // into SpaceColumns::parameters
  double main = 0;
  std::optional<double> total;
  std::vector<ValueEffect> effects;  // of the values that occur in this design
};

struct Interaction {
  std::size_t a = 0, b = 0;  // into SpaceColumns::parameters
  double share = 0;
};

struct DesignImportance {
  std::size_t design = 0;  // into SpaceColumns::designs
  std::int64_t variants = 0;
  double spread = 1;                            // slowest over fastest
  std::vector<ParameterImportance> parameters;  // the most important first
  std::vector<Interaction> interactions;        // the five strongest above half a percent
};

struct Importance {
  std::int64_t variants = 0;           // with a time
  std::optional<double> design_share;  // of the choice of the design; none with one design
  std::vector<DesignImportance> designs;
};

inline constexpr std::int64_t kFewestForImportance = 10;  // variants with a time, of a design

// `time_ns`: one per variant of `space`; 0 for those that do not count. Designs with too few
// variants, or without differences, are left out.
Importance importance(const SpaceColumns& space, std::span<const double> time_ns);

}  // namespace mgtune
