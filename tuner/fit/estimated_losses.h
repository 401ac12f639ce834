// Losses of variants at problems where they were not measured, estimated from those that were: so
// that a sweep can choose which variants to measure where (fit/candidates.h). Rules are never
// fitted to them. A pure function.

#pragma once

#include "fit/loss_table.h"

namespace mgtune {

// The data's table in which the losses without a time are estimates. An estimate is the mean of the
// times at near problems of near variants of the same design; the weight of one falls to 1/e for
// each factor of two in a dim, and for less than one step of a parameter. Where nothing near was
// measured, it is kUnmeasuredLoss.
LossTable estimated_losses(const FitData& data);

}  // namespace mgtune
