// Estimates the losses of variants at problems where they were not measured, from the measured
// losses. A sweep uses the estimates to choose which variants to measure at which problems
// (fit/candidates.h). Rules are never fitted to estimates. A pure function.

#pragma once

#include "fit/loss_table.h"

namespace mgtune {

// Returns the data's table with an estimate for each loss that was not measured. An estimate is a
// weighted mean of the losses of similar variants of the same design at similar problems. The
// weight falls to 1/e for each factor of two in a dim, and for less than a factor of two in a
// parameter. If nothing similar was measured, the estimate is kUnmeasuredLoss.
LossTable estimated_losses(const FitData& data);

}  // namespace mgtune
