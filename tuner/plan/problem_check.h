// Finds mistakes in a problem before anything is built for it: expressions of the operator file
// that fail, are negative, or become larger than any memory, for the dims of the problem. Such a
// mistake is in the file, not in a variant. Pure functions.
//
// Failures are invalid_argument. They name file, JSON path, problem and place:
//
//   kernels/norm/forward.json: /tensors/y/shape/0: norm.forward rows=4 T=f32: division by zero
//     rows / 0
//          ^

#pragma once

#include "core/status.h"
#include "family/problem.h"
#include "family/variant.h"

namespace mgtune {

// Checks the shapes and strides of every tensor that is present, and the cost.
Status check_tensors(const Problem& problem);

// Checks workspace, geometry and arguments of every design, as far as they are the same for all of
// its variants. An expression that names a parameter, directly or through a let, belongs to the
// variant. One that names build.* needs a build. A design is checked if the limits of the device
// and the problem allow one of its defaults.
Status check_launches(const Problem& problem, const DeviceLimits& device);

}  // namespace mgtune
