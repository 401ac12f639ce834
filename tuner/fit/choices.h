// Choices: what may run at a problem: the variants that patterns stand for there, and the one of
// the default ladder. Losses that were measured are known; estimates give the others. Plain data
// and pure functions.

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

struct Choices {
  Problem problem;
  std::vector<ServingVariant> serving;         // each variant once
  std::vector<std::optional<float>> measured;  // the losses of `serving`
  // Places in `serving`: of each pattern's variant, and of the ladder's. nullopt: none serves.
  std::vector<std::optional<std::size_t>> of_pattern;
  std::optional<std::size_t> of_ladder;
};

// Problem `place` of the data, with the losses that were measured there.
Choices choices_at(const FitData& data, std::size_t place);

// Any problem: no loss is known.
Choices choices_at(const FitData& data, const Problem& problem);

// A row for each of the choices, a column for each pattern. What was not measured is estimated. If
// no variant of the ladder serves a problem, its loss is kUnmeasuredLoss.
LossTable table_of(std::span<const Choices> choices, const LossEstimates& estimates);

// What all measurements of the data say.
LossEstimates estimates_of(const FitData& data);

}  // namespace mgtune
