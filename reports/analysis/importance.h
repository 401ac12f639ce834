// Importance: which parameters the time of a kernel depends on, for one problem and method,
// computed from the measurements. Pure.
//
// All figures are of logarithms of times, so that effects are factors. Each design is computed
// alone, because designs have their own parameters. For a parameter p of a design with n variants:
//
// - main: the share of the variance of log time that the value of p alone explains: the adjusted
//   correlation ratio (SSB - (k - 1) MSW) / SST of the k groups with equal p (epsilon squared). The
//   plain ratio SSB / SST would report chance as an effect if groups are small.
// - total: the share of the variance that is left if all other parameters are fixed, so
//   interactions are included: the mean variance within groups of variants that differ only in p,
//   divided by the variance of all. On a space that was evaluated completely this is Sobol's total
//   index, without a model. Groups in which some of the k values are missing count with the
//   unbiased estimate. Not known if fewer than a tenth of the variants (or fewer than 10) are in
//   such a group.
// - interaction of two: the share that the groups with equal values of both explain beyond the
//   shares of each alone, minus what chance would explain (adjusted in the same way).
//
// Sources: R. Kelley, "An unbiased correlation ratio measure", PNAS 21 (1935); T. Homma and A.
// Saltelli, "Importance measures in global sensitivity analysis", Reliability Engineering and
// System Safety 52 (1996). A random forest between data and shares (fANOVA) is not used: it adds an
// error of its own, and it averages over combinations that the constraints exclude.
//
// Limits: the shares of correlated parameters overlap (constraints make parameters correlated) and
// need not add up to 1. A search evaluates more variants where kernels are fast, so its sample says
// more about that region than about the whole space. A variant that racing stopped counts with the
// time that it had, which is a lower bound.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/space_columns.h"

namespace mgtune {

// The times of the variants with one value, relative to the geometric mean of their design.
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
  std::optional<double> design_share;  // of the choice of the design; none if there is only one
  std::vector<DesignImportance> designs;
};

inline constexpr std::int64_t kFewestForImportance = 10;  // variants with a time, of a design

// `time_ns`: one per variant of `space`; 0 for a variant that does not count. Designs with too few
// variants, or without differences, are left out.
Importance importance(const SpaceColumns& space, std::span<const double> time_ns);

}  // namespace mgtune
