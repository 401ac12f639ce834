// Chooses the number of leaves of rules by cross-validation, and says how good rules of so many
// leaves are at problems that they were not fitted to. Pure functions, which use all cores.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "fit/choices.h"
#include "fit/fit_data.h"
#include "fit/problem_features.h"

namespace mgtune {

struct CrossValidation {
  std::size_t leaves = 1;                // at most
  std::vector<double> left_out_problem;  // of each measured problem: the loss of a fit without it
  std::vector<double> left_out_band;     // if a fit knows no problem of its band of a dim: the mean
                                         // over the dims, or -1 if no dim has bands
};

// Fits rules with every number of leaves again and again: each time without the losses of some
// measured problems (every problem is left out once), or without those of one of the bands of a
// dim. (The values of a dim are cut into four bands with about the same number of problems; a dim
// with fewer than four values has no bands.) The number of leaves with the lowest cost is chosen.
// If several cost nearly the same, the smallest of them is chosen.
//
// `choices` are those of the data's problems, and then those of problems that were not measured;
// `features` are of all these. `truth` has a row for each of `choices`, by all measurements.
CrossValidation cross_validate_rules(const FitData& data, std::span<const ProblemChoices> choices,
                                     const ProblemFeatures& features, const LossTable& truth);

// The problems of each band that is left out, for every dim that has bands.
std::vector<std::vector<std::size_t>> dim_bands(const FitData& data);

}  // namespace mgtune
