// How a failure to build, load or launch a variant is recorded. Pure functions.

#pragma once

#include <optional>

#include "core/status.h"
#include "store/records.h"

namespace mgtune {

// The outcome of a variant that failed with this status. nullopt if the failure says nothing about
// the variant: the machine, the family or mgtune itself failed. Such a failure ends the sweep.
std::optional<Outcome> outcome_of(const Status& failure);

// Changes invalid_argument into launch_failed; every other status stays. Loading and launching
// return invalid_argument if an expression of the variant cannot be evaluated, or gives values with
// which no kernel can be launched. If a sweep tries the variant, this is the variant's failure, not
// a wrong argument.
Status launch_failure(Status status);

}  // namespace mgtune
