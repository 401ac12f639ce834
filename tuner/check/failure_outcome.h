// How a failure to build, load or launch a variant is recorded. Pure functions.

#pragma once

#include <optional>

#include "core/status.h"
#include "store/records.h"

namespace mgtune {

// nullopt when it says nothing about the variant: the machine's, the family's or our own, which end
// a sweep.
std::optional<Outcome> outcome_of(const Status& failure);

// What loading or launching says when a variant's expressions cannot be evaluated or give what
// cannot be launched: invalid_argument to the caller of a plan, launch_failed where variants are
// tried. Every other status stays.
Status launch_failure(Status status);

}  // namespace mgtune
