// How a failure to build, load or launch a variant is recorded. Pure functions.

#pragma once

#include <optional>

#include "core/status.h"
#include "store/records.h"

namespace mgtune {

// nullopt if the failure says nothing about the variant. Failures of the machine, of the family or
// of mgtune itself end a sweep.
std::optional<Outcome> outcome_of(const Status& failure);

// The status of loading or launching if a variant's expressions cannot be evaluated, or give values
// that cannot be launched. For the caller of a plan it is invalid_argument; if variants are tried,
// it is launch_failed. Every other status stays.
Status launch_failure(Status status);

}  // namespace mgtune
