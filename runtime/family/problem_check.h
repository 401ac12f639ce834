// What can be found wrong of a problem before anything is built for it: expressions of the operator
// file that fail, are negative, or grow beyond what memory can be, for the values that the problem
// gives to its dims. Such a mistake is the file's, not a variant's. Pure functions.
//
// Failures are invalid_argument and name file, JSON path, problem and place:
//
//   kernels/norm/forward.json: /tensors/y/shape/0: norm.forward rows=4 T=f32: division by zero
//     rows / 0
//          ^

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/status.h"
#include "family/problem.h"
#include "family/variant.h"

namespace mgtune {

// Shapes and strides of every tensor that is there, and the cost.
Status check_tensors(const Problem& problem);

// Workspace, geometry and arguments of every design, as far as they are the same for all of its
// variants: what names a param, directly or through a let, belongs to the variant, and what names
// build.* waits for one. A design counts where the device's limits and the problem admit one of its
// defaults.
Status check_launches(const Problem& problem, const DeviceLimits& device);

// The value of an expression of `problem` that stands at `path` of the file; a failure as above
// when evaluating fails or the value is below `least`.
Result<std::int64_t> checked_value(const Problem& problem, const Expression& expression,
                                   std::span<const std::int64_t> slots, const std::string& path,
                                   std::int64_t least);

}  // namespace mgtune
