// Losses of variants at problems where they were not measured, estimated from those that were: so
// that a sweep can choose which variants to measure everywhere. Rules are never fitted to them.
// Pure functions.

#pragma once

#include <cstddef>
#include <vector>

#include "family/variant_pattern.h"
#include "fit/loss_table.h"

namespace mgtune {

// The data's table in which the losses without a time are estimates. An estimate is the mean of the
// times at near problems of near variants of the same design; the weight of one falls to 1/e for
// each factor of two in a dim, and for less than one step of a parameter. Where nothing near was
// measured, it is kUnmeasuredLoss.
LossTable estimated_losses(const FitData& data);

// At most `count` patterns that are worth measuring at all problems: with the best of them at each
// problem, all problems together are likely to lose least. By text.
std::vector<VariantPattern> candidates_for_all(const FitData& data, std::size_t count);

}  // namespace mgtune
