// Finds mistakes in a problem before anything is built for it: expressions of the operator file
// that, with the dims of the problem, fail, are negative, or need more memory than any machine has.
// Such a mistake is in the file, not in a variant. Pure functions.
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
// its variants. Two kinds of expressions are not checked: one that names a parameter, directly or
// through a let, belongs to the variant; one that names build.* needs a build. A design is checked
// only if the problem and the limits of the device allow one of its defaults.
Status check_launches(const Problem& problem, const DeviceLimits& device);

}  // namespace mgtune
