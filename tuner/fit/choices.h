// The variants that may run at one problem. Losses that were measured are known, and estimates give
// the others. One thread: making choices adds variants to FitData::variants.

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "family/problem.h"
#include "fit/fit_data.h"
#include "fit/loss_estimates.h"
#include "fit/loss_table.h"

namespace mgtune {

struct ProblemChoices {
  Problem problem;
  std::vector<ServingVariant> serving;         // each variant once
  std::vector<std::optional<float>> measured;  // the losses of `serving`
  // Places in `serving`: of each pattern's variant, and of the ladder's. nullopt: none serves.
  std::vector<std::optional<std::size_t>> of_pattern;
  std::optional<std::size_t> of_ladder;
};

// Whether the loss of a place in `serving` was measured.
inline bool has_time(const ProblemChoices& at, std::optional<std::size_t> place) {
  return place && at.measured[*place];
}

// Problem `place` of the data, with the losses that were measured there. A variant that has a
// result without a time there does not serve it.
ProblemChoices choices_at(const FitData& data, std::size_t place);

// Any problem: no loss is known.
ProblemChoices choices_at(const FitData& data, const Problem& problem);

// A row for each of the choices, a column for each pattern. What was not measured is estimated. If
// no variant of the ladder serves a problem, its loss is kUnmeasuredLoss.
LossTable table_of(std::span<const ProblemChoices> choices, const LossEstimates& estimates);

// Estimates that learn from all problems of the data.
LossEstimates estimates_of(const FitData& data);

// Removes the patterns that stand for a variant that failed, at one of these problems.
void remove_failed(FitData& data, std::span<const Problem> problems);

}  // namespace mgtune
